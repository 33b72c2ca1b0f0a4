"""Fits a kernel to the machine: merges loops, chooses the vector loop, estimates the cost.

In: a Kernel as built, with its live expressions. Out: the same kernel with adjacent loops merged
where memory allows, `lane`, `small` and `tile` set; returns nanoseconds on one thread (estimate).
Keeps: the meaning. The constants are measured (see docs/performance.md) or say why.
"""

import math

from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from . import affine as af
from .kernel import SHORT_AXIS, SHORT_STRIDE, Expr, Kernel, Loop
from .reverse_rows import reverse_rows
from .tiles import LINE_BYTES, choose_tile
from .turn_rows import bytes_turned, turned_rows
from .widen_conditions import conditions_between, widen_conditions

SMALL_ELEMENTS = 2048  # below this a call is dispatch, and a short compile matters more than speed
SHORT_STAGE, LONG_STAGE = 16, 64
# Rows of less than 64 elements with short strides, or with borders, that are no masked loop: 3000
# mirrored pictures of 20 x 3 take a fifth of the time, a field of 32 x 32 x 32 x 3 a fiftieth,
# rolled rows of 48 half of it, but rolled ones of 16 three times as much; every third of 32, of
# 4096 rows, .46, and the middle axes of 33 x 5 x 33 x 5 exchanged .31.
WHOLE_ELEMENTS, LEAST_STRIDED, LEAST_ASKED = 1 << 13, 8, 24
MANY_ELEMENTS, LEAST_OF_LANES = 1 << 15, 12  # rows that are moved, and that vectors run along
LANES = 16  # of a vector, and about so many cycles where its elements are gathered or scattered
NS_PER_OPERATION = 0.3  # one vector instruction, about one a cycle at 3.5 GHz
NS_PER_BYTE = 0.04  # 25 GB/s
NARROW = 1 << 30
BYTES = frozenset(("b1", "i8", "u8"))
WORDS = BYTES | {"i16", "u16"}
# Vectors of a line of words; where masks are dear, and its end is not a whole one, that end takes
# longer than many: stored (rows of 333 bytes 18 us by vectors of 8, of 32 56) or only read.
LEAST_OF_WORDS, LEAST_OF_STAGES, LEAST_WITH_ENDS = 4, 16, 64
# Elements of a kernel that are computed one after the other: in one row, in several or under
# conditions (16 x 16 transposed .7 us so, .4 by vectors); and the cost of an operation on them.
MOST_ALONE, FEW_ALONE, MOST_OF_ALONE = 256, 32, 4
# Of saved values, on the stack (some threads have 2 MiB of it): lines of memory used whole matter
# more than the second cache (softmax of the columns of 8192 x 2048: 12.6 ms with 128 bytes of a
# row, 19.7 with 64).
SAVED_BYTES = 1 << 20
TURNED_BYTES = 20 << 10  # of turned and saved rows: of the first cache


def schedule_kernel(
    kernel: Kernel, used: list[Expr], target: CpuTarget, repeated: bool = False
) -> float:
    """See the module's text. `repeated`: it runs in a loop, so its speed matters at any size."""
    chunk_rows = {lo.chunk_row for lo in stage_loops(kernel)}
    kernel.rows = _merge_loops(kernel, used, kernel.rows, chunk_rows)
    for stage in kernel.stages:
        if not any(lo.chunk_row is not None for lo in stage.loops):
            stage.loops = _merge_loops(kernel, used, stage.loops, set())
    kernel.rows = _nearest_last(kernel, used)
    kernel.turned = turned_rows(kernel, used, target) is not None
    kernel.lane = "row" if kernel.turned else _choose_lane(kernel, used)
    _narrow_positions(kernel, lanes_of(kernel, used, target))
    is_moved = kernel.lane == "row" and target.avx512 and _moves_short_rows(kernel, used)
    if kernel.lane == "row" and not kernel.turned and not is_moved:
        kernel.rows = _longest_last(kernel.rows, _is_gathered(kernel, used))
    rows = math.prod(lo.extent for lo in kernel.rows)
    inner = sum(trip_count(s) for s in kernel.stages)
    longest = 0
    for stage in reversed(kernel.stages):
        stage.is_part = trip_count(stage) < longest
        longest = max(longest, trip_count(stage))
    elements = rows * max(1, inner) * _columns(kernel)
    kernel.small = _smallness(kernel, used, elements, repeated)
    if kernel.small == 2 and target.has_dear_masks and _is_alone(kernel, used, elements, target):
        kernel.lane = "none"
    kernel.copies = _vectors_beside(kernel, used, target)
    kernel.lanes = _lanes_of_words(kernel, used, target)
    reverse_rows(kernel, used)
    kernel.tile = choose_tile(kernel, used, target)
    return _cost(kernel, used, rows, inner)


