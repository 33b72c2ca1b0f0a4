"""The schedule for processors whose registers hold whole tiles of a matrix (AMX).

In: `TileRegistersSchedule`. Out: one kernel, whose pieces and blocks are those of `tiled.py`.

A register is 16 rows of 64 bytes, and one instruction multiplies two of them: 16 rows of a, 16
words along k (of two or four elements), by as many words of 16 columns of b. Four registers hold
the sums of 32 x 32 elements, two the rows of a, two the columns of b: each step loads 4 KiB for
four multiplications, of 16 cycles each. (An Emerald Rapids, one thread, of bytes: 5.4e12 operations
a second without these loads and 4.6e12 with them, or 1.3e12 while the core's other thread is
somebody else's; dot products in vectors reach .6e12.)

    a   as it lies if its rows are contiguous and whole registers along k, else packed: row by row,
        or, if it is contiguous along m, tile by tile
    b   panels of 32 columns: [k words][32 columns], as long as whole registers

What is missing along k are zeros (`pack_registers.py`). Rows that do not exist have no place in the
registers, which are configured anew for the last ones. The rows of a tile stay in the first cache
while panels go by.

Sums wait between blocks along k as tiles, each a run of 4 KiB. Results go straight to c where they
are its elements, else row by row through memory, as those of other tiles with an epilogue.

Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: LDTILECFG, TILELOADD,
TDPBSSD, TDPBUUD; TDPBF16PS flushes denormals.
"""

from dataclasses import dataclass

from ..prefetch import NEAR, prefetch_line
from .elements import Elements
from .pack_operands import start_of_b
from .pack_registers import COLUMNS, HALF, pack_a_for_registers, pack_b_for_registers
from .tiled import TiledKernel
from .writer import bytes_of

ROWS = 32  # of a tile
REGISTER_BYTES, LINE_BYTES, WORD_BYTES = 1024, 64, 4
TILE_BYTES = 4 * REGISTER_BYTES
SUMS, OF_A, OF_B = (0, 1, 2, 3), (4, 5), (6, 7)  # registers: sums of both halves of the rows
MULTIPLY = {"tiles_i8": "tdpbssd", "tiles_u8": "tdpbuud", "tiles_bf16": "tdpbf16ps"}


@dataclass(frozen=True)
class TileRegistersSchedule:
    """a: 'rows' in place, or packed from 'k' contiguous memory, so many words (`pitch`) apart, or
    from 'm' contiguous memory. b: packed from 'n', 'k' or 'any'. `blocked`: whether sums wait."""

    elements: Elements
    lanes: int
    a: str
    b: str
    c_unit: bool
    blocked: bool
    pitch: int
    swapped: bool
    two_level: bool
    label = "amx"
    rows, vectors, tail_rows, row_group = ROWS, COLUMNS // HALF, ROWS, ROWS
    packs, segmented, in_vectors = True, False, False

    def column_steps(self, n) -> tuple[int, ...]:
        return (COLUMNS,)

    def emit(self, target, epilogue, name) -> str:
        return _TileRegistersKernel(self, target, epilogue).module(name)


