"""Blocks of a few vectors whose elements change places, by shuffles with constants.

In: a kernel emitter whose kernel has `blocks` (fuse/move_blocks.py) and a range of its last row
loop. Out: the loop over the blocks: all vectors of a block are read, and each vector of the result
is picked from them, two at a time. The last vector of a block that is no multiple of one begins in
the one before, so that nothing needs a mask and nothing beyond the block is touched. Of short
blocks several are moved at a time, and what a vector has beyond them is written again by the next.
"""

from ..fuse.affine import coefficient_of
from ..fuse.move_blocks import block_lanes
from . import memory, strided
from .accesses import operand
from .instructions import Value
from .transpose_registers import Vectors, shuffle


def emit_blocks(k, variable: int, low: str, high: str) -> None:
    """See the module's text."""
    e, stores = k.e, k.kernel.stores
    code = k.kernel.buffers[stores[0].buffer][0]
    type_ = memory.memory_type(code)
    from_place = {store.position[0]: store.expr.attrs[1][0] for store in stores}
    picks = [from_place[j] for j in range(len(stores))]
    span = max(picks) + 1
    lanes = block_lanes(min(len(picks), span), memory.nbytes(type_), e.target)
    load = stores[0].expr
    source, target = _start(k, load.attrs[1], variable), _start(k, stores[0].position, variable)
    begins = _begins(span, lanes)
    shape, vector = Vectors(type_, lanes, 1, memory.nbytes(type_)), f"<{lanes} x {type_}>"

    def block(index, _):
        read = _pointer(e, f"%b{load.attrs[0]}", type_, source, index)
        written = _pointer(e, f"%b{stores[0].buffer}", type_, target, index)
        parts = [
            memory._vector_load(e, vector, type_, memory.pointer_at(e, read, type_, at), None)
            for at in begins
        ]
        for at in _begins(len(picks), lanes):
            name = _picked(e, shape, parts, begins, picks[at : at + lanes])
            address = memory.pointer_at(e, written, type_, at)
            e.emit_raw(f"  store {vector} {name}, ptr {address}, align {memory.nbytes(type_)}")
        return []

    k.loop(low, high, "1", [], block, "block")


def emit_short_blocks(k, variable: int, low: str, high: str) -> None:
    """`blocks` rows at a time. The last vectors are cut off by masks, and begin early enough to be
    of as many rows; where there are fewer, these go one by one."""
    moved = _Moved(k, variable)
    for_each_of_blocks(k, low, high, moved.shape.lanes, moved.move)


