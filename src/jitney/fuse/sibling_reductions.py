"""What is computed beside a reduction, because it reads the same arrays.

In: a reduction of the graph (or the pieces of one) and nodes that wait to be computed. Out: those
that join its kernel: other reductions over the same loops (least and greatest, a sum and the sum of
squares, the gradients of a scale and of a shift), and arrays that are made element by element of
what it reads (a residual and its norm, a gradient and its loss), which its stage stores.
None may need another one's result, unless the graph says that they belong to the same rows
(`Graph.together`), or that follows (`same_rows.py`): there the kernel has a stage for each.
"""

import math
from collections import deque
from collections.abc import Iterable
from typing import Any

from ..graph.elementwise import VIEWS, is_elementwise
from ..ir.node import Node
from . import affine as af
from .kernel import Store
from .lies_flat import lies_flat
from .same_rows import needs_at_rows
from .split_reductions import should_split
from .updates import depends, found_to_depend

REDUCTIONS = ("reduce", "argreduce", "partial")
MOST_SIBLINGS = 4  # accumulators of more would not stay in registers
MOST_BESIDE = 4  # arrays stored beside reductions
LEAST_STAGE = 64  # elements a result is made of: short stages leave lanes empty
LEAST_COLUMNS = 512  # where a reduction goes down columns
LEAST_BESIDE = 4096  # elements of such an array: less is soon computed by a kernel of its own
_MOVED = VIEWS - {"reshape"} | {"gather"}  # what a loop of another shape cannot follow
NEAR = 24  # nodes below a reduction among which a common source is looked for


# ---------------------------------------------------------------------- reductions
def siblings(partition: Any, node: Node, others: Iterable[Node]) -> list[Node]:
    """Those of `others` that the kernel of the reduction `node` computes beside it."""
    group = [node]
    if node.op not in REDUCTIONS:
        return []
    for other in others:
        if len(group) == MOST_SIBLINGS:
            break
        if other.op in REDUCTIONS and are_siblings(partition, other, group):
            group.append(other)
    return group[1:]


def are_siblings(partition: Any, a: Node, group: list[Node]) -> bool:
    """Whether a reduction may join a group of them."""
    together = partition.graph.together.get(a.id, frozenset())
    return a not in group and all(
        b.id in together
        or _follows_rows(partition, a, b, [*group, a])
        or _are_side_by_side(partition, a, b)
        for b in group
    )


def _are_side_by_side(partition: Any, a: Node, b: Node) -> bool:
    """Whether two reductions over the same loops read the same arrays, and not each other."""
    (loops, read), (others, also_read) = _known(partition, a), _known(partition, b)
    return (
        loops == others
        and not read.isdisjoint(also_read)
        and not (_needs(partition, a, b) or _needs(partition, b, a))
    )


def _follows_rows(partition: Any, a: Node, b: Node, group: list[Node]) -> bool:
    """Whether one of two reductions needs the other one, at the same rows only."""
    if a.op != "reduce" or b.op != "reduce":
        return False
    if _known(partition, a)[0] != _known(partition, b)[0]:
        return False
    if not _goes_along_runs(a) or _is_short(a) or should_split(a, True):
        return False
    first, second = (a, b) if a.id < b.id else (b, a)
    return needs_at_rows(partition, second, first, group)


def _known(partition: Any, node: Node) -> tuple[tuple, set[int]]:
    """(loops, arrays near it) of a reduction, found out once."""
    known = partition.table.facts_about("reductions")
    found = known.get(node.id)
    if found is None:
        found = known[node.id] = loops_of(node), _arrays_near(node)
    return found


def _needs(partition: Any, a: Node, b: Node) -> bool:
    """Whether a, or what it has pieces of, is computed from b, or from what b has pieces of."""
    table, origin = partition.table, partition.origins.get(b.id, b)
    return found_to_depend(table, a, b) or (origin is not b and found_to_depend(table, a, origin))


