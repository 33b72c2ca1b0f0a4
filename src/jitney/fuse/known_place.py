"""Integers that are affine in the loops' variables, and between which numbers integers lie.

In: an integer expression of loop variables and constants alone, such as `100 * i + j` or
`where(i < 0, i + n, i)` of an `arange`. Out: the affine place and its least and greatest value, if
it never wraps, so that the place needs no arithmetic and no comparison with the array's ends.
Of other integers, such as `x % n` and `bits & 255`, the range alone.
"""

import operator
from typing import NamedTuple

import numpy as np

from ..graph.graph import literal_value
from ..ir.types import DTYPE_OF_CODE, kind_of
from . import affine as af
from .affine import Affine
from .kernel import Expr

MOST_ASKED = 40  # operands of operands: more are not asked for (Python's stack is not deep)
_COMPARE = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip


class Place(NamedTuple):
    """An affine number and its range."""

    affine: Affine
    low: int
    high: int

    def is_inside(self, limit: int) -> bool:
        """Whether it is in [0, limit]."""
        return self.low >= 0 and self.high <= limit


def known_place(builder, expr: Expr) -> Place | None:
    """See the module's text; `builder.places` remembers."""
    if kind_of(expr.dtype) not in "iu":
        return None
    if expr.id not in builder.places:
        found = _answer(builder, _affine_of, expr)
        builder.places[expr.id] = _bounded(builder, expr, found)
    return builder.places[expr.id]


def _answer(builder, rule, expr: Expr):
    """What a rule says, which asks for operands; None from a certain depth on."""
    if builder.asked >= MOST_ASKED:
        return None
    builder.asked += 1
    try:
        return rule(builder, expr)
    finally:
        builder.asked -= 1


def _bounded(builder, expr: Expr, affine: Affine | None) -> Place | None:
    if affine is None:
        return None
    low = high = affine[0]
    for atom, coefficient in affine[1]:
        last = coefficient * (builder.extents[atom] - 1)
        low, high = low + min(last, 0), high + max(last, 0)
    info = np.iinfo(DTYPE_OF_CODE[expr.dtype])
    return Place(affine, low, high) if info.min <= low and high <= info.max else None


def _affine_of(builder, expr: Expr) -> Affine | None:
    if expr.op == "index":
        loops = [atom for atom, _ in expr.attrs[-1][1]]
        known = all(a >= 0 and builder.extents[a] > 0 for a in loops)
        return expr.attrs[-1] if known else None
    if expr.op in ("const", "param"):
        return af.constant(int(literal_value(expr.attrs[0], expr.dtype)))
    rule = _RULES.get(expr.op)
    return None if rule is None else rule(builder, expr)


def _converted(builder, expr: Expr) -> Affine | None:
    return _same(builder, expr.args[0])


def _same(builder, expr: Expr) -> Affine | None:
    place = known_place(builder, expr)
    return None if place is None else place.affine


def _sum(builder, expr: Expr) -> Affine | None:
    first, second = [known_place(builder, a) for a in expr.args]
    if first is None or second is None:
        return None
    return af.add(first.affine, af.scale(second.affine, -1 if expr.op == "sub" else 1))


def _product(builder, expr: Expr) -> Affine | None:
    first, second = [known_place(builder, a) for a in expr.args]
    if first is None or second is None:
        return None
    if second.affine[1]:
        first, second = second, first
    return None if second.affine[1] else af.scale(first.affine, second.affine[0])


def _chosen(builder, expr: Expr) -> Affine | None:
    """A select whose condition has the same truth everywhere."""
    only = chosen(builder, expr)
    return None if only is expr else _same(builder, only)


def _extreme(builder, expr: Expr) -> Affine | None:
    """The operand of max or min that always is the result."""
    first, second = [known_place(builder, a) for a in expr.args]
    if first is None or second is None:
        return None
    greater, less = (first, second) if first.low >= second.high else (second, first)
    if greater.low < less.high:
        return None
    return (greater if expr.op == "max" else less).affine


