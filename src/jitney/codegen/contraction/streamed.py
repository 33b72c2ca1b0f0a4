"""A schedule for some rows (plan_streamed.py): b is read once, where it lies, in long runs.

In: a `StreamedSchedule`. Out: one kernel whose pieces are (batch group, block of columns); in one

    for each strip of columns, for each block along k:  pack that block of a
        for each group of columns, for each group of rows:  a tile of `rows` x `vectors` sums

So few rows do not pay for a packed copy of b: it costs as much as the product. But a tile walks
down the lines of b, and in a wide matrix every line is on another page, where no hardware
prefetcher follows: 16 x 2048 x 2048 came from memory at 3 to 5 GB/s. See [Note: fetching ahead].

[Note: fetching ahead] The tiles of some columns ask for as many lines of cache as they read, from
the next block along k, and those of the t-th columns for the t-th runs of that block: side by side
in memory, at the pace of the arithmetic, each group of rows for its part of them. 16 x 2048 x 2048
takes 1.4 ms of one core, that took 3.1. (If the first group of rows asks for all, it waits for
memory, and the others have nothing to wait for: an Emerald Rapids, two groups, 1.1 times as long.)

[Note: waiting sums] Between blocks the sums of a tile wait side by side in the workspace: those of
the present chain, and those of the chains before. In c its rows are a power of two apart as often
as not, and 16 of them want one set of a cache.

Invariant: results have the bits of `tiled.py`'s tile that reads rows in place.
"""

from dataclasses import dataclass

from ..instructions import Value
from ..prefetch import SECOND, prefetch_line
from . import pack
from .elements import Elements, memory_type, multiply_add
from .skinny import PARAMETERS as SKINNY_PARAMETERS
from .skinny import SkinnyKernel

PARAMETERS = (
    *SKINNY_PARAMETERS, "strip", "runs", "sum_offset", "sum_rows", "chain", "total_offset",
)  # fmt: skip


@dataclass(frozen=True)
class StreamedSchedule:
    """a is packed from 'k' or 'm' contiguous memory or from 'any' strides. `pitch`: words between
    its packed rows (but of 'm' the rows of one k are packed side by side)."""

    elements: Elements
    lanes: int
    rows: int
    vectors: int
    a: str
    depth: int
    pitch: int
    c_unit: bool
    swapped: bool
    two_level: bool
    label = "stream"

    @property
    def width(self) -> int:
        """Columns of a tile."""
        return self.vectors * self.lanes

    def emit(self, target, epilogue, name) -> str:
        return _StreamedKernel(self, target, epilogue).module(name)


