"""`plan_contraction`: which schedule a contraction gets, and its sizes.

In: a `ContractionShape` and a `CpuTarget`. Out: a `ContractionPlan`. Only small things enter the
kernel's key (element types, tile, which strides are 1); everything else is a parameter.
Invariant: the blocks along k depend on k alone, so results do not depend on threads or pieces.

    few rows or columns (<= 16), contiguous along k          dot (if they fill vectors: the tile)
    3 or 5 to 48 rows, with AVX2 to 20 or 24,
    lines of b contiguous, b large                           streamed (axpy without masked loads)
    bytes or bfloat16, 32 rows, columns and deep, with AMX   tile registers
    up to 8 rows, the same                                   axpy (one row: always)
    the same of up to 5 rows, few vectors along k or n       thin dot, thin axpy
    everything else                                          register tile
        reads a in place if contiguous along k, b if contiguous along n and small; else packs:
        a large a that is contiguous along m by a step of its own, for all pieces

Thresholds are sizes of caches or were measured (see the comment at each).
"""

import functools

from ...ir.types import kind_of, nbytes_of
from ..emitter import LINE_BYTES
from .elements import elements_of
from .pack_for_all import PARAMETERS as PANELS_PARAMETERS
from .pack_for_all import TOGETHER, PanelsSchedule, lanes_of_panel
from .pack_operands import COLUMN_GROUP
from .plan_pieces import plan_pieces
from .plan_skinny import DOT_ROWS, LARGE_MATRIX, plan_skinny
from .plan_streamed import STREAMED_DEPTH, is_streamed, plan_streamed
from .plan_tile_registers import plan_tile_registers
from .shape import (
    ContractionKernel,
    ContractionPlan,
    ContractionShape,
    ContractionStep,
    Epilogue,
)
from .steps import (
    CHAIN,
    PAIRS,
    ROW_PAD,
    SHALLOW,
    even,
    one_step,
    round_up,
    strides_of,
    work_of,
)
from .tiled import PARAMETERS as TILED_PARAMETERS
from .tiled import READ_AS_THEY_LIE, TiledSchedule

# Words along k of one block, where rows of a are read in place, and the columns packed at a time: a
# panel of b is then an eighth of the second cache. (With one of 2 MiB, an Emerald Rapids, products
# of 1024 x 1024 take 6 to 9 % longer if blocks are half as deep; with AVX2, a Zen 3, 2 to 3 %.)
IN_PLACE, IN_PLACE_LARGE, IN_PLACE_NARROW = (512, 512), (1024, 64), (1024, 192)
# With AVX2, where rows are so many that reading them again costs more than a block that the second
# cache does not hold. (100 x 1000 x 1000 takes .93 of the time with 192, 256 x 1024 x 1024 .94;
# 4096 x 512 x 512 .94 with 512.)
MANY_ROWS, COLUMNS_OF_MANY = 1024, 512
LARGE_SECOND_CACHE = 2 << 20
# the same when rows of a are packed beside it (measured: 256 loses 3 to 6 % with AVX-512, where the
# tile has 64 columns; where it has 24, 256 gains 2 to 4 and 512 again as much)
PACKED_DEPTH, PACKED_DEPTH_NARROW = 128, 512
COLUMNS_OF_A = 64 << 10  # bytes of a, contiguous along m, that are read in place
# From so much on rows of a are packed by a step of their own. (An Emerald Rapids, two threads:
# 1024 x 1024 x 1024 .85 of the time, 1000 x 333 x 777 .84, 300 x 300 x 3000 .82, 384 x 384 x 384
# .91; 256 x 4096 x 256 1.0, 2048 x 512 x 64 1.14. By one thread .87 to 1.03.)
FOR_ALL_FLOPS, FOR_ALL_ROWS, FOR_ALL_COLUMNS = 1 << 26, 256, 384
IN_PLACE_BYTES = 40 << 10  # about the first cache
# Steps along k in one turn of the tile's loop with AVX2, which is 22 instructions for one step: too
# short to keep the multipliers busy on a rented Zen 3 (512 x 512 x 512 .91 of the time by one
# thread, .93 by two; four or two steps gain less). It is 12 ms more to compile, which less work
# does not pay for. And of tiles of six rows (`_is_tall`): .94 of the time of one step, .92 to 1.0
# of two.
# With AVX-512 eight of tiles of one or two vectors, too, where there is more to do (256 times 32 x
# 32 x 32: .91 to .97).
AT_ONCE, AT_ONCE_TALL, AT_ONCE_FLOPS, AT_ONCE_FLOPS_WIDE = 8, 4, 4 << 20, 16 << 20
TALL_WASTE = 1.1  # so much more time a row of a tile of four takes, at most
MASKED_ROWS = 18  # masked loads for so many cost more than a copy of b with zeros at its side
TURNED_ROWS = 48  # the same, where b is contiguous along k


