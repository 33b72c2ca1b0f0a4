"""Which updates of a turn one kernel makes together: rows of the arrays that a loop stacks, say.

In: a partition of a loop's body, and its outputs with the views they belong in. Out: groups of
updates of like parts at the same place, of arrays that nothing else in the turn reads; and the
outputs that are left.

The residuals that the gradient of a loop keeps of each turn are as many arrays, made of much the
same: kernels of their own compute it each from the beginning (an LSTM's: twelve, and now two).
"""

from __future__ import annotations

from typing import Any

from ..graph.elementwise import VIEWS, is_elementwise
from ..ir.node import Node
from .updates import depends_on_any

MOST_TOGETHER = 16  # updates of one kernel
MOST_ELEMENTS = 1 << 14  # of a part: larger ones are bound by memory, and many streams are slow
MOST_LOOKED_AT = 400  # nodes that a part is computed from, in its kernel
_LEAVES = frozenset("lit const iota empty".split())


def group_updates(partition: Any, roots) -> tuple[list[list], list]:
    """(groups of two and more updates, the other roots)."""
    groups: dict[tuple, list] = {}
    if not partition.is_nested:
        return [], roots
    outputs = {node.id for node, _ in roots}
    for node, view in roots:
        key = _kind_of(partition, node, view, outputs)
        if key is not None:
            latest = groups.setdefault(key, [[]])
            if len(latest[-1]) == MOST_TOGETHER:
                latest.append([])
            latest[-1].append((node, view))
    found = [group for some in groups.values() for group in some if len(group) > 1]
    taken = {node.id for group in found for node, _ in group}
    return found, [root for root in roots if root[0].id not in taken]


def _kind_of(partition: Any, node: Node, view, outputs: set[int]) -> tuple | None:
    """What updates have in common that one kernel may make; None if an update is made alone."""
    if node.op != "dynamic_update_slice" or partition.apart.has(node):
        return None
    operand, update, *starts = node.args
    users = [*partition.graph.users_of(node), *partition.graph.users_of(operand)]
    is_stack = operand.op == "input" and all(user is node for user in users)
    if not is_stack or not view.is_contiguous or not 0 < update.size <= MOST_ELEMENTS:
        return None
    reads = _read_by(partition, update)
    if reads is None:
        return None
    is_late = depends_on_any(update, outputs - {node.id})
    # what this turn has changed, and what it has not yet, one kernel reads only of a copy
    if is_late and any(x.op == "input" and x.size > 1 for x in reads):
        return None
    return is_late, node.shape, node.dtype, update.shape, tuple([s.id for s in starts])


def _read_by(partition: Any, update: Node) -> list[Node] | None:
    """The nodes in buffers that a kernel of this update reads; None if it has sums of its own, or
    is too long."""
    found, waiting, seen = [], [update], {update.id}
    while waiting:
        here = waiting.pop()
        if here.op in _LEAVES:
            continue
        if partition.view_of(here) is not None or here.id in partition.forced:
            found.append(here)
        elif is_elementwise(here) or here.op in VIEWS or here.op == "broadcast":
            fresh = [a for a in here.args if a.id not in seen]
            seen.update([a.id for a in fresh])
            waiting += fresh
        elif here.op in ("dot", "conv", "part"):
            found.append(here)
        else:
            return None
        if len(seen) > MOST_LOOKED_AT:
            return None
    return found
