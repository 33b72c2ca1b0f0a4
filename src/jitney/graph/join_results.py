"""Large results that are made of something joined are joined of what is made of its parts.

In: a graph and its node table. Out: the graph in which results that views and elementwise
operations make of a concatenation are concatenations. Each part is then written by a kernel of its
own, where one for all of them would ask at each element which part it is of, and compute all of
them (Zen 5, two threads: two arrays of 500 x 1000, one behind the other, transposed, 260 to 48 us;
`diff` along the last axis of 64 x 4 x 128 x 5, joined and computed with, 90 to 9; every third
column of 1000 x 24 x 100, joined, 215 to 75).
So are operands of products and of routines, which are arrays in memory, too (rotated queries).
What else needs what is joined, or made of it, would make it again: such results stay as they are,
as do borders, which kernels treat apart.
Keeps: every bit.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.node import Node, NodeTable
from .elementwise import is_elementwise
from .graph import Graph, GraphBuilder, with_operands
from .joined import JOINED, LARGE, Joined, joined_along

LEAST_SHARE = 8  # times a part's extent is that of all
READS_ARRAYS = frozenset(("dot", "call", "cumulative"))


def join_results(graph: Graph, table: NodeTable) -> Graph:
    """See the module's text."""
    if not table.facts_about(JOINED):
        return graph
    stored = {node.id: node for node in _stored(graph)}
    found = {n.id for n in stored.values() if (j := _joined(table, n)) and _is_only_user(graph, j)}
    if not found:
        return graph
    builder = GraphBuilder()
    builder.table = table
    new: dict[int, Node] = {}
    for node in graph.nodes():
        same = with_operands(table, node, tuple([new[a.id] for a in node.args]))
        joined = _joined(table, same) if node.id in found else None
        new[node.id] = same if joined is None else _parts_joined(builder, joined)
    return graph.with_nodes(new)


def _stored(graph: Graph) -> Iterator[Node]:
    """Results, and what is computed for nodes that read arrays."""
    yield from graph.outputs
    for node in graph.nodes():
        if node.op in READS_ARRAYS:
            for source in node.args:
                while source.op in ("transpose", "reshape") and len(graph.users_of(source)) == 1:
                    source = source.args[0]
                if is_elementwise(source):
                    yield source


def _joined(table: NodeTable, node: Node) -> Joined | None:
    """What something large is made of, if it is joined of long parts."""
    if node.size < LARGE or node.op in ("concat", "pad"):
        return None
    tried = (joined_along(table, node, axis) for axis in range(len(node.shape)))
    return next((j for j in tried if j and LEAST_SHARE * min(j.extents) >= sum(j.extents)), None)


def _parts_joined(g: GraphBuilder, joined: Joined) -> Node:
    return g.concat(joined.parts(g), joined.axis)


def _is_only_user(graph: Graph, joined: Joined) -> bool:
    """Whether all that is made of what is joined goes into one array."""
    own = {node.id for node in joined.nodes}
    return all(
        user.id in own and user is not node
        for node in joined.nodes
        if node is not joined.x
        for user in graph.users_of(node)
    )
