"""Kernels whose loops do the ends of some vectors beside the beginnings of others
(codegen/staggered_loop.py).

In: a scheduled kernel and its live expressions. Out: `staggered` is set where it may pay: an
operation that is a long chain, of enough elements to make up for a loop that takes longer to
compile; `rolled` where the loop is so long that it needs no code for its ends
(codegen/rolled_loop.py, with figures). (Rows in a pipeline are staggered in any case.)
Keeps: every bit.
"""

import math

from ..ir.target import CpuTarget
from .kernel import Expr, Kernel, Loop

ENOUGH_ELEMENTS, ENOUGH_ROLLED = 1 << 18, 1 << 16
ENOUGH_IN_LOOPS, ENOUGH_ROLLED_IN_LOOPS = 1 << 14, 1 << 12  # of one that runs again in one call
LONG = 4  # own cost of an operation that is a chain, or takes long: quotients, roots, exponentials
ENOUGH_OF_A_ROW = 256  # vectors go along: what only begins, or only ends, is little of that
ROLLED_ROW = 1 << 12  # the same: some turns more are little


def stagger_turns(
    kernel: Kernel, used: list[Expr], target: CpuTarget, repeated: bool = False
) -> None:
    """See the module's text. `repeated`: it runs in a loop."""
    may_roll = _may_roll(kernel)
    if may_roll:
        enough = ENOUGH_ROLLED_IN_LOOPS if repeated else ENOUGH_ROLLED
    else:
        enough = ENOUGH_IN_LOOPS if repeated else ENOUGH_ELEMENTS
    kernel.staggered = (
        target.avx512
        and not (kernel.small or kernel.pipelined or kernel.turned or kernel.beside)
        and kernel.lane != "none" and kernel.tile is None
        and not any(mode == "inout" for _, mode in kernel.buffers)
        and _elements(kernel) >= enough and _row(kernel) >= ENOUGH_OF_A_ROW
        and not kernel.borders and any(x.cost - sum(a.cost for a in x.args) >= LONG for x in used)
    )
    kernel.rolled = kernel.staggered and may_roll


def _may_roll(kernel: Kernel) -> bool:
    """Vectors go along rows, or all of what is summed, which are long."""
    sums = any(stage.reductions for stage in kernel.stages)
    is_along = kernel.lane == "stage" and len(kernel.stages) == 1 if sums else kernel.lane == "row"
    return is_along and _row(kernel) >= ROLLED_ROW


def _elements(kernel: Kernel) -> int:
    inside = [math.prod(_extent(loop) for loop in stage.loops) for stage in kernel.stages]
    return math.prod(loop.extent for loop in kernel.rows) * max(inside, default=1)


def _row(kernel: Kernel) -> int:
    """Elements that vectors go along at a time."""
    if kernel.lane == "row":
        return kernel.rows[-1].extent
    return max(_extent(stage.loops[-1]) for stage in kernel.stages)


def _extent(loop: Loop) -> int:
    return loop.extent if loop.chunk_row is None else loop.chunk
