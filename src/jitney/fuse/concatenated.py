"""Which parts of a concatenation are written by one kernel.

In: a concatenation, its view, and others computed with it. Out: groups of parts, each with its
place, such that one kernel a group writes every element.

A kernel a part writes every n-th few elements, and goes through all lines of the result again: so
parts of a few elements in a row are written side by side, as columns. Up to 16 of them are whole
rows of the result; of longer rows, up to 16 columns at a time (`Kernel.beside`) are transposed in
registers. 24 columns of 20,000 numbers each took 280 us so, and take 57.
"""

import itertools
import math
from typing import Any

from ..graph.elementwise import is_elementwise
from ..ir.node import Node
from ..ir.types import nbytes_of
from .affine import contiguous_strides
from .buffers import View
from .group_roots import MOST_ALIKE, MOST_PARTS, alike
from .kernel import MOST_BESIDE, SHORT_AXIS, SHORT_STRIDE
from .sibling_reductions import REDUCTIONS
from .updates import depends_on_any

SMALL_CONCAT = 64  # so few elements are one kernel with selects, not one kernel a part
LEAST_ROWS = 32  # of which a few columns are worth a kernel
MOST_NODES = 16  # that compute a part of which each column is computed apart
_VIEWS = frozenset("reshape transpose broadcast slice reverse".split())
_NUMBERS = frozenset("iota lit".split())


def groups_of_parts(partition: Any, roots) -> list[list]:
    """See the module's text; `roots`: concatenations and their views."""
    found = [_alike_if_few(partition, *root) for root in roots]
    parts = [placed for some in found for placed in some]
    if all(_side_by_side(partition, roots[0][0], some) for some in found):
        return [parts]
    beside: list[list] = []
    if len(roots) == 1:
        (node, view), = roots
        beside, parts = _beside(partition, node, view, _reductions_in_place(partition, parts))
    again, parts = _read_again(partition, parts)
    return [*beside, *again, *alike(partition, parts, MOST_PARTS)]


def _reductions_in_place(partition: Any, parts: list) -> list:
    """A few parts, of which reductions are stored where they belong and nowhere else, so that those
    over the same loops are one kernel. Not where one part is made of another one: all kernels of a
    concatenation are written before anything reads it."""
    bare = [_without_units(*placed) for placed in parts]
    ids = [inner.id for inner, _ in bare if inner.op in REDUCTIONS]
    if not 1 < len(set(ids)) == len(ids) or len(parts) > MOST_ALIKE:
        return parts
    if any(partition.view_of(inner) is not None for inner, _ in bare if inner.id in ids):
        return parts
    if any(depends_on_any(a, set(ids)) for inner, _ in bare for a in inner.args):
        return parts
    partition.views.update({inner.id: place for inner, place in bare if inner.id in ids})
    return [b if b[0].id in ids else placed for b, placed in zip(bare, parts, strict=True)]


