"""Schedules for few rows: matrix times vector and up to 16 rows at a time, at memory speed.

In: `DotSchedule` or `AxpySchedule`. Out: one kernel whose pieces are (batch group, block of
columns). Both read the matrix b once, in long straight runs:

    dot    b's columns are contiguous along k: vectors run along k, and each sum is that of its
           lanes at the end; a's rows are contiguous too (packed first if they are not)
    axpy   b's lines are contiguous along n: a few lines are added at once, times elements of a,
           to sums that stay in the first cache; of long sums in chains, which are added

Invariant: the order of each sum depends on k alone. The dot schedule's differs from the tile's
(lanes first).
"""

from dataclasses import dataclass
from functools import partial

from ..constants_text import type_text
from ..instructions import Value
from ..prefetch import SECOND, prefetch_line
from .elements import Elements, memory_type, multiply_add, widen
from .store import Storer
from .writer import Parameters, Writer

PARAMETERS = (
    "m", "n", "k", "batch", "inner", "group", "column_block", "column_pieces",
    "a_batch", "a_inner", "a_m", "a_k", "b_batch", "b_inner", "b_k", "b_n",
    "c_batch", "c_inner", "c_m", "c_n", "piece_bytes", "pitch",
)  # fmt: skip


@dataclass(frozen=True)
class DotSchedule:
    """A tile of rows x columns sums, vectors along k, `unroll` of them at once."""

    elements: Elements
    lanes: int
    rows: int
    columns: int
    unroll: int
    packs_a: bool
    c_unit: bool
    swapped: bool
    two_level: bool
    label = "dot"

    def emit(self, target, epilogue, name) -> str:
        return _DotKernel(self, target, epilogue).module(name)


@dataclass(frozen=True)
class AxpySchedule:
    """`rows` rows of a, `lines` lines of b at once. `sums`: 'c' or 'workspace'. `chain`: terms of a
    sum, a multiple of the lines, after which it is added to a total in the workspace (floats
    alone); 0: all. `fetches`: the lines that follow are asked for, which no hardware prefetcher
    does where each has a page of its own."""

    elements: Elements
    lanes: int
    rows: int
    lines: int
    sums: str
    chain: int
    fetches: bool
    swapped: bool
    two_level: bool
    label = "axpy"

    def emit(self, target, epilogue, name) -> str:
        return _AxpyKernel(self, target, epilogue).module(name)


class SkinnyKernel:
    """What they have in common, `streamed.py` too: parameters, pieces and batch items."""

    parameters = PARAMETERS

    def __init__(self, schedule, target, epilogue):
        self.s = schedule
        self.el = schedule.elements
        self.w = w = Writer(target)
        self.p = Parameters(w, self.parameters)
        self.storer = Storer(w, self.el, epilogue, schedule.swapped, len(self.parameters))
        self.is_plain = epilogue is None and self.el.result_type == self.el.acc_type
        self.acc_text = type_text(self.el.acc_type, schedule.lanes)

    def module(self, name):
        self.w.for_range("%lo", "%hi", 1, self._piece)
        return self.w.module(name)

    def _piece(self, piece, _):
        w, p = self.w, self.p
        column, group = w.urem(piece, p["column_pieces"]), w.udiv(piece, p["column_pieces"])
        n0 = w.mul(column, p["column_block"])
        n1 = w.smaller(w.add(n0, p["column_block"]), p["n"])
        room = w.at(self._pointer(3), w.mul(piece, p["piece_bytes"]))
        first = w.mul(group, p["group"])
        stop = w.smaller(w.add(first, p["group"]), p["batch"])

        def item(batch, _):
            a, b, c = (self._operand(i, batch) for i in range(3))
            self._item(batch, a, b, c, n0, n1, room)

        w.for_range(first, stop, 1, item)

    def _pointer(self, i):
        return self.w.load_constant("ptr", self.w.at("%ptrs", i, "ptr"))

    def _operand(self, i, batch):
        w, p, name = self.w, self.p, "abc"[i]
        type_ = self.el.result_type if i == 2 else self.el.source_type
        base = self._pointer(1 - i if self.s.swapped and i < 2 else i)
        if not self.s.two_level:
            return w.at(base, w.mul(batch, p[f"{name}_batch"]), type_)
        outer, inner = w.udiv(batch, p["inner"]), w.urem(batch, p["inner"])
        offset = w.add(w.mul(outer, p[f"{name}_batch"]), w.mul(inner, p[f"{name}_inner"]))
        return w.at(base, offset, type_)

    def _vector(self, pointer, count=None) -> str:
        """A vector of b (or a) as accumulators' elements."""
        w, el, lanes = self.w, self.el, self.s.lanes
        if count is None:
            name = w.load(el.source_type, pointer, lanes)
        else:
            name = w.load_partial(el.source_type, pointer, lanes, count)
        return widen(w, el, Value((name,), el.source_type, lanes)).names[0]

    def _plus(self, a: Value, b: Value) -> Value:
        return self.w.e.binary("fadd" if a.type in ("float", "double") else "add", a, b)

    def _element(self, pointer) -> Value:
        return widen(self.w, self.el, self.w.load_value(self.el.source_type, pointer))


