"""Short rows whose elements are computed alike are computed several at a time.

In: a kernel that is written out (one row an index, and each of its elements), and its live
expressions. Out: the same, `alike` if lanes are to be neighbouring elements of `blocks` rows
(codegen/alike_rows.py) and not of as many rows as there are lanes: then nothing is picked from
vectors that were read, nor woven to those that are written, but where elements change places. What
all elements of a row have in common is computed for each of them, so that is weighed.
"""

import math
from dataclasses import dataclass

from ..ir.target import CpuTarget
from .affine import coefficient_of
from .alike import Kind, Pattern, find_pattern, parts_of
from .kernel import SHORT_AXIS, SHORT_STRIDE, Counted, Expr, Kernel, Stream
from .schedule import lanes_of

MOST_READ = 4  # vectors that an array's elements are picked from
MOST_VECTORS, MOST_CODE = 8, 100  # of rows at a time, and operations of all of these
OF_ROUNDING = 10  # operations, with what widens and narrows
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
    block = _Block(pattern, lanes_of(kernel, used, target), len(stores))
    rows = block.rows_at_a_time(row.extent)
    by_lanes = _cycles_of_row(kernel, used, block.lanes, row.variable)
    if not rows or block.cycles(rows) / rows > by_lanes:
        return
    kernel.alike, kernel.blocks = pattern, rows
    kernel.counted, kernel.near = Counted.NO, {}
    kernel.woven = {
        x.attrs[1]: (p.first, x.attrs[1][0] - p.first[0])
        for p in parts_of(pattern) if p.first is not None
        for x in p.of if x.op == "load" and x.attrs[1] != p.first
    }  # fmt: skip


def begins_of(count: int, lanes: int) -> list[int]:
    """Where the vectors of so many elements begin: the last is whole, too, if there is a whole
    one."""
    return [*range(0, count - lanes, lanes), count - lanes] if count > lanes else [0]


def shuffles_of(step: int) -> int:
    """How many a vector of elements so far apart takes, where all between them are wanted, too."""
    halves = (step & -step).bit_length() - 1
    odd = step >> halves
    return halves + (odd if odd > 1 else 0)


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
    """Rows of `count` elements, computed by vectors of so many lanes."""

    pattern: Pattern
    lanes: int
    count: int

    def rows_at_a_time(self, extent: int) -> int:
        """So many that vectors are full, or nearly; 0 if an array's elements lie too far apart."""
        parts = parts_of(self.pattern)
        size = sum(_own_cost(p.of[0]) if p.kind == Kind.COMPUTED else 1 for p in parts)
        most = min(MOST_VECTORS, max(1, MOST_CODE // size))
        few = [r for r in range(1, min(self.lanes, extent) + 1)
               if r == 1 or self.vectors(r) <= most]  # fmt: skip
        near = [r for r in few if self._is_near(r)]
        if not near:
            return 0
        least = min(self.cycles(r) / r for r in near)
        return next(r for r in near if self.cycles(r) / r <= ENOUGH * least)

    def vectors(self, rows: int) -> int:
        return -(-rows * self.count // self.lanes)

    def _span(self, p: Pattern, rows: int) -> int:
        """From the first to the last number that a vector of these rows is picked from, at most."""
        numbers = [abs(p.step) * r + d for r in range(rows) for d in p.places]
        begins = begins_of(len(numbers), self.lanes)
        parts = [numbers[begin : begin + self.lanes] for begin in begins]
        return max(max(part) - min(part) + 1 for part in parts)

    def _is_near(self, rows: int) -> bool:
        read = [p for p in parts_of(self.pattern) if p.first is not None]
        return all(
            -SHORT_AXIS <= p.step <= SHORT_STRIDE and self._span(p, rows) <= MOST_READ * self.lanes
            for p in read
        )

    def cycles(self, rows: int) -> float:
        """Cycles for these rows, about."""
        work = 1.0
        for p in parts_of(self.pattern):
            if p.kind == Kind.COMPUTED:
                work += _own_cost(p.of[0])
            if p.first is None:
                continue
            if self._is_in_order(p):
                work += 1 if rows * self.count % self.lanes == 0 else ACROSS_LINES
            else:
                vectors = -(-self._span(p, rows) // self.lanes)
                work += (ACROSS_LINES + 1) * vectors + (None in p.distances)
        return max(work / IN_A_CYCLE, self._least_cycles(rows)) * self.vectors(rows)

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
    rounding = OF_ROUNDING if x.dtype in ("f16", "bf16") else 0
    return max(1, x.cost - sum(a.cost for a in x.args)) + rounding
