"""Systems of equations that share a matrix: solved by one call, their right sides side by side.

In: the factors of matrices [*batch, ...], right sides [*batch, n, m] (or [*batch, m, n] where
matrices stand to the right of what is sought), and what solves them. Out: the solutions. Batch axes
along which the factors are one array, repeated, become further right sides: 10 000 vectors under
one covariance were 10 000 calls of LAPACK, each with a copy of the matrix.
"""

import math

from ..core.avals import ShapedArray
from .rules import Pair


def solve_together(ctx, out, factors, b, left, solve):
    """`solve(out, factors, b)` of as few systems as there are matrices; `out`: the result's aval,
    `left`: whether right sides are columns."""
    rank = len(out.shape) - 2
    shared = [i for i in range(rank) if out.shape[i] > 1 and all(_repeats(x, i) for x in factors)]
    if not shared:
        return solve(out, factors, b)
    g, kept = ctx.g, [i for i in range(rank) if i not in shared]
    shape, count = out.shape, math.prod(out.shape[i] for i in shared)
    order = [*kept, rank, *shared, rank + 1] if left else [*kept, *shared, rank, rank + 1]
    n, m = shape[rank:] if left else shape[:rank - 1 : -1]
    merged = [shape[i] for i in kept] + ([n, count * m] if left else [count * m, n])
    b = ctx.each(b, lambda x: g.reshape(g.transpose(x, order), merged))
    factors = [ctx.each(x, lambda part: _without(g, part, shared)) for x in factors]
    found = solve(ShapedArray(tuple(merged), out.dtype), factors, b)
    back, apart = [order.index(i) for i in range(rank + 2)], [shape[i] for i in order]
    return ctx.each(found, lambda x: g.transpose(g.reshape(x, apart), back))


def _repeats(x, axis: int) -> bool:
    """Whether all parts of an array along an axis are the same, as far as can be seen."""
    if isinstance(x, Pair):
        return _repeats(x.re, axis) and _repeats(x.im, axis)
    if x.op != "broadcast":
        return False
    (inner,), (dims,) = x.args, x.attrs
    return axis not in dims or inner.shape[dims.index(axis)] == 1


def _without(g, x, axes):
    """An array without axes along which it repeats."""
    (inner,), (dims,) = x.args, x.attrs
    own = [(n, d) for n, d in zip(inner.shape, dims, strict=True) if d not in axes]
    left = [i for i in range(len(x.shape)) if i not in axes]
    inner = g.reshape(inner, [n for n, _ in own])
    return g.broadcast(inner, [x.shape[i] for i in left], [left.index(d) for _, d in own])
