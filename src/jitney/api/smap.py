"""`smap`: a `shard_map` over one axis of the mesh in scope, told by positions of axes.

In: a function, and which axis of each argument and result is cut in parts. Out: the function on
whole arrays. The specs of `shard_map` are made from the positions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jitney import _native
from jitney.api.jvp_vjp import check_callable
from jitney.api.shard_map import Infer, shard_map
from jitney.base.pytree import broadcast_prefix, tree_leaves, tree_structure
from jitney.core.avals import get_aval
from jitney.placement.mesh import current_mesh
from jitney.placement.partition_spec import P


def smap(f: Callable | None = None, /, *, in_axes: Any = Infer, out_axes: Any,
         axis_name: Any) -> Any:
    """`f` applied to each part of the arguments along one mesh axis, as `shard_map` does.

    in_axes: which axis of the arguments is cut: an integer, None (the whole goes to every part), or
    a tuple of trees of these, one for each argument; by default what the arguments' types say.
    out_axes: along which axis of the results the parts are put together, likewise. axis_name: the
    axis of the mesh in scope (`set_mesh`). Without `f` a decorator is returned.

    ValueError for positions outside of the arrays, where no mesh is in scope, or where it has no
    such axis; TypeError for an axis_name that is a tuple, and for positions that are no integers.
    """
    if f is None:
        return lambda g: smap(g, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    check_callable(f)
    if isinstance(axis_name, (tuple, list, set, frozenset)):
        raise TypeError(f"smap axis_name should be a `str` or a `Hashable`, but got {axis_name}")

    @functools.wraps(f, assigned=[n for n in functools.WRAPPER_ASSIGNMENTS if hasattr(f, n)],
                     updated=())
    def mapped(*args: Any) -> Any:
        if current_mesh() is None:
            raise ValueError("smap: the context mesh cannot be empty. Use `jax.set_mesh(mesh)` to "
                             "enter into a mesh context")
        results: list = []

        def noted(*parts):
            out = f(*parts)
            results[:] = [out]
            return out

        in_specs: Any = Infer
        if in_axes is not Infer:
            flat = _specs("in_axes", in_axes, args, axis_name)
            in_specs = _native.tree_unflatten(tree_structure(args), flat)
        return shard_map(noted, in_specs=in_specs, axis_names={axis_name},
                         out_specs=lambda: _specs("out_axes", out_axes, results[0],
                                                  axis_name))(*args)

    return mapped


def _specs(what: str, axes: Any, tree: Any, axis_name: Any) -> list:
    """The PartitionSpecs for the leaves of a tree of arrays."""
    leaves = tree_leaves(tree)
    if axes is None or hasattr(axes, "__index__"):
        positions = [axes] * len(leaves)
    else:
        positions = broadcast_prefix(axes, tree, is_leaf=lambda x: x is None)
    return [_spec(what, a, len(get_aval(x).shape), axis_name)
            for a, x in zip(positions, leaves, strict=True)]


def _spec(what: str, axis: Any, rank: int, axis_name: Any) -> P:
    if axis is None:
        return P()
    if not hasattr(axis, "__index__") or isinstance(axis, bool):
        raise TypeError(f"smap: {what} are integers, None, or trees of these, got {axis!r}")
    if not -rank <= axis < rank:
        raise ValueError(f"smap: {what} has the axis {axis} for an array of {rank} axes")
    return P(*[None] * (axis % rank), axis_name)


__all__ = ["smap"]
