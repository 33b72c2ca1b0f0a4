"""Turned rows: what lies along short rows of memory is moved by squares, transposed in registers.

In: a kernel whose lanes are rows, `turned` (fuse/turn_rows.py). Before a vector of rows is
computed, what its stages read is loaded: vectors along the rows, as many as there are lanes,
transposed and left in a scratch array in the first cache, one vector of rows after another. What
stages store goes to such an array, too, and from there to memory when the rows are done.
Nothing is touched beyond a row's end or behind the last row. Where masks are dear, the last square
of a row begins in the one before, and what they share is moved twice (a masked load takes a Zen 1
nine cycles and more: sums of 80000 rows of ten, one thread, 670 us, so 280).
"""

from ..fuse.kernel import Expr, Store
from ..fuse.turn_rows import stage_variable, turned_rows
from . import memory
from .instructions import Value
from .load_transposed import load_transposed
from .transpose_registers import Vectors, transpose_registers


class TurnedRows:
    """The scratch arrays of a kernel emitter `k`: number of each load's and store's."""

    def __init__(self, k):
        self.k, self.e, self.lanes = k, k.e, k.lanes
        found = turned_rows(k.kernel, k.used, k.e.target)
        self.loads, self.stores = list(found.loads.values()), list(found.stores.values())
        self.row = k.kernel.rows[-1].variable
        self.number_of = {id(x): n for n, items in enumerate(self.loads) for x in items}
        first = len(self.loads)
        self.number_of |= {id(s): first + n for n, items in enumerate(self.stores) for s in items}

    def __contains__(self, item: Expr | Store) -> bool:
        return id(item) in self.number_of

    def allocate(self) -> None:
        """The arrays, in the function's entry block: rows' lengths rounded up to squares."""
        e = self.e
        extent = self._extent()
        more = e.instruction(f"add i64 {extent}, {self.lanes - 1}")
        whole = e.instruction(f"and i64 {more}, {-self.lanes}")
        size = e.instruction(f"mul i64 {whole}, {self.lanes * self.k._copies()}")
        for number, (code, _) in enumerate(map(self._place_of, [*self.loads, *self.stores])):
            type_ = memory.memory_type(code)
            e.emit_raw(f"  %turned{number} = alloca {type_}, i64 {size}, align 64")

    def _extent(self) -> str:
        loop = self.k.kernel.stages[0].loops[0]
        text = self.k.slotted.extents[loop.variable]
        return f"%{text}" if text[0] == "s" else text

    def _place_of(self, items):
        """(element code, affine place) of what is moved."""
        first = items[0]
        number, place = first.attrs if isinstance(first, Expr) else (first.buffer, first.position)
        return self.k.kernel.buffers[number][0], place

    # ------------------------------------------------------------------ a stage's turn
    def load(self, x: Expr) -> Value:
        """A vector of rows of what the present turn reads."""
        code = self.k.kernel.buffers[x.attrs[0]][0]
        place = self._scratch(x.attrs[1])
        return memory.load(self.e, code, f"%turned{self.number_of[id(x)]}", place, self.lanes)

    def store(self, store: Store, value: Value) -> None:
        """A vector of rows of what the present turn writes."""
        code, place = self.k.kernel.buffers[store.buffer][0], self._scratch(store.position)
        pointer = f"%turned{self.number_of[id(store)]}"
        memory.store(self.e, code, pointer, place, value, self.lanes)

    def _scratch(self, position) -> memory.Place:
        turn = self.k.scalars[stage_variable(self.k.kernel, position)]
        at = self.e.instruction(f"mul i64 {turn}, {self.lanes * self.e.copies}")
        return memory.Place(at, "1", ())

    # ------------------------------------------------------------------ squares
    def fill(self) -> None:
        """Reads what this vector of rows (or these, if there are copies) will read."""
        for number, items in enumerate(self.loads):
            self._squares(number, items, self._read)

    def empty(self) -> None:
        """Writes what it has written."""
        for number, items in enumerate(self.stores):
            self._squares(len(self.loads) + number, items, self._write)

    def _squares(self, number, items, move) -> None:
        k, e, lanes, copies = self.k, self.e, self.lanes, self.e.copies
        code, position = self._place_of(items)
        type_, extent = memory.memory_type(code), self._extent()
        shape = Vectors(type_, lanes, 1, memory.nbytes(type_))
        item = items[0]
        buffer = f"%b{item.attrs[0] if isinstance(item, Expr) else item.buffer}"

        def rows(first, _):
            pointers = self._pointers(position, buffer, type_, first)

            def square(column, _):
                mask = None
                if e.target.avx512:
                    left = e.instruction(f"sub i64 {extent}, {column}")
                    mask = memory.first_bits(e, left, lanes)
                else:  # rows are longer than a vector: the last one begins early
                    column = self._before(column, extent)
                at = e.instruction(f"mul i64 {column}, {lanes * copies}")
                at = e.instruction(f"add i64 {at}, {first}")
                scratch = memory.pointer_at(e, f"%turned{number}", type_, at)
                there = [memory.pointer_at(e, p, type_, column) for p in pointers]
                move(shape, there, scratch, mask)
                return []

            k.loop("0", extent, lanes, [], square, "square")
            return []

        k.loop("0", str(lanes * copies), lanes, [], rows, "turned")

    def _before(self, column: str, extent: str) -> str:
        """The column, or that in which a row's last vector begins."""
        e = self.e
        e.declare("declare i64 @llvm.smin.i64(i64, i64)")
        last = e.instruction(f"sub i64 {extent}, {self.lanes}")
        return e.instruction(f"call i64 @llvm.smin.i64(i64 {column}, i64 {last})")

    def _pointers(self, position, buffer, type_, first) -> list[str]:
        """Where the rows from `first` on begin; behind the last row, that one again."""
        k, e = self.k, self.e
        row, before = k.scalars[self.row], k.vector_variable
        inner = stage_variable(k.kernel, position)
        k.scalars[self.row] = e.instruction(f"add i64 {row}, {first}")
        k.scalars[inner], k.vector_variable = "0", None
        at = memory.settled(e, k._place(position)).base
        text = dict(k.slotted.affines[position][1])[self.row]
        stride = f"%{text}" if text[0] == "s" else text
        found = [memory.pointer_at(e, buffer, type_, at)]
        for number in range(1, self.lanes):
            if k.mask is None:
                found.append(memory.pointer_at(e, found[-1], type_, stride))
                continue
            step = e.instruction(f"select i1 {self._is_row(number)}, i64 {stride}, i64 0")
            found.append(memory.opaque(e, memory.pointer_at(e, found[-1], type_, step)))
        k.scalars[self.row], k.vector_variable = row, before
        return found

    def _is_row(self, number: int) -> str:
        """Whether there is a row in this lane of the tail."""
        mask = self.k.mask
        return self.e.instruction(
            f"extractelement <{mask.lanes} x i1> {mask.names[0]}, i64 {number}"
        )

    def _read(self, shape, pointers, scratch, mask) -> None:
        e, vector = self.e, f"<{self.lanes} x {shape.type_}>"
        for turn, name in enumerate(load_transposed(e, pointers, shape, mask)):
            address = self._vector_at(scratch, shape, turn)
            e.emit_raw(f"  store {vector} {name}, ptr {address}, align {self._align(shape)}")

    def _write(self, shape, pointers, scratch, mask) -> None:
        e, vector = self.e, f"<{self.lanes} x {shape.type_}>"
        turns = []
        for turn in range(self.lanes):
            address = self._vector_at(scratch, shape, turn)
            align = self._align(shape)
            turns.append(e.instruction(f"load {vector}, ptr {address}, align {align}"))
        suffix, bits = memory._suffix(vector), vector.replace(shape.type_, "i1")
        e.declare(
            f"declare void @llvm.masked.store.{suffix}.p0({vector}, ptr, i32 immarg, {bits})"
        )
        # the row that stands for those behind the last one is written first, and then by itself
        for name, p in reversed(list(zip(transpose_registers(e, turns, shape), pointers))):
            if mask is None:
                align = memory._align(shape.type_)
                e.emit_raw(f"  store {vector} {name}, ptr {p}, align {align}")
                continue
            e.emit_raw(
                f"  call void @llvm.masked.store.{suffix}.p0({vector} {name}, ptr {p}, "
                f"i32 {memory._align(shape.type_)}, {bits} {mask})"
            )

    def _vector_at(self, scratch, shape, turn: int) -> str:
        return memory.pointer_at(
            self.e, scratch, shape.type_, turn * self.lanes * self.e.copies
        )

    def _align(self, shape) -> int:
        return min(64, self.lanes * memory.nbytes(shape.type_))
