"""Counted loops whose steps all go along the same rows, each by itself: all turns of one block of
rows, then those of the next.

In: the steps of a turn, how often they run. Out: `Blocks` of rows, or None; the steps as they go
by these, and how each is cut into them. Where a row of what the loop writes is read only by the
steps' own row (`vmap` of a loop over arrays: trees of prices, waves on strings), turns of one row
need no other one's: a block of rows stays in the first cache for all its turns, and threads meet
once, not at each step.
Keeps: every value, but for the order of sums (where rows go in a pipeline, the first row of each
piece has another one); which blocks they are depends on sizes alone.

[Note: rows] A row is what one number of a kernel's outermost loop stands for, or, where that is its
only loop, several that follow one another. An array is n rows, or several times n (what a scan
stacks). An access stays in its row if what its loops reach besides is less than rows are apart, for
all numbers of which the access's condition may hold; what it takes from elsewhere (the number of a
turn) may only count the times of n rows. All accesses to an array have rows equally far apart.
Numbers that a turn makes for all rows (where a scan has come to from the end), each thread makes
for itself.
"""

import math
from dataclasses import replace

from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from . import affine as af
from .buffers import Blocks, CopyStep, KernelStep, step_buffers, touched
from .in_place import is_whole_copy, root_of
from .interior import condition_range
from .kernel import Expr, Kernel
from .number_slots import without_stream
from .pieces import MAX_PIECES, PARALLEL_NS, PIECE_NS, cut_pieces

SHARE_OF_CACHE = 0.75  # of the first one, for the rows of a block
# Estimates say some 25 times what it takes. A kernel's work in a block: its call takes 20 ns.
LEAST_CALL_NS = 3000.0
SHORT_TURN_NS = 4e5  # threads take as long to meet as to share it
FEW_BLOCKS, ENOUGH_BLOCKS = 4, 16  # for threads: of short turns, and of those they share as well
HEARD_NS = 1e9  # as often Ctrl-C is heard
MOST_OPERANDS, MOST_PRIVATE = 128, 8  # of all steps: as in csrc/program.h


