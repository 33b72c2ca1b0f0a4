"""`shard_map`: a function of shards, run by every device of a mesh on its own part of the data.

In: a function, a mesh, and PartitionSpecs (tree prefixes) that say how arguments are cut and how
results are put together. Out: the same function of whole arrays; inside, collectives act over the
axes of the mesh. Each device has a thread of its own (`shard_map_rules` runs them).

    f = shard_map(lambda x: lax.psum(x.sum(), "i"), mesh=mesh, in_specs=P("i"), out_specs=P())
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney import _native
from jitney.api import signature as signatures
from jitney.api.jit import jit
from jitney.api.jvp_vjp import check_callable
from jitney.api.shard_map_rules import shard_map_p
from jitney.base import source
from jitney.base.pytree import broadcast_prefix, prefix_errors, tree_flatten, tree_leaves
from jitney.core.avals import Array, ShapedArray, get_aval
from jitney.core.jaxpr import ClosedJaxpr, DebugInfo, convert_constvars
from jitney.core.staging import trace_flat
from jitney.core.trace import Tracer
from jitney.placement import varying
from jitney.placement.mesh import (
    AbstractMesh,
    Mesh,
    current_mesh,
    get_abstract_mesh,
    manual_scope,
)
from jitney.placement.partition_spec import PartitionSpec, axes_of, mentioned
from jitney.placement.shardings import NamedSharding, check_spec


class _Infer:
    """Specs are those of the arguments' shardings."""

    def __repr__(self):
        return "Infer"


Infer = _Infer()


def shard_map(f: Callable | None = None, /, *, out_specs: Any, in_specs: Any = Infer,
              mesh: Any = None, axis_names: Any = frozenset(), check_vma: bool = True) -> Any:
    """`f` applied by every device of a mesh to its shards of the arguments.

    `in_specs` and `out_specs` are tree prefixes of PartitionSpecs: along a dimension whose entry
    names an axis of the mesh, each device gets (gives) one of equal parts; where an axis is not
    named, all devices along it get the whole (and must give the same). `mesh` is by default the one
    in scope (`set_mesh`); `axis_names` are the axes to map over, by default all. With `check_vma`
    (the default) it is tracked along which axes values vary: results that are not known to be equal
    along the axes their spec leaves out are refused, and derivatives taken inside are those of
    the whole computation. Without `f` a decorator is returned.

    ValueError for specs that do not fit mesh, shapes or trees.
    """
    if f is None:
        return lambda g: shard_map(g, out_specs=out_specs, in_specs=in_specs, mesh=mesh,
                                   axis_names=axis_names, check_vma=check_vma)
    check_callable(f)
    mapped = MappedFunction(f, mesh, in_specs, out_specs, axis_names, check_vma)

    @functools.wraps(f, assigned=[n for n in functools.WRAPPER_ASSIGNMENTS if hasattr(f, n)],
                     updated=())
    def wrapped(*args: Any) -> Any:
        if _native.current_trace() is None and in_specs is not Infer and \
                not any(isinstance(x, Tracer) for x in tree_leaves(args)):
            return compiled(*args)              # traced once, not at every call
        return mapped(*args)

    compiled = jit(mapped)
    return wrapped


class MappedFunction:
    """A function with its mesh and specs: callable under a trace.

    `out_specs` may be a function without arguments that is asked once `fun` has returned.
    """

    def __init__(self, fun: Callable, mesh: Any, in_specs: Any, out_specs: Any, axis_names: Any,
                 check_vma: bool):
        self.fun, self.mesh, self.in_specs, self.out_specs = fun, mesh, in_specs, out_specs
        names = (axis_names,) if isinstance(axis_names, str) else axis_names
        self.axis_names, self.check_vma = frozenset(names), check_vma
        self.name = source.function_name(fun)
        self.__name__ = self.name
        if out_specs is None:
            raise TypeError("shard_map out_specs cannot be None; use PartitionSpec() for results "
                            "that are equal on all devices")

    def __call__(self, *args: Any) -> Any:
        mesh, manual = _mesh_of(self.mesh, self.axis_names)
        leaves, in_tree = tree_flatten(args)
        specs = self._input_specs(args, leaves, mesh, manual)
        positions = in_tree.unflatten(list(range(len(leaves))))
        names = signatures.input_names(self.fun, (positions, {}), None)
        avals = [_local_aval(get_aval(x), spec, mesh, self.name, name)
                 for x, spec, name in zip(leaves, specs, names, strict=True)]
        body = _Body(self, mesh, manual, specs, leaves, in_tree)
        with manual_scope(mesh, manual, self.check_vma):
            jaxpr, consts = trace_flat(body, avals, DebugInfo("shard_map", self.fun))
        closed = ClosedJaxpr(convert_constvars(jaxpr), ())
        outs = shard_map_p.bind(
            *consts, *leaves, jaxpr=closed, mesh=mesh, newly_manual_axes=manual,
            in_specs=(*[PartitionSpec()] * len(consts), *specs), out_specs=tuple(body.out_specs),
            check_vma=self.check_vma)
        return body.out_tree.unflatten(outs)

    def _input_specs(self, args: tuple, leaves: list, mesh: Mesh, manual: frozenset) -> list:
        if self.in_specs is Infer:
            return [_inferred(x, mesh) for x in leaves]
        given = tuple(self.in_specs) if isinstance(self.in_specs, list) else self.in_specs
        specs = spread_specs(given, args, "shard_map in_specs")
        for spec in specs:
            _check_axes(spec, mesh, manual, "in_specs")
        return specs


