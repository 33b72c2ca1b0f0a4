"""How a scheduled kernel goes through memory.

In: a scheduled kernel and its live expressions. Out: the same kernel with what is known of its
`borders`, `near` loads and `woven` places, whether its results `stream` past the caches, the rows
that are asked for ahead (`jumps`), those taken at a time (`sweep`), whether rows are `counted`, in
`narrow` vectors if they are shorter than others, whether a row's last vector `overlaps` the one
before, whether runs are whole vectors (`in_vectors`) or their last ones begin `early`
(end_runs.py), and whether its stores, then in order, are columns `beside` one another.
Keeps: the meaning. The constants are measured (see docs/performance.md) or say why.
"""

import math

from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from . import affine as af
from .block_rows import block_rows, may_block
from .block_runs import block_runs
from .end_runs import end_runs, may_overlap
from .find_rows_again import find_rows_again
from .interior import find_borders, has_whole_ends, has_whole_rows
from .kernel import MOST_BESIDE, Counted, Expr, Kernel, Loop, Stream
from .near_loads import find_near_loads, find_woven
from .schedule import lanes_of, own_cost, stage_loops, trip_count
from .tiles import LINE_BYTES, streams_tiles

PAGE_BYTES = 4096  # runs that are shorter jump before the machine's prefetcher is far ahead
BYTES_AHEAD, LEAST_AHEAD = 2048, 3  # of such runs
JUMPING_BYTES = 4 << 20  # read so: what is smaller comes from near enough
LEAST_STREAMED = 1 << 20  # of it, by one kernel
LEAST_ROW = 512  # elements: shorter rows that begin within lines are parts of lines above all
LEAST_IN_LINES = 128  # the same for rows that begin where lines do, of which borders are parts
_STREAMED = ("f32", "f64", "i32", "u32", "i64", "u64")
ROWS_SWEPT = ((10, 16), (60, 4))  # by the cost of an element
FEW_SWEPT, SET_BYTES = 4, 4096  # rows so far apart meet in one set of the first cache
MOST_FROM_MEMORY = 8  # more rows at a time come sooner (4096 x 4096: .75 of the time of 4)
MIN_SWEPT = 32  # rows that are worth going through in the order of memory
MOST_SHORT = 256  # elements of rows whose beginnings are counted on
LEAST_COUNTED = 1 << 15  # elements of a kernel that is worth the longer text
MAX_ANEW = 16  # cost of what each turn computes anew for its rows: a division, say


def reach_memory(kernel: Kernel, used: list[Expr], target: CpuTarget) -> None:
    """See the module's text."""
    find_borders(kernel, used)
    if may_block(kernel, target) and not _comes_from_memory(kernel, used, target):
        block_rows(kernel, used, target)
        block_runs(kernel, used, target)  # what comes from memory is asked for ahead instead
    kernel.beside = _is_beside(kernel, target)
    if kernel.beside:
        kernel.stores = sorted(kernel.stores, key=lambda store: store.position[0])
    kernel.near = {} if kernel.beside else find_near_loads(kernel, used)
    kernel.woven = find_woven(kernel, used)
    kernel.stream = streams_tiles(kernel, target) if kernel.tile else _streams(kernel, used, target)
    kernel.jumps = _jumps(kernel, used)
    kernel.sweep = _rows_swept(kernel, used, target)
    lanes = lanes_of(kernel, used, target)
    kernel.counted = _counted_rows(kernel, lanes)
    kernel.whole_ends = has_whole_ends(kernel, lanes)
    kernel.whole_rows = has_whole_rows(kernel, lanes)
    kernel.again = find_rows_again(kernel, used, target)
    ends_in_parts = kernel.whole_ends and not kernel.whole_rows or kernel.counted == Counted.BOTH
    kernel.overlaps = ends_in_parts and not target.avx512 and may_overlap(kernel, used)
    if target.has_dear_masks:
        kernel.in_vectors, kernel.early = end_runs(kernel, used, lanes)
    if kernel.counted == Counted.ONE:
        length = kernel.rows[-1].extent
        if target.avx512:
            kernel.lanes = next((n for n in (4, 8) if length <= n < lanes), 0)
        elif length in (4, 8) and length <= lanes:  # whole vectors: a masked store takes 20 cycles
            kernel.counted, kernel.lanes = Counted.WHOLE, length if length < lanes else 0


def large_result(target: CpuTarget) -> int:
    """Bytes of a result from which on it leaves the caches, whatever is read for it."""
    return target.far_bytes * 8 // 11


