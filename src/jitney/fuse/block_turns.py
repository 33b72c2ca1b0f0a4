"""Counted loops whose steps all go along the same rows, each by itself: all turns of one block of
rows, then those of the next.

In: the steps of a turn, how often they run. Out: `Blocks` of rows, or None; and for each step, how
it is cut into them. Where a row of what the loop writes is read only by the steps' own row (`vmap`
of a loop over arrays: trees of prices, waves on strings), turns of one row need no other one's: a
block of rows stays in the first cache for all its turns, and threads meet once, not at each step.
Keeps: every bit; which blocks they are depends on sizes alone.

[Note: rows] A row is what one number of a kernel's outermost loop stands for, or, where that is its
only loop, several that follow one another. An array of n rows has `size / n` elements of each, and
an access stays in its row if that is how far rows are apart in its index, and the rest of the index
is within a row, for all numbers of the other loops of which the access's condition may hold.
"""

import math

from ..ir.target import CpuTarget
from . import affine as af
from .buffers import Blocks, CopyStep, KernelStep, touched
from .in_place import is_whole_copy, root_of
from .interior import condition_range
from .kernel import Expr, Kernel
from .pieces import MAX_PIECES, PARALLEL_NS, PIECE_NS, cut_pieces

SHARE_OF_CACHE = 0.75  # of the first one, for the rows of a block
# Estimates say some 25 times what it takes. A kernel's work in a block: its call takes 20 ns.
LEAST_CALL_NS = 3000.0
SHORT_TURN_NS = 4e5  # threads take as long to meet as to share it
FEW_BLOCKS, ENOUGH_BLOCKS = 4, 16  # for threads: of short turns, and of those they share as well
HEARD_NS = 2e8  # as often Ctrl-C is heard


