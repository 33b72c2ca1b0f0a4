"""Which conditions on loop variables are the same nearly everywhere: those of borders.

In: a scheduled kernel and its live expressions. Out: `borders`, conditions of the form
0 <= c + Σ k·v < n (one unsigned comparison; pads, shifted slices and rolled arrays make them) with
the value each has in the middle of the loops; or none, unless all of them have these values in
most of the iterations. Codegen writes a loop for the middle in which they are constants; with
`singles` the few elements before and behind it are computed one by one.

[Note: borders] A stencil that pads or rolls its array asks at every element whether its neighbours
exist. Where the answer is known, masked loads are plain ones and selects vanish; the row is cut in
a left border, a middle, and a right border by what the conditions say about the vector loop, and
rows in which a condition on the outer loops has the other value are all border.
"""

from typing import NamedTuple

from .kernel import Expr, Kernel

LEAST_SHARE = 0.75  # of the iterations in the middle, below which one loop for all is better
MAX_BORDERS = 64
# Elements at the ends of a row that are computed one by one, at half of the instructions of a
# vector under masks, and operations of which this holds.
MOST_SINGLE, MOST_SINGLE_COST, HEAVY = 2, 64, 10


class Border(NamedTuple):
    """`holds`: the condition's value in the middle; `above`: where it does not hold there, whether
    the middle lies behind its range (or before it)."""

    condition: Expr
    holds: bool
    above: bool


def find_borders(kernel: Kernel, used: list[Expr]) -> None:
    """See the module's text."""
    kernel.borders, kernel.singles = [], False
    if kernel.lane != "row" or kernel.stages or kernel.saved or kernel.tile is not None:
        return
    if kernel.small:
        return
    extents = {loop.variable: loop.extent for loop in kernel.rows}
    inner = kernel.rows[-1].variable
    found, middle = [], {v: [0, n] for v, n in extents.items()}
    asked = {a.id for x in used if x.op != "convert" for a in x.args}
    for x in used:
        variable = _variable_of(x, inner)
        if variable is not None and (variable == inner or x.id in asked):
            found.append(_border(x, variable, extents[variable], middle[variable]))
    share = 1.0
    for v, n in extents.items():
        low, high = middle[v]
        share *= max(0, high - low) / n if n else 0
    if found and share >= LEAST_SHARE and len(found) <= MAX_BORDERS:
        low, high = middle[inner]
        is_near = 0 < low + extents[inner] - high and max(low, extents[inner] - high) <= MOST_SINGLE
        kernel.borders, kernel.singles = found, is_near and _is_light(used)


def _is_light(used: list[Expr]) -> bool:
    """Whether an element's operations are few and each is short."""
    costs = [x.cost - sum(a.cost for a in x.args) for x in used]
    return sum(costs) <= MOST_SINGLE_COST and max(costs) < HEAVY


def _variable_of(x: Expr, inner: int) -> int | None:
    """The only loop variable of a condition on positions."""
    if x.op != "lt" or x.args[0].op != "index" or x.args[0].dtype != "u64":
        return None
    if x.args[1].op not in ("const", "param"):
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
    for end, step in ((0, -1), (1, 1)):
        edge = _first_change(base, factor, limit, at, step)
        if edge is not None:
            inside = edge + 1 if step < 0 else edge
            middle[end] = max(middle[0], inside) if step < 0 else min(middle[1], inside)
    return Border(x, holds, not holds and (here >= limit) == (factor > 0))


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
