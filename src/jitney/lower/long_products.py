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
# A vector's products with short rows that are computed for it: as sums these go nowhere else. Those
# in memory, and all of few columns, have schedules of their own (codegen/contraction/thin.py; on a
# Zen 1, by one thread, 800000 x 5 .57 of a sum's time, 80000 x 50 .62; five columns .34, and .6
# where they are computed).
SHORT_ROW, LEAST_READ = 63, 1 << 14
_VIEWS = frozenset("transpose reshape slice".split())
_STORED = frozenset("input const dot conv call part scatter cumulative sort".split())


def long_product(g, x, y, contract, code):
    """See the module's text. `x` and `y` have the dtype `code`; some axes of each are summed."""
    if len(contract[0]) > 1 and _are_one(x, contract[0]) and _are_one(y, contract[1]):
        x, y = (_merged(g, v, axes) for v, axes in zip((x, y), contract, strict=True))
        contract = tuple((axes[0],) for axes in contract)
    terms = math.prod(x.shape[i] for i in contract[0])
    rows, columns = x.size // terms, y.size // terms
    if min(rows, columns) == 1 and len(contract[0]) == 1:
        matrix, axis = (x, contract[0][0]) if rows > 1 else (y, contract[1][0])
        if _is_better_summed(matrix, axis):
            return short_sum(g, x, y, contract, ((), ()), code)
        if _runs_along(matrix, axis):
            return None
    longest = max(range(len(contract[0])), key=lambda n: x.shape[contract[0][n]])
    extent = x.shape[contract[0][longest]]
    parts = _parts(rows, columns, terms, nbytes_of(code), extent)
    return _in_parts(g, x, y, contract, longest, code, parts) if parts > 1 else None


def _are_one(x, axes) -> bool:
    """Whether axes follow one another, in memory too, as if they were one."""
    return x.op != "transpose" and tuple(axes) == tuple(range(axes[0], axes[0] + len(axes)))


def _merged(g, x, axes):
    shape = list(x.shape)
    shape[axes[0] : axes[-1] + 1] = [math.prod(x.shape[a] for a in axes)]
    return g.reshape(x, shape)


def _runs_along(x, axis: int) -> bool:
    """Whether neighbours along an axis are neighbours in memory."""
    order = x.attrs[0] if x.op == "transpose" else range(len(x.shape))
    return order[axis] == len(x.shape) - 1


def _is_in_memory(x) -> bool:
    """Whether an array is stored, however it is seen."""
    while x.op in _VIEWS:
        x = x.args[0]
    return x.op in _STORED


def _is_better_summed(matrix, axis: int) -> bool:
    is_short = _runs_along(matrix, axis) and matrix.shape[axis] <= SHORT_ROW
    return is_short and matrix.size >= LEAST_READ and not _is_in_memory(matrix)


def _parts(rows: int, columns: int, terms: int, nbytes: int, extent: int) -> int:
    """How many parts the sums have, one that divides the axis if one is near."""
    if max(rows, columns) > LARGEST:
        return 1
    work, read = 2 * rows * columns * terms, (rows + columns) * terms * nbytes
    wanted = max(work // LEAST_WORK, read // LEAST_BYTES)
    most = min(MOST_PARTS, wanted, terms // LEAST_TERMS, extent)
    return next((n for n in range(most, most // 2, -1) if extent % n == 0), most)


def _in_parts(g, x, y, contract, number: int, code, parts: int):
    """Cuts the contracted axes with this number."""
    axes = [summed[number] for summed in contract]
    extent = x.shape[axes[0]]
    whole = extent // parts * parts
    a, b = (_cut(g, v, axis, 0, whole, parts) for v, axis in zip((x, y), axes, strict=True))
    summed = tuple(
        tuple([i + (i >= axis) for i in old]) for old, axis in zip(contract, axes, strict=True)
    )
    total = g.reduce("sum", g.dot(a, b, summed, tuple((axis,) for axis in axes), code), (0,))
    if whole == extent:
        return total
    a, b = (_cut(g, v, axis, whole, extent) for v, axis in zip((x, y), axes, strict=True))
    return g.add(total, g.dot(a, b, contract, ((), ()), code))


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
    shape[axis : axis + 1] = [parts, x.shape[axis] // parts]
    return g.reshape(x, shape)
