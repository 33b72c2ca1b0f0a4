"""What an array is joined of along an axis, seen through elementwise operations and views.

In: a node and an axis. Out: its parts along the axis, as nodes: those of a concatenation or of a
padded array (what is padded, and equal numbers around it) to which elementwise operations, turned
axes and axes of one have been applied, each applied to the parts instead; None where there is none,
or where several are cut at different places.
Keeps: every bit.
"""

from __future__ import annotations

import math
from typing import Any

from ..ir.node import Node, NodeTable
from .elementwise import is_elementwise

MOST_PARTS = 16  # as many terms as are written out
MOST_NODES = 160  # written for all parts together
LARGE = 1 << 15  # elements whose parts are worth kernels of their own
JOINED = "joined and padded arrays"  # of a table


def stacked_along(g: Any, x: Node, axis: int) -> list[Node] | None:
    """The parts of a stack: each has one element along the axis."""
    joined = joined_along(g.table, x, axis)
    return joined.parts(g) if joined is not None and joined.is_stack else None


def joined_along(table: NodeTable, x: Node, axis: int) -> Joined | None:
    """See the module's text."""
    if not table.facts_about(JOINED):
        return None
    inside: dict[tuple[int, int], _Operands] = {}
    stack, joined, nodes = [(x, axis)], [], []
    while stack and len(inside) <= MOST_NODES // 2:
        node, own = stack.pop()
        if extents := _extents(node, own):
            joined.append((node, extents))
        elif (operands := _operands(node, own)) and (node.id, own) not in inside:
            inside[node.id, own] = operands
            nodes.append(node)
            stack.extend(operands)
        elif not operands and not _is_cut(node, own):
            return None
    if len({extents for _, extents in joined}) != 1:
        return None
    extents = joined[0][1]
    few = len(extents) <= MOST_PARTS and len(extents) * (len(inside) + 1) <= MOST_NODES
    return Joined(x, axis, extents, inside, nodes, [n for n, _ in joined]) if few else None


def is_place(node: Node) -> bool:
    """Whether elements are those of something stored, at other places."""
    while node.op in ("reshape", "slice", "broadcast", "transpose", "reverse"):
        node = node.args[0]
    return not is_elementwise(node) and node.op not in ("reduce", "concat", "pad", "gather")


class Joined:
    """Elementwise operations and views, down to arrays that are all joined at the same places along
    one axis of the result (`joined`); `nodes` are all of them."""

    def __init__(self, x: Node, axis: int, extents: tuple[int, ...],
                 inside: dict[tuple[int, int], _Operands], above: list[Node],
                 joined: list[Node]):  # fmt: skip
        self.x, self.axis, self.extents, self.inside = x, axis, extents, inside
        self.joined, self.nodes = joined, [*above, *joined]
        self.known: dict[tuple[int, int, int], Node] = {}
        self.is_stack = set(extents) == {1}

    def parts(self, g: Any) -> list[Node]:
        """The parts along the axis."""
        return [self.part(g, self.x, self.axis, i) for i in range(len(self.extents))]

    def part(self, g: Any, node: Node, axis: int, i: int) -> Node:
        """Part i of a node along an axis that is the result's."""
        key = node.id, axis, i
        if key not in self.known:
            self.known[key] = self._part(g, node, axis, i)
        return self.known[key]

    def _part(self, g: Any, node: Node, axis: int, i: int) -> Node:
        if _extents(node, axis):
            return node.args[i] if node.op == "concat" else _part_of_padded(g, node, axis, i)
        operands = self.inside.get((node.id, axis))
        if operands is None:
            low = sum(self.extents[:i])
            return _cut(g, node, axis, low, low + self.extents[i])
        args = [self.part(g, a, own, i) for a, own in operands]
        shape = (*node.shape[:axis], self.extents[i], *node.shape[axis + 1 :])
        if node.op == "broadcast":
            return g.broadcast(args[0], shape, node.attrs[0])
        if node.op == "transpose":
            return g.transpose(args[0], node.attrs[0])
        if node.op == "reshape":
            return g.reshape(args[0], shape)
        if node.op == "reverse":
            return g.reverse(args[0], node.attrs[0])
        if node.op == "slice":
            starts, strides = node.attrs
            limits = [s + (n - 1) * d + 1 for s, n, d in zip(starts, shape, strides, strict=True)]
            return g.slice(args[0], starts, limits, strides)
        return _elementwise(g, node, args)


