"""Makes one load of two of which a condition on the rows chooses one.

In: a scheduled kernel and its live expressions. Out: the same, in which `select(c, a[p], a[q])` is
`a[q + c*(p - q)]` where c does not change along the vectors, nor does p - q: rolled arrays ask in
each row which of two places their neighbours are at, and arrays whose edges are repeated whether
they are there at all. No row is then a border of an axis that the vectors do not run along, and
there are no masks of which one holds whenever it is asked.
Keeps: every value; nothing is read that was not read before.
"""

from functools import partial

from . import affine as af
from .fold_conditions import conditions_of, still_alive
from .interior import condition_range
from .kernel import Expr, Kernel, append_expression
from .schedule import own_cost


def choose_rows(kernel: Kernel, used: list[Expr]) -> list[Expr]:
    """See the module's text; returns the live expressions, operands first."""
    if kernel.tile is not None or kernel.turned or not any(x.op == "select" for x in used):
        return used
    chooser, own = _Chooser(kernel), {x.id: own_cost(x) for x in used}
    for x in used:
        chooser.keep(x)
    if not chooser.has_changed:
        return used
    return still_alive(kernel, chooser.found, own)


class _Chooser:
    """The expressions so far; `extents`: of the loops that vectors do not run along."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.found: list[Expr] = []
        self.numbers: dict[int, Expr] = {}  # conditions as 0 or 1
        self.steps: dict[tuple, Expr] = {}  # distances that conditions choose, or 0
        self.both: dict[tuple[int, ...], Expr] = {}  # masks that both (or all) must hold
        self.has_changed = False
        loops = [*kernel.rows, *[lo for stage in kernel.stages for lo in stage.loops]]
        lanes = {s.loops[-1].variable for s in kernel.stages if s.loops}
        if kernel.lane == "row":
            lanes = {kernel.rows[-1].variable}
        chunked = {lo.variable for lo in loops if lo.chunk_row is not None}
        self.extents = {lo.variable: lo.extent for lo in loops if lo.variable not in lanes}
        self.extents = {v: n for v, n in self.extents.items() if v not in chunked}

    def keep(self, x: Expr) -> None:
        """Adds an expression, a load in place of the choice that it is if it can be one."""
        if x.op == "select" and (inside := self._range(x.args[0])) is not None:
            chosen = self._chosen(x.args[0], inside, *x.args[1:])
            if chosen is not None:
                x.op, x.args, x.attrs = chosen.op, chosen.args, chosen.attrs
                self.has_changed = True
        self.found.append(x)

    def _range(self, condition: Expr) -> tuple[int, int, int] | None:
        """(variable, start, stop): where a condition on one of the outer loops holds."""
        return condition_range(condition, self.extents)

    def _chosen(self, condition: Expr, inside, yes: Expr, no: Expr) -> Expr | None:
        """The value of a choice between loads, or between choices between loads by one condition;
        not yet among the kernel's expressions."""
        if yes.op == no.op == "select" and yes.args[0] is no.args[0]:
            pairs = zip(yes.args[1:], no.args[1:], strict=True)
            chosen = [self._chosen(condition, inside, a, b) for a, b in pairs]
            if None in chosen:
                return None
            kept = [self._added(a) for a in chosen if a is not None]
            return Expr("select", (yes.args[0], *kept), yes.dtype, (), -1, 1, yes.variables)
        if yes.op != "load" or no.op != "load" or yes.attrs[0] != no.attrs[0]:
            return None
        p, q = yes.attrs[1], no.attrs[1]
        masks, distance = self._masks_left(inside, yes, no), af.add(p, af.scale(q, -1))
        if masks is None or not self.extents.keys() >= self._variables_of(distance):
            return None
        place = af.add(q, self._chosen_step(condition, distance))
        variables = yes.variables | no.variables | condition.variables
        return Expr("load", masks, yes.dtype, (yes.attrs[0], place), -1, 1, variables)

    def _added(self, x: Expr) -> Expr:
        made = append_expression(
            self.kernel, self.found, x.op, *x.args, attrs=x.attrs, dtype=x.dtype
        )
        made.variables = x.variables
        return made

    def _number(self, condition: Expr) -> Expr:
        """A condition as an integer."""
        if condition.id not in self.numbers:
            make = partial(append_expression, self.kernel, self.found)
            self.numbers[condition.id] = make("convert", condition, dtype="i64")
        return self.numbers[condition.id]

    def _chosen_step(self, condition: Expr, distance: af.Affine) -> af.Affine:
        """The distance where the condition holds, otherwise nothing."""
        if not distance[1]:
            return af.scale(af.variable(-1 - self._number(condition).id), distance[0])
        key = condition.id, distance
        if key not in self.steps:
            make = partial(append_expression, self.kernel, self.found, dtype="i64")
            step = make("index", attrs=(distance,))
            step.variables = self._variables_of(distance)
            self.steps[key] = make("select", condition, step, make("const", attrs=(0,)))
        return af.variable(-1 - self.steps[key].id)

    def _variables_of(self, place: af.Affine) -> frozenset[int]:
        """The loops that a position depends on."""
        found = [
            {atom} if atom >= 0 else self.kernel.exprs[-1 - atom].variables for atom, _ in place[1]
        ]
        return frozenset().union(*found)

    def _masks_left(self, inside, yes: Expr, no: Expr) -> tuple | None:
        """What both loads still ask (one mask, or none) where the condition has chosen; None if
        that is not the same."""
        asked = [conditions_of(x.args[0]) if x.args else [] for x in (yes, no)]
        left = [
            {m.id: m for m in parts if not self._is_implied(m, inside, holds)}
            for parts, holds in zip(asked, (True, False), strict=True)
        ]
        if left[0].keys() != left[1].keys():
            return None
        return self._all_of(tuple(left[0].values()))

    def _all_of(self, masks: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """One mask, or none, that holds where all of them do."""
        if len(masks) < 2:
            return masks
        key = tuple([m.id for m in masks])
        if key not in self.both:
            *first, last = masks
            make = partial(append_expression, self.kernel, self.found)
            self.both[key] = make("and", *self._all_of(tuple(first)), last, dtype="b1")
        return (self.both[key],)

    def _is_implied(self, mask: Expr, inside: tuple[int, int, int], holds: bool) -> bool:
        """Whether a mask holds wherever the condition does (or does not)."""
        variable, start, stop = inside
        allowed = self._range(mask)
        if allowed is None or allowed[0] != variable:
            return False
        _, low, high = allowed
        if holds:
            return low <= start and stop <= high
        before = low <= 0 and start <= high if start > 0 else True
        end = self.extents[variable]
        after = low <= stop and end <= high if stop < end else True
        return before and after
