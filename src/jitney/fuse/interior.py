"""Which conditions on loop variables are the same nearly everywhere: those of borders.

In: a scheduled kernel and its live expressions. Out: `borders`, conditions of the form
0 <= c + Σ k·v < n (one unsigned comparison; pads, shifted slices and rolled arrays make them) with
the value each has in the middle of the loops; or none, unless all of them have these values in
most of the iterations. Codegen writes a loop for the middle in which they are constants; with
`sided` what is before it and what is behind are written apart.

[Note: borders] A stencil that pads or rolls its array asks at every element whether its neighbours
exist. Where the answer is known, masked loads are plain ones and selects vanish; the row is cut in
a left border, a middle, and a right border by what the conditions say about the vector loop, and
rows in which a condition on the outer loops has the other value are all border. At each end of a
row most conditions are known, too: those of the other end. So where little is computed each end has
a text of its own (periodic 100 x 100 .92 of the time, seven of 8 x 128 x 128 .80). With
`whole_ends` that is for one whole vector, what it asks is the same for all rows and asked before
them; only as much of it is stored as the middle does not store, but for rows that may `overlap`.
"""

from typing import NamedTuple

from ..ir.types import nbytes_of
from . import affine as af
from .kernel import Counted, Expr, Kernel
from .pieces import LEAST_CUT
from .tiles import LINE_BYTES

LEAST_SHARE = 0.75  # of the iterations in the middle, below which one loop for all is better
MAX_BORDERS = 64
MOST_SIDED = 64  # operations of a row's element: more are written once for both ends


class Border(NamedTuple):
    """`holds`: the condition's value in the middle; `above`: where it does not hold there, whether
    the middle lies behind its range (or before it). `ends`: whether it may have another value
    before the middle, and behind it."""

    condition: Expr
    holds: bool
    above: bool
    ends: tuple[bool, bool]


def find_borders(kernel: Kernel, used: list[Expr]) -> None:
    """See the module's text; `whole_ends` is found when rows are known to be counted."""
    kernel.borders, kernel.sided = [], False
    if kernel.lane != "row" or kernel.stages or kernel.saved or kernel.tile is not None:
        return
    if kernel.small:
        return
    extents = {loop.variable: loop.extent for loop in kernel.rows}
    inner = kernel.rows[-1].variable
    found, middle = [], {v: [0, n] for v, n in extents.items()}
    asked = {a.id for x in used if not _is_a_step(x, inner) for a in x.args}
    for x in used:
        variable = _variable_of(x, inner)
        if variable is not None and (variable == inner or x.id in asked):
            found.append(_border(x, variable, extents[variable], middle[variable]))
    share = 1.0
    for v, n in extents.items():
        low, high = middle[v]
        share *= max(0, high - low) / n if n else 0
    if found and share >= LEAST_SHARE and len(found) <= MAX_BORDERS:
        kernel.borders = found
        kernel.sided = sum(x.cost - sum(a.cost for a in x.args) for x in used) <= MOST_SIDED


def has_whole_ends(kernel: Kernel, lanes: int) -> bool:
    """Whether what is known at each end of a row is one vector of it, in the same place of all rows
    (which are too short to be cut): the middle is all but an element at each end."""
    if not kernel.sided or kernel.counted != Counted.LONG:
        return False
    if kernel.stream and lanes * nbytes_of(kernel.buffers[kernel.stores[0].buffer][0]) < LINE_BYTES:
        return False  # the middle begins with a line, and more than a vector may be left
    row = kernel.rows[-1]
    middle = [0, row.extent]
    for b in kernel.borders:
        if row.variable in b.condition.variables:
            _border(b.condition, row.variable, row.extent, middle)
    at_the_ends = middle[0] <= 1 and middle[1] >= row.extent - 1
    return at_the_ends and 2 * lanes <= row.extent < LEAST_CUT


def has_whole_rows(kernel: Kernel, lanes: int) -> bool:
    """Whether rows with `whole_ends` are whole vectors, and begin where lines do. (Of shorter types
    nothing is shifted: float16, 256 x 256, 1.03 of the time.)"""
    if not kernel.whole_ends or kernel.rows[-1].extent % lanes:
        return False
    along = kernel.rows[-1].variable
    for store in kernel.stores:
        size = nbytes_of(kernel.buffers[store.buffer][0])
        line = LINE_BYTES // size
        start, terms = store.position
        numbers = [start, *[factor for atom, factor in terms if atom != along]]
        if size < 4 or af.coefficient_of(store.position, along) != 1:
            return False
        if any(number % line for number in numbers):
            return False
    return True


def _is_a_step(x: Expr, inner: int) -> bool:
    """Whether an expression is how far a row lies from another one (choose_rows.py)."""
    is_number = x.op == "convert" or (x.op == "select" and x.dtype == "i64")
    return is_number and inner not in x.variables


def is_condition_on_place(x: Expr) -> bool:
    """Whether an expression is 0 <= place < limit, with an index and a number."""
    if x.op != "lt" or x.args[0].op != "index" or x.args[0].dtype != "u64":
        return False
    return x.args[1].op in ("const", "param")


def _variable_of(x: Expr, inner: int) -> int | None:
    """The only loop variable of a condition on positions."""
    if not is_condition_on_place(x):
        return None
    terms = x.args[0].attrs[-1][1]
    if len(terms) != 1 or terms[0][0] < 0:
        return None
    variable, factor = terms[0]
    return variable if variable != inner or factor in (1, -1) else None


def condition_range(x: Expr, extents: dict[int, int]) -> tuple[int, int, int] | None:
    """(variable, start, stop): the part of a loop in which a condition on it alone holds."""
    variable = _variable_of(x, -1)
    if variable not in extents:
        return None
    base, ((_, factor),) = x.args[0].attrs[-1]
    limit, extent = x.args[1].attrs[0], extents[variable]
    if factor > 0:  # 0 <= base + factor*v < limit
        start, stop = -(base // factor), -((base - limit) // factor)
    else:
        start, stop = (base - limit) // -factor + 1, base // -factor + 1
    start = min(max(start, 0), extent)
    return variable, start, max(start, min(stop, extent))


def _border(x: Expr, variable: int, extent: int, middle: list[int]) -> Border:
    """The condition's value in the middle of its loop; `middle` shrinks to where it stays so."""
    base, ((_, factor),) = x.args[0].attrs[-1]
    limit, at = x.args[1].attrs[0], extent // 2
    here = base + factor * at
    holds = 0 <= here < limit
    edges = [_first_change(base, factor, limit, at, step) for step in (-1, 1)]
    low = -1 if edges[0] is None else edges[0]
    high = extent if edges[1] is None else edges[1]
    middle[:] = max(middle[0], low + 1), min(middle[1], high)
    above = not holds and (here >= limit) == (factor > 0)
    return Border(x, holds, above, (low >= 0, high < extent))


def _first_change(base: int, factor: int, limit: int, at: int, step: int) -> int | None:
    """The nearest v on one side of `at` where the condition may have another value (with a factor
    of more than one, the range may lie between two positions)."""
    if limit <= 0:
        return None
    direction = factor * step  # how the position goes
    here = base + factor * at
    if 0 <= here < limit:
        room = limit - 1 - here if direction > 0 else here
        return at + step * (room // abs(factor) + 1)
    if (here < 0) == (direction > 0):
        away = -here if here < 0 else here - (limit - 1)
        return at + step * -(-away // abs(factor))
    return None
