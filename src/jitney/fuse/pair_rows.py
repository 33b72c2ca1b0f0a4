"""Two rows at a time in kernels of several stages: what one row waits for, the other fills.

In: a scheduled kernel whose vectors run along its rows, and its live expressions. Out: the same
with half as many rows, in each of which every stage does two rows side by side. Of an odd number
the last pair begins one row earlier: that row is done twice, and the same is written twice; so the
kernel is the same for any number. Between two stages of one row a sum is folded from lanes to a
number, and a logarithm or a quotient of it formed: some 300 of the 940 cycles that log-sum-exp
takes for 1024 elements.
Kernels whose rows are in a pipeline (pipeline_rows.py) wait less; two rows at a time gain there
only if no rows are saved or stored, which would leave the first cache.
Keeps: every value, but for the order of sums, which depends on how many copies of a loop there are.
"""

import math
from dataclasses import replace

from ..ir.target import CpuTarget
from .affine import Affine, coefficient_of, scale, variable
from .kernel import Expr, Kernel, Loop, Reduction, Store, Stream
from .pipeline_rows import is_heavy

MOST_ELEMENTS = 2048  # of a row: longer ones wait little, and two of them should stay near
MOST_OF_HEAVY = 512  # with AVX2, if much is computed of each (softmax of 1024 445 us, alone 413)


def pair_rows(kernel: Kernel, used: list[Expr], target: CpuTarget) -> list[Expr]:
    """Changes the kernel if that pays; returns its live expressions, operands first."""
    most = MOST_ELEMENTS if target.avx512 or not is_heavy(used) else MOST_OF_HEAVY
    if not _is_worth(kernel, most):
        return used
    row = kernel.rows[-1]
    found = _first_of_two(kernel, row)
    kernel.pairs = found[-1]
    pairs = _Pairs(kernel, row.variable, kernel.pairs)
    kernel.rows[-1] = Loop(row.variable, -(-row.extent // 2))
    for x in used:
        found.append(x)
        second = pairs.second_of(x)
        if second is not x:
            found.append(second)
    pairs.change_stages()
    return found


def _first_of_two(kernel: Kernel, row: Loop) -> list[Expr]:
    """The number of the first of two rows, min(2 r, rows - 2), after what it is made of."""
    first, variables = len(kernel.exprs), frozenset([row.variable])
    index = Expr("index", (), "i64", (scale(variable(row.variable), 2),), first, 1, variables)
    limit = Expr("param", (), "i64", (row.extent - 2,), first + 1, 0, frozenset())
    chosen = Expr("min", (index, limit), "i64", (), first + 2, 2, variables)
    kernel.exprs += [index, limit, chosen]
    return [index, limit, chosen]


def _is_worth(kernel: Kernel, most: int) -> bool:
    if kernel.lane != "stage" or kernel.small or len(kernel.stages) < 2 or not kernel.rows:
        return False
    row = kernel.rows[-1]
    loops = [loop for stage in kernel.stages for loop in stage.loops]
    if row.extent < 2 or any(lo.chunk_row is not None for lo in loops):
        return False
    if any(stage.carried or stage.test is not None for stage in kernel.stages):
        return False
    plain = kernel.tile is None and not (kernel.borders or kernel.near)
    plain = plain and kernel.stream != Stream.PARTS  # two rows begin at different places in lines
    in_place = any(mode == "inout" for _, mode in kernel.buffers)
    lengths = [math.prod(loop.extent for loop in stage.loops) for stage in kernel.stages]
    leaves_rows = any(stage.saves or stage.stores for stage in kernel.stages)
    if kernel.gathered or (kernel.pipelined and leaves_rows):  # they wait little, are many already
        return False
    return plain and not in_place and max(lengths) <= most


class _Pairs:
    """The second row's expression of each expression, which becomes the first row's."""

    def __init__(self, kernel: Kernel, row: int, chosen: Expr):
        self.kernel, self.row, self.chosen = kernel, row, -1 - chosen.id
        self.seconds: dict[int, Expr] = {}
        self.sums = [len(stage.reductions) for stage in kernel.stages]
        self.saved = len(kernel.saved)

    def second_of(self, x: Expr) -> Expr:
        """Makes it; `x` itself if both rows have the same. Operands come before."""
        args = tuple([self.seconds[a.id] for a in x.args])
        attrs = self._attrs_of_second(x)
        if args == x.args and attrs == x.attrs:
            second = x
        else:
            number = len(self.kernel.exprs)
            second = Expr(x.op, args, x.dtype, attrs, number, x.cost, x.variables)
            self.kernel.exprs.append(second)
        if x.op in ("load", "index", "saved"):
            x.attrs = (*x.attrs[:-1], self.first(x.attrs[-1]))
        self.seconds[x.id] = second
        return second

    def _attrs_of_second(self, x: Expr) -> tuple:
        if x.op == "reduced":
            stage, number, *level = x.attrs
            return (stage, number + self.sums[stage], *level)
        if x.op == "saved":
            return (x.attrs[0] + self.saved, self.second(x.attrs[1]))
        if x.op in ("load", "index"):
            return (*x.attrs[:-1], self.second(x.attrs[-1]))
        return x.attrs

    def first(self, place: Affine) -> Affine:
        """An index of the first row."""
        constant, terms = place
        return (constant, tuple([(self.chosen if a == self.row else a, c) for a, c in terms]))

    def second(self, place: Affine) -> Affine:
        """An index of the second row."""
        constant, terms = place
        moved = [(-1 - self.seconds[-1 - a].id if a < 0 else a, c) for a, c in terms]
        return self.first((constant + coefficient_of(place, self.row), tuple(moved)))

    def change_stages(self) -> None:
        """Every sum, saved row and store twice."""
        kernel = self.kernel
        for stage in kernel.stages:
            stage.reductions = [*stage.reductions, *map(self._second_sum, stage.reductions)]
            for r in stage.reductions[: len(stage.reductions) // 2]:
                r.index = self.first(r.index) if r.index is not None else None
            stage.saves = [
                save for number, place, x in stage.saves
                for save in ((number, self.first(place), x),
                             (number + self.saved, self.second(place), self.seconds[x.id]))
            ]  # fmt: skip
            stage.stores = self._both_stores(stage.stores)
        kernel.stores = self._both_stores(kernel.stores)
        kernel.saved = [*kernel.saved, *kernel.saved]

    def _second_sum(self, r: Reduction) -> Reduction:
        index = self.second(r.index) if r.index is not None else None
        factor = self.seconds[r.factor.id] if r.factor is not None else None
        tells = r.tells + self.sums[0] if r.tells is not None else None
        return replace(r, expr=self.seconds[r.expr.id], index=index, factor=factor, tells=tells)

    def _both_stores(self, stores: list[Store]) -> list[Store]:
        found = []
        for s in stores:
            mask = self.seconds[s.mask.id] if s.mask is not None else None
            second = Store(s.buffer, self.second(s.position), self.seconds[s.expr.id], mask)
            found += [replace(s, position=self.first(s.position)), second]
        return found
