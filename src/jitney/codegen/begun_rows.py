"""Rows one after the other, of which it is known where they begin in memory.

In: a kernel emitter whose rows are counted on (`counted_rows.py`), the first row of a range, the
expressions that change with rows. Out: `Rows`: the loop over rows, and what one begins with.
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

    def changes(atom) -> bool:
        return not atom.variables.isdisjoint((inner, along))

    for number, position in [*loads, *[(s.buffer, s.position) for s in k.kernel.stores]]:
        position = k.kernel.near.get(position, (position, 0))[0]
        terms = dict(k.slotted.affines[position][1])
        changing = [atom for atom in terms if atom < 0 and changes(k.by_id[-1 - atom])]
        if terms.get(along) != "1" or changing or (number, position, None) in places:
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
