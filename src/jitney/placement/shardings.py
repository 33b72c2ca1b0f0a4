"""Shardings: which part of an array belongs to which device.

In: devices, and a rule that cuts arrays. Out: for a shape, the slices that each device holds. Since
devices share memory, a shard is a slice of the one buffer; nothing is moved.
Invariant: shardings are immutable and hashable; equal ones cut every array alike.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

from jitney.placement.devices import CpuDevice, default_cpu_device
from jitney.placement.mesh import AbstractMesh, Mesh, current_mesh
from jitney.placement.partition_spec import PartitionSpec, axes_of, mentioned


class IndivisibleError(ValueError):
    """A dimension cannot be cut into equal parts."""


class DuplicateSpecError(ValueError):
    """A spec splits two dimensions along the same mesh axis."""


class Sharding:
    """Base of shardings."""

    memory_kind: str = "device"
    is_fully_addressable = True
    has_addressable_devices = True

    def _devices(self) -> tuple[CpuDevice, ...]:
        """All devices, in the order of shards."""
        raise NotImplementedError(type(self).__name__)

    def _parts(self, ndim: int) -> tuple[int, ...]:
        """Into how many parts each dimension is cut."""
        raise NotImplementedError(type(self).__name__)

    def _positions(self, ndim: int) -> Iterator[tuple[CpuDevice, tuple[int, ...]]]:
        """For each device, which part of each dimension it holds."""
        raise NotImplementedError(type(self).__name__)

    def _check_rank(self, ndim: int) -> None:
        """ValueError for arrays of too low a rank."""

    @property
    def device_set(self) -> set:
        return set(self._devices())

    addressable_devices = device_set

    @property
    def num_devices(self) -> int:
        return len(self._devices())

    @property
    def is_fully_replicated(self) -> bool:
        return self.num_devices == 1

    def shard_shape(self, shape: tuple) -> tuple[int, ...]:
        """The shape of each shard of an array of that shape; ValueError if it cannot be cut."""
        shape = tuple(shape)
        self._check_rank(len(shape))
        parts = self._parts(len(shape))
        for axis, (extent, count) in enumerate(zip(shape, parts)):
            if extent % count:
                raise IndivisibleError(
                    f"Sharding {self} implies that array axis {axis} is partitioned {count} times, "
                    f"but the dimension size is {extent} (full shape: {shape}, per-dimension "
                    f"tiling factors: {list(parts)} should evenly divide the shape)")
        return tuple([extent // count for extent, count in zip(shape, parts)])

    def devices_indices_map(self, shape: tuple) -> dict[CpuDevice, tuple[slice, ...]]:
        """The slices that each device holds of an array of that shape."""
        return dict(_indices(self, tuple(shape)))

    addressable_devices_indices_map = devices_indices_map

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Whether both place arrays of that rank alike."""
        if self == other:
            return True
        return isinstance(other, Sharding) and self._devices() == other._devices() and \
            list(self._positions(ndim)) == list(other._positions(ndim)) and \
            self._parts(ndim) == other._parts(ndim)

    def check_compatible_aval(self, shape: tuple) -> None:
        self._check_rank(len(shape))

    def with_memory_kind(self, kind: str | None) -> Sharding:
        check_memory_kind(kind)
        return self


def check_memory_kind(kind: str | None) -> None:
    """CPU devices have one kind of memory."""
    if kind not in (None, "device", "unpinned_host", "pinned_host"):
        raise ValueError(f"Could not find memory addressable by device cpu. Device cpu can address "
                         f"the following memory kinds: device. Got memory kind: {kind}")
    if kind not in (None, "device"):
        raise NotImplementedError(f"memory_kind={kind!r}: the devices here have one memory, of the "
                                  "kind 'device'")


@functools.lru_cache(maxsize=1024)
def _indices(sharding: Sharding, shape: tuple) -> tuple:
    local = sharding.shard_shape(shape)
    parts = sharding._parts(len(shape))
    return tuple([
        (device, tuple([slice(None) if count == 1 else slice(i * n, (i + 1) * n)
                        for i, n, count in zip(where, local, parts)]))
        for device, where in sharding._positions(len(shape))])


@functools.lru_cache(maxsize=1024)
def shards_of(sharding: Sharding, shape: tuple) -> tuple:
    """(device, slices, replica number) of every shard, in order of devices."""
    seen: dict[Any, int] = {}
    out = []
    for device, index in _indices(sharding, shape):
        key = tuple([(s.start, s.stop) for s in index])
        out.append((device, index, seen.get(key, 0)))
        seen[key] = seen.get(key, 0) + 1
    return tuple(out)


class SingleDeviceSharding(Sharding):
    """Everything on one device."""

    def __init__(self, device: CpuDevice | None = None, *, memory_kind: str | None = None):
        check_memory_kind(memory_kind)
        self._device = default_cpu_device() if device is None else device

    def _devices(self) -> tuple[CpuDevice, ...]:
        return (self._device,)

    def _parts(self, ndim: int) -> tuple[int, ...]:
        return (1,) * ndim

    def _positions(self, ndim: int) -> Iterator:
        yield self._device, (0,) * ndim

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, SingleDeviceSharding) and self._device is other._device

    def __hash__(self) -> int:
        return hash(("SingleDeviceSharding", self._device.id))

    def __repr__(self):
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind=device)"

    def __reduce__(self):
        return SingleDeviceSharding, (self._device,)


