"""Short rows of memory whose elements are turned in registers, so that lanes are rows.

In: a kernel whose stages go along rows of a few dozen elements, and its live expressions. Out: what
those loads and stores are, or None where lanes of rows are of no use. A vector along a row of 16 is
folded by four rounds of shuffles, and one along a row of 50 is a quarter empty at its end; turned,
a row takes part in every instruction of sixteen rows, for four shuffles a vector read or written
(codegen/turned_rows.py); with AVX2 in those of eight, for three. Longer rows fill the vectors along
them well enough.
"""

import math
from typing import NamedTuple

from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from . import affine as af
from .kernel import SHORT_AXIS, Expr, Kernel, Store

MOST_ELEMENTS = 96  # of a row
FULL_ROW, LONG_ROW = 32, 64  # vectors along rows of so many have few empty lanes, or are enough
LEAST_ROWS = 64
COSTLY = 10  # an exponential, say: then what a vector's fold takes is more than turning
MOST_ARRAYS = 4


class Turned(NamedTuple):
    """Loads and stores by what they move: of one key are all at the same places of their rows."""

    loads: dict[tuple, list[Expr]]
    stores: dict[tuple, list[Store]]


def turned_rows(kernel: Kernel, used: list[Expr], target: CpuTarget) -> Turned | None:
    """See the module's text; lanes would run along the last row loop."""
    if not kernel.rows or not _has_short_rows(kernel):
        return None
    if not all(target.moves_vectors(nbytes_of(code)) for code, _ in kernel.buffers):
        return None
    row = kernel.rows[-1].variable
    along = {stage.loops[0].variable for stage in kernel.stages}
    found = Turned({}, {})
    for x in used:
        if x.op == "load" and not _add(found.loads, x, x.attrs, row, along, not x.args):
            return None
    for store in [store for stage in kernel.stages for store in stage.stores]:
        place = (store.buffer, store.position)
        if not _add(found.stores, store, place, row, along, store.mask is None):
            return None
    is_some = 1 <= len(found.loads) + len(found.stores) <= MOST_ARRAYS
    return found if is_some and _pays(kernel, used, found) else None


def _pays(kernel: Kernel, used: list[Expr], found: Turned) -> bool:
    """Measured on 655360 float32, one thread, us, lanes along rows and lanes of rows: rows of 16,
    greatest 182 and 65, its place 540 and 80, softmax 640 and 280; of 32, rows over their norm 155
    and 170; of 64, greatest 50 and 69, variance 66 and 83, softmax 260 and 400, log-sum-exp 250 and
    176."""
    length = kernel.stages[0].loops[0].extent
    if length < LONG_ROW:
        return length < FULL_ROW or bool(kernel.saved) or not found.stores
    is_counted = any(r.index is not None for s in kernel.stages for r in s.reductions)
    is_costly = any(x.cost - sum(a.cost for a in x.args) >= COSTLY for x in used)
    return not found.stores and (is_counted or is_costly and len(kernel.stages) > 1)


def bytes_turned(kernel: Kernel, used: list[Expr], target: CpuTarget) -> int:
    """Of a row: what its scratch arrays hold."""
    found = turned_rows(kernel, used, target) if kernel.turned else None
    if found is None:
        return 0
    buffers = [key[0] for key in (*found.loads, *found.stores)]
    sizes = [nbytes_of(kernel.buffers[number][0]) for number in buffers]
    return sum(sizes) * kernel.stages[0].loops[0].extent


def _has_short_rows(kernel: Kernel) -> bool:
    """Whether all stages are one loop of the same few elements, for many rows."""
    extents = {math.prod(lo.extent for lo in stage.loops) for stage in kernel.stages}
    plain = all(
        len(stage.loops) == 1 and stage.loops[0].chunk_row is None
        and not stage.carried and stage.test is None
        for stage in kernel.stages
    )  # fmt: skip
    in_place = any(mode == "inout" for _, mode in kernel.buffers)
    return (
        plain and not in_place and len(extents) == 1
        and SHORT_AXIS < min(extents) <= MOST_ELEMENTS
        and kernel.rows[-1].extent >= LEAST_ROWS
    )  # fmt: skip


def _add(found: dict, item, place: tuple, row: int, along: set[int], is_plain: bool) -> bool:
    """Notes what is to be turned; whether lanes of rows do for the place."""
    number, (start, terms) = place
    inner = [atom for atom, _ in terms if atom in along]
    step = dict(terms).get(row, 0)
    if not inner or abs(step) <= 1:
        return all(atom >= 0 for atom, _ in terms)
    if dict(terms)[inner[0]] != 1 or not is_plain or any(atom < 0 for atom, _ in terms):
        return False
    rest = tuple(t for t in terms if t[0] not in along)
    found.setdefault((number, start, rest), []).append(item)
    return True


def stage_variable(kernel: Kernel, position: af.Affine) -> int:
    """The stage's loop along which a place goes."""
    along = {stage.loops[0].variable for stage in kernel.stages}
    return next(atom for atom, _ in position[1] if atom in along)
