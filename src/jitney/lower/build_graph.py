"""Jaxpr -> Graph.

In: a ClosedJaxpr. Out: the Graph and the table its nodes are interned in. Read next: inline.
"""

from ..core.jaxpr import ClosedJaxpr
from ..graph.graph import Graph, GraphBuilder
from . import families  # noqa: F401  (registers every rule)
from .inline import inline
from .rules import Context


def build_graph(closed: ClosedJaxpr, name: str) -> tuple[Graph, object]:
    """The graph of a program."""
    builder = GraphBuilder()
    ctx = Context(builder)
    arguments = [ctx.input(v.aval) for v in closed.jaxpr.invars]
    outputs = inline(ctx, closed, arguments)
    stored = [ctx.physical(x, a) for x, a in zip(outputs, closed.out_avals, strict=True)]
    graph = builder.finish(stored, name, ctx.effects)
    return graph, builder.table
