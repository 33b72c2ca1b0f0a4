"""Products that read much and give little: sums over a long axis, in parts or as plain sums.

In: the operands of a dot product without batches. Out: the node that computes it as the sum of the
products of equal parts of the axis (and of what is left over), or as an elementwise product and a
sum; None where one product is as good. A product of matrices has pieces for threads along its rows
and columns only: XᵀX of 10000 x 100 had one.
Parts depend on sizes alone, so results do not depend on threads.
"""

import math

from ..ir.types import nbytes_of
from .short_products import short_sum

LARGEST = 256  # rows, and columns, of a result that is computed by one piece
LEAST_WORK, LEAST_BYTES, LEAST_TERMS = 8 << 20, 512 << 10, 512  # of a part
MOST_PARTS = 32
# A vector's products with short rows, or with few columns, as sums: whole vectors of rows are
# turned in registers (800000 x 5 .41 of the time, 80000 x 50 .6; five columns .55; one thread).
SHORT_ROW, FEW_COLUMNS, LEAST_READ = 63, 16, 1 << 14


def long_product(g, x, y, contract, code):
    """See the module's text. `x` and `y` have the dtype `code`, and one axis of each is summed."""
    (i,), (j,) = contract
    terms, rows, columns = x.shape[i], x.size // x.shape[i], y.size // y.shape[j]
    if min(rows, columns) == 1:
        matrix, axis = (x, i) if rows > 1 else (y, j)
        if _is_better_summed(matrix, axis):
            return short_sum(g, x, y, contract, ((), ()), code)
        if _runs_along(matrix, axis):
            return None
    parts = _parts(rows, columns, terms, nbytes_of(code))
    return _in_parts(g, x, y, (i, j), code, parts) if parts > 1 else None


def _runs_along(x, axis: int) -> bool:
    """Whether neighbours along an axis are neighbours in memory."""
    order = x.attrs[0] if x.op == "transpose" else range(len(x.shape))
    return order[axis] == len(x.shape) - 1


def _is_better_summed(matrix, axis: int) -> bool:
    if matrix.size < LEAST_READ:
        return False
    if _runs_along(matrix, axis):
        return matrix.shape[axis] <= SHORT_ROW
    return matrix.size // matrix.shape[axis] <= FEW_COLUMNS


def _parts(rows: int, columns: int, terms: int, nbytes: int) -> int:
    """How many parts the sums have, one that divides their length if one is near."""
    if max(rows, columns) > LARGEST:
        return 1
    work, read = 2 * rows * columns * terms, (rows + columns) * terms * nbytes
    wanted = max(work // LEAST_WORK, read // LEAST_BYTES)
    most = min(MOST_PARTS, wanted, terms // LEAST_TERMS)
    return next((n for n in range(most, most // 2, -1) if terms % n == 0), most)


def _in_parts(g, x, y, axes, code, parts: int):
    terms = x.shape[axes[0]]
    length = terms // parts
    whole = parts * length
    a, b = (_cut(g, v, axis, 0, whole, parts) for v, axis in zip((x, y), axes, strict=True))
    summed = tuple((axis + 1,) for axis in axes)
    batches = tuple((axis,) for axis in axes)
    total = g.reduce("sum", g.dot(a, b, summed, batches, code), (0,))
    if whole == terms:
        return total
    a, b = (_cut(g, v, axis, whole, terms) for v, axis in zip((x, y), axes, strict=True))
    return g.add(total, g.dot(a, b, tuple((axis,) for axis in axes), ((), ()), code))


def _cut(g, x, axis: int, start: int, stop: int, parts: int = 0):
    """x from start to stop along an axis; in parts this is two axes. A transposed array is cut as
    it lies in memory."""
    if x.op == "transpose":
        inner, (order,) = x.args[0], x.attrs
        cut = _cut(g, inner, order[axis], start, stop, parts)
        if not parts:
            return g.transpose(cut, order)
        moved = [n + (n > order[axis]) for n in order]
        moved.insert(axis + 1, order[axis] + 1)
        return g.transpose(cut, moved)
    starts, stops = [0] * len(x.shape), list(x.shape)
    starts[axis], stops[axis] = start, stop
    x = g.slice(x, starts, stops)
    if not parts:
        return x
    shape = list(x.shape)
    shape[axis : axis + 1] = [parts, math.prod(x.shape[axis : axis + 1]) // parts]
    return g.reshape(x, shape)
