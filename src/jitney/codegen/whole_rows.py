"""A row that is whole vectors, the first and the last of them its ends.

In: a kernel with `whole_rows` (fuse/interior.py), and one row, [low, high). Out: the vector at its
beginning, a loop over those in the middle, the vector at its end, each with what is known there
(`Middle`). Of loads near one another the one in their midst is read once, a vector ahead, and what
lies beside it is two of its vectors, one behind the other, shifted: no load crosses lines of the
cache. (Those take 1.4 cycles each on a Zen 5: seven points of 128 x 128 x 128, in C, 290 us with
loads of all neighbours, 200 with these; one thread.)
Keeps: every value.
"""

from typing import NamedTuple

from . import memory, neighbours
from .instructions import Value
from .middle import Middle

# Rows that are read ahead: of each two vectors are kept and moved on. (256 x 256, one thread of a
# Zen 5, beside rows in three parts, with two and three of them: nine points .94 and 1.18, a game of
# life .94 and .86.)
MOST_READ_AHEAD = 2


class Beside(NamedTuple):
    """Three vectors of a row, one behind the other, of which the second is the present one; None
    where the row ends."""

    before: Value | None
    here: Value
    behind: Value | None


class Plans(NamedTuple):
    """What is known in a row's first vector, in those of its middle and in its last one."""

    first: Middle
    middle: Middle
    last: Middle


def emit_row(k, variable: int, low: str, high: str, plans: Plans) -> None:
    """See the module's text; `k` is the KernelEmitter."""
    e, lanes = k.e, k.lanes
    second = e.instruction(f"add i64 {low}, {lanes}")
    end = e.instruction(f"sub i64 {high}, {lanes}")
    keys = _read_ahead(k, variable, plans)

    def read(index: str) -> list[Value]:
        k.bind_vector(variable, index, None)
        return [_read(k, key) for key in keys]

    def emit(plan: Middle, index: str, *vectors) -> None:
        k.bind_vector(variable, index, None)
        k.beside = {key: Beside(*three) for key, *three in zip(keys, *vectors, strict=True)}
        plan.emit()
        k.beside = {}

    def turn(index: str, carried: list[Value]) -> list[Value]:
        before, here = carried[: len(keys)], carried[len(keys) :]
        behind = read(e.instruction(f"add i64 {index}, {lanes}"))
        emit(plans.middle, index, before, here, behind)
        return [*here, *behind]

    none = [None] * len(keys)
    here, behind = read(low), read(second)
    emit(plans.first, low, none, here, behind)
    found = k.loop(second, end, str(lanes), [*here, *behind], turn, "middle")
    emit(plans.last, end, found[: len(keys)], found[len(keys) :], none)
    k.vector_variable = None


def _read_ahead(k, variable: int, plans: Plans) -> list[tuple]:
    """The loads in the midst of others that may be read in every vector of the row, and beside
    which something is."""
    if not k.e.target.avx512:
        return []
    wanted = {
        (x.attrs[0], k.kernel.near[x.attrs[1]][0]) for x in plans.middle.needed_expressions()
        if x.op == "load" and x.attrs[1] in k.kernel.near and neighbours.can_shift(k, x)
    }  # fmt: skip
    found: dict[tuple, None] = {}
    for x in k.used:
        if x.op != "load" or x.attrs not in wanted or not all(p.reads_whole(x) for p in plans):
            continue
        if not any(variable in atom.variables for atom in k._atoms(x)):
            found[x.attrs] = None
    return list(found)[:MOST_READ_AHEAD]


def _read(k, key: tuple) -> Value:
    pointer, place = k._source(*key)
    return memory.load(k.e, k.kernel.buffers[key[0]][0], pointer, place, k.lanes)
