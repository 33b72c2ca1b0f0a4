"""Collectives over named axes: psum, pmean, pmax, pmin, axis_index, all_gather, all_to_all, ….

In: a value on each member of a named axis (of `vmap(..., axis_name=...)` or `pmap`), or a tree of
values. Out: what the members get. Where a batch owns the axis, a collective becomes an ordinary
operation on the batch dimension, so that nothing of it reaches the compiler.
Invariant: sizes of named axes are known while tracing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.base.pytree import tree_map
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.primitive import Primitive, named
from jitney.core.trace import Tracer
from jitney.core.trace import axis_size as size_of_axis
from jitney.lax.arithmetic import div, mul
from jitney.lax.cast import convert_element_type
from jitney.lax.compare import eq
from jitney.lax.joining import concatenate
from jitney.lax.nary import constant, filled
from jitney.lax.reduce import reduce_max, reduce_min
from jitney.lax.select import select
from jitney.lax.shape import reshape, sum_over
from jitney.lax.slicing import slice_in_dim
from jitney.transforms.jvp import Zero, define_jvp, define_linear, define_zero_jvp
from jitney.transforms.vmap import (
    at_front,
    broadcast_batch,
    define_batch,
    define_batch_unary,
    define_collective_batch,
    move_dimension,
)


def _names(axis_name: Any) -> tuple:
    names = tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)
    for name in names:
        size_of_axis(name)                      # NameError for axes nobody has named
    return names


def axis_size(axis_name: Any, /) -> int:
    """The number of members along a named axis (or several)."""
    return math.prod(size_of_axis(n) for n in _names(axis_name))


def _no_groups(axis_index_groups: Any) -> None:
    if axis_index_groups is not None:
        raise NotImplementedError("axis_index_groups is not supported")


def _same_type(x: ShapedArray, **params: Any) -> ShapedArray:
    return x


def _unbound(*args: Any, **params: Any) -> Any:
    raise NameError("a collective was evaluated outside the scope of its named axis")


# --- reductions ------------------------------------------------------------------------------


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The sum of `x` over the members of the axis.

    >>> vmap(lambda x: lax.psum(x, "i"), axis_name="i")(jnp.arange(3.))
    Array([3., 3., 3.], dtype=float32)
    """
    _no_groups(axis_index_groups)
    names = _names(axis_name)
    return tree_map(lambda leaf: _psum(leaf, names), x)


