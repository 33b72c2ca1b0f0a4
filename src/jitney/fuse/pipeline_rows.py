"""Kernels whose rows go through their stages in a pipeline (codegen/row_pipeline.py).

In: a scheduled kernel and its live expressions. Out: `pipelined` is set where that pays: one loop
does a stage of each of two or three rows, so that no stage waits for the results of the one before,
and memory, additions, products and quotients go on beside one another.
Keeps: every value, but for the order of sums.
"""

import math

from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from .affine import coefficient_of
from .guess_greatest import may_guess
from .kernel import Expr, Kernel, Stream
from .pipeline_bytes import bytes_in_pipeline

STAGES = (2, 3)
LEAST_ELEMENTS = 100  # of a row: shorter ones are turned
# Of columns, and of elements down them (in turns, a Zen 5, two threads: layer norm down 48 of 10000
# 32 to 23 us, softmax 38 to 26, down 8 5.3 to 3.6 and 5.4 to 4.9; with AVX2 down 48 35 to 34, 81 to
# 66).
LEAST_COLUMNS, LEAST_DOWN = 256, 8
COPIES = 2  # vectors of columns side by side: the accumulators of all stages stay in registers
# Where rows lie multiples of 4 KiB apart, what the first stage has read is in no cache but the last
# when the second one reads it: the sets it shares have no room for a column. Then the more lines
# of a row are met together, the better, though accumulators leave the registers (a Zen 5, two
# threads, in turns, us: layer norm down 1024 x 1024 182, by four vectors 113, by eight 83; log
# softmax 174, 105, 101; x / max 96, 95, 56; softmax, whose exponentials are saved, 131, 99, 117;
# log-sum-exp 70, 69, 67 and of 256 x 4096 72, 41, 45; 1000 x 1000 80, 88, 88). AVX2 has half the
# registers, and gains where few are needed.
COPIES_IN_SETS, MANY_IN_SETS, MOST_SUMS = 4, 8, 3
PAGE = 4096
# Of all rows in the pipeline: those of the first cache; of the second, where an operation so costly
# leaves the time to wait for it; and what comes from memory, where rows are read sooner alone (a
# Zen 4, two threads, one after the other, cycles a vector in a pipeline and alone: softmax of 8 MiB
# 8.9, 15 to 18, of 16 MiB 12 to 15, 22 to 26; log-sum-exp of 32 MiB 8.0, 10.2, of 64 MiB 13.4,
# 12.6).
# A Zen 5, whose second cache is of 1 MiB, one thread and two, by turns: softmax of 64 x 16400, of
# which a pipeline has 257 KiB, .61 and .63 of the time, of 32 x 50257 .61 and .68 (where 256 KiB
# were the most).
NEAR_BYTES, HEAVY = 32 << 10, 10
MEMORY_BYTES = 96 << 20
# Rows that a pipeline of columns asks for before it reads them. From memory eight: its latency is
# several rows long. In the caches three: of rows that lie 4 KiB apart, which two stages read and
# one writes, a set of the first cache has room for eight lines (softmax of the columns of 1024 x
# 1024 by one thread of a Zen 4: 16.5 to 17 cycles a vector with eight, 14.1 to 14.8 with three; of
# 4096 x 4096 29 and 36; one after the other). Of such rows it is one less, which the kernel finds
# when it runs (in turns, two threads: 1024 x 1024 114 us with two, 118 with three; 512 x 1024 55
# and 60; 1000 x 1000 110 and 107).
AHEAD_IN_CACHES, AHEAD_IN_MEMORY = 3, 8
# With AVX2, where 32 columns, with what is saved of them, fill a quarter of the second cache: rows
# come from the third at best. (A Zen 3, one thread, by turns, softmax of columns with a guess, in
# shares of the time without one and three rows ahead: 1024 x 1024 with three rows 1.40, six .56,
# twelve .43, 24 .71; 1000 x 1000 1.15, 1.13, .77, .95. 200 x 4000, which do not, takes 3 to 5 %
# more with twelve.)
AHEAD_BESIDE_SAVED, BESIDE = 12, 32
COLUMNS_IN_CACHES = 32 << 20  # bytes in the pipelines of all columns


def pipeline_rows(kernel: Kernel, used: list[Expr], target: CpuTarget) -> None:
    """See the module's text."""
    kernel.pipelined = _is_possible(kernel, used) and _is_worth(kernel, used, target)
    if kernel.pipelined:
        kernel.copies = _copies(kernel, used, target)
        if kernel.lane == "row":
            kernel.ahead = _ahead(kernel, used, target)


