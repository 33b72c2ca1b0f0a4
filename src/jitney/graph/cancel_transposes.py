"""Two transposes with work between them that goes the other way round as well are left out.

In: a graph and its node table. Out: the graph in which nodes made element by element of transposed
arrays (by slices, pads and concatenations, too), and read only transposed back, are made of the
arrays as they are.
Keeps: every bit. Where an array between would be wanted in both orders, the graph stays as it is.

Who filters the rows of an image, and then its columns by the same function of the transpose, has
such pairs. What is stored between is written along one axis and read along the other, lane by lane:
four levels of a wavelet transform written so (hpc/spectral.py) took 2.9 ms, and take .19.
"""

from ..ir.node import Node, NodeTable
from .elementwise import is_elementwise
from .graph import Graph, GraphBuilder, with_operands

MOST = 300  # nodes between two transposes
_MOVED = {"slice", "pad", "reverse", "concat"}
_FREE = {"broadcast", "iota"}  # have their elements in any order for nothing


def cancel_transposes(graph: Graph, table: NodeTable) -> Graph:
    """See the module's text."""
    if not any(node.op == "transpose" for node in table.nodes):
        return graph
    nodes = graph.nodes()
    orders: dict[int, tuple[int, ...]] = {}  # of what is computed the other way round
    for node in nodes:
        if node.op == "transpose" and node.args[0].id not in orders:
            between = _between(graph, node.args[0], node.attrs[0], orders)
            orders |= dict.fromkeys(between, node.attrs[0])
    if not orders:
        return graph
    builder = GraphBuilder()
    builder.table = table
    new: dict[int, Node] = {}
    for node in nodes:
        if node.id in orders:
            new[node.id] = _turned(builder, node, orders[node.id], orders, new)
        elif node.op == "transpose" and node.args[0].id in orders:
            new[node.id] = new[node.args[0].id]
        else:
            new[node.id] = with_operands(table, node, tuple([new[a.id] for a in node.args]))
    return graph.with_nodes(new)


def _between(graph: Graph, last: Node, order, orders) -> set[int]:
    """The nodes from transposes to the one by `order` that undoes them, the `last` of which it
    reads; none if there is anything else below or beside, or if one of the transposes undoes others
    and is gone (`orders`)."""
    if any(u.op != "transpose" or u.attrs[0] != order for u in graph.users_of(last)):
        return set()
    found, waiting, met = {last.id}, [last], False
    for node in waiting:  # grows meanwhile
        if not (is_elementwise(node) or node.op in _MOVED) or len(waiting) > MOST:
            return set()
        for a in node.args[:1] if node.op == "pad" else node.args:
            if a.op == "transpose":
                if not _undoes(order, a.attrs[0]) or a.args[0].id in orders:
                    return set()
                met = True
            elif a.op not in _FREE and a.id not in found:
                found.add(a.id)
                waiting.append(a)
    alone = all(u.id in found and u is not n for n in waiting[1:] for u in graph.users_of(n))
    return found if met and alone else set()


def _undoes(order, first) -> bool:
    return all(first[p] == axis for axis, p in enumerate(order))


def _turned(g: GraphBuilder, node: Node, order, orders, new) -> Node:
    """What the transpose of a node by `order` would be, made of arrays that are not transposed.
    `new`: by number, the nodes made so far, those in `orders` turned already."""

    def operand(a: Node) -> Node:
        if a.id in orders:
            return new[a.id]
        if a.op == "transpose":
            return new[a.args[0].id]
        if a.op == "iota":
            return g.iota([a.shape[p] for p in order], order.index(a.attrs[0]), a.dtype)
        return g.transpose(new[a.id], order)

    picked = lambda numbers: tuple([numbers[p] for p in order])
    args, attrs = [*map(operand, node.args[:1] if node.op == "pad" else node.args)], node.attrs
    if node.op == "slice":
        attrs = tuple(map(picked, node.attrs))
    elif node.op == "pad":
        args, attrs = [*args, new[node.args[1].id]], (picked(node.attrs[0]),)
    elif node.op == "reverse":
        attrs = (tuple([i for i, p in enumerate(order) if p in node.attrs[0]]),)
    elif node.op == "concat":
        attrs = (order.index(node.attrs[0]),)
    return g.table.intern(node.op, tuple(args), picked(node.shape), node.dtype, attrs)
