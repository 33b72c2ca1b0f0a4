"""Reductions along the axis of a concatenation are reductions of its parts, combined.

In: what is to be reduced, of which an operand, or an operand's operand through elementwise
operations, is a concatenation along one of the axes, or padded: the windows of a filter as a stack
of shifted images (`jnp.stack([...]).max(0)`, and its variance, or a product with weights), a vector
of a few numbers put together, an image with a border. Out: the elements of a stack combined one
after the other, so that no stack is stored, nor is asked at each element which part it is of; of
longer parts, each one's reduction; None of others. Parts of equal extent are combined first, but
for products, whose factors stay in order. Equal numbers are multiplied.
(Nine shifted images of 1022 x 1022, two threads, beside the stack that was stored: greatest .02 of
the time, standard deviation .04.)
Keeps: every bit of extremes and logical operations; sums are added in another order.
"""

from __future__ import annotations

import math
from typing import Any

from ..ir.node import Node
from .elementwise import is_elementwise

MOST_PARTS = 16  # as many terms as are written out
MOST_NODES = 160  # written instead of one reduction
JOINED = "joined and padded arrays"  # of a table
COMBINE = {"sum": "add", "prod": "mul", "max": "max", "min": "min", "and": "and", "or": "or"}
COMBINE |= {"xor": "xor"}


def reduce_of_joined(g: Any, kind: str, x: Node, axes: tuple[int, ...]) -> Node | None:
    """See the module's text."""
    if kind not in COMBINE or (x.dtype in ("f16", "bf16") and kind in ("sum", "prod")):
        return None  # sums of short floats are rounded once
    if x.op == "broadcast" and x.args[0].shape == ():
        return _of_equals(g, kind, x, axes)
    for axis in axes if g.table.facts_about(JOINED) else ():
        joined = _Joined.of(x, axis)
        if joined is not None:
            parts = [joined.part(g, x, axis, i) for i in range(len(joined.extents))]
            return _reduce_parts(g, kind, parts, joined.extents, axes)
    return None


def _of_equals(g: Any, kind: str, x: Node, axes: tuple[int, ...]) -> Node | None:
    """The reduction of elements that are all the same number."""
    shape = tuple([n for axis, n in enumerate(x.shape) if axis not in axes])
    if kind in ("max", "min", "and", "or"):
        return g.broadcast(x.args[0], shape, ())
    if kind != "sum":
        return None
    count = math.prod([x.shape[axis] for axis in axes])
    return g.broadcast(g.mul(x.args[0], g.lit(count, x.dtype)), shape, ())


def _reduce_parts(g: Any, kind: str, parts: list[Node], extents: tuple[int, ...],
                  axes: tuple[int, ...]) -> Node:  # fmt: skip
    if len(set(extents)) == 1 and (kind != "prod" or extents[0] == 1):
        return g.reduce(kind, _combined(g, kind, parts), axes)
    return _combined(g, kind, [g.reduce(kind, part, axes) for part in parts])


def is_stack(x: Node, axis: int) -> bool:
    """Whether an array is a few others, one element each along an axis."""
    is_joined = x.op == "concat" and x.attrs[0] == axis and len(x.args) <= MOST_PARTS
    return is_joined and all(part.shape[axis] == 1 for part in x.args)


def _combined(g: Any, kind: str, parts: list[Node]) -> Node:
    total = parts[0]
    for part in parts[1:]:
        total = g.ew(COMBINE[kind], total, part)
    return total


class _Joined:
    """Elementwise operations and views, down to concatenations that are all cut at the same places
    along one axis of the result."""

    def __init__(self, extents: tuple[int, ...], inside: dict[tuple[int, int], _Operands]):
        self.extents, self.inside = extents, inside
        self.known: dict[tuple[int, int, int], Node] = {}

    @staticmethod
    def of(x: Node, axis: int) -> _Joined | None:
        """What is known of an array, if it is joined along an axis."""
        inside: dict[tuple[int, int], _Operands] = {}
        stack, found = [(x, axis)], set()
        while stack and len(inside) <= MOST_NODES // 2:
            node, own = stack.pop()
            if extents := _extents(node, own):
                found.add(extents)
            elif (node.id, own) not in inside and (operands := _operands(node, own)):
                inside[node.id, own] = operands
                stack.extend(operands)
        if len(found) != 1:
            return None
        (extents,) = found
        few = len(extents) <= MOST_PARTS and len(extents) * (len(inside) + 1) <= MOST_NODES
        return _Joined(extents, inside) if few else None

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
