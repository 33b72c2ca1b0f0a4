"""`plan_streamed`: 3 or 5 to 48 rows times a large matrix, which is read once, where it lies.

In: a `ContractionShape` and a `CpuTarget`. Out: a `ContractionPlan` of a `StreamedSchedule`.
Invariant: where a chain of sums begins depends on k alone, not on how deep blocks are.
"""

from ...ir.types import kind_of, nbytes_of
from .elements import elements_of
from .plan_skinny import LARGE_MATRIX
from .steps import (
    CHAIN,
    PAIRS,
    PIECE_FLOPS,
    ROW_PAD,
    even,
    one_step,
    round_up,
    strides_of,
    work_of,
)
from .streamed import PARAMETERS, StreamedSchedule

MOST_ROWS = 48  # from 64 rows on, a packed copy of b is paid for
# The same with AVX2, where a tile has fewer rows, and where the matrix comes from memory. (Tiles,
# a Zen 3, one thread: 32 x 1024 x 1024 .73 of the time, 24 x 700 x 900 .82, 24 x 2048^2 1.14.)
MOST_ROWS_NARROW, MOST_ROWS_FAR = 20, 24
# Lines of b in a block: with 8 KiB lines two blocks are half the second cache of 1 MiB. With half
# of that, a Zen 3, its sets hold all lines of one column only of blocks half as deep (one thread,
# in shares of NumPy's time, while others used the third cache: 8 x 2048 x 2048 1.30 with 32, .74
# with 16, 16 rows 1.30 and .90; while they did not, 16 gained up to a tenth).
STREAMED_DEPTH, STREAMED_DEPTH_SMALL = 32, 16
STREAMED_LINE, SMALL_SECOND_CACHE = 8 << 10, 512 << 10
SECOND_CACHE, BEYOND_CACHES = 2 << 20, 8 << 20


def is_streamed(shape, target) -> bool:
    """Whether b is to be read in place, once: so few rows do not pay for a copy of it."""
    m, n, k, nbytes = shape.m, shape.n, shape.k, nbytes_of(shape.dtype_in)
    codes = (shape.dtype_in, shape.dtype_acc, shape.dtype_out)
    elements = elements_of(*codes, target, pairs=min(m, n, k) >= PAIRS)
    in_place = target.avx512 or (target.avx2 and elements.is_native)  # it wants masked loads
    if shape.b[2] != 1 or not in_place or kind_of(elements.acc) != "f" or elements.mode != "plain":
        return False
    # up to 4 rows axpy reads b at least as fast, unless its sums go to the third cache and back
    is_far = n * k * nbytes >= BEYOND_CACHES
    fewest = 3 if elements.is_native and is_far else 5
    # sums are stored once more than a tile's, and their last group may be mostly empty; a copy of
    # what the second cache holds is paid for by 32 rows
    least = LARGE_MATRIX if m <= 24 else SECOND_CACHE
    line, depth = (512, 128) if m <= 16 else (1024, 256)
    is_large = n * k * nbytes >= least and n * nbytes >= line and k >= depth
    most = MOST_ROWS if target.avx512 else MOST_ROWS_FAR if is_far else MOST_ROWS_NARROW
    return fewest <= m <= most and is_large


def _streamed_tile(m, target) -> tuple[int, int]:
    """(rows, vectors): as few groups of rows as registers allow, then as many vectors."""
    most = 14 if target.avx512 else 6
    rows = -(-m // -(-m // most))
    return rows, (4 if rows <= 6 else 3 if rows <= 9 else 2) if target.avx512 else 2


def _streamed_columns(shape, wanted, threads, width) -> tuple[int, int]:
    """Columns of (a piece, a strip of it). Lines of 8 KiB are the fastest, of 4 KiB nearly as fast,
    and shorter ones are worth it only if a thread had nothing to do otherwise."""
    line = shape.n * nbytes_of(shape.dtype_in)
    parts = min(-(-wanted // shape.batch), max(line // (STREAMED_LINE // 2), threads))
    piece = even(shape.n, -(-shape.n // parts), width)
    return piece, even(piece, STREAMED_LINE // nbytes_of(shape.dtype_in), width)


def plan_streamed(shape, target, threads, epilogue, swapped):
    """The plan of a product that `is_streamed`."""
    m, n, batch, work = shape.m, shape.n, shape.batch, work_of(shape, epilogue)
    elements = elements_of(shape.dtype_in, shape.dtype_acc, shape.dtype_out, target, pairs=False)
    lanes = elements.lanes(target)
    rows, vectors = _streamed_tile(m, target)
    a = "k" if shape.a[2] == 1 else "m" if shape.a[1] == 1 else "any"
    has_small_cache = target.l2_bytes <= SMALL_SECOND_CACHE
    depth = STREAMED_DEPTH_SMALL if has_small_cache else STREAMED_DEPTH
    schedule = StreamedSchedule(
        elements, lanes, rows, vectors, a, depth, depth + ROW_PAD,
        shape.c[2] == 1, swapped, shape.inner_batch > 1,
    )  # fmt: skip
    wanted = max(1, min(work // PIECE_FLOPS, 2 * threads)) if threads > 1 else 1
    block, strip = _streamed_columns(shape, wanted, threads, schedule.width)
    column_pieces, group = -(-n // block), -(-batch // wanted)
    sum_rows = round_up(m, rows)
    pitch = round_up(sum_rows, lanes)
    a_words = depth * pitch if a == "m" else sum_rows * schedule.pitch
    a_bytes = round_up(a_words * elements.word_bytes, 64)
    sum_bytes = round_up(sum_rows * round_up(strip, schedule.width) * elements.word_bytes, 64)
    chain = even(shape.k, CHAIN, STREAMED_DEPTH)
    total_offset = a_bytes + sum_bytes * (shape.k > chain)
    piece_bytes = total_offset + sum_bytes
    values = strides_of(shape) | {
        "m": m, "n": n, "k": shape.k, "batch": batch, "inner": shape.inner_batch, "group": group,
        "column_block": block, "column_pieces": column_pieces, "piece_bytes": piece_bytes,
        "pitch": pitch, "strip": strip, "runs": max(1, strip // (depth * lanes)),
        "sum_offset": a_bytes, "sum_rows": sum_rows, "chain": chain, "total_offset": total_offset,
    }  # fmt: skip
    extent = -(-batch // group) * column_pieces
    return one_step(schedule, values, PARAMETERS, extent, piece_bytes, shape, target, epilogue)