class _TileRegistersKernel(TiledKernel):
    def module(self, name):
        self.configuration = self.w.allocate("i64", LINE_BYTES // 8, "configuration")
        self.room = self.w.allocate("i8", TILE_BYTES, "tile")
        self._configure(HALF, HALF)
        self.w.for_range("%lo", "%hi", 1, self._piece)
        self._call("tilerelease")
        return self.w.module(name)

    # ---- registers ------------------------------------------------------------------------

    def _call(self, name, *arguments):
        """An instruction on registers of tiles; arguments: (type, operand)."""
        types = ", ".join(f"{type_} immarg" if type_ == "i8" else type_ for type_, _ in arguments)
        self.w.e.declare(f"declare void @llvm.x86.{name}({types})")
        texts = ", ".join(f"{type_} {operand}" for type_, operand in arguments)
        self.w.e.emit_raw(f"  call void @llvm.x86.{name}({texts})")

    def _configure(self, first, second):
        """Registers for so many rows of each half (SDM, volume 1, table 18-1: palette 1, bytes of a
        row from byte 16 on, rows from byte 48 on)."""
        w = self.w
        whole = LINE_BYTES * 0x0001000100010001  # of four registers
        of_first = sum(1 << 8 * i for i in (*SUMS[:2], OF_A[0]))
        of_second = sum(1 << 8 * i for i in (*SUMS[2:], OF_A[1]))
        of_b = sum(HALF << 8 * i for i in OF_B)
        rows = w.add(w.add(w.mul(first, of_first), w.mul(second, of_second)), of_b)
        for i, value in enumerate((1, 0, whole, whole, 0, 0, rows, 0)):
            w.store("i64", value, w.at(self.configuration, i, "i64"))
        self._call("ldtilecfg", ("ptr", self.configuration))

    def _load(self, register, pointer, stride):
        self._call("tileloadd64", ("i8", register), ("ptr", pointer), ("i64", stride))

    def _store(self, register, pointer, stride):
        self._call("tilestored64", ("i8", register), ("ptr", pointer), ("i64", stride))

    # ---- blocks ---------------------------------------------------------------------------

    def _block(self, t):
        w, group = self.w, self.el.group
        words = w.udiv(w.add(t.depth, group - 1), group)
        self.words = w.round_up(words, HALF)
        pack_a_for_registers(self, t, words)
        pack_b_for_registers(self, t, words)
        w.for_range(t.m0, t.m1, ROWS, lambda i, _: self._rows_of_tiles(t, i), runs_once=True)

    # ---- tiles ----------------------------------------------------------------------------

    def _rows_of_tiles(self, t, i):
        """Some rows by all columns of the block."""
        w = self.w
        left = w.sub(t.m1, i)
        are_few = w.compare("slt", left, ROWS)
        first, second = w.smaller(left, HALF), w.larger(w.sub(left, HALF), 1)
        w.when(are_few, lambda: self._configure(first, second))
        w.for_range(t.n0, t.n1, COLUMNS, lambda j, _: self._one_tile(t, i, j, left), runs_once=True)
        w.when(are_few, lambda: self._configure(HALF, HALF))

    def _one_tile(self, t, i, j, left):
        w = self.w
        self._ask_for_results(t, i, j)
        begin = lambda: [self._call("tilezero", ("i8", register)) for register in SUMS] and None
        if self.s.blocked:
            waiting = self._place_of_sums(t, i, j)
            w.choose(t.first, begin, lambda: self._each_waiting(self._load, waiting))
        else:
            begin()
        self._multiply_tile(t, i, j, left)
        if self.s.blocked:
            store = lambda: self._store_tile(t, i, j, left)
            w.choose(t.last, store, lambda: self._each_waiting(self._store, waiting))
        else:
            self._store_tile(t, i, j, left)

    def _multiply_tile(self, t, i, j, left):
        w, el = self.w, self.el
        start, stride, half, along = self._rows_of_a(t, i)
        has_second = w.compare("sgt", left, HALF)
        rows = (start, w.at(start, w.select(has_second, half, 0)))
        _, panel = start_of_b(self, t, j)

        def step(k, _):
            for register, row in zip(OF_A, rows, strict=True):
                self._load(register, w.at(row, w.mul(k, along), el.word), stride)
            line = w.at(panel, w.mul(k, COLUMNS), el.word)
            for half, register in enumerate(OF_B):
                place = w.at(line, half * HALF, el.word)
                self._load(register, place, COLUMNS * WORD_BYTES)
            for at, sums in enumerate(SUMS):
                registers = sums, OF_A[at // 2], OF_B[at % 2]
                self._call(MULTIPLY[el.mode], *[("i8", register) for register in registers])

        w.for_range(0, self.words, HALF, step, runs_once=True)

    def _rows_of_a(self, t, i):
        """(address of the first row's words, bytes from row to row and to the second half of the
        rows, how many words on it goes for one along k)."""
        w, p, el = self.w, self.p, self.el
        row = w.sub(i, t.m0)
        if self.s.a == "m":
            start = w.at(t.packed_a, w.mul(row, self.words), el.word)
            return start, LINE_BYTES, w.mul(self.words, HALF * WORD_BYTES), HALF
        if self.s.a == "rows":
            start = w.at(t.a, w.add(w.mul(i, p["a_m"]), t.k0), el.source_type)
            stride = w.mul(p["a_m"], WORD_BYTES // el.group)
        else:
            stride = self.s.pitch * WORD_BYTES
            start = w.at(t.packed_a, w.mul(row, stride))
        return start, stride, w.mul(stride, HALF), 1

    # ---- sums and results -----------------------------------------------------------------

    def _place_of_sums(self, t, i, j):
        w = self.w
        row, column = w.udiv(w.sub(i, t.m0), ROWS), w.udiv(w.sub(j, t.n0), COLUMNS)
        columns = w.udiv(w.add(w.sub(t.n1, t.n0), COLUMNS - 1), COLUMNS)
        return w.at(t.sums, w.mul(w.add(w.mul(row, columns), column), TILE_BYTES))

    def _each_waiting(self, move, waiting):
        for at, register in enumerate(SUMS):
            move(register, self.w.at(waiting, at * REGISTER_BYTES), LINE_BYTES)

    @property
    def _goes_to_c(self) -> bool:
        return self.plain_sums and self.s.c_unit

    def _start_of_c(self, t, i, j):
        """(address of the tile's first result, bytes from row to row)."""
        w, p, type_ = self.w, self.p, self.el.result_type
        start = w.at(t.c, w.add(w.mul(i, p["c_m"]), j), type_)
        return start, w.mul(p["c_m"], bytes_of(type_))

    def _ask_for_results(self, t, i, j):
        """Lines of c, for which stores would wait."""
        if not self.s.c_unit:
            return
        w = self.w
        start, stride = self._start_of_c(t, i, j)
        last = COLUMNS * bytes_of(self.el.result_type) - 1
        for _ in range(ROWS):
            for place in (*range(0, last, LINE_BYTES), last):
                prefetch_line(w.e, w.at(start, place), NEAR, for_writing=True)
            start = w.at(start, stride)

    def _store_tile(self, t, i, j, left):
        w = self.w
        count = w.sub(t.n1, j)
        if not self._goes_to_c:
            self._store_through_memory(t, i, j, left, count)
            return
        w.choose(
            w.compare("sge", count, COLUMNS),
            lambda: self._store_halves(*self._start_of_c(t, i, j), left),
            lambda: self._store_through_memory(t, i, j, left, count),
        )

    def _store_halves(self, start, stride, left):
        """Each half of the rows, the second if it exists."""
        w = self.w

        def half(first):
            place = w.at(start, w.mul(stride, HALF * first))
            for at in range(2):
                self._store(SUMS[2 * first + at], w.at(place, at * LINE_BYTES), stride)

        half(0)
        w.when(w.compare("sgt", left, HALF), lambda: half(1))

    def _store_through_memory(self, t, i, j, left, count):
        w = self.w
        self._store_halves(self.room, COLUMNS * WORD_BYTES, left)
        rows = w.smaller(left, ROWS)
        store = lambda vectors: self._store_rows(t, i, j, self.room, rows, COLUMNS, vectors, count)
        w.choose(w.compare("sgt", count, HALF), lambda: store(2), lambda: store(1))