def block_turns(aliases, steps: list, turns: int, target: CpuTarget) -> Blocks | None:
    """See the module's text."""
    rows = _common_rows(steps)
    if rows < FEW_BLOCKS or not _rows_are_apart(aliases, steps, rows):
        return None
    cost = sum(step.cost for step in steps)
    wanted = _wanted(rows, _bytes_of_row(aliases, steps, rows), cost * turns, target)
    most = cost / (LEAST_CALL_NS * len(steps))
    size = math.ceil(rows / max(1, min(rows, wanted, most)))
    number = math.ceil(rows / size)
    if number < (FEW_BLOCKS if cost < SHORT_TURN_NS else ENOUGH_BLOCKS):
        return None
    return Blocks(rows, size, number, max(1, int(HEARD_NS // cost)))


def cut_blocks(step, blocks: Blocks) -> tuple[tuple[int, ...], int, int]:
    """(parameters of a step's pieces, number of pieces, pieces a block); of a copy, of bytes."""
    if isinstance(step, CopyStep):
        return (), step.nbytes, step.nbytes // blocks.rows * blocks.size
    kernel = step.slotted.kernel
    if _runs_along_rows(kernel):
        length = kernel.rows[0].extent // blocks.rows
        return (blocks.size * length,), blocks.number, 1
    chunk, pieces, _ = cut_pieces(kernel, 0.0, 1)
    return chunk, pieces, pieces // blocks.rows * blocks.size


def _common_rows(steps) -> int:
    """Rows that all steps have; 0 if there are none, or pieces of one are not whole rows."""
    kernels = [step.slotted.kernel for step in steps if isinstance(step, KernelStep)]
    rows = min([k.rows[0].extent for k in kernels if k.rows], default=0)
    return rows if rows and all(_has_rows(step, rows) for step in steps) else 0


def _has_rows(step, rows: int) -> bool:
    if not isinstance(step, KernelStep):
        return is_whole_copy(step) and step.source[0].size % rows == 0
    kernel = step.slotted.kernel
    if kernel.lane == "none" or kernel.tile is not None or not kernel.rows:
        return False
    if any(s.carried or s.test is not None for s in kernel.stages):
        return False
    if any(lo.chunk_row is not None for s in kernel.stages for lo in s.loops):
        return False
    if _runs_along_rows(kernel):  # of a block they are fewer than a vector may need
        needs_vector = kernel.early or kernel.in_vectors or kernel.overlaps
        return kernel.rows[0].extent % rows == 0 and not needs_vector
    chunk, pieces, _ = cut_pieces(kernel, 0.0, 1)
    is_whole = all(length >= kernel.rows[-1].extent for length in chunk)
    return kernel.rows[0].extent == rows and pieces > 0 and pieces % rows == 0 and is_whole


def _runs_along_rows(kernel: Kernel) -> bool:
    """Whether vectors go along the only loop."""
    return kernel.lane == "row" and len(kernel.rows) == 1


def _rows_are_apart(aliases, steps, rows: int) -> bool:
    """Whether kernels reach what the steps write in their own rows only."""
    written = {root_of(aliases, b) for b in touched(steps)[1]}
    for step in steps:
        if not isinstance(step, KernelStep):
            continue  # whole arrays, row by row
        of_rows = {}
        for number, buffer in enumerate(step.buffers):
            if root_of(aliases, buffer.id) in written:
                if buffer.size % rows:
                    return False
                of_rows[number] = buffer.size // rows
        kernel = step.slotted.kernel
        for number, position, condition in _accesses(kernel, step.used):
            if number in of_rows and not _stays(kernel, position, condition, rows, of_rows[number]):
                return False
    return True


def _accesses(kernel: Kernel, used: list[Expr]):
    """(number of a buffer, position, condition) of all that is read and written."""
    for x in used:
        if x.op == "load":
            yield x.attrs[0], x.attrs[1], x.args[0] if x.args else None
    for store in [*kernel.stores, *[store for s in kernel.stages for store in s.stores]]:
        yield store.buffer, store.position, store.mask


def _stays(kernel: Kernel, position, condition, rows: int, length: int) -> bool:
    """See [Note: rows]; `length`: elements of the array's rows."""
    first, (constant, terms) = kernel.rows[0], position
    beside = first.extent // rows
    step = af.coefficient_of(position, first.variable)
    if step * beside != length or any(v < 0 for v, _ in terms):
        return False
    ranges = _ranges(kernel, condition)
    if any(start >= stop for start, stop in ranges.values()):
        return True  # it is never done
    ranges[first.variable] = 0, beside
    ends = [(f * ranges[v][0], f * (ranges[v][1] - 1)) for v, f in terms]
    return constant + sum(map(min, ends)) >= 0 and constant + sum(map(max, ends)) < length


def _ranges(kernel: Kernel, condition) -> dict[int, tuple[int, int]]:
    """Of all loops, where a condition may hold."""
    loops = [*kernel.rows, *[lo for stage in kernel.stages for lo in stage.loops]]
    extents = {lo.variable: lo.extent for lo in loops}
    ranges = {variable: (0, extent) for variable, extent in extents.items()}
    for c in _parts(condition):
        found = condition_range(c, extents)
        if found is not None:
            variable, start, stop = found
            low, high = ranges[variable]
            ranges[variable] = max(low, start), min(high, stop)
    return ranges


def _parts(condition: Expr | None) -> list[Expr]:
    """What must hold for a condition to hold."""
    if condition is None:
        return []
    if condition.op == "and" and condition.dtype == "b1":
        return [part for a in condition.args for part in _parts(a)]
    return [condition]


def _bytes_of_row(aliases, steps, rows: int) -> int:
    """Of all arrays that have a part for each row."""
    found: dict[int, int] = {}
    for step in steps:
        buffers = step.buffers if isinstance(step, KernelStep) else [step.source[0], step.target[0]]
        found |= {root_of(aliases, b.id): b.nbytes for b in buffers}
    return sum(nbytes // rows for nbytes in found.values() if nbytes % rows == 0)


def _wanted(rows: int, of_row: int, total: float, target: CpuTarget) -> int:
    """So many blocks that one fits the cache, and that threads have enough of them."""
    in_cache = math.ceil(rows * of_row / (SHARE_OF_CACHE * target.l1_bytes))
    for_threads = int(total / PIECE_NS) if total >= PARALLEL_NS else 1
    return max(in_cache, min(MAX_PIECES, for_threads))
