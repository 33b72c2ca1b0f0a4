"""Whether a kernel should have the elements of short last axes instead of loops over them.

In: a step whose lanes run along a long axis in steps of the short ones after it (coordinates of
points that are rolled, joined, multiplied crosswise; small matrices), and its roots. Out: how many
last axes should be written out, with every element at each turn. Each element's loop would go
through all memory again, and write every third number of a line; side by side they are woven to
whole vectors (strided.py) or transposed (row_squares.py).
"""

import math

from ..ir.node import Node
from .affine import coefficient_of
from .kernel import SHORT_AXIS, SHORT_ROW, Counted, Kernel

MOST_EXPRESSIONS = 300  # of all elements: more would only make the kernel longer
MOST_INSTEAD, SHORT_CODE = 32, 100  # elements and expressions instead of tiles
MOST_REPEATED = 1000  # before what they have in common is found


def has_short_axis(builder) -> bool:
    """Whether a kernel may have one of these: the last axis of its loops is short."""
    return len(builder.shape) > 1 and builder.shape[-1] <= SHORT_AXIS


def short_last_axes(step, builder, roots: list[tuple[Node, object]]) -> int:
    """See the module's text; 0 for most kernels."""
    kernel, shape = step.slotted.kernel, builder.shape
    if kernel.counted == Counted.ONE and kernel.small == 1:
        is_plain = len(roots) == 1 and not any(map(_is_conditional, step.used))
        return _axes_of_rows(shape) if is_plain else 0
    if kernel.lane != "row" or kernel.stages or kernel.small:
        return 0
    lane = kernel.rows[-1]
    strides = {coefficient_of(store.position, lane.variable) for store in kernel.stores}
    for count in range(1, len(shape)):
        elements = math.prod(shape[-count:])
        if max(shape[-count:]) > SHORT_AXIS or elements > SHORT_ROW:
            return 0
        if elements > 1 and strides in ({elements}, {elements * len(roots)}):  # or side by side
            return count if len(step.used) * elements <= MOST_REPEATED else 0
    return 0


def _is_conditional(x) -> bool:
    """Whether places decide what is computed: then elements are hardly alike."""
    return x.op == "index" or (x.op == "load" and bool(x.args))


def _axes_of_rows(shape) -> int:
    """How many last axes may be a row of neighbours, if each of their rows is a vector by itself
    now, mostly empty (products of all pairs of 5 numbers, 20000 times: 54 to 26 us)."""
    count = 0
    while count < len(shape) - 1 and shape[-count - 1] <= SHORT_AXIS:
        if math.prod(shape[-count - 1 :]) > SHORT_ROW:
            break
        count += 1
    return count if math.prod(shape[len(shape) - count :]) > shape[-1] else 0


def has_short_columns(step, builder) -> bool:
    """Whether the stages of a kernel go along an axis in steps of a short last one, each of whose
    elements is a row: all that a vector of memory holds should be used when it is read."""
    variables = builder.row_variables
    if step.slotted.kernel.lane != "stage" or len(variables) < 2 or not builder.stage_list:
        return False
    last = variables[-1]
    number = builder.extents[last]
    if builder.position_of[last] != len(builder.shape) - 1 or not number <= SHORT_AXIS:
        return False
    inner = [stage.loops[-1].variable for stage in builder.stage_list if stage.loops]
    steps = [
        (coefficient_of(x.attrs[1], last), max(coefficient_of(x.attrs[1], v) for v in inner))
        for x in step.used
        if x.op == "load" and any(v in x.variables for v in inner)
    ]  # what else the stages read would be combined with every element anew
    is_side_by_side = bool(steps) and all(found == (1, number) for found in steps)
    return is_side_by_side and len(step.used) * number <= MOST_REPEATED


def is_short_enough(step, before) -> bool:
    """Whether a kernel that has been written out should be: what was transposed by tiles still is
    (the axes of 4 x 500 x 500 in reverse order: 4.1 ms, written out .8), and nothing is gathered
    under masks (every third row of two arrays of 64 x 4, one behind the other: 80 us, 11 so)."""
    kernel = step.slotted.kernel
    if kernel.blocks or before.slotted.kernel.counted == Counted.ONE:
        return kernel.blocks > 0
    is_tiled = kernel.tile is not None or not _is_better_tiled(step, before.slotted.kernel)
    lane = kernel.rows[-1].variable if kernel.rows else -1
    if any(x.op == "load" and x.args and abs(coefficient_of(x.attrs[1], lane)) > SHORT_AXIS
           for x in step.used):  # gathered, each under its mask
        return False
    is_long = len(kernel.stores) > SHORT_ROW * len({store.buffer for store in kernel.stores})
    return len(step.used) <= MOST_EXPRESSIONS and is_tiled and not is_long


def _is_better_tiled(step, before: Kernel) -> bool:
    """Whether a kernel transposed by tiles before, unless these are of a few rows each, and little
    is written out instead (blocks of 8 x 8 of a picture: .95 of the time, 2.3 to compile)."""
    if before.tile is None:
        return False
    extents = {loop.variable: loop.extent for loop in before.rows}
    is_short = extents[before.tile.variable] <= SHORT_AXIS
    is_little = len(step.slotted.kernel.stores) <= MOST_INSTEAD and len(step.used) <= SHORT_CODE
    return not (is_short and is_little)
