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
from .joined import parts_along

COMBINE = {"sum": "add", "prod": "mul", "max": "max", "min": "min", "and": "and", "or": "or"}
COMBINE |= {"xor": "xor"}


def reduce_of_joined(g: Any, kind: str, x: Node, axes: tuple[int, ...]) -> Node | None:
    """See the module's text."""
    if kind not in COMBINE or (x.dtype in ("f16", "bf16") and kind in ("sum", "prod")):
        return None  # sums of short floats are rounded once
    if x.op == "broadcast" and x.args[0].shape == ():
        return _of_equals(g, kind, x, axes)
    for axis in axes:
        parts = parts_along(g, x, axis)
        if parts is not None:
            return _reduce_parts(g, kind, parts, [part.shape[axis] for part in parts], axes)
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


def _reduce_parts(g: Any, kind: str, parts: list[Node], extents: list[int],
                  axes: tuple[int, ...]) -> Node:  # fmt: skip
    if len(set(extents)) == 1 and (kind != "prod" or extents[0] == 1):
        return g.reduce(kind, _combined(g, kind, parts), axes)
    return _combined(g, kind, [g.reduce(kind, part, axes) for part in parts])


def _combined(g: Any, kind: str, parts: list[Node]) -> Node:
    total = parts[0]
    for part in parts[1:]:
        total = g.ew(COMBINE[kind], total, part)
    return total