class _StreamedKernel(SkinnyKernel):
    parameters = PARAMETERS

    def _item(self, batch, a, b, c, low, high, room):
        w, p = self.w, self.p
        self.a, self.b, self.room = a, b, room
        self.sums, self.totals = (w.at(room, p[name]) for name in ("sum_offset", "total_offset"))
        self.pace = self._pace()

        def strip(n0, _):
            self.n0, self.n1 = n0, w.smaller(w.add(n0, p["strip"]), high)
            w.for_range(0, p["k"], self.s.depth, self._block, runs_once=True)
            self._finish(batch, c)

        w.for_range(low, high, p["strip"], strip, runs_once=True)

    def _block(self, k0, _):
        """The sums of a strip, as far as `depth` lines of b."""
        w = self.w
        left, chain = w.sub(self.p["k"], k0), self.p["chain"]
        self.k0, self.depth = k0, w.smaller(left, self.s.depth)
        following = w.urem(w.add(k0, self.s.depth), chain)
        self.begins = w.compare("eq", w.urem(k0, chain), 0)
        is_last, is_end = w.compare("sle", left, self.s.depth), w.compare("eq", following, 0)
        self.ends = w.e.instruction(f"or i1 {is_last}, {is_end}")
        self._pack_a()
        w.for_range(self.n0, self.n1, self.s.width, self._columns, runs_once=True)

    # ---- the rows of a --------------------------------------------------------------------

    def _pack_a(self):
        w, p, s, el = self.w, self.p, self.s, self.el
        source = w.at(self.a, w.mul(self.k0, p["a_k"]), el.source_type)
        if s.a == "m":
            self._pack_lines(source)
            return
        step = 1 if s.a == "k" else p["a_k"]
        pack.pack_rows(
            w, el, source, p["a_m"], step, p["m"], p["sum_rows"], self.depth, self.room, s.pitch,
            s.lanes,
        )  # fmt: skip

    def _pack_lines(self, source):
        """The rows of one k side by side."""
        w, p, s, el = self.w, self.p, self.s, self.el
        packed = memory_type(el.packed)

        def line(k, _):
            start = w.at(source, w.mul(k, p["a_k"]), el.source_type)
            into = w.at(self.room, w.mul(k, p["pitch"]), packed)

            def rows(i, _):
                value = self._vector(w.at(start, i, el.source_type), w.sub(p["m"], i))
                w.store(packed, value, w.at(into, i, packed), s.lanes)

            w.for_range(0, p["m"], s.lanes, rows, runs_once=True)

        w.for_range(0, self.depth, 1, line, runs_once=True)

    def _a_elements(self, i):
        """(address of element k of row i + r as a function of a place, step along k)."""
        w, s, word = self.w, self.s, self.el.word
        if s.a == "m":
            start = w.at(self.room, i, word)
            return lambda r, place: w.at(w.at(start, place, word), r, word), self.p["pitch"]
        start = w.at(self.room, w.mul(i, s.pitch), word)
        return lambda r, place: w.at(w.at(start, place, word), r * s.pitch, word), 1

    # ---- tiles ----------------------------------------------------------------------------

    def _columns(self, j, _):
        w, s = self.w, self.s
        ahead, room = self._ahead(j), w.sub(self.n1, j)

        def rows(left):
            w.for_range(
                0, self.p["m"], s.rows, lambda i, _: self._tile(i, j, left, ahead), runs_once=True
            )

        def in_part():
            left = [w.larger(w.sub(room, v * s.lanes), 0) for v in range(s.vectors)]
            for count in left:
                w.prepare_partial(s.lanes, count)
            rows(left)

        if w.target.avx512:
            in_part()
            return
        whole = w.compare("sge", room, s.width)
        w.choose(whole, lambda: rows([None] * s.vectors), in_part)

    def _pace(self):
        """Elements that a step goes on in its runs: each group of rows asks for its part."""
        w, s = self.w, self.s
        groups = w.udiv(w.add(self.p["m"], s.rows - 1), s.rows)
        return w.udiv(w.add(groups, s.lanes - 1), groups)

    def _ahead(self, j):
        """Where the runs begin that the tiles of these columns ask for."""
        w, p, s, type_ = self.w, self.p, self.s, self.el.source_type
        first, below = w.udiv(w.sub(j, self.n0), s.lanes), w.add(self.k0, self.depth)
        places = []
        for v in range(s.vectors):
            number = w.add(first, v)
            line = w.add(below, w.udiv(number, p["runs"]))
            line = w.smaller(line, w.sub(p["k"], 1))
            column = w.add(self.n0, w.mul(w.urem(number, p["runs"]), s.depth * s.lanes))
            places.append(w.at(self.b, w.add(w.mul(line, p["b_k"]), column), type_))
        return places

    def _tile(self, i, j, left, ahead):
        w, s, el = self.w, self.s, self.el
        place = w.add(w.mul(w.sub(j, self.n0), self.p["sum_rows"]), w.mul(i, s.width))
        waiting = w.at(self.sums, place, el.acc_type)
        places = [w.at(waiting, at * s.lanes, el.acc_type) for at in range(s.rows * s.vectors)]
        types = [self.acc_text] * len(places)
        zeros = lambda: ["zeroinitializer"] * len(places)
        sums = w.choose(self.begins, zeros, lambda: self._loaded(places), types)
        skipped = w.mul(w.udiv(i, s.rows), w.mul(self.pace, s.depth))
        ahead = [w.at(start, skipped, el.source_type) for start in ahead]
        sums = self._multiply(i, j, left, ahead, list(zip(types, sums, strict=True)))
        self._store(sums, places)
        w.when(self.ends, lambda: self._end_chain(place, sums))

    def _end_chain(self, place, sums):
        """Adds the sums of a chain to those of the chains before it."""
        w, s, type_ = self.w, self.s, self.el.acc_type
        start = w.at(self.totals, place, type_)
        places = [w.at(start, at * s.lanes, type_) for at in range(len(sums))]

        def added():
            pairs = zip(self._loaded(places), sums, strict=True)
            values = [[Value((v,), type_, s.lanes) for v in pair] for pair in pairs]
            return [w.e.fadd(*pair).names[0] for pair in values]

        is_first = w.compare("slt", self.k0, self.p["chain"])
        totals = w.choose(is_first, lambda: sums, added, [self.acc_text] * len(sums))
        self._store(totals, places)

    def _loaded(self, places):
        return [self.w.load(self.el.acc_type, place, self.s.lanes) for place in places]

    def _store(self, sums, places) -> None:
        for total, place in zip(sums, places, strict=True):
            self.w.store(self.el.acc_type, total, place, self.s.lanes)

    def _multiply(self, i, j, left, ahead, sums):
        """The loop along k."""
        w, p, s, el = self.w, self.p, self.s, self.el
        a_element, a_step = self._a_elements(i)
        offset = w.add(w.mul(self.k0, p["b_k"]), j)
        line = w.at(self.b, offset, el.source_type)

        def step(k, values):
            line, place = values[:2]
            ahead, sums = values[2 : 2 + s.vectors], values[2 + s.vectors :]
            b = []
            for v, count in enumerate(left):
                b.append(self._vector(w.at(line, v * s.lanes, el.source_type), count))
                prefetch_line(w.e, ahead[v], SECOND)
            ahead = [w.at(fetched, self.pace, el.source_type) for fetched in ahead]
            for r in range(s.rows):
                a = w.e.splat(w.load_value(el.word, a_element(r, place)), s.lanes).names[0]
                for v in range(s.vectors):
                    at = r * s.vectors + v
                    sums[at] = multiply_add(w, el, a, b[v], sums[at], s.lanes)
            return [w.at(line, p["b_k"], el.source_type), w.add(place, a_step), *ahead, *sums]

        carried = [("ptr", line), ("i64", 0), *[("ptr", place) for place in ahead], *sums]
        done = w.for_range(0, self.depth, 1, step, carried, runs_once=True)
        return done[2 + s.vectors :]

    # ---- results --------------------------------------------------------------------------

    def _finish(self, batch, c):
        """The waiting sums, row by row, through the epilogue into c."""
        w, p, s, el = self.w, self.p, self.s, self.el

        columns, stride = w.sub(self.n1, self.n0), 1 if s.c_unit else p["c_n"]

        def one_row(row, _):
            line = w.at(c, w.add(w.mul(row, p["c_m"]), w.mul(self.n0, stride)), el.result_type)

            def one_vector(j, _):
                group = w.round_down(j, s.width)
                place = w.add(w.mul(group, p["sum_rows"]), w.mul(row, s.width))
                place = w.add(place, w.sub(j, group))
                total = w.load(el.acc_type, w.at(self.totals, place, el.acc_type), s.lanes)
                pointer = w.at(line, w.mul(j, stride), el.result_type)
                column, left = w.add(self.n0, j), w.sub(columns, j)
                self.storer.store_row([total], s.lanes, pointer, stride, batch, row, column, left)

            w.for_range(0, columns, s.lanes, one_vector, runs_once=True)

        w.for_range(0, p["m"], 1, one_row, runs_once=True)
