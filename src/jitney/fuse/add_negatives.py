"""Differences from what a loop does not change, as sums with its negative.

In: a scheduled kernel and its live expressions. Out: x - m, where x is loaded for this alone and m
is the same in all turns of the innermost loop, is x + (-m): an addition takes an operand from
memory at either side, a difference only what is subtracted. It is an instruction less of each
vector, of some 20 of an exponential's distance, with AVX2. (On a rented Zen 3 log-sum-exp's loop of
20.5 instructions a vector took 7.9 cycles, one of 16.3 with the same arithmetic 6.3.) Only beside
exponentials and the like: where little else is done LLVM then keeps sums on the stack (layer norm
of 64 x 1024, which waits for them, takes 1.2 of the time).
Keeps: every bit; a difference is regarded as that sum (IEEE 754, 6.3).
"""

from ..ir.target import CpuTarget
from .bound_exponentials import count_uses
from .kernel import Expr, Kernel, append_expression
from .pipeline_rows import is_heavy


def add_negatives(kernel: Kernel, used: list[Expr], target: CpuTarget) -> list[Expr]:
    """See the module's text; returns the live expressions, operands first."""
    if not target.has_dear_masks or kernel.lane == "none" or not is_heavy(used):
        return used
    inner = _inner_variables(kernel)
    found: list[Expr] = []
    negatives: dict[int, Expr] = {}
    for x in used:
        if x.op == "sub" and x.dtype in ("f32", "f64"):
            element, fixed = x.args
            is_alone = element.op == "load" and count_uses(kernel, used, element) == 1
            if is_alone and element.variables & inner and not fixed.variables & inner:
                if fixed.id not in negatives:
                    negatives[fixed.id] = append_expression(kernel, found, "neg", fixed)
                x.op, x.args = "add", (element, negatives[fixed.id])
        found.append(x)
    return found


def _inner_variables(kernel: Kernel) -> set[int]:
    """Of the loops of stages, in which most of the time is spent."""
    return {loop.variable for stage in kernel.stages for loop in stage.loops}
