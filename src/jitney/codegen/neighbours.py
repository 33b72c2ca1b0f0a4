"""Vectors of a stencil that lie a few elements beside loaded ones, made in registers.

In: a load that `Kernel.near` says has a neighbour in its midst, and that neighbour's vectors, side
by side in memory, one for each unrolled copy. Out: the vectors of the load: all but the first or
the last are two halves of neighbours, one instruction each; that one is loaded. Of loads on both
sides of a place that nobody reads (the four neighbours of a point) the vectors there are loaded:
`between` has such places.

Of rows that are whole vectors (whole_rows.py) those beside the present one are in registers, too.

With vectors of 64 bytes every unaligned load crosses a line of the cache, and takes 1.7 cycles
instead of 1.1 (Zen 4).
"""

from . import memory
from .instructions import Value

_TYPES = ("float", "double", "i32", "i64")  # one instruction shifts their vectors by elements


def load(k, x, pointer: str, place) -> Value | None:
    """The vectors of a load, or None if they must be read from memory."""
    e, lanes = k.e, k.lanes
    number, position = x.attrs
    midst, distance = k.kernel.near[position]
    known = k.loaded.get((number, midst))
    if not can_shift(k, x) or not e.target.avx512 or place.step != "1":
        return None
    if known is None and (number, midst) in k.between and e.copies > 1:
        source = k._source(number, midst)
        known = memory.load(e, k.kernel.buffers[number][0], *source, lanes)
        k.loaded[number, midst] = known
    if known is None:
        return None
    names = list(known.names)
    if not 1 < e.copies == len(names) or abs(distance) >= lanes:
        return None
    end = e.copies - 1 if distance > 0 else 0
    base = e.instruction(f"add i64 {place.base}, {end * lanes}") if end else place.base
    copies, e.copies = e.copies, 1
    there = place._replace(base=base)
    edge = memory.load(e, k.kernel.buffers[number][0], pointer, there, lanes)
    e.copies = copies
    moved = [_shifted(e, known, a, b, distance % lanes) for a, b in zip(names, names[1:])]
    found = [*moved, edge.names[0]] if distance > 0 else [edge.names[0], *moved]
    return Value(tuple(found), known.type, lanes)


def can_shift(k, x) -> bool:
    """Whether one instruction shifts what a load reads."""
    return memory.memory_type(k.kernel.buffers[x.attrs[0]][0]) in _TYPES


def from_beside(k, x, mask: Value | None) -> Value | None:
    """A load's vector, of the three around it that are in registers; or None if they do not tell.
    Under a mask that is off beyond the row's end alone, zeros lie there."""
    number, position = x.attrs
    midst, distance = k.kernel.near.get(position, (position, 0))
    three = k.beside.get((number, midst))
    if three is None or abs(distance) >= k.lanes:
        return None
    if mask is not None and x.args[0].id not in k.never_off:
        return None
    other = three.behind if distance > 0 else three.before
    is_known = distance == 0 or other is not None
    if not is_known and (abs(distance) > 1 or mask is None or x.args[0].id not in k.off_beyond):
        return None
    found = three.here if distance == 0 else _between(k.e, three.here, other, distance)
    if mask is None or not is_known:
        return found
    return k.e.select(mask, found, k.e.constant(found.type, 0, k.lanes))


def _between(e, here: Value, other: Value | None, distance: int) -> Value:
    """A vector that is partly the present one, partly one beside it (or zeros)."""
    beyond = "zeroinitializer" if other is None else other.names[0]
    names = (here.names[0], beyond) if distance > 0 else (beyond, here.names[0])
    return Value((_shifted(e, here, *names, distance % here.lanes),), here.type, here.lanes)


def _shifted(e, like: Value, low: str, high: str, first: int) -> str:
    """The elements from number `first` on of two vectors that follow one another."""
    vector = like.text
    mask = ", ".join(f"i32 {first + i}" for i in range(like.lanes))
    return e.instruction(
        f"shufflevector {vector} {low}, {vector} {high}, <{like.lanes} x i32> <{mask}>"
    )
