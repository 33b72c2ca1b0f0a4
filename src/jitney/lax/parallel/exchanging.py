"""all_to_all, ppermute, pshuffle, pswapaxes, pbroadcast: members exchange values.

In: a value on each member of an axis, or a tree of values. Out: parts of others' values
(all_to_all), or another's value (ppermute).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.base.pytree import tree_map
from jitney.core.avals import get_aval
from jitney.core.primitive import Primitive, named
from jitney.lax.cast import convert_element_type
from jitney.lax.compare import eq
from jitney.lax.joining import concatenate
from jitney.lax.nary import filled
from jitney.lax.parallel import meeting
from jitney.lax.parallel.gathering import cut, merged, one_axis_only
from jitney.lax.parallel.grouped import in_groups
from jitney.lax.parallel.indices import axis_index
from jitney.lax.parallel.names import (
    axis_size,
    dimension,
    group_size,
    groups_of,
    names_of,
    same_type,
)
from jitney.lax.parallel.reductions import psum
from jitney.lax.select import select
from jitney.lax.slicing import slice_in_dim
from jitney.transforms.jvp import define_linear
from jitney.transforms.vmap import (
    at_front,
    define_batch,
    define_batch_unary,
    define_collective_batch,
    move_dimension,
)

all_to_all_p, ppermute_p = Primitive("all_to_all"), Primitive("ppermute")

# --- all_to_all ----------------------------------------------------------------------------------


def all_to_all(x: Any, axis_name: Any, split_axis: int, concat_axis: int, *,
               axis_index_groups: Any = None, tiled: bool = False) -> Any:
    """The k-th member (of the group) gets part k, along `split_axis`, of everyone's value.

    The parts are stacked along a new dimension `concat_axis`, `split_axis` having disappeared; with
    `tiled` they are joined along `concat_axis`. ValueError if `split_axis` cannot be cut so.
    """
    names = names_of(axis_name)
    groups = groups_of(axis_index_groups, axis_size(names), equal=True)
    size = group_size(names, groups)

    def exchange(leaf):
        split = dimension(leaf, split_axis, "all_to_all: split_axis")
        concat = dimension(leaf, concat_axis, "all_to_all: concat_axis")
        found = get_aval(leaf).shape[split]
        if found % size or (not tiled and found != size):
            raise ValueError(
                f"all_to_all requires the size of the mapped axis axis_name to "
                f"{'divide' if tiled else 'equal'} x.shape[split_axis], but they are {size} and "
                f"{found} respectively.")
        return all_to_all_p.bind(leaf, axis_index_groups=groups, axis_name=axis_name,
                                 concat_axis=concat, split_axis=split, tiled=tiled)

    return tree_map(exchange, x)


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """The named axis and the array axis `axis`, of equal size, change places."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


@all_to_all_p.def_abstract
def _all_to_all_type(x, *, axis_index_groups, axis_name, concat_axis, split_axis, tiled):
    shape = list(x.shape)
    size = group_size(names_of(axis_name), axis_index_groups)
    if tiled:
        shape[split_axis] //= size
        shape[concat_axis] *= size
    else:
        del shape[split_axis]
        shape.insert(concat_axis, size)
    return x.update(shape=tuple(shape))


@all_to_all_p.def_reference
def _all_to_all_reference(x, *, axis_index_groups, axis_name, concat_axis, split_axis, tiled):
    axes = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    return meeting.all_to_all("all_to_all", axes, axis_index_groups, x, split_axis, concat_axis,
                              tiled)


def _all_to_all_collective(size, args, dims, *, axis_index_groups, axis_name, concat_axis,
                           split_axis, tiled):
    one_axis_only("all_to_all", axis_name)

    def whole(size, x, dim):
        x = at_front(x, dim, size)
        if tiled:
            x = cut(x, split_axis + 1, size)
        x = move_dimension(x, split_axis + 1, 0)          # now (receiver, sender, …)
        x = move_dimension(x, 1, concat_axis + 1)
        return (merged(x, concat_axis + 1) if tiled else x), 0

    if axis_index_groups is None:
        return whole(size, args[0], dims[0])
    return in_groups(whole, axis_index_groups, size, args[0], dims[0]), 0


