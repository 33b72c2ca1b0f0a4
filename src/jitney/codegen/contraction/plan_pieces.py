"""`plan_pieces`: the share of a product that one thread takes at a time, and the blocks inside it.

In: a `ContractionShape`, the schedule of its register tile and how many threads there are. Out: the
spans of rows and columns of a piece, of its blocks, and how many items of a batch it takes.
Invariant: results do not depend on these.
"""

import functools

from .steps import PIECE_FLOPS, SHALLOW, even
from .tiled import READ_AS_THEY_LIE

MOST_ROWS = 1024
# where sums are short, each row of c is soon needed again for the next columns: as many rows at a
# time as a small table of pages knows (a Zen 1; 2048 x 64 x 2048 .95 of the time, of 32 .84)
ROWS_OF_SHALLOW = 256
# What it costs a piece to pack its rows of a, as columns of the product, and its columns of b, as
# rows; more where a word is several elements, which are multiplied in its time. (Zen 3: with four
# pieces, not eight, a.T @ b of 1024 x 1024 x 1024 takes .88 of the time; an Emerald Rapids: bytes
# of 1024 x 1024 x 1024 .95 by four times as much.)
PACKING, PACKING_OF_LINES = 16, 16
# Fewer columns than so many of the narrowest piece are not two pieces, of which one would have most
# of them, where rows are many. (An Emerald Rapids, two threads: 256 x 256 x 100 .88 of the time,
# 256 x 256 x 160 .80.)
UNEVEN, ROWS_ENOUGH = 1.75, 128
LEAST_ROWS = 32  # of a piece that packs both
COLUMN_ALONE = 1.4  # time of a column outside of a tile: a load for each multiplication
# Operations from which on a piece may be as narrow as one tile: threads are seldom equally fast.
# (An Emerald Rapids, two threads: 512^3 .95, 1024^3 .96; 256^3 1.02 to 1.04.)
MUCH_WORK = 1 << 27
SLOW = 0.8  # how fast a thread may be on a machine that is shared, where the others are 1


def plan_pieces(shape, schedule, threads, work, most_columns, wide: bool) -> dict:
    """Spans of one piece and the blocks inside it.

    Splitting columns first packs each column of b once; packed rows of a want long rows of blocks.
    """
    m, n, batch, together = shape.m, shape.n, shape.batch, schedule.row_group
    wanted = 1
    if threads > 1:
        most = 4 * threads if schedule.packs and batch == 1 else 8 * threads
        wanted = max(1, min(work // PIECE_FLOPS, most))
    parts = -(-wanted // batch)
    steps = schedule.column_steps(n)
    width = steps[0]
    if schedule.b == "columns":
        row_span = max(even(m, -(-m // parts), together), 2 * together)
        column_parts = -(-parts // -(-m // row_span))
        column_span = max(even(n, -(-n // column_parts), width), 2 * width)
    elif schedule.a in READ_AS_THEY_LIE:
        least = width if work >= MUCH_WORK else 2 * width
        if n < UNEVEN * least and m >= ROWS_ENOUGH:
            column_span = n  # shared by rows
        else:
            column_span = _balanced(n, parts, steps, least, threads if batch == 1 else 1)
        column_span = max(column_span, least)
        column_parts = -(-n // column_span)
        row_parts = min(-(-parts // column_parts), max(m // (256 if column_parts > 1 else 64), 1))
        row_span = even(m, -(-m // row_parts), together)
    else:
        row_span, column_span = _shares(shape, parts, steps, threads, schedule)
    row_block = row_span
    if schedule.packs:
        is_shallow = shape.k <= SHALLOW and not wide
        most_rows = ROWS_OF_SHALLOW if is_shallow else MOST_ROWS
        row_block = even(min(row_span, m), most_rows, together)
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


def _shares(shape, parts, steps, threads, schedule) -> tuple[int, int]:
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
        rows = even(m, -(-m // row_parts), schedule.row_group)
        for columns in set().union(*columns_of[: parts // row_parts]):
            pieces = -(-m // rows) * -(-n // columns)
            rounds = -(-shape.batch * pieces // threads)
            packing = schedule.elements.group * (PACKING * rows + PACKING_OF_LINES * columns)
            found[pieces, rows, columns] = rounds * (rows * _effort(columns, width) + packing)
    least = min(found.values())
    _, rows, columns = max(share for share, time in found.items() if time <= 1.03 * least)
    return rows, columns
