"""Stand-ins for arrays: `ShapeDtypeStruct`, and results described without computing them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitney.base import dtypes
from jitney.core.avals import ShapedArray, get_aval, is_value, size_of


class ShapeDtypeStruct:
    """Shape, dtype and weak type of an array, without the array.

    >>> ShapeDtypeStruct((3,), "float32")
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """

    __slots__ = ("shape", "dtype", "sharding", "weak_type", "is_ref", "manual_axis_type")

    def __init__(self, shape: Any, dtype: Any, *, sharding: Any = None, weak_type: bool = False,
                 manual_axis_type: Any = None, is_ref: bool = False):
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified")
        self.shape = tuple(shape)
        self.dtype = dtypes.dtype_of_spec(dtype)
        self.sharding, self.weak_type = sharding, bool(weak_type)
        self.is_ref, self.manual_axis_type = is_ref, manual_axis_type

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return size_of(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """A copy with some fields replaced."""
        fields = {"shape": self.shape, "dtype": self.dtype, "sharding": self.sharding,
                  "weak_type": self.weak_type, "is_ref": self.is_ref, **changes}
        return ShapeDtypeStruct(fields.pop("shape"), fields.pop("dtype"), **fields)

    def _key(self) -> tuple:
        return self.shape, self.dtype, self.sharding, self.weak_type, self.is_ref

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.shape, str(self.dtype), self.weak_type))

    def __repr__(self) -> str:
        sharding = f", sharding={self.sharding}" if self.sharding is not None else ""
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{sharding}{weak})"


def struct_of(aval: ShapedArray) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


def aval_of_argument(x: Any) -> ShapedArray:
    """The aval of a value, or of anything with `shape` and `dtype`."""
    if type(x) is ShapeDtypeStruct or not is_value(x):
        shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
        if shape is None or dtype is None:
            return get_aval(x)                       # raises, with its text
        dtype = dtypes.canonicalize_dtype(dtype, allow_extended_dtype=True)
        return ShapedArray(tuple(shape), dtype, bool(getattr(x, "weak_type", False)))
    return get_aval(x)


def typeof(x: Any) -> ShapedArray:
    """The type of a value as programs see it.

    >>> print(typeof(1.0))
    float32[]
    """
    try:
        return get_aval(x)
    except TypeError:
        raise TypeError(f"Argument {x!r} of type {type(x)} is not a valid JAX type") from None


ShapeOf = Callable[[Any], ShapedArray]
