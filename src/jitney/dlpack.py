"""Arrays from and for other libraries without NumPy between, by the names in `jax.dlpack`.

An array gives itself away by its `__dlpack__`; nothing else is needed in that direction.
"""

from __future__ import annotations

from typing import Any

from jitney import numpy as jnp
from jitney.base import dtypes

_SUPPORTED = frozenset((
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128"))


def from_dlpack(external_array, device=None, copy: bool | None = None):
    """An array with the content of an object that has `__dlpack__` and `__dlpack_device__`.

    Another Array shares its memory unless `copy` is true; any other memory is copied, since its
    owner may write to it: ValueError with `copy=False`. `device` places the result. TypeError for
    an object without the two methods.
    """
    if not (hasattr(external_array, "__dlpack__") and hasattr(external_array,
                                                              "__dlpack_device__")):
        raise TypeError("The array passed to from_dlpack must have __dlpack__ and "
                        f"__dlpack_device__ methods, got {type(external_array)}.")
    return jnp.from_dlpack(external_array, device=device, copy=copy)


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of this dtype can be given to other libraries by DLPack.

    >>> is_supported_dtype(jnp.bfloat16), is_supported_dtype(jnp.int4)
    (True, False)
    """
    return dtypes.dtype_of_spec(dtype).name in _SUPPORTED


__all__ = ["from_dlpack", "is_supported_dtype"]