@functools.lru_cache(maxsize=1024)
def plan_contraction(
    shape: ContractionShape, target, num_threads_hint: int = 1, epilogue: Epilogue | None = None
) -> ContractionPlan:
    """The steps that compute `shape` on `target`."""
    if min(shape.batch, shape.m, shape.n) == 0:
        return ContractionPlan((), 0, 0)
    _check(shape)
    if shape.segments > 1:
        assert shape.is_segmentable, "runs of a along k are read in place"
        return _plan_tiled(shape, target, num_threads_hint, epilogue, False)
    both = ((shape, False), (shape.transposed(), True))
    for candidate, swapped in both:
        if is_streamed(candidate, target):
            return plan_streamed(candidate, target, num_threads_hint, epilogue, swapped)
    swapped = _wants_swap(shape)
    along = shape.transposed() if swapped else shape  # vectors run along its columns
    plan = plan_tile_registers(along, target, num_threads_hint, epilogue, swapped)
    if plan is not None:
        return plan
    for candidate, is_turned in both:
        if _fills_vectors(candidate, target):
            other = candidate.transposed()
            return _plan_tiled(other, target, num_threads_hint, epilogue, not is_turned)
    for candidate, is_turned in both:
        plan = plan_skinny(candidate, target, num_threads_hint, epilogue, is_turned)
        if plan is not None:
            return plan
    return _plan_tiled(along, target, num_threads_hint, epilogue, swapped)


def _check(shape) -> None:
    for code in (shape.dtype_in, shape.dtype_acc, shape.dtype_out):
        nbytes_of(code)  # KeyError for an unknown code
    if kind_of(shape.dtype_in) == "f" and kind_of(shape.dtype_acc) != "f":
        raise NotImplementedError(
            f"contraction of {shape.dtype_in} with {shape.dtype_acc} sums is not supported"
        )


def _wants_swap(shape) -> bool:
    """Vectors run along the axis in which c is contiguous; if it is in neither, along n."""
    return shape.c[2] != 1 and shape.n > 1 and (shape.c[1] == 1 or shape.m == 1)


def _fills_vectors(shape, target) -> bool:
    """Whether vectors are to run along the rows, few as they are: the tile then reads the columns
    of b in place, which are contiguous along k, and forms the transposed product."""
    m, n, k = shape.m, shape.n, shape.k
    elements = elements_of(shape.dtype_in, shape.dtype_acc, shape.dtype_out, target, pairs=False)
    if shape.b[1] != 1 or not elements.is_native or m > TURNED_ROWS or m >= n:
        return False
    # dot wastes no lanes, but loads half as often as it multiplies (16 rows: a fifth slower)
    filled = m / round_up(m, elements.lanes(target))
    if target.avx2 and not target.avx512 and shape.c[1] == 1 and m <= DOT_ROWS:
        return filled >= 0.75  # and then folds lanes (2000 x 32 x 16: .42 of the time)
    if m <= 12:
        return False
    is_large = n * k * nbytes_of(shape.dtype_in) >= LARGE_MATRIX
    # where c is contiguous along n only, results are stored one by one: depth must pay for that
    return filled >= 0.8 and is_large and k >= (256 if shape.c[1] == 1 else 1024)


