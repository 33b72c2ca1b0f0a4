"""Blocks of a few vectors whose elements change places, by shuffles with constants.

In: a kernel emitter whose kernel has `blocks` (fuse/move_blocks.py) and a range of its last row
loop. Out: the loop over the blocks: all vectors of a block are read, and each vector of the result
is picked from them, two at a time. The last vector of a block that is no multiple of one begins in
the one before, so that nothing needs a mask and nothing beyond the block is touched. (Shorter
ones: alike_rows.py.)
"""

from ..fuse.move_blocks import block_lanes
from ..fuse.short_rows import begins_of
from . import memory
from .accesses import operand
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
    source, target = start_of(k, load.attrs[1], variable), start_of(k, stores[0].position, variable)
    begins = begins_of(span, lanes)
    shape, vector = Vectors(type_, lanes, 1, memory.nbytes(type_)), f"<{lanes} x {type_}>"

    def block(index, _):
        read = pointer_of(e, f"%b{load.attrs[0]}", type_, source, index)
        written = pointer_of(e, f"%b{stores[0].buffer}", type_, target, index)
        parts = [
            memory._vector_load(e, vector, type_, memory.pointer_at(e, read, type_, at), None)
            for at in begins
        ]
        for at in begins_of(len(picks), lanes):
            name = picked_of(e, shape, parts, begins, picks[at : at + lanes])
            address = memory.pointer_at(e, written, type_, at)
            e.emit_raw(f"  store {vector} {name}, ptr {address}, align {memory.nbytes(type_)}")
        return []

    k.loop(low, high, "1", [], block, "block")


def start_of(k, position, variable: int) -> tuple[str, str]:
    """(where the first block of these rows begins, the distance of blocks)."""
    constant, terms = position
    base, step = k.position_without(position, variable)
    first = base if constant == 0 else k.e.instruction(f"sub i64 {base}, {constant}")
    return first, operand(step)


def pointer_of(e, buffer: str, type_: str, start: tuple[str, str], index: str) -> str:
    base, step = start
    distance = e.instruction(f"mul i64 {index}, {step}")
    return memory.pointer_at(e, buffer, type_, e.instruction(f"add i64 {base}, {distance}"))


def picked_of(e, shape: Vectors, parts: list[str], begins: list[int], picks: list[int]) -> str:
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
