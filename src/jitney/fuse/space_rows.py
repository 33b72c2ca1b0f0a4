"""Rows in a pipeline whose stages are two rows apart (codegen/row_pipeline.py).

In: a kernel whose rows may be in a pipeline, and its live expressions. Out: `apart` is 2 where it
pays: what a stage has found of a row is not wanted before a turn later. A sum is folded in four
steps of 7 cycles, its quotient takes 13 and to have it in all lanes 4: of short rows a stage would
be half done in these. (A Zen 5, one thread and two, by turns: softmax of rows of 128 .82 and .79 of
the time, of 256 .89 and .88, of 512 .92 and .91, of 1024 .96 and 1.01; its logarithm .84 and .84,
.93 and .91, .87 and .85, .96 and .95; the logarithm of variances .89 to .98; layer norm of 128 and
256 .91 to .96.) More rows have to stay in the first cache: rows of 2048 take 1.2 to 1.7, and where
little is computed, so that memory is what rows wait for, those of 1024 1.03.
Keeps: every bit.
"""

from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from .kernel import Expr, Kernel
from .pipeline_rows import is_heavy

HEAVY_PART, LIGHT_PART = 2, 6  # of the first cache rows may be one so many-th


def space_rows(kernel: Kernel, used: list[Expr], target: CpuTarget) -> None:
    """See the module's text."""
    if not kernel.pipelined or kernel.lane != "stage" or _is_known_before(kernel):
        return
    heavy = is_heavy(used)
    if heavy or _ends_wait(kernel):
        most = target.l1_bytes // (HEAVY_PART if heavy else LIGHT_PART)
        kernel.apart = 2 if _bytes_in_rows(kernel, used) <= most else 1


def _is_known_before(kernel: Kernel) -> bool:
    """Whether all that a stage waits for is a guess, which is known a turn before."""
    guessed = any(r.guessed for r in kernel.stages[0].reductions)
    return guessed and len(kernel.stages) == 2


def _ends_wait(kernel: Kernel) -> bool:
    """Whether there is more than a sum that all elements of a row wait for."""
    return len(kernel.stages) > 2 or bool(kernel.stages[-1].reductions)


def _bytes_in_rows(kernel: Kernel, used: list[Expr]) -> int:
    """Of all rows that are read, or saved, again, or stored, were stages two rows apart."""
    rows: dict[int, int] = {}  # by buffers
    first: dict[int, int] = {}
    for s, stage in enumerate(kernel.stages):
        variable = stage.loops[0].variable
        for x in used:
            if x.op == "load" and variable in x.variables:
                number = x.attrs[0]
                rows[number] = 1 + 2 * (s - first.setdefault(number, s))
    elements = sum(nbytes_of(kernel.buffers[n][0]) * count for n, count in rows.items())
    for stage in kernel.stages:
        elements += sum(2 * nbytes_of(x.dtype) for _, _, x in stage.saves)
        elements += sum(nbytes_of(kernel.buffers[store.buffer][0]) for store in stage.stores)
    return elements * kernel.stages[0].loops[0].extent
