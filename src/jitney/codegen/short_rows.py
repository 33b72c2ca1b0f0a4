"""Rows of a few vectors: what a row costs beside its vectors is kept small.

In: a kernel emitter whose kernel has `short` (`fuse/schedule.py`): lane 'row', no stages, rows of
less than 64 elements that are never cut. Out: the loops of [lo, hi). The last but one row loop is a
loop of its own, in which the places where the arrays' rows begin are counted on by additions, and
the mask of a row's last vector is made once for all rows.

A loop over pieces spends some 40 instructions and two comparisons of vectors on each row: heads of
32 numbers merged take 61 us so, 16 x 8 x 128 of them (a Zen 5, one thread), and 43 like this.
"""

from functools import partial

from ..fuse.kernel import Short
from . import memory
from .accesses import operand
from .instructions import Value
from .row_counters import RowCounters


def emit_rows(k) -> None:
    """See the module's text; `k` is the KernelEmitter."""
    e, rows = k.e, k.kernel.rows
    inner, extent = rows[-2].variable, operand(k.slotted.extents[rows[-2].variable])
    length = operand(k.slotted.extents[rows[-1].variable])
    tail = _tail_of(k, length)
    rounded = e.instruction(f"add i64 %hi, {e.instruction(f'sub i64 {extent}, 1')}")
    first, last = (e.instruction(f"udiv i64 {n}, {extent}") for n in ("%lo", rounded))
    counters = RowCounters(k, rows[:-2], False)
    homes = k.homes.get("outer", [])
    e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    e.declare("declare i64 @llvm.smax.i64(i64, i64)")

    def group(number, digits):
        counters.bind(number, digits)
        following = counters.following(digits)
        _emit(k, [x for x in homes if inner not in x.variables])
        start = e.instruction(f"mul i64 {number}, {extent}")
        left, right = (e.instruction(f"sub i64 {n}, {start}") for n in ("%lo", "%hi"))
        low = e.instruction(f"call i64 @llvm.smax.i64(i64 {left}, i64 0)")
        high = e.instruction(f"call i64 @llvm.smin.i64(i64 {right}, i64 {extent})")
        _rows(k, low, high, length, tail, [x for x in homes if inner in x.variables])
        return following

    k.loop(first, last, "1", counters.first(first), group, "group")


def _emit(k, expressions) -> None:
    for x in expressions:
        k.values[x.id] = k._expression(x)


def _rows(k, low: str, high: str, length: str, tail, own) -> None:
    """The rows [low, high) of the last but one loop; `own`: expressions that change with them."""
    inner, along = (loop.variable for loop in k.kernel.rows[-2:])
    k.scalars[inner] = low
    places, starts, steps = _beginnings(k, inner, along)

    def row(index, begun):
        k.scalars[inner] = index
        k.begun_rows = {place: (b.names[0], 0) for place, b in zip(places, begun, strict=True)}
        _emit(k, own)
        _vectors(k, along, length, tail)
        return [_moved(k, b, step) for b, step in zip(begun, steps, strict=True)]

    k.loop(low, high, "1", starts, row, "row")
    k.begun_rows = {}


def _beginnings(k, inner: int, along: int):
    """(keys of `begun_rows`, where those rows begin, by how many bytes they move a turn)."""
    loads = [x.attrs for home in ("outer", ("row", 0)) for x in k.homes.get(home, ())
             if x.op == "load"]  # fmt: skip
    places, starts, steps = {}, [], []
    for number, position in [*loads, *[(s.buffer, s.position) for s in k.kernel.stores]]:
        terms = dict(k.slotted.affines[position][1])
        if terms.get(along) != "1" or min(terms) < 0 or (number, position, None) in places:
            continue
        type_ = memory.memory_type(k.kernel.buffers[number][0])
        base, _ = k.position_without(position, along)
        start = memory.pointer_at(k.e, f"%b{number}", type_, base)
        places[number, position, None] = None
        starts.append(Value((start,), "ptr", 1))
        step = operand(terms.get(inner, "0"))
        steps.append(k.e.instruction(f"mul i64 {step}, {memory.nbytes(type_)}"))
    return list(places), starts, steps


def _moved(k, begun: Value, step: str) -> Value:
    name = k.e.instruction(f"getelementptr i8, ptr {begun.names[0]}, i64 {step}")
    return Value((name,), "ptr", 1)


def _tail_of(k, length: str):
    """(elements before a row's last vector if that is not whole, how many it has, their mask)."""
    e, short = k.e, k.kernel.short
    if short == Short.WHOLE:
        return None
    rest = length
    if short == Short.BOTH:
        rest = e.instruction(f"and i64 {length}, {k.lanes - 1}")
    before = e.instruction(f"sub i64 {length}, {rest}") if short == Short.BOTH else "0"
    return before, rest, memory.first_lanes(e, rest, k.lanes)


def _vectors(k, along: int, length: str, tail) -> None:
    """The vectors of a row."""
    whole, last = partial(_vector, k, along), partial(_vector, k, along, tail)
    if k.kernel.short == Short.ONE:
        last("0")
    else:
        stop = length if tail is None else tail[0]
        k.loop("0", stop, str(k.lanes), [], lambda at, _: whole(None, at), "full")
    if k.kernel.short == Short.BOTH:
        k.loop(tail[0], length, str(k.lanes), [], lambda at, _: last(at), "last")
    k.vector_variable, k.mask = None, None


def _vector(k, along: int, tail, at: str) -> list:
    """The elements from `at` on; `tail`: how many, if that is no whole vector."""
    k.bind_vector(along, at, None)
    if tail is not None:
        _, k.left, k.mask = tail
    k._row()
    return []
