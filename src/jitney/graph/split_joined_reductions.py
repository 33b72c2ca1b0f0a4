"""Reductions along the axis of a concatenation, or across it, are reductions of its parts.

In: a graph and its node table. Out: the graph in which reductions are split whose operand, or an
operand's operand through elementwise operations, is a concatenation along one of the axes, or
padded: the windows of a filter as a stack of shifted images (`jnp.stack([...]).max(0)`, and its
variance, or a product with weights), a vector of a few numbers put together, an image with a
border. The elements of a stack are combined one after the other, so that no stack is stored, nor is
asked at each element which part it is of; longer parts are reduced each. Parts of equal extent are
combined first, but for products, whose factors stay in order. Across what is joined along another
axis, the results are joined: else each element is asked which part it is of, in vectors of rows
one by one (of 1000 x 100 x 9, rolled along the second axis, sums of rows 530 to 80 us, greatest of
rows of two such arrays, one behind the other, 1030 to 90).
What else needs something joined, or made of it, would then make it again: only what reductions
alone need is split, and stacks of what is stored.
(Nine shifted images of 1022 x 1022, a Zen 5, two threads and one, beside the stack that was stored:
greatest .09 and .08 of the time, standard deviation .13 and .10; a sum of two arrays put together
.26 and .29, of an image with its edge repeated .06 and .07.)
Keeps: every bit of extremes and logical operations; sums are added in another order.
"""

from __future__ import annotations

from ..ir.node import Node, NodeTable
from .graph import Graph, GraphBuilder, with_operands
from .joined import JOINED, LARGE, Joined, is_place, joined_along

MOST_TIMES = 3  # axes along which one array is joined: a border of an image has two
COMBINE = {"sum": "add", "prod": "mul", "max": "max", "min": "min", "and": "and", "or": "or"}
COMBINE |= {"xor": "xor"}


def split_joined_reductions(graph: Graph, table: NodeTable) -> Graph:
    """See the module's text."""
    for _ in range(MOST_TIMES if table.facts_about(JOINED) else 0):
        nodes = graph.nodes()
        found = _without_other_users(graph, {n.id: j for n in nodes if (j := _joined(table, n))})
        if not found:
            break
        graph = _split(graph, table, nodes, found)
    return graph


def _split(graph: Graph, table: NodeTable, nodes: list[Node], found: dict[int, Joined]) -> Graph:
    builder = GraphBuilder()
    builder.table = table
    new: dict[int, Node] = {}
    for node in nodes:
        args = tuple([new[a.id] for a in node.args])
        joined = found.get(node.id) and _joined(table, with_operands(table, node, args))
        new[node.id] = (
            _reduced(builder, node, joined) if joined else with_operands(table, node, args)
        )
    return graph.with_nodes(new)


def _joined(table: NodeTable, node: Node) -> Joined | None:
    """What a reduction reads, if it is joined along one of its axes, or across them."""
    axes = _axes(node)
    if not axes:
        return None
    is_short_sum = node.dtype in ("f16", "bf16") and node.attrs[0] in ("sum", "prod")
    if node.op != "reduce" or node.attrs[0] not in COMBINE or is_short_sum:
        return _joined_across(table, node, axes)  # sums of short floats are rounded once
    tried = (joined_along(table, node.args[0], axis) for axis in axes)
    found = next((joined for joined in tried if joined is not None), None)
    return found or _joined_across(table, node, axes)


def _axes(node: Node) -> tuple[int, ...]:
    """Those that are reduced; none of other nodes."""
    if node.op == "argreduce":
        return (node.attrs[1],)
    return node.attrs[1] if node.op == "reduce" else ()


def _joined_across(table: NodeTable, node: Node, axes: tuple[int, ...]) -> Joined | None:
    """What a large reduction reads, if it is joined along another axis: of rows, or alike."""
    if node.args[0].size < LARGE:
        return None
    others = (axis for axis in range(len(node.args[0].shape)) if axis not in axes)
    tried = (joined_along(table, node.args[0], axis) for axis in others)
    return next((j for j in tried if j and (_are_rows(j, axes) or _are_alike(j))), None)


def _are_rows(joined: Joined, axes: tuple[int, ...]) -> bool:
    return len(joined.x.shape) - 1 in axes


def _are_alike(joined: Joined) -> bool:
    return len(set(joined.extents)) == 1


def _without_other_users(graph: Graph, found: dict[int, Joined]) -> dict[int, Joined]:
    """Those reductions whose operands nothing but these reductions needs, or that are stacks of
    what is stored."""
    cheap = {number: joined for number, joined in found.items() if _is_cheap(joined)}
    kept = {number: joined for number, joined in found.items() if number not in cheap}
    while True:
        inside = {node.id for joined in kept.values() for node in joined.nodes}
        own = inside | kept.keys() | cheap.keys()
        left = {
            number: joined
            for number, joined in kept.items()
            if all(u.id in own and u is not n for n in joined.nodes for u in graph.users_of(n))
        }
        if len(left) == len(kept):
            return cheap | kept
        kept = left


def _is_cheap(joined: Joined) -> bool:
    """Whether parts are elements of stacks that are stored, or places in what is."""
    made_of = [n.args if n.op == "concat" else n.args[:1] for n in joined.joined]
    return joined.is_stack and all(is_place(part) for parts in made_of for part in parts)


def _reduced(g: GraphBuilder, node: Node, joined: Joined) -> Node:
    axes, parts = _axes(node), joined.parts(g)
    if joined.axis not in axes:
        axis = joined.axis - sum(a < joined.axis for a in axes)
        return g.concat([_again(g, node, part) for part in parts], axis)
    kind, is_alike = node.attrs[0], _are_alike(joined)
    if is_alike and (kind != "prod" or joined.is_stack):
        return _again(g, node, _combined(g, kind, parts))
    return _combined(g, kind, [_again(g, node, part) for part in parts])


def _again(g: GraphBuilder, node: Node, x: Node) -> Node:
    """The same reduction of something else."""
    if node.op == "argreduce":
        return g.argreduce(node.attrs[0], x, node.attrs[1], node.dtype)
    return g.reduce(node.attrs[0], x, node.attrs[1])


def _combined(g: GraphBuilder, kind: str, parts: list[Node]) -> Node:
    total = parts[0]
    for part in parts[1:]:
        total = g.ew(COMBINE[kind], total, part)
    return total