def _is_alone(kernel: Kernel, used: list[Expr], elements: int, target: CpuTarget) -> bool:
    """Whether a few elements are sooner computed one after the other: where they would be collected
    lane by lane, where lanes would stay empty, or where there are conditions for each; but not
    where vectors do long operations (exp of 256 of 512 numbers .7 us, one by one 1.9)."""
    if kernel.lane != "row" or kernel.stages or any(own_cost(x) > MOST_OF_ALONE for x in used):
        return False
    if elements > (MOST_ALONE if len(kernel.rows) == 1 else FEW_ALONE):
        return False
    last = kernel.rows[-1]
    loads = [x for x in used if x.op == "load"]
    apart = any(abs(af.coefficient_of(x.attrs[1], last.variable)) > 1 for x in loads)
    is_short = len(kernel.rows) > 1 and 2 * last.extent <= lanes_of(kernel, used, target)
    return apart or is_short or elements <= FEW_ALONE and any(x.args for x in loads)


def leaves_caches(saved: list[tuple[str, int]], target: CpuTarget) -> bool:
    """Whether so much is saved of columns that a line of them is too much, and one vector, which is
    less than a line, would go down them (a Zen 1, two threads: gradients of batch normalization of
    4096 x 64 1.6 ms so, .55 by several kernels)."""
    bytes_ = sum(nbytes_of(code) * count for code, count in saved)
    return target.vector_bits < 8 * LINE_BYTES and LINE_BYTES // 4 * bytes_ > SAVED_BYTES


def _vectors_beside(kernel: Kernel, used: list[Expr], target: CpuTarget) -> int:
    """How many vectors of rows keep saved values side by side: the rows' elements lie far apart in
    memory, so that whole lines of it, and more, should be used when they are met."""
    if kernel.lane != "row" or not (kernel.saved or kernel.turned) or kernel.small:
        return 1
    bytes_ = sum(nbytes_of(c) * n for c, n in kernel.saved) + bytes_turned(kernel, used, target)
    width = lanes_of(kernel, used, target) * bytes_
    most = TURNED_BYTES if kernel.turned else SAVED_BYTES
    return next((copies for copies in (4, 2) if copies * width <= most), 1)