def for_each_of_blocks(k, low: str, high: str, lanes: int, move) -> None:
    """Calls `move(index, rows, is_cut)` in loops over the rows [low, high), `blocks` at a time."""
    e, together, count = k.e, k.kernel.blocks, len(k.kernel.stores)
    beyond = max(0, -(-(lanes - together * count) // count))  # rows that a vector reaches into
    last = e.instruction(f"sub i64 {high}, {together}")
    is_long = e.instruction(f"icmp sge i64 {last}, {low}")
    end = e.instruction(f"select i1 {is_long}, i64 {high}, i64 {low}")
    end_of_few = e.instruction(f"select i1 {is_long}, i64 {low}, i64 {high}")

    def many(index, _):
        move(index, together)
        return [Value((e.instruction(f"add i64 {index}, {together}"),), "i64", 1)]

    def last_ones(index, _):
        first = e.instruction(f"call i64 @llvm.smin.i64(i64 {index}, i64 {last})")
        move(first, together, is_cut=True)
        return []

    def one(index, _):
        move(index, 1, is_cut=True)
        return []

    e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    top = e.instruction(f"sub i64 {last}, {beyond - 1}")
    (rest,) = k.loop(low, top, str(together), [Value((low,), "i64", 1)], many, "blocks")
    k.loop(rest.names[0], end, str(together), [], last_ones, "last")
    if together > 1:
        k.loop(low, end_of_few, "1", [], one, "block")


class _Moved:
    """Rows of short blocks, read and written at once."""

    def __init__(self, k, variable: int):
        self.e, stores = k.e, sorted(k.kernel.stores, key=lambda store: store.position[0])
        loads = [store.expr.attrs[1] for store in stores]
        first = min(loads, key=lambda place: place[0])
        self.places = [place[0] - first[0] for place in loads]
        self.step = coefficient_of(first, variable)
        self.type_ = memory.memory_type(k.kernel.buffers[stores[0].buffer][0])
        size = memory.nbytes(self.type_)
        self.shape = Vectors(self.type_, self.e.target.vector_bits // 8 // size, 1, size)
        base, distance = k.position_without(first, variable)
        self.source = f"%b{stores[0].expr.attrs[0]}", (base, operand(distance))
        self.target = f"%b{stores[0].buffer}", _start(k, stores[0].position, variable)

    def move(self, index: str, rows: int, is_cut: bool = False) -> None:
        """Rows [index, index + rows); `is_cut`: nothing is written beyond them."""
        e, lanes, type_ = self.e, self.shape.lanes, self.type_
        back, number = self.step < 0, index
        if back and rows > 1:
            number = e.instruction(f"add i64 {index}, {rows - 1}")
        read = _pointer(e, self.source[0], type_, self.source[1], number)
        written = _pointer(e, self.target[0], type_, self.target[1], index)
        order = range(rows - 1, -1, -1) if back else range(rows)
        picks = [abs(self.step) * row + place for row in order for place in self.places]
        begins = _begins(max(picks) + 1, lanes) if max(picks) >= lanes else [0]
        mask = None if max(picks) >= lanes - 1 else _first(max(picks) + 1, lanes)
        vector = f"<{lanes} x {type_}>"
        parts = [
            memory._vector_load(e, vector, type_, memory.pointer_at(e, read, type_, at), mask)
            for at in begins
        ]
        name = _picked(e, self.shape, parts, begins, picks + [picks[-1]] * (lanes - len(picks)))
        allowed = _first(len(picks), lanes) if is_cut and len(picks) < lanes else None
        strided._write(e, type_, written, name, lanes, allowed, False)


def _first(count: int, lanes: int) -> str:
    """A mask of the first lanes."""
    return "<" + ", ".join(f"i1 {'true' if i < count else 'false'}" for i in range(lanes)) + ">"


def _begins(count: int, lanes: int) -> list[int]:
    """Where the vectors of so many elements begin: the last is whole, too."""
    return [*range(0, count - lanes, lanes), count - lanes]


def _start(k, position, variable: int) -> tuple[str, str]:
    """(where the first block of these rows begins, the distance of blocks)."""
    constant, terms = position
    base, step = k.position_without(position, variable)
    first = base if constant == 0 else k.e.instruction(f"sub i64 {base}, {constant}")
    return first, operand(step)


def _pointer(e, buffer: str, type_: str, start: tuple[str, str], index: str) -> str:
    base, step = start
    distance = e.instruction(f"mul i64 {index}, {step}")
    return memory.pointer_at(e, buffer, type_, e.instruction(f"add i64 {base}, {distance}"))


def _picked(e, shape: Vectors, parts: list[str], begins: list[int], picks: list[int]) -> str:
    """A vector of the elements at `picks` of the block whose vectors `parts` begin at `begins`."""
    lanes, found = len(picks), None
    for number, (part, begin) in enumerate(zip(parts, begins, strict=True)):
        end = begins[number + 1] if number + 1 < len(begins) else begin + lanes
        own = [begin <= p < end for p in picks]
        if not any(own):
            continue
        here = [p - begin for p in picks]
        if found is None:
            places = [p if mine else 0 for p, mine in zip(here, own, strict=True)]
            found = shuffle(e, shape, part, part, places)
        else:
            places = [lanes + p if m else i for i, (p, m) in enumerate(zip(here, own, strict=True))]
            found = shuffle(e, shape, found, part, places)
    return found
