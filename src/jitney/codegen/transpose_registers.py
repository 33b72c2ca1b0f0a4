"""Transposes what a few registers hold: rounds of shuffles of two registers each.

In: R vectors of L elements (L a multiple of R), R rows of a matrix. Out: R vectors; the R elements
from k*R on of vector j are column k*R + j. Nothing is read or written.
"""

LANE_BYTES = 16  # of the part of a register in which the cheapest shuffles stay


def transpose_registers(e, rows: list[str], vector: str, lanes: int, size: int) -> list[str]:
    """See the module's text; `size`: bytes of an element. The first rounds stay within 16 bytes
    (one µop without constants), the others exchange these."""
    part = min(LANE_BYTES // size, lanes)
    groups = [
        _interleave(e, rows[g : g + part], vector, lanes, part) for g in range(0, len(rows), part)
    ]
    exchanged = _exchange(e, groups, vector, lanes, part)
    return [name for group in exchanged for name in group]


def _interleave(e, rows, vector, lanes, part):
    """Transposes the square of `part` elements in each 16 bytes of `part` vectors: interleaving the
    upper and the lower half of the rows turns (row, column) one bit further."""
    half, turns = part // 2, part.bit_length() - 1
    low, high = [], []
    for start in range(0, lanes, part):
        for i in range(half):
            low += [start + i, lanes + start + i]
            high += [start + half + i, lanes + start + half + i]
    for _ in range(turns):
        pairs = zip(rows[:half], rows[half:], strict=True)
        rows = [_shuffle(e, vector, a, b, picks, lanes) for a, b in pairs for picks in (low, high)]
    return rows


def _exchange(e, groups, vector, lanes, part):
    """Transposes squares of parts, those of `groups` vectors side by side: each round exchanges the
    off-diagonal blocks of twice the size (Eklundh 1972)."""
    width = 1
    while width < len(groups):
        result = list(groups)
        blocks = [divmod(i, part) for i in range(lanes)]
        low = [
            i if not block & width else lanes + i - width * part
            for i, (block, _) in enumerate(blocks)
        ]
        high = [
            i + width * part if not block & width else lanes + i
            for i, (block, _) in enumerate(blocks)
        ]
        for g in range(len(groups)):
            if g & width:
                continue
            pairs = list(zip(groups[g], groups[g + width], strict=True))
            result[g] = [_shuffle(e, vector, a, b, low, lanes) for a, b in pairs]
            result[g + width] = [_shuffle(e, vector, a, b, high, lanes) for a, b in pairs]
        groups, width = result, 2 * width
    return groups


def _shuffle(e, vector, a, b, picks, lanes):
    mask = ", ".join(f"i32 {p}" for p in picks)
    return e.instruction(f"shufflevector {vector} {a}, {vector} {b}, <{lanes} x i32> <{mask}>")