class _DotKernel(SkinnyKernel):
    def __init__(self, schedule, target, epilogue):
        super().__init__(schedule, target, epilogue)
        if not self.is_plain:
            self.tile = self.w.allocate("i64", schedule.rows * schedule.columns, "tile")

    def _item(self, batch, a, b, c, n0, n1, room):
        w, p, s = self.w, self.p, self.s
        if s.packs_a:
            self._pack_a(a, room)
            a = room

        def columns(j, _):
            w.for_range(
                0, p["m"], s.rows, lambda i, _: self._tile(batch, a, b, c, i, j, n1), runs_once=True
            )

        w.for_range(n0, n1, s.columns, columns)

    def _pack_a(self, a, room):
        w, p, el = self.w, self.p, self.el
        packed = memory_type(el.packed)

        def row(i, _):
            source = w.at(a, w.mul(i, p["a_m"]), el.source_type)
            target = w.at(room, w.mul(i, p["pitch"]), packed)

            def element(k, _):
                value = self._element(w.at(source, w.mul(k, p["a_k"]), el.source_type))
                w.store(packed, value.names[0], w.at(target, k, packed))

            w.for_range(0, p["k"], 1, element)

        w.for_range(0, p["m"], 1, row)

    def _a_row(self, a, i):
        w, p, el = self.w, self.p, self.el
        if self.s.packs_a:
            return w.at(a, w.mul(i, p["pitch"]), memory_type(el.packed))
        return w.at(a, w.mul(i, p["a_m"]), el.source_type)

    def _a_vector(self, pointer, k, count):
        if not self.s.packs_a:
            return self._vector(self.w.at(pointer, k, self.el.source_type), count)
        packed = memory_type(self.el.packed)
        address = self.w.at(pointer, k, packed)
        if count is None:
            return self.w.load(packed, address, self.s.lanes)
        return self.w.load_partial(packed, address, self.s.lanes, count)

    def _tile(self, batch, a, b, c, i, j, n1):
        w, p, s, el = self.w, self.p, self.s, self.el
        rows = [w.smaller(w.add(i, r), w.sub(p["m"], 1)) for r in range(s.rows)]
        columns = [w.smaller(w.add(j, q), w.sub(n1, 1)) for q in range(s.columns)]
        a_rows = [self._a_row(a, r) for r in rows]
        b_rows = [w.at(b, w.mul(q, p["b_n"]), el.source_type) for q in columns]
        types = [self.acc_text] * (s.rows * s.columns * s.unroll)
        count = s.rows * s.columns

        def add(k, sums, left=None):
            x = [self._a_vector(pointer, k, left) for pointer in a_rows]
            y = [self._vector(w.at(q, k, el.source_type), left) for q in b_rows]
            return [
                multiply_add(w, el, x[at // s.columns], y[at % s.columns], total, s.lanes)
                for at, total in enumerate(sums)
            ]

        def long_step(k, sums):
            following = []
            for u in range(s.unroll):
                following += add(w.add(k, u * s.lanes), sums[u * count : (u + 1) * count])
            return following

        zero = [(t, "zeroinitializer") for t in types]
        length = s.lanes * s.unroll
        whole = w.round_down(p["k"], length)
        sums = w.for_range(0, whole, length, long_step, zero)
        if s.unroll > 1:
            sums = self._join_unrolled(sums, count)
            middle = w.round_down(p["k"], s.lanes)
            carried = list(zip(types[:count], sums, strict=True))
            sums = w.for_range(whole, middle, s.lanes, add, carried)
            whole = middle
        left = w.sub(p["k"], whole)
        sums = w.choose(
            w.compare("ne", left, 0), lambda: add(whole, sums, left), lambda: sums, types[:count]
        )
        if self.is_plain:
            for at, total in enumerate(sums):
                row, column = rows[at // s.columns], columns[at % s.columns]
                offset = w.add(w.mul(row, p["c_m"]), w.mul(column, p["c_n"]))
                w.store(el.acc_type, self._sum_of_lanes(total), w.at(c, offset, el.acc_type))
            return
        self._finish(batch, c, i, j, n1, sums)

    def _finish(self, batch, c, i, j, n1, sums):
        """Conversion and epilogue, for a row of columns at once."""
        w, p, s, el = self.w, self.p, self.s, self.el
        for at, total in enumerate(sums):
            w.store(el.acc_type, self._sum_of_lanes(total), w.at(self.tile, at, el.acc_type))
        stride = 1 if s.c_unit else p["c_n"]

        def one_row(r, _):
            row = w.add(i, r)
            line = w.at(self.tile, w.mul(r, s.columns), el.acc_type)
            pointer = w.at(c, w.add(w.mul(row, p["c_m"]), w.mul(j, stride)), el.result_type)
            self.storer.store_row(
                [w.load(el.acc_type, line, s.columns)], s.columns, pointer, stride, batch, row, j,
                w.sub(n1, j),
            )  # fmt: skip

        w.for_range(0, w.smaller(s.rows, w.sub(p["m"], i)), 1, one_row, runs_once=True)

    def _join_unrolled(self, sums, count):
        total = [Value((v,), self.el.acc_type, self.s.lanes) for v in sums[:count]]
        for u in range(1, self.s.unroll):
            more = sums[u * count : (u + 1) * count]
            total = [
                self._plus(t, Value((v,), self.el.acc_type, self.s.lanes))
                for t, v in zip(total, more, strict=True)
            ]
        return [t.names[0] for t in total]

    def _sum_of_lanes(self, vector):
        value = Value((vector,), self.el.acc_type, self.s.lanes)
        while value.lanes > 1:
            if value.lanes == 2:
                value = self._plus(self.w.e.extract(value, 0), self.w.e.extract(value, 1))
                break
            value = self._plus(*self.w.e.split_halves(value))
        return value.names[0]


class _AxpyKernel(SkinnyKernel):
    def _item(self, batch, a, b, c, n0, n1, room):
        w, p, s = self.w, self.p, self.s
        self.batch, self.a, self.b, self.c, self.n0, self.room = batch, a, b, c, n0, room
        self.whole = w.round_down(w.sub(n1, n0), s.lanes)
        self.left = w.sub(w.sub(n1, n0), self.whole)
        last = w.sub(p["m"], 1)  # rows that do not exist repeat it: the same sums, stored twice
        self.rows = [w.smaller(r, last) for r in range(s.rows)]
        self.sums = [self._sum_row(r) for r in self.rows]
        if s.chain:
            self._add_chains()
        else:
            self._for_vectors(partial(self._clear, self.sums))
            self._add_all(0, p["k"])
        if not (self.is_plain and s.sums == "c"):
            self._finish(w.sub(n1, n0))

    def _add_chains(self) -> None:
        """The totals of chains, which then are the sums."""
        self.totals = [self._total_row(r) for r in self.rows]
        self._for_vectors(partial(self._clear, self.totals))
        self.w.for_range(0, self.p["k"], self.s.chain, self._chain)

        def one_vector(j, count):
            for row, total in zip(self.sums, self.totals, strict=True):
                self._save(row, j, self._load(total, j, count), count)

        self._for_vectors(one_vector)

    def _chain(self, k0, _) -> None:
        """The sums of a chain, which are added to the totals."""
        w, s = self.w, self.s
        self._for_vectors(partial(self._clear, self.sums))
        self._add_all(k0, w.smaller(w.add(k0, s.chain), self.p["k"]))

        def one_vector(j, count):  # rows that repeat the last one are read before it is stored
            load = lambda row: Value((self._load(row, j, count),), self.el.acc_type, s.lanes)
            pairs = [[load(row) for row in two] for two in zip(self.totals, self.sums, strict=True)]
            for row, two in zip(self.totals, pairs, strict=True):
                self._save(row, j, w.e.fadd(*two).names[0], count)

        self._for_vectors(one_vector)

    def _add_all(self, k0, k1) -> None:
        """All lines from k0 on, up to k1."""
        w, lines = self.w, self.s.lines
        end = w.add(k0, w.round_down(w.sub(k1, k0), lines))
        w.for_range(k0, end, lines, lambda k, _: self._add_lines(k, lines))
        if lines > 1:
            w.for_range(end, k1, 1, lambda k, _: self._add_lines(k, 1))

    def _for_vectors(self, body) -> None:
        """body(j, None) for whole vectors, then body(j, count) for the elements that are left."""
        w = self.w
        w.for_range(0, self.whole, self.s.lanes, lambda j, _: body(j, None))
        w.when(w.compare("ne", self.left, 0), lambda: body(self.whole, self.left))

    def _sum_row(self, row):
        w, p, el = self.w, self.p, self.el
        if self.s.sums == "c":
            return w.at(self.c, w.add(w.mul(row, p["c_m"]), self.n0), el.result_type)
        return w.at(self.room, w.mul(row, p["pitch"]), el.acc_type)

    def _total_row(self, row):
        """Where the total of chains is: behind the sums where these are in the workspace, too."""
        w, p = self.w, self.p
        before = 0 if self.s.sums == "c" else p["m"]
        return w.at(self.room, w.mul(w.add(row, before), p["pitch"]), self.el.acc_type)

    def _load(self, row, j, count):
        w, el = self.w, self.el
        address = w.at(row, j, el.acc_type)
        if count is None:
            return w.load(el.acc_type, address, self.s.lanes)
        return w.load_partial(el.acc_type, address, self.s.lanes, count)

    def _save(self, row, j, value, count):
        w, el = self.w, self.el
        address = w.at(row, j, el.acc_type)
        if count is None:
            w.store(el.acc_type, value, address, self.s.lanes)
        else:
            w.store_partial(el.acc_type, value, address, self.s.lanes, count)

    def _clear(self, rows, j, count):
        for row in rows:
            self._save(row, j, "zeroinitializer", count)

    def _add_lines(self, k, lines):
        """sums += elements (rows, k .. k + lines) of a times those lines of b."""
        w, p, s, el = self.w, self.p, self.s, self.el
        factors = [[self._factor(r, w.add(k, u)) for u in range(lines)] for r in self.rows]
        starts = [
            w.at(self.b, w.add(w.mul(w.add(k, u), p["b_k"]), self.n0), el.source_type)
            for u in range(lines)
        ]
        following = self._following(starts, k, lines) if s.fetches else []

        def one_vector(j, count):
            y = [self._vector(w.at(line, j, el.source_type), count) for line in starts]
            if count is None:
                for line in following:
                    prefetch_line(w.e, w.at(line, j, el.source_type), SECOND)
            totals = [self._load(row, j, count) for row in self.sums]
            for u in range(lines):
                totals = [
                    multiply_add(w, el, factors[r][u], y[u], total, s.lanes)
                    for r, total in enumerate(totals)
                ]
            for row, total in zip(self.sums, totals, strict=True):
                self._save(row, j, total, count)

        self._for_vectors(one_vector)

    def _following(self, starts, k, lines):
        """The lines that follow; at the end of b these again: behind it there may be no memory."""
        w, p = self.w, self.p
        more = w.compare("slt", w.add(k, 2 * lines - 1), p["k"])
        ahead = w.select(more, w.mul(p["b_k"], lines), 0)
        return [w.at(line, ahead, self.el.source_type) for line in starts]

    def _factor(self, row, k):
        """Element (row, k) of a in every lane."""
        w, p = self.w, self.p
        offset = w.add(w.mul(row, p["a_m"]), w.mul(k, p["a_k"]))
        element = self._element(w.at(self.a, offset, self.el.source_type))
        return w.e.splat(element, self.s.lanes).names[0]

    def _finish(self, columns):
        """Conversion and epilogue."""
        w, p, s, el = self.w, self.p, self.s, self.el

        def one_row(row, _):
            sums = self._sum_row(row)
            line = w.at(self.c, w.add(w.mul(row, p["c_m"]), self.n0), el.result_type)

            def one_vector(j, _):
                left = w.sub(columns, j)
                total = self._load(sums, j, left)
                pointer, column = w.at(line, j, el.result_type), w.add(self.n0, j)
                self.storer.store_row([total], s.lanes, pointer, 1, self.batch, row, column, left)

            w.for_range(0, columns, s.lanes, one_vector)

        w.for_range(0, p["m"], 1, one_row)
