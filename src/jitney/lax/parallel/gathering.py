"""all_gather and psum_scatter: everyone's values for all; the sum, a part for each.

In: a value on each member of the axes, or a tree of values. Out: larger (all_gather) or smaller
(psum_scatter) arrays. Each is the transpose of the other.
"""

from __future__ import annotations

from typing import Any

from jitney.base.pytree import tree_map
from jitney.core.avals import get_aval
from jitney.core.primitive import Primitive
from jitney.lax.arithmetic import mul
from jitney.lax.nary import filled
from jitney.lax.parallel import meeting
from jitney.lax.parallel.grouped import in_groups
from jitney.lax.parallel.names import axis_size as size_of
from jitney.lax.parallel.names import dimension, group_size, groups_of, names_of
from jitney.lax.shape import reshape, sum_over
from jitney.transforms.jvp import define_linear
from jitney.transforms.vmap import (
    broadcast_batch,
    define_batch,
    define_collective_batch,
    move_dimension,
)

all_gather_p, reduce_scatter_p = Primitive("all_gather"), Primitive("reduce_scatter")


def all_gather(x: Any, axis_name: Any, *, axis_index_groups: Any = None, axis: int = 0,
               tiled: bool = False, to: str = "varying") -> Any:
    """The values of all members (of the group), stacked along a new dimension `axis`.

    With `tiled` they are joined along the dimension `axis` that is there. ValueError for a
    dimension out of bounds, or groups of unequal size.
    """
    if to != "varying":
        raise NotImplementedError(f"all_gather(to={to!r}): only 'varying', a value for each "
                                  "member, is supported")
    names = names_of(axis_name)
    groups = groups_of(axis_index_groups, size_of(names), equal=True)
    size = group_size(names, groups)

    def gather(leaf):
        at = dimension(leaf, axis, "all_gather: axis", extra=not tiled)
        return all_gather_p.bind(leaf, all_gather_dimension=at, axis_index_groups=groups,
                                 axis_name=names, axis_size=size, tiled=tiled)

    return tree_map(gather, x)


def psum_scatter(x: Any, axis_name: Any, *, scatter_dimension: int = 0,
                 axis_index_groups: Any = None, tiled: bool = False) -> Any:
    """The sum over the members (of the group), of which each keeps its part.

    The k-th member keeps index k of `scatter_dimension`, which must be as long as the group and
    disappears; with `tiled`, the k-th of equal pieces of it. ValueError if it cannot be cut so.
    """
    names = names_of(axis_name)
    groups = groups_of(axis_index_groups, size_of(names), equal=True)
    size = group_size(names, groups)

    def scatter(leaf):
        at = dimension(leaf, scatter_dimension, "psum_scatter: scatter_dimension")
        params = {"axis_index_groups": groups, "axis_name": names, "axis_size": size,
                  "scatter_dimension": at, "tiled": tiled}
        _reduce_scatter_type(get_aval(leaf), **params)      # also where no equation is written
        return reduce_scatter_p.bind(leaf, **params)

    return tree_map(scatter, x)


@all_gather_p.def_abstract
def _all_gather_type(x, *, all_gather_dimension, axis_index_groups, axis_name, axis_size, tiled):
    shape = list(x.shape)
    if tiled:
        shape[all_gather_dimension] *= axis_size
    else:
        shape.insert(all_gather_dimension, axis_size)
    return x.update(shape=tuple(shape))


@reduce_scatter_p.def_abstract
def _reduce_scatter_type(x, *, axis_index_groups, axis_name, axis_size, scatter_dimension, tiled):
    shape = list(x.shape)
    found = shape[scatter_dimension]
    if tiled:
        if found % axis_size:
            raise ValueError(f"psum_scatter: dimension {scatter_dimension} of size {found} is not "
                             f"divisible by the axis size {axis_size}")
        shape[scatter_dimension] //= axis_size
    else:
        if found != axis_size:
            raise ValueError(f"psum_scatter: dimension {scatter_dimension} of size {found} must "
                             f"have the axis size {axis_size}")
        del shape[scatter_dimension]
    return x.update(shape=tuple(shape))


@all_gather_p.def_reference
def _all_gather_reference(x, *, all_gather_dimension, axis_index_groups, axis_name, axis_size,
                          tiled):
    return meeting.gather("all_gather", axis_name, axis_index_groups, x, all_gather_dimension,
                          tiled)


@reduce_scatter_p.def_reference
def _reduce_scatter_reference(x, *, axis_index_groups, axis_name, axis_size, scatter_dimension,
                              tiled):
    return meeting.reduce_scatter("psum_scatter", axis_name, axis_index_groups, x,
                                  scatter_dimension, tiled)


# --- under vmap ----------------------------------------------------------------------------------


def one_axis_only(name: str, left: tuple) -> None:
    """NotImplementedError when axes remain besides that of the batch."""
    if left:
        raise NotImplementedError(f"{name} over several named axes, one of which is an axis of "
                                  "vmap; apply it axis by axis")


def _all_gather_collective(size, args, dims, *, all_gather_dimension, axis_index_groups, axis_name,
                           axis_size, tiled):
    one_axis_only("all_gather", axis_name)

    def whole(size, x, dim):
        x = broadcast_batch(x, size, all_gather_dimension) if dim is None else \
            move_dimension(x, dim, all_gather_dimension)
        return (merged(x, all_gather_dimension) if tiled else x), None

    if axis_index_groups is None:
        return whole(size, args[0], dims[0])
    return in_groups(whole, axis_index_groups, size, args[0], dims[0]), 0


def _reduce_scatter_collective(size, args, dims, *, axis_index_groups, axis_name, axis_size,
                               scatter_dimension, tiled):
    one_axis_only("psum_scatter", axis_name)

    def whole(size, x, dim):
        x = mul(x, filled(x, size)) if dim is None else sum_over(x, (dim,))
        return (cut(x, scatter_dimension, size) if tiled else x), scatter_dimension

    if axis_index_groups is None:
        return whole(size, args[0], dims[0])
    return in_groups(whole, axis_index_groups, size, args[0], dims[0]), 0


def merged(x: Any, at: int) -> Any:
    """Dimensions `at` and `at + 1` as one."""
    shape = get_aval(x).shape
    return reshape(x, (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2:]))


def cut(x: Any, at: int, count: int) -> Any:
    """Dimension `at` as (count, rest)."""
    shape = get_aval(x).shape
    return reshape(x, (*shape[:at], count, shape[at] // count, *shape[at + 1:]))


def _all_gather_batch(args, dims, *, all_gather_dimension, **params):
    (dim,) = dims
    below = all_gather_dimension + (dim <= all_gather_dimension)
    out = all_gather_p.bind(args[0], all_gather_dimension=below, **params)
    return out, dim + (not params["tiled"] and all_gather_dimension < dim)


def _reduce_scatter_batch(args, dims, *, scatter_dimension, **params):
    (dim,) = dims
    below = scatter_dimension + (dim <= scatter_dimension)
    out = reduce_scatter_p.bind(args[0], scatter_dimension=below, **params)
    return out, dim - (not params["tiled"] and below < dim)


define_collective_batch(all_gather_p, "axis_name", _all_gather_collective)
define_collective_batch(reduce_scatter_p, "axis_name", _reduce_scatter_collective)
define_batch(all_gather_p, _all_gather_batch)
define_batch(reduce_scatter_p, _reduce_scatter_batch)
define_linear(all_gather_p, lambda ct, x, *, all_gather_dimension, **params: [
    reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)])
define_linear(reduce_scatter_p, lambda ct, x, *, scatter_dimension, **params: [
    all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, **params)])
