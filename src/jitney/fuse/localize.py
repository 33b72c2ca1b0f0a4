"""Kernels of a loop's body that stay on one thread, since their data are in that core's cache.

In: the steps of a turn. Out: the same, some of them marked as `alone`. Where one thread alone goes
through an array that fits its cache (a product of a vector and a small matrix, say) and a kernel
that others help with changes half of it, half of the array moves from core to core twice a turn:
that takes longer than the help saves. Gram-Schmidt's method on 256 x 256 numbers (float64) took
5.4 ms by two threads, 3.1 by one.
Keeps: every value; which steps they are depends on sizes alone.
"""

import math
from dataclasses import replace

from .buffers import KernelStep, NativeStep
from .in_place import root_of
from .pieces import PARALLEL_NS

LOCAL_BYTES = 1 << 20  # about a core's own cache
LEAST_BYTES = 1 << 15  # what is smaller moves quickly
MOST_NS = 4 * PARALLEL_NS  # estimated; more work than this is worth its moves


def localize(aliases, steps: list) -> list:
    """See the module's text."""
    local: set[int] = set()
    for step in steps:
        local |= {root_of(aliases, b.id) for b in _gone_through_alone(step)}
    return [_marked(aliases, step, local) for step in steps] if local else steps


def _gone_through_alone(step) -> list:
    """The arrays of which one thread reads or writes the greater part in this step."""
    if isinstance(step, NativeStep) and step.kernel is not None and step.extent <= step.grain:
        buffers, elements = [b for b, _ in step.refs], math.inf
    elif isinstance(step, KernelStep) and step.cost < PARALLEL_NS:
        buffers, elements = step.buffers, _elements(step.slotted.kernel)
    else:
        return []
    fits = [b for b in buffers if LEAST_BYTES <= b.nbytes <= LOCAL_BYTES]
    return [b for b in fits if elements >= b.size // 2]


def _elements(kernel) -> int:
    inner = [math.prod(lo.extent for lo in stage.loops) for stage in kernel.stages]
    return math.prod(lo.extent for lo in kernel.rows) * max([1, *inner])


def _marked(aliases, step, local: set[int]):
    if not isinstance(step, KernelStep) or not PARALLEL_NS <= step.cost <= MOST_NS:
        return step
    touched = {root_of(aliases, b.id) for b in step.buffers}
    nbytes = sum({b.id: b.nbytes for b in step.buffers}.values())
    return replace(step, alone=True) if touched & local and nbytes <= 2 * LOCAL_BYTES else step
