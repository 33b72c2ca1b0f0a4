"""Loads and stores with a step of 9 to 16 along the vector loop: rows, transposed in registers.

In: a load, or stores side by side, whose index has a step `S` that is a number known when the
kernel is written (small matrices, one in each lane). Out: its `Value`; what is stored. Each lane's
S elements lie in a row; the rows of all lanes are read and transposed at once (four rounds of
shuffles for 16 of them), and stay for the other loads of the same rows: all 16 elements of a 4 x 4
matrix take 64 shuffles, where picking each from whole vectors would take 240. What nobody asks for
is not computed (LLVM drops it). Nothing is touched beyond a row's end or behind the last row.
"""

from . import memory, strided
from .instructions import Value
from .load_transposed import load_transposed
from .transpose_registers import Vectors, transpose_registers

PICKED = 8  # up to this step strided.py picks from whole vectors


def is_row(place, lanes: int) -> bool:
    """Whether a strided place is one of these (see `Accesses._is_strided`)."""
    return PICKED < int(place.step) and lanes <= 16


def load(k, x, place) -> Value:
    """The element(s) at place.skip + step*lane, of rows that may have been read before."""
    number, position = x.attrs
    code = k.kernel.buffers[number][0]
    constant, terms = k.slotted.affines[position]
    # a constant that is no column of the row says where other rows begin
    start = place.skip // k.lanes * k.lanes
    key = number, terms, memory.column_of(constant)[0], start
    if key not in k.short_rows_read:  # each when it is asked for: no row of 64 fits in registers
        count = k._last_column(number, position) + 1 - start  # behind may be the end of the array
        k.short_rows_read[key] = _columns(k, code, f"%b{number}", place, start, min(count, k.lanes))
    names = tuple(columns[place.skip - start] for columns in k.short_rows_read[key])
    return memory.from_memory(k.e, code, Value(names, memory.memory_type(code), k.lanes))


def _columns(k, code, buffer, place, start: int, count: int) -> list[list[str]]:
    """For each copy: so many columns of its rows, vectors, from the first one on."""
    e, lanes = k.e, k.lanes
    shape = _shape(code, lanes)
    mask, found = _mask(count, lanes), []
    for u in range(e.copies):
        rows = _pointers(k, buffer, shape.type_, place, u)
        there = [memory.pointer_at(e, p, shape.type_, start) for p in rows]
        found.append(load_transposed(e, there, shape, mask))
    return found


def store_columns(k, stores) -> None:
    """Stores to elements that follow one another, in rows of any length (`Kernel.beside`)."""
    code, place = k.kernel.buffers[stores[0].buffer][0], k._place(stores[0].position)
    values = {c: k.values[store.expr.id] for c, store in enumerate(stores)}
    store(k, code, f"%b{stores[0].buffer}", place, values)


def store(k, code, buffer, place, values: dict[int, Value]) -> None:
    """Writes values[c] at c + step*lane; elements between that are not given stay."""
    e, lanes, width = k.e, k.lanes, max(values) + 1
    values = {c: strided._in_memory(e, code, v, lanes) for c, v in values.items()}
    shape = _shape(code, lanes)
    vector, bits = f"<{lanes} x {shape.type_}>", f"<{lanes} x i1>"
    suffix = memory._suffix(vector)
    e.declare(f"declare void @llvm.masked.store.{suffix}.p0({vector}, ptr, i32 immarg, {bits})")
    for u in range(e.copies):
        rows = _pointers(k, buffer, shape.type_, place, u)
        for start in range(0, width, lanes):
            given = [c in values for c in range(start, start + lanes)]
            columns = [
                values[start + c].names[u if len(values[start + c].names) > 1 else 0]
                if given[c] else "poison" for c in range(lanes)
            ]  # fmt: skip
            mask = "<" + ", ".join(f"i1 {str(g).lower()}" for g in given) + ">"
            # behind the last row stands that row again: it is written last
            written = zip(transpose_registers(e, columns, shape), rows, strict=True)
            for name, p in reversed(list(written)):
                address = memory.pointer_at(e, p, shape.type_, start)
                e.emit_raw(
                    f"  call void @llvm.masked.store.{suffix}.p0({vector} {name}, ptr {address}, "
                    f"i32 {memory._align(shape.type_)}, {bits} {mask})"
                )


def _shape(code, lanes) -> Vectors:
    type_ = memory.memory_type(code)
    return Vectors(type_, lanes, 1, memory.nbytes(type_))


def _mask(count: int, lanes: int) -> str | None:
    """The first `count` lanes; None for all."""
    if count == lanes:
        return None
    return "<" + ", ".join(f"i1 {'true' if c < count else 'false'}" for c in range(lanes)) + ">"


def _pointers(k, buffer, type_, place, u) -> list[str]:
    """Where the rows of copy u begin; behind the last row, that one again."""
    e, lanes, width = k.e, k.lanes, place.step
    first = memory.pointer_at(e, buffer, type_, place.base)
    if u:
        first = memory.pointer_at(e, first, type_, e.instruction(f"mul i64 {width}, {u * lanes}"))
    if k.mask is None and width.isdigit():
        return [memory.pointer_at(e, first, type_, i * int(width)) for i in range(lanes)]
    if k.mask is None:
        numbers = [e.instruction(f"mul i64 {width}, {i}") for i in range(lanes)]
        return [memory.pointer_at(e, first, type_, n) for n in numbers]
    e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    last = e.instruction(f"sub i64 {k.left}, 1")
    found = []
    for i in range(lanes):
        row = e.instruction(f"call i64 @llvm.smin.i64(i64 {last}, i64 {i})")
        at = memory.pointer_at(e, first, type_, e.instruction(f"mul i64 {row}, {width}"))
        found.append(memory.opaque(e, at))
    return found
