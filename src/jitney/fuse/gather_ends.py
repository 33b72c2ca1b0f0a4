"""Kernels in which what is made of rows' results is made of several rows at a time
(codegen/ends_in_vectors.py).

In: a kernel of two stages whose rows are in a pipeline, and its live expressions. Out: `gathered`
is set where it pays: the results of as many rows as there are lanes wait for one another. A
logarithm is some 60 instructions, for one number as for a vector of them (a Zen 3, one thread, data
in the first cache, log-sum-exp of rows of 64 .85 of the time, 128 .89, 512 .94, 1024 .96). Two rows
do not go side by side (pair_rows.py) where ends are gathered: of 128 elements they take 12.1 cycles
a vector, one row 11. On an Emerald Rapids they are the better way from 1024 elements on (rows of 64
.98 of the time of pairs, 128 .91, 256 .97, 512 .95, 1024 1.08, 2048 1.10), on a Zen 5 nowhere (one
thread and two, by turns: rows of 600 .96 and .97, 768 .97 and .93, 1024 .97 and .94, 2048 .98 and
.91).
Where the greatest of rows is guessed, and a processor begins four vector instructions a cycle, rows
are `in_blocks`: guesses and sums of sixteen are folded together (codegen/row_blocks.py), if rows
are short, or in the caches and not long. (A Zen 5, by turns, processes begun anew, two threads and
one: 9615 x 104 .73 and .73 of the time, 8192 x 128 .69 and .67, 4096 x 256 .77 and .74, 2000 x 500
.88 and .78, 1024 x 1024 .99 and .96, 300 x 3500 .98 and .96, 256 x 4096 1.00 and .99; from memory
40,000 x 256 .85 and .85, 16,384 x 1024 1.02 and 1.06, 4096 x 4096 1.02 and 1.01.)
Keeps: every bit but of sums, which two rows side by side add in another order.
"""

from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from .kernel import Expr, Kernel
from .schedule import own_cost, stage_loops

LEAST = 12  # instructions of an end, about: a logarithm has them, a root and a quotient have not
MOST_ELEMENTS = 512  # of a row, with AVX-512 that begins fewer than four vectors a cycle
MOST_IN_BLOCKS, MOST_IN_CACHES = 256, 4096  # elements of a row, of any number and of those:
CACHED = 16 << 20  # bytes
WORD = 4  # bytes: of what a mask moves, which is off for rows that are not there


def gather_ends(kernel: Kernel, used: list[Expr], target: CpuTarget) -> None:
    """See the module's text."""
    kernel.gathered = (
        target.avx2
        and kernel.pipelined and kernel.lane == "stage"
        and len(kernel.stages) == 2 and bool(kernel.stages[-1].reductions)
        and len(kernel.rows) == 1 and bool(kernel.stores)
        and _is_worth(kernel, used)
        and (_takes_any(target) or kernel.stages[0].loops[0].extent <= MOST_ELEMENTS)
    )  # fmt: skip
    is_fast = target.avx512 and target.vectors_a_cycle >= 4
    kernel.in_blocks = kernel.gathered and is_fast and _may_be_in_blocks(kernel, used)


def _takes_any(target: CpuTarget) -> bool:
    """Whether rows of any length gain."""
    return not target.avx512 or target.vectors_a_cycle >= 4


def _may_be_in_blocks(kernel: Kernel, used: list[Expr]) -> bool:
    """Whether all that is folded are numbers in float32, one of them a guess, and rows short."""
    first, second = [stage.reductions for stage in kernel.stages]
    near = {x.args[1].id for x in used if x.op == "exp_raised_near"}
    if len(first) != 1 or not first[0].guessed or len(near) != 1:
        return False
    if any(r.expr.dtype != "f32" or r.dtype != "f32" for r in (*first, *second)):
        return False
    if any(r.kind != "sum" or r.index is not None for r in second) or kernel.stream:
        return False
    extent = kernel.stages[0].loops[0].extent
    is_cached = kernel.rows[0].extent * extent * WORD <= CACHED
    return extent <= (MOST_IN_CACHES if is_cached else MOST_IN_BLOCKS)


def _is_worth(kernel: Kernel, used: list[Expr]) -> bool:
    inner = {loop.variable for loop in stage_loops(kernel)}
    of_rows = [x for x in used if not inner & x.variables]
    moved = [kernel.buffers[x.attrs[0]][0] for x in of_rows if x.op == "load"]
    moved += [kernel.buffers[store.buffer][0] for store in kernel.stores]
    if any(nbytes_of(code) < WORD for code in moved):
        return False
    ends: set[int] = set()  # what is computed of results
    for x in of_rows:
        if x.op == "reduced" or any(a.id in ends for a in x.args):
            ends.add(x.id)
    return sum(own_cost(x) for x in of_rows if x.id in ends) >= LEAST
