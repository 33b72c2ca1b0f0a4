"""`plan_tile_registers`: products of bytes and of bfloat16 on processors with registers for tiles.

In: a `ContractionShape` and a `CpuTarget`. Out: a `ContractionPlan` of a `TileRegistersSchedule`,
or None if the processor has no such registers, or the shape is not worth filling them.
Invariant: the blocks along k depend on k alone.
"""

from .elements import tile_elements_of
from .plan_pieces import plan_pieces
from .steps import PAIRS, ROW_PAD, even, one_step, round_up, strides_of, work_of
from .tile_registers import COLUMNS, HALF, LINE_BYTES, ROWS, TILE_BYTES, TileRegistersSchedule
from .tiled import PARAMETERS

# Words along k of a block, and its columns: their panels are half a MiB of a second cache of two.
# (An Emerald Rapids, depths of 1024: 1.0 to 1.09 of the time, 256: .99 to 1.22; 128 or 512
# columns: .97 to 1.14.)
DEPTH, MOST_COLUMNS = 512, 256
SPEED = 8  # how many times as fast as others these products are: smaller ones are not shared
# Operations that registers are configured for, where bytes have dot products, too (64^3 takes .74
# to .84 of the time, 100 x 32 x 40 1.7).
LEAST_OF_BYTES = 1 << 19


def plan_tile_registers(shape, target, threads, epilogue, swapped):
    """The plan, or None."""
    m, n, k, batch = shape.m, shape.n, shape.k, shape.batch
    elements = tile_elements_of(shape.dtype_in, shape.dtype_acc, shape.dtype_out, target)
    if elements is None or shape.segments > 1 or 1 not in shape.a[1:]:
        return None
    least = LEAST_OF_BYTES if elements.mode == "tiles_i8" else 0
    if min(m, n, k) < PAIRS or shape.flops < least:
        return None
    is_whole = k * 4 // elements.group % LINE_BYTES == 0
    words = -(-k // elements.group)
    block = round_up(even(words, DEPTH, HALF), HALF)
    a = "m" if shape.a[2] != 1 else "rows" if is_whole else "k"
    b = "n" if shape.b[2] == 1 else "k" if shape.b[1] == 1 else "any"
    schedule = TileRegistersSchedule(
        elements, HALF, a, b, shape.c[2] == 1, words > block,
        DEPTH + ROW_PAD, swapped, shape.inner_batch > 1,
    )  # fmt: skip
    work = work_of(shape, epilogue) // SPEED
    sizes = plan_pieces(shape, schedule, threads, work, MOST_COLUMNS, True)
    rows, columns = min(sizes["row_block"], m), min(sizes["column_block"], n)
    row_pieces, column_pieces = -(-m // sizes["row_span"]), -(-n // sizes["column_span"])
    a_words = {"rows": 0, "m": block}.get(a, schedule.pitch)
    a_bytes = round_up(rows, ROWS) * a_words * 4
    b_bytes = round_up(columns, COLUMNS) * block * 4
    tiles = -(-rows // ROWS) * -(-columns // COLUMNS)
    piece_bytes = a_bytes + b_bytes + tiles * TILE_BYTES * schedule.blocked
    values = dict.fromkeys(PARAMETERS, 0) | strides_of(shape) | sizes
    values |= {
        "m": m, "n": n, "k": k, "batch": batch, "inner": shape.inner_batch,
        "row_pieces": row_pieces, "column_pieces": column_pieces,
        "k_block": block * elements.group, "piece_bytes": piece_bytes, "b_offset": a_bytes,
        "sum_offset": a_bytes + b_bytes,
    }  # fmt: skip
    extent = -(-batch // sizes["group"]) * row_pieces * column_pieces
    return one_step(schedule, values, PARAMETERS, extent, piece_bytes, shape, target, epilogue)