# ---- the tile -----------------------------------------------------------------------------------


def _tile_of(lanes, m, n, target, in_rows) -> tuple[int, int, int]:
    """(rows, vectors, tail rows); tail rows 0 when one group of vectors holds all columns.
    `in_rows`: rows of a are read one by one, not in panels. (An Emerald Rapids: 49 to 63 columns by
    one group .55 to .79 of the time, 96 by groups of three .80 to .90.)"""
    many = target.avx512
    vectors = -(-n // lanes)
    if not many and vectors == 4:  # a group of three would leave a single vector
        return 4, 2, 4 if m <= 4 else 8
    if not many and in_rows and m >= 48 and 4 < vectors <= 14 and vectors % 3 > vectors % 2:
        return 6, 2, 8  # groups of three would leave more (4096 x 32 x 64: .85 of the time)
    if not many and vectors == 3 and n % lanes:
        return 4, 3, 0  # else three vectors alone: X.T @ X of 5000 x 20 takes .64 of the time
    if many and vectors == 4 and n % (4 * lanes):
        return (6 if in_rows and _is_tall(m, target) else 4), 4, 0  # not each vector by itself
    if many and vectors in (6, 7) and round_up(m, 8) <= TALL_WASTE * round_up(m, 4):
        return 8, 3, 8  # groups of four would leave two or three
    if vectors > (3 if many else 2):
        rows, vectors, tail = (4, 4, 8) if many else (4, 3, 8)
        if in_rows and _is_tall(m, target):
            rows = 6
        return rows, vectors, 4 if m <= 4 else tail
    rows = {1: 8, 2: 8, 3: 4}[vectors] if many else {1: 8, 2: 4}[vectors]
    return (4 if m <= 4 else rows), vectors, 0


def _is_tall(m, target) -> bool:
    """Whether tiles have six rows: four vectors of b are then loaded for 24 multiplications, not
    for 16. An Emerald Rapids whose other thread is somebody else's takes .82 to .92 of the time for
    it, and as long as before where it is alone."""
    is_wide = target.avx512 and target.l2_bytes >= LARGE_SECOND_CACHE
    return is_wide and round_up(m, 6) <= TALL_WASTE * round_up(m, 4)


def _plan_tiled(shape, target, threads, epilogue, swapped):
    m, n, k, batch = shape.m, shape.n, shape.k, shape.batch
    pairs = min(m, n, k) >= PAIRS
    elements = elements_of(shape.dtype_in, shape.dtype_acc, shape.dtype_out, target, pairs)
    lanes = elements.lanes(target)
    a, a_unit = _a_operand(shape, elements, target)
    lies = a in READ_AS_THEY_LIE
    rows, vectors, tail = _tile_of(lanes, m, n, target, lies)
    if a == "panels" and tail:
        tail = 2 * rows
    b = _b_operand(shape, target, elements)
    packed_depth = PACKED_DEPTH if target.avx512 else PACKED_DEPTH_NARROW
    depth = (_in_place(target)[0] if lies else packed_depth) * elements.group
    in_place = a == "rows" and b == "columns"
    run, are_two = k // shape.segments, elements.is_float and depth > CHAIN
    blocked = k > (CHAIN if are_two else depth) and not (in_place and not elements.is_float)
    chains = 2 if blocked and are_two else 1
    k_block = chain = max(k, 1)
    if blocked:
        is_shared = elements.is_float and lies  # with the streamed schedule
        multiple = STREAMED_DEPTH if is_shared else elements.group * 8
        chain = even(k, depth // chains, multiple)
        if shape.segments > 1:
            chain = run * max(1, depth // chains // run)
        k_block = chains * chain
    c_unit = shape.c[2] == 1 or n == 1
    in_c = not blocked or (c_unit and elements.result_type == elements.acc_type)
    schedule = TiledSchedule(
        elements, lanes, rows, vectors, tail, a, a_unit, b, c_unit, blocked,
        "c" if in_c else "workspace", packed_depth + ROW_PAD if a in ("k", "any") else 0,
        swapped, shape.inner_batch > 1, shape.segments > 1,
        b == "columns" and not target.avx512 and n % lanes == 0, chains > 1,
        _at_once(shape, target, run, rows, vectors),
        (blocked or not target.avx512 or _waits_to_store(shape, target)) and not in_place,
    )  # fmt: skip
    work = work_of(shape, epilogue)
    most_columns = _columns_in_place(target, m) if lies else 1024
    sizes = plan_pieces(shape, schedule, threads, work, most_columns, target.avx512)
    values = strides_of(shape) | sizes
    values |= {"m": m, "n": n, "k": k, "batch": batch, "k_block": k_block}
    values |= {"inner": shape.inner_batch, "run": run, "a_segment": shape.a_segment}
    values |= {"chain": chain // run if shape.segments > 1 else chain}
    row_pieces, column_pieces = -(-m // sizes["row_span"]), -(-n // sizes["column_span"])
    values |= {"row_pieces": row_pieces, "column_pieces": column_pieces}
    values |= _rooms(schedule, min(sizes["row_block"], m), min(sizes["column_block"], n), k_block)
    extent = -(-batch // sizes["group"]) * row_pieces * column_pieces
    values |= _panels(schedule, m, k)
    plan = one_step(
        schedule, values, TILED_PARAMETERS, extent, values["piece_bytes"], shape, target, epilogue
    )
    return _packed_for_all(plan, schedule, values, target) if a == "panels" else plan


def _panels(schedule, m, k) -> dict:
    """How many panels all pieces read, the words of one, and where the pieces' rooms begin."""
    if schedule.a != "panels":
        return {"panel": 0, "panels": 0, "rooms": 0}
    word_bytes, rows = schedule.elements.word_bytes, schedule.rows
    panel = round_up(k * rows + lanes_of_panel(rows), LINE_BYTES // word_bytes)
    panels = round_up(-(-m // rows), schedule.row_group // rows)
    return {"panel": panel, "panels": panels, "rooms": panels * panel * word_bytes}


def _packed_for_all(plan, schedule, values, target):
    """The plan with a step before its own, that packs the panels."""
    kernel = ContractionKernel(
        PanelsSchedule(schedule.elements, schedule.rows, schedule.swapped), target
    )
    params = tuple(values[name] for name in PANELS_PARAMETERS)
    first = ContractionStep(kernel, params, -(-values["panels"] // TOGETHER), 1)
    return ContractionPlan(
        (first, *plan.steps), values["rooms"] + plan.workspace_bytes, plan.flops
    )


def _waits_to_store(shape, target) -> bool:
    """Whether tiles are done before the lines of c have come that they are stored in. (An Emerald
    Rapids, which is asked for them: 2048 x 64 x 2048 .82 to .84, 3000 x 32 x 3000 .55.)"""
    nbytes = shape.batch * shape.m * shape.n * nbytes_of(shape.dtype_out)
    return target.has_far_third_cache and shape.k <= SHALLOW and nbytes > target.l2_bytes


def _at_once(shape, target, run, rows, vectors) -> int:
    """Steps along k in one turn of the loop; `run`: how many follow one another."""
    if run < 2 * AT_ONCE or shape.flops < AT_ONCE_FLOPS:
        return 1
    if target.avx512 and (rows != 8 or vectors == 3):
        return 1 if rows == 4 else AT_ONCE_TALL
    return 1 if target.avx512 and shape.flops < AT_ONCE_FLOPS_WIDE else AT_ONCE


def _a_operand(shape, elements, target) -> tuple[str, bool]:
    """(how a is read, whether its rows are contiguous)."""
    in_k, in_m = shape.a[2] == 1 or shape.k == 1, shape.a[1] == 1
    if elements.is_native and in_k:
        return "rows", True  # also for the largest: packing was measured to lose 4 %
    if elements.is_native and in_m and _reads_once(shape, elements, target):
        return "rows", False
    if elements.is_native and not in_m and shape.m * shape.k <= 1024:
        return "rows", False
    if elements.is_native and in_m and _packs_for_all(shape):
        return "panels", False
    return ("k" if in_k else "m" if in_m else "any"), in_k


def _packs_for_all(shape) -> bool:
    """Whether many pieces would pack the same rows of a."""
    is_large = shape.m >= FOR_ALL_ROWS and shape.n >= FOR_ALL_COLUMNS
    return shape.batch == 1 and is_large and shape.flops >= FOR_ALL_FLOPS


def _reads_once(shape, elements, target) -> bool:
    """Whether columns of a lie in the caches, or each is read for one group of columns of b, so
    that packing would be all there is to gain. (A Zen 3, one thread, a.T @ b: 20 x 5000 x 20 .76 of
    the time, 2000 x 100 x 10 .79, 64 x 64 x 64 .84, 128 x 128 x 128 .94. An Emerald Rapids: .89,
    .80, .87, .99; parts of 50000 x 50 by themselves, four vectors, .9.)"""
    if not target.avx2:
        return False
    nbytes = shape.m * shape.k * elements.word_bytes
    vectors = 4 if target.avx512 and shape.batch > 1 else 3
    return nbytes <= COLUMNS_OF_A or shape.n <= vectors * elements.lanes(target)


def _b_operand(shape, target, elements) -> str:
    in_n, in_k = shape.b[2] == 1 or shape.n == 1, shape.b[1] == 1
    nbytes = shape.n * shape.k * elements.word_bytes
    is_whole = shape.n % elements.lanes(target) == 0
    has_masks = target.avx512 or is_whole or (target.avx2 and shape.m < MASKED_ROWS)
    # a panel re-read from a few cache sets costs more than its packing from about 48 rows on
    in_place = nbytes <= IN_PLACE_BYTES or (shape.m < 48 and nbytes <= 6 * IN_PLACE_BYTES)
    if elements.is_native and in_n and has_masks and in_place:
        return "columns"
    return "n" if in_n else "k" if in_k else "any"


def _in_place(target) -> tuple[int, int]:
    """(words along k, columns of b) of a block in which rows of a are read in place."""
    if target.l2_bytes >= LARGE_SECOND_CACHE:
        return IN_PLACE_LARGE
    return IN_PLACE if target.avx512 else IN_PLACE_NARROW


def _columns_in_place(target, m) -> int:
    is_narrow = _in_place(target) == IN_PLACE_NARROW
    return COLUMNS_OF_MANY if is_narrow and m > MANY_ROWS else _in_place(target)[1]


def _rooms(schedule, rows, columns, depth) -> dict:
    """Where a piece's packed a, packed b and waiting sums are in its part of the workspace."""
    elements, lanes = schedule.elements, schedule.lanes
    words = -(-depth // elements.group)
    padded_rows = round_up(rows, COLUMN_GROUP)
    padded_columns = round_up(columns, lanes) + (schedule.vectors - 1) * lanes
    a_words = {"rows": 0, "panels": 0, "m": words}.get(schedule.a, schedule.pitch)
    b_bytes = 0 if schedule.b == "columns" else padded_columns * words
    pitch, sums = 0, 0
    if schedule.blocked and schedule.sums == "workspace":
        pitch = padded_columns
        # all rows of a tile wait, also those that do not exist
        tiles = (schedule.row_group, schedule.rows, schedule.tail_rows or 1)
        sums = max(round_up(rows, tile) for tile in tiles) * pitch * nbytes_of(elements.acc)
    a_bytes = round_up(padded_rows * a_words * elements.word_bytes, 64)
    b_bytes = round_up(b_bytes * elements.word_bytes, 64)
    return {
        "b_offset": a_bytes,
        "sum_offset": a_bytes + b_bytes,
        "sum_pitch": pitch,
        "piece_bytes": a_bytes + b_bytes + round_up(sums, 64),
    }
