"""device_put, and arrays made of their shards.

In: values, and where they are to be. Out: arrays that know their shardings. All parts of an array
lie in one buffer, so `device_put` of an array notes a place and copies nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney import _native
from jitney.api.placed import as_array, new_place, placed, put
from jitney.base import dtypes
from jitney.base.pytree import broadcast_prefix, tree_flatten, tree_map
from jitney.core import avals
from jitney.core.avals import Array
from jitney.core.trace import Tracer
from jitney.placement.devices import CpuDevice, MemorySpace
from jitney.placement.partition_spec import PartitionSpec
from jitney.placement.shardings import Sharding, as_sharding, shards_of


def _is_place(x: Any) -> bool:
    return x is None or isinstance(x, (Sharding, PartitionSpec, CpuDevice, MemorySpace))


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False,
               may_alias: Any = None) -> Any:
    """The leaves as arrays, placed on `device`.

    `device` is a device, a sharding, a PartitionSpec (with a mesh in scope), None (arrays stay
    where they are, other values become plain arrays), or a tree prefix of these. `donate` gives the
    given arrays up; `may_alias=False` makes copies. ValueError for a sharding that does not fit the
    shape, TypeError for leaves that are no data.
    """
    leaves, tree = tree_flatten(x)
    places = _spread(device, x, "device")
    for place in _spread(src, x, "src"):
        _sharding(place)
    donated, aliases = _spread(donate, x, "donate"), _spread(may_alias, x, "may_alias")
    return tree.unflatten([_put(*each) for each in zip(leaves, places, donated, aliases,
                                                       strict=True)])


def _spread(prefix: Any, tree: Any, what: str) -> list:
    try:
        return broadcast_prefix(prefix, tree, is_leaf=_is_place)
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"device_put: {what} must be a tree prefix of the values, got "
                         f"{prefix!r}") from None


def _sharding(place: Any) -> Sharding | None:
    if place is None or place in (MemorySpace.Device, MemorySpace.Any):
        return None
    if place is MemorySpace.Host:
        raise NotImplementedError("device_put(x, jax.memory.Space.Host): the devices have one "
                                  "memory, jax.memory.Space.Device; use jax.device_get for NumPy "
                                  "arrays")
    if getattr(place, "platform", "cpu") != "cpu":
        raise ValueError(f"device_put: {place!r} is not a CPU device; see jax.devices()")
    return as_sharding(place, "device_put")


def _put(x: Any, place: Any, donated: bool, may_alias: bool | None) -> Any:
    if donated and may_alias:
        raise ValueError("device_put: may_alias and donate cannot both be True")
    sharding = _sharding(place)
    if isinstance(x, Tracer):
        return x if sharding is None else put(x, sharding)
    out = as_array(x)
    if sharding is not None:
        out = put(out, sharding)
    elif not isinstance(x, Array):
        out = placed(out, new_place())
    if may_alias is False and isinstance(x, Array):
        fresh = avals.to_array(np.array(_native.numpy_view(out)), out.aval)
        out = _native.array_with_sharding(fresh, out._sharding)
    if donated and isinstance(x, Array):
        if out is x:
            out = _native.array_with_sharding(x, x._sharding)
        x.delete()
    return out


def device_get(x: Any) -> Any:
    """The leaves as NumPy arrays (views where possible)."""
    return tree_map(lambda leaf: np.asarray(leaf) if hasattr(leaf, "__array__") else leaf, x)


# --- arrays from shards ---------------------------------------------------------------------------


def _shape(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))


def make_array_from_callback(shape: Any, sharding: Any, data_callback: Callable,
                             dtype: Any = None) -> Any:
    """An array of `data_callback(index)` for the index (a tuple of slices) of each shard.

    The function is called once for each different index. ValueError if it gives another shape than
    the shard has.
    """
    shape, sharding = _shape(shape), as_sharding(sharding, "make_array_from_callback")
    local = sharding.shard_shape(shape)
    parts = [(index, data_callback(index)) for _, index, replica in shards_of(sharding, shape)
             if replica == 0]
    return _assembled(shape, sharding, local, parts, dtype, "make_array_from_callback")


def _assembled(shape: tuple, sharding: Sharding, local: tuple, parts: Sequence, dtype: Any,
               what: str) -> Any:
    first = parts[0][1]
    if isinstance(getattr(first, "dtype", None), np.dtype) or not hasattr(first, "dtype"):
        kind = np.asarray(first).dtype if dtype is None else dtypes.dtype_of_spec(dtype)
    else:
        kind = first.dtype
    aval = avals.aval_like(shape, kind)
    stored = shape + tuple(getattr(aval.dtype, "physical_shape", ()))
    whole = np.empty(stored, getattr(aval.dtype, "physical_dtype", aval.dtype))
    for index, part in parts:
        value = _elements(part)
        if value.shape[:len(shape)] != local:
            raise ValueError(f"{what}: every shard of an array of shape {shape} with the sharding "
                             f"{sharding} has the shape {local}, but one given has the shape "
                             f"{value.shape[:len(shape)]}")
        whole[index] = value
    array = _native.array_from_numpy(whole, avals.get_aval(whole), copy=False)
    return placed(_native.array_view(array, aval), sharding)


def _elements(x: Any) -> np.ndarray:
    """The elements of a value; those a random key is made of."""
    if isinstance(x, Array) and not isinstance(x.dtype, np.dtype):
        raw = avals.ShapedArray(x.shape + tuple(x.dtype.physical_shape),
                                np.dtype(x.dtype.physical_dtype))
        return _native.numpy_view(_native.array_view(x, raw))
    return np.asarray(x)


def make_array_from_single_device_arrays(shape: Any, sharding: Any, arrays: Sequence, *,
                                         dtype: Any = None) -> Any:
    """An array from its shards, one array for each device of the sharding.

    The arrays are matched with devices by where they are placed; if none of them is placed, by
    their order. ValueError for a wrong number or shape of arrays, or two on one device.
    """
    shape = _shape(shape)
    sharding = as_sharding(sharding, "make_array_from_single_device_arrays")
    if not isinstance(arrays, (list, tuple)):
        raise TypeError("make_array_from_single_device_arrays `arrays` argument must be a list or "
                        f"tuple, but got {type(arrays)}.")
    shards = shards_of(sharding, shape)
    if len(arrays) != len(shards):
        raise ValueError(f"make_array_from_single_device_arrays: the sharding {sharding} has "
                         f"{len(shards)} devices, but {len(arrays)} arrays are given")
    by_device = _by_device([as_array(a) for a in arrays], [d for d, _, _ in shards])
    parts = [(index, by_device[device]) for device, index, replica in shards if replica == 0]
    return _assembled(shape, sharding, sharding.shard_shape(shape), parts, dtype,
                      "make_array_from_single_device_arrays")


def _by_device(arrays: list, devices: list) -> dict:
    if all(a._sharding is None for a in arrays):
        return dict(zip(devices, arrays))
    found: dict = {}
    for array in arrays:
        (device,) = array.devices() if len(array.devices()) == 1 else (None,)
        if device is None or device in found or device not in devices:
            raise ValueError(
                "make_array_from_single_device_arrays takes one array on each device of the "
                f"sharding ({devices}), but one is on {array.devices()}; place them with "
                "jax.device_put(part, device)")
        found[device] = array
    return found


def make_array_from_process_local_data(sharding: Any, local_data: Any,
                                       global_shape: Any = None) -> Any:
    """An array from what this process holds of it: all of it, since there is one process.

    ValueError if `global_shape` is neither the shape of the data nor a multiple that repeats it.
    """
    data = as_array(local_data)
    shape = data.shape if global_shape is None else tuple(
        n if g is None else int(g) for n, g in zip(data.shape, _shape_or_none(global_shape)))
    if shape != data.shape:
        raise ValueError(f"make_array_from_process_local_data: the only process must give the "
                         f"whole array, of shape {shape}; the data given has the shape "
                         f"{data.shape}")
    return put(data, as_sharding(sharding, "make_array_from_process_local_data"))


def _shape_or_none(shape: Any) -> tuple:
    return shape if isinstance(shape, tuple) else tuple(shape)


__all__ = [
    "device_get", "device_put", "make_array_from_callback", "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
]
