"""Contractions of groups of rows, and of scaled numbers: `ragged_dot_general`, `scaled_dot`.

In: two arrays, which axes are summed over, and how many rows belong to each group (or factors for
blocks of numbers). Out: one array. Rows of other groups are zeroed, and the groups are one more
axis of an ordinary `dot_general`: the work is that of the dense product times the number of groups,
and an infinity or NaN in the matrix of one group reaches the rows of all.
Derivatives and batching are those of what it is made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import get_aval
from jitney.lax.arithmetic import mul, sub
from jitney.lax.bits import bitwise_and
from jitney.lax.cast import convert_element_type
from jitney.lax.compare import ge, lt
from jitney.lax.cumulative import cumsum
from jitney.lax.dot import dot_general
from jitney.lax.out_sharding import check_out_sharding
from jitney.lax.select import select
from jitney.lax.shape import (
    broadcast_in_dim,
    broadcasted_iota,
    canonical_shape,
    full_like,
    reshape,
    shape_of,
    transpose,
)


class _Numbers(NamedTuple):
    dot_dimension_numbers: tuple
    lhs_ragged_dimensions: tuple[int, ...]
    rhs_group_dimensions: tuple[int, ...]


class RaggedDotDimensionNumbers(_Numbers):
    """Axes of a ragged contraction.

    dot_dimension_numbers: `((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))`.
    lhs_ragged_dimensions: the one axis of lhs that is cut in groups. rhs_group_dimensions: the
    axis of rhs that runs over groups, if there is one.
    """

    __slots__ = ()

    def __new__(cls, dot_dimension_numbers: Any, lhs_ragged_dimensions: Sequence[int],
                rhs_group_dimensions: Sequence[int]) -> RaggedDotDimensionNumbers:
        (contract, batch) = dot_dimension_numbers
        numbers = (tuple(map(canonical_shape, contract)), tuple(map(canonical_shape, batch)))
        return super().__new__(cls, numbers, canonical_shape(lhs_ragged_dimensions),
                               canonical_shape(rhs_group_dimensions))


def ragged_dot(lhs, rhs, group_sizes, precision=None, preferred_element_type=None,
               group_offset=None, out_sharding=None):
    """Matrix product of groups of rows, each with a matrix of its own.

    lhs: (m, k), its rows in groups one after the other. rhs: (g, k, n). group_sizes: g integers.
    Gives (m, n); rows after the last group are zero. Other arguments and errors as for
    `ragged_dot_general`.

    >>> ragged_dot(jnp.ones((3, 1)), jnp.array([[[2.0]], [[5.0]]]), jnp.array([1, 2]))
    Array([[2.],
           [5.],
           [5.]], dtype=float32)
    """
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    return ragged_dot_general(lhs, rhs, group_sizes, numbers, precision, preferred_element_type,
                              group_offset, out_sharding)


def ragged_dot_general(lhs, rhs, group_sizes, ragged_dot_dimension_numbers, precision=None,
                       preferred_element_type=None, group_offset=None, out_sharding=None):
    """`dot_general` where one axis of lhs consists of groups.

    If that axis is free, rhs has a matrix for each group (`rhs_group_dimensions`): [b,m,k] and
    [g,b,k,n] give [b,m,n]. If it is summed over, the sums are within groups: [b,m,k] and [b,k,n]
    give [g,b,m,n]. If it is a batch axis, groups have no effect. `group_sizes` has shape [g], or
    also the batch axes and those axes of lhs that come before the ragged one: [b…, x…, g].

    TypeError for axes, shapes and dtypes that do not fit. NotImplementedError for `group_offset`.
    """
    check_out_sharding("ragged_dot_general", out_sharding)
    if group_offset is not None:
        raise NotImplementedError("ragged_dot_general: group_offset is not supported; leave out "
                                  "the first groups and their rows instead")
    numbers = RaggedDotDimensionNumbers(*ragged_dot_dimension_numbers)
    dtype = dtypes.result_type(lhs, rhs)
    lhs, rhs = convert_element_type(lhs, dtype), convert_element_type(rhs, dtype)
    plain = numbers.dot_dimension_numbers
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = plain
    ragged = _ragged_axis(lhs, rhs, group_sizes, numbers)
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    if ragged in lhs_batch:
        return dot_general(lhs, rhs, plain, **options)
    before = _outer_axes(lhs, ragged, lhs_contract, lhs_batch)
    groups = _groups(lhs, group_sizes, ragged, before)
    moved = [tuple(d + 1 for d in axes) for axes in (lhs_contract, lhs_batch)]
    if ragged in lhs_contract:
        out = dot_general(groups, rhs, ((moved[0], rhs_contract), (moved[1], rhs_batch)),
                          **options)
        at, rank = len(lhs_batch), len(shape_of(out))
        return transpose(out, [at, *(d for d in range(rank) if d != at)])
    contract = (0, *moved[0]), (*numbers.rhs_group_dimensions, *rhs_contract)
    return dot_general(groups, rhs, (contract, (moved[1], rhs_batch)), **options)


def _ragged_axis(lhs: Any, rhs: Any, group_sizes: Any, numbers: Any) -> int:
    """The ragged axis, after a look at everything that must fit."""
    (lhs_contract, _), (lhs_batch, _) = numbers.dot_dimension_numbers
    ragged, groups = numbers.lhs_ragged_dimensions, numbers.rhs_group_dimensions
    rank, sizes = len(shape_of(lhs)), shape_of(group_sizes)
    if not dtypes.is_integer(get_aval(group_sizes).dtype):
        raise TypeError("ragged_dot_general requires that group_sizes.dtype is subtype of "
                        f"np.integer, got {get_aval(group_sizes).dtype}.")
    if len(ragged) != 1 or not 0 <= ragged[0] < rank:
        raise TypeError("ragged_dot_general expects exactly one lhs ragged dimension, an axis of "
                        f"the lhs of rank {rank}; got {ragged}.")
    wanted = 0 if ragged[0] in (*lhs_contract, *lhs_batch) else 1
    if len(groups) != wanted:
        raise TypeError(f"ragged_dot_general expects {wanted} rhs group dimensions where the "
                        f"ragged dimension {ragged[0]} is "
                        f"{'free' if wanted else 'a contracting or batch dimension'}, got {groups}")
    if not sizes:
        raise TypeError("expected rank of group_sizes to be at least 1, got 0")
    if wanted and shape_of(rhs)[groups[0]] != sizes[-1]:
        raise TypeError(f"expected rhs group dimension size to be {sizes[-1]}, got "
                        f"{shape_of(rhs)[groups[0]]}.")
    return ragged[0]


def _outer_axes(lhs: Any, ragged: int, contract: tuple, batch: tuple) -> tuple[int, ...]:
    """The axes of lhs that leading axes of group_sizes stand for."""
    if ragged in contract:
        return batch + contract[:contract.index(ragged)]
    return batch + tuple(d for d in range(ragged) if d not in (*contract, *batch))


def _groups(lhs: Any, group_sizes: Any, ragged: int, before: tuple) -> Any:
    """(groups, *shape of lhs): lhs with zeros outside of each group."""
    shape, sizes = shape_of(lhs), shape_of(group_sizes)
    if len(sizes) > 1 and sizes[:-1] != tuple(shape[d] for d in before):
        raise TypeError(f"expected group_sizes to have shape (g,) or "
                        f"{(*(shape[d] for d in before), 'g')}, got {sizes}")
    ends = cumsum(convert_element_type(group_sizes, np.int32), axis=len(sizes) - 1)
    starts = sub(ends, convert_element_type(group_sizes, np.int32))
    whole = (sizes[-1], *shape)
    axes = [d + 1 for d in before] if len(sizes) > 1 else []

    order = sorted(range(len(axes)), key=axes.__getitem__)

    def spread(bounds):
        first = transpose(bounds, [len(sizes) - 1, *order])
        return broadcast_in_dim(first, whole, [0, *sorted(axes)])

    place = broadcasted_iota(np.int32, whole, ragged + 1)
    mask = bitwise_and(ge(place, spread(starts)), lt(place, spread(ends)))
    lhs = broadcast_in_dim(lhs, whole, range(1, len(whole)))
    return select(mask, lhs, full_like(lhs, 0))


# --- scaled numbers --------------------------------------------------------------------------


def scaled_dot(lhs, rhs, *, lhs_scale=None, rhs_scale=None, dimension_numbers=None,
               preferred_element_type=None):
    """(lhs · lhs_scale) @ (rhs · rhs_scale), where a factor belongs to a block of numbers.

    A scale has the shape of its operand, with a shorter contracting axis: its length divides that
    of the operand, at least by 2. dimension_numbers: as for `dot_general`, with one contracting
    axis; by default the matrix product of 2 axes, or of 3 with one batch axis. The result has
    dtype `preferred_element_type` (bfloat16); sums are taken in float32.

    TypeError where shapes do not fit.

    >>> scaled_dot(jnp.ones((1, 4)), jnp.ones((4, 1)), lhs_scale=jnp.array([[1.0, 2.0]]))
    Array([[6]], dtype=bfloat16)
    """
    numbers = _default_numbers(lhs, rhs) if dimension_numbers is None else dimension_numbers
    (lhs_contract, rhs_contract), batch = (tuple(map(canonical_shape, p)) for p in numbers)
    if len(lhs_contract) != 1 or len(rhs_contract) != 1:
        raise TypeError(f"scaled_dot takes one contracting dimension, got {lhs_contract} and "
                        f"{rhs_contract}")
    dtype = dtypes.bfloat16 if preferred_element_type is None else preferred_element_type
    out = dot_general(_scaled("LHS", lhs, lhs_scale, lhs_contract[0]),
                      _scaled("RHS", rhs, rhs_scale, rhs_contract[0]),
                      ((lhs_contract, rhs_contract), batch))
    return convert_element_type(out, dtypes.canonicalize_dtype(dtype))


def _default_numbers(lhs: Any, rhs: Any) -> tuple:
    ranks = len(shape_of(lhs)), len(shape_of(rhs))
    if ranks == (2, 2):
        return ((1,), (0,)), ((), ())
    if ranks == (3, 3):
        return ((2,), (1,)), ((0,), (0,))
    raise TypeError(f"scaled_dot: give dimension_numbers for operands of rank {ranks[0]} and "
                    f"{ranks[1]}")


def _scaled(side: str, x: Any, scale: Any, axis: int) -> Any:
    """x times the factors of its blocks, in float32."""
    x = convert_element_type(x, np.float32)
    if scale is None:
        return x
    shape, blocks = shape_of(x), shape_of(scale)
    others = [d for d in range(len(shape)) if d != axis]
    if len(blocks) != len(shape) or any(shape[d] != blocks[d] for d in others):
        raise TypeError(f"{side} and its scale must have the same shape outside of the contracting "
                        f"dimension {axis}, got {shape} and {blocks}")
    if not blocks[axis] or shape[axis] % blocks[axis]:
        raise TypeError(f"{side} contracting dim {axis} of size {shape[axis]} must be divisible by "
                        f"its scale's dim size {blocks[axis]}.")
    size = shape[axis] // blocks[axis]
    if size < 2:
        raise TypeError(f"The ratio of {side} contracting dim {axis} to its scale's dim size "
                        f"({size}) must be at least 2.")
    split = (*shape[:axis], blocks[axis], size, *shape[axis + 1:])
    spread = broadcast_in_dim(convert_element_type(scale, np.float32), split,
                              [d for d in range(len(split)) if d != axis + 1])
    return mul(x, reshape(spread, shape))


__all__ = ["RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general", "scaled_dot"]
