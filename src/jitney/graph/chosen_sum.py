"""The sum of rows of which one element is not 0: that element, if it is in the row.

In: a sum along one axis of `where(arange(c) == place, value, 0)`, or of its negative, where place
and value are the same along the axis: gradients of elements that were picked (lower/scatter_one.py)
are such rows. Places are whole numbers (2.5 is in a row, and none of its places) of a type that has
all of them. Out: `where(0 <= place < c, value, 0)`, for which no row is gone through; else None.
Keeps: every bit: all that is added to the value is 0, which makes a 0 of -0; or -0, of a negative.
"""

from __future__ import annotations

from typing import Any

from ..ir.node import Node
from ..ir.types import bits_of, kind_of


def sum_of_chosen(g: Any, x: Node, axes: tuple[int, ...]) -> Node | None:
    """See the module's text."""
    chosen = x.args[0] if x.op == "neg" else x
    if len(axes) != 1 or chosen.op != "select" or chosen.args[0].op != "eq":
        return None
    is_there, value, other = chosen.args
    place = _place(g, is_there, axes[0])
    value = _of_row(g, value, axes[0])
    if place is None or value is None or other is not g.full(0, other.shape, other.dtype):
        return None
    zero = g.full(0, value.shape, value.dtype)
    if x.op == "neg":
        value, zero = g.neg(value), g.neg(zero)
    limits = [g.full(n, place.shape, place.dtype) for n in (0, x.shape[axes[0]] - 1)]
    is_inside = g.ew("and", g.compare("ge", place, limits[0]), g.compare("le", place, limits[1]))
    return g.select(is_inside, g.add(value, zero), zero)


def _place(g: Any, is_there: Node, axis: int) -> Node | None:
    """The place that a row's places are compared with."""
    for numbers, place in (is_there.args, is_there.args[::-1]):
        if numbers.op == "iota" and numbers.attrs == (axis,) and _are_places(numbers, axis):
            return _of_row(g, place, axis)
    return None


def _are_places(numbers: Node, axis: int) -> bool:
    """Whether numbers are whole and count all elements of a row, each once."""
    kind = kind_of(numbers.dtype)
    return kind in "iu" and numbers.shape[axis] <= 1 << (bits_of(numbers.dtype) - (kind == "i"))


def _of_row(g: Any, node: Node, axis: int) -> Node | None:
    """What is the same along an axis, without that axis."""
    if node.op != "broadcast" or axis in node.attrs[0]:
        return None
    shape = node.shape[:axis] + node.shape[axis + 1 :]
    return g.broadcast(node.args[0], shape, [d - (d > axis) for d in node.attrs[0]])
