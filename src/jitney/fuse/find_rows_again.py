"""Which loads of a stencil read, in the next row, what others have read in this one.

In: a scheduled kernel whose rows are counted on, with what is known of its borders and near loads,
and its live expressions. Out: for the index of such a load, the index of the other; and the
conditions on which that depends, as borders, where rows choose what they read (choose_rows.py).
Codegen then does two rows at a time (codegen/joined_rows.py), so that vectors of the row between
are in registers when the second row asks for them.

What a stencil reads comes from the first cache, where each line that is brought in or written back
takes time of its loads: five points of 1024 x 1024 in the third cache take 121 us by one thread of
a Zen 4, in turns with single rows 130.
"""

from ..ir.target import CpuTarget
from . import affine as af
from .affine import Affine
from .interior import Border, is_condition_on_place
from .kernel import Counted, Expr, Kernel, RowsAgain
from .number_slots import signed

LEAST_ROWS = 4


def find_rows_again(kernel: Kernel, used: list[Expr], target: CpuTarget) -> RowsAgain:
    """See the module's text."""
    if not kernel.near or not kernel.sided or kernel.counted != Counted.LONG:
        return RowsAgain()
    if not target.avx512 or kernel.stream or kernel.rows[-2].extent < LEAST_ROWS:
        return RowsAgain()  # of sixteen registers too few are left
    if kernel.whole_ends:  # turns of two cost short rows too much (life of 256 x 256 a sixth)
        return RowsAgain()
    on_rows = [b.condition for b in kernel.borders if kernel.rows[-2].variable in
               b.condition.variables]  # fmt: skip
    if not all(goes_by_ones(x, kernel.rows[-2].variable) for x in on_rows):
        return RowsAgain()  # codegen finds where a condition holds by subtraction
    failing = {b.condition.id for b in kernel.borders if not b.holds}  # at the rows' ends only
    middle = _MiddleRows(kernel, used)
    found: dict[Affine, Affine] = {}
    by_value: dict[Affine, Affine] = {}
    loads = [x for x in used if x.op == "load" and failing.isdisjoint(a.id for a in x.args)]
    for x in loads:
        value = middle.place(x.attrs[1])
        if value is not None:
            by_value.setdefault(value, x.attrs[1])
    for value, place in by_value.items():
        step = af.coefficient_of(value, middle.row)
        before = by_value.get((value[0] + step, value[1]))
        if before is not None and step:
            found[place] = before
    if not found or any(_is_apart(kernel, x.attrs[1], found) for x in loads):
        return RowsAgain()
    asked = [middle.asked_for(place) for pair in found.items() for place in pair]
    borders = {b.condition.id: b for some in asked for b in some}
    return RowsAgain(found, tuple(borders.values()))


def goes_by_ones(condition: Expr, row: int) -> bool:
    """Whether the place that a condition is about moves by one from row to row."""
    return af.coefficient_of(condition.args[0].attrs[-1], row) in (1, -1)


def _is_apart(kernel: Kernel, place: Affine, found: dict[Affine, Affine]) -> bool:
    """Whether a load is of rows that are not read again. With such (neighbours along a third axis)
    two rows at a time have more places in memory than there are registers for them, and take up to
    a seventh longer (seven points, 32 x 32 x 32 to 128 x 128 x 128)."""
    midst, _ = kernel.near.get(place, (place, 0))
    return midst not in found and midst not in found.values()


class _MiddleRows:
    """Places as they are in most rows."""

    def __init__(self, kernel: Kernel, used: list[Expr]):
        self.row = kernel.rows[-2].variable
        self.extents = {loop.variable: loop.extent for loop in kernel.rows[:-1]}
        self.by_id = {x.id: x for x in used}

    def place(self, place: Affine) -> Affine | None:
        """An index in which what conditions on rows choose is the number it is in most of them."""
        start, terms = place
        left = []
        for atom, factor in terms:
            x = self._chosen(atom)
            if x is None:
                left.append((atom, factor))
                continue
            chosen = self._choice(x)
            if chosen is None:
                return None
            start += factor * chosen[0]
        return start, tuple(left)

    def asked_for(self, place: Affine) -> list[Border]:
        """The conditions behind `place`."""
        chosen = [self._chosen(atom) for atom, _ in place[1]]
        found = [self._choice(x) for x in chosen if x is not None]
        return [border for choice in found if choice is not None for border in choice[1:]]

    def _chosen(self, atom: int) -> Expr | None:
        """What an index adds, if that changes with the rows but is no loop's variable."""
        x = self.by_id[-1 - atom] if atom < 0 else None
        return x if x is not None and self.row in x.variables else None

    def _choice(self, x: Expr) -> tuple[int, Border] | None:
        """(the number that x is in most rows, the condition on which that depends)."""
        if not x.args:
            return None
        border = self._border(x.args[0])
        if border is None:
            return None
        if x.op == "convert":
            return int(border.holds), border
        if x.op == "select" and all(a.op in ("const", "param") for a in x.args[1:]):
            return signed(x.args[1 if border.holds else 2].attrs[0]), border
        return None

    def _border(self, x: Expr) -> Border | None:
        """A condition 0 <= place < limit with the value that it has in the middle of all loops."""
        if not is_condition_on_place(x) or not goes_by_ones(x, self.row):
            return None
        place, limit = x.args[0].attrs[-1], x.args[1].attrs[0]
        if not all(v in self.extents for v, _ in place[1]):
            return None
        here = place[0] + sum(c * (self.extents[v] // 2) for v, c in place[1])
        holds = 0 <= here < limit
        above = not holds and (here >= limit) == (af.coefficient_of(place, self.row) > 0)
        return Border(x, holds, above, (True, True))
