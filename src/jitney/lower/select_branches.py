"""Branches of a few cheap operations: all are computed, and the results of one selected.

In: the graphs of the branches, and later the values of each. Out: whether that is worth it, and the
values of the branch that an index says. A step that branches takes some 50 ns, as many operations
on single numbers; and a loop whose body branches is no kernel (fuse/register_loop.py).
Invariant: the results are the chosen branch's, whatever the others would give: nothing that is
computed here has effects or can fail.
"""

from ..graph.elementwise import VIEWS, is_elementwise
from .rules import Pair

MOST_ELEMENTS = 16  # of each array that a branch makes
MOST_OPERATIONS = 64  # of all branches, on single elements
COSTLY = 16  # operations that a function or a quotient takes, about
_CHEAP = frozenset(
    "add sub mul neg abs min max eq ne lt le gt ge and or xor not select convert copy sign floor "
    "ceil sqrt shift_left shift_right_logical shift_right_arithmetic".split()
)
_PLACES = VIEWS | {"input", "lit", "broadcast", "iota"}


def are_cheap(graphs) -> bool:
    """Whether all of the branches together are a few operations on a few elements."""
    operations = 0
    for graph in graphs:
        if graph.effects or any(node.size > MOST_ELEMENTS for node in graph.outputs):
            return False
        for node in graph.nodes():
            if node.op == "input":
                continue
            if node.size > MOST_ELEMENTS or not (node.op in _PLACES or is_elementwise(node)):
                return False
            if node.op not in _PLACES:
                operations += node.size * (1 if node.op in _CHEAP else COSTLY)
    return operations <= MOST_OPERATIONS


def select_values(ctx, index, branches):
    """For each result, that of the branch the index says; the first or last one, if it is none."""
    return [_selected(ctx.g, index, values) for values in zip(*branches, strict=True)]


def _selected(g, index, values):
    if isinstance(values[0], Pair):
        return Pair(*[_selected(g, index, parts) for parts in zip(*values, strict=True)])
    chosen = values[0]
    for number, value in enumerate(values[1:], 1):
        is_from_here = g.compare("ge", index, g.lit(number, index.dtype))
        condition = g.broadcast(is_from_here, value.shape, ())
        chosen = g.select(condition, value, chosen)
    return chosen
