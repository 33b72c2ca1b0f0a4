"""Where long chains of elementwise operations are cut, so that all kernels are cut at one place.

In: a graph and the numbers of the nodes that are stored anyhow. Out: nodes that are stored as well,
each with the number of its cut; those of one cut and shape are results of one kernel.

A kernel that computes too many nodes leaves off somewhere (`build_kernel.MAX_CHAIN`). If a step of
a chain reads the two before, kernels of neighbouring values would leave off at neighbouring places,
ask for more and more such values, and each be nearly the same: 2500 steps were 325 kernels of 400
nodes and more, compiled in 13 s, where 34 do.

Connected nodes are numbered in their order. A cut is made after at least `LEAST` of them, where the
fewest values are needed behind it, if these are few enough for one kernel to leave them all.
"""

from ..graph.elementwise import is_elementwise
from ..graph.graph import Graph
from ..ir.node import Node

LEAST, MOST = 200, 300  # nodes between two cuts
MOST_VALUES = 8  # of one cut


def cut_chains(graph: Graph, stored: frozenset) -> dict[int, int]:
    """See the module's text."""
    cuts: dict[int, int] = {}
    number = 0
    for chain in _connected(graph, stored):
        if len(chain) <= MOST:
            continue
        for values in _cuts(graph, chain):
            cuts.update(dict.fromkeys(values, number))
            number += 1
    return cuts


def _connected(graph: Graph, stored: frozenset) -> list[list[Node]]:
    """Elementwise nodes that are not stored, by what is connected, each part in order."""
    leader: dict[int, int] = {}

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    inside = [n for n in graph.nodes() if n.id not in stored and is_elementwise(n)]
    for node in inside:
        leader[node.id] = node.id
        for a in node.args:
            if a.id in leader:
                leader[find(a.id)] = node.id
    parts: dict[int, list[Node]] = {}
    for node in inside:
        parts.setdefault(find(node.id), []).append(node)
    return list(parts.values())


def _cuts(graph: Graph, chain: list[Node]) -> list[list[int]]:
    """The values needed behind each cut."""
    place = {node.id: i for i, node in enumerate(chain)}
    last = [
        max((place.get(user.id, -1) for user in graph.users_of(node)), default=-1)
        for node in chain
    ]
    ends = [0] * (len(chain) + 1)  # how many values are needed for the last time at a place
    for i, end in enumerate(last):
        if end > i:
            ends[end] += 1
    alive, counts = 0, []  # of each place: the values from before it, or of it, needed behind
    for i, end in enumerate(last):
        alive += (end > i) - ends[i]
        counts.append(alive)
    found, start = [], 0
    while len(chain) - start > MOST:
        window = range(start + LEAST, min(start + MOST, len(chain) - 1))
        best = min(window, key=counts.__getitem__)
        if 0 < counts[best] <= MOST_VALUES:
            found.append([chain[i].id for i in range(best + 1) if last[i] > best])
        start = best + 1
    return found
