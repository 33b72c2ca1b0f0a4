"""Sums of exponentials of distances from the greatest: both in one go down columns.

In: the roots of a kernel. Out: `sums_of_distances`: the numbers of the sums of exp(x - m) below
them, and of the maxima of the same x along the same axes that m is made of. A kernel that guesses
the greatest (guess_greatest.py) reads x once: down long columns it takes less time than pieces that
find the greatest and pieces that sum (split_reductions.py), which threads share more evenly, if
there are columns enough for each (log-sum-exp down 1024 x 1024, two threads of a Zen 4: 120 us in
pieces, 62 so).
"""

from ..ir.node import Node
from .pipeline_rows import LEAST_DOWN

NEAR, DEEP = 64, 12  # nodes below roots, and below a subtracted number, that are looked at
LEAST_COLUMNS = 512  # are cut between threads (pieces.py)


def sums_of_distances(roots: list[Node]) -> frozenset[int]:
    """See the module's text."""
    found, seen, waiting = set[int](), set[int](), list(roots)
    for node in waiting:  # grows meanwhile
        if node.id in seen or len(seen) >= NEAR:
            continue
        seen.add(node.id)
        greatest = _greatest_below(node)
        if greatest is not None:
            found |= {node.id, greatest.id}
        waiting.extend(node.args)
    return frozenset(found)


def _greatest_below(node: Node) -> Node | None:
    """Of a sum of exp(x - m), m made of the greatest of the x along the same axes: that."""
    if node.op != "reduce" or node.attrs[0] != "sum" or node.dtype != "f32":
        return None
    power = node.args[0]
    if power.op != "exp" or power.args[0].op != "sub":
        return None
    element, least = power.args[0].args
    if node.attrs[1] != tuple(range(len(node.attrs[1]))):
        return None  # around what stays, or along it: no columns
    if node.size < LEAST_COLUMNS or element.size // node.size < LEAST_DOWN:
        return None
    waiting = [least]
    for at, below in enumerate(waiting):  # grows meanwhile
        is_greatest = below.op == "reduce" and below.attrs == ("max", node.attrs[1])
        if is_greatest and below.args[0] is element:
            return below
        if at < DEEP and below.op != "reduce":
            waiting.extend(below.args)
    return None