def loops_of(node: Node) -> tuple:
    """What the loops of a reduction's kernel are made of."""
    return node.shape, node.args[0].shape, axes_of(node), node.attrs[2:]


def _is_short(node: Node) -> bool:
    """Whether a reduction is of few elements."""
    return math.prod([node.args[0].shape[a] for a in axes_of(node)]) < LEAST_STAGE


def axes_of(node: Node) -> tuple[int, ...]:
    """The axes a reduction goes along."""
    return node.attrs[1] if isinstance(node.attrs[1], tuple) else (node.attrs[1],)


def _arrays_near(node: Node) -> set[int]:
    """Arrays as large as what is reduced, near above the reduction."""
    size, seen, waiting = node.args[0].size, set[int](), list(node.args)
    found = set[int]()
    for x in waiting:  # grows meanwhile
        if x.id in seen or len(seen) >= NEAR:
            continue
        seen.add(x.id)
        if x.size >= size and x.op not in ("broadcast", "iota"):
            found.add(x.id)
        waiting.extend(x.args)
    return found


# ---------------------------------------------------------------------- arrays beside reductions
def stored_beside(partition: Any, group: list[Node], waiting: Iterable[Node]) -> list[Node]:
    """The arrays that the kernel of these reductions stores beside them: large outputs, or some of
    those `waiting` since other kernels have asked for them."""
    node, found = group[0], list[Node]()
    source = node.args[0]
    is_cut = node.op == "reduce" and should_split(node, True)  # its pieces come later
    along_runs = _goes_along_runs(node)
    in_order = along_runs or _goes_down_columns(node)
    of_blocks = any(x.id in partition.graph.together for x in group)
    is_short = _is_short(node)
    table = partition.table
    if is_cut or of_blocks or is_short or not in_order or source.size < LEAST_BESIDE:
        return []
    read = set[int]().union(*[_arrays_at_element(table, x.args[0]) for x in group])
    others = [*partition.large.made_of(read), *[n for n in waiting if is_large(n)]]
    if not along_runs:  # what else is made of rows' numbers would be computed anew for each column
        others = [other for other in others if other.id in read]
    for other in others:
        if len(found) == MOST_BESIDE:
            break
        if (
            other.size == source.size
            and not read.isdisjoint(_arrays_at_element(table, other))
            and not _ends_a_product(partition, other)
            and (other.shape == source.shape or _is_plain(partition, other, source.shape, read))
            and not any(_waits(partition, other, x, group) for x in group)
            and all(other.id in read or not found_to_depend(table, x, other) for x in group)
            and not any(found_to_depend(table, *pair) for x in found
                        for pair in ((other, x), (x, other)))
        ):  # fmt: skip
            found.append(other)
    return found


def _waits(partition: Any, other: Node, x: Node, group: list[Node]) -> bool:
    """Whether an array needs a reduction of a group that is to store it beside, but for one that a
    later stage of its rows can store."""
    if not _needs(partition, other, x):
        return False
    is_row = x.op == "reduce" and other.shape == x.args[0].shape and _goes_along_runs(x)
    return not is_row or not needs_at_rows(partition, other, x, group)


def _is_plain(partition: Any, node: Node, shape: tuple[int, ...], read: set[int]) -> bool:
    """Whether a node is made, element by element, of no view that would be stored for it (but for
    what is read anyhow): loops of another shape ask for whole arrays. (Differences of neighbours
    beside a sum of all: one array more is written and read.)"""
    nodes = partition.table.nodes
    near = [nodes[i] for i in _arrays_at_element(partition.table, node) - read]
    is_moved = any(x.op in _MOVED and partition.view_of(x) is None for x in near)
    return not is_moved and lies_flat(partition, node, shape)


def _ends_a_product(partition: Any, node: Node) -> bool:
    """Whether a matrix product or convolution may store the node as its epilogue."""
    nodes = partition.table.nodes
    near = [nodes[i] for i in _arrays_at_element(partition.table, node)]
    return any(x.op in ("dot", "conv") and partition.view_of(x) is None for x in near)