def _beside(partition: Any, node: Node, view: View, parts) -> tuple[list[list], list]:
    """(groups of columns that follow one another in memory; the parts that are left)."""
    axis, shape = node.attrs[0], node.shape
    inner = view.strides[axis:] == contiguous_strides(shape[axis:])
    is_long = math.prod(shape[axis:]) > SHORT_STRIDE and math.prod(shape[:axis]) >= LEAST_ROWS
    if not (inner and is_long and partition.target.moves_vectors(nbytes_of(node.dtype))):
        return [], parts
    runs, left = _runs(partition, node, view, parts)
    groups = []
    for run in runs:
        columns = [c for part, place in run for c in _columns(partition, part, place, axis)]
        count = -(-len(columns) // MOST_BESIDE)
        ends = [len(columns) * k // count for k in range(count + 1)]
        groups += [columns[a:b] for a, b in itertools.pairwise(ends)]
    return groups, left


def _runs(partition: Any, node: Node, view: View, parts) -> tuple[list[list], list]:
    """(several narrow parts in turn that fill some columns; the parts that are left)."""
    axis, left, end = node.attrs[0], [], None
    runs: list[list] = []
    for part, place in parts:
        is_alike = _without(part.shape, axis) == _without(node.shape, axis)
        has_rows = is_alike and place.strides == view.strides  # parts of parts may have others
        is_narrow = math.prod(part.shape[axis:]) <= SHORT_AXIS
        if not (has_rows and is_narrow and _is_cheap(partition, part)):
            left.append((part, place))
            continue
        if not runs or place.offset != end:
            runs.append([])
        runs[-1].append((part, place))
        end = place.offset + math.prod(part.shape[axis:])
    left += [placed for run in runs if len(run) == 1 for placed in run]
    return [run for run in runs if len(run) > 1], left


def _without(shape: tuple, axis: int) -> tuple:
    return shape[:axis] + shape[axis + 1 :]


def _is_cheap(partition: Any, node: Node) -> bool:
    """Whether a part is stored or made element by element, in a few steps, of what is."""
    waiting, seen = [node], {node.id}
    while waiting:
        here = waiting.pop()
        if here.op in _NUMBERS or partition.view_of(here) is not None:
            continue
        if not (here.op in _VIEWS or is_elementwise(here)) or len(seen) > MOST_NODES:
            return False
        fresh = [a for a in here.args if a.id not in seen]
        seen.update(a.id for a in fresh)
        waiting.extend(fresh)
    return True


def _read_again(partition, parts):
    """(groups of parts that are one stored array, which is read once for all of them; the rest)."""
    groups: dict = {}
    for node, view in parts:
        groups.setdefault(node.id, []).append((node, view))
    again = [
        g for g in groups.values()
        if len(g) > 1 and g[0][0].size and partition.view_of(g[0][0]) is not None
    ]  # fmt: skip
    taken = {g[0][0].id for g in again}
    again = [g[k : k + MOST_ALIKE] for g in again for k in range(0, len(g), MOST_ALIKE)]
    return again, [(node, view) for node, view in parts if node.id not in taken]


def _parts(partition, node, view):
    """The parts of a concatenation and their places in its view; those of a large concatenation
    within it instead of it, since one kernel of all would ask of each element where it belongs."""
    axis, start = node.attrs[0], 0
    for part in node.args:
        corner = [0] * len(node.shape)
        corner[axis] = start
        inner, place = _without_units(part, view.part(corner, part.shape))
        if _is_inner(partition, inner):
            yield from _parts(partition, inner, place)
        else:
            yield part, view.part(corner, part.shape)
        start += part.shape[axis]


def _alike_if_few(partition, node, view) -> list:
    """The parts; those of a few elements in all that are not alike, each element as a part."""
    axis, parts = node.attrs[0], list(_parts(partition, node, view))
    is_alike = all(part.shape == parts[0][0].shape for part, _ in parts)
    if is_alike or math.prod(node.shape[axis:]) > SHORT_STRIDE or node.size <= SMALL_CONCAT:
        return parts
    if any(len(p.shape) != len(node.shape) or not _is_plain(partition, p) for p, _ in parts):
        return parts
    return [placed for part, place in parts for placed in _columns(partition, part, place, axis)]


def _columns(partition, node, view, axis: int):
    """The elements of a node's last axes, from one on, and their places."""
    zeros, shape = (0,) * axis, node.shape[:axis] + (1,) * (len(node.shape) - axis)
    for last in itertools.product(*map(range, node.shape[axis:])):
        start, steps = zeros + last, (1,) * len(shape)
        part = partition.table.intern("slice", (node,), shape, node.dtype, (start, steps))
        yield part, view.part(start, shape)


def _without_units(node, view):
    """A node below reshapes that only add axes of one element or drop them, and its place."""
    while node.op == "reshape":
        below = node.args[0]
        kept = [(n, s) for n, s in zip(view.shape, view.strides, strict=True) if n != 1]
        if [n for n, _ in kept] != [n for n in below.shape if n != 1]:
            break
        steps = iter([s for _, s in kept])
        strides = tuple([next(steps) if n != 1 else 1 for n in below.shape])
        node, view = below, View(view.buffer, below.shape, strides, view.offset)
    return node, view


def _is_inner(partition, node) -> bool:
    is_large = node.op == "concat" and node.size > SMALL_CONCAT
    return is_large and node.id not in partition.forced and partition.view_of(node) is None


def _side_by_side(partition, node, parts) -> bool:
    """Whether the parts are few columns of a few elements (those of complex numbers, say, or of
    small matrices): one kernel writes whole vectors of them, where one kernel a part would write
    every n-th element."""
    elements, first = math.prod(node.shape[node.attrs[0] :]), parts[0][0]
    if elements > SHORT_STRIDE or len(parts) > SHORT_AXIS and len(parts) != elements:
        return False
    return all(p.shape == first.shape and _is_plain(partition, p) for p, _ in parts)


def _is_plain(partition, node) -> bool:
    """A view of something elementwise or stored."""
    while node.op in ("reshape", "transpose", "broadcast", "slice", "reverse"):
        node = node.args[0]
    return is_elementwise(node) or node.op in ("iota", "lit") or (
        partition.view_of(node) is not None)
