"""Conditions on positions that hold in all turns of their loop, or in none, are not asked.

In: a scheduled kernel and its live expressions. Out: the same, in which choices by such conditions
are what they choose, and masks ask only the rest. An array with its edge repeated around it is
three parts along each axis, and a window that is shifted to one side never sees the third.
Keeps: every value. What a load that is never wanted reads stays masked.
"""

from .interior import condition_range
from .kernel import Expr, Kernel, append_expression, live_expressions
from .schedule import own_cost


def fold_conditions(kernel: Kernel, used: list[Expr]) -> list[Expr]:
    """See the module's text; returns the live expressions, operands first."""
    loops = [*kernel.rows, *[lo for stage in kernel.stages for lo in stage.loops]]
    extents = {lo.variable: lo.extent for lo in loops if lo.chunk_row is None}
    known = _known(used, extents)
    if not known and not any(x.op == "and" and x.dtype == "b1" for x in used):
        return used
    folder, own = _Folder(kernel, known, extents), {x.id: own_cost(x) for x in used}
    for x in used:
        folder.keep(x)
    return still_alive(kernel, folder.found, own)


def still_alive(kernel: Kernel, found: list[Expr], own: dict[int, int]) -> list[Expr]:
    """What is still needed of expressions of which some have other operands now, with its cost."""
    alive = {x.id for x in live_expressions(kernel)}
    found = [x for x in found if x.id in alive]
    for x in found:
        x.cost = own.get(x.id, 1) + sum([a.cost for a in x.args])
    return found


def conditions_of(mask: Expr) -> list[Expr]:
    """The conditions that all must hold."""
    if mask.op != "and":
        return [mask]
    return [part for a in mask.args for part in conditions_of(a)]


def _known(used: list[Expr], extents: dict[int, int]) -> dict[int, bool]:
    """The conditions whose value is the same in all turns, and which."""
    known = {}
    for x in used:
        inside = condition_range(x, extents)
        if inside is not None and extents[inside[0]]:
            _, start, stop = inside
            if start >= stop:
                known[x.id] = False
            elif stop - start == extents[inside[0]]:
                known[x.id] = True
    return known


class _Folder:
    """The expressions so far."""

    def __init__(self, kernel: Kernel, known: dict[int, bool], extents: dict[int, int]):
        self.kernel, self.known, self.extents = kernel, known, extents
        self.found: list[Expr] = []
        self.same: dict[int, Expr] = {}  # what an expression turned out to be
        self.both: dict[tuple[int, int], Expr] = {}

    def keep(self, x: Expr) -> None:
        """Adds an expression, made of what its operands turned out to be."""
        x.args = tuple([self.same.get(a.id, a) for a in x.args])
        if x.op == "select":
            chosen = self._chosen(*x.args)
            if chosen is not None:
                self.same[x.id] = chosen
                if not chosen.args or chosen.op == "load":  # a result may be this expression
                    x.op, x.args, x.attrs = chosen.op, chosen.args, chosen.attrs
                    x.variables = chosen.variables
        elif x.op == "load" and x.args:
            x.args = self._asked(x.args[0])
        self.found.append(x)

    def _chosen(self, condition: Expr, yes: Expr, no: Expr) -> Expr | None:
        """What a choice always is. A masked load is 0 where it is not wanted."""
        if condition.id in self.known:
            return yes if self.known[condition.id] else no
        is_own = yes.op == "load" and yes.args and condition in conditions_of(yes.args[0])
        never = no.op == "load" and no.args and any(
            self.known.get(part.id) is False for part in conditions_of(no.args[0])
        )  # fmt: skip
        return yes if is_own and never else None

    def _asked(self, mask: Expr) -> tuple[Expr, ...]:
        """The mask without the conditions that hold everywhere, or wherever another one does."""
        if mask.id in self.known:
            return () if self.known[mask.id] else (mask,)
        if mask.op != "and":
            return (mask,)
        parts = self._tightest([part for a in mask.args for part in self._asked(a)])
        if len(parts) < 2 or parts == list(mask.args):
            return tuple(parts) if len(parts) < 2 else (mask,)
        key = parts[0].id, parts[1].id
        if key not in self.both:
            self.both[key] = append_expression(self.kernel, self.found, "and", *parts, dtype="b1")
        return (self.both[key],)

    def _tightest(self, parts: list[Expr]) -> list[Expr]:
        """Of two conditions of which one implies the other, that one."""
        if len(parts) < 2 or parts[0] is parts[1]:
            return parts[:1]
        first, second = [condition_range(part, self.extents) for part in parts]
        if first is None or second is None or first[0] != second[0]:
            return parts
        (_, low, high), (_, start, stop) = first, second
        if low <= start and stop <= high:
            return parts[1:]
        return parts[:1] if start <= low and high <= stop else parts
