"""How a kernel's rows are cut into pieces for the thread pool.

In: a kernel and its estimated cost. Out: (parameters of the pieces, which follow the slots; number
of pieces; pieces a call). The pieces depend on sizes only, never on the number of threads.
"""

import math

PARALLEL_NS = 40000.0  # less work than this stays on the calling thread (waking one costs ~5 µs)
PIECE_NS = 20000.0
MAX_PIECES = 64
SHORT, LOCAL = 16, 2048
LEAST_CUT = 512  # elements of a row that is cut for the sake of threads
FEW_ROWS = 32  # in a pipeline a piece should have more: its ends cost a row's cheapest stages
SWEPT = 2048  # columns whose accumulators stay in the first cache
# Groups of rows that need not be cut between columns: whole rows follow one another in memory (a
# Zen 1, two threads: sums of the columns of 2000 x 1000 .75 of the time, of 4096 x 1024 .59).
ENOUGH_SWEPT = 8


def count_parameters(kernel) -> int:
    """How many parameters say what a piece is."""
    if kernel.lane != "row":
        return 0
    return 1 if kernel.tile is None else 2


def may_be_joined(kernel) -> bool:
    """Whether pieces that follow one another are sooner done by one call: in a pipeline each call
    does a row's cheapest stages twice (softmax of 1024 x 1024 by calls of 16 rows 8.8 cycles a
    vector of a Zen 4, by one call 8.3), and columns' first and last stages alone, the last of which
    only writes (softmax down 1024 x 1024 .86 of the time by two threads of a Zen 5, .79 by one). A
    row has the same results in any call."""
    return kernel.pipelined and (kernel.lane == "stage" or len(kernel.rows) == 1)


def cut_pieces(kernel, cost: float, lanes: int) -> tuple[tuple[int, ...], int, int]:
    """See the module's text."""
    wanted = 1 if cost < PARALLEL_NS else int(min(MAX_PIECES, max(2, cost // PIECE_NS)))
    rows = math.prod(lo.extent for lo in kernel.rows)
    if kernel.lane == "none":
        return (), rows, max(1, rows)
    if kernel.lane == "stage":
        if kernel.pipelined:
            wanted = min(wanted, max(1, rows // (2 if rows < FEW_ROWS else 4)))
        return (), rows, max(1, -(-rows // wanted))
    if kernel.tile is not None:
        return _cut_tiles(kernel, wanted)
    outer = math.prod(lo.extent for lo in kernel.rows[:-1])
    extent = kernel.rows[-1].extent
    short = any(lo.extent < SHORT for lo in kernel.rows[:-1])
    chunks = 1
    if short and extent > LOCAL:  # all of the short axes for one stretch of the long one: locality
        chunks = -(-extent // LOCAL)
    elif outer < (min(wanted, ENOUGH_SWEPT) if kernel.sweep else wanted) and extent >= LEAST_CUT:
        chunks = -(-wanted // outer)
    chunk, grain = extent, 256
    if kernel.sweep:  # runs of memory, and accumulators that stay in the first cache
        chunks, grain = max(chunks, -(-extent // SWEPT)), 512
    if any(s.carried for s in kernel.stages):  # whole loops in lanes: a few vectors are much work
        grain = 2 * lanes
        chunks = min(wanted, max(1, extent // grain))
    if chunks > 1:
        chunk = -(-extent // chunks)
        chunk = -(-chunk // grain) * grain
    chunks = -(-extent // chunk) if chunk else 1
    pieces = outer * chunks
    return (chunk,), pieces, max(1, -(-pieces // wanted))


def _cut_tiles(kernel, wanted: int) -> tuple[tuple[int, ...], int, int]:
    """Strips of tiles, those of one row of tiles cut where there are few rows: the parameters are
    the rows of tiles and a strip's length."""
    across, extent = kernel.tile.length, kernel.rows[-1].extent
    blocks = -(-kernel.rows[-2].extent // kernel.tile.side)
    strips = blocks * math.prod(lo.extent for lo in kernel.rows[:-2])
    parts = max(1, min(-(-extent // across), -(-wanted // max(1, strips))))
    length = -(-extent // (parts * across)) * across
    pieces = strips * -(-extent // length) if length else 0
    return (blocks, length), pieces, max(1, -(-pieces // wanted))
