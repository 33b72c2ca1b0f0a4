"""Short rows whose elements are computed alike are computed several at a time.

In: a kernel that is written out (one row an index, and each of its elements), and its live
expressions. Out: the same, `alike` if lanes are to be neighbouring elements of `blocks` rows
(codegen/alike_rows.py) and not of as many rows as there are lanes: then nothing is picked from
vectors that were read, nor woven to those that are written, but where elements change places. What
all elements of a row have in common is computed for each of them, so that is weighed. Of rows that
only change places (pixels that are mirrored, some of whose rows or parts are left out) as many are
moved as a vector holds: one shuffle for 15 numbers of mirrored pictures instead of 18 for 48 (rows
of 7, mirrored: 94 to 39 us; eight pictures of 128 x 128 pixels of 3 bytes 17.8 to 7.6).
"""

import math
from dataclasses import dataclass

from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from .affine import coefficient_of
from .alike import Kind, Pattern, find_pattern, parts_of
from .kernel import SHORT_AXIS, SHORT_STRIDE, Counted, Expr, Kernel, Stream
from .schedule import lanes_of
from .short_rows import begins_of, shuffles_of

MOST_MOVED, MOST_READ = 2, 4  # vectors that an array's elements are picked from
MOST_VECTORS, MOST_CODE = 8, 100  # of rows at a time, and operations of all of these
OF_ROUNDING, OF_SHORT = 4, 2  # of an operation of short floats; of what is read or written of them
ENOUGH = 1.05  # of the least time: longer code is not worth less
# Cycles of a Zen 5: operations that begin in one, and what a vector takes at least that begins a
# line, that begins within one, and whose end is written again with the next rows.
IN_A_CYCLE, ALIGNED, WITHIN_LINES, WRITTEN_AGAIN = 3, 1.5, 2.8, 4.4
ACROSS_LINES = 2  # operations that a vector takes that is read from two lines


def weave_rows(kernel: Kernel, used: list[Expr], target: CpuTarget) -> None:
    """See the module's text."""
    if kernel.blocks or not _may_be(kernel, target):
        return
    stores = sorted(kernel.stores, key=lambda store: store.position[0])
    row = kernel.rows[-1]
    pattern = find_pattern([store.expr for store in stores], row.variable)
    if pattern is None or pattern.kind == Kind.SAME:
        return
    by_rows = lanes_of(kernel, used, target)
    if pattern.kind == Kind.READ and None not in pattern.distances:
        block = _Block([pattern], _lanes_of_moves(kernel, target), len(stores))
        rows = block.rows_moved(row.extent)
    else:
        block = _Block(parts_of(pattern), by_rows, len(stores))
        by_lanes = _cycles_of_row(kernel, used, by_rows, row.variable)
        rows = block.rows_computed(row.extent, by_lanes)
    if not rows:
        return
    kernel.alike, kernel.blocks = pattern, rows
    kernel.lanes = block.lanes if block.lanes != by_rows else kernel.lanes
    kernel.counted, kernel.near = Counted.NO, {}
    kernel.woven = {
        x.attrs[1]: (p.first, x.attrs[1][0] - p.first[0])
        for p in block.parts if p.first is not None
        for x in p.of if x.op == "load" and x.attrs[1] != p.first
    }  # fmt: skip


def _lanes_of_moves(kernel: Kernel, target: CpuTarget) -> int:
    """Of vectors of elements that only change places, as wide as they are. For bytes not every
    processor has the shuffle: 0."""
    size = max(nbytes_of(code) for code, _ in kernel.buffers)
    has_shuffle = size > 1 or "+avx512vbmi" in target.features
    return target.vector_bits // 8 // size if has_shuffle else 0


def _may_be(kernel: Kernel, target: CpuTarget) -> bool:
    """Whether the rows of one result, and nothing else, are written whole. Their ends need masks,
    which are cheap with AVX-512 alone; steps are written in the code, so they have to be in the
    kernel's text, where those of small kernels are not."""
    plain = kernel.lane == "row" and not (kernel.stages or kernel.saved or kernel.tile)
    if not plain or kernel.small or kernel.stream != Stream.NONE or not target.avx512:
        return False
    if len(kernel.stores) < 2 or any(store.mask is not None for store in kernel.stores):
        return False
    if len({(store.buffer, store.position[1]) for store in kernel.stores}) > 1:
        return False
    if any(mode == "inout" for _, mode in kernel.buffers):
        return False
    count, places = len(kernel.stores), sorted(store.position[0] for store in kernel.stores)
    is_whole = coefficient_of(kernel.stores[0].position, kernel.rows[-1].variable) == count
    return is_whole and places == list(range(count))


