"""The device there is: one CPU, and the objects JAX programs ask about.

In: nothing. Out: `devices()`, counts, `SingleDeviceSharding`, `device_put` and `device_get`.
"""

from __future__ import annotations

import os
import platform as platform_module
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from jitney import _native
from jitney.base import pytree
from jitney.base.version import __version__
from jitney.core import avals
from jitney.core.trace import Tracer


class Client:
    """What `device.client` answers."""

    platform = "cpu"
    platform_version = "jitney"
    runtime_type = "jitney"


class Memory:
    kind = "device"

    def __repr__(self):
        return "CpuMemory(device)"


class CpuDevice:
    """A CPU. `devices()` lists the one there is."""

    platform, device_kind, process_index = "cpu", "cpu", 0
    client, host_id, task_id, local_hardware_id = Client(), 0, 0, 0

    def __init__(self, id: int = 0):
        self.id = id

    def __repr__(self):
        return f"CpuDevice(id={self.id})"

    def __str__(self):
        return f"cpu:{self.id}"

    def memory_stats(self) -> dict | None:
        """Numbers of the allocator."""
        return _native.allocator_stats()

    def default_memory(self) -> Memory:
        return Memory()

    def addressable_memories(self) -> list[Memory]:
        return [Memory()]

    def live_buffers(self) -> list:
        return live_arrays()

    def __enter__(self):
        return self

    def __exit__(self, *exc: Any):
        return False

    def __reduce__(self):
        return cpu_device, ()


Device = CpuDevice
_DEVICE = CpuDevice(0)


def cpu_device() -> CpuDevice:
    return _DEVICE


class Sharding:
    """Base of shardings."""

    memory_kind = "device"


class SingleDeviceSharding(Sharding):
    """Everything on one device."""

    def __init__(self, device: CpuDevice | None = None, *, memory_kind: str | None = None):
        self._device = device or _DEVICE

    @property
    def device_set(self) -> set:
        return {self._device}

    @property
    def addressable_devices(self) -> set:
        return {self._device}

    @property
    def num_devices(self) -> int:
        return 1

    is_fully_replicated = True
    is_fully_addressable = True

    def devices_indices_map(self, shape: tuple) -> dict:
        return {self._device: tuple(slice(None) for _ in shape)}

    def shard_shape(self, shape: tuple) -> tuple:
        return tuple(shape)

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        return isinstance(other, SingleDeviceSharding)

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        return self

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, SingleDeviceSharding)

    def __hash__(self) -> int:
        return hash(SingleDeviceSharding)

    def __repr__(self):
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind=device)"


_SHARDING = SingleDeviceSharding(_DEVICE)


def default_sharding() -> SingleDeviceSharding:
    return _SHARDING


# --- questions -------------------------------------------------------------------------------


def _check_backend(backend: Any) -> None:
    name = getattr(backend, "platform", backend)
    if name not in (None, "cpu"):
        raise RuntimeError(f"Unknown backend {name}: only 'cpu' exists. Available backends are "
                           "['cpu']")


def devices(backend: Any = None) -> list[CpuDevice]:
    """All devices: one CPU."""
    _check_backend(backend)
    return [_DEVICE]


def local_devices(process_index: int | None = None, backend: Any = None,
                  host_id: int | None = None) -> list[CpuDevice]:
    """The devices of this process."""
    _check_backend(backend)
    return [_DEVICE]


def device_count(backend: Any = None) -> int:
    """Number of devices."""
    return len(devices(backend))


def local_device_count(backend: Any = None) -> int:
    """Number of devices of this process."""
    return len(local_devices(backend=backend))


def process_index(backend: Any = None) -> int:
    """Number of this process."""
    return 0


def process_count(backend: Any = None) -> int:
    """Number of processes."""
    return 1


def process_indices(backend: Any = None) -> list[int]:
    return [0]


def default_backend() -> str:
    """Name of the platform."""
    return "cpu"


def live_arrays(platform: str | None = None) -> list:
    """Arrays that are alive: unknown here, since arrays are not tracked; the empty list."""
    return []


# --- moving data -----------------------------------------------------------------------------


def _put(x: Any) -> Any:
    if isinstance(x, Tracer):
        return x
    try:
        return avals.to_array(x)
    except TypeError:
        raise TypeError(f"Argument {x!r} of type {type(x)} is not a valid JAX type") from None


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False,
               may_alias: Any = None) -> Any:
    """The leaves as arrays. There is one device, so only conversion takes place."""
    for leaf in pytree.tree_leaves(device):
        _check_backend(getattr(leaf, "platform", None))
    return pytree.tree_map(_put, x)


def _get(x: Any) -> Any:
    if hasattr(x, "__array__"):
        return np.asarray(x)
    return x


def device_get(x: Any) -> Any:
    """The leaves as NumPy arrays (views where possible)."""
    return pytree.tree_map(_get, x)


def block_until_ready(x: Any) -> Any:
    """Wait for results. Calls are synchronous, so this returns at once."""
    return _native.block_until_ready(x)


def copy_to_host_async(x: Any) -> Any:
    return x


def effects_barrier() -> None:
    """Wait for effects. They happen in order, before a call returns."""


def make_array_from_callback(shape: tuple, sharding: Any, data_callback: Callable,
                             dtype: Any = None) -> Any:
    """An array from a function of the index of each shard; there is one shard."""
    data = np.asarray(data_callback(tuple(slice(None) for _ in shape)))
    return avals.to_array(data if dtype is None else data.astype(dtype))


def make_array_from_single_device_arrays(shape: tuple, sharding: Any, arrays: Any,
                                         **ignored: Any) -> Any:
    """An array from its shards; there is one."""
    (array,) = arrays
    return avals.to_array(array)


def make_array_from_process_local_data(sharding: Any, local_data: Any, global_shape: Any = None,
                                       **ignored: Any) -> Any:
    return avals.to_array(local_data)


def print_environment_info(return_string: bool = False) -> str | None:
    """Versions and hardware, for bug reports."""
    lines = [
        f"jitney: {__version__}", f"numpy:  {np.__version__}",
        f"ml_dtypes: {ml_dtypes.__version__}",
        f"python: {platform_module.python_version()}",
        f"device info: cpu-1, 1 local devices, {os.cpu_count()} cores",
        "process_count: 1", f"platform: {platform_module.uname()}"]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None

