"""`plan_skinny`: the schedule of a product with few rows, and its sizes.

In: a `ContractionShape`, a `CpuTarget`. Out: a `ContractionPlan`, or None where the register tile
is as good.
"""

from ...ir.types import nbytes_of
from .elements import elements_of
from .skinny import PARAMETERS as SKINNY_PARAMETERS
from .skinny import AxpySchedule, DotSchedule
from .steps import CHAIN, one_step, round_up, strides_of
from .thin import MOST_OF_COLUMN, MOST_OF_LINE, ThinAxpySchedule, ThinDotSchedule

PIECE_BYTES = 256 << 10  # about 10 us: less is not worth another thread
DOT_ROWS = 16
AXPY_ROWS = 8
LARGE_MATRIX = 128 << 10  # below this the tile reads a matrix fast enough for several rows
SUMS_BYTES = 64 << 10
# From here on it comes from memory, often (two rows: .66 to .9 of the time on a Zen 1; one, which
# takes eight lines at once, and more than two gain nothing, and what a cache holds loses).
FAR_MATRIX = 8 << 20
# of thin schedules: a row takes as long as the first, where the tile has them all at once (with
# AVX-512 counted in instructions, not measured)
THIN_ROWS, THIN_ROWS_WIDE, THIN_SUMS, THIN_LENGTH = 5, 2, 8, 16
# Terms of a sum below which few columns are the tile's, which stores whole vectors of them, for
# each column beyond two: dot folds lanes for each result, but wastes none. (A Zen 3, one thread, as
# tiles: 1000 x 5 x 5 .36 of the time, 1000 x 20 x 3 .85, 1000 x 50 x 3 1.03, 1000 x 30 x 4 .79,
# 1000 x 64 x 4 1.20, 1000 x 64 x 5 .95, 1000 x 128 x 5 1.16.)
TERMS_STORED_WHOLE = 24


def plan_skinny(shape, target, threads, epilogue, swapped):
    """See the module's text; `swapped`: `shape` is of the transposed product."""
    m, n, k = shape.m, shape.n, shape.k
    elements = elements_of(shape.dtype_in, shape.dtype_acc, shape.dtype_out, target, pairs=False)
    lanes = elements.lanes(target)
    if m > DOT_ROWS or m > n or _is_stored_whole(shape, target, elements):
        return None
    thin = _thin_schedule(shape, target, elements, swapped)
    if thin is not None:
        return _plan(thin, shape, target, threads, epilogue)
    is_large = n * k * nbytes_of(shape.dtype_in) >= LARGE_MATRIX
    two_level = shape.inner_batch > 1
    # adding up a vector's lanes costs some 10 multiply-adds: short sums go to the tile
    if shape.b[1] == 1 and k >= 4 * lanes and (m == 1 or is_large):
        rows = 1 if m == 1 else 2 if m == 2 or not target.avx512 else 4
        unroll = 2 if rows == 1 else 1
        schedule = DotSchedule(
            elements, lanes, rows, 4, unroll, shape.a[2] != 1, shape.c[2] == 1, swapped, two_level
        )
    elif shape.b[2] == shape.c[2] == 1 and n >= lanes and (m == 1 or (m <= AXPY_ROWS and is_large)):
        rows = 1 if m == 1 else 2 if m == 2 else 4 if m <= 4 else 8
        lines = {1: 8, 2: 8, 4: 4, 8: 4} if target.avx512 else {1: 8, 2: 4, 4: 2, 8: 1}
        sums = "c" if elements.result_type == elements.acc_type else "workspace"
        is_far = n * k * nbytes_of(shape.dtype_in) >= FAR_MATRIX
        fetches = m == 2 and is_far and not target.avx512
        chain = CHAIN if k > CHAIN and elements.is_float else 0
        schedule = AxpySchedule(
            elements, lanes, rows, lines[rows], sums, chain, fetches, swapped, two_level
        )
    else:
        return None
    return _plan(schedule, shape, target, threads, epilogue)