def _ahead(kernel: Kernel, used: list[Expr], target: CpuTarget) -> int:
    """How many rows further down are asked for."""
    nbytes = bytes_in_pipeline(kernel, used)  # of a column
    if kernel.saved and not target.avx512 and nbytes * BESIDE >= target.l2_bytes // 4:
        return AHEAD_BESIDE_SAVED
    columns = math.prod(loop.extent for loop in kernel.rows)
    return AHEAD_IN_CACHES if nbytes * columns < COLUMNS_IN_CACHES else AHEAD_IN_MEMORY


def _copies(kernel: Kernel, used: list[Expr], target: CpuTarget) -> int:
    """How many vectors of columns go down side by side; 1: as many as codegen sees fit."""
    if kernel.lane != "row" or not _share_sets(kernel, used):
        return min(kernel.copies, COPIES)
    if kernel.saved:
        return min(kernel.copies, COPIES_IN_SETS)
    sums = sum(len(stage.reductions) for stage in kernel.stages)
    if not target.avx512 or sums > MOST_SUMS:
        return 1
    return MANY_IN_SETS if kernel.stages[-1].stores else COPIES_IN_SETS


def _share_sets(kernel: Kernel, used: list[Expr]) -> bool:
    """Whether the rows that the first stage goes down lie multiples of 4 KiB apart."""
    down = kernel.stages[0].loops[0].variable
    steps = [
        coefficient_of(x.attrs[1], down) * nbytes_of(kernel.buffers[x.attrs[0]][0])
        for x in used if x.op == "load" and down in x.variables
    ]  # fmt: skip
    return any(steps) and all(step % PAGE == 0 for step in steps)


def _is_possible(kernel: Kernel, used: list[Expr]) -> bool:
    stages = kernel.stages
    if kernel.lane == "none" or kernel.small or kernel.turned or len(stages) not in STAGES:
        return False
    if kernel.tile is not None or kernel.borders or kernel.near or kernel.sweep or kernel.jumps:
        return False
    if kernel.early and kernel.saved and kernel.lane == "stage":
        return False  # a row would read again where the next one has saved already
    if kernel.stream == Stream.PARTS or any(mode == "inout" for _, mode in kernel.buffers):
        return False
    if not all(_is_plain(stage) for stage in stages) or not kernel.rows:
        return False
    return len({stage.loops[0].extent for stage in stages}) == 1 and _hands_on(kernel, used)


def _is_plain(stage) -> bool:
    if stage.carried or stage.test is not None or len(stage.loops) != 1:
        return False
    return stage.loops[0].chunk_row is None


def _hands_on(kernel: Kernel, used: list[Expr]) -> bool:
    """Whether what a stage saves is read by the next one only: there is one row of it."""
    saved_by = {n: s for s, stage in enumerate(kernel.stages) for n, _, _ in stage.saves}
    stage_of = {stage.loops[0].variable: s for s, stage in enumerate(kernel.stages)}
    for x in used:
        if x.op == "saved":
            reads = [stage_of[v] for v in x.variables if v in stage_of]
            if reads != [saved_by[x.attrs[0]] + 1]:
                return False
    return True


def is_heavy(used: list[Expr]) -> bool:
    """Whether there is an operation so costly that it leaves the time to wait for others."""
    return any(x.cost - sum(a.cost for a in x.args) >= HEAVY for x in used)


def _lie_side_by_side(kernel: Kernel, used: list[Expr]) -> bool:
    """Whether columns are neighbours in memory in all that is read and stored of them."""
    column = kernel.rows[-1].variable
    stores = [*kernel.stores, *[store for stage in kernel.stages for store in stage.stores]]
    places = [x.attrs[1] for x in used if x.op == "load"] + [store.position for store in stores]
    return all(coefficient_of(place, column) in (0, 1) for place in places)


def _is_worth(kernel: Kernel, used: list[Expr], target: CpuTarget) -> bool:
    elements = kernel.stages[0].loops[0].extent
    if kernel.lane == "row":
        least = LEAST_DOWN if _lie_side_by_side(kernel, used) else LEAST_ELEMENTS
        return elements >= least and kernel.rows[-1].extent >= LEAST_COLUMNS
    if elements < LEAST_ELEMENTS:
        return False
    rows = math.prod(loop.extent for loop in kernel.rows)
    nbytes = bytes_in_pipeline(kernel, used)
    heavy = is_heavy(used)
    if heavy and not target.avx512 and not may_guess(kernel, used, target):
        return False  # sixteen registers (in turns, a Zen 3, two threads: entropy of 1024 x 1024
        # 495 us, in a pipeline 588; softmax 226, 233, of bfloats 621, 609, with a mask 277, 261)
    if kernel.stream:
        return heavy and nbytes <= NEAR_BYTES
    most = target.l2_bytes if heavy else NEAR_BYTES
    return nbytes * rows < MEMORY_BYTES and nbytes <= most
