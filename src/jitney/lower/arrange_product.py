"""Products whose operands are read as they lie in memory: what is in another order is the result.

In: the operands of a dot product without batches. Out: the node that computes it from the arrays as
they are stored, its axes put in order afterwards; None where nothing has to be moved, or more that
way. [n, c, h, w] times [c, k], a convolution of single points, is a batch of n products [k, c]
times [c, h w]; summed over c its rows n and h w are no rows of a matrix, and were copied to be one.
The order of a result is mostly free: a transposed product is formed in its place, and what reads it
elsewhere may want it like that (a chain of products along one axis after the other).
"""

import math
from typing import NamedTuple

from ..ir.node import Node

LEAST_COLUMNS = 16  # neighbours in memory: fewer do not fill a vector
MOST_ROWS = 256  # of the other operand: beside more of them a copy is nothing (800: 8 % less time)


class _Stored(NamedTuple):
    """An operand as it lies in memory: axis i of the operand is axis order[i] of `node`."""

    node: Node
    order: tuple[int, ...]
    summed: tuple[int, ...]  # axes of `node`, in the order of memory
    outer: tuple[int, ...]  # those before, and
    inner: tuple[int, ...]  # those after the summed ones

    @property
    def is_split(self) -> bool:
        """Whether rows lie on both sides of the summed axes, enough of them to compute with."""
        sizes = [math.prod(self.node.shape[i] for i in part) for part in (self.outer, self.inner)]
        return sizes[0] > 1 and sizes[1] >= LEAST_COLUMNS

    def free(self, axes) -> list[int]:
        """Axes of `node` that are not summed, in the order of the operand's own."""
        return [self.order[i] for i in range(len(self.order)) if i not in axes]


def arrange_product(g, x, y, contract, code):
    """See the module's text. Some axes of each operand are summed."""
    if x.size == 0 or y.size == 0:
        return None
    sides = ((x, y, contract, True), (y, x, contract[::-1], False))
    for this, other, (own, others), is_first in sides:
        stored, terms = _as_stored(this, own), math.prod(this.shape[i] for i in own)
        rows = other.size // terms
        if stored is None or (_is_moved(stored, own) and rows > terms):  # the result is larger
            continue
        aligned = [others[_place(own, stored, axis)] for axis in stored.summed]
        if stored.is_split and rows <= _most_rows(other, others, stored, code):
            return _in_batches(g, stored, own, other, aligned, code, is_first)
        if _is_moved(stored, own) and not (stored.outer and stored.inner):
            return _in_order(g, stored, own, other, aligned, code, is_first)
    return None


def _most_rows(x, summed, stored: _Stored, code) -> int:
    """Of the other operand, 0 if it is not read in place. Numbers shorter than the sums are packed,
    anew for each place along the outer axes: that has to be less than a copy."""
    if _as_stored(x, summed) is None:
        return 0
    columns = math.prod(stored.node.shape[i] for i in stored.inner)
    return MOST_ROWS if x.dtype == code and x.dtype in ("f32", "f64") else min(MOST_ROWS, columns)


def _is_moved(stored: _Stored, own) -> bool:
    """Whether the rows are in another order than in memory."""
    return stored.free(own) != sorted(stored.free(own))


def _as_stored(x, summed) -> _Stored | None:
    """None where the summed axes do not lie side by side."""
    node, order = (x.args[0], x.attrs[0]) if x.op == "transpose" else (x, range(len(x.shape)))
    axes = sorted(order[i] for i in summed)
    if axes != list(range(axes[0], axes[-1] + 1)):
        return None
    outer, inner = range(axes[0]), range(axes[-1] + 1, len(node.shape))
    return _Stored(node, tuple(order), tuple(axes), tuple(outer), tuple(inner))


def _place(summed, stored: _Stored, axis: int) -> int:
    """Which of the operand's summed axes is this one of memory."""
    return [stored.order[i] for i in summed].index(axis)


def _in_batches(g, stored: _Stored, own, other, aligned, code, is_first: bool):
    """A product for each place along the outer axes: what is stored after the summed axes are its
    columns, the other operand has its rows."""
    node, count = stored.node, len(stored.outer)
    shape = [node.shape[i] for i in stored.outer]
    spread = range(count, count + len(other.shape))
    rows = g.broadcast(other, (*shape, *other.shape), spread)
    batch = tuple(range(count))
    summed = tuple([axis + count for axis in aligned])
    found = g.dot(rows, node, (summed, stored.summed), (batch, stored.outer), code)
    free = len(other.shape) - len(aligned)
    place = {axis: n for n, axis in enumerate(stored.outer)}
    place |= {axis: count + free + n for n, axis in enumerate(stored.inner)}
    mine = [place[axis] for axis in stored.free(own)]
    others = list(range(count, count + free))
    return g.transpose(found, mine + others if is_first else others + mine)


def _in_order(g, stored: _Stored, own, other, aligned, code, is_first: bool):
    """The product of the array in memory, whose rows are put in order afterwards."""
    operands = [(stored.node, stored.summed), (other, aligned)]
    (a, summed_a), (b, summed_b) = operands if is_first else operands[::-1]
    found = g.dot(a, b, (tuple(summed_a), tuple(summed_b)), ((), ()), code)
    others = len(other.shape) - len(aligned)
    rows = sorted(stored.free(own))
    mine = [rows.index(axis) + (0 if is_first else others) for axis in stored.free(own)]
    rest = [n + (len(rows) if is_first else 0) for n in range(others)]
    return g.transpose(found, mine + rest if is_first else rest + mine)
