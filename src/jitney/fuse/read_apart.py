"""Which values are stored because a kernel would compute them again at neighbouring places.

In: a graph. Out: the numbers of its nodes that are read at several places of theirs (moved, cut or
padded copies that are computed with one another: stencils) and cost more to compute than to read.
A stencil of a stencil of a stencil, in one kernel, computes the first at 25 places for each
element. Four steps of a reaction with diffusion on 512 x 512 took 1280 us so, and take 280.

Operands first, so that the cost of a node counts what is stored below it as read, and what is not
as computed at each place.

[Note: code] Of small arrays it is the code that counts, not how often it runs: two halves are two
places, though each element is computed once. Keys split six times over, each time from both words
of the one before, were 182 kernels of some thousand expressions, and are 7.
"""

from ..graph.elementwise import VIEWS, is_elementwise
from ..graph.graph import Graph
from ..ir.node import Node
from .expressions import COST

MOST_AGAIN = 32  # vector instructions an element that reading a stored value is dearer than
LEAST_WORK = 1 << 16  # of all elements that is worth a kernel more
MOST_BELOW = 200  # nodes below one that are looked at
SMALL, MOST_TWICE = 4096, 64  # elements of an array, and its operations that may be written again
_PARTS = frozenset("pad concat framed".split())  # of whose elements a node has only some
_NUMBERS = frozenset("lit iota empty".split())


def read_apart(graph: Graph) -> set[int]:
    """See the module's text."""
    nodes = graph.nodes()
    found = _computed_again(graph, nodes)
    return found | _written_again(graph, nodes, found)


def _written_again(graph: Graph, nodes: list[Node], stored: set[int]) -> set[int]:
    """See [Note: code]."""
    places = _times_read(graph, nodes, lambda user, node: 1.0)
    costs: dict[int, float] = {}
    found = set(stored)
    for node in nodes:
        if places[node.id] > 1 and node.size <= SMALL and is_elementwise(node):
            cost = costs[node.id] = _cost(node, places, costs, found)
            if (places[node.id] - 1) * cost > MOST_TWICE:
                found.add(node.id)
    return found


def _computed_again(graph: Graph, nodes: list[Node]) -> set[int]:
    """What would be computed again for many elements."""
    times = _times_read(graph, nodes, lambda user, node: user.size / node.size)
    costs: dict[int, float] = {}  # of nodes that are read at several places
    found: set[int] = set()
    for node in nodes:
        if times[node.id] <= 1 or not is_elementwise(node):
            continue
        cost = costs[node.id] = _cost(node, times, costs, found)
        again = (times[node.id] - 1) * cost
        if again > MOST_AGAIN and again * node.size > LEAST_WORK:
            found.add(node.id)
    return found


def _times_read(graph: Graph, nodes: list[Node], share) -> dict[int, float]:
    """How often elementwise operations read each element of a node, themselves or through views, if
    all of them are computed in one kernel: once by those that read it where it is. `share(user,
    node)`: how much of the node a view of it is."""
    times: dict[int, float] = {}
    for node in reversed(nodes):
        users = {user.id: user for user in graph.users_of(node)}
        users.pop(node.id, None)  # a result
        count = 1.0 if any(map(is_elementwise, users.values())) else 0.0
        for user in users.values():
            if user.op in VIEWS and node.size:
                count += times[user.id] * (1 if user.op in _PARTS else share(user, node))
        times[node.id] = count
    return times


def _cost(node: Node, times, costs, stored) -> float:
    """Instructions for one element, with those of what is computed again for it."""
    cost, waiting, seen = 0.0, [node], {node.id}
    while waiting and len(seen) < MOST_BELOW:
        here = waiting.pop()
        if here is not node and here.id in costs:
            cost += times[here.id] * (1 if here.id in stored else costs[here.id])
        elif is_elementwise(here) or here.op in VIEWS or here.op == "broadcast":
            cost += COST.get(here.op, 1) if is_elementwise(here) else 0
            fresh = [a for a in here.args if a.id not in seen]
            seen.update([a.id for a in fresh])
            waiting.extend(fresh)
        elif here.op not in _NUMBERS:
            cost += max(1.0, times[here.id])
    return cost