def _far_of_stages(target: CpuTarget) -> int:
    """Bytes read and written from which on kernels of several stages leave the caches: where those
    keep all that they hold (a Zen 4 or 5), it is a sixth less, since rows are read again (a Zen 4,
    by turns: softmax of the columns of 16 MiB .97 ms past the caches, 2.05 in them; of rows of
    12 MiB .5 and .38)."""
    return max(min(CpuTarget().far_bytes, target.far_bytes), target.far_bytes * 5 // 6)


def _streams(kernel: Kernel, used: list[Expr], target: CpuTarget) -> Stream:
    """Whether rows go past the caches: much is written, to large results, along their rows, or much
    is read and written, a quarter of it written."""
    stores, loops = _stores_of_rows(kernel)
    if not stores or kernel.small or kernel.beside:
        return Stream.NONE
    extents, inner = {lo.variable: lo.extent for lo in loops}, loops[-1].variable
    found = [_streamed_store(kernel, store, extents, inner) for store in stores]
    extents.update({lo.variable: lo.extent for lo in stage_loops(kernel)})
    results = {store.buffer: 0 for store in stores}
    for store, (size, _) in zip(stores, found, strict=True):
        results[store.buffer] = max(results[store.buffer], size)
    result = sum(results.values())
    far = target.far_bytes if not kernel.stages else _far_of_stages(target)
    if not all(size for size, _ in found) or result < large_result(target) and (
        4 * result < far or result + _bytes_read(kernel, used, extents) < far
    ):
        return Stream.NONE
    if not (kernel.borders or kernel.near) and all(in_lines for _, in_lines in found):
        return Stream.LINES
    sums = any(stage.reductions for stage in kernel.stages[-1:])
    one_run = kernel.lane == "stage" or not kernel.stages
    least = LEAST_IN_LINES if all(in_lines for _, in_lines in found) else LEAST_ROW
    in_parts = loops[-1].extent >= least and len(stores) == 1 and one_run and not sums
    return Stream.PARTS if in_parts else Stream.NONE


def _stores_of_rows(kernel: Kernel) -> tuple[list, list[Loop]]:
    """All that a kernel stores by vectors if that is whole rows, which may be its last stage's (or
    whole lines of a piece of them), and the loops around them; else nothing."""
    if kernel.lane == "row" and not kernel.stages:
        return kernel.stores, kernel.rows
    if kernel.lane == "none" or any(s.stores for s in kernel.stages[:-1]):
        return [], []
    last = kernel.stages[-1]
    if kernel.lane == "row":  # lines of all columns, in the last of several turns over them
        is_last = len(kernel.stages) > 1 and not (last.reductions or last.saves or kernel.stores)
        plain = not any(s.carried or s.test for s in kernel.stages)
        return (last.stores, [*last.loops, *kernel.rows]) if is_last and plain else ([], [])
    if last.saves or last.carried or any(
        lo.chunk_row is not None and (lo.chunk % LINE_BYTES or lo is not last.loops[-1])
        for lo in last.loops
    ):
        return [], []
    if any(lo.chunk_row is not None for lo in last.loops):  # each element once: in one piece
        pieces = {lo.chunk_row for lo in last.loops}
        return last.stores, [*[lo for lo in kernel.rows if lo.variable not in pieces], *last.loops]
    return last.stores, [*kernel.rows, *last.loops]


def _streamed_store(kernel: Kernel, store, extents, inner: int) -> tuple[int, bool]:
    """(bytes of the result it fills, 0 where it should not go past the caches, whether its rows
    begin where lines do)."""
    code, mode = kernel.buffers[store.buffer]
    start, terms = store.position
    rest = dict(terms)
    if mode != "out" or store.mask is not None or code not in _STREAMED or (
        rest.pop(inner, 0) != 1
        or any(atom < 0 or c < 0 for atom, c in rest.items())
    ):
        return 0, False
    size = nbytes_of(code)
    if math.prod(extents.values()) * size < LEAST_STREAMED:
        return 0, False
    line = LINE_BYTES // size
    in_lines = all(number % line == 0 for number in [start, *rest.values()])
    return (start + _span(store.position, extents)) * size, in_lines


def _jumps(kernel: Kernel, used: list[Expr]) -> int:
    """How many rows ahead runs are asked for, where a large array is read in short ones that do not
    follow one another; else 0. Axes 0 and 1 of 128 x 128 x 128 are exchanged in two thirds of the
    time where the array is not in a cache."""
    if kernel.lane != "row" or kernel.stages or kernel.small or kernel.tile is not None:
        return 0
    if len(kernel.rows) < 2 or kernel.borders or kernel.near:
        return 0
    outer, row = kernel.rows[-2:]
    extents = {lo.variable: lo.extent for lo in kernel.rows}
    for x in used:
        size = nbytes_of(x.dtype)
        if x.op == "load" and row.extent * size <= PAGE_BYTES and (
            af.coefficient_of(x.attrs[1], row.variable) == 1
            and abs(af.coefficient_of(x.attrs[1], outer.variable)) > row.extent
            and _span(x.attrs[1], extents) * size >= JUMPING_BYTES
        ):
            return max(LEAST_AHEAD, BYTES_AHEAD // (row.extent * size))
    return 0


def _counted_rows(kernel: Kernel, lanes: int) -> Counted:
    """How rows are gone through whose beginnings should be counted on from row to row."""
    is_plain = kernel.lane == "row" and not (kernel.stages or kernel.saved or kernel.turned)
    if not is_plain or kernel.tile is not None or kernel.beside:
        return Counted.NO
    if len(kernel.rows) < 2 or kernel.small == 2:
        return Counted.NO
    length = kernel.rows[-1].extent
    is_large = math.prod(lo.extent for lo in kernel.rows) >= LEAST_COUNTED
    is_done_otherwise = kernel.borders or kernel.near or kernel.stream or kernel.jumps
    if length > MOST_SHORT or is_done_otherwise or not is_large:
        return Counted.NO if kernel.small else Counted.LONG
    if length <= lanes:
        return Counted.ONE
    return Counted.BOTH if length % lanes else Counted.WHOLE


def _is_beside(kernel: Kernel, target: CpuTarget) -> bool:
    """Whether the results are neighbours in long rows, a row in each lane."""
    stores = kernel.stores
    is_plain = kernel.lane == "row" and not (kernel.stages or kernel.saved or kernel.borders)
    if not is_plain or kernel.tile is not None or not 1 < len(stores) <= MOST_BESIDE:
        return False
    first = min(stores, key=lambda store: store.position[0])
    ways = {(store.buffer, store.mask, store.position[1]) for store in stores}
    places = [store.position[0] - first.position[0] for store in stores]
    step = af.coefficient_of(first.position, kernel.rows[-1].variable)
    code = kernel.buffers[first.buffer][0]
    if len(ways) > 1 or first.mask is not None or step <= kernel.short_stride:
        return False
    return sorted(places) == list(range(len(stores))) and target.moves_vectors(nbytes_of(code))


def _span(position, extents: dict[int, int]) -> int:
    """Elements between the first and the last that an index meets."""
    return 1 + sum(abs(c) * (extents[atom] - 1) for atom, c in position[1] if atom >= 0)


def _bytes_read(kernel: Kernel, used: list[Expr], extents: dict[int, int]) -> int:
    """Of all arrays, what lies between is read with them."""
    spans: dict[int, int] = {}
    for x in used:
        if x.op == "load":
            span = _span(x.attrs[1], extents) * nbytes_of(x.dtype)
            spans[x.attrs[0]] = max(spans.get(x.attrs[0], 0), span)
    return sum(spans.values())


def _comes_from_memory(kernel: Kernel, used: list[Expr], target: CpuTarget) -> bool:
    """Whether more is read and written than a cache keeps."""
    extents = {lo.variable: lo.extent for lo in (*kernel.rows, *stage_loops(kernel))}
    written = sum(_span(store.position, extents) * nbytes_of(kernel.buffers[store.buffer][0])
                  for store in kernel.stores)  # fmt: skip
    return _bytes_read(kernel, used, extents) + written >= target.far_bytes


def _rows_swept(kernel: Kernel, used, target: CpuTarget) -> int:
    """How many rows a reduction of columns takes at a time, in the order of memory; 0 if it goes
    down a few columns at a time: where rows are few, where much would be computed anew for each
    turn, or where no load runs along rows."""
    if kernel.lane != "row" or len(kernel.stages) != 1 or kernel.saved:
        return 0
    if kernel.small:  # few columns: worth it without masks (end_runs.py), if more than a vector
        columns, lanes = kernel.rows[-1].extent, lanes_of(kernel, used, target)
        if kernel.small == 2 or not target.has_dear_masks or columns <= lanes:
            return 0
    stage, row = kernel.stages[0], kernel.rows[-1].variable
    plain = stage.reductions and not (stage.saves or stage.carried or stage.test)
    if not plain or trip_count(stage) < MIN_SWEPT:
        return 0
    down = stage.loops[-1].variable
    inner = [x for x in used if down in x.variables]
    anew = [x for x in used if row in x.variables and down not in x.variables]
    along = any(x.op == "load" and af.coefficient_of(x.attrs[1], row) == 1 for x in inner)
    if not along or sum(own_cost(x) for x in anew) > MAX_ANEW:
        return 0
    cost = sum(own_cost(x) for x in inner)
    places = {(x.attrs[0], x.attrs[1][1]) for x in inner if x.op == "load"}
    places |= {(store.buffer, store.position[1]) for store in stage.stores}
    steps = [dict(terms).get(down, 0) * nbytes_of(kernel.buffers[b][0]) for b, terms in places]
    in_one_set = [n for n in steps if n and n % SET_BYTES == 0]
    most = max(1, FEW_SWEPT // len(in_one_set)) if in_one_set else 16
    extents = {lo.variable: lo.extent for lo in [*kernel.rows, *stage.loops]}
    if _bytes_read(kernel, used, extents) >= large_result(target) and len(in_one_set) < 2:
        most = MOST_FROM_MEMORY
    return min(most, next((rows for limit, rows in ROWS_SWEPT if cost <= limit), 2))