def _elementwise(g: Any, node: Node, args: list[Node]) -> Node:
    if node.op == "select":
        return g.select(*args)
    if node.op in ("convert", "bitcast"):
        return getattr(g, node.op)(*args, node.dtype)
    if node.attrs:
        return g.table.intern(node.op, tuple(args), args[0].shape, node.dtype, node.attrs)
    return g.ew(node.op, *args, dtype=node.dtype)


def _extents(node: Node, axis: int) -> tuple[int, ...]:
    """Those of the parts that an array is joined of along an axis; none of others."""
    if node.op == "concat" and node.attrs[0] == axis:
        return tuple([part.shape[axis] for part in node.args])
    if node.op == "pad" and 0 < node.args[0].shape[axis] < node.shape[axis]:
        low, n = node.attrs[0][axis], node.args[0].shape[axis]
        return tuple([extent for extent in (low, n, node.shape[axis] - low - n) if extent])
    return ()


def _part_of_padded(g: Any, node: Node, axis: int, i: int) -> Node:
    (x, value), (low,) = node.args, node.attrs
    if i != (low[axis] > 0):
        shape = (*node.shape[:axis], _extents(node, axis)[i], *node.shape[axis + 1 :])
        return g.broadcast(value, shape, ())
    high = [m - n - before for m, n, before in zip(node.shape, x.shape, low, strict=True)]
    low, high[axis] = [0 if a == axis else n for a, n in enumerate(low)], 0
    return g.pad(x, value, low, high)


_Operands = tuple[tuple[Node, int], ...]  # and what the axis is to each; none: the node is cut


def _operands(node: Node, axis: int) -> _Operands:
    """What a node's part is made of, which is the same part of each operand."""
    if not node.args or node.op == "copy":
        return ()
    source = node.args[0]
    if node.op == "broadcast":
        own = node.attrs[0].index(axis) if axis in node.attrs[0] else -1
        return ((source, own),) if own >= 0 and source.shape[own] == node.shape[axis] else ()
    if node.op == "transpose":
        return ((source, node.attrs[0][axis]),)
    if node.op == "reshape":
        return ((source, own),) if (own := _before_reshape(node, axis)) >= 0 else ()
    if node.op == "reverse":
        return () if axis in node.attrs[0] else ((source, axis),)
    if node.op == "slice":
        return ((source, axis),) if source.shape[axis] == node.shape[axis] > 0 else ()
    return tuple([(a, axis) for a in node.args]) if is_elementwise(node) else ()


def _before_reshape(node: Node, axis: int) -> int:
    """The axis of a reshape's operand that stays an axis of the result; -1 if none does."""
    before, extent = math.prod(node.shape[:axis]), node.shape[axis]
    shape = node.args[0].shape
    places = [i for i, n in enumerate(shape) if n == extent and math.prod(shape[:i]) == before]
    return places[0] if places and node.size else -1


def _is_cut(node: Node, axis: int) -> bool:
    """Whether a part of a node is its elements at some places, and nothing to be made again."""
    return node.op == "broadcast" and _is_same_along(node, axis) or is_place(node)


def _cut(g: Any, node: Node, axis: int, low: int, high: int) -> Node:
    """The elements [low, high) along an axis; of an array that is the same along it, fewer."""
    shape = (*node.shape[:axis], high - low, *node.shape[axis + 1 :])
    if node.op == "broadcast" and _is_same_along(node, axis):
        return g.broadcast(node.args[0], shape, node.attrs[0])
    starts, limits = [0] * len(node.shape), list(node.shape)
    starts[axis], limits[axis] = low, high
    return g.slice(node, starts, limits)


def _is_same_along(node: Node, axis: int) -> bool:
    (dims,) = node.attrs
    return axis not in dims or node.args[0].shape[dims.index(axis)] == 1
