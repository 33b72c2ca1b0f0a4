"""The devices there are: CPUs of this process, that share its memory.

In: the switch `jax_num_cpu_devices` (or `--xla_force_host_platform_device_count` in `XLA_FLAGS`, as
programs written for JAX set it). Out: `cpu_devices()`, the same objects whenever it is asked.
Invariant: the number of devices is fixed from the first time that somebody asks for them.
"""

from __future__ import annotations

import enum
import os
import re
import threading
from typing import Any

from jitney import _native
from jitney.base import config


class Client:
    """What `device.client` answers."""

    platform = "cpu"
    platform_version = "jitney"
    runtime_type = "jitney"

    def devices(self) -> list[CpuDevice]:
        return cpu_devices()

    local_devices = devices

    def device_count(self) -> int:
        return len(cpu_devices())

    local_device_count = device_count

    def process_index(self) -> int:
        return 0


class MemorySpace(enum.Enum):
    """Kinds of memory a program may ask for: there is one, the devices' own."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self):
        return f"MemorySpace.{self.name}"


class Memory:
    """The memory of a device: the process's."""

    kind = "device"

    def __repr__(self):
        return "CpuMemory(device)"


class CpuDevice:
    """One of the CPU devices that `devices()` lists."""

    platform, device_kind, process_index = "cpu", "cpu", 0
    client, host_id, task_id = Client(), 0, 0

    def __init__(self, id: int = 0):
        self.id = self.local_hardware_id = id

    def __repr__(self):
        return f"CpuDevice(id={self.id})"

    def __str__(self):
        return f"cpu:{self.id}"

    def memory_stats(self) -> dict | None:
        """Numbers of the allocator, which all devices share."""
        return _native.allocator_stats()

    def default_memory(self) -> Memory:
        return Memory()

    def addressable_memories(self) -> list[Memory]:
        return [Memory()]

    def memory(self, kind: str) -> Memory:
        if kind != "device":
            raise ValueError(f"memory kind {kind!r}: a CPU device has the kind 'device' only")
        return Memory()

    def live_buffers(self) -> list:
        return _native.live_arrays()

    def __enter__(self):
        return self

    def __exit__(self, *exc: Any):
        return False

    def __reduce__(self):
        return device_of_id, (self.id,)


_FLAG = re.compile(r"--xla_force_host_platform_device_count=(\d+)")
_lock = threading.Lock()
_default = CpuDevice(0)
_devices: list[CpuDevice] | None = None


def _wanted() -> int:
    """How many devices the switches ask for."""
    count = config.num_cpu_devices.value
    if count != -1:
        return count
    found = _FLAG.findall(os.environ.get("XLA_FLAGS", ""))
    return max(int(found[-1]), 1) if found else 1


def _check_wanted() -> None:
    """Refuse `config.update("jax_num_cpu_devices", n)` for no number, or once devices are known."""
    count = config.num_cpu_devices.value
    if not isinstance(count, int) or isinstance(count, bool) or (count < 1 and count != -1):
        config.num_cpu_devices._value = -1
        raise ValueError(f"jax_num_cpu_devices takes a positive number of devices, not {count!r}")
    if _devices is not None and count not in (-1, len(_devices)):
        config.num_cpu_devices._value = -1
        raise RuntimeError(
            "jax_num_cpu_devices config should be updated before backends are initialized, i.e. "
            f"before anything asks for devices: there are {len(_devices)} already, and {count} are "
            "wanted. Set it right after the import, or in the environment: "
            f"JAX_NUM_CPU_DEVICES={count}.")


config.watch(_check_wanted)


def cpu_devices() -> list[CpuDevice]:
    """All devices, in order of their ids (a fresh list of the same objects)."""
    global _devices
    if _devices is None:
        with _lock:
            if _devices is None:
                _devices = [_default, *map(CpuDevice, range(1, _wanted()))]
    return list(_devices)


def default_cpu_device() -> CpuDevice:
    """The device of arrays nobody has placed; asking does not fix the number of devices."""
    return _default


def device_of_id(id: int) -> CpuDevice:
    """The device of that number; ValueError when there is none."""
    found = cpu_devices()
    if not 0 <= id < len(found):
        raise ValueError(f"there is no CPU device {id}: this process has {len(found)}. More come "
                         f"with jax.config.update('jax_num_cpu_devices', {id + 1}).")
    return found[id]


__all__ = [
    "Client", "CpuDevice", "Memory", "MemorySpace", "cpu_devices", "default_cpu_device",
    "device_of_id",
]
