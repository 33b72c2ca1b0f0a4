"""The loops of a kernel are over a finer shape where an array that it reads was reshaped.

In: a kernel being written, and an array of merged axes whose elements do not follow one another in
memory: heads of attention put side by side, pixels that were shuffled. Out: the shape in which the
merged axis of the result is split into those it was made of. In loops over that shape the array is
read where it is; in loops over the merged axis its place would need a division, or a copy.
"""

from __future__ import annotations

import math
from typing import Any

from ..ir.node import Node
from . import affine as af
from .reshaped_index import decompose, joined_places

MOST_SPLITS = 4  # times a kernel is begun again for it
_VIEWS = ("transpose", "slice", "reverse", "broadcast", "pad")


class NeedSplit(Exception):
    """The kernel must be begun again with loops over this shape."""

    def __init__(self, shape: tuple[int, ...]):
        self.shape = shape


def ask_for_split(builder: Any, node: Node, index) -> None:
    """Raises NeedSplit if the place of a reshaped view's element needs no division in loops over a
    finer shape."""
    operand = node.args[0]
    if not builder.may_split or operand.op not in _VIEWS:
        return
    splits = {}
    for group, place in joined_places(index, operand.shape, node.shape):
        if decompose(builder, place, group.of_left) is not None:
            continue
        parts = [operand.shape[axis] for axis in group.left]
        position = builder.position_of.get(place[1][0][0])
        if len(group.right) > 1 or position is None or place != af.variable(place[1][0][0]):
            return  # not one of the kernel's loops
        if builder.shape[position] != math.prod(parts):
            return  # but for a part of it
        splits[position] = parts
    parts = [splits.get(position, [extent]) for position, extent in enumerate(builder.shape)]
    raise NeedSplit(tuple([extent for part in parts for extent in part]))


def joined_index(places, shape, coarse) -> tuple:
    """Places along the axes of `shape` -> an index into `coarse`, whose axes `shape` splits.

    >>> joined_index((af.variable(0), af.variable(1), af.ZERO), (8, 32, 1), (256, 1))
    ((0, ((0, 32), (1, 1))), (0, ()))
    """
    if len(shape) == len(coarse):
        return tuple(places)
    index, position = [], 0
    for extent in coarse:
        first = position
        position += 1
        while math.prod(shape[first:position]) < extent:
            position += 1
        parts = shape[first:position]
        index.append(af.dot(places[first:position], af.contiguous_strides(parts)))
    return tuple(index)
