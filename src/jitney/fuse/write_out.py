"""Whether a kernel should have the elements of a short last axis instead of a loop over them.

In: a step whose lanes run along a long axis in steps of a short one (coordinates of points that are
rolled, joined, multiplied crosswise), and its roots. Out: whether it should be written again with
every element of the short axis at each turn. Each element's loop would go through all memory again,
and write every third number of a line; side by side they are woven to whole vectors (strided.py).
"""

from ..ir.node import Node
from .affine import coefficient_of
from .kernel import SHORT_STRIDE

MOST_EXPRESSIONS = 160  # of all elements: more would only make the kernel longer


def has_short_last_axis(step, roots: list[tuple[Node, object]]) -> bool:
    """See the module's text."""
    kernel, shape = step.slotted.kernel, roots[0][0].shape
    if kernel.lane != "row" or kernel.stages or kernel.small or kernel.tile is not None:
        return False
    if len(kernel.rows) < 2 or not 1 < shape[-1] <= SHORT_STRIDE:
        return False
    if len(step.used) * shape[-1] > MOST_EXPRESSIONS:
        return False
    lane = kernel.rows[-1]
    strides = {coefficient_of(store.position, lane.variable) for store in kernel.stores}
    others = {lo.extent for lo in kernel.rows[:-1]}
    return strides == {shape[-1]} and shape[-1] in others
