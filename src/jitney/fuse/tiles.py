"""Tiles for loads that run along another row loop than the stores do (transposes).

In: a kernel with its row loops, and its live expressions. Out: `Tile`, or None where there is
nothing to transpose; the row loops with the tile's two at the end.

[Note: tiles] A tile is read along u, whole lines of neighbouring rows, transposed in registers into
a scratch array in the first cache, and then computed and written along v, whole lines again. Its
side is four lines of elements: shorter runs of lines find neither the machine's prefetcher nor the
memory's open pages (2048 x 2048 float32 takes 1.9 ms with runs of one line and 1.1 ms with four).
While a tile is written, the lines of the next one are asked for, into the second cache: rows whose
distance is a power of two share a few sets of the first one, and would drive each other out of it.
"""

import math
from typing import NamedTuple

from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from .kernel import Expr, Kernel, Loop, Stream, Tile

LINE_BYTES = 64
LEAST_EXTENT = 8  # shorter axes are not worth transposing in registers
MAX_LOADS = 4
LINES_ALONG = 4  # of a tile's side
MAX_SIDE = 128
SCRATCH_BYTES = 16 << 10  # of all scratch arrays together: half of a first cache
AHEAD_BYTES = 1 << 20  # what is smaller is in the second cache
STREAM_BYTES = 8 << 20  # written past the caches: 0.5 ms against 0.7 (128 x 128 x 128)
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
    side = _side(lanes, loads)
    kernel.rows = [lo for lo in kernel.rows if lo is not u and lo is not v] + [u, v]
    is_long = min(u.extent, v.extent) >= side and _size(kernel) >= AHEAD_BYTES
    return Tile(u.variable, lanes, side, is_long)


def _side(lanes: int, loads: list[Expr]) -> int:
    size = max(nbytes_of(x.dtype) for x in loads)
    side = min(MAX_SIDE, LINES_ALONG * LINE_BYTES // size)
    while side > lanes and side * side * size * len(loads) > SCRATCH_BYTES:
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
        if is_transposed_load(x, v.variable, others):
            u = next(a for a, c in x.attrs[1][1] if c == 1 and a in others)
            votes.setdefault(u, []).append(x)
    if not votes:
        return None
    u = max(votes, key=lambda a: len(votes[a]))
    if others[u].extent < LEAST_EXTENT or v.extent < LEAST_EXTENT or len(votes[u]) > MAX_LOADS:
        return None
    return _Found(others[u], v, votes[u])


def is_transposed_load(expr: Expr, v: int, others) -> bool:
    """A plain load with a stride along v and stride 1 along another row loop."""
    if expr.op != "load" or expr.args:
        return False
    terms = dict(expr.attrs[1][1])
    if terms.get(v, 0) in (0, 1, -1) or any(a < 0 for a in terms):
        return False
    return any(c == 1 and a in others for a, c in terms.items())


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


def _size(kernel: Kernel) -> int:
    """Bytes that the kernel writes."""
    elements = math.prod(lo.extent for lo in kernel.rows)
    return elements * sum(nbytes_of(kernel.buffers[s.buffer][0]) for s in kernel.stores)


def streams_tiles(kernel: Kernel, target: CpuTarget) -> Stream:
    """Whether a transpose writes whole lines that go past the caches: a large result whose rows,
    cut into vectors, begin where lines do."""
    if kernel.tile is None or len(kernel.stores) != 1 or not target.avx512:
        return Stream.NONE
    store, lanes = kernel.stores[0], kernel.tile.lanes
    code, mode = kernel.buffers[store.buffer]
    start, terms = store.position
    row = kernel.rows[-1].variable
    whole = (
        mode == "out" and store.mask is None and _size(kernel) >= STREAM_BYTES
        and nbytes_of(code) * lanes == LINE_BYTES
        and dict(terms).get(row) == 1 and all(atom >= 0 for atom, _ in terms)
        and all(number % lanes == 0 for number in [start, *[c for a, c in terms if a != row]])
    )  # fmt: skip
    return Stream.LINES if whole else Stream.NONE