def _mesh_of(mesh: Any, axis_names: frozenset) -> tuple[Mesh, frozenset]:
    """The mesh with devices, and the axes that become manual."""
    scope = current_mesh()
    outer = get_abstract_mesh()
    if mesh is None or isinstance(mesh, AbstractMesh):
        if scope is None:
            raise ValueError("The context mesh cannot be empty. Use `jax.set_mesh(mesh)` to enter "
                             "into a mesh context, or pass shard_map a mesh of devices")
        if mesh is not None and mesh.shape_tuple != scope.shape_tuple:
            raise ValueError(f"The context mesh {scope} should match the mesh passed to shard_map "
                             f"{mesh}")
        mesh = scope
    elif not isinstance(mesh, Mesh):
        raise TypeError("shard_map requires a `jax.sharding.Mesh` instance for its second "
                        f"argument, but got {mesh} of type {type(mesh)}.")
    elif outer.manual_axes and scope != mesh:
        raise ValueError(f"The context mesh {outer} should match the mesh passed to shard_map "
                         f"{mesh}: inside a shard_map (or pmap) another one can only map over the "
                         "axes that are left of the same mesh")
    done = frozenset(outer.manual_axes)
    if not axis_names <= set(mesh.axis_names):
        raise ValueError(f"jax.shard_map requires axis_names={_set_text(axis_names)} to be a "
                         f"subset of mesh.axis_names={mesh.axis_names}")
    manual = (axis_names or frozenset(mesh.axis_names)) - done
    if not manual and mesh.axis_names:
        raise ValueError(f"shard_map: the axes {mesh.axis_names} are all mapped over already by "
                         "the shard_map (or pmap) around")
    return mesh, manual


def _is_spec(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec)


def spread_specs(specs: Any, tree: Any, what: str) -> list[PartitionSpec]:
    """One spec a leaf, from a tree prefix of specs (None: `P()`)."""
    for leaf in _native.tree_leaves(specs, _is_spec):
        if not _is_spec(leaf):
            raise TypeError(f"{what} argument must be a pytree of `jax.sharding.PartitionSpec` "
                            f"instances, but there is {leaf!r} of type {type(leaf)}")
    try:
        found = broadcast_prefix(specs, tree, is_leaf=_is_spec)
    except (ValueError, TypeError, KeyError):
        error = next(iter(prefix_errors(specs, tree, is_leaf=_is_spec)), None)
        raise ValueError(error(what) if error is not None else
                         f"{what} is no tree prefix of the values: {specs}") from None
    return [PartitionSpec() if s is None else s for s in found]


def _check_axes(spec: PartitionSpec, mesh: Mesh, manual: frozenset, what: str) -> None:
    for axis in mentioned(spec):
        if axis not in manual:
            raise ValueError(f"shard_map {what} argument must refer to an axis marked as manual "
                             f"({_set_text(manual)}), but:\n\n  {what} refers to {axis!r}\n\nCheck "
                             f"the {what} values passed to shard_map.")
    check_spec(spec, mesh)


def _inferred(x: Any, mesh: Mesh) -> PartitionSpec:
    sharding = x._sharding if type(x) is Array else None
    if not isinstance(sharding, NamedSharding) or sharding.mesh != mesh:
        raise ValueError("shard_map without in_specs takes arrays that are placed on its mesh, "
                         "with jax.device_put(x, NamedSharding(mesh, spec)); pass in_specs for "
                         "others (and under jit, where places are not part of types)")
    return sharding.spec


