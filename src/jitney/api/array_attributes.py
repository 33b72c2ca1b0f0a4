"""What arrays say about themselves: text, device, shards; and the class `Array` users test against.

In: the native Array type (and Tracer). Out: the same types with these attributes attached.
Invariant: the text of an array is that of JAX, character for character.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jitney import _native
from jitney.api.placed import committed, put, shard_data, sharding_of
from jitney.base import dtypes
from jitney.core.trace import Tracer
from jitney.placement.devices import CpuDevice
from jitney.placement.shardings import SingleDeviceSharding, as_sharding, shards_of

_Array = _native.Array


# --- text ------------------------------------------------------------------------------------


def _value(x: Any) -> np.ndarray:
    return np.asarray(x)


def array_repr(x: Any) -> str:
    """`Array([1, 2, 3], dtype=int32)`, broken as NumPy breaks it."""
    if x.is_deleted():
        return f"<deleted {x.aval.str_short()} array>"
    if dtypes.is_extended(x.dtype):
        return f"Array({x.shape}, dtype={x.dtype.name}) overlaying:\n{_raw(x)}"
    ending = f"dtype={_dtype_text(x.dtype)}" + (", weak_type=True)" if x.weak_type else ")")
    width = np.get_printoptions()["linewidth"]
    if x.size == 0:
        body = f"[], shape={x.shape},"
    else:
        body = np.array2string(_value(x), prefix="Array(", suffix=",", separator=", ",
                               max_line_width=width) + ","
    text = "Array(" + body
    last = len(text) - (text.rfind("\n") + 1)
    gap = " " if last + len(ending) + 1 <= width else " " * len("Array(")
    return text + gap + ending


def _dtype_text(dtype: np.dtype) -> str:
    return "float0" if dtype == dtypes.float0 else dtype.name


def _raw(x: Any) -> str:
    shape = x.shape + tuple(x.dtype.physical_shape)
    raw = _native.array_view(x, _native.ShapedArray(shape, np.dtype(x.dtype.physical_dtype)))
    return str(np.asarray(raw))


def _str(x: Any) -> str:
    if x.is_deleted() or dtypes.is_extended(x.dtype):
        return array_repr(x)
    return str(_value(x))


def _format(x: Any, spec: str) -> str:
    if x.ndim == 0:
        return format(_value(x)[()], spec)
    return format(_value(x), spec)


# --- device ----------------------------------------------------------------------------------


class Shard:
    """The part of an array on one device: where it is in the array, and its data."""

    def __init__(self, device: CpuDevice, index: tuple, replica_id: int, array: Any):
        self.device, self.index, self.replica_id, self._array = device, index, replica_id, array

    @functools.cached_property
    def data(self) -> Any:
        """The elements, as an array on the device."""
        return shard_data(self._array, self.index, self.device)

    def __repr__(self):
        return (f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
                f"data={self.data})")


def _devices(x: Any) -> set:
    return sharding_of(x).device_set


def _device(x: Any) -> Any:
    sharding = sharding_of(x)
    return sharding._device if isinstance(sharding, SingleDeviceSharding) else sharding


def _shards(x: Any) -> list[Shard]:
    if x.is_deleted():
        raise RuntimeError(f"Array has been deleted with shape={x.aval.str_short()}.")
    return [Shard(device, index, replica, x)
            for device, index, replica in shards_of(sharding_of(x), x.shape)]


def _addressable_data(x: Any, index: int) -> Any:
    return _shards(x)[index].data


def _to_device(x: Any, device: Any, *, stream: Any = None) -> Any:
    if stream is not None:
        raise NotImplementedError("to_device: a CPU device has no streams; leave stream at None")
    return put(x, as_sharding(device, "to_device"))


def _copy_to_host_async(x: Any) -> None:
    return None


_ATTRIBUTES = {
    "sharding": property(sharding_of), "device": property(_device),
    "devices": _devices, "to_device": _to_device,
    "committed": property(committed), "_committed": property(committed),
    "is_fully_addressable": property(lambda x: True),
    "is_fully_replicated": property(lambda x: sharding_of(x).is_fully_replicated),
}
_OF_ARRAYS = {
    "addressable_shards": property(_shards), "global_shards": property(_shards),
    "addressable_data": _addressable_data, "copy_to_host_async": _copy_to_host_async,
    "on_device_size_in_bytes": lambda x: x.nbytes,
    "_value": property(_value), "__repr__": array_repr, "__str__": _str, "__format__": _format,
    "__array_priority__": 100,
}


def attach() -> None:
    """Put the attributes on the types."""
    for name, value in _ATTRIBUTES.items():
        setattr(_Array, name, value)
        setattr(Tracer, name, value)
    for name, value in _OF_ARRAYS.items():
        setattr(_Array, name, value)


# --- the class of all arrays -------------------------------------------------------------------


class _ArrayMeta(type):
    """Concrete arrays and tracers are instances."""

    def __instancecheck__(cls, x: Any) -> bool:
        return type(x) is _Array or isinstance(x, (_Array, Tracer))

    def __subclasscheck__(cls, kind: type) -> bool:
        return type.__subclasscheck__(cls, kind) or issubclass(kind, (_Array, Tracer))


class Array(metaclass=_ArrayMeta):
    """Type of arrays for annotations and `isinstance`: concrete ones and tracers alike.

    Make arrays with the functions of `jitney.numpy`.
    """

    def __new__(cls, *args: Any, **kwargs: Any):
        raise TypeError("Array is no constructor; use jax.numpy.array and similar functions")


__all__ = ["Array", "Shard", "SingleDeviceSharding", "array_repr", "attach"]
