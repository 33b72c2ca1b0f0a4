"""Loops over stencils of three axes go through blocks of rows that stay in the first cache.

In: a scheduled kernel that may be blocked (`may_block`) and its live expressions. Out: where what
is read of neighbouring planes is too much for the first cache, the same kernel with the loop over a
plane's rows in two: the one over blocks outside that over planes, the one over a block's rows
inside it. Else nothing changes.
Keeps: the meaning, and what a row is.

[Note: blocks] Seven points of 128 x 128 x 128 read three planes of 64 KiB and write as much: when a
plane is read as the last one's neighbour, it comes from the second cache, at two cycles a line,
and again when it is the next one's. In blocks of 16 rows the six pieces of 8 KiB stay in the first
(48 KiB of a Zen 5): in C, by one thread, 279 us become 167, where a copy takes 133; of 256 columns
in blocks of 8 274 become 179, of 512 in blocks of 4 266 become 181. Rows of other lengths than
powers of two gain less (100 x 100 x 100: 139 to 128). Kernels gain a third of that, as each row's
borders are asked for, too (the second: 319 to 285 us). (Rivera and Tseng 2000.) Where the third
cache is far, longer runs are worth more: the machine reads ahead in them (an Emerald Rapids, by
turns: 128 x 128 x 128 without blocks .87 of the time by one thread, .93 by two; of 200 and 256 as
before).

[Note: planes] Threads take the first and the last half of what loops go through. Were that halves
of each plane, they would write side by side, and what a machine reads ahead of one's runs would be
taken from the other; so blocks are gone through within parts of the array. (A Zen 5 whose two cores
share no third cache, by turns: 128 x 128 x 128 .86 and 1.02, 100 x 100 x 100 .81 and .84, 160 x 160
x 160 .85 and .88; where they share one .93 to 1.04.)
"""

from collections.abc import Callable

from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from . import affine as af
from .interior import condition_range
from .kernel import Expr, Kernel, Loop

LEAST_ROWS = 4  # of a block, whose neighbours at both ends are read twice
LEAST_PLANES, MOST_PLANES = 10, 64  # of a part, whose neighbours at both ends are read twice


def block_rows(kernel: Kernel, used: list[Expr], target: CpuTarget) -> None:
    """See the module's text."""
    rows = kernel.rows
    if len(rows) < 3:
        return
    plane, row = rows[-3], rows[-2]
    count = bytes_met(kernel, used, row, lambda steps: steps.get(plane.variable, 0))
    if count * row.extent <= target.l1_bytes:
        return
    length = longest_part(row.extent, target.l1_bytes // count, LEAST_ROWS)
    if length:
        block, row = split_row(kernel, used, row, length)
        planes = cut_planes(kernel, used, plane) if len(rows) == 3 else [plane]  # else: of others
        kernel.rows = [*rows[:-3], *planes[:-1], block, planes[-1], row, rows[-1]]


def may_block(kernel: Kernel, target: CpuTarget) -> bool:
    """Whether a kernel goes through rows that may come in any order, and runs need not be long."""
    plain = kernel.lane == "row" and not (kernel.stages or kernel.saved or kernel.turned)
    return plain and kernel.tile is None and not kernel.small and not target.has_far_third_cache


def longest_part(extent: int, most: int, least: int, step: int = 1) -> int:
    """The longest of equal parts of so many, a multiple of `step`; 0 if there is none."""
    lengths = range(most // step * step, least - 1, -step)
    return next((n for n in lengths if extent % n == 0), 0)


def cut_planes(kernel: Kernel, used: list[Expr], plane: Loop) -> list[Loop]:
    """Loops over planes: over parts of them outside, if they can be cut, so that threads have
    planes of their own and write far from one another."""
    length = longest_part(plane.extent, min(MOST_PLANES, plane.extent // 2), LEAST_PLANES)
    return list(split_row(kernel, used, plane, length)) if length else [plane]


def bytes_met(
    kernel: Kernel, used: list[Expr], row: Loop, plane: Callable[[dict[int, int]], int]
) -> int:
    """Bytes of a row, in all planes, that are met between the first time that an element is read
    and the last; 0 if each is in one plane only. `plane`: how far apart planes lie in a buffer
    that loops go through by these steps."""
    by_id, extents = {x.id: x for x in used}, {lo.variable: lo.extent for lo in kernel.rows}
    reached: dict[tuple, list[int]] = {}
    for x in used:
        start = _start_in_middle(x.attrs[1], by_id, extents) if x.op == "load" else None
        if start is not None:
            known = tuple([t for t in x.attrs[1][1] if t[0] >= 0])
            reached.setdefault((x.attrs[0], known), []).append(start)
    total, planes = 0, 1
    for (buffer, terms), starts in reached.items():
        size, steps = nbytes_of(kernel.buffers[buffer][0]), dict(terms)
        if not steps.get(row.variable):
            continue
        apart = abs(plane(steps))
        met = 1 + (max(starts) - min(starts)) // apart if apart else 1
        planes = max(planes, met)
        total += met * abs(steps[row.variable]) * size
    for store in kernel.stores:
        size = nbytes_of(kernel.buffers[store.buffer][0])
        total += planes * abs(af.coefficient_of(store.position, row.variable)) * size
    return total if planes > 1 else 0


def _start_in_middle(position, by_id: dict[int, Expr], extents: dict[int, int]) -> int | None:
    """What an index has beside its loops' terms, in the middle of these: rows of rolled arrays are
    read at a place that a condition chooses (choose_rows.py). None if a value is not known."""
    start, terms = position
    for atom, factor in terms:
        if atom >= 0:
            continue
        x = by_id.get(-1 - atom)
        found = condition_range(x.args[0], extents) if x is not None and x.op == "convert" else None
        if found is None:
            return None
        variable, first, end = found
        start += factor * (first <= extents[variable] // 2 < end)
    return start


def split_row(kernel: Kernel, used: list[Expr], row: Loop, length: int) -> tuple[Loop, Loop]:
    """The loop over parts of so many rows, and that over the rows of one (of the same variable)."""
    part = 1 + max(*(lo.variable for lo in kernel.rows), *(a for x in used for a in x.variables))
    place = af.add(af.variable(row.variable), af.scale(af.variable(part), length))
    for x in used:
        if row.variable in x.variables:
            x.variables = x.variables | {part}
            if x.op in ("load", "index"):
                x.attrs = (*x.attrs[:-1], af.substitute(x.attrs[-1], row.variable, place))
    for store in kernel.stores:
        store.position = af.substitute(store.position, row.variable, place)
    return Loop(part, row.extent // length), Loop(row.variable, length)
