"""Rows one after the other, of which it is known where they begin in memory.

In: a kernel emitter whose rows are counted on (`counted_rows.py`), the first row of a range, the
expressions that change with rows. Out: `Rows`: the loop over rows, and what one begins with;
`of_row`: where all begin that are read and written in one.
Keeps: which elements are computed, and how.
"""

from . import memory
from .accesses import operand
from .instructions import Value


def emit_values(k, expressions) -> None:
    """Values that are the same for a whole row, or for several."""
    for x in expressions:
        k.values[x.id] = k._expression(x)


class Rows:
    """The rows of the last but one loop, from `low` on: where they begin in memory, and what of
    `own` changes with them."""

    def __init__(self, k, low: str, own: list):
        self.k, self.own = k, own
        self.inner, self.along = (loop.variable for loop in k.kernel.rows[-2:])
        k.scalars[self.inner] = low
        self.places, self.starts, self.steps = _beginnings(k, self.inner, self.along)

    def begin(self, index: str, begun: list[Value]) -> None:
        """Row number `index`, whose places in memory are known."""
        k = self.k
        k.scalars[self.inner] = index
        k.begun_rows = {p: (b.names[0], 0) for p, b in zip(self.places, begun, strict=True)}
        emit_values(k, self.own)

    def moved(self, begun: list[Value]) -> list[Value]:
        """Where the next row's places are."""
        return [_moved(self.k, b, step) for b, step in zip(begun, self.steps, strict=True)]

    def loop(self, low: str, high: str, begun: list[Value], vectors) -> list[Value]:
        """One row after the other; returns where the row after the last one would begin."""

        def row(index, begun):
            self.begin(index, begun)
            vectors()
            return self.moved(begun)

        return self.k.loop(low, high, "1", begun, row, "row")


def _beginnings(k, inner: int, along: int):
    """(keys of `begun_rows`, where those rows begin, by how many bytes they move a turn)."""
    loads = [x.attrs for home in ("outer", ("row", 0)) for x in k.homes.get(home, ())
             if x.op == "load"]  # fmt: skip
    places, starts, steps = {}, [], []
    for number, position in [*loads, *[(s.buffer, s.position) for s in k.kernel.stores]]:
        position = k.kernel.near.get(position, (position, 0))[0]
        terms = dict(k.slotted.affines[position][1])
        atoms = [k.by_id[-1 - atom] for atom in terms if atom < 0]
        changes = any(not x.variables.isdisjoint((inner, along)) for x in atoms)
        if terms.get(along) != "1" or changes or (number, position, None) in places:
            continue
        type_ = memory.memory_type(k.kernel.buffers[number][0])
        base, _ = k.position_without(position, along)
        start = memory.pointer_at(k.e, f"%b{number}", type_, base)
        places[number, position, None] = None
        starts.append(Value((start,), "ptr", 1))
        step = operand(terms.get(inner, "0"))
        steps.append(k.e.instruction(f"mul i64 {step}, {memory.nbytes(type_)}"))
    return list(places), starts, steps


def _moved(k, begun: Value, step: str) -> Value:
    name = k.e.instruction(f"getelementptr i8, ptr {begun.names[0]}, i64 {step}")
    return Value((name,), "ptr", 1)


def of_row(k, variable: int) -> dict[tuple, tuple]:
    """Where the rows of the arrays begin that are read and written along them, by buffer and
    position, each with the distance from there. They are made once a row, if they are not counted
    on from the one before (`counted_rows.py`), not once for each part of it, and frozen, or LLVM
    would add where a part begins to each of them."""
    found = dict(k.begun_rows)
    places = [x.attrs for x in k.homes.get(("row", 0), ()) if x.op == "load"]
    for number, position in [*places, *[(s.buffer, s.position) for s in k.kernel.stores]]:
        start, distance = k.kernel.near.get(position, (position, 0))
        if not _runs_along(k, start, variable):
            continue
        if (number, start, None) not in found:
            place = _from_other_row(k, number, start) or _from_array(k, number, start, variable)
            found[number, start, None] = k.e.instruction(f"freeze ptr {place}"), 0
        found[number, position, None] = found[number, start, None][0], distance
    return found


def _from_array(k, number: int, start, variable: int) -> str:
    """Where a row begins, counted from its array."""
    base, _ = k.position_without(start, variable)
    type_ = memory.memory_type(k.kernel.buffers[number][0])
    return memory.pointer_at(k.e, f"%b{number}", type_, base)


def _from_other_row(k, number: int, start) -> str | None:
    """Where a row begins that lies a chosen number of rows from one that is counted on."""
    constant, terms = k.slotted.affines[start]
    chosen = [(atom, factor) for atom, factor in terms if atom < 0]
    loops = tuple([term for term in terms if term[0] >= 0])
    if not chosen:
        return None
    for (buffer, other, _), (row, distance) in k.begun_rows.items():
        first, others = k.slotted.affines[other]
        if buffer != number or distance or others != loops:
            continue
        ends = k._first_place(constant), k._first_place(first)
        base = k.e.instruction(f"sub i64 {ends[0]}, {ends[1]}")
        for atom, factor in chosen:
            value = k.values[-1 - atom].names[0]
            product = k.e.instruction(f"mul i64 {operand(factor)}, {value}")
            base = k.e.instruction(f"add i64 {base}, {product}")
        return memory.pointer_at(k.e, row, memory.memory_type(k.kernel.buffers[number][0]), base)
    return None


def _runs_along(k, position, variable: int) -> bool:
    """Whether an index counts a row's elements, from a place that does not change along it."""
    atoms = [k.by_id[-1 - atom] for atom, _ in position[1] if atom < 0]
    whole = k.slotted.affines[position][1]
    return dict(whole).get(variable) == "1" and all(variable not in a.variables for a in atoms)
