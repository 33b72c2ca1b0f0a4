"""What programs ask about devices and processes, under the names of `jax`.

In: nothing. Out: `devices()`, counts, and a report for bug reports. The devices themselves are in
`placement.devices`, values on them in `make_arrays`.
"""

from __future__ import annotations

import os
import platform as platform_module
from typing import Any

import ml_dtypes
import numpy as np

from jitney import _native
from jitney.api.make_arrays import (
    device_get,
    device_put,
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
)
from jitney.base.version import __version__
from jitney.placement.devices import CpuDevice, cpu_devices, default_cpu_device
from jitney.placement.shardings import SingleDeviceSharding

Device = CpuDevice


def cpu_device() -> CpuDevice:
    """The default device."""
    return default_cpu_device()


# --- questions -------------------------------------------------------------------------------


def _check_backend(backend: Any) -> None:
    name = getattr(backend, "platform", backend)
    if name not in (None, "cpu"):
        raise RuntimeError(f"Unknown backend {name}: only 'cpu' exists. Available backends are "
                           "['cpu']")


def devices(backend: Any = None) -> list[CpuDevice]:
    """All devices: `jax_num_cpu_devices` CPUs of this process (by default one)."""
    _check_backend(backend)
    return cpu_devices()


def local_devices(process_index: int | None = None, backend: Any = None,
                  host_id: int | None = None) -> list[CpuDevice]:
    """The devices of this process."""
    _check_backend(backend)
    if process_index not in (None, 0) or host_id not in (None, 0):
        raise ValueError(f"Unknown process_index {process_index or host_id}: this is the only "
                         "process, number 0")
    return cpu_devices()


def device_count(backend: Any = None) -> int:
    """Number of devices."""
    return len(devices(backend))


def local_device_count(backend: Any = None) -> int:
    """Number of devices of this process."""
    return len(local_devices(backend=backend))


def process_index(backend: Any = None) -> int:
    """Number of this process."""
    _check_backend(backend)
    return 0


def process_count(backend: Any = None) -> int:
    """Number of processes."""
    _check_backend(backend)
    return 1


def process_indices(backend: Any = None) -> list[int]:
    """Numbers of all processes."""
    _check_backend(backend)
    return [0]


def default_backend() -> str:
    """Name of the platform."""
    return "cpu"


def live_arrays(platform: str | None = None) -> list:
    """All arrays there are, newest first, without the deleted ones; RuntimeError for a platform
    other than the CPU."""
    _check_backend(platform)
    return _native.live_arrays()


# --- waiting ---------------------------------------------------------------------------------


def block_until_ready(x: Any) -> Any:
    """Wait for results. Calls are synchronous, so this returns at once."""
    return _native.block_until_ready(x)


def copy_to_host_async(x: Any) -> Any:
    return x


def effects_barrier() -> None:
    """Wait for effects. They happen in order, before a call returns."""


def print_environment_info(return_string: bool = False) -> str | None:
    """Versions and hardware, for bug reports."""
    lines = [
        f"jitney: {__version__}", f"numpy:  {np.__version__}",
        f"ml_dtypes: {ml_dtypes.__version__}",
        f"python: {platform_module.python_version()}",
        f"device info: cpu-{len(cpu_devices())}, {len(cpu_devices())} local devices, "
        f"{os.cpu_count()} cores",
        "process_count: 1", f"platform: {platform_module.uname()}"]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None


__all__ = [
    "CpuDevice", "Device", "SingleDeviceSharding", "block_until_ready", "copy_to_host_async",
    "cpu_device", "default_backend", "device_count", "device_get", "device_put", "devices",
    "effects_barrier", "live_arrays", "local_device_count", "local_devices",
    "make_array_from_callback", "make_array_from_process_local_data",
    "make_array_from_single_device_arrays", "print_environment_info", "process_count",
"process_index", "process_indices", ]