class NamedSharding(Sharding):
    """Dimensions split along the axes of a mesh, as a PartitionSpec says.

    >>> NamedSharding(make_mesh((1,), ("x",)), PartitionSpec("x")).shard_shape((4, 2))
    (4, 2)
    """

    def __init__(self, mesh: Mesh | AbstractMesh, spec: PartitionSpec, *,
                 memory_kind: str | None = None):
        if not isinstance(mesh, (Mesh, AbstractMesh)):
            raise TypeError(f"NamedSharding takes a jax.sharding.Mesh, not {mesh!r} of type "
                            f"{type(mesh)}")
        if not isinstance(spec, PartitionSpec):
            raise TypeError(f"Unexpected type {type(spec)} for `spec`: NamedSharding takes a "
                            f"jax.sharding.PartitionSpec, not {spec!r}")
        check_memory_kind(memory_kind)
        check_spec(spec, mesh)
        self.mesh, self.spec = mesh, spec
        self._hash = hash((mesh, spec))

    def _devices(self) -> tuple[CpuDevice, ...]:
        return tuple(self.mesh.devices.flat)

    def _parts(self, ndim: int) -> tuple[int, ...]:
        sizes = self.mesh.shape
        counts = [math.prod(sizes[a] for a in axes_of(entry)) for entry in self.spec][:ndim]
        return (*counts, *(1,) * (ndim - len(counts)))

    def _positions(self, ndim: int) -> Iterator:
        sizes, names = self.mesh.shape, self.mesh.axis_names
        for place, device in _enumerate(self.mesh.devices):
            at = dict(zip(names, place))
            where = [_number([(at[a], sizes[a]) for a in axes_of(entry)])
                     for entry in self.spec][:ndim]
            yield device, (*where, *(0,) * (ndim - len(where)))

    def _check_rank(self, ndim: int) -> None:
        if len(self.spec) > ndim:
            raise ValueError(f"Sharding {self} is only valid for values of rank at least "
                             f"{len(self.spec)}, but was applied to a value of rank {ndim}.")

    @property
    def is_fully_replicated(self) -> bool:
        sizes = self.mesh.shape
        return all(sizes[a] == 1 for a in mentioned(self.spec))

    @property
    def replicated_axes(self) -> frozenset:
        """Mesh axes along which the parts are equal."""
        return frozenset(self.mesh.axis_names) - set(mentioned(self.spec))

    def update(self, **changes: Any) -> NamedSharding:
        return NamedSharding(changes.get("mesh", self.mesh), changes.get("spec", self.spec))

    def __eq__(self, other: Any) -> bool:
        return self is other or (isinstance(other, NamedSharding) and self.spec == other.spec
                                 and self.mesh == other.mesh)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self):
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec!r}, memory_kind=device)"

    def __reduce__(self):
        return NamedSharding, (self.mesh, self.spec)


def _enumerate(grid: Any) -> Iterator[tuple[tuple, CpuDevice]]:
    for flat, device in enumerate(grid.flat):
        place = []
        for extent in reversed(grid.shape):
            flat, at = divmod(flat, extent)
            place.append(at)
        yield tuple(reversed(place)), device


def _number(digits: list[tuple[int, int]]) -> int:
    """A position along several axes, the first being the slowest."""
    number = 0
    for at, size in digits:
        number = number * size + at
    return number


def check_spec(spec: PartitionSpec, mesh: Any) -> None:
    """ValueError unless the spec names axes of the mesh, each at most once."""
    axes = mentioned(spec)
    for axis in axes:
        if axis not in mesh.axis_names:
            raise ValueError(f"Resource axis: {axis} of {spec} is not found in mesh: "
                             f"{mesh.axis_names}.")
    for axis in axes:
        if axes.count(axis) > 1:
            raise DuplicateSpecError(
                "A single NamedSharding spec specification can map every mesh axis to at most one "
                f"positional dimension, but {spec} has duplicate entries for `{axis}`")


def as_sharding(x: Any, what: str = "a sharding") -> Sharding:
    """A sharding from a sharding, a device, or (with a mesh in scope) a PartitionSpec."""
    if isinstance(x, NamedSharding) and isinstance(x.mesh, AbstractMesh):
        return NamedSharding(_mesh_in_scope(what, x), x.spec)
    if isinstance(x, Sharding):
        return x
    if isinstance(x, CpuDevice):
        return SingleDeviceSharding(x)
    if isinstance(x, PartitionSpec):
        return NamedSharding(_mesh_in_scope(what, x), x)
    raise ValueError(f"{what} takes a jax.sharding.Sharding, a device, or a PartitionSpec (with a "
                     f"mesh in scope), not {x!r} of type {type(x)}")


def _mesh_in_scope(what: str, x: Any) -> Mesh:
    mesh = current_mesh()
    if mesh is None:
        raise RuntimeError(f"{what} requires a non-empty mesh in context if you are passing "
                           f"`PartitionSpec`s (here {x!r}). You can set a mesh with "
                           "`jax.set_mesh(mesh)`, or pass a NamedSharding(mesh, spec).")
    return mesh


__all__ = [
    "DuplicateSpecError", "IndivisibleError", "NamedSharding", "Sharding", "SingleDeviceSharding",
    "as_sharding", "check_memory_kind", "check_spec", "shards_of",
]