def _thin_schedule(shape, target, elements, swapped):
    """The schedule for a matrix whose short side is a few vectors, or None."""
    m, n, k, two_level = shape.m, shape.n, shape.k, shape.inner_batch > 1
    rows = THIN_ROWS_WIDE if target.avx512 else THIN_ROWS
    if not (target.avx2 and elements.is_native) or m > rows:
        return None
    along_k = shape.b[1] == 1 and k > 1
    short, long = (k, n) if along_k else (n, k)
    lanes = _filled_lanes(elements, target, short)
    vectors = -(-short // lanes)
    parts = {2: "pair", 3: "triple"}
    end = "whole" if short % lanes == 0 else "overlaps" if vectors > 1 else parts.get(short)
    if vectors > (MOST_OF_COLUMN if along_k else MOST_OF_LINE) or long < THIN_LENGTH:
        return None
    if along_k:
        c_unit = shape.c[2] == 1
        return ThinDotSchedule(elements, lanes, vectors, end, c_unit, swapped, two_level)
    if shape.b[2] == shape.c[2] == 1 and n > 1 and m * vectors <= THIN_SUMS:
        return ThinAxpySchedule(elements, lanes, vectors, end, swapped, two_level)
    return None


def _is_stored_whole(shape, target, elements) -> bool:
    """Whether results of the few follow one another, so that the tile stores whole vectors of them,
    and are not so few that most lanes would be idle for long."""
    if target.avx512 or not target.avx2 or not elements.is_native or shape.m > THIN_ROWS:
        return False
    follows = shape.c[1] == 1 and shape.c[2] == shape.m
    return follows and shape.k < TERMS_STORED_WHOLE * (shape.m - 2)


def _filled_lanes(elements, target, length: int) -> int:
    """Lanes of the widest vector that so many elements fill, of at least 16 bytes."""
    lanes, whole = 16 // elements.word_bytes, elements.lanes(target)
    while 2 * lanes <= min(length, whole):
        lanes *= 2
    return lanes


def _plan(schedule, shape, target, threads, epilogue):
    """The plan of a schedule: pieces are groups of batches and blocks of columns."""
    m, n, k, batch = shape.m, shape.n, shape.k, shape.batch
    lanes, elements = schedule.lanes, schedule.elements
    matrix = max(1, n * k * nbytes_of(shape.dtype_in))
    is_axpy, is_kept = isinstance(schedule, AxpySchedule), isinstance(schedule, ThinAxpySchedule)
    wanted = 1
    if threads > 1:
        wanted = max(1, min(batch * matrix // PIECE_BYTES, 2 * threads))
    # lines of less than 2 KiB lose bandwidth; sums beyond 64 KiB leave the nearer caches
    least = n if is_kept else 2048 // nbytes_of(shape.dtype_in) if is_axpy else schedule.columns
    most = SUMS_BYTES // (nbytes_of(elements.acc) * schedule.rows) if is_axpy else n
    parts = -(-wanted // batch)
    block = min(max(round_up(-(-n // parts), 8 * lanes), least), round_up(most, 8 * lanes))
    column_pieces = -(-n // block)
    group = -(-batch // wanted)
    piece_bytes, pitch = 0, 0
    if isinstance(schedule, DotSchedule) and schedule.packs_a:
        pitch = round_up(k, lanes)
        piece_bytes = round_up(m * pitch * nbytes_of(elements.packed), 64)
    elif is_axpy and (waiting := (schedule.sums == "workspace") + (schedule.chain > 0)):
        pitch = round_up(block, lanes)
        piece_bytes = round_up(waiting * m * pitch * nbytes_of(elements.acc), 64)
    values = strides_of(shape) | {
        "m": m, "n": n, "k": k, "batch": batch, "inner": shape.inner_batch, "group": group,
        "column_block": block, "column_pieces": column_pieces, "piece_bytes": piece_bytes,
        "pitch": pitch,
    }  # fmt: skip
    extent = -(-batch // group) * column_pieces
    return one_step(
        schedule, values, SKINNY_PARAMETERS, extent, piece_bytes, shape, target, epilogue
    )
