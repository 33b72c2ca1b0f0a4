"""Whole numbers that follow from literals and `arange` alone, such as the places `(i + 1) % n`.

In: a node. Out: its values, by the interpreter of graphs, or None if something in it is known only
when the program runs, is not made of whole numbers, or is more work than it can save.
"""

import numpy as np

from ..ir.node import Node
from ..ir.types import kind_of
from .interpret import evaluate

MOST_ELEMENTS = 1 << 16  # of any node on the way
MOST_NODES = 64
_OTHERS = frozenset("""empty input const gather dynamic_slice dynamic_update_slice reduce argreduce
    dot cumulative conv call part""".split())


def known_values(node: Node) -> np.ndarray | None:
    """The values of an integer node, or None: see the module's text."""
    order = _program_of(node)
    if order is None:
        return None
    values: dict[int, np.ndarray] = {}
    for n in order:
        values[n.id] = evaluate(n, [values[a.id] for a in n.args])
    return values[node.id]


def _program_of(node: Node) -> list[Node] | None:
    """What must be evaluated for a node, operands first."""
    found: dict[int, Node] = {}
    pending = [node]
    while pending:
        n = pending.pop()
        if n.id in found:
            continue
        is_whole = kind_of(n.dtype) in "iub"
        if not is_whole or n.size > MOST_ELEMENTS or n.op in _OTHERS or len(found) >= MOST_NODES:
            return None
        found[n.id] = n
        pending += n.args
    return [found[number] for number in sorted(found)]
