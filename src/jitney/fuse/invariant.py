"""Kernels of a loop's body that compute the same in every turn run once, before the loop.

In: the steps of a turn, and the places in memory that change between turns. Out: the kernels that
read nothing that changes, and the other steps, both in their order. Indices that a gather or a
scatter wants normalized are the usual case; what is fused into a kernel that changes stays there.
Keeps: every value. A place that more than one step writes, or that is read and written at once, is
not moved. All places of a body are alive throughout its loop, so none is used for something else.
"""

from collections import Counter

from .buffers import KernelStep
from .in_place import touched_roots


def split_invariant(aliases, steps: list, changing: set[int]) -> tuple[list, list]:
    """(steps to run before the loop, steps of a turn). `changing`: the state and the counter."""
    places = [touched_roots(aliases, step) for step in steps]
    writers = Counter(b for _, writes in places for b in writes)
    before, rest, known = [], [], set()
    for step, (reads, writes) in zip(steps, places, strict=True):
        fixed = not reads & changing and all(b in known or not writers[b] for b in reads)
        alone = not writes & changing and all(writers[b] == 1 for b in writes)
        if fixed and alone and _is_pure(step):
            before.append(step)
            known |= writes
        else:
            rest.append(step)
    return before, rest


def _is_pure(step) -> bool:
    """A kernel that only reads, and only writes, each of its buffers."""
    return isinstance(step, KernelStep) and all(
        mode != "inout" for _, mode in step.slotted.kernel.buffers
    )
