"""Sorts along an axis of a few elements as comparisons of neighbours, which fuse with the rest.

In: the operands of a sort and how many of them are keys; the axis. Out: each operand sorted, as a
stack along the axis; None where a routine is better. Neighbours are exchanged by turns, the even
pairs and the odd ones (odd-even transposition: Knuth, vol. 3, 5.3.4): equal ones never, so the sort
is stable, as -0 and 0, NaNs, and operands that follow a key ask for. A median of nine is the
stack's fifth array: what only the others need is not computed. Or, of rows and how many of the
greatest are wanted, their places.
(A Zen 5, two threads and one, beside the routine, which takes 14 ns a row: 10^6 columns of nine .07
and .07 of the time, rows of nine .35 and .72, medians of 3 x 3 neighbours .05 and .05, of three .01
and .01, the two greatest of eight .04 and .03.)
"""

from ..graph.joined import stacked_along
from ..ir.types import bits_of, kind_of

SHORT = 9  # elements; as many turns, of which each exchanges half as many pairs
FEW = 4  # ... of a stack, whatever lies around the axis
SHORT_TOP, MOST_OF_TOP = 16, 3  # elements, of which so many are asked for
# Rows that are worth code of their own, which takes tens of milliseconds to compile: a row is done
# 14 to 20 ns sooner.
MANY, MANY_OF_STACK = 4096, 64


def sort_short(g, operands, n_keys, axis):
    """See the module's text."""
    x, rank = operands[0], len(operands[0].shape)
    n = x.shape[axis]
    if n_keys != 1 or not 1 < n <= SHORT or not x.size:
        return None
    stacks = [stacked_along(g, v, axis) for v in operands]
    if stacks[0] is None and (x.size // n < MANY or (len(operands) > 1 and axis == rank - 1)):
        return None
    if stacks[0] is not None and x.size // n < MANY_OF_STACK and n > FEW:
        return None
    lines = [
        stack or [_take(g, v, axis, i) for i in range(n)]
        for v, stack in zip(operands, stacks, strict=True)
    ]
    for turn in range(n):
        for i in range(turn % 2, n - 1, 2):
            _exchange(g, lines, i)
    return [g.concat(parts, axis) for parts in lines]


def places_of_top(g, x, k):
    """The places of the k greatest elements along the last axis, as a stack, or None: the greatest
    of what is left goes from neighbour to neighbour to the front, k times."""
    axis = len(x.shape) - 1
    n = x.shape[axis]
    if not 1 < n <= SHORT_TOP or not 0 < k <= MOST_OF_TOP or x.size // n < MANY:
        return None
    keys = stacked_along(g, x, axis) or [_take(g, x, axis, i) for i in range(n)]
    keys = [_ordered(g, key) for key in keys]
    places = [g.full(i, key.shape, "i32") for i, key in enumerate(keys)]
    for first in range(k):
        for i in reversed(range(first, n - 1)):
            is_less = g.compare("lt", keys[i], keys[i + 1])
            for line in (keys, places):
                a, b = line[i : i + 2]
                line[i : i + 2] = g.select(is_less, b, a), g.select(is_less, a, b)
    return g.concat(places[:k], axis)


def _ordered(g, x):
    """Integers in the total order of floats: -NaN, ..., -0, 0, ..., NaN. (Bits; those of negative
    numbers, but for the sign, are inverted.)"""
    if kind_of(x.dtype) != "f":
        return g.convert(x, "u8") if x.dtype == "b1" else x
    width = bits_of(x.dtype)
    bits = g.bitcast(x, f"i{width}")
    sign = g.ew("shift_right_arithmetic", bits, g.full(width - 1, bits.shape, bits.dtype))
    most = g.full((1 << (width - 1)) - 1, bits.shape, bits.dtype)
    return g.ew("xor", bits, g.ew("and", sign, most))


def _take(g, x, axis, i):
    starts, limits = [0] * len(x.shape), list(x.shape)
    starts[axis], limits[axis] = i, i + 1
    return g.slice(x, starts, limits)


def _exchange(g, lines, i):
    """Puts neighbours i and i + 1 in order: of all operands, by the first."""
    a, b = lines[0][i : i + 2]
    if len(lines) == 1 and kind_of(a.dtype) != "f":
        least, greatest = ("and", "or") if a.dtype == "b1" else ("min", "max")
        lines[0][i : i + 2] = g.ew(least, a, b), g.ew(greatest, a, b)
        return
    is_later = _is_later(g, a, b)
    for line in lines:
        a, b = line[i : i + 2]
        line[i : i + 2] = g.select(is_later, b, a), g.select(is_later, a, b)


def _is_later(g, a, b):
    """Whether a comes after b: NaNs after all others, and none after another."""
    if a.dtype == "b1":
        return g.ew("and", a, g.ew("not", b))
    if kind_of(a.dtype) != "f":
        return g.compare("gt", a, b)
    is_in_order = g.compare("le", a, b)
    return g.ew("and", g.ew("not", is_in_order), g.compare("eq", b, b))
