"""The expressions of a row as they are where conditions of borders are known.

In: a kernel emitter, and borders (fuse/interior.py) whose conditions have the values these say.
Out: `Middle`: a vector of the row, written with loads that are not masked, and without selects,
where conditions are known; which expressions that needs.
Keeps: every value.
"""

from ..fuse.kernel import Expr, Store
from .instructions import Value


class Middle:
    """The expressions of a row as they are where all borders are known.

    `known[id]`: the value of a condition. `same[id]`: the expression that it is equal to.
    `asked[id]`: the values in the lanes of a condition that was asked before.
    """

    def __init__(self, k, borders, asked=None):
        self.k = k
        self.asked: dict[int, Value] = asked or {}
        self.known: dict[int, bool] = {b.condition.id: b.holds for b in borders}
        holding = {b.condition.id for b in k.kernel.borders if b.holds}
        self.off_beyond = frozenset(holding & self.asked.keys())
        self.same: dict[int, Expr] = {}
        for x in k.used:
            self._simplify(x)
        self.stores = [s for s in k.kernel.stores if s.mask is None or self.value_of(s.mask) is not
                       False]  # fmt: skip
        self.needed = self._needed()
        self.midsts = {midst for midst, _ in k.kernel.near.values()}
        self.between = self._between()

    def value_of(self, x: Expr) -> bool | None:
        """Whether a condition holds, if that is known."""
        return self.known.get(self.found(x).id)

    def found(self, x: Expr) -> Expr:
        while x.id in self.same:
            x = self.same[x.id]
        return x

    def _simplify(self, x: Expr) -> None:
        if x.op == "select":
            chosen = self.value_of(x.args[0])
            if chosen is not None:
                self.same[x.id] = x.args[1] if chosen else x.args[2]
        elif x.op in ("and", "or") and x.dtype == "b1":
            values = [self.value_of(a) for a in x.args]
            decides = x.op == "or"  # the value of one operand that decides
            if decides in values:
                self.known[x.id] = decides
            elif values[0] is not None:
                self.same[x.id] = x.args[1]
            elif values[1] is not None:
                self.same[x.id] = x.args[0]
        elif x.op == "not" and x.dtype == "b1" and self.value_of(x.args[0]) is not None:
            self.known[x.id] = not self.value_of(x.args[0])

    def _operands(self, x: Expr) -> list[Expr]:
        if x.id in self.known or x.id in self.asked:
            return []
        if x.id in self.same:
            return [self.same[x.id]]
        if x.op == "load" and x.args and self.value_of(x.args[0]) is not None:
            return self.k._atoms(x) if self.value_of(x.args[0]) else []
        return [*x.args, *self.k._atoms(x)]

    def _needed(self) -> set[int]:
        k, stack = self.k, []
        for s in self.stores:
            stack.append(s.expr)
            if s.mask is not None and self.value_of(s.mask) is None:
                stack.append(s.mask)
            stack += [k.by_id[-1 - atom] for atom, _ in s.position[1] if atom < 0]
        seen: set[int] = set()
        while stack:
            x = stack.pop()
            if x.id not in seen:
                seen.add(x.id)
                stack += self._operands(x)
        return seen

    def needed_expressions(self) -> list[Expr]:
        """Those that cost something."""
        return [x for x in self.k.used if x.id in self.needed and x.id not in self.known
                and x.id not in self.same]  # fmt: skip

    def places_loaded(self) -> set:
        """The indices of loads that are not masked."""
        return {
            x.attrs[1] for x in self.needed_expressions()
            if x.op == "load" and self.reads_whole(x)
        }  # fmt: skip

    def reads_whole(self, x: Expr) -> bool:
        """Whether a load may read all lanes."""
        return not x.args or bool(self.value_of(x.args[0]))

    def _between(self) -> set[tuple]:
        """Places (with their arrays) on both sides of which something is read wherever a vector is,
        and so may be read there."""
        found: dict[tuple, set[bool]] = {}
        for x in self.needed_expressions():
            near = self.k.kernel.near.get(x.attrs[1]) if x.op == "load" else None
            if near and self.reads_whole(x):
                found.setdefault((x.attrs[0], near[0]), set()).add(near[1] > 0)
        return {place for place, sides in found.items() if len(sides) > 1}

    def emit(self, stored_lanes=None) -> None:
        """One vector of the row (or several copies), of which `stored_lanes()` are stored."""
        k = self.k
        k.between, k.never_off, k.off_beyond = self.between, frozenset(self.asked), self.off_beyond
        home = [x for x in k.homes.get(("row", 0), ()) if x.id in self.needed or x.id in self.known]
        k.farthest = self._farthest(home)
        for x in sorted(home, key=self._is_not_midst):
            k.values[x.id] = self._value(x)
        k.farthest = None
        if stored_lanes is not None:
            k.mask = stored_lanes()
        k.store_all([self._store(s) for s in self.stores])
        k.never_off = k.off_beyond = frozenset()

    def _farthest(self, home) -> int | None:
        """The load that comes from memory where those around it are in a cache: a stencil whose
        result goes past the caches (five points of 4096 x 4096 take .8 of the time if the machine
        is told ahead what it will read)."""
        loads = [x for x in home if x.op == "load" and x.id not in self.same]
        if not (self.k.kernel.near and self.k.kernel.stream) or self.k.mask is not None:
            return None
        return max(loads, key=lambda x: x.attrs[1][0]).id if len(loads) > 1 else None

    def _is_not_midst(self, x: Expr) -> bool:
        """Whether no neighbours are made of a load: those of which they are come first."""
        masked = x.args and not self.value_of(x.args[0]) if x.op == "load" else True
        return bool(masked) or x.attrs[1] not in self.midsts or any(a < 0 for a, _ in x.attrs[1][1])

    def _value(self, x: Expr) -> Value:
        k = self.k
        if x.id in self.known:
            return k.e.constant("i1", int(self.known[x.id]), 1)
        if x.id in self.asked:
            return self.asked[x.id]
        if x.id in self.same:
            return self._final(x)
        if x.op == "load" and x.args:
            holds, mask = self.value_of(x.args[0]), self.found(x.args[0])
            if holds is False:
                return k.zero_of(x)
            args = () if holds else (mask,)
            return k._load(Expr("load", args, x.dtype, x.attrs, x.id, x.cost, x.variables))
        return k._expression(x)

    def _final(self, x: Expr) -> Value:
        """The value of what an expression is equal to (which may have been known all along)."""
        x = self.found(x)
        if x.id in self.known:
            return self.k.e.constant("i1", int(self.known[x.id]), 1)
        return self.k.values[x.id]

    def _store(self, store: Store) -> Store:
        if store.mask is None or self.value_of(store.mask) is None:
            return store
        return Store(store.buffer, store.position, store.expr)
