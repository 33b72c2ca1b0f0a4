"""Stages that look for the place of the greatest or least element by blocks
(codegen/find_best.py).

In: a scheduled kernel. Out: `by_blocks` is set of a stage's one reduction where it is an argmax or
argmin of floats along long rows: one loop asks which block of vectors has the best element, and
that block is compared with it. Integers take one comparison less in the plain loop, and gain
nothing; where masks are dear, rows of a few hundred numbers lost a tenth.
Keeps: every place, also of NaN and of equal elements.
"""

from ..ir.target import CpuTarget
from ..ir.types import kind_of
from . import affine as af
from .kernel import Kernel, Stage, Stream

LEAST_ELEMENTS = 64  # of a row: a block of float32


def find_by_blocks(kernel: Kernel, target: CpuTarget) -> None:
    """See the module's text."""
    if not target.avx512 or kernel.lane != "stage" or kernel.small or kernel.turned:
        return
    if kernel.staggered or kernel.pipelined or kernel.stream == Stream.PARTS:
        return
    for stage in kernel.stages:
        if _looks_for_a_place(stage):
            stage.reductions[0].by_blocks = True


def _looks_for_a_place(stage: Stage) -> bool:
    """Whether a stage does nothing else, along one long loop."""
    if len(stage.reductions) != 1 or stage.reductions[0].index is None:
        return False
    if stage.stores or stage.saves or stage.carried or stage.test is not None:
        return False
    (loop, *others) = stage.loops
    (reduction,) = stage.reductions
    if reduction.index != af.variable(loop.variable) or kind_of(reduction.expr.dtype) != "f":
        return False
    length = loop.chunk if loop.chunk_row is not None else loop.extent
    return not others and length >= LEAST_ELEMENTS
