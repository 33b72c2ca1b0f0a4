"""Which nodes that are to be stored one kernel computes together (rule 6 of `partition.py`).

In: a partition, and outputs or nodes that kernels asked for, with the views they belong in. Out:
groups of (node, view): elementwise nodes of one shape that read a common node, reductions over the
same loops, concatenations of like parts; and the arrays that reductions store beside.
Nodes that join a group are taken off the partition's lists of what waits.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ..graph.elementwise import is_elementwise
from ..ir.node import Node
from .levels import waits
from .sibling_reductions import (
    MOST_SIBLINGS,
    REDUCTIONS,
    are_siblings,
    loops_of,
    siblings,
    stored_beside,
)
from .updates import depends

MERGED_SIZE = 64  # elements up to which nodes that kernels asked for share a kernel
MERGED_ROOTS = 64
MOST_BESIDE = 4  # concatenations computed together
NEAR_GROUPS = 16  # groups of reductions over the same loops that one may join: the latest
MOST_ALIKE = 8  # results of one kernel: more would only make it longer
MOST_PARTS = 9  # ... of a concatenation: nine neighbours in order, say
NEAR_NODES = 24  # below a node among which a common source is looked for
# Elementwise nodes that two arrays are both made of, from which on one kernel makes both: the two
# words of random bits, say, which else take all rounds each, or store what they share, and share
# again what that is made of: each round a kernel.
SHARED_WORK, MOST_LOOKED_AT, ASKED_LATELY = 16, 150, 8


# ---------------------------------------------------------------------- outputs
def alike(partition: Any, roots, most: int = MOST_ALIKE) -> list[list]:
    """Groups of roots: of elementwise ones of one shape that read a common node, and of reductions
    that read what others read."""
    groups: list[list] = []
    of_loops: dict[tuple, list] = {}  # the groups of reductions so far by their loops
    for node, view in roots:
        same_loops, group = [], None
        if _joins_reductions(partition, node, view):
            same_loops = of_loops.setdefault(loops_of(node), [])
            group = _group_of_siblings(partition, node, same_loops[-NEAR_GROUPS:])
        elif _joins_elementwise(partition, node, view):
            group = _group_of_shape(partition, node, groups, most)
        if group is None:
            group = []
            groups.append(group)
            same_loops.append(group)
        group.append((node, view))
    return groups


def _joins_reductions(partition: Any, node: Node, view) -> bool:
    is_merged = node.op in REDUCTIONS and not partition.apart.has(node)
    return is_merged and partition.view_of(node) is view


def _group_of_siblings(partition: Any, node: Node, groups: list[list]) -> list | None:
    for group in groups:
        members = [n for n, _ in group]
        if len(group) < MOST_SIBLINGS and are_siblings(partition, node, members):
            return group
    return None


def _joins_elementwise(partition: Any, node: Node, view) -> bool:
    is_merged = is_elementwise(node) and node.size and not partition.apart.has(node)
    return bool(is_merged) and partition.view_of(node) in (None, view)


def _group_of_shape(partition: Any, node: Node, groups: list[list], most: int) -> list | None:
    for group in groups:
        other = group[0][0]
        if (
            is_elementwise(other)
            and not partition.apart.has(other)
            and other.shape == node.shape
            and len(group) < most
            and shares_source(node, [n for n, _ in group])
        ):
            return group
    return None


# ---------------------------------------------------------------------- what kernels asked for
def with_neighbours(partition: Any, node: Node) -> list[tuple]:
    """A node that a kernel asked for, and others waiting that are computed with it."""
    roots = [(node, partition.views.get(node.id))]
    if partition.apart.has(node):
        return roots
    if node.op in REDUCTIONS:
        return roots + _siblings(partition, node)
    if node.op == "concat" and node.size > MERGED_SIZE:
        return roots + _twins(partition, node)
    if node.id in partition.cuts:
        return roots + _cut_with(partition, node)
    if may_be_merged(node):
        _add_neighbours(partition, roots)
    elif is_elementwise(node):
        roots += _sharing_work(partition, node)
    return roots


def _sharing_work(partition: Any, node: Node) -> list[tuple]:
    """Other arrays of this shape that were asked for lately and are made of what this one is."""
    group, known, shape = [node], partition.made_of, node.shape
    lately = _waiting(partition)[-ASKED_LATELY:]
    others = [n for n in lately if n.shape == shape and is_elementwise(n)]
    if others and len(_made_of(node, partition.forced, known)) < SHARED_WORK:
        return []
    for other in reversed(others):
        if (
            len(group) < MOST_ALIKE
            and share_work(node, other, partition.forced, known)
            and not _waits(partition, other, group)
            and not any(_waits(partition, x, [other, *group]) for x in group)
        ):
            group.append(other)
            partition.pending.remove(other)
    return [(other, partition.views[other.id]) for other in group[1:]]


def _waits(partition: Any, node: Node, others: list[Node]) -> bool:
    """Whether a node needs what other kernels make of some of the others; what it needs of them by
    itself, a kernel of all of them has."""
    here, stack, seen = {x.id for x in others}, [node], set[int]()
    while stack:
        for a in stack.pop().args:
            if a.id in here or a.id in seen or a.op == "lit":
                continue
            seen.add(a.id)
            is_there = a.id in partition.forced or partition.view_of(a) is not None
            if is_elementwise(a) and not is_there:
                stack.append(a)
            elif any(depends(a, x) for x in others):
                return True
    return False


def share_work(a: Node, b: Node, forced, known: dict) -> bool:
    """Whether kernels of their own would both compute much; `known`: of what nodes are made."""
    return len(_made_of(a, forced, known) & _made_of(b, forced, known)) >= SHARED_WORK


def _made_of(start: Node, forced, known: dict) -> set[int]:
    """The nearest elementwise nodes of its shape that its kernel would compute."""
    if start.id in known:
        return known[start.id]
    seen, waiting = set[int](), deque(start.args)
    known[start.id] = seen
    while waiting and len(seen) < MOST_LOOKED_AT:
        n = waiting.popleft()
        if n.id not in seen and n.id not in forced and n.shape == start.shape and n.args:
            if is_elementwise(n):
                seen.add(n.id)
                waiting.extend(n.args)
    return seen


def _cut_with(partition: Any, node: Node) -> list[tuple]:
    """Other values waiting that are needed behind the same cut of a chain (cut_chains.py)."""
    cut = partition.cuts[node.id]
    found = [
        other for other in _waiting(partition)
        if partition.cuts.get(other.id) == cut and other.shape == node.shape
    ]  # fmt: skip
    for other in found:
        partition.pending.remove(other)
    return [(other, partition.views[other.id]) for other in found]


def _siblings(partition: Any, node: Node) -> list[tuple]:
    """Other reductions waiting that read what this one reads."""
    found = siblings(partition, node, _waiting(partition))
    for other in found:
        partition.pending.remove(other)
    return [(other, partition.views[other.id]) for other in found]


def _twins(partition: Any, node: Node) -> list[tuple]:
    """Other concatenations waiting whose parts can be computed beside this one's: the other half of
    complex numbers, say."""
    shapes, group = [a.shape for a in node.args], [node]
    for other in _waiting(partition):
        if (
            len(group) < MOST_BESIDE
            and other.op == "concat" and other.attrs == node.attrs
            and [a.shape for a in other.args] == shapes
            and shares_source(other, [node])
            and not any(depends(other, x) or depends(x, other) for x in group)
        ):  # fmt: skip
            group.append(other)
            partition.pending.remove(other)
    return [(other, partition.views[other.id]) for other in group[1:]]


def _add_neighbours(partition: Any, roots: list[tuple]) -> None:
    """Small elementwise nodes that share a source with the one before: the factors a backward pass
    reads of a long chain, say, which kernels of their own would each compute from the chain's
    beginning."""
    kept, shape = [], roots[0][0].shape
    lately = partition.pending[-2 * MERGED_ROOTS :]
    beside = set() if partition.apart.tries else {n.id for n in lately}
    for other in reversed(lately):
        if (
            len(roots) < MERGED_ROOTS
            and may_be_merged(other)
            and not partition.apart.has(other)
            and other.shape == shape
            and shares_source(other, [roots[-1][0]])
            and not _may_wait(partition, other, [n for n, _ in roots], beside)
        ):
            roots.append((other, partition.views[other.id]))
        else:
            kept.append(other)
    partition.pending[-2 * MERGED_ROOTS :] = reversed(kept)


def _may_wait(partition: Any, node: Node, group: list[Node], beside: set[int]) -> bool:
    """Whether a kernel of a group and one more small node might wait for itself."""
    return waits(partition, [node], group, beside) or waits(partition, group, [node], beside)


def _waiting(partition: Any) -> list[Node]:
    """The latest nodes that kernels asked for, of those that may be computed with others."""
    apart = partition.apart
    return [node for node in partition.pending[-2 * MERGED_ROOTS :] if not apart.has(node)]


def may_be_merged(node: Node) -> bool:
    """Whether one kernel computes a node beside others that kernels asked for."""
    return is_elementwise(node) and 0 < node.size <= MERGED_SIZE


# ---------------------------------------------------------------------- arrays beside reductions
def beside(partition: Any, group: list[tuple]) -> list[tuple]:
    """Arrays made of what the reductions of a group read, which their kernel stores: outputs, or
    asked for by other kernels."""
    reductions = [node for node, _ in group]
    if any(node.op not in REDUCTIONS or partition.apart.has(node) for node in reductions):
        return []
    found = stored_beside(partition, reductions, _waiting(partition))
    for node in found:
        partition.large.take(node)
        if node in partition.pending:
            partition.pending.remove(node)
    return [(node, partition.views[node.id]) for node in found]


def shares_source(node: Node, others: list[Node]) -> bool:
    """Whether two nodes have a common (non-literal) node among their near ancestors."""
    mine = _near(node)
    return any(mine & _near(o) for o in others)


def _near(start: Node) -> set[int]:
    seen, waiting = set[int](), deque([start])
    while waiting and len(seen) < NEAR_NODES:
        n = waiting.popleft()
        if n.id in seen or n.op == "lit":
            continue
        seen.add(n.id)
        waiting.extend(n.args)
    return seen
