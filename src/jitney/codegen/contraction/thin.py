"""Schedules for a few rows times a matrix with one short side, which fills few vectors.

In: `ThinDotSchedule` or `ThinAxpySchedule`. Out: one kernel whose pieces are (batch group, block of
columns), as in skinny.py:

    thin dot    b's columns are contiguous along k and short: as many columns at a time as a vector
                has lanes, a vector or a few each; their lanes are added by a tree of shuffles that
                ends in one vector of sums (two shuffles for two columns, where each alone takes
                three)
    thin axpy   b's lines are contiguous along n and short: their sums stay in registers for all
                of k, several chains of them, which are added at the end

The register tile would use one lane of a vector for a result of one column (500 x 10 times 10 on a
Zen 1: 5.8 us, so 1.3), and sums in memory are stored and read again for every few lines (500 times
500 x 10: 3.5 us, so .75; a masked store takes Zen 1 to 3 some 20 cycles).
Invariant: the order of each sum depends on k and n alone.
"""

from dataclasses import dataclass

from ..constants_text import type_text
from ..instructions import Value
from .elements import Elements, multiply_add
from .skinny import SkinnyKernel

MOST_OF_COLUMN, MOST_OF_LINE = 8, 4  # vectors; axpy with sums in memory is as good from there
COUNTS = {"pair": 2, "triple": 3}  # elements of a vector that is not full
CHAINED = 8  # vectors of sums that are added to at a time: latency times throughput


@dataclass(frozen=True)
class ThinDotSchedule:
    """`vectors` of `lanes` for a column of b; see `_ThinKernel` for `end`."""

    elements: Elements
    lanes: int
    vectors: int
    end: str
    c_unit: bool
    swapped: bool
    two_level: bool
    label = "thin_dot"

    @property
    def columns(self) -> int:
        """How many are done at a time."""
        return self.lanes

    def emit(self, target, epilogue, name) -> str:
        return _ThinDotKernel(self, target, epilogue).module(name)


@dataclass(frozen=True)
class ThinAxpySchedule:
    """`vectors` of `lanes` for a line of b; see `_ThinKernel` for `end`."""

    elements: Elements
    lanes: int
    vectors: int
    end: str
    swapped: bool
    two_level: bool
    label = "thin_axpy"

    @property
    def chains(self) -> int:
        """How many lines are added at a time, each to sums of its own."""
        return CHAINED // self.vectors

    def emit(self, target, epilogue, name) -> str:
        return _ThinAxpyKernel(self, target, epilogue).module(name)


class _ThinKernel(SkinnyKernel):
    """What both have in common: lines of a few vectors, whose last one is `whole`, `overlaps` the
    one before, or is the only one and half full (`pair`) or three quarters (`triple`): a masked
    load takes Zen 1 nine cycles."""

    def _line(self, pointer, length) -> list[str]:
        """The vectors of `length` elements at `pointer`."""
        w, s, type_ = self.w, self.s, self.el.source_type
        if s.end in COUNTS:
            return [self._part(pointer)]
        at = [w.at(pointer, v * s.lanes, type_) for v in range(s.vectors)]
        if s.end == "overlaps":
            at[-1] = w.at(pointer, w.sub(length, s.lanes), type_)
        return [self._vector(p) for p in at]

    def _part(self, pointer) -> str:
        """A vector that begins with two or three elements and ends with zeros."""
        e, s, type_ = self.w.e, self.s, self.el.source_type
        name, count = self.w.load(type_, pointer, COUNTS[s.end]), COUNTS[s.end]
        lanes = ", ".join(f"i32 {i}" for i in range(count)) + f", i32 {count}" * (s.lanes - count)
        text = type_text(type_, count)
        return e.instruction(
            f"shufflevector {text} {name}, {text} zeroinitializer, <{s.lanes} x i32> <{lanes}>"
        )

    def _sum(self, a: str, b: str) -> str:
        x, y = (Value((v,), self.el.acc_type, self.s.lanes) for v in (a, b))
        return self._plus(x, y).names[0]


