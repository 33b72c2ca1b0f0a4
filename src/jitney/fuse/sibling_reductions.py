"""Reductions of equal shape that share a source are computed by one kernel, which reads it once.

In: a reduction of the graph (or the pieces of one) and others that wait to be computed. Out: those
that join it. Least and greatest of an array, a sum and the sum of squares, the gradients of a scale
and of a shift are such pairs. None may need another one's result, unless the graph says that they
belong to the same rows (`Graph.together`): there the kernel has a stage for each.
"""

from collections.abc import Iterable
from typing import Any

from ..ir.node import Node
from .updates import depends

REDUCTIONS = ("reduce", "argreduce", "partial")
MOST_SIBLINGS = 4  # accumulators of more would not stay in registers
NEAR = 24  # nodes below a reduction among which a common source is looked for


def siblings(partition: Any, node: Node, others: Iterable[Node]) -> list[Node]:
    """Those of `others` that the kernel of the reduction `node` computes beside it."""
    group = [node]
    if node.op not in REDUCTIONS:
        return []
    for other in others:
        if (
            len(group) < MOST_SIBLINGS
            and all(_are_siblings(partition, other, x) for x in group)
        ):
            group.append(other)
    return group[1:]


def _are_siblings(partition: Any, a: Node, b: Node) -> bool:
    if {a.id, b.id} <= partition.graph.together.get(a.id, frozenset()):
        return a is not b
    return (
        _loops(a) == _loops(b)
        and _share_an_array(a, b)
        and not (_needs(partition, a, b) or _needs(partition, b, a))
    )


def _needs(partition: Any, a: Node, b: Node) -> bool:
    """Whether a, or what it has pieces of, is computed from b, or from what b has pieces of."""
    return depends(a, b) or depends(a, partition.origins.get(b.id, b))


def _loops(node: Node) -> tuple:
    """What the loops of a reduction's kernel are made of."""
    if node.op not in REDUCTIONS:
        return ()
    axes = node.attrs[1] if isinstance(node.attrs[1], tuple) else (node.attrs[1],)
    return node.shape, node.args[0].shape, axes, node.attrs[2:]


def _share_an_array(a: Node, b: Node) -> bool:
    """Whether both read, near above them, an array as large as what they reduce."""
    return bool(_arrays_near(a) & _arrays_near(b))


def _arrays_near(node: Node) -> set[int]:
    size, seen, waiting = node.args[0].size, set[int](), list(node.args)
    found = set[int]()
    for x in waiting:  # grows meanwhile
        if x.id in seen or len(seen) >= NEAR:
            continue
        seen.add(x.id)
        if x.size >= size and x.op not in ("broadcast", "iota"):
            found.add(x.id)
        waiting.extend(x.args)
    return found
