"""How many kernels at least a small node waits for, one after the other.

In: a node of a partition. Out: the largest number of nodes that live in buffers of their own on a
way from an input to it: results of anything but elementwise operations and views, large arrays,
and what is stored anyhow. Of two nodes of one level neither waits for the other but for what small
nodes of this level others compute, which are few: so it is soon known whether one kernel may
compute both. (That of sixty scalars at random would wait for itself.)
"""

from typing import Any

from ..graph.elementwise import VIEWS, is_elementwise
from ..ir.node import Node

SMALL = 64  # elements up to which a node is computed where it is used, unless it is stored anyhow
MOST_LOOKED_AT = 100  # nodes between two that may wait for each other
_LEAVES = frozenset("input const lit empty iota".split())


def level_of(partition: Any, node: Node) -> int:
    """The level of a node; those found are kept in `partition.levels`."""
    levels, stack = partition.levels, [node]
    while stack:
        x = stack[-1]
        waiting = [a for a in x.args if a.id not in levels]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        levels[x.id] = max([levels[a.id] + _is_step(partition, a) for a in x.args], default=0)
    return levels[node.id]


def _is_step(partition: Any, node: Node) -> bool:
    """Whether a kernel that reads this node waits for the one that computes it."""
    if node.op in _LEAVES:
        return False
    is_inline = node.op in VIEWS or node.op == "broadcast" or is_elementwise(node)
    return not is_inline or node.size > SMALL or node.id in partition.forced


def waits(partition: Any, node: Node, others: list[Node], beside: set[int]) -> bool:
    """Whether a node needs what other kernels make of some of the others, but for those `beside`
    them, which may still be computed together. Where the others are far away it is taken for
    granted of other levels, once kernels have waited for each other."""
    here = {x.id: level_of(partition, x) for x in others if x.id < node.id}
    if not here:
        return False
    first, level = min(here), min(here.values())
    stack, seen = [(node, False)], set[tuple[int, bool]]()
    while stack:
        x, elsewhere = stack.pop()
        for a in x.args:
            if a.id < first or (a.id, elsewhere) in seen or level_of(partition, a) < level:
                continue
            if a.id in here:
                if elsewhere:
                    return True
                continue
            seen.add((a.id, elsewhere))
            here_too = a.id in beside or partition.view_of(a) is None
            if here_too and not _is_step(partition, a):
                stack.append((a, elsewhere))
            else:
                stack.extend([(n, True) for n in partition.computed_with.get(a.id, (a,))])
        if len(seen) >= MOST_LOOKED_AT:
            return partition.apart.tries > 0 and level_of(partition, node) != level
    return False