def _all_to_all_batch(args, dims, *, concat_axis, split_axis, **params):
    x = move_dimension(args[0], dims[0], 0)
    return all_to_all_p.bind(x, concat_axis=concat_axis + 1, split_axis=split_axis + 1,
                             **params), 0


define_collective_batch(all_to_all_p, "axis_name", _all_to_all_collective)
define_linear(all_to_all_p, lambda ct, x, *, concat_axis, split_axis, **params: [
    all_to_all_p.bind(ct, concat_axis=split_axis, split_axis=concat_axis, **params)])
define_batch(all_to_all_p, _all_to_all_batch)

# --- ppermute ------------------------------------------------------------------------------------


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Send values along `perm`, pairs (source, destination); who receives nothing gets zeros.

    ValueError for a source or destination that occurs twice or is no position of the axis.
    """
    names = names_of(axis_name)
    pairs, size = tuple((int(s), int(d)) for s, d in perm), axis_size(names)
    if len({s for s, _ in pairs}) != len(pairs) or len({d for _, d in pairs}) != len(pairs):
        raise ValueError(f"ppermute sources and destinations must be unique, got {pairs}.")
    if any(not 0 <= i < size for pair in pairs for i in pair):
        raise ValueError(f"ppermute: sources and destinations are positions 0 … {size - 1} of the "
                         f"axis {axis_name!r}, got {pairs}")
    return tree_map(lambda leaf: ppermute_p.bind(leaf, axis_name=names, perm=pairs), x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Member i gets the value of member `perm[i]`; ValueError unless that is a permutation."""
    if sorted(perm) != list(range(len(perm))):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)))))


ppermute_p.def_abstract(same_type)
ppermute_p.def_reference(
    lambda x, *, axis_name, perm: meeting.permute("ppermute", axis_name, x, perm))
define_batch_unary(ppermute_p)
define_linear(ppermute_p, lambda ct, x, *, axis_name, perm: [
    ppermute_p.bind(ct, axis_name=axis_name, perm=tuple((d, s) for s, d in perm))])


def _ppermute_collective(size, args, dims, *, axis_name, perm):
    one_axis_only("ppermute", axis_name)
    x = at_front(args[0], dims[0], size)
    sources = {d: s for s, d in perm}
    nothing = None
    parts = []
    for i in range(size):
        if i in sources:
            parts.append(slice_in_dim(x, sources[i], sources[i] + 1))
        else:
            if nothing is None:
                nothing = filled(slice_in_dim(x, 0, 1), 0)
            parts.append(nothing)
    return concatenate(parts, 0), 0


define_collective_batch(ppermute_p, "axis_name", _ppermute_collective)

# --- pbroadcast ----------------------------------------------------------------------------------


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """The value of the member at position `source`, for all; ValueError for no such position."""
    size = axis_size(names_of(axis_name))
    if not 0 <= source < size:
        raise ValueError(f"pbroadcast: source={source} is no position of the axis {axis_name!r} of "
                         f"size {size}")
    here = eq(axis_index(axis_name), np.int32(source))

    def send(leaf):
        chosen = named("select_n").bind(here, filled(leaf, 0), leaf) \
            if not get_aval(leaf).shape else _select_all(here, leaf)
        total = psum(chosen, axis_name)
        return convert_element_type(total, get_aval(leaf).dtype)

    return tree_map(send, x)


def _select_all(here: Any, x: Any) -> Any:
    shape = get_aval(x).shape
    wide = named("broadcast_in_dim").bind(here, shape=shape, broadcast_dimensions=(),
                                          sharding=None)
    return select(wide, x, filled(x, 0))
