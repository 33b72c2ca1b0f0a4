"""Where the rows begin is counted on from row to row.

In: a kernel emitter whose kernel has `counted` (`fuse/reach_memory.py`): lane 'row', no stages.
Out: the loops of [lo, hi). The last but one row loop is a loop of its own, in which the places
where the arrays' rows begin are counted on by additions. Of rows that are short and never cut, the
mask of the last vector is made once for all rows, or that vector is a whole one that begins in the
one before (`overlaps`); others are done as without this.

A loop over pieces spends some 40 instructions and two comparisons of vectors on each row, one of a
stencil over a hundred. Heads of 32 numbers merged, 16 x 8 x 128 of them, take 63 us so and 38 like
this (a Zen 5, one thread).
"""

from functools import partial

from ..fuse.kernel import Counted
from . import interior, joined_rows, memory
from .accesses import operand
from .begun_rows import Rows, emit_values
from .row_counters import RowCounters


def emit_rows(k) -> None:
    """See the module's text; `k` is the KernelEmitter."""
    e, rows = k.e, k.kernel.rows
    inner, extent = rows[-2].variable, operand(k.slotted.extents[rows[-2].variable])
    tail = _tail_of(k)
    rounded = e.instruction(f"add i64 %hi, {e.instruction(f'sub i64 {extent}, 1')}")
    first, last = (e.instruction(f"udiv i64 {n}, {extent}") for n in ("%lo", rounded))
    counters = RowCounters(k, rows[:-2], True)
    homes = k.homes.get("outer", [])
    e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    e.declare("declare i64 @llvm.smax.i64(i64, i64)")

    def group(number, digits):
        chunk = counters.bind(number, digits)
        ends = k.chunk_ends(chunk, e.instruction(f"add i64 {chunk}, 1"))
        following = counters.following(digits)
        emit_values(k, [x for x in homes if inner not in x.variables])
        start = e.instruction(f"mul i64 {number}, {extent}")
        left, right = (e.instruction(f"sub i64 {n}, {start}") for n in ("%lo", "%hi"))
        low = e.instruction(f"call i64 @llvm.smax.i64(i64 {left}, i64 0)")
        high = e.instruction(f"call i64 @llvm.smin.i64(i64 {right}, i64 {extent})")
        own = [x for x in homes if inner in x.variables]
        along = k.kernel.rows[-1].variable
        if k.kernel.borders:
            k.middle_ends = {ends: interior.ends_of_middle(k, along, *ends)}
        if k.kernel.whole_ends:
            k.asked_at_ends = interior.ask_at_ends(k, along, *ends)
        rows = Rows(k, low, own)
        if joined_rows.are_worth_it(k):
            joined_rows.emit_rows(rows, low, high, ends)
        else:
            rows.loop(low, high, rows.starts, lambda: _vectors(k, ends, tail))
        k.begun_rows = {}
        return following

    k.loop(first, last, "1", counters.first(first), group, "group")


def _tail_of(k):
    """(elements before a row's last vector if that is not whole, how many it has, their mask)."""
    e, kind = k.e, k.kernel.counted
    if kind not in (Counted.ONE, Counted.BOTH):
        return None
    rest = length = operand(k.slotted.extents[k.kernel.rows[-1].variable])
    if kind == Counted.BOTH:
        rest = e.instruction(f"and i64 {length}, {k.lanes - 1}")
    before = e.instruction(f"sub i64 {length}, {rest}") if kind == Counted.BOTH else "0"
    if k.kernel.overlaps:
        return before, rest, None
    return before, rest, memory.first_lanes(e, rest, k.lanes)


def _vectors(k, ends: tuple[str, str], tail) -> None:
    """The vectors of a row, or of the part of it between `ends`."""
    kind, (low, high), along = k.kernel.counted, ends, k.kernel.rows[-1].variable
    whole, last = partial(_vector, k, along, None), partial(_vector, k, along, tail)
    if kind == Counted.LONG:
        k.emit_part(along, low, high)
        return
    if kind == Counted.ONE:
        last("0")
    else:
        stop = high if tail is None else tail[0]
        k.loop("0", stop, str(k.lanes), [], lambda at, _: whole(at), "full")
    if kind == Counted.BOTH and k.kernel.overlaps:
        whole(k.e.instruction(f"sub i64 {high}, {k.lanes}"))
    elif kind == Counted.BOTH:
        k.loop(tail[0], high, str(k.lanes), [], lambda at, _: last(at), "last")
    k.vector_variable, k.mask = None, None


def _vector(k, along: int, tail, at: str) -> list:
    """The elements from `at` on; `tail`: how many, if that is no whole vector."""
    k.bind_vector(along, at, None)
    if tail is not None:
        _, k.left, k.mask = tail
    k._row()
    return []
