"""Short rows that are computed several at a time, lanes their neighbouring elements.

In: a kernel emitter whose kernel has rows `alike` (fuse/weave_rows.py) and a range of its last row
loop. Out: the loop over the rows, `blocks` at a time: what is read is picked from the vectors it
lies in, where its elements change places, and the result is written whole. What a vector has beyond
the rows is written again by the next one; the last rows of a range are cut off by masks.
"""

from ..fuse.affine import coefficient_of
from ..fuse.alike import Kind, Pattern, parts_of
from ..fuse.short_rows import begins_of
from . import memory, strided
from .accesses import operand
from .constants_text import type_text
from .elementwise import constant_of_bits, llvm_type
from .instructions import Value
from .move_blocks import picked_of, pointer_of, start_of
from .transpose_registers import Vectors


def emit_alike_rows(k, variable: int, low: str, high: str) -> None:
    """See the module's text."""
    k.e.copies = 1
    rows = _Rows(k, variable)
    _for_each_of_blocks(k, low, high, rows.compute)


def _for_each_of_blocks(k, low: str, high: str, compute) -> None:
    """Calls `compute(index, rows, is_cut)` in loops over the rows [low, high), `blocks` at a time.
    The last ones begin early enough to be of as many; where there are fewer, they go one by one."""
    e, together, count = k.e, k.kernel.blocks, len(k.kernel.stores)
    beyond = max(0, -(-(k.lanes - together * count) // count))  # rows that a vector reaches into
    last = e.instruction(f"sub i64 {high}, {together}")
    is_long = e.instruction(f"icmp sge i64 {last}, {low}")
    end = e.instruction(f"select i1 {is_long}, i64 {high}, i64 {low}")
    end_of_few = e.instruction(f"select i1 {is_long}, i64 {low}, i64 {high}")

    def many(index, _):
        compute(index, together)
        return [Value((e.instruction(f"add i64 {index}, {together}"),), "i64", 1)]

    def last_ones(index, _):
        first = e.instruction(f"call i64 @llvm.smin.i64(i64 {index}, i64 {last})")
        compute(first, together, is_cut=True)
        return []

    def one(index, _):
        compute(index, 1, is_cut=True)
        return []

    e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    top = e.instruction(f"sub i64 {last}, {beyond - 1}")
    (rest,) = k.loop(low, top, str(together), [Value((low,), "i64", 1)], many, "blocks")
    k.loop(rest.names[0], end, str(together), [], last_ones, "last")
    if together > 1:
        k.loop(low, end_of_few, "1", [], one, "block")


class _Rows:
    """Rows computed at once."""

    def __init__(self, k, variable: int):
        self.k, self.e, self.variable, self.lanes = k, k.e, variable, k.lanes
        self.count = len(k.kernel.stores)
        self.patterns = parts_of(k.kernel.alike)
        self.starts = {
            id(p): self._start_of(p) for p in self.patterns if p.first is not None
        }  # fmt: skip
        result = min(k.kernel.stores, key=lambda store: store.position[0])
        self.buffer, self.code = f"%b{result.buffer}", k.kernel.buffers[result.buffer][0]
        self.target = start_of(k, result.position, variable)

    def _start_of(self, p: Pattern) -> tuple[str, str]:
        """Where the first row's numbers begin, and how far on those of the next."""
        if coefficient_of(p.first, self.variable) == 0:
            return memory.settled(self.e, self.k._place(p.first)).base, "0"
        base, step = self.k.position_without(p.first, self.variable)
        return base, operand(step)

    def compute(self, index: str, rows: int, is_cut: bool = False) -> None:
        """Rows [index, index + rows); `is_cut`: nothing is written beyond them."""
        e, total = self.e, rows * self.count
        type_ = memory.memory_type(self.code)
        written = pointer_of(e, self.buffer, type_, self.target, index)
        begins = begins_of(total, self.lanes)
        for begin in begins:
            elements = [min(q, total - 1) for q in range(begin, begin + self.lanes)]
            value = self._value(index, rows, elements)
            name = strided._in_memory(e, self.code, value, self.lanes).names[0]
            allowed = _first(total, self.lanes) if is_cut and total < self.lanes else None
            address = memory.pointer_at(e, written, type_, begin)
            strided._write(e, type_, address, name, self.lanes, allowed, False)

    def _value(self, index: str, rows: int, elements: list[int]) -> Value:
        """Of these elements of the rows."""
        values: dict[int, Value] = {}
        for p in self.patterns:
            if p.kind == Kind.SAME:
                values[id(p)] = self.k.values[p.of[0].id]
            elif p.kind == Kind.READ:
                values[id(p)] = self._read(p, index, rows, elements)
            else:
                args = [values[id(a)] for a in p.args]
                values[id(p)] = self.k.operation(p.of[0], args)
        return values[id(self.patterns[-1])]

    def _read(self, p: Pattern, index: str, rows: int, elements: list[int]) -> Value:
        distances = [p.distances[q % self.count] for q in elements]
        if p.first is None:
            return self._constants(p, elements)
        numbers = [rows - 1 - q // self.count if p.step < 0 else q // self.count for q in elements]
        places = p.places
        picks = [abs(p.step) * r + places[q % self.count]
                 for r, q in zip(numbers, elements, strict=True)]  # fmt: skip
        value = self._picked_of(p, index, rows, picks)
        if None not in distances:
            return value
        bits = ", ".join(f"i1 {'false' if d is None else 'true'}" for d in distances)
        chosen = Value((f"<{bits}>",), "i1", self.lanes)
        return self.e.select(chosen, value, self._constants(p, elements))

    def _constants(self, p: Pattern, elements: list[int]) -> Value:
        """The elements that are constants; others are zero."""
        code, type_ = p.of[0].dtype, llvm_type(p.of[0].dtype)
        of = [p.of[q % self.count] for q in elements]
        bits = [x.attrs[0] if x.op == "const" else 0 for x in of]
        texts = [constant_of_bits(self.e, code, b).names[0] for b in bits]
        text = ", ".join(f"{type_text(type_, 1)} {t}" for t in texts)
        return Value((f"<{text}>",), type_, self.lanes)

    def _picked_of(self, p: Pattern, index: str, rows: int, picks: list[int]) -> Value:
        """What lies so far from the first number of the rows."""
        e, lanes = self.e, self.lanes
        load = next(x for x in p.of if x.op == "load")
        type_ = memory.memory_type(load.dtype)
        number = e.instruction(f"add i64 {index}, {rows - 1}") if p.step < 0 < rows - 1 else index
        read = pointer_of(e, f"%b{load.attrs[0]}", type_, self.starts[id(p)], number)
        least, most = min(picks), max(picks)
        span = most - least + 1
        begins = begins_of(span, lanes)
        mask = _first(span, lanes) if span < lanes else None
        vector, shape = f"<{lanes} x {type_}>", Vectors(type_, lanes, 1, memory.nbytes(type_))
        parts = [
            memory._vector_load(e, vector, type_, memory.pointer_at(e, read, type_, at), mask)
            for at in (least + begin for begin in begins)
        ]
        places = [pick - least for pick in picks]
        wanted = min(lanes, rows * self.count)
        in_order = places[:wanted] == list(range(wanted))
        name = parts[0] if in_order else picked_of(e, shape, parts, begins, places)
        return memory.from_memory(e, load.dtype, Value((name,), type_, lanes))


def _first(count: int, lanes: int) -> str:
    """A mask of the first lanes."""
    return "<" + ", ".join(f"i1 {'true' if i < count else 'false'}" for i in range(lanes)) + ">"
