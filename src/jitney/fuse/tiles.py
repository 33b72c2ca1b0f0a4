"""Tiles for loads that run along another row loop than the stores do (transposes).

In: a kernel with its row loops, and its live expressions. Out: `Tile`, or None where there is
nothing to transpose; the row loops with the tile's two at the end.

[Note: tiles] A tile is read along u, whole lines of neighbouring rows, transposed in registers into
a scratch array in the first cache, and then computed and written along v, whole lines again. Its
side is four lines of elements: shorter runs of lines find neither the machine's prefetcher nor the
memory's open pages (2048 x 2048 float32 takes 1.9 ms with runs of one line and 1.1 ms with four).
Along v it is eight where rows of the result share few sets of the caches (see `_is_wider`).
While a tile is written, the lines of the next one are asked for, into the second cache: rows whose
distance is a power of two share a few sets of the first one, and would drive each other out of it.
To a processor that begins four vector instructions a cycle, what is written twice is dear: tiles
are `direct` where rows of the result do not share few sets, a square at a time from the source to
the result (codegen/direct_tiles.py). (A Zen 5, two threads and one, by turns, processes begun anew:
transposes of 100 x 100 .75 and .74 of the time, 500 x 500 .81 and .74, 1000 x 1000 .68 and .67,
1500 x 1500 .68 and .69, 500 x 3000 .67 and .69, 1000 x 1024 .72 and .61, 256 of 64 x 64 .80 and
.76, 128 of 128 x 128 .72 and .69, 32 of 256 x 256 .84 and .79, the outer axes of 100 x 100 x 100
.65 and .66, 700 x 700 float64 .65 and .65. With results' rows of 2 KiB and sides of one vector 512
x 2000 .68 and .66, sides of 64 would be 1.8; with rows of 4 KiB 1024 x 1024 1.2 and 2.6.)
"""

import math
from typing import NamedTuple

from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from .affine import coefficient_of
from .kernel import SHORT_AXIS, Expr, Kernel, Loop, Stream, Tile

LINE_BYTES = 64
# Shorter axes are not worth transposing in registers; where the result is written along its rows,
# shorter runs of what is read are, unless they are picked out of whole vectors (1000 x 2 x 128 x
# 4, its first axis last: 1450 to 440 us).
LEAST_EXTENT, LEAST_ALONG = 8, 4
MAX_LOADS = 8
LINES_ALONG = 4  # of a tile's side
MAX_SIDE = 128
SCRATCH_BYTES = 16 << 10  # of all scratch arrays together: half of a first cache
AHEAD_BYTES = 1 << 20  # what is smaller is in the second cache
ROWS_IN_A_SET = 2048  # bytes between rows, or a multiple
WHOLE = ("f32", "i32", "u32", "f64", "i64", "u64")  # of which squares of lines fit in registers
MOST_DIRECT, LONG = 8, 4  # expressions of a body, and what a quotient or an exponential costs
DIRECT_SIDE = 64  # rows of the result
_PARTS = ("f32", "f64")
_MOVES = {"load", "const", "param", "bitcast"}
_SHORT_INTEGERS = {"b1", "i8", "u8", "i16", "u16"}


class _Found(NamedTuple):
    u: Loop
    v: Loop
    loads: list[Expr]


def choose_tile(kernel: Kernel, used: list[Expr], target: CpuTarget) -> Tile | None:
    """See the module's text; the row loops are put in order."""
    found = _find(kernel, used)
    if found is None:
        return None
    u, v, loads = found
    lanes = _lanes(kernel, used, target, min(u.extent, v.extent))
    if not target.avx512 and u.extent < lanes:  # no cheap masks for parts of vectors
        return None
    arrays = list(scratch_arrays(loads, u.variable, v.variable).values())
    side = _side(lanes, arrays, u.variable)
    direct = _direct_side(kernel, used, found, lanes, target)
    kernel.rows = [lo for lo in kernel.rows if lo is not u and lo is not v] + [u, v]
    if direct:
        return Tile(u.variable, lanes, direct, lanes, False, True)
    is_long = min(u.extent, v.extent) >= side and _size(kernel) >= AHEAD_BYTES
    tile = Tile(u.variable, lanes, side, side, is_long)
    return tile._replace(length=2 * side) if _is_wider(kernel, tile, arrays, target) else tile


