"""Items of a partition that wait for each other, and what must not be computed together for that.

In: items, each with the buffers it reads and writes, and what was kept apart so far. Out: what to
keep apart in the next partition. A kernel for several results (rule 6 of the partition) may need
one of a second kernel that needs one of the first.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ..ir.node import Node
from .buffers import Item

MOST_TRIES = 4


class Apart(NamedTuple):
    """Nodes that are not computed together with others, else items would wait for each other; none
    are, when that has been tried so often in vain."""

    nodes: frozenset[int] = frozenset()
    tries: int = 0

    def has(self, node: Node) -> bool:
        return node.id in self.nodes or self.tries == MOST_TRIES


def keep_apart(items: list[Item], apart: Apart) -> Apart:
    """The same if there is an order of the items; or what must be kept apart for one."""
    circle = in_circles(items)
    if not circle:
        return apart
    merged = apart.nodes.union(*[item.merged for item in circle])
    return Apart(merged, apart.tries + 1 if merged > apart.nodes else MOST_TRIES)


def in_circles(items: list[Item]) -> list[Item]:
    """Items that wait for themselves through others: strongly connected components of more than one
    item (Kosaraju's and Sharir's algorithm, 1981)."""
    writer = {b: i for i, item in enumerate(items) for b in item.writes}
    needs: list[set[int]] = [
        {writer[b] for b in item.reads if b in writer} - {i} for i, item in enumerate(items)
    ]
    users: list[list[int]] = [[] for _ in items]
    for user, needed in enumerate(needs):
        for i in needed:
            users[i].append(user)
    seen, order = set[int](), list[int]()
    for i in range(len(items)):
        order += _reached(i, needs, seen)
    seen, found = set(), list[int]()
    for i in reversed(order):
        component = _reached(i, users, seen)
        found += component if len(component) > 1 else []
    return [items[i] for i in sorted(found)]


def _reached(start: int, edges: list, seen: set[int]) -> list[int]:
    """What can be reached and was not seen, each behind all that is reached from it."""
    if start in seen:
        return []
    seen.add(start)
    order: list[int] = []
    stack: list[tuple[int, Iterable[int]]] = [(start, iter(edges[start]))]
    while stack:
        node, rest = stack[-1]
        following = next((a for a in rest if a not in seen), None)
        if following is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(edges[following])))
    return order
