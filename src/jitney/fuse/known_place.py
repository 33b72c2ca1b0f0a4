"""Integers that are affine in the loops' variables, and between which numbers they lie.

In: an integer expression of loop variables and constants alone, such as `100 * i + j` or
`where(i < 0, i + n, i)` of an `arange`. Out: the affine place and its least and greatest value, if
it never wraps, so that the place needs no arithmetic and no comparison with the array's ends.
"""

import operator
from typing import NamedTuple

import numpy as np

from ..graph.graph import literal_value
from ..ir.types import DTYPE_OF_CODE, kind_of
from . import affine as af
from .affine import Affine
from .kernel import Expr

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
        builder.places[expr.id] = _bounded(builder, expr, _affine_of(builder, expr))
    return builder.places[expr.id]


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
    condition = expr.args[0]
    if condition.op not in _COMPARE or kind_of(condition.args[0].dtype) not in "iu":
        return None
    first, second = [known_place(builder, a) for a in condition.args]
    truth = None if first is None or second is None else _truth(condition.op, first, second)
    return None if truth is None else _same(builder, expr.args[1 if truth else 2])


def _truth(op: str, first: Place, second: Place) -> bool | None:
    """What a comparison says everywhere, if that is known."""
    if op in ("eq", "ne"):
        apart = first.high < second.low or second.high < first.low
        return op == "ne" if apart else None
    compare = _COMPARE[op]
    found = {compare(first.low, second.high), compare(first.high, second.low)}
    return found.pop() if len(found) == 1 else None


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
