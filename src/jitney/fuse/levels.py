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
MOST_TOGETHER = 4  # times as many, where several nodes are asked about
_LEAVES = frozenset("input const lit empty iota".split())


def level_of(partition: Any, node: Node) -> int:
    """The level of a node; those found are kept in `partition.levels`."""
    levels, stack = partition.levels, [node]
    if node.id in levels:
        return levels[node.id]
    while stack:
        x = stack[-1]
        waiting = [a for a in x.args if a.id not in levels]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        levels[x.id] = max([levels[a.id] + is_step(partition, a) for a in x.args], default=0)
    return levels[node.id]


def is_step(partition: Any, node: Node) -> bool:
    """Whether a kernel that reads this node waits for the one that computes it; kept in
    `partition.steps`."""
    found = partition.steps.get(node.id)
    if found is None:
        found = partition.steps[node.id] = _is_step(partition, node)
    return found


def _is_step(partition: Any, node: Node) -> bool:
    if node.op in _LEAVES:
        return False
    is_inline = node.op in VIEWS or node.op == "broadcast" or is_elementwise(node)
    return not is_inline or node.size > SMALL or node.id in partition.forced


def waits(partition: Any, nodes: list[Node], others: list[Node], beside: set[int]) -> bool:
    """Whether one of the nodes needs what other kernels make of some of the others, but for those
    `beside` them, which may still be computed together. Where the others are far away it is taken
    for granted of other levels, once kernels have waited for each other. All nodes are gone through
    together: they share most of what they are made of (60 kernels of small nodes that all depend on
    one another: 15 of 18 s went into asking for each node apart)."""
    oldest, levels, steps = min(x.id for x in others), partition.levels, partition.steps
    nodes = [x for x in nodes if x.id > oldest]
    if not nodes:
        return False
    newest = max(x.id for x in nodes)
    here = {x.id: level_of(partition, x) for x in others if x.id < newest}
    first, level = min(here), min(here.values())
    stack, seen = [(node, False) for node in nodes], (set[int](), set[int]())
    left = MOST_LOOKED_AT * min(len(nodes), MOST_TOGETHER)
    kernels = set[int]()  # those that were met, by their first nodes
    while stack:
        x, elsewhere = stack.pop()
        met = seen[elsewhere]
        for a in x.args:
            at = a.id
            if at < first or at in met:
                continue
            if (levels[at] if at in levels else level_of(partition, a)) < level:
                continue
            if at in here:
                if elsewhere:
                    return True
                continue
            met.add(at)
            left -= 1
            here_too = not (steps[at] if at in steps else is_step(partition, a))
            if here_too and (at in beside or partition.view_of(a) is None):
                stack.append((a, elsewhere))
                continue
            together = partition.computed_with.get(at, (a,))
            if together[0].id not in kernels:
                kernels.add(together[0].id)
                stack.extend([(n, True) for n in together])
        if left <= 0:
            tries = partition.apart.tries
            return tries > 0 and any(level_of(partition, x) != level for x in nodes)
    return False