def _is_wider(kernel: Kernel, tile: Tile, arrays, target: CpuTarget) -> bool:
    """Whether tiles are twice as wide where the result is written: lines of rows that lie multiples
    of 2 KiB apart drive each other out of few sets of the caches before they are stored to; of a
    longer run the machine's prefetcher has most when they are (Zen 5, two threads, 1024 x 1024
    float32 109 to 72 us, 128 x 128 x 128 220 to 145; 1000 x 1000 takes 60, so 75)."""
    row = kernel.rows[-1]
    scratch = 2 * tile.side**2 * _bytes_along(arrays, tile.variable) * len(arrays)
    fits = 3 * scratch <= 2 * target.l1_bytes and row.extent >= 2 * tile.side
    if not (tile.ahead and fits) or _is_far(kernel, target):
        return False
    return all(
        dict(store.position[1]).get(tile.variable, 0) * nbytes_of(kernel.buffers[store.buffer][0])
        % ROWS_IN_A_SET == 0
        for store in kernel.stores
    )  # fmt: skip


def _direct_side(kernel: Kernel, used: list[Expr], found: _Found, lanes, target) -> int:
    """The side of tiles that need no scratch array, or 0. Their squares are written a line of as
    many rows as a side has, which stay in the caches until the next squares write the lines beside
    them: few rows, or none, where they share few sets."""
    u, v, _ = found
    loads = loads_across(used, u, v)
    nbytes, (store, *others) = nbytes_of(loads[0].dtype), kernel.stores
    along, across = dict(store.position[1]), dict(loads[0].attrs[1][1])
    row, source = along.get(u.variable, 0) * nbytes, across[v.variable] * nbytes
    if not (
        target.avx512 and target.vectors_a_cycle >= 4
        and not kernel.small and not _is_far(kernel, target)
        and loads[0].dtype in WHOLE and lanes * nbytes == LINE_BYTES
        and min(u.extent, v.extent) >= lanes and _is_short(used)
        and len({x.attrs for x in loads}) == 1 and across[u.variable] == 1
        and not others and store.mask is None and along.get(v.variable) == 1
        and not any(mode == "inout" for _, mode in kernel.buffers)
    ):  # fmt: skip
        return 0
    if row % ROWS_IN_A_SET:
        return DIRECT_SIDE
    return lanes if row % (2 * ROWS_IN_A_SET) and source % ROWS_IN_A_SET else 0


def loads_across(used: list[Expr], u: Loop, v: Loop) -> list[Expr]:
    """The loads that are contiguous along u, and are transposed."""
    return [x for x in used if unit_of(x, u.variable, v.variable)]


def _bytes_along(arrays: list[list[Expr]], u: int) -> int:
    """Of one element of a scratch array."""
    return max(nbytes_of(x.dtype) * dict(x.attrs[1][1])[u] for x, *_ in arrays)


