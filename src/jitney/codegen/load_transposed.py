"""Rows of memory, loaded and transposed in registers.

In: addresses of R rows and what a register holds (`Vectors`). Out: as `transpose_registers`. Where
a square of rows fills registers of two parts of 16 bytes, these are exchanged by the loads: the
second part of a register comes from the row half a square below. An insertion from memory takes no
unit that shuffles, and an exchange of two registers takes Zen 1 eight µops (500 x 500 float32
transposed there: .94 of the time).
"""

from . import memory
from .transpose_registers import PART_BYTES, Vectors, transpose_parts, transpose_registers


def load_transposed(e, addresses: list[str], shape: Vectors, mask: str | None = None) -> list[str]:
    """See the module's text; `mask`: elements of rows that exist (None: all)."""
    part, width = PART_BYTES // shape.size, shape.lanes * shape.unit
    if mask is None and len(addresses) == shape.lanes == 2 * part:
        return transpose_parts(e, _exchanged(e, addresses, shape, part), shape)
    vector = f"<{width} x {shape.type_}>"
    rows = [memory._vector_load(e, vector, shape.type_, p, mask) for p in addresses]
    return transpose_registers(e, rows, shape)


def _exchanged(e, addresses, shape, part) -> list[str]:
    """[part 0 of row i, part 0 of row i + part] for all i < part, then the same of part 1."""
    count, found = part * shape.unit, []
    half, width = f"<{count} x {shape.type_}>", 2 * count
    picks = f"<{width} x i32> <" + ", ".join(f"i32 {i}" for i in range(width)) + ">"
    for column in (0, count):
        for p, q in zip(addresses[:part], addresses[part:], strict=True):
            there = [memory.pointer_at(e, row, shape.type_, column) for row in (p, q)]
            a, b = (memory._vector_load(e, half, shape.type_, at, None) for at in there)
            found.append(e.instruction(f"shufflevector {half} {a}, {half} {b}, {picks}"))
    return found