def block_turns(aliases, steps: list, turns: int, state, target: CpuTarget) -> Blocks | None:
    """See the module's text; `state`: the buffers (numbers) that one turn hands to the next."""
    private = _private(aliases, steps, {root_of(aliases, b) for b in state})
    of_rows = [step for step in steps if not _is_number(step)]
    rows = _common_rows(of_rows)
    if sum(map(_operands, steps)) > MOST_OPERANDS or len(private) > MOST_PRIVATE:
        return None
    if rows < FEW_BLOCKS or len(of_rows) + len(private) != len(steps):
        return None
    if not _rows_are_apart(aliases, of_rows, rows):
        return None
    cost = sum(step.cost for step in steps)
    wanted = _wanted(rows, _bytes_of_row(aliases, steps, rows), cost * turns, target)
    most = cost / (LEAST_CALL_NS * len(steps))
    size = math.ceil(rows / max(1, min(rows, wanted, most)))
    number = math.ceil(rows / size)
    if number < (FEW_BLOCKS if cost < SHORT_TURN_NS else ENOUGH_BLOCKS):
        return None
    return Blocks(rows, size, number, max(1, int(HEARD_NS // cost)), tuple(private.values()))


def keep_in_caches(step):
    """The step, with stores that stay in the caches: the next turn reads what they leave."""
    if not isinstance(step, KernelStep):
        return step
    made = step.made()._replace(slotted=without_stream(step.slotted))
    return replace(step, made=lambda: made)


def cut_blocks(step, blocks: Blocks) -> tuple[tuple[int, ...], int, int]:
    """(parameters of a step's pieces, number of pieces, pieces a block); of a copy, of bytes."""
    if isinstance(step, CopyStep):
        return (), step.nbytes, step.nbytes // blocks.rows * blocks.size
    kernel = step.slotted.kernel
    if _is_number(step):
        return (), blocks.number, 1
    if _runs_along_rows(kernel):
        length = kernel.rows[0].extent // blocks.rows
        return (blocks.size * length,), blocks.number, 1
    chunk, pieces, _ = cut_pieces(kernel, 0.0, 1)
    return chunk, pieces, pieces // blocks.rows * blocks.size


def _operands(step) -> int:
    return len(step.buffers) if isinstance(step, KernelStep) else 2


def _is_number(step) -> bool:
    """Whether a step is a kernel that makes one number."""
    if not isinstance(step, KernelStep):
        return False
    kernel = step.slotted.kernel
    return kernel.lane == "none" and not (kernel.rows or kernel.stages) and len(kernel.stores) == 1


def _private(aliases, steps, state: set[int]) -> dict:
    """The numbers (buffers, by their place) that steps make in each turn anew, of one another and
    what the loop does not change."""
    found: dict = {}
    written = {root_of(aliases, b) for b in touched(steps)[1]}
    read: set[int] = set()
    for step in steps:
        reads, writes = ({root_of(aliases, b) for b in group} for group in step_buffers(step))
        if _is_number(step) and not reads & (written - found.keys()):
            for root in writes - read - state - found.keys():
                buffer = step.buffers[step.slotted.kernel.stores[0].buffer]
                if buffer.kind == "temp" and buffer.nbytes <= 8:
                    found[root] = buffer
        read |= reads
    return found


def _common_rows(steps) -> int:
    """Rows that all steps have; 0 if there are none, or pieces of one are not whole rows."""
    kernels = [step.slotted.kernel for step in steps if isinstance(step, KernelStep)]
    rows = min([k.rows[0].extent for k in kernels if k.rows], default=0)
    return rows if rows and all(_has_rows(step, rows) for step in steps) else 0


def _has_rows(step, rows: int) -> bool:
    if not isinstance(step, KernelStep):
        return is_whole_copy(step) and step.nbytes > 0 and step.source[0].size % rows == 0
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
    apart: dict[int, int] = {}  # bytes from one row of an array to the next
    for step in steps:
        if isinstance(step, CopyStep):
            for buffer in (step.source[0], step.target[0]):
                nbytes = apart.setdefault(root_of(aliases, buffer.id), step.nbytes // rows)
                if nbytes * rows != step.nbytes:
                    return False
            continue
        kernel = step.slotted.kernel
        for number, position, condition in _accesses(kernel, step.used):
            buffer = step.buffers[number]
            root = root_of(aliases, buffer.id)
            if root not in written:
                continue
            length = _apart(kernel, position, rows)
            if length <= 0 or buffer.size % (rows * length):
                return False
            nbytes = length * nbytes_of(buffer.code)
            if apart.setdefault(root, nbytes) != nbytes:
                return False
            if not _stays(kernel, position, condition, rows, length):
                return False
    return True


def _accesses(kernel: Kernel, used: list[Expr]):
    """(number of a buffer, position, condition) of all that is read and written."""
    for x in used:
        if x.op == "load":
            yield x.attrs[0], x.attrs[1], x.args[0] if x.args else None
    for store in [*kernel.stores, *[store for s in kernel.stages for store in s.stores]]:
        yield store.buffer, store.position, store.mask


def _apart(kernel: Kernel, position, rows: int) -> int:
    """Elements from one row to the next in an index."""
    first = kernel.rows[0]
    return af.coefficient_of(position, first.variable) * (first.extent // rows)


def _stays(kernel: Kernel, position, condition, rows: int, length: int) -> bool:
    """See [Note: rows]; rows are `length` elements apart."""
    first, (constant, terms), all_rows = kernel.rows[0], position, rows * length
    if any(v < 0 and factor % all_rows for v, factor in terms):
        return False
    ranges = _ranges(kernel, condition)
    if any(start >= stop for start, stop in ranges.values()):
        return True  # it is never done
    ranges[first.variable] = 0, first.extent // rows
    ends = [(f * ranges[v][0], f * (ranges[v][1] - 1)) for v, f in terms if v >= 0]
    constant -= all_rows * round(constant / all_rows)
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
