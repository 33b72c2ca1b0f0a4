"""The register-tile schedule: from 4 x 4 matrices to the largest, batched or not.

In: `TiledSchedule`, a schedule class without sizes. Out: one kernel. Its pieces are (group of batch
items, span of rows, span of columns); inside a piece

    for each batch item, block of columns, block of rows
        for each block along k                           (only when `blocked`)
            pack the rows of a; pack the columns of b    (each only if it cannot be read in place)
            for each group of columns, for each group of rows:  the register tile

The tile holds rows x vectors accumulators, loads the vectors of one line of b, broadcasts the
elements of a and multiplies and adds: with 4 x 4 of 32 registers this runs at 98 % of the peak.
Invariant: each sum runs over k in chains from first to last, which begin where k says, whatever the
pieces and threads, and are added in turn; so results do not depend on these.

[Note: chains] A chain's error grows with its length, those of blocks do not add up the same way:
products of 8000 positive numbers were 3e-6 off in one chain, 4e-7 in chains of 128 to 512. They
take the time they took: what waits was loaded before, and is now added.

[Note: row tails] The last rows of a tile may not exist. They repeat the last row that does, and
store the same sums to the same place again. Where rows of a are packed from columns they read
zeros instead, and their results go to `%nowhere` on the stack. So one tile serves all row counts.

[Note: whole stores] Where columns are no whole vectors, and rows of c follow one another, what the
last vector of a row has too much falls on the rows after it, which are stored later: the columns
that are left of groups come first, so that also the beginnings of rows are. Only the last rows are
stored in part, which without AVX-512 takes 20 to 30 cycles a row. So nothing that is read later may
lie in the place of c, an epilogue's operand neither: only elementwise kernels write over what they
read (fuse/plan_buffers.py, in_place.py).
"""

from dataclasses import dataclass

from ..constants_text import type_text
from ..instructions import Value
from .elements import Elements, multiply_add
from .next_tile import fetch_next_tile
from .pack_operands import COLUMN_GROUP, pack_a, pack_b
from .store import Storer
from .writer import Parameters, Writer, bytes_of

PARAMETERS = (
    "m", "n", "k", "batch", "inner", "group", "row_span", "column_span", "row_pieces",
    "column_pieces", "row_block", "column_block", "k_block", "a_batch", "a_inner", "a_m", "a_k",
    "b_batch", "b_inner", "b_k", "b_n", "c_batch", "c_inner", "c_m", "c_n", "piece_bytes",
    "b_offset", "sum_offset", "sum_pitch", "run", "a_segment", "chain", "panel", "rooms",
)  # fmt: skip
READ_AS_THEY_LIE = ("rows", "panels")  # rows of a that a piece does not pack
NOWHERE = 64  # words of 8 bytes: a row of results
TILE = 256  # the same: all accumulators


@dataclass(frozen=True)
class TiledSchedule:
    """a: 'rows' in place, 'panels' that a step before has packed (`pack_for_all.py`), or packed
    from 'k' or 'm' contiguous memory or from 'any' strides.
    b: 'columns' in place, or packed from 'n', 'k' or 'any'. `tail_rows` = 0: all columns fit one
    group of `vectors` vectors. `sums`: where sums wait between blocks of k ('c' or 'workspace').
    `segmented`: k is runs that lie apart in a (a block is some of them). `halves`: a block is two
    chains of sums. `at_once`: steps along k in one turn of the loop of whole tiles. `asks_ahead`:
    see `next_tile.py`."""

    elements: Elements
    lanes: int
    rows: int
    vectors: int
    tail_rows: int
    a: str
    a_unit: bool
    b: str
    c_unit: bool
    blocked: bool
    sums: str
    pitch: int
    swapped: bool
    two_level: bool
    segmented: bool
    in_vectors: bool  # whether columns are whole vectors
    halves: bool
    at_once: int
    asks_ahead: bool
    label = "gemm"

    @property
    def packs(self) -> bool:
        return self.a not in READ_AS_THEY_LIE or self.b != "columns"

    @property
    def row_group(self) -> int:
        """Rows of pieces and of their blocks are multiples of this."""
        return 2 * self.rows if self.a == "panels" else COLUMN_GROUP

    def column_steps(self, n) -> tuple[int, ...]:
        """Columns of pieces are multiples of one of these; the first are a tile's."""
        width = self.vectors * self.lanes
        return (width, self.lanes) if self.tail_rows else (n,)

    def emit(self, target, epilogue, name) -> str:
        return TiledKernel(self, target, epilogue).module(name)