def _remainder(builder, expr: Expr) -> Affine | None:
    """What is below its divisor already."""
    first, second = [known_place(builder, a) for a in expr.args[:2]]
    if first is None or second is None or first.low < 0 or first.high >= second.low:
        return None
    return first.affine


_RULES = {
    "convert": _converted, "add": _sum, "sub": _sum, "mul": _product, "select": _chosen,
    "max": _extreme, "min": _extreme, "mod": _remainder, "rem": _remainder,
}  # fmt: skip


def range_of(builder, expr: Expr) -> tuple[int, int]:
    """The least and the greatest value that an integer expression can have, as far as is known."""
    if expr.dtype == "b1":
        return 0, 1
    info = np.iinfo(DTYPE_OF_CODE[expr.dtype])
    place = known_place(builder, expr)
    if place is not None:
        return place.low, place.high
    if expr.id not in builder.ranges:
        found = _answer(builder, _RANGES.get(expr.op, _nothing), expr)
        fits = found is not None and info.min <= found[0] and found[1] <= info.max
        builder.ranges[expr.id] = found if fits else _unknown(expr)
    return builder.ranges[expr.id]


def _nothing(_builder, _expr: Expr) -> None:
    return None


def _truth(op: str, first: tuple, second: tuple) -> bool | None:
    """What a comparison says everywhere, if that is known."""
    if op in ("eq", "ne"):
        apart = first[1] < second[0] or second[1] < first[0]
        return op == "ne" if apart else None
    compare = _COMPARE[op]
    found = {compare(first[0], second[1]), compare(first[1], second[0])}
    return found.pop() if len(found) == 1 else None


def _unknown(expr: Expr) -> tuple[int, int]:
    info = np.iinfo(DTYPE_OF_CODE[expr.dtype])
    return int(info.min), int(info.max)


def _range_of_remainder(builder, expr: Expr) -> tuple[int, int]:
    low, high = range_of(builder, expr.args[1])
    return (0, high - 1) if low > 0 else _unknown(expr)


def _range_of_and(builder, expr: Expr) -> tuple[int, int]:
    tops = [high for low, high in (range_of(builder, a) for a in expr.args) if low >= 0]
    return (0, min(tops)) if tops else _unknown(expr)


def _range_of_convert(builder, expr: Expr) -> tuple[int, int]:
    whole = kind_of(expr.args[0].dtype) in "iub"
    return range_of(builder, expr.args[0]) if whole else _unknown(expr)


def _range_of_extreme(builder, expr: Expr) -> tuple[int, int]:
    (a, b), (c, d) = [range_of(builder, x) for x in expr.args]
    return (max(a, c), max(b, d)) if expr.op == "max" else (min(a, c), min(b, d))


def _range_of_sum(builder, expr: Expr) -> tuple[int, int]:
    (a, b), (c, d) = [range_of(builder, x) for x in expr.args]
    return (a + c, b + d) if expr.op == "add" else (a - d, b - c)


def _range_of_select(builder, expr: Expr) -> tuple[int, int]:
    only = chosen(builder, expr)
    if only is not expr:
        return range_of(builder, only)
    (a, b), (c, d) = [range_of(builder, x) for x in expr.args[1:]]
    return min(a, c), max(b, d)


def chosen(builder, expr: Expr) -> Expr:
    """What a select always is, `i` of `where(i < 0, i + n, i)` if i is known not to be negative."""
    condition = expr.args[0] if expr.op == "select" else expr
    if condition is expr or condition.op not in _COMPARE:
        return expr
    if kind_of(condition.args[0].dtype) not in "iu":
        return expr
    first, second = [range_of(builder, a) for a in condition.args]
    truth = _truth(condition.op, first, second)
    return expr if truth is None else expr.args[1 if truth else 2]


_RANGES = {
    "mod": _range_of_remainder, "and": _range_of_and, "convert": _range_of_convert,
    "max": _range_of_extreme, "min": _range_of_extreme, "add": _range_of_sum,
    "sub": _range_of_sum, "select": _range_of_select,
}  # fmt: skip
