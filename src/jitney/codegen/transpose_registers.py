"""Transposes what a few registers hold: rounds of shuffles of two registers each.

In: R vectors of L elements (L a multiple of R), R rows of a matrix. Out: R vectors; the R elements
from k*R on of vector j are column k*R + j. Nothing is read or written. What moves together (the
parts of a complex number) is one element here.
"""

from typing import NamedTuple

PART_BYTES = 16  # of a register in which the cheapest shuffles stay


class Vectors(NamedTuple):
    """`lanes` elements of `unit` neighbouring values each, `size` bytes all together."""

    type_: str
    lanes: int
    unit: int
    size: int


def transpose_registers(e, rows: list[str], shape: Vectors) -> list[str]:
    """See the module's text. The first rounds stay within 16 bytes (one µop without constants), the
    others exchange these."""
    groups = _exchange(e, _within_parts(e, rows, shape), shape, _part(shape))
    return [name for group in groups for name in group]


def transpose_parts(e, rows: list[str], shape: Vectors) -> list[str]:
    """The first rounds alone, of rows whose parts of 16 bytes have been exchanged."""
    return [name for group in _within_parts(e, rows, shape) for name in group]


def _within_parts(e, rows, shape) -> list[list[str]]:
    part = _part(shape)
    return [_interleave(e, rows[g : g + part], shape, part) for g in range(0, len(rows), part)]


def _part(shape: Vectors) -> int:
    return min(PART_BYTES // shape.size, shape.lanes)


def _interleave(e, rows, shape, part):
    """Transposes the square of `part` elements in each 16 bytes of `part` vectors: interleaving the
    upper and the lower half of the rows turns (row, column) one bit further."""
    half, turns, lanes = part // 2, part.bit_length() - 1, shape.lanes
    low, high = [], []
    for start in range(0, lanes, part):
        for i in range(half):
            low += [start + i, lanes + start + i]
            high += [start + half + i, lanes + start + half + i]
    for _ in range(turns):
        pairs = zip(rows[:half], rows[half:], strict=True)
        rows = [shuffle(e, shape, a, b, picks) for a, b in pairs for picks in (low, high)]
    return rows


def _exchange(e, groups, shape, part):
    """Transposes squares of parts, those of `groups` vectors side by side: each round exchanges the
    off-diagonal blocks of twice the size (Eklundh 1972)."""
    width, lanes = 1, shape.lanes
    while width < len(groups):
        result, distance = list(groups), width * part
        is_upper = [bool(i // part & width) for i in range(lanes)]
        low = [lanes + i - distance if up else i for i, up in enumerate(is_upper)]
        high = [lanes + i if up else i + distance for i, up in enumerate(is_upper)]
        for g in range(len(groups)):
            if g & width:
                continue
            pairs = list(zip(groups[g], groups[g + width], strict=True))
            result[g] = [shuffle(e, shape, a, b, low) for a, b in pairs]
            result[g + width] = [shuffle(e, shape, a, b, high) for a, b in pairs]
        groups, width = result, 2 * width
    return groups


def shuffle(e, shape: Vectors, a: str, b: str, picks: list[int]) -> str:
    """Elements picked from `a` followed by `b`, into which LLVM does not look."""
    numbers = [shape.unit * p + k for p in picks for k in range(shape.unit)]
    mask = ", ".join(f"i32 {n}" for n in numbers)
    vector = f"<{shape.lanes * shape.unit} x {shape.type_}>"
    found = e.instruction(
        f"shufflevector {vector} {a}, {vector} {b}, <{len(numbers)} x i32> <{mask}>"
    )
    return e.sealed(found, shape.type_, len(numbers))
