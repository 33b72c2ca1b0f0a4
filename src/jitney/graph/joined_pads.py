"""Sums of arrays that are padded to stand side by side are concatenations.

In: two operands of an addition, both padded with zeros along one axis, to places that follow one
another. Out: what was padded as a concatenation, padded with what zeros are left; None of others.
Gradients of parts of an array (`x[:, :n]` and `x[:, n:]` of a gated unit, the gates of a recurrent
one) are such sums, in which each element would ask of each part whether it is inside.
(A Zen 5, two threads and one, by turns: a gradient of gelu(x[:, :256]) * x[:, 256:] of 4096 x 512
.49 and .52 of the time, of a product of halves of 2048 x 512 .28 and .27.)
Keeps: every bit: elements still have 0 added to them, which makes a 0 of -0.
"""

from __future__ import annotations

from typing import Any

from ..ir.node import Node

LEAST_ELEMENTS = 1024  # of the sum: kernels of fewer are soon done, and better short


def joined_pads(g: Any, a: Node, b: Node) -> Node | None:
    """See the module's text."""
    if a.op != "pad" or b.op != "pad" or a.size < LEAST_ELEMENTS:
        return None
    axis = _axis(g, a)
    if axis is None or _axis(g, b) != axis:
        return None
    first, second = (a, b) if a.attrs[0][axis] < b.attrs[0][axis] else (b, a)
    low = first.attrs[0][axis]
    if low + first.args[0].shape[axis] != second.attrs[0][axis]:
        return None
    parts = [g.add(x.args[0], g.full(0, x.args[0].shape, x.dtype)) for x in (first, second)]
    found = g.concat(parts, axis)
    if found.shape == a.shape:
        return found
    return g.table.intern("pad", (found, first.args[1]), a.shape, a.dtype, first.attrs)


def _axis(g: Any, x: Node) -> int | None:
    """The axis along which an array is padded with zeros, if it is one."""
    inner = x.args[0].shape
    axes = [axis for axis, n in enumerate(x.shape) if inner[axis] != n]
    is_zero = x.args[1] is g.lit(0, x.dtype)
    return axes[0] if len(axes) == 1 and is_zero and inner[axes[0]] else None