class _ThinDotKernel(_ThinKernel):
    def _item(self, batch, a, b, c, n0, n1, room):
        w, p, s = self.w, self.p, self.s
        if s.end == "overlaps":
            seen = w.sub(s.vectors * s.lanes, p["k"])  # lanes of the last that the one before had
            self.seen = w.mask(seen, s.lanes)
        stride = 1 if s.c_unit else p["c_n"]
        whole = w.add(n0, w.round_down(w.sub(n1, n0), s.columns))

        def row(i, _):
            line = self._a_row(w.at(a, w.mul(i, p["a_m"]), self.el.source_type))
            out = w.at(c, w.mul(i, p["c_m"]), self.el.result_type)

            def columns(j, left=None):
                last = None if left is None else w.sub(left, 1)
                numbers = [q if last is None else w.smaller(q, last) for q in range(s.columns)]
                first = w.at(b, w.mul(j, p["b_n"]), self.el.source_type)
                starts = [w.at(first, w.mul(q, p["b_n"]), self.el.source_type) for q in numbers]
                sums = self._sums_of_lanes(lambda q: self._column(line, starts[q]), 0, s.columns)
                pointer = w.at(out, w.mul(j, stride), self.el.result_type)
                self.storer.store_row([sums], s.lanes, pointer, stride, batch, i, j, left)

            w.for_range(n0, whole, s.columns, lambda j, _: columns(j))
            left = w.sub(n1, whole)
            w.when(w.compare("ne", left, 0), lambda: columns(whole, left))

        w.for_range(0, p["m"], 1, row, runs_once=True)

    def _a_row(self, pointer) -> list[str]:
        """The vectors of a row of a, along k."""
        w, p, s, el = self.w, self.p, self.s, self.el

        def apart():
            first = [v * s.lanes for v in range(s.vectors)]
            if s.end == "overlaps":
                first[-1] = w.sub(p["k"], s.lanes)
            starts = [w.at(pointer, w.mul(p["a_k"], k), el.source_type) for k in first]
            count = COUNTS.get(s.end, s.lanes)
            return [w.load_strided(el.source_type, at, s.lanes, count, p["a_k"]) for at in starts]

        is_unit = w.compare("eq", p["a_k"], 1)
        types = [self.acc_text] * s.vectors
        return self._once(w.choose(is_unit, lambda: self._line(pointer, p["k"]), apart, types))

    def _once(self, line: list[str]) -> list[str]:
        """A line's vectors, with zeros for what stands in two of them."""
        if self.s.end != "overlaps":
            return line
        chosen = self.w.e.fresh()
        self.w.e.emit_raw(
            f"  {chosen} = select {type_text('i1', self.s.lanes)} {self.seen}, "
            f"{self.acc_text} zeroinitializer, {self.acc_text} {line[-1]}"
        )
        return [*line[:-1], chosen]

    def _column(self, line, pointer) -> str:
        """The products of a column, summed over its vectors."""
        w, s, e = self.w, self.s, self.w.e
        x, *more_x = line
        y, *more_y = self._once(self._line(pointer, self.p["k"]))
        is_float = self.el.acc_type in ("float", "double")
        a, b = (Value((v,), self.el.acc_type, s.lanes) for v in (x, y))
        total = e.binary("fmul" if is_float else "mul", a, b).names[0]
        for x, y in zip(more_x, more_y, strict=True):
            total = multiply_add(w, self.el, x, y, total, s.lanes)
        return total

    def _sums_of_lanes(self, column, first: int, count: int) -> str:
        """A vector of the sums of the lanes of column(first), …, of `count` of them: a tree, each
        of its parts when its columns are there, so that few of them wait."""
        if count == 1:
            return column(first)
        half = count // 2
        a, b = (self._sums_of_lanes(column, first + i * half, half) for i in (0, 1))
        one, other = picks(self.s.lanes, 16 // self.el.word_bytes, half)
        return self._sum(self._shuffle(a, b, one), self._shuffle(a, b, other))

    def _shuffle(self, a, b, picked) -> str:
        mask = ", ".join(f"i32 {i}" for i in picked)
        return self.w.e.instruction(
            f"shufflevector {self.acc_text} {a}, {self.acc_text} {b}, "
            f"<{len(picked)} x i32> <{mask}>"
        )


def picks(lanes: int, block: int, count: int) -> tuple[list[int], list[int]]:
    """What to pick from two vectors, of `count` sums each, so that what is picked first and second
    adds up to one of twice as many. Sums lie side by side, all of them once before their next part
    comes; parts are added within blocks (of 16 bytes, where shuffles are cheapest) until these
    are full, then blocks.

    >>> picks(4, 4, 1), picks(4, 4, 2)
    (([0, 4, 1, 5], [2, 6, 3, 7]), ([0, 1, 4, 5], [2, 3, 6, 7]))
    >>> picks(8, 4, 4)
    ([0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15])
    """
    if count >= block:
        starts = [v * lanes + at for v in (0, 1) for at in range(0, lanes, 2 * block)]
        apart, found = block, [at + i for at in starts for i in range(block)]
    else:
        apart = block // 2
        found = [
            v * lanes + at + part + i
            for at in range(0, lanes, block)
            for part in range(0, apart, count)
            for v in (0, 1)
            for i in range(count)
        ]
    return found, [at + apart for at in found]


class _ThinAxpyKernel(_ThinKernel):
    def _item(self, batch, a, b, c, n0, n1, room):
        w, p, s, el = self.w, self.p, self.s, self.el

        def row(i, _):
            sums = self._sums(w.at(a, w.mul(i, p["a_m"]), el.source_type), b)
            out = w.at(c, w.mul(i, p["c_m"]), el.result_type)
            if s.end != "overlaps":
                left = COUNTS.get(s.end)
                self.storer.store_row(sums, s.lanes, out, 1, batch, i, 0, left)
                return
            # all is computed before any is stored: an epilogue may read what stands in c's place
            last = w.sub(p["n"], s.lanes)
            runs = [(sums[:-1], 0), (sums[-1:], last)]
            values = [self.storer.finish(part, s.lanes, batch, i, at) for part, at in runs]
            for value, (_, at) in zip(values, runs, strict=True):
                for v, name in enumerate(value.names):
                    pointer = w.at(out, w.add(at, v * s.lanes), el.result_type)
                    w.store(el.result_type, name, pointer, s.lanes)

        w.for_range(0, p["m"], 1, row, runs_once=True)

    def _sums(self, a, b) -> list[str]:
        """The sums of a row over all lines of b."""
        w, p, s = self.w, self.p, self.s
        zero = [(self.acc_text, "zeroinitializer")] * (s.vectors * s.chains)

        def several(k, sums):
            following = []
            for u in range(s.chains):
                part = sums[u * s.vectors : (u + 1) * s.vectors]
                following += self._add(a, b, w.add(k, u), part)
            return following

        end = w.round_down(p["k"], s.chains)
        sums = w.for_range(0, end, s.chains, several, zero)
        chains = [sums[u : u + s.vectors] for u in range(0, len(sums), s.vectors)]
        while len(chains) > 1:
            half = len(chains) // 2
            chains = [
                [self._sum(x, y) for x, y in zip(one, other, strict=True)]
                for one, other in zip(chains[:half], chains[half:], strict=True)
            ]
        carried = [(self.acc_text, total) for total in chains[0]]
        return w.for_range(end, p["k"], 1, lambda k, sums: self._add(a, b, k, sums), carried)

    def _add(self, a, b, k, sums) -> list[str]:
        """sums + a[k] times line k of b."""
        w, p, el, lanes = self.w, self.p, self.el, self.s.lanes
        element = self._element(w.at(a, w.mul(k, p["a_k"]), el.source_type))
        factor = w.e.splat(element, lanes).names[0]
        line = self._line(w.at(b, w.mul(k, p["b_k"]), el.source_type), p["n"])
        return [
            multiply_add(w, el, factor, y, total, lanes)
            for y, total in zip(line, sums, strict=True)
        ]
