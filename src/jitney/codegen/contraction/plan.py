"""`plan_contraction`: which schedule a contraction gets, and its sizes.

In: a `ContractionShape` and a `CpuTarget`. Out: a `ContractionPlan`. Only small things enter the
kernel's key (element types, tile, which strides are 1); everything else is a parameter.
Invariant: the blocks along k depend on k alone, so results do not depend on threads or pieces.

    few rows or columns (<= 16), contiguous along k          dot (if they fill vectors: the tile)
    3 or 5 to 48 rows, with AVX2 to 20 or 24,
    lines of b contiguous, b large                           streamed (axpy without masked loads)
    up to 8 rows, the same                                   axpy (one row: always)
    the same of up to 5 rows, few vectors along k or n       thin dot, thin axpy
    everything else                                          register tile
        reads a in place if contiguous along k, b if contiguous along n and small; else packs

Thresholds are sizes of caches or were measured (see the comment at each).
"""

import functools

from ...ir.types import kind_of, nbytes_of
from .elements import elements_of
from .pack_operands import COLUMN_GROUP
from .plan_skinny import DOT_ROWS, LARGE_MATRIX, plan_skinny
from .plan_streamed import STREAMED_DEPTH, is_streamed, plan_streamed
from .shape import ContractionPlan, ContractionShape, Epilogue
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
from .tiled import PARAMETERS as TILED_PARAMETERS
from .tiled import TiledSchedule