@dataclass(frozen=True)
class _Block:
    """Rows of `count` elements, computed by vectors of so many lanes; `parts` of their pattern."""

    parts: list[Pattern]
    lanes: int
    count: int

    def rows_moved(self, extent: int) -> int:
        """As many as a vector holds, whose elements one shuffle picks from two; 0 for one."""
        (pattern,) = self.parts
        rows = min(self.lanes // self.count, extent)
        while rows > 1 and self._span(pattern, rows) > MOST_MOVED * self.lanes:
            rows -= 1
        if rows < 2 or not pattern.step or not -SHORT_AXIS <= pattern.step <= SHORT_STRIDE:
            return 0
        return rows if self._span(pattern, 1) <= self.lanes else 0

    def rows_computed(self, extent: int, most: float) -> int:
        """So many that vectors are full, or nearly; 0 if each takes more than the most cycles, or
        an array's elements lie too far apart."""
        size = sum(_own_cost(p.of[0]) if p.kind == Kind.COMPUTED else 1 for p in self.parts)
        vectors = min(MOST_VECTORS, max(1, MOST_CODE // size))
        few = [r for r in range(1, min(self.lanes, extent) + 1)
               if r == 1 or self.vectors(r) <= vectors]  # fmt: skip
        cycles = {r: self.cycles(r) / r for r in few if self._is_near(r)}
        least = min(cycles.values(), default=most + 1)
        return next(r for r, c in cycles.items() if c <= ENOUGH * least) if least <= most else 0

    def vectors(self, rows: int) -> int:
        return -(-rows * self.count // self.lanes)

    def _span(self, p: Pattern, rows: int) -> int:
        """From the first to the last number that a vector of these rows is picked from, at most."""
        numbers = [abs(p.step) * r + d for r in range(rows) for d in p.places]
        begins = begins_of(len(numbers), self.lanes)
        parts = [numbers[begin : begin + self.lanes] for begin in begins]
        return max(max(part) - min(part) + 1 for part in parts)

    def _is_near(self, rows: int) -> bool:
        read = [p for p in self.parts if p.first is not None]
        return all(
            -SHORT_AXIS <= p.step <= SHORT_STRIDE and self._span(p, rows) <= MOST_READ * self.lanes
            for p in read
        )

    def cycles(self, rows: int) -> float:
        """Cycles for these rows, about."""
        work = 1.0
        for p in self.parts:
            if p.kind == Kind.COMPUTED:
                work += _own_cost(p.of[0])
            if p.first is not None:
                work += self._work_of_reading(p, rows)
        work += OF_SHORT * _is_short_float(self.parts[-1].of[0])
        return max(work / IN_A_CYCLE, self._least_cycles(rows)) * self.vectors(rows)

    def _work_of_reading(self, p: Pattern, rows: int) -> int:
        short = OF_SHORT * _is_short_float(p.of[0])
        if self._is_in_order(p):
            return short + (1 if rows * self.count % self.lanes == 0 else ACROSS_LINES)
        vectors = -(-self._span(p, rows) // self.lanes)
        return short + (ACROSS_LINES + 1) * vectors + (None in p.distances)

    def _least_cycles(self, rows: int) -> float:
        """Of a vector, whatever is computed."""
        elements = rows * self.count
        if elements % self.lanes == 0:
            return ALIGNED
        return WITHIN_LINES if elements > self.lanes else WRITTEN_AGAIN

    def _is_in_order(self, p: Pattern) -> bool:
        """Whether numbers lie as they are wanted, for all rows."""
        first = p.distances[0]
        if p.step != self.count or first is None:
            return False
        return list(p.distances) == list(range(first, first + self.count))


def _cycles_of_row(kernel: Kernel, used: list[Expr], lanes: int, row: int) -> float:
    """The same for one row, of which a vector has one in each lane."""
    inner = [x for x in used if row in x.variables]
    steps = [abs(coefficient_of(x.attrs[1], row)) for x in inner if x.op == "load"]
    steps += [len(kernel.stores)] * len(kernel.stores)
    moves = [1 + (shuffles_of(n) if n <= SHORT_STRIDE else lanes) for n in steps]
    computed = [_own_cost(x) for x in inner if x.op != "load"]
    return math.fsum([*moves, *computed]) / lanes / IN_A_CYCLE


def _own_cost(x: Expr) -> int:
    rounding = OF_ROUNDING * _is_short_float(x)
    return max(1, x.cost - sum(a.cost for a in x.args)) + rounding


def _is_short_float(x: Expr) -> bool:
    return x.dtype in ("f16", "bf16")
