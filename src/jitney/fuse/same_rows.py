"""What needs a reduction at its own rows only, so that one kernel computes both, stage by stage.

In: a partition; a reduction along the last axes, and another one over the same loops, or an array
as large as what it reduces. Out: whether the second needs the first, and all ways from it down to
that lead through operations at the same places, through sums over the same loops, and through
numbers of rows that are spread over these: the sum of exponentials of distances from a row's
greatest, and its gradient; a variance, which needs the mean. Kernels of their own would each go
through the rows again.
"""

from __future__ import annotations

from typing import Any

from ..graph.elementwise import is_elementwise
from ..ir.node import Node
from .reshape_broadcast import is_reshaped
from .updates import found_to_depend

MOST_NODES = 64  # on the way


def needs_at_rows(partition: Any, node: Node, reduction: Node, group: list[Node]) -> bool:
    """See the module's text. What lives in a buffer on the way is computed by another kernel, and
    this one would wait for it; but for the `group` that this kernel computes. So it would for what
    the reduction has pieces of."""
    whole = partition.origins.get(reduction.id)
    if whole is not None and found_to_depend(partition.table, node, whole):
        return False
    ours, rows = {x.id for x in group}, Rows(reduction)
    seen, waiting, found = {node.id}, [node], False
    for x in waiting:  # grows meanwhile
        if x is reduction:
            found = True
            continue
        if not found_to_depend(partition.table, x, reduction):
            continue
        is_other = x is not node and x.id not in ours and _is_stored(partition, x)
        if is_other or len(seen) > MOST_NODES or not rows.keeps(x):
            return False
        waiting += [a for a in x.args if a.id not in seen]
        seen.update(a.id for a in x.args)
    return found


def _is_stored(partition: Any, x: Node) -> bool:
    if is_reshaped(x):  # which is looked at as what it is made of
        return False
    return x.id in partition.forced or partition.view_of(x) is not None


class Rows:
    """The loops of a reduction: what is at the same rows as its results, and what at the same
    places as what it reduces."""

    def __init__(self, reduction: Node):
        self.shape, self.axes = reduction.args[0].shape, reduction.attrs[1]
        self.kept = [a for a, n in enumerate(self.shape) if a not in self.axes and n != 1]
        self.extents = [self.shape[a] for a in self.kept]

    def keeps(self, x: Node) -> bool:
        """Whether an operation has its results where its operands are."""
        if x.op == "reduce":
            return x.args[0].shape == self.shape and x.attrs[1] == self.axes
        is_whole = x.shape == self.shape
        if not is_whole and not self._are_rows(x):
            return False
        if is_elementwise(x) or is_reshaped(x) and self._are_rows(x.args[0]):
            return True
        if x.op != "broadcast" or not is_whole:
            return False
        operand, dims = x.args[0], x.attrs[0]
        return [d for d, n in zip(dims, operand.shape, strict=True) if n != 1] == self.kept

    def _are_rows(self, x: Node) -> bool:
        return [n for n in x.shape if n != 1] == self.extents