def _side(lanes: int, arrays: list[list[Expr]], u: int) -> int:
    size = _bytes_along(arrays, u)
    side = min(MAX_SIDE, LINES_ALONG * LINE_BYTES // size)
    while side > lanes and side * side * size * len(arrays) > SCRATCH_BYTES:
        side //= 2
    return max(side, lanes)


def _find(kernel: Kernel, used: list[Expr]) -> _Found | None:
    """The loop that most of the transposed loads run along, and those."""
    if kernel.lane != "row" or kernel.stages or len(kernel.rows) < 2 or kernel.small == 2:
        return None
    v = kernel.rows[-1]
    others = {lo.variable: lo for lo in kernel.rows[:-1]}
    votes: dict[int, list[Expr]] = {}
    for x in used:
        for u in others:
            if unit_of(x, u, v.variable):
                votes.setdefault(u, []).append(x)
                break
    if not votes:
        return None
    u = max(votes, key=lambda a: len(votes[a]))
    is_along = all(coefficient_of(s.position, v.variable) == 1 for s in kernel.stores)
    is_far = min(abs(coefficient_of(x.attrs[1], v.variable)) for x in votes[u]) > SHORT_AXIS
    least = LEAST_ALONG if is_along and is_far else LEAST_EXTENT
    if others[u].extent < least or v.extent < LEAST_EXTENT:
        return None
    found = _Found(others[u], v, votes[u])
    return found if len(scratch_arrays(found.loads, u, v.variable)) <= MAX_LOADS else None


def scratch_arrays(loads: list[Expr], u: int, v: int) -> dict[tuple, list[Expr]]:
    """The transposed loads by what they read: both parts of complex numbers are read together."""
    found: dict[tuple, list[Expr]] = {}
    for x in loads:
        unit = unit_of(x, u, v)
        if unit:
            start, terms = x.attrs[1]
            found.setdefault((x.attrs[0], start - start % unit, terms), []).append(x)
    return found


def unit_of(x: Expr, u: int, v: int) -> int:
    """Elements that move together in a load that is contiguous along u and has a stride along v: 2
    for the parts of complex numbers, 0 for any other load."""
    if x.op != "load" or x.args:
        return 0
    start, terms = x.attrs[1][0], dict(x.attrs[1][1])
    unit, stride = terms.get(u, 0), terms.get(v, 0)
    if unit not in (1, 2) or any(atom < 0 for atom in terms) or abs(stride) <= unit or not stride:
        return 0
    if unit == 2 and not (x.dtype in _PARTS and 0 <= start < 2 and even(terms.values())):
        return 0
    return unit


def even(numbers) -> bool:
    return all(number % 2 == 0 for number in numbers)


def _lanes(kernel: Kernel, used: list[Expr], target: CpuTarget, shorter: int) -> int:
    """Lanes of a whole vector of the kernel's elements where these all have one width and little is
    computed, fewer along short axes; otherwise as in any kernel."""
    sizes = {nbytes_of(code) for code, _ in kernel.buffers} | {nbytes_of(x.dtype) for x in used}
    width = 8 if "f64" in {x.dtype for x in used} else 4
    if len(sizes) == 1 and (all(x.op in _MOVES for x in used) or _is_light(used)):
        width = sizes.pop()
    lanes, usual = target.vector_bits // 8 // width, target.vector_bits // 32
    while lanes > usual and lanes > shorter:
        lanes //= 2
    return max(2, lanes)


def _is_light(used: list[Expr]) -> bool:
    """Whether each operation is about one instruction, also on vectors of many short integers."""
    return all(
        x.dtype in _SHORT_INTEGERS and x.cost - sum(a.cost for a in x.args) <= 1 for x in used
    )


def _is_short(used: list[Expr]) -> bool:
    """Whether a body may be written for each column of a square."""
    own = (x.cost - sum(a.cost for a in x.args) for x in used)
    return len(used) <= MOST_DIRECT and all(cost < LONG for cost in own)


def _size(kernel: Kernel) -> int:
    """Bytes that the kernel writes."""
    elements = math.prod(lo.extent for lo in kernel.rows)
    return elements * sum(nbytes_of(kernel.buffers[s.buffer][0]) for s in kernel.stores)


def _is_far(kernel: Kernel, target: CpuTarget) -> bool:
    """Whether the result is better written past the caches: half as much as if it were in order
    (128 x 128 x 128, 8 MiB: 0.5 ms against 0.7; on a Zen 5 level)."""
    return _size(kernel) >= target.far_bytes * 4 // 11


def streams_tiles(kernel: Kernel, target: CpuTarget) -> Stream:
    """Whether a transpose writes whole lines that go past the caches: a large result whose rows,
    cut into vectors, begin where lines do (on AVX2, in pairs of vectors: their number is even)."""
    if kernel.tile is None or not target.avx2 or not _is_far(kernel, target):
        return Stream.NONE
    stores = sorted(kernel.stores, key=lambda store: store.position[0])
    unit, (start, terms) = len(stores), stores[0].position  # two: the parts of complex numbers
    places = [(store.buffer, store.position, store.mask) for store in stores]
    wanted = [(stores[0].buffer, (start + k, terms), None) for k in range(unit)]
    code, mode = kernel.buffers[stores[0].buffer]
    lanes, row = LINE_BYTES // nbytes_of(code), kernel.rows[-1]
    whole = (
        mode == "out"
        and places == wanted
        and unit <= (1 if kernel.small else 2)
        and kernel.tile.lanes * (LINE_BYTES * 8 // target.vector_bits) == lanes
        and (target.avx512 or row.extent % lanes == 0)
        and dict(terms).get(row.variable) == unit
        and all(atom >= 0 for atom, _ in terms)
        and all(n % lanes == 0 for n in [start, *[c for a, c in terms if a != row.variable]])
    )
    return Stream.LINES if whole else Stream.NONE
