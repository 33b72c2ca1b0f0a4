"""Stencils across planes that are one run each go through blocks of these runs.

In: a scheduled kernel that may be blocked, and its live expressions. Out: where it has one or two
loops over rows, and what is read of neighbouring planes is too much for the first cache
(block_rows.py says why), the same kernel with a loop over parts of the runs outside that over
planes. Planes that are one run with the others, as those of u[1:] - u[:-1] are, become rows again.
Keeps: the meaning.
"""

import math

from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from .block_rows import bytes_met, cut_planes, longest_part, split_row
from .kernel import Expr, Kernel

LEAST_RUN, RUN_STEPS = 512, (64, 16, 8)  # elements of a part: whole turns, vectors or half ones
FEW_PLANES = 4
# Of what is read and written: less may stay in the second caches of some threads, which hold a part
# of each plane worse than whole ones (64 x 64 x 64 by two threads: 12 us, 18 in blocks). More than
# most of a third cache comes from memory, in long runs sooner (16 x 480 x 640: 1.1 to 1.2).
SECOND_CACHES = 4
FIRST_CACHES = 4  # what planes are met must be so many times as much as one


def block_runs(kernel: Kernel, used: list[Expr], target: CpuTarget) -> None:
    """See the module's text."""
    row = kernel.rows[-1]
    if len(kernel.rows) > 2 or kernel.borders:
        return
    if any(x.op == "index" and row.variable in x.variables for x in used):
        return  # what an element is depends on where it is in its row
    if not SECOND_CACHES * target.l2_bytes <= _bytes(kernel, used) <= target.far_bytes * 3 // 4:
        return
    extent = row.extent if len(kernel.rows) == 2 else _apart(kernel, used)
    if extent == 0 or row.extent % extent or _elements(kernel) < FEW_PLANES * extent:
        return
    length = _length(kernel, used, extent, target)
    if length:
        _split(kernel, used, extent, length)


def _split(kernel: Kernel, used: list[Expr], extent: int, length: int) -> None:
    plane, row = kernel.rows[0], kernel.rows[-1]
    if len(kernel.rows) == 1:
        plane, row = split_row(kernel, used, row, extent)
    block, row = split_row(kernel, used, row, length)
    *parts, plane = cut_planes(kernel, used, plane)
    kernel.rows = [*parts, block, plane, row]


def _length(kernel: Kernel, used: list[Expr], extent: int, target: CpuTarget) -> int:
    """Elements of a part of a plane of so many, or 0."""
    plane, row = kernel.rows[0].variable, kernel.rows[-1].variable
    is_flat = plane == row
    step = lambda steps: extent * steps.get(row, 0) if is_flat else steps.get(plane, 0)
    count = bytes_met(kernel, used, kernel.rows[-1], step)
    if count * extent < FIRST_CACHES * target.l1_bytes:
        return 0
    most = target.l1_bytes // count
    return next(filter(None, (longest_part(extent, most, LEAST_RUN, n) for n in RUN_STEPS)), 0)


def _apart(kernel: Kernel, used: list[Expr]) -> int:
    """How many elements planes have that are one run: what is read of one buffer lies so many
    apart, or multiples of that; else 0."""
    (row,) = kernel.rows
    found: dict[tuple, set[int]] = {}
    for x in used:
        if x.op == "load":
            buffer, (start, terms) = x.attrs
            found.setdefault((buffer, terms), set()).add(start)
    apart = 0
    for (_, terms), starts in found.items():
        if len(starts) > 1:
            if terms != ((row.variable, 1),):
                return 0
            first = min(starts)
            apart = math.gcd(apart, *(start - first for start in starts))
    return apart


def _elements(kernel: Kernel) -> int:
    return math.prod(lo.extent for lo in kernel.rows)


def _bytes(kernel: Kernel, used: list[Expr]) -> int:
    """Of all that is read and written, about."""
    buffers = {x.attrs[0] for x in used if x.op == "load"} | {s.buffer for s in kernel.stores}
    return _elements(kernel) * sum(nbytes_of(kernel.buffers[b][0]) for b in buffers)
