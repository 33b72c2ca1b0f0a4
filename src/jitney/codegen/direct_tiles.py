"""Tiles that need no scratch array: squares are transposed in registers and stored from there.

In: an emitter of a kernel whose `tile` is `direct` (fuse/tiles.py, with figures), a strip of tiles
and where one begins along v. Out: its squares, along u one after the other: as many rows of the
source as vectors have lanes are read and transposed, then the body runs for each u, with a vector
along v. The last square along either axis begins earlier and does again what the one before has
done, so that none is partly empty.
"""

from ..fuse.tiles import loads_across
from . import memory
from .elementwise import llvm_type
from .instructions import Value
from .load_transposed import load_transposed
from .transpose_registers import Vectors


def emit_squares(k, u_low: str, u_end: str, v_first: str) -> None:
    """The squares [u_low, u_end) x [v_first, v_first + lanes)."""
    e, (u, v) = k.e, [loop.variable for loop in k.kernel.rows[-2:]]
    v_at = _not_beyond(k, v_first, k.kernel.rows[-1])
    loads = loads_across(k.used, *k.kernel.rows[-2:])
    type_ = memory.memory_type(k.kernel.buffers[loads[0].attrs[0]][0])
    shape = Vectors(type_, k.lanes, 1, memory.nbytes(type_))
    rows = _rows(k, loads[0], shape, (u, u_low), (v, v_at))

    def square(u_at, _):
        first = _not_beyond(k, u_at, k.kernel.rows[-2])
        shift = e.instruction(f"sub i64 {first}, {u_low}")
        columns = load_transposed(e, [memory.pointer_at(e, at, type_, shift) for at in rows], shape)
        for number, name in enumerate(columns):
            before = dict(k.values)
            k.scalars[u] = e.instruction(f"add i64 {first}, {number}") if number else first
            k.bind_vector(v, v_at, None)
            column = Value((name,), llvm_type(loads[0].dtype), k.lanes)
            k.columns = {x.id: column for x in loads}
            k._row()
            k.values, k.columns = before, {}
        return []

    e.copies = 1
    k.loop(u_low, u_end, str(k.lanes), [], square, "square")


def _rows(k, x, shape: Vectors, u: tuple[int, str], v: tuple[int, str]) -> list[str]:
    """Where the rows of a source begin, so many from a place on."""
    e = k.e
    k.scalars[u[0]], k.scalars[v[0]], k.vector_variable = u[1], v[1], None
    at = memory.settled(e, k._place(x.attrs[1])).base
    text = dict(k.slotted.affines[x.attrs[1]][1])[v[0]]
    stride, found = f"%{text}" if text[0] == "s" else text, []
    for number in range(shape.lanes):
        if number:
            at = e.instruction(f"add i64 {at}, {stride}")
        found.append(memory.pointer_at(e, f"%b{x.attrs[0]}", shape.type_, at))
    return found


def _not_beyond(k, at: str, loop) -> str:
    """A place along a loop from which on there are as many elements as lanes."""
    e, text = k.e, k.slotted.extents[loop.variable]
    extent = f"%{text}" if text[0] == "s" else text
    e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    last = e.instruction(f"sub i64 {extent}, {k.lanes}")
    return e.instruction(f"call i64 @llvm.smin.i64(i64 {at}, i64 {last})")
