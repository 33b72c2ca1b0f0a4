"""`jax.experimental.mesh_utils`: devices in a grid, for `Mesh`.

In: the grid's shape. Out: an array of devices. All devices are equally near to one another here, so
that they are simply in order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.placement.devices import cpu_devices


def create_device_mesh(mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, *,
                       contiguous_submeshes: bool = False,
                       allow_split_physical_axes: bool = False) -> np.ndarray:
    """The devices (by default all) in an array of that shape.

    The options concern networks between devices; there is none, so they must be booleans and change
    nothing. ValueError unless there are as many devices as places.
    """
    _check_flags(contiguous_submeshes=contiguous_submeshes,
                 allow_split_physical_axes=allow_split_physical_axes)
    shape = tuple(int(n) for n in mesh_shape)
    found = cpu_devices() if devices is None else list(devices)
    if len(found) != math.prod(shape):
        raise ValueError(f"Number of devices {len(found)} must equal the product of mesh_shape "
                         f"{shape}")
    return np.array(found, dtype=object).reshape(shape)


def create_hybrid_device_mesh(mesh_shape: Sequence[int], dcn_mesh_shape: Sequence[int],
                              devices: Sequence[Any] | None = None, *,
                              process_is_granule: bool = False,
                              should_sort_granules_by_key: bool = True,
                              allow_split_physical_axes: bool = False) -> np.ndarray:
    """A grid within processes times a grid of processes; there is one process.

    ValueError unless `process_is_granule` is set (CPU devices belong to no slices) and
    `dcn_mesh_shape` holds one process.
    """
    _check_flags(should_sort_granules_by_key=should_sort_granules_by_key)
    if not process_is_granule:
        raise ValueError("Device cpu:0 does not have attribute slice_index. See "
                         "`process_is_granule` option.")
    if math.prod(dcn_mesh_shape) != 1:
        raise ValueError("Number of slices/processes 1 must equal the product of dcn_mesh_shape "
                         f"{tuple(dcn_mesh_shape)}")
    return create_device_mesh(mesh_shape, devices,
                              allow_split_physical_axes=allow_split_physical_axes)


def _check_flags(**flags: Any) -> None:
    for name, value in flags.items():
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{name} is a boolean, not {value!r}")


__all__ = ["create_device_mesh", "create_hybrid_device_mesh"]