def _goes_along_runs(node: Node) -> bool:
    return axes_of(node)[-1] == len(node.args[0].shape) - 1


def _goes_down_columns(node: Node) -> bool:
    """Whether long rows are read whole and in order, and threads share them (codegen/sweep.py)."""
    axes, shape = axes_of(node), node.args[0].shape
    in_order = axes == tuple(range(len(axes))) and shape[-1] >= LEAST_COLUMNS
    return in_order and node.op == "partial"


def _arrays_at_element(table: Any, node: Node) -> set[int]:
    """`node` and the arrays of its size that it is made of, element by element: found out once."""
    known = table.facts_about("arrays at element")
    found = known.get(node.id)
    if found is None:
        found = known[node.id] = _find_arrays_at_element(node)
    return found


def _find_arrays_at_element(node: Node) -> set[int]:
    seen, waiting = set[int](), [node]
    for x in waiting:  # grows meanwhile
        if x.id in seen or x.size != node.size or len(seen) >= NEAR or x.op == "broadcast":
            continue
        seen.add(x.id)
        if is_elementwise(x) or x.op == "reshape":
            waiting.extend(x.args)
    return seen


def store_beside(builder: Any, reduction: Node, node: Node, view: Any) -> None:
    """Adds to a reduction's kernel what stores `node`: to the stage that the builder has pulled the
    reduction with, or to a later one if `node` is made of sums of the same rows."""
    source, axes, index = reduction.args[0], axes_of(reduction), builder.root_index
    extents, shaped = tuple([source.shape[a] for a in axes]), builder.partition.reshape(
        node, source.shape)
    is_piece, level, needed = reduction.op == "partial", -1, 0
    for other in builder.root_nodes:  # results of the same rows are known a stage later
        if other.op == "reduce" and other is not node and depends(node, other):
            needed = max(needed, builder.level(builder.value(other, index)))
    while level < needed:
        level = needed
        key = "partial" if is_piece else None
        stage, _, places = builder.stage_along(level, extents, key)
        inner = af.insert(index[1:] if is_piece else index, axes, places)
        expr = builder.value(shaped, inner)
        needed = builder.level(expr)
    number = builder.buffer_number(view.buffer, "out")
    where = builder.position_in(view.reshaped(source.shape), inner)
    stage.stores.append(Store(number, where, expr))


class Waiting:
    """Groups of large outputs, made element by element, that wait to be computed; in the order of
    their coming, and by the arrays they are made of."""

    def __init__(self, groups: list[list], table: Any):
        self._groups = deque(groups)
        self._order: dict[int, tuple[int, list, tuple]] = {}
        self._made_of: dict[int, list[Node]] = {}
        for group in groups:
            for root in group:
                self._order[root[0].id] = len(self._order), group, root
                for i in _arrays_at_element(table, root[0]):
                    self._made_of.setdefault(i, []).append(root[0])

    def __bool__(self) -> bool:
        return any(self._groups)

    def next_group(self) -> list:
        """Takes the first group."""
        while not self._groups[0]:
            self._groups.popleft()
        group = self._groups.popleft()
        for node, _ in group:
            del self._order[node.id]
        return group

    def take(self, node: Node) -> None:
        """Removes a node, if it waits here."""
        if node.id in self._order:
            _, group, root = self._order.pop(node.id)
            group.remove(root)

    def made_of(self, arrays: Iterable[int]) -> list[Node]:
        found = {n.id: n for i in arrays for n in self._made_of.get(i, ()) if n.id in self._order}
        return sorted(found.values(), key=lambda n: self._order[n.id][0])


def is_large(node: Node) -> bool:
    """Whether an elementwise node waits for a reduction to be stored beside."""
    return node.size >= LEAST_BESIDE and is_elementwise(node)