def _psum(x: Any, names: tuple) -> Any:
    if not isinstance(x, Tracer):
        size = axis_size(names)
        return x * size if isinstance(x, (bool, int, float, complex)) else mul(x, filled(x, size))
    if get_aval(x).dtype == np.bool_:
        x = convert_element_type(x, np.int32)
    return psum_p.bind(x, axes=names, axis_index_groups=None)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The mean of `x` over the members of the axis."""
    size = axis_size(axis_name)

    def mean(total):
        if not isinstance(total, Tracer) and isinstance(total, (bool, int, float, complex)):
            return total / size
        if not dtypes.is_inexact(get_aval(total).dtype):
            total = convert_element_type(total, np.float32)
        return div(total, constant(total, size))

    return tree_map(mean, psum(x, axis_name, axis_index_groups=axis_index_groups))


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The largest `x` of the members of the axis."""
    return _extreme(pmax_p, x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The smallest `x` of the members of the axis."""
    return _extreme(pmin_p, x, axis_name, axis_index_groups)


def _extreme(primitive: Primitive, x: Any, axis_name: Any, axis_index_groups: Any) -> Any:
    _no_groups(axis_index_groups)
    names = _names(axis_name)
    return tree_map(lambda leaf: primitive.bind(leaf, axes=names, axis_index_groups=None)
                    if isinstance(leaf, Tracer) else leaf, x)


psum_p, pmax_p, pmin_p = Primitive("psum"), Primitive("pmax"), Primitive("pmin")


def _reduction(primitive: Primitive, reduce_one: Callable) -> None:
    def collective(size, args, dims, *, axes, axis_index_groups):
        (x,), (dim,) = args, dims
        if dim is not None:
            x = reduce_one(x, (dim,))
        elif primitive is psum_p:
            x = mul(x, filled(x, size))
        if axes:
            x = primitive.bind(x, axes=axes, axis_index_groups=None)
        return x, None

    primitive.def_abstract(_same_type)
    primitive.def_reference(_unbound)
    define_batch_unary(primitive)
    define_collective_batch(primitive, "axes", collective)


_reduction(psum_p, sum_over)
_reduction(pmax_p, reduce_max)
_reduction(pmin_p, reduce_min)
define_linear(psum_p, lambda ct, x, **params: [psum_p.bind(ct, **params)])


def _extreme_jvp(primitive: Primitive) -> None:
    """The tangent of the members that hold the extreme value: their mean."""

    def rule(primals, tangents, **params):
        (x,), (t,) = primals, tangents
        out = primitive.bind(x, **params)
        if type(t) is Zero:
            return out, Zero.from_primal_value(out)
        holds = convert_element_type(eq(x, out), get_aval(x).dtype)
        total = psum_p.bind(mul(t, holds), **params)
        return out, div(total, psum_p.bind(holds, **params))

    define_jvp(primitive, rule)


_extreme_jvp(pmax_p)
_extreme_jvp(pmin_p)

# --- axis_index --------------------------------------------------------------------------------


def axis_index(axis_name: Any) -> Any:
    """The position of this member along the axis (row-major over several axes)."""
    names = _names(axis_name)
    index: Any = None
    for name in names:
        one = axis_index_p.bind(axis_name=name)
        index = one if index is None else index * size_of_axis(name) + one
    return index


axis_index_p = Primitive("axis_index")
axis_index_p.def_abstract(lambda *, axis_name: ShapedArray((), np.dtype(np.int32)))
axis_index_p.def_reference(_unbound)
define_collective_batch(
    axis_index_p, "axis_name",
    lambda size, args, dims, *, axis_name: (named("iota").bind(
        dtype=np.dtype(np.int32), shape=(size,), dimension=0, sharding=None), 0))
define_zero_jvp(axis_index_p)
define_batch(axis_index_p, lambda args, dims, **params: (axis_index_p.bind(**params), None))

# --- all_gather, psum_scatter --------------------------------------------------------------------


def all_gather(x: Any, axis_name: Any, *, axis_index_groups: Any = None, axis: int = 0,
               tiled: bool = False, to: str = "varying") -> Any:
    """The values of all members, stacked along a new axis (joined along it with `tiled`)."""
    _no_groups(axis_index_groups)
    names, size = _names(axis_name), axis_size(axis_name)

    def gather(leaf):
        at = axis % (len(get_aval(leaf).shape) + (not tiled))
        return all_gather_p.bind(leaf, all_gather_dimension=at, axis_index_groups=None,
                                 axis_name=names, axis_size=size, tiled=tiled)

    return tree_map(gather, x)


def psum_scatter(x: Any, axis_name: Any, *, scatter_dimension: int = 0,
                 axis_index_groups: Any = None, tiled: bool = False) -> Any:
    """The sum over the members, of which each keeps its part along `scatter_dimension`."""
    _no_groups(axis_index_groups)
    names, size = _names(axis_name), axis_size(axis_name)
    return tree_map(lambda leaf: reduce_scatter_p.bind(
        leaf, axis_index_groups=None, axis_name=names, axis_size=size,
        scatter_dimension=scatter_dimension % len(get_aval(leaf).shape), tiled=tiled), x)


all_gather_p, reduce_scatter_p = Primitive("all_gather"), Primitive("reduce_scatter")


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


def _one_axis_only(name: str, left: tuple) -> None:
    if left:
        raise NotImplementedError(f"{name} over several named axes under vmap")


def _all_gather_collective(size, args, dims, *, all_gather_dimension, axis_index_groups, axis_name,
                           axis_size, tiled):
    _one_axis_only("all_gather", axis_name)
    (x,), (dim,) = args, dims
    x = broadcast_batch(x, size, all_gather_dimension) if dim is None else \
        move_dimension(x, dim, all_gather_dimension)
    return (_merged(x, all_gather_dimension) if tiled else x), None


def _reduce_scatter_collective(size, args, dims, *, axis_index_groups, axis_name, axis_size,
                               scatter_dimension, tiled):
    _one_axis_only("psum_scatter", axis_name)
    (x,), (dim,) = args, dims
    x = mul(x, filled(x, size)) if dim is None else sum_over(x, (dim,))
    return (_cut(x, scatter_dimension, size) if tiled else x), scatter_dimension


def _merged(x: Any, at: int) -> Any:
    """Dimensions `at` and `at + 1` as one."""
    shape = get_aval(x).shape
    return reshape(x, (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2:]))


def _cut(x: Any, at: int, count: int) -> Any:
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
    return out, dim - (not params["tiled"] and scatter_dimension < dim)


for _primitive in (all_gather_p, reduce_scatter_p):
    _primitive.def_reference(_unbound)
define_collective_batch(all_gather_p, "axis_name", _all_gather_collective)
define_collective_batch(reduce_scatter_p, "axis_name", _reduce_scatter_collective)
define_batch(all_gather_p, _all_gather_batch)
define_batch(reduce_scatter_p, _reduce_scatter_batch)
define_linear(all_gather_p, lambda ct, x, *, all_gather_dimension, **params: [
    reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)])
define_linear(reduce_scatter_p, lambda ct, x, *, scatter_dimension, **params: [
    all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, **params)])

# --- all_to_all ----------------------------------------------------------------------------------


def all_to_all(x: Any, axis_name: Any, split_axis: int, concat_axis: int, *,
               axis_index_groups: Any = None, tiled: bool = False) -> Any:
    """Member i gets part i (along `split_axis`) of everyone, joined along `concat_axis`."""
    _no_groups(axis_index_groups)
    size = axis_size(axis_name)

    def exchange(leaf):
        shape = get_aval(leaf).shape
        split, concat = split_axis % len(shape), concat_axis % len(shape)
        if shape[split] % size or (not tiled and shape[split] != size):
            raise ValueError(
                f"all_to_all requires the size of the mapped axis axis_name to equal (divide, if "
                f"tiled) x.shape[split_axis], but they are {size} and {shape[split]} respectively.")
        return all_to_all_p.bind(leaf, axis_index_groups=None, axis_name=axis_name,
                                 concat_axis=concat, split_axis=split, tiled=tiled)

    return tree_map(exchange, x)


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """The named axis and the array axis `axis` change places."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


all_to_all_p = Primitive("all_to_all")


@all_to_all_p.def_abstract
def _all_to_all_type(x, *, axis_index_groups, axis_name, concat_axis, split_axis, tiled):
    shape = list(x.shape)
    size = axis_size(axis_name)
    if tiled:
        shape[split_axis] //= size
        shape[concat_axis] *= size
    else:
        del shape[split_axis]
        shape.insert(concat_axis, size)
    return x.update(shape=tuple(shape))


def _all_to_all_collective(size, args, dims, *, axis_index_groups, axis_name, concat_axis,
                           split_axis, tiled):
    _one_axis_only("all_to_all", axis_name)
    x = at_front(args[0], dims[0], size)
    if tiled:
        x = _cut(x, split_axis + 1, size)
    x = move_dimension(x, split_axis + 1, 0)          # now (receiver, sender, …)
    x = move_dimension(x, 1, concat_axis + 1)
    return (_merged(x, concat_axis + 1) if tiled else x), 0


all_to_all_p.def_reference(_unbound)
define_collective_batch(all_to_all_p, "axis_name", _all_to_all_collective)
define_linear(all_to_all_p, lambda ct, x, *, concat_axis, split_axis, **params: [
    all_to_all_p.bind(ct, concat_axis=split_axis, split_axis=concat_axis, **params)])


def _all_to_all_batch(args, dims, *, concat_axis, split_axis, **params):
    x = move_dimension(args[0], dims[0], 0)
    return all_to_all_p.bind(x, concat_axis=concat_axis + 1, split_axis=split_axis + 1,
                             **params), 0


define_batch(all_to_all_p, _all_to_all_batch)

# --- ppermute ------------------------------------------------------------------------------------


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Send values along `perm`, pairs (source, destination); who receives nothing gets zeros."""
    names, pairs = _names(axis_name), tuple((int(s), int(d)) for s, d in perm)
    if len({s for s, _ in pairs}) != len(pairs) or len({d for _, d in pairs}) != len(pairs):
        raise ValueError(f"ppermute sources and destinations must be unique, got {perm}.")
    return tree_map(lambda leaf: ppermute_p.bind(leaf, axis_name=names, perm=pairs), x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Member i gets the value of member `perm[i]`."""
    if sorted(perm) != list(range(len(perm))):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)))))


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """The value of member `source`, for all."""
    here = eq(axis_index(axis_name), np.int32(source))

    def send(leaf):
        chosen = named("select_n").bind(here, filled(leaf, 0), leaf) \
            if not get_aval(leaf).shape else _select_all(here, leaf)
        return psum(chosen, axis_name)

    return tree_map(send, x)


def _select_all(here: Any, x: Any) -> Any:
    shape = get_aval(x).shape
    wide = named("broadcast_in_dim").bind(here, shape=shape, broadcast_dimensions=(),
                                          sharding=None)
    return select(wide, x, filled(x, 0))


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """`x` itself: values are not tracked as varying or invariant along named axes here."""
    _names(axis_name)
    return x


ppermute_p = Primitive("ppermute")
ppermute_p.def_abstract(_same_type)
ppermute_p.def_reference(_unbound)
define_batch_unary(ppermute_p)
define_linear(ppermute_p, lambda ct, x, *, axis_name, perm: [
    ppermute_p.bind(ct, axis_name=axis_name, perm=tuple((d, s) for s, d in perm))])


def _ppermute_collective(size, args, dims, *, axis_name, perm):
    _one_axis_only("ppermute", axis_name)
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

__all__ = [
    "all_gather", "all_gather_p", "all_to_all", "all_to_all_p", "axis_index", "axis_index_p",
    "axis_size", "pbroadcast", "pcast", "pmax", "pmax_p", "pmean", "pmin", "pmin_p", "ppermute",
    "ppermute_p", "pshuffle", "psum", "psum_p", "psum_scatter", "pswapaxes", "reduce_scatter_p",
]