@dataclass
class _Piece:
    """Operands of the piece and batch item being written."""

    batch: str
    m0: str
    m1: str
    n0: str
    n1: str
    a: str
    b: str
    c: str
    packed_a: str
    packed_b: str
    sums: str
    depth: str = ""
    first: str = ""
    last: str = ""
    k0: str | int = 0
    whole: str | None = None  # rows before this one are stored in whole vectors


class TiledKernel:
    def __init__(self, schedule, target, epilogue):
        self.s = schedule
        self.el = schedule.elements
        self.w = w = Writer(target)
        self.p = Parameters(w, PARAMETERS)
        self.storer = Storer(w, self.el, epilogue, schedule.swapped, len(PARAMETERS))
        self.plain_sums = epilogue is None and self.el.result_type == self.el.acc_type
        self.nowhere = self.tile = None
        self.column_sums = w.allocate("i64", NOWHERE, "sums") if self.el.mode == "quad_i8" else None
        self.acc_text = type_text(self.el.acc_type, schedule.lanes)

    def module(self, name):
        self.w.for_range("%lo", "%hi", 1, self._piece)
        return self.w.module(name)

    # ---- pieces ---------------------------------------------------------------------------

    def _piece(self, piece, _):
        w, p = self.w, self.p
        column, rest = w.urem(piece, p["column_pieces"]), w.udiv(piece, p["column_pieces"])
        row, group = w.urem(rest, p["row_pieces"]), w.udiv(rest, p["row_pieces"])
        m0, n0 = w.mul(row, p["row_span"]), w.mul(column, p["column_span"])
        m1 = w.smaller(w.add(m0, p["row_span"]), p["m"])
        n1 = w.smaller(w.add(n0, p["column_span"]), p["n"])
        room = w.at(self._pointer(3), w.mul(piece, p["piece_bytes"]))
        if self.s.a == "panels":
            room = w.at(room, p["rooms"])
        first = w.mul(group, p["group"])
        stop = w.smaller(w.add(first, p["group"]), p["batch"])

        def item(batch, _):
            a, b, c = (self._operand(i, batch) for i in range(3))

            def block(n_low, m_low):
                m_high = w.smaller(w.add(m_low, p["row_block"]), m1)
                n_high = w.smaller(w.add(n_low, p["column_block"]), n1)
                self._item(
                    _Piece(
                        batch, m_low, m_high, n_low, n_high, a, b, c,
                        room, w.at(room, p["b_offset"]), w.at(room, p["sum_offset"]),
                    )
                )  # fmt: skip

            def blocks_of_columns(j, _):
                w.for_range(m0, m1, p["row_block"], lambda i, _: block(j, i), runs_once=True)

            if self.s.packs:
                w.for_range(n0, n1, p["column_block"], blocks_of_columns, runs_once=True)
            else:
                block(n0, m0)

        w.for_range(first, stop, 1, item, runs_once=True)

    def _pointer(self, i):
        return self.w.load_constant("ptr", self.w.at("%ptrs", i, "ptr"))

    def _operand(self, i, batch):
        """Address of the first element of a batch item of a, b or c."""
        w, p, name = self.w, self.p, "abc"[i]
        type_ = self.el.result_type if i == 2 else self.el.source_type
        base = self._pointer(1 - i if self.s.swapped and i < 2 else i)
        if not self.s.two_level:
            return w.at(base, w.mul(batch, p[f"{name}_batch"]), type_)
        outer, inner = w.udiv(batch, p["inner"]), w.urem(batch, p["inner"])
        offset = w.add(w.mul(outer, p[f"{name}_batch"]), w.mul(inner, p[f"{name}_inner"]))
        return w.at(base, offset, type_)

    def _item(self, t):
        w, p = self.w, self.p
        if not self.s.blocked:
            t.depth = p["k"]
            self._block(t)
            return

        def block(k0, _):
            left = w.sub(p["k"], k0)
            t.k0, t.depth = k0, w.smaller(left, p["k_block"])
            t.first = w.compare("eq", k0, 0)
            t.last = w.compare("sle", left, p["k_block"])
            self._block(t)

        w.for_range(0, p["k"], p["k_block"], block, runs_once=True)

    def _block(self, t):
        w = self.w
        self.words = (
            t.depth
            if self.el.group == 1
            else w.udiv(w.add(t.depth, self.el.group - 1), self.el.group)
        )
        pack_a(self, t)
        group = self.s.vectors * self.s.lanes
        whole = t.n0
        if self.s.tail_rows:
            whole = w.add(t.n0, w.round_down(w.sub(t.n1, t.n0), group))
        pack_b(self, t, whole)

        def left(j):
            return None if self.s.in_vectors else w.sub(t.n1, j)

        t.whole = self._rows_stored_whole(t)
        if not self.s.tail_rows:
            self._column_group(t, t.n0, self.s.vectors, self.s.rows, left(t.n0))
            return
        w.for_range(
            whole, t.n1, self.s.lanes,
            lambda j, _: self._column_group(t, j, 1, self.s.tail_rows, left(j)),
        )  # fmt: skip
        w.for_range(
            t.n0, whole, group,
            lambda j, _: self._column_group(t, j, self.s.vectors, self.s.rows, None),
        )  # fmt: skip

    def _rows_stored_whole(self, t):
        """See [Note: whole stores]; None where that is not so."""
        w, s, p = self.w, self.s, self.p
        if w.target.avx512 or s.in_vectors or s.blocked or not s.c_unit:
            return None
        dense = w.compare("eq", p["c_m"], p["n"])
        if s.tail_rows:
            all_columns = w.compare("eq", w.sub(t.n1, t.n0), p["n"])
            dense = w.e.instruction(f"and i1 {dense}, {all_columns}")
            return w.select(dense, w.sub(t.m1, 1), 0)
        beyond = w.udiv(s.vectors * s.lanes - 1, p["n"])  # rows that vectors reach into
        return w.select(dense, w.sub(t.m1, beyond), 0)

    # ---- the tile -------------------------------------------------------------------------

    def _column_group(self, t, j, vectors, rows, count):
        w = self.w
        if self.el.mode == "quad_i8":
            self._sum_columns(t, j, vectors)
        w.for_range(
            t.m0, t.m1, rows, lambda i, _: self._tile(t, i, j, vectors, rows, count), runs_once=True
        )

    def _sum_columns(self, t, j, vectors):
        """128 times the sums of b's columns, which the flipped signs of a add to each sum."""
        w, s, el = self.w, self.s, self.el
        line, step, _ = self._b_lines(t, j, vectors, None)
        flipped = w.e.constant("i32", -0x7F7F7F80, s.lanes).names[0]  # four bytes of 128

        def add(_, values):
            lines = [w.at(values[0], v * s.lanes, el.word) for v in range(vectors)]
            totals = [
                multiply_add(w, el, flipped, w.load(el.word, b, s.lanes), total, s.lanes)
                for b, total in zip(lines, values[1:], strict=True)
            ]
            return [w.at(values[0], step, el.word), *totals]

        zeros = [(self.acc_text, "zeroinitializer")] * vectors
        totals = w.for_range(0, self.words, 1, add, [("ptr", line), *zeros])[1:]
        for v, total in enumerate(totals):
            w.store(el.acc_type, total, w.at(self.column_sums, v * s.lanes, el.acc_type), s.lanes)

    def _tile(self, t, i, j, vectors, rows, count):
        w = self.w
        fetch_next_tile(self, t, i, j, vectors, rows)
        types, zeros = [self.acc_text] * (rows * vectors), ["zeroinitializer"] * (rows * vectors)
        waiting = lambda: self._load_sums(t, i, j, vectors, rows, count)
        if self.s.halves:
            zeros = w.choose(t.first, lambda: zeros, waiting, types)
        sums = self._multiply(t, i, j, vectors, rows, count, zeros)
        if self.s.blocked and not self.s.halves:
            after = lambda: self._add(waiting(), sums)
            sums = w.choose(t.first, lambda: sums, after, types)
        lines = [sums[r * vectors : (r + 1) * vectors] for r in range(rows)]
        if not self.s.blocked or (self.s.sums == "c" and self.plain_sums):
            self._store_result(t, i, j, lines, count)
            return
        w.choose(
            t.last,
            lambda: self._store_result(t, i, j, lines, count),
            lambda: self._store_sums(t, i, j, lines, count),
        )

    def _multiply(self, t, i, j, vectors, rows, count, before):
        """`before`, and after it the chains along k."""
        w, s, el = self.w, self.s, self.el
        a_element, a_step = self._a_elements(t, i, rows)
        line, line_step, left = self._b_lines(t, j, vectors, count)
        first = [("ptr", line)]
        if a_step != 1:
            first.append(("i64", 0))

        def step(k, values, base=0):
            line = values[0]
            offset = values[1] if a_step != 1 else w.add(base, k)
            sums = list(values[len(first) :])
            b = []
            for v in range(vectors):
                pointer = w.at(line, v * s.lanes, el.word)
                if left is not None and v == vectors - 1:
                    b.append(w.load_partial(el.word, pointer, s.lanes, left))
                else:
                    b.append(w.load(el.word, pointer, s.lanes))
            for r in range(rows):
                element = w.load_value(el.word, a_element(r, offset))
                a = w.e.splat(element, s.lanes).names[0]
                for v in range(vectors):
                    at = r * vectors + v
                    sums[at] = multiply_add(w, el, a, b[v], sums[at], s.lanes)
            following = [w.at(line, line_step, el.word)]
            if a_step != 1:
                following.append(w.add(offset, a_step))
            return following + sums

        words, begun = self.words, first
        if s.segmented:
            words, begun = w.udiv(t.depth, self.p["run"]), [("i64", 0), *first]
        at_once = s.at_once if vectors > 1 else 1
        done = self._in_chains(words, step, begun, before, at_once)
        if el.mode == "quad_i8":
            done = [self._without_flip(v, at % vectors) for at, v in enumerate(done)]
        return done

    def _add(self, waiting, sums):
        """The sums of blocks before this one and its own: chains as short as blocks."""
        e, type_, lanes = self.w.e, self.el.acc_type, self.s.lanes
        add = e.fadd if self.el.is_float else e.add
        pairs = zip(waiting, sums, strict=True)
        return [add(*(Value((v,), type_, lanes) for v in pair)).names[0] for pair in pairs]

    def _in_chains(self, words, step, first, before, at_once):
        """The loop along k of so many words, or runs: a chain of sums, or two where the block is
        as deep as two. `first`: where they begin to read; the second goes on there."""
        w, count, zeros = self.w, len(first), ["zeroinitializer"] * len(before)
        types = [type_ for type_, _ in first] + [self.acc_text] * len(before)

        def chain(low, high, places):
            carried = list(zip(types, [*places, *zeros], strict=True))
            if self.s.segmented:
                run = lambda _, values: self._run(step, types[1:], values, at_once)
                return w.for_range(low, high, 1, run, carried, runs_once=True)
            return w.unrolled(low, high, 1, at_once, step, carried)

        if not self.s.halves:
            return chain(0, words, [place for _, place in first])[count:]

        def one(low, values):
            high = w.smaller(w.add(low, self.p["chain"]), words)
            done = chain(low, high, values[:count])
            return done[:count] + self._add(values[count:], done[count:])

        carried = first + [(self.acc_text, total) for total in before]
        length = self.p["chain"]
        return w.for_range(0, words, length, one, carried, runs_once=True)[count:]

    def _run(self, step, types, values, at_once):
        """One run of k, and where the next one begins."""
        w, p, base = self.w, self.p, values[0]
        rest = list(zip(types, values[1:], strict=True))
        one = lambda k, v: step(k, v, base)
        inner = w.unrolled(0, p["run"], 1, at_once, one, rest, runs_once=True)
        return [w.add(base, p["a_segment"]), *inner]

    def _without_flip(self, total, v):
        w, s, type_ = self.w, self.s, self.el.acc_type
        wrong = w.load_value(type_, w.at(self.column_sums, v * s.lanes, type_), s.lanes)
        return w.e.sub(Value((total,), type_, s.lanes), wrong).names[0]

    def _a_elements(self, t, i, rows):
        """(address of word `offset` of row r, how far `offset` moves along k)."""
        w, s, p, el = self.w, self.s, self.p, self.el
        if s.a == "rows":
            k_offset = t.k0 if s.a_unit else w.mul(t.k0, p["a_k"])
            if s.segmented:
                k_offset = w.mul(w.udiv(t.k0, p["run"]), p["a_segment"]) if s.blocked else 0
            start = w.at(t.a, w.add(w.mul(i, p["a_m"]), k_offset), el.word)
            pointers = self._rows_from(t, i, start, p["a_m"], el.word, rows)
            step = 1 if s.a_unit else p["a_k"]
            return lambda r, offset: w.at(pointers[r], offset, el.word), step
        if s.a == "panels":
            return self._in_panels(t, i, rows), s.rows
        at = w.sub(i, t.m0)
        if s.a in ("k", "any"):
            start = w.at(t.packed_a, w.mul(at, s.pitch), el.word)

            def in_row(r, offset):
                return w.at(w.at(start, offset, el.word), r * s.pitch, el.word)

            return in_row, 1
        panel = w.round_down(at, COLUMN_GROUP)
        inside = w.sub(at, panel)
        start = w.at(t.packed_a, w.add(w.mul(panel, self.words), inside), el.word)
        return lambda r, offset: w.at(w.at(start, offset, el.word), r, el.word), COLUMN_GROUP

    def _in_panels(self, t, i, rows):
        """Address of word `offset` of row r: a tile has one panel, that of a single vector two."""
        w, s, el = self.w, self.s, self.el
        panels = [self._first_of_panel(t, i)]
        for _ in range(s.rows, rows, s.rows):
            panels.append(w.at(panels[-1], self.p["panel"], el.word))
        return lambda r, offset: w.at(
            w.at(panels[r // s.rows], offset, el.word), r % s.rows, el.word
        )

    def _first_of_panel(self, t, i):
        """Where the block's words begin in the panel of row i."""
        w, s = self.w, self.s
        words = w.add(w.mul(w.udiv(i, s.rows), self.p["panel"]), w.mul(t.k0, s.rows))
        return w.at(self._pointer(3), words, self.el.word)

    def _b_lines(self, t, j, vectors, count):
        """(address of the first line of vectors, step to the next, partial count of the last)."""
        w, s, p, el = self.w, self.s, self.p, self.el
        if s.b == "columns":
            offset = w.add(w.mul(t.k0, p["b_k"]), j)
            left = None
            if count is not None:
                left = w.sub(count, (vectors - 1) * s.lanes)
                w.prepare_partial(s.lanes, left)
            return w.at(t.b, offset, el.word), p["b_k"], left
        line = w.at(t.packed_b, w.mul(w.sub(j, t.n0), self.words), el.word)
        return line, vectors * s.lanes, None

    # ---- sums between blocks, and results ---------------------------------------------------

    def _rows_from(self, t, i, pointer, stride, element, rows):
        """Addresses of rows i, i + 1, ...; rows that do not exist repeat the last one."""
        w = self.w
        pointers = [pointer]
        for r in range(1, rows):
            step = w.select(self._exists(t, i, r), stride, 0)
            pointers.append(w.at(pointers[-1], step, element))
        return pointers

    def _exists(self, t, i, r):
        return self.w.compare("slt", self.w.add(i, r), t.m1)

    def _store_result(self, t, i, j, lines, count):
        s = self.s
        if not (self.plain_sums and s.c_unit):
            self._store_row_by_row(t, i, j, lines, count)
            return
        stored = self._stored(t, self.w.add(i, len(lines)), count, len(lines[0]))
        for line, pointer in zip(lines, self._c_rows(t, i, j, len(lines)), strict=True):
            self.storer.store_row(line, s.lanes, pointer, 1, t.batch, i, j, stored)

    def _stored(self, t, end, count, vectors):
        """How many columns are stored of rows before `end`."""
        w = self.w
        if t.whole is None or count is None:
            return count
        return w.select(w.compare("sle", end, t.whole), vectors * self.s.lanes, count)

    def _store_row_by_row(self, t, i, j, lines, count):
        """Through memory, so that an epilogue is compiled for one row and not for each."""
        w, s, el = self.w, self.s, self.el
        pitch = len(lines[0]) * s.lanes
        if self.tile is None:
            self.tile = w.allocate("i64", TILE, "tile")
        for at, name in enumerate(name for line in lines for name in line):
            w.store(el.acc_type, name, w.at(self.tile, at * s.lanes, el.acc_type), s.lanes)

        existing = w.smaller(len(lines), w.sub(t.m1, i))
        self._store_rows(t, i, j, self.tile, existing, pitch, len(lines[0]), count)

    def _store_rows(self, t, i, j, tile, rows, pitch, vectors, count):
        """So many rows of sums that lie in memory, `pitch` apart."""
        w, s, p, el = self.w, self.s, self.p, self.el
        stride = 1 if s.c_unit else p["c_n"]

        def one_row(r, _):
            line = w.at(tile, w.mul(r, pitch), el.acc_type)
            sums = [
                w.load(el.acc_type, w.at(line, v * s.lanes, el.acc_type), s.lanes)
                for v in range(vectors)
            ]
            row = w.add(i, r)
            pointer = w.at(t.c, w.add(w.mul(row, p["c_m"]), w.mul(j, stride)), el.result_type)
            stored = self._stored(t, w.add(row, 1), count, vectors)
            self.storer.store_row(sums, s.lanes, pointer, stride, t.batch, row, j, count, stored)

        w.for_range(0, rows, 1, one_row, runs_once=True)

    def _c_rows(self, t, i, j, rows):
        """Where the rows of a tile go: see [Note: row tails]."""
        w, p, type_ = self.w, self.p, self.el.result_type
        start = w.at(t.c, w.add(w.mul(i, p["c_m"]), j), type_)
        if self.s.a not in ("m", "panels"):
            return self._rows_from(t, i, start, p["c_m"], type_, rows)
        if self.nowhere is None:
            self.nowhere = w.allocate("i64", NOWHERE, "nowhere")
        pointers = [start]
        for r in range(1, rows):
            pointer = w.at(start, w.mul(p["c_m"], r), type_)
            pointers.append(w.select(self._exists(t, i, r), pointer, self.nowhere, "ptr"))
        return pointers

    def _sum_rows(self, t, i, j, rows):
        """Addresses of the waiting sums of each row."""
        w, p, el = self.w, self.p, self.el
        if self.s.sums == "c":
            return self._c_rows(t, i, j, rows)
        column, row = w.sub(j, t.n0), w.sub(i, t.m0)
        return [
            w.at(t.sums, w.add(w.mul(w.add(row, r), p["sum_pitch"]), column), el.acc_type)
            for r in range(rows)
        ]

    def _load_sums(self, t, i, j, vectors, rows, count):
        w, s, el = self.w, self.s, self.el
        partial = s.sums == "c" and count is not None
        names = []
        for pointer in self._sum_rows(t, i, j, rows):
            for v in range(vectors):
                address = w.at(pointer, v * s.lanes, el.acc_type)
                if partial and v == vectors - 1:
                    left = w.sub(count, v * s.lanes)
                    names.append(w.load_partial(el.acc_type, address, s.lanes, left))
                else:
                    names.append(w.load(el.acc_type, address, s.lanes))
        return names

    def _store_sums(self, t, i, j, lines, count):
        w, s, el = self.w, self.s, self.el
        partial = s.sums == "c" and count is not None
        for pointer, line in zip(self._sum_rows(t, i, j, len(lines)), lines, strict=True):
            for v, name in enumerate(line):
                address = w.at(pointer, v * s.lanes, el.acc_type)
                if partial and v == len(line) - 1:
                    left = w.sub(count, v * s.lanes)
                    w.store_partial(el.acc_type, name, address, s.lanes, left)
                else:
                    w.store(el.acc_type, name, address, s.lanes)


def accumulator_bytes(elements) -> int:
    """Bytes of one accumulator."""
    return bytes_of(elements.acc_type)
