"""Kernels that ask for the lines of memory that they are about to write.

In: a scheduled kernel and its live expressions, after all that decides how it goes through memory.
Out: `asks_for_results` is set where that pays, where the third cache is far. A store waits for its
line, and those behind it wait, too: some 70 ns of a third cache, for as many lines as a processor
holds stores back for. Where one array is read and one is written along, the machine sees what comes
next; it does not where a loop does more at a time: the rows of a pipeline, or the neighbours of
stencils. (An Emerald Rapids, float32, by turns, one thread and two, least where others use the
third cache: softmax of the columns of 1024 x 1024 .31 to .71 and .59 to .78 of the time, of 1000 x
1000 .29 to .79 and .67 to .74; layer norm .70 to .96 and .91 to 1.09, of 1000 x 1000 .36 to .85 and
.79 to .96; x / max .76 to .84 and .79 to .94. Two threads: softmax of rows .75 to .91, five points
.88 to .98, seven of 128 x 128 x 128 .97; the sum of two arrays and gelu as before. Layer norm and
log-softmax down 256 x 300, which lie in the second cache, would take 1.17.)
Keeps: the meaning.
"""

import math

from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from .kernel import Expr, Kernel
from .schedule import stage_loops

SHARE = 4  # of the second cache: results that are smaller lie in it


def ask_for_results(kernel: Kernel, used: list[Expr], target: CpuTarget) -> None:
    """See the module's text."""
    is_plain = not kernel.stream and kernel.tile is None and not kernel.small
    kernel.asks_for_results = (
        target.has_far_third_cache and is_plain
        and (kernel.pipelined or _is_stencil(kernel, used))
        and SHARE * _bytes_written(kernel) >= target.l2_bytes
    )  # fmt: skip


def _is_stencil(kernel: Kernel, used: list[Expr]) -> bool:
    """Whether an array is read in several places."""
    read = [x.attrs[0] for x in used if x.op == "load"]
    return kernel.lane == "row" and not kernel.stages and len(set(read)) < len(read)


def _bytes_written(kernel: Kernel) -> int:
    """About, of all results: what stages write has the extents of their loops."""
    extents = {loop.variable: loop.extent for loop in (*kernel.rows, *stage_loops(kernel))}
    stores = [*kernel.stores, *[store for stage in kernel.stages for store in stage.stores]]
    return sum(
        nbytes_of(kernel.buffers[store.buffer][0])
        * math.prod(extents[atom] for atom, _ in store.position[1] if atom in extents)
        for store in stores
    )