def _local_aval(aval: ShapedArray, spec: PartitionSpec, mesh: Mesh, function: str,
                name: str) -> ShapedArray:
    """The type of a shard; ValueError if there is none."""
    if len(spec) > len(aval.shape):
        raise ValueError(
            f"shard_map applied to the function '{function}' was given an in_specs entry which is "
            "too long to be compatible with the corresponding input value from the function:\n\n"
            f"in_specs is {spec} which has length {len(spec)}, but the passed {name} has shape "
            f"{aval.str_short()}, which has rank {len(aval.shape)} (and {len(aval.shape)} < "
            f"{len(spec)})\n\nEntries in in_specs must be of length no greater than the number of "
            "axes in the corresponding input value.")
    shape = list(aval.shape)
    for i, entry in enumerate(spec):
        count = int(np.prod([mesh.shape[a] for a in axes_of(entry)], dtype=np.int64))
        if shape[i] % count:
            raise ValueError(
                f"shard_map applied to the function '{function}' was given argument arrays with "
                "axis sizes that are not evenly divisible by the corresponding mesh axis "
                f"sizes:\n\nThe mesh given has shape {mesh.axis_sizes} with corresponding axis "
                f"names {mesh.axis_names}.\n\nthe passed {name} of shape {aval.str_short()} "
                f"corresponds to in_specs of value {spec}, which maps array axis {i} (of size "
                f"{shape[i]}) to mesh axis {entry!r} (of size {count}), but {count} does not "
                f"evenly divide {shape[i]}. Change the mesh or pad the input.")
        shape[i] //= count
    return aval.update(shape=tuple(shape))


class _Body:
    """The user's function on flat shards; notes the specs of its results."""

    def __init__(self, mapped: MappedFunction, mesh: Mesh, manual: frozenset, specs: Sequence,
                 leaves: Sequence, in_tree: Any):
        self.mapped, self.mesh, self.manual, self.in_tree = mapped, mesh, manual, in_tree
        outer = varying.mode()
        self.outer_axes = outer.axes if outer else frozenset()
        self.varies = [frozenset(mentioned(s)) | ((outer.of(x) or frozenset()) if outer else
                                                  frozenset()) for x, s in zip(leaves, specs)]

    def __call__(self, *tracers: Any) -> list:
        tracked = self.manual | self.outer_axes if self.mapped.check_vma else None
        with varying.tracking(tracked) as mode:
            if mode is not None:
                mode.known.update((t.variable, v) for t, v in zip(tracers, self.varies))
            out = self.mapped.fun(*self.in_tree.unflatten(tracers))
            outs, self.out_tree = tree_flatten(out)
            specs = self.mapped.out_specs
            self.out_specs = specs() if isinstance(specs, types.FunctionType) else \
                spread_specs(specs, out, "shard_map out_specs")
            return [self._checked(x, s, mode) for x, s in zip(outs, self.out_specs)]

    def _checked(self, x: Any, spec: PartitionSpec, mode: Any) -> Any:
        _check_axes(spec, self.mesh, self.manual, "out_specs")
        aval = get_aval(x)
        if len(spec) > len(aval.shape):
            raise ValueError(
                f"shard_map applied to the function '{self.mapped.name}' was given an out_specs "
                "entry which is too long to be compatible with the corresponding output value from "
                f"the function:\n\nout_specs is {spec} which has length {len(spec)}, but the "
                f"result has shape {aval.str_short()}, which has rank {len(aval.shape)}. For "
                "scalar values (rank 0), consider using an out_specs entry of `P()`, or give them "
                "an axis, with x[None], along which they can be concatenated.")
        return x if mode is None else self._varying(x, spec, mode)

    def _varying(self, x: Any, spec: PartitionSpec, mode: Any) -> Any:
        varies, named = mode.of(x), set(mentioned(spec))
        extra = (mode.axes if varies is None else varies) & self.manual - named
        if extra:
            raise ValueError(
                f"shard_map applied to the function '{self.mapped.name}' was given out_specs which "
                "require replication which can't be statically inferred given the mesh:\n\nThe "
                f"mesh given has shape {self.mesh.axis_sizes} with corresponding axis names "
                f"{self.mesh.axis_names}.\n\nout_specs is {spec} which implies that the "
                f"corresponding output value is only varying across mesh axes {_set_text(named)} "
                f"and not {_set_text(extra)}, but it was inferred to be possibly varying over "
                f"{_set_text(varies or extra)}\n\nCheck if these output values are meant to be "
                "replicated over those mesh axes. If not, consider revising the corresponding "
                "out_specs entries. If so, consider disabling the check by passing the "
                "check_vma=False argument to `jax.shard_map`.")
        return mode.vary(x, named)


def _set_text(axes: Any) -> str:
    return "{" + ",".join(sorted(map(str, axes))) + "}"


__all__ = ["Infer", "MappedFunction", "shard_map", "spread_specs"]