def lanes_of(kernel: Kernel, used, target: CpuTarget) -> int:
    """Lanes of the kernel's vectors: of 32-bit elements, or of 64-bit ones where floats are f64;
    those of the tile where there is one."""
    if kernel.tile is not None:
        return kernel.tile.lanes
    if kernel.lanes:
        return kernel.lanes
    wide = any(x.dtype == "f64" for x in used)
    return max(2, target.vector_bits // (64 if wide else 32))


def _lanes_of_words(kernel: Kernel, used: list[Expr], target: CpuTarget) -> int:
    """Lanes of vectors of 8- or 16-bit elements, where there is nothing else and lines are long; 0
    for as many as other kernels have."""
    codes = {x.dtype for x in used}
    if kernel.saved or kernel.turned or kernel.lane == "none" or not codes <= WORDS:
        return 0
    lanes = target.vector_bits // (8 if codes <= BYTES else 16)
    by_rows = kernel.lane == "row"
    length = kernel.rows[-1].extent if by_rows else min(map(trip_count, kernel.stages))
    least = LEAST_OF_WORDS
    if target.has_dear_masks and length % lanes:
        least = LEAST_OF_STAGES if kernel.stages else LEAST_WITH_ENDS
    return lanes if length >= least * lanes else 0


def trip_count(stage) -> int:
    return math.prod(min(lo.extent, lo.chunk or lo.extent) for lo in stage.loops)


# ---------------------------------------------------------------------- merging
def _affines(kernel: Kernel, used):
    """Every index in the kernel."""
    for expr in used:
        if expr.op in ("load", "index", "saved"):
            yield expr.attrs[-1]
    yield from _places_of_results(kernel)


def _places_of_results(kernel: Kernel):
    for stores in [kernel.stores, *[s.stores for s in kernel.stages]]:
        for store in stores:
            yield store.position
    for stage in kernel.stages:
        for _, position, _ in stage.saves:
            yield position
        for r in stage.reductions:
            if r.index is not None:
                yield r.index


def _merge_loops(kernel, used, loops: list[Loop], fixed: set) -> list[Loop]:
    """Merges neighbours a, b wherever every index has coefficient(a) = coefficient(b)*extent(b), or
    conditions on a alone can be conditions on both."""
    i = len(loops) - 2
    loops = list(loops)
    while i >= 0:
        outer, inner = loops[i], loops[i + 1]
        a, b, n = outer.variable, inner.variable, inner.extent
        if a not in fixed and b not in fixed and _are_one(kernel, used, a, b, n):
            _drop_variable(kernel, used, a, b)
            loops[i : i + 2] = [Loop(b, outer.extent * n)]
        i -= 1
    return loops


def _are_one(kernel, used, a: int, b: int, n: int) -> bool:
    """Whether two loops are one (then, they are in the conditions, too)."""

    def follows(x) -> bool:
        return af.coefficient_of(x, a) == af.coefficient_of(x, b) * n

    if all(follows(x) for x in _affines(kernel, used)):
        return True
    found = []
    if not kernel.stages and all(follows(x) for x in _places_of_results(kernel)):
        found = conditions_between(used, a, b, n)
        widen_conditions(kernel, used, found, b, n)
    return bool(found)


def _without(a, variable):
    return (a[0], tuple([t for t in a[1] if t[0] != variable]))


def _drop_variable(kernel, used, variable, kept) -> None:
    for expr in used:
        if variable in expr.variables:
            expr.variables = (expr.variables - {variable}) | {kept}
            if expr.op in ("load", "index", "saved"):
                expr.attrs = (*expr.attrs[:-1], _without(expr.attrs[-1], variable))
    for stores in [kernel.stores, *[s.stores for s in kernel.stages]]:
        for store in stores:
            store.position = _without(store.position, variable)
    for stage in kernel.stages:
        stage.saves = [(k, _without(p, variable), e) for k, p, e in stage.saves]
        for r in stage.reductions:
            if r.index is not None:
                r.index = _without(r.index, variable)


# ---------------------------------------------------------------------- choices
def _narrow_positions(kernel: Kernel, lanes: int) -> None:
    """Positions of argmax and argmin in as many bits as the values have: half the registers."""
    extents = {lo.variable: lo.extent for lo in stage_loops(kernel)}
    extents |= {lo.variable: lo.extent for lo in kernel.rows}
    for r in [r for s in kernel.stages for r in s.reductions]:
        if r.index is None:
            continue
        ends = [abs(c) * extents.get(atom, NARROW) for atom, c in r.index[1]]
        r.narrow = abs(r.index[0]) + sum(ends) + 64 * lanes < NARROW and r.expr.dtype != "f64"


def _choose_lane(kernel: Kernel, used) -> str:
    """'row', 'stage', or 'none' for a kernel of one element (or of few: `_is_alone`)."""
    if not kernel.stages:
        return "row" if kernel.rows else "none"
    if not kernel.rows or kernel.rows[-1].variable in {
        lo.chunk_row for lo in stage_loops(kernel)
    }:
        return "stage"
    longest = max(trip_count(s) for s in kernel.stages)
    last = kernel.rows[-1]
    if longest >= LONG_STAGE:  # else lanes of rows, even far apart, are filled better
        last = _longest_last(kernel.rows)[-1]
        if last.extent < SHORT_AXIS:
            return "stage"
    if longest >= SHORT_AXIS and _gathers_under_masks(kernel, used, last):
        return "stage"
    if longest < SHORT_STAGE and _longest_last(kernel.rows)[-1].extent >= LONG_STAGE:
        return "row"
    if longest < SHORT_AXIS <= last.extent:  # vectors of stages would be half empty
        return "row"
    votes = _votes_for_rows(kernel, used, last)
    if votes == 0:
        is_nearer = last.extent >= longest or _is_nearer_by_rows(kernel, used, last)
        return "row" if is_nearer else "stage"
    return "row" if votes > 0 else "stage"


def _gathers_under_masks(kernel: Kernel, used: list[Expr], last: Loop) -> bool:
    """Whether lanes of rows would collect elements one by one, under masks, where all of a row have
    the same (rows of 12 of 200 x 200 with a border, and their means: 720 to 190 us)."""
    inner = {lo.variable for lo in stage_loops(kernel)}
    return any(
        x.op == "load" and x.args and not x.variables.isdisjoint(inner)
        and abs(af.coefficient_of(x.attrs[1], last.variable)) > SHORT_AXIS
        for x in used
    )  # fmt: skip


def _is_nearer_by_rows(kernel: Kernel, used, last: Loop) -> bool:
    """Whether elements lie in steps of a few from row to row, and far apart along a stage (the
    products of 500 matrices of 32 x 4, transposed: 404 to 60 us)."""
    loads = [x.attrs[1] for x in used if x.op == "load"]
    lasts = [s.loops[-1].variable for s in kernel.stages if s.loops]
    along = [af.coefficient_of(place, last.variable) for place in loads]
    down = [max([abs(af.coefficient_of(place, v)) for v in lasts], default=0) for place in loads]
    is_near = all(abs(step) <= SHORT_STRIDE for step in along)
    return last.extent >= SHORT_STAGE and is_near and min(down, default=0) > SHORT_STRIDE


def _votes_for_rows(kernel: Kernel, used, last: Loop) -> int:
    """Elements read that lie side by side from row to row, less those that do along a stage; each
    load counts once where lanes of rows would not be filled. `last`: the loop of those lanes."""
    row = last.variable
    lasts = [s.loops[-1].variable for s in kernel.stages if s.loops]
    counted = last.extent >= SHORT_AXIS
    loops = (last, *stage_loops(kernel)) if counted else ()
    extents = {lo.variable: lo.extent for lo in loops}
    votes = 0
    for expr in used:
        if expr.op != "load":
            continue
        position = expr.attrs[1]
        elements = math.prod(n for v, n in extents.items() if af.coefficient_of(position, v))
        if abs(af.coefficient_of(position, row)) == 1:
            votes += elements
            continue
        steps = [abs(af.coefficient_of(position, v)) for v in lasts]
        nearest = min([step for step in steps if step], default=SHORT_AXIS + 1)
        if nearest <= SHORT_AXIS:  # a part of the elements that are read is wanted
            votes -= max(1, elements // nearest)
    return votes


def stage_loops(kernel: Kernel) -> list[Loop]:
    return [lo for stage in kernel.stages for lo in stage.loops]


def _nearest_last(kernel: Kernel, used: list[Expr]) -> list[Loop]:
    """The row loops of a reduction with the one last along which all that is reduced lies side by
    side, if it does along neither the last one nor a stage: results are few, and written where
    vectors along them would read elements that are far apart (sums over the third axis of 16 x 24
    x 200 x 16, transposed: 322 to 25 us)."""
    rows, lasts = kernel.rows, [s.loops[-1].variable for s in kernel.stages if s.loops]
    is_plain = all(not s.stores and not s.saves and s.loops for s in kernel.stages)
    is_cut = any(lo.chunk_row is not None for lo in stage_loops(kernel))
    if len(rows) < 2 or not lasts or not is_plain or is_cut:
        return rows
    places = [x.attrs[1] for x in used if x.op == "load" and not x.variables.isdisjoint(lasts)]
    near = [v for v in (rows[-1].variable, *lasts)
            if any(abs(af.coefficient_of(place, v)) == 1 for place in places)]
    if near or not places or max(map(trip_count, kernel.stages)) < SHORT_AXIS:
        return rows
    for loop in rows[-2::-1]:
        if loop.extent >= SHORT_AXIS and all(
            abs(af.coefficient_of(place, loop.variable)) == 1 for place in places
        ):
            return [lo for lo in rows if lo is not loop] + [loop]
    return rows


def _longest_last(rows: list[Loop], is_gathered: bool = False) -> list[Loop]:
    """Vectors along a very short axis would be mostly empty: run them along the nearest one before
    it and other short ones that is long; otherwise along the longest one. `is_gathered`: they would
    not be read whole, either. (Eight pictures of 64 x 64 x 3, pixels repeated twice along both
    axes: along rows of 64 of these 10 us, along all 512 lines 336.)"""
    longest = max(reversed(rows), key=lambda lo: lo.extent)  # of equal ones the nearest
    is_large = math.prod([lo.extent for lo in rows]) >= WHOLE_ELEMENTS
    behind = rows[-1].extent
    for loop in rows[-2::-1]:
        if loop.extent >= (LEAST_OF_LANES if is_large else LONG_STAGE):
            longest = loop
            break
        behind *= loop.extent
        if behind > SHORT_STRIDE:
            break
    if rows[-1].extent >= SHORT_AXIS + is_gathered or longest.extent < 4 * rows[-1].extent:
        return rows
    return [lo for lo in rows if lo is not longest] + [longest]


def _moves_short_rows(kernel: Kernel, used: list[Expr]) -> bool:
    """Whether rows of a few elements are moved from or to places far apart, as pixels are when a
    picture is turned: a vector for each row, mostly empty, is done before one of the rows' first
    elements, gathered or scattered (400 x 600 x 3 transposed: 199 us, 99 so)."""
    if kernel.saved or len(kernel.rows) < 2:
        return False
    length, widest = kernel.rows[-1].extent, max(nbytes_of(x.dtype) for x in used)
    least = 3 if widest >= 4 else 2  # pairs of these are turned in squares (tiles.py)
    rows = math.prod([lo.extent for lo in kernel.rows[:-1]])
    if not least <= length <= SHORT_AXIS or rows < SHORT_STAGE:
        return False
    turns = max([1, *map(trip_count, kernel.stages)])
    is_large = rows * length * turns >= MANY_ELEMENTS
    apart, own = _cost_apart(kernel, used), sum(map(own_cost, used))
    return is_large and apart > 0 and LANES * (own + 2) <= length * (own + apart)


def _cost_apart(kernel: Kernel, used: list[Expr]) -> int:
    """Of rows that are read and written along memory, each far from the one before: cycles to
    gather and scatter vectors of their elements, which lie farther apart than some that are picked
    and woven. 0 where some rows do not lie along memory, or may be written out."""
    row, chosen = kernel.rows[-1].variable, _longest_last(kernel.rows)[-1].variable
    places = list(_affines(kernel, used))
    is_along = all(af.coefficient_of(place, row) in (0, 1) for place in places)
    stores = [s for stage in kernel.stages for s in stage.stores] + kernel.stores
    if not is_along or any(af.coefficient_of(store.position, row) != 1 for store in stores):
        return 0
    loads = [x for x in used if x.op == "load"]
    behind = math.prod([lo.extent for lo in _loops_behind(kernel.rows, chosen)])
    ends = {abs(af.coefficient_of(store.position, chosen)) for store in stores}
    is_near = all(abs(af.coefficient_of(x.attrs[1], chosen)) <= SHORT_STRIDE for x in loads)
    is_short = ends == {behind} and behind <= SHORT_STRIDE and not kernel.stages
    if is_short and is_near and not any(x.args for x in loads):
        return 0  # rather written out (write_out.py), elements picked and woven
    places = [*(x.attrs[1] for x in loads), *(store.position for store in stores)]
    return LANES * sum(abs(af.coefficient_of(at, chosen)) > SHORT_AXIS for at in places)


def _loops_behind(rows: list[Loop], variable: int) -> list[Loop]:
    """The loops inside that of a variable."""
    number = next(i for i, lo in enumerate(rows) if lo.variable == variable)
    return rows[number + 1 :]


def _is_gathered(kernel: Kernel, used: list[Expr]) -> bool:
    """Whether something is read with a stride along the last row loop."""
    row = kernel.rows[-1].variable
    steps = [af.coefficient_of(x.attrs[1], row) for x in used if x.op == "load"]
    return any(abs(step) > 1 for step in steps)


def _least_whole(kernel: Kernel, used: list[Expr]) -> int:
    """From which length on the rows of a large kernel are worth vectors without masks: sooner where
    something is read or written with a short stride along them, or asked of their places."""
    row = kernel.rows[-1].variable
    steps = {abs(af.coefficient_of(place, row)) for place in _affines(kernel, used)}
    if any(x.op == "lt" and x.args[0].op == "index" and row in x.variables for x in used):
        return LEAST_ASKED
    return LEAST_STRIDED if any(1 < step <= SHORT_STRIDE for step in steps) else LONG_STAGE


def _columns(kernel: Kernel) -> int:
    """How many columns of one result are written side by side (the parts of complex numbers are
    one)."""
    stored = [store.buffer for store in kernel.stores]
    most = max(map(stored.count, set(stored)), default=1)
    return most if most > 2 else 1


def _smallness(kernel, used, elements, repeated) -> int:
    if elements <= SMALL_ELEMENTS and not repeated:
        return 2
    if kernel.lane == "row":
        least = _least_whole(kernel, used) if elements >= WHOLE_ELEMENTS else LONG_STAGE
        return int(kernel.rows[-1].extent < least)
    return int(kernel.lane == "stage" and max(trip_count(s) for s in kernel.stages) < 64)


def own_cost(expr) -> int:
    """Vector instructions of an expression, about, beside those of its operands."""
    if expr.op in ("const", "param", "reduced"):
        return 0
    return max(1, min(expr.cost - sum(a.cost for a in expr.args), 100))


def _cost(kernel, used, rows, inner) -> float:
    lanes = 1 if kernel.lane == "none" else 16
    per_row = per_inner = traffic = 0.0
    stage_variables = {lo.variable for lo in stage_loops(kernel)}
    for expr in used:
        own = own_cost(expr) if expr.op != "reduced" else 1
        if expr.variables & stage_variables:
            per_inner += own / max(1, len(kernel.stages))
        else:
            per_row += own
        if expr.op == "load" and expr.variables:
            width = nbytes_of(expr.dtype)
            traffic += width * (inner if expr.variables & stage_variables else 1)
    for stores in [kernel.stores, *[s.stores for s in kernel.stages]]:
        traffic += sum(nbytes_of(kernel.buffers[s.buffer][0]) for s in stores)
    row_lanes = lanes if kernel.lane == "row" else 1
    operations = rows * (per_row / row_lanes + per_inner * inner / lanes)
    return NS_PER_OPERATION * operations + NS_PER_BYTE * rows * traffic
