"""`Mesh`: devices in a grid whose axes have names; and the mesh that is in scope.

In: an array of devices, and a name for each of its axes. Out: what shardings and `shard_map` refer
to. `AbstractMesh` is a mesh without devices.

    with Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y")): …

Invariant: meshes are immutable, and equal when devices, names and kinds of axes are.
Axes are of the kind Auto, Explicit or Manual; Explicit ones are treated like Auto here, since types
of values do not carry shardings.
"""

from __future__ import annotations

import collections
import contextlib
import enum
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jitney.base import config
from jitney.core import trace as traces
from jitney.placement.devices import CpuDevice, cpu_devices


class AxisType(enum.Enum):
    """Who places values along an axis of a mesh."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self):
        return self.name


def _axis_types(types: Any, count: int) -> tuple[AxisType, ...]:
    if types is None:
        return (AxisType.Auto,) * count
    types = (types,) * count if isinstance(types, AxisType) else tuple(types)
    if len(types) != count:
        raise ValueError(f"Number of axis names should match the number of axis_types. Got "
                         f"axis_types={types} for {count} axes")
    for kind in types:
        if not isinstance(kind, AxisType):
            raise TypeError(f"axis_types takes members of jax.sharding.AxisType, not {kind!r}")
    return types


class _Axes:
    """What meshes with and without devices have in common: named axes with sizes."""

    axis_names: tuple
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> collections.OrderedDict:
        """Size of each axis, by name."""
        return collections.OrderedDict(self.shape_tuple)

    @property
    def shape_tuple(self) -> tuple:
        return tuple(zip(self.axis_names, self.axis_sizes))

    @property
    def size(self) -> int:
        return math.prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        return not self.axis_names

    def _of_type(self, kind: AxisType) -> tuple:
        return tuple(n for n, t in zip(self.axis_names, self.axis_types) if t is kind)

    @property
    def auto_axes(self) -> tuple:
        return self._of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple:
        return self._of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple:
        return self._of_type(AxisType.Manual)

    def _all_of(self, kind: AxisType) -> bool:
        return bool(self.axis_types) and all(t is kind for t in self.axis_types)

    are_all_axes_auto = property(lambda self: self._all_of(AxisType.Auto))
    are_all_axes_explicit = property(lambda self: self._all_of(AxisType.Explicit))
    are_all_axes_manual = property(lambda self: self._all_of(AxisType.Manual))
    is_multi_process = False

    def _axes_text(self) -> str:
        return "".join(f"{n!r}: {s}, " for n, s in self.shape_tuple) + \
            f"axis_types={self.axis_types}"


class Mesh(_Axes):
    """Devices in a grid, with named axes."""

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None):
        grid = devices if isinstance(devices, np.ndarray) else np.array(devices, dtype=object)
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if any(name is None for name in names):
            raise ValueError(f"Mesh axis names cannot be None. Got: {names}")
        if grid.ndim != len(names):
            raise ValueError(
                "Mesh requires the ndim of its first argument (`devices`) to equal the length of "
                f"its second argument (`axis_names`), but got devices.ndim == {grid.ndim} and "
                f"len(axis_names) == {len(names)}.")
        if len(set(names)) != len(names):
            raise ValueError(f"the axes of a mesh have different names, but got {names}")
        self.devices = grid.copy() if grid.dtype == object else grid.astype(object)
        self.devices.flags.writeable = False
        self.axis_names, self.axis_sizes = names, grid.shape
        self.axis_types = _axis_types(axis_types, len(names))
        self._key = (tuple(self.devices.flat), self.axis_sizes, names, self.axis_types)
        self._hash = hash(tuple(getattr(d, "id", d) for d in self._key[0])) ^ hash(self._key[1:3])
        self._entered: list = []

    @property
    def size(self) -> int:
        return math.prod(self.axis_sizes) if self.axis_names else 0

    @property
    def device_ids(self) -> np.ndarray:
        """Ids of the devices, in the grid's shape."""
        return np.array([d.id for d in self.devices.flat], dtype=int).reshape(self.axis_sizes)

    @property
    def local_devices(self) -> list[CpuDevice]:
        return list(self.devices.flat)

    @property
    def local_mesh(self) -> Mesh:
        return self

    is_scalar = property(lambda self: not self.axis_names)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The same axes, without devices."""
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        return Mesh(self.devices if devices is None else devices,
                    self.axis_names if axis_names is None else axis_names,
                    self.axis_types if axis_types is None else axis_types)

    def __enter__(self) -> Mesh:
        self._entered.append(config.mesh_scope((self, None)))
        self._entered[-1].__enter__()
        return self

    def __exit__(self, *exc: Any) -> bool:
        return self._entered.pop().__exit__(*exc)

    def __eq__(self, other: Any) -> bool:
        return self is other or (isinstance(other, Mesh) and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self):
        if self.empty:
            return "Mesh(axis_sizes=(), axis_names=())"
        return (f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, "
                f"axis_types={self.axis_types})")

    def __str__(self):
        return "Mesh()" if self.empty else f"Mesh({self._axes_text()})"

    def __reduce__(self):
        return Mesh, (self.devices, self.axis_names, self.axis_types)


class AbstractMesh(_Axes):
    """Named axes with sizes: a mesh whose devices are not said."""

    def __init__(self, axis_sizes: Any, axis_names: Any, axis_types: Any = None, *,
                 abstract_device: Any = None):
        self.axis_sizes, self.axis_names = tuple(axis_sizes), tuple(axis_names)
        if len(self.axis_sizes) != len(self.axis_names):
            raise ValueError(f"AbstractMesh takes one name a size; got the sizes {self.axis_sizes} "
                             f"and the names {self.axis_names}")
        self.axis_types = _axis_types(axis_types, len(self.axis_names))
        self.abstract_device = abstract_device
        self._key = (self.axis_sizes, self.axis_names, self.axis_types)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return self

    @property
    def devices(self) -> Any:
        raise AttributeError("AbstractMesh has no devices; use a Mesh where devices are needed")

    def update(self, axis_sizes: Any = None, axis_names: Any = None,
               axis_types: Any = None) -> AbstractMesh:
        return AbstractMesh(self.axis_sizes if axis_sizes is None else axis_sizes,
                            self.axis_names if axis_names is None else axis_names,
                            self.axis_types if axis_types is None else axis_types)

    def update_axis_types(self, name_to_type: dict) -> AbstractMesh:
        return self.update(axis_types=tuple(
            name_to_type.get(n, t) for n, t in zip(self.axis_names, self.axis_types)))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, AbstractMesh) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key[:2])

    def __repr__(self):
        return f"AbstractMesh({self._axes_text()})"

    def __reduce__(self):
        return AbstractMesh, self._key


# --- the mesh in scope ---------------------------------------------------------------------------

_EMPTY, _EMPTY_ABSTRACT = Mesh(np.empty((), dtype=object), ()), AbstractMesh((), ())


# (mesh or None, abstract mesh or None): a switch, because what a program means depends on it


def _now() -> tuple[Mesh | None, AbstractMesh | None]:
    return (config.mesh_scope.value or (None, None))[:2]


def current_mesh() -> Mesh | None:
    """The mesh in scope, or None."""
    return _now()[0]


def get_mesh() -> Mesh:
    """The mesh in scope (an empty one when there is none)."""
    return current_mesh() or _EMPTY


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the mesh in scope; those a `shard_map` maps over are Manual inside it."""
    mesh, abstract = _now()
    if abstract is not None:
        return abstract
    return _EMPTY_ABSTRACT if mesh is None else mesh.abstract_mesh