# Words along k of one block, where rows of a are read in place, and the columns packed at a time: a
# panel of b is then an eighth of the second cache. (With one of 2 MiB, an Emerald Rapids, products
# of 1024 x 1024 take 6 to 9 % longer if blocks are half as deep; with AVX2, a Zen 3, 2 to 3 %.)
IN_PLACE, IN_PLACE_LARGE, IN_PLACE_NARROW = (512, 512), (1024, 128), (1024, 192)
# With AVX2, where rows are so many that reading them again costs more than a block that the second
# cache does not hold. (100 x 1000 x 1000 takes .93 of the time with 192, 256 x 1024 x 1024 .94;
# 4096 x 512 x 512 .94 with 512.)
MANY_ROWS, COLUMNS_OF_MANY = 1024, 512
LARGE_SECOND_CACHE = 2 << 20
# the same when rows of a are packed beside it (measured: 256 loses 3 to 6 % with AVX-512, where the
# tile has 64 columns; where it has 24, 256 gains 2 to 4 and 512 again as much)
PACKED_DEPTH, PACKED_DEPTH_NARROW = 128, 512
MOST_ROWS = 1024
# where sums are short, each row of c is soon needed again for the next columns: as many rows at a
# time as a small table of pages knows (a Zen 1; 2048 x 64 x 2048 .95 of the time, of 32 .84)
SHALLOW, ROWS_OF_SHALLOW = 128, 256
# What it costs a piece to pack its rows of a, as columns of the product, and its columns of b, as
# rows; more where a word is several elements, which are multiplied in its time. (Zen 3: with four
# pieces, not eight, a.T @ b of 1024 x 1024 x 1024 takes .88 of the time; an Emerald Rapids: bytes
# of 1024 x 1024 x 1024 .95 by four times as much.)
PACKING, PACKING_OF_LINES = 16, 16
LEAST_ROWS = 32  # of a piece that packs both
COLUMN_ALONE = 1.4  # time of a column outside of a tile: a load for each multiplication
COLUMNS_OF_A = 64 << 10  # bytes of a, contiguous along m, that are read in place
IN_PLACE_BYTES = 40 << 10  # about the first cache
# Steps along k in one turn of the tile's loop with AVX2, which is 22 instructions for one step: too
# short to keep the multipliers busy on a rented Zen 3 (512 x 512 x 512 .91 of the time by one
# thread, .93 by two; four or two steps gain less). It is 12 ms more to compile, which less work
# does not pay for. And of tiles of six rows (`_is_tall`): .94 of the time of one step.
AT_ONCE, AT_ONCE_TALL, AT_ONCE_FLOPS = 8, 2, 4 << 20
TALL_WASTE = 1.1  # so much more time a row of a tile of four takes, at most
SLOW = 0.8  # how fast a thread may be on a machine that is shared, where the others are 1
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
    for candidate, swapped in both:
        if _fills_vectors(candidate, target):
            other = candidate.transposed()
            return _plan_tiled(other, target, num_threads_hint, epilogue, not swapped)
    for candidate, swapped in both:
        plan = plan_skinny(candidate, target, num_threads_hint, epilogue, swapped)
        if plan is not None:
            return plan
    swapped = _wants_swap(shape)
    if swapped:
        shape = shape.transposed()
    return _plan_tiled(shape, target, num_threads_hint, epilogue, swapped)


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
    `in_rows`: rows of a are read one by one, not in panels."""
    many = target.avx512
    vectors = -(-n // lanes)
    if not many and vectors == 4:  # a group of three would leave a single vector
        return 4, 2, 4 if m <= 4 else 8
    if not many and in_rows and m >= 48 and 4 < vectors <= 14 and vectors % 3 > vectors % 2:
        return 6, 2, 8  # groups of three would leave more (4096 x 32 x 64: .85 of the time)
    if not many and vectors == 3 and n % lanes:
        return 4, 3, 0  # else three vectors alone: X.T @ X of 5000 x 20 takes .64 of the time
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
    rows, vectors, tail = _tile_of(lanes, m, n, target, a == "rows")
    b = _b_operand(shape, target, elements)
    packed_depth = PACKED_DEPTH if target.avx512 else PACKED_DEPTH_NARROW
    depth = (_in_place(target)[0] if a == "rows" else packed_depth) * elements.group
    in_place = a == "rows" and b == "columns"
    run, are_two = k // shape.segments, elements.is_float and depth > CHAIN
    blocked = k > (CHAIN if are_two else depth) and not (in_place and not elements.is_float)
    chains = 2 if blocked and are_two else 1
    k_block = chain = max(k, 1)
    if blocked:
        is_shared = elements.is_float and a == "rows"  # with the streamed schedule
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
        _at_once(shape, target, run, rows),
        (blocked or not target.avx512 or _waits_to_store(shape, target)) and not in_place,
    )  # fmt: skip
    work = work_of(shape, epilogue)
    most_columns = _columns_in_place(target, m) if a == "rows" else 1024
    sizes = _pieces(shape, schedule, threads, work, most_columns, target.avx512)
    values = strides_of(shape) | sizes
    values |= {"m": m, "n": n, "k": k, "batch": batch, "k_block": k_block}
    values |= {"inner": shape.inner_batch, "run": run, "a_segment": shape.a_segment}
    values |= {"chain": chain // run if shape.segments > 1 else chain}
    row_pieces, column_pieces = -(-m // sizes["row_span"]), -(-n // sizes["column_span"])
    values |= {"row_pieces": row_pieces, "column_pieces": column_pieces}
    values |= _rooms(schedule, min(sizes["row_block"], m), min(sizes["column_block"], n), k_block)
    extent = -(-batch // sizes["group"]) * row_pieces * column_pieces
    return one_step(
        schedule, values, TILED_PARAMETERS, extent, values["piece_bytes"], shape, target, epilogue
    )


def _waits_to_store(shape, target) -> bool:
    """Whether tiles are done before the lines of c have come that they are stored in. (An Emerald
    Rapids, which is asked for them: 2048 x 64 x 2048 .82 to .84, 3000 x 32 x 3000 .55.)"""
    nbytes = shape.batch * shape.m * shape.n * nbytes_of(shape.dtype_out)
    return target.has_far_third_cache and shape.k <= SHALLOW and nbytes > target.l2_bytes


def _at_once(shape, target, run, rows) -> int:
    """Steps along k in one turn of the loop; `run`: how many follow one another."""
    if run < 2 * AT_ONCE or shape.flops < AT_ONCE_FLOPS:
        return 1
    if target.avx512:
        return AT_ONCE_TALL if rows == 6 else 1
    return AT_ONCE


def _a_operand(shape, elements, target) -> tuple[str, bool]:
    """(how a is read, whether its rows are contiguous)."""
    in_k, in_m = shape.a[2] == 1 or shape.k == 1, shape.a[1] == 1
    if elements.is_native and in_k:
        return "rows", True  # also for the largest: packing was measured to lose 4 %
    if elements.is_native and in_m and _reads_once(shape, elements, target):
        return "rows", False
    if elements.is_native and not in_m and shape.m * shape.k <= 1024:
        return "rows", False
    return ("k" if in_k else "m" if in_m else "any"), in_k


def _reads_once(shape, elements, target) -> bool:
    """Whether columns of a lie in the caches, or each is read for one group of columns of b, so
    that packing would be all there is to gain. (A Zen 3, one thread, a.T @ b: 20 x 5000 x 20 .76 of
    the time, 2000 x 100 x 10 .79, 64 x 64 x 64 .84, 128 x 128 x 128 .94. An Emerald Rapids: .89,
    .80, .87, .99.)"""
    if not target.avx2:
        return False
    nbytes = shape.m * shape.k * elements.word_bytes
    return nbytes <= COLUMNS_OF_A or shape.n <= 3 * elements.lanes(target)


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


def _pieces(shape, schedule, threads, work, most_columns, wide: bool) -> dict:
    """Spans of one piece and the blocks inside it.

    Splitting columns first packs each column of b once; packed rows of a want long rows of blocks.
    """
    m, n, batch = shape.m, shape.n, shape.batch
    wanted = 1
    if threads > 1:
        most = 4 * threads if schedule.packs and batch == 1 else 8 * threads
        wanted = max(1, min(work // PIECE_FLOPS, most))
    parts = -(-wanted // batch)
    width = schedule.vectors * schedule.lanes if schedule.tail_rows else n
    steps = (width, schedule.lanes) if schedule.tail_rows else (width,)
    if schedule.b == "columns":
        row_span = max(even(m, -(-m // parts), COLUMN_GROUP), 2 * COLUMN_GROUP)
        column_parts = -(-parts // -(-m // row_span))
        column_span = max(even(n, -(-n // column_parts), width), 2 * width)
    elif schedule.a == "rows":
        least = 2 * width
        column_span = max(_balanced(n, parts, steps, least, threads if batch == 1 else 1), least)
        column_parts = -(-n // column_span)
        row_parts = min(-(-parts // column_parts), max(m // (256 if column_parts > 1 else 64), 1))
        row_span = even(m, -(-m // row_parts), COLUMN_GROUP)
    else:
        row_span, column_span = _shares(shape, parts, steps, threads, schedule.elements.group)
    row_block = row_span
    if schedule.packs:
        is_shallow = shape.k <= SHALLOW and not wide
        most_rows = ROWS_OF_SHALLOW if is_shallow else MOST_ROWS
        row_block = even(min(row_span, m), most_rows, COLUMN_GROUP)
    column_block = column_span
    if schedule.packs and schedule.tail_rows:
        column_block = even(min(column_span, n), most_columns, width)
    return {
        "group": -(-batch // wanted), "row_span": row_span, "column_span": column_span,
        "row_block": row_block, "column_block": column_block,
    }  # fmt: skip


def _balanced(n, parts, steps, least, threads) -> int:
    """Columns of a piece, a multiple of one of the steps (those of a tile and of a vector): of
    `parts` pieces or up to three times as many (fewer where they would be narrow), such that the
    busiest thread has least to do; of those such that one slow thread delays least, and as wide as
    may be. (1024 columns of eight pieces are seven of 144 and one of 16 where tiles have 24: two
    threads had 4 and 3.1 of them. 256 columns are twice 128, but 144 and 112 by pieces of 48: .92
    of the time. 15 pieces of 72 take .98 of what 8 of 128 do, whose threads had 5 and 3.)"""
    width, room = steps[0], n // least
    fewest = parts if room >= parts else max(min(parts, threads), room // 2)
    counts = range(max(fewest, 1), 3 * parts + 1)
    spans = {max(even(n, -(-n // count), step), least) for count in counts for step in steps}
    effort = functools.partial(_effort, width=width)

    def busiest(span):
        whole, left = divmod(n, span)
        rounds, alone = divmod(whole, threads)
        return rounds * effort(span) + effort(span if alone else left)

    def beside_a_slow_one(span):
        whole, left = divmod(n, span)
        done = lambda rounds: (threads - 1) * rounds + int(SLOW * rounds) - whole
        rounds = int(whole / (threads - 1 + SLOW))
        while done(rounds) < 0:
            rounds += 1
        return rounds * effort(span) + (0 if done(rounds) else effort(left))

    best = min(map(busiest, spans))
    good = {span: beside_a_slow_one(span) for span in spans if busiest(span) <= 1.02 * best}
    return max(span for span, time in good.items() if time <= 1.02 * min(good.values()))


def _effort(columns, width) -> float:
    """What is left of a tile is done by vectors."""
    return columns + (COLUMN_ALONE - 1) * (columns % width)


def _shares(shape, parts, steps, threads, group) -> tuple[int, int]:
    """(rows, columns) of a piece, of which there are at most so many `parts`, where each packs its
    own of both: such that the busiest thread has least to do, and then as many as may be, so that
    one slow thread delays little."""
    m, n, width = shape.m, shape.n, steps[0]
    columns_of = [
        {even(n, -(-n // count), step) for step in steps}
        for count in range(1, min(parts, max(1, n // (2 * width))) + 1)
    ]
    found = {}
    for row_parts in range(1, min(parts, max(1, m // LEAST_ROWS)) + 1):
        rows = even(m, -(-m // row_parts), COLUMN_GROUP)
        for columns in set().union(*columns_of[: parts // row_parts]):
            pieces = -(-m // rows) * -(-n // columns)
            rounds = -(-shape.batch * pieces // threads)
            packing = group * (PACKING * rows + PACKING_OF_LINES * columns)
            found[pieces, rows, columns] = rounds * (rows * _effort(columns, width) + packing)
    least = min(found.values())
    _, rows, columns = max(share for share, time in found.items() if time <= 1.03 * least)
    return rows, columns


def _rooms(schedule, rows, columns, depth) -> dict:
    """Where a piece's packed a, packed b and waiting sums are in its part of the workspace."""
    elements, lanes = schedule.elements, schedule.lanes
    words = -(-depth // elements.group)
    padded_rows = round_up(rows, COLUMN_GROUP)
    padded_columns = round_up(columns, lanes) + (schedule.vectors - 1) * lanes
    a_bytes = {"rows": 0, "m": padded_rows * words}.get(schedule.a, padded_rows * schedule.pitch)
    b_bytes = 0 if schedule.b == "columns" else padded_columns * words
    pitch, sums = 0, 0
    if schedule.blocked and schedule.sums == "workspace":
        pitch = padded_columns
        tiles = (COLUMN_GROUP, schedule.rows, schedule.tail_rows or 1)  # all rows of one wait
        sums = max(round_up(rows, tile) for tile in tiles) * pitch * nbytes_of(elements.acc)
    a_bytes = round_up(a_bytes * elements.word_bytes, 64)
    b_bytes = round_up(b_bytes * elements.word_bytes, 64)
    return {
        "b_offset": a_bytes,
        "sum_offset": a_bytes + b_bytes,
        "sum_pitch": pitch,
        "piece_bytes": a_bytes + b_bytes + round_up(sums, 64),
    }