class set_mesh:
    """Make a mesh the one in scope, from here on or inside a `with` block.

    Functions that take shardings accept bare PartitionSpecs then, and `shard_map` needs no mesh.
    """

    def __init__(self, mesh: Mesh):
        if not isinstance(mesh, Mesh):
            raise ValueError(f"Expected mesh of type `jax.sharding.Mesh`. Got {type(mesh)}")
        self.mesh, self.before = mesh, config.mesh_scope._value
        config.config.update("jax_mesh_scope", (mesh, None))

    def __enter__(self) -> Mesh:
        config.config.update("jax_mesh_scope", self.before)
        self.setting = config.mesh_scope((self.mesh, None))
        self.setting.__enter__()
        return self.mesh

    def __exit__(self, *exc: Any) -> bool:
        return self.setting.__exit__(*exc)


class use_abstract_mesh:
    """Make an abstract mesh the one in scope inside a `with` block."""

    def __init__(self, mesh: AbstractMesh):
        if not isinstance(mesh, AbstractMesh):
            raise ValueError(f"Expected mesh of type `jax.sharding.AbstractMesh`. Got {type(mesh)}")
        self.mesh = mesh

    def __enter__(self) -> AbstractMesh:
        self.setting = config.mesh_scope((_now()[0], self.mesh))
        self.setting.__enter__()
        return self.mesh

    def __exit__(self, *exc: Any) -> bool:
        return self.setting.__exit__(*exc)


@contextlib.contextmanager
def manual_scope(mesh: Mesh, axes: frozenset, checks: bool = False) -> Iterator[None]:
    """Inside: the axes' names are bound, and Manual in the mesh in scope.

    `checks`: whether it is tracked along which axes values vary, which changes programs.
    """
    sizes = mesh.shape
    abstract = get_abstract_mesh()
    if not set(mesh.axis_names) <= set(abstract.axis_names):
        abstract = mesh.abstract_mesh
    abstract = abstract.update_axis_types({n: AxisType.Manual for n in axes})
    named = [(n, sizes[n]) for n in mesh.axis_names if n in axes]
    with config.mesh_scope((mesh, abstract, checks)), traces.extend_axis_environment(*named):
        yield


def make_mesh(axis_shapes: Sequence[int], axis_names: Sequence[str],
              axis_types: tuple[AxisType, ...] | None = None, *,
              devices: Sequence | None = None) -> Mesh:
    """A mesh of the first devices, in order of their ids.

    `axis_types` are Explicit by default, as in JAX, and treated like Auto here.
    ValueError when there are fewer devices than the mesh has places.

    >>> make_mesh((1,), ("x",)).shape
    OrderedDict([('x', 1)])
    """
    shape = tuple(int(n) for n in axis_shapes)
    found = cpu_devices() if devices is None else list(devices)
    count = math.prod(shape)
    if len(shape) != len(axis_names):
        raise ValueError(f"make_mesh takes one name an axis; got the shape {shape} and the names "
                         f"{tuple(axis_names)}")
    if len(found) < count:
        raise ValueError(f"Number of devices {len(found)} must be >= the product of mesh_shape "
                         f"{shape}")
    if axis_types is None:
        axis_types = (AxisType.Explicit,) * len(shape)
    grid = np.array(found[:count], dtype=object).reshape(shape)
    return Mesh(grid, tuple(axis_names), axis_types)


__all__ = [
    "AbstractMesh", "AxisType", "Mesh", "current_mesh", "get_abstract_mesh", "get_mesh",
    "make_mesh", "manual_scope", "set_mesh", "use_abstract_mesh",
]
