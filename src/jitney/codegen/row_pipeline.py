"""Rows in a pipeline: one loop does the first stage of a row, the second of the row before it, and
so on.

In: an emitter of a kernel of two or three stages, `pipelined` (fuse/pipeline_rows.py). Out: the
loop over a piece's rows, or over the vectors of a chunk of columns. What a stage leaves (results,
saved values) is read one row later, by the next stage. So nothing waits at the end of a row for
sums to be folded, and what one stage needs (memory, the units that multiply, the divider) is used
while another does not need it.

What is made of the last stage's sums waits one row, too: folding them and their logarithm take as
long as a processor looks ahead, so that what follows would wait (log-sum-exp of rows of 256 5.85
cycles a vector, so 5.35; of 1024 4.2, 4.05: a Zen 5).

Stages may be two rows `apart` instead of one (fuse/space_rows.py): then a stage's results have a
turn's time to be folded in before the next one begins. What is saved lies in two rows by turns: a
turn reads the one that it writes.

The first stage of the first rows runs alone, before the loop, and what the last rows lack after it.
In the loop's first turns the third stage has no row yet and writes something to the first row,
which it does again in a later turn; in the last turns the first stage does the last row once more.
"""

from functools import partial

from . import reduce, row_blocks, saved_rows
from .accesses import operand
from .elementwise import llvm_type
from .ends_in_vectors import Ends
from .guessed_rows import Guesses
from .instructions import Value
from .staggered_loop import Bounds


class Pipeline:
    """The stages of an emitter `k` side by side. `bind(digits)` makes a row the present one,
    `following(digits)` gives the next one's digits; `around(starts, body)` is the loop in which
    `body(at, accumulators)` does a vector of each stage, whose loop `at(stage)` binds."""

    def __init__(self, k, bind, following, around):
        self.k, self.e, self.stages = k, k.e, k.kernel.stages
        self.bind, self.following, self.around = bind, following, around
        self.base = dict(k.values)
        is_guessed = any(r.guessed for r in self.stages[0].reductions)
        self.guesses = Guesses(self) if is_guessed else None
        self.together = list(enumerate(self.stages))[int(is_guessed) :]  # the stages of a turn
        k._first_readers = {
            x.attrs[0]: self.stages[s]
            for s, _ in reversed(self.together)
            for x in k.homes.get((s, 0), ()) if x.op == "load"
        }  # fmt: skip
        self.ends = Ends(self) if k.kernel.gathered else None
        is_late = k.lane == "stage" and bool(self.stages[-1].reductions)
        self.late = is_late and self.ends is None
        self.lags = self._lags(is_guessed)
        self.behind = self.lags[-1] + self.late  # rows from the first to the last one begun
        self.waits = [  # (stage, number of its result, rows ago)
            (s, number, ago)
            for s, stage in enumerate(self.stages)
            for number in range(len(stage.reductions))
            for ago in range(1, self.behind - self.lags[s] + 1)
        ]

    def _lags(self, is_guessed: bool) -> list[int]:
        """By how many rows each stage is behind the first one; a guess is known before a turn."""
        apart, count = self.k.kernel.apart, len(self.stages)
        first = 1 if is_guessed else apart
        return [0, *[first + s * apart for s in range(count - 1)]]

    def emit(self, count: str, first: list[Value]) -> None:
        """So many rows from the first one on; not none."""
        k = self.k
        if self.guesses is not None:
            self.guesses.begin()
        rows, waiting = self._begin(count, first)
        carried = [digit for row in rows for digit in row] + waiting
        if self.ends is not None:
            carried += self.ends.begin(count, first)
        ended = k.loop("0", count, "1", carried, partial(self._turn, count), "rows")
        rows, waiting = self._unpack(ended)
        if self.late:
            self._end(rows[-1], self._results_for(self.behind, waiting))
        if len(self.stages) > 2:
            self._finish(count, rows, waiting)
        k.values = dict(self.base)

    def _begin(self, count: str, first: list[Value]) -> tuple[list, list[Value]]:
        """The first stage of the rows before that of the first turn: rows, and what waits."""
        row, before, found = first, [], {}
        for number in range(self.lags[1]):
            saved_rows.turn_to(self.k, str(number))
            begun = self._alone(0, row, {}) if self.guesses is None else self.guesses.of(row)
            ago = self.lags[1] - number
            found |= {(s, n, ago): value for (s, n), value in begun.items()}
            before.insert(0, row)
            more = self.e.instruction(f"icmp sgt i64 {count}, {number + 1}")
            row = self._advance(row, more)
        rows = [row, *before, *[first] * (self.behind - self.lags[1])]
        return rows, [found.get(key) or self._nothing(*key[:2]) for key in self.waits]

    def _finish(self, count: str, rows, waiting) -> None:
        """The third stage of the rows that lack it after the last turn."""
        for lag in range(self.lags[2], self.lags[1], -1):
            turn = self.e.instruction(f"add i64 {count}, {self.lags[1] - lag}")
            saved_rows.turn_to(self.k, turn)
            results = self._alone(2, rows[lag], self._results_for(lag, waiting))
            self._end(rows[lag], results)

    def _nothing(self, s, number) -> Value:
        """The result of a row that there is not."""
        type_ = llvm_type(self.stages[s].reductions[number].dtype)
        along = self.k.lane == "stage"
        value = self.e.constant(type_, 0, 1 if along else self.k.lanes)
        return Value(value.names * (1 if along else self.e.copies), value.type, value.lanes)

    def _unpack(self, carried):
        """(digits of each stage's row, results that wait by their keys)."""
        count = self.behind + 1
        gathered = len(self.ends.keys) if self.ends is not None else 0
        digits = (len(carried) - len(self.waits) - gathered) // count
        rows = [carried[s * digits : (s + 1) * digits] for s in range(count)]
        return rows, dict(zip(self.waits, carried[count * digits :], strict=False))

    def _results_for(self, lag, waiting) -> dict:
        """The results that the row so many behind the first stage's has so far."""
        return {(of, n): v for (of, n, ago), v in waiting.items() if ago == lag - self.lags[of]}

    def _advance(self, digits, more) -> list[Value]:
        """The next row, if there is one."""
        pick = lambda new, old: f"select i1 {more}, i64 {new.names[0]}, i64 {old.names[0]}"
        found = zip(self.following(digits), digits, strict=True)
        return [Value((self.e.instruction(pick(new, old)),), "i64", 1) for new, old in found]

    def _enter(self, s, digits, results) -> None:
        """Makes a stage's row the present one, with what is known of it before the stage."""
        k = self.k
        k.values, k.results = dict(self.base), dict(results)
        self.bind(digits)
        for level in range(s + 1):
            k._emit_home(("row", level))

    def _alone(self, s, digits, results) -> dict:
        """A stage of one row, by itself; its results, too."""
        k = self.k
        self._enter(s, digits, results)
        k._stage(s, self.stages[s])
        k.values = dict(self.base)
        return k.results

    def _end(self, digits, results) -> None:
        """What is made of all stages of a row."""
        self._enter(len(self.stages), digits, results)
        self.k.store_all(self.k.kernel.stores)

    def _turn(self, count, index, carried):
        """All stages, each of its row."""
        k, e, last = self.k, self.e, len(self.stages) - 1
        rows, waiting = self._unpack(carried)
        guesses = {} if self.guesses is None else self.guesses.of(rows[0])
        saved_rows.turn_to(k, index)
        known = {}
        for s, _ in self.together:
            self._enter(s, rows[self.lags[s]], self._results_for(self.lags[s], waiting))
            self._widen(s)
            known[s] = k.values, k.results
        loops = partial(self.around, body=partial(self._elements, rows, known))
        k.is_guessed = self.guesses is not None
        k._fold(self.together, loops)
        k.is_guessed = False
        new = guesses | k.results
        if self.guesses is not None:
            waiting, new = self.guesses.checked(rows[self.lags[1]], waiting, new)
        found = {key: value for key, value in new.items() if key[0] == last and not self.late}
        results, gathered = self._results_for(self.behind, waiting) | found, []
        if self.ends is not None:
            gathered = self.ends.take(rows[-1], results, carried[-len(self.ends.keys) :])
        else:
            self._end(rows[-1], results)
        soon = e.instruction(f"add i64 {index}, {self.lags[1] + 1}")
        more = e.instruction(f"icmp slt i64 {soon}, {count}")
        shifted = [self._advance(rows[0], more), *rows[:-1]]
        waiting = [waiting[s, n, ago - 1] if ago > 1 else new[s, n] for s, n, ago in self.waits]
        return [digit for row in shifted for digit in row] + waiting + gathered

    def _widen(self, s) -> None:
        """Numbers of a row that its elements are computed with, in all lanes: once a row."""
        k = self.k
        for x in k.homes.get((s, 0), ()):
            if x.op == "exp_raised_near":
                k.know_near(x)
                continue
            for a in x.args:
                value = k.values.get(a.id)
                if value is not None and value.type in ("float", "double"):
                    k.values[a.id] = k._as_lanes(value)

    def _elements(self, rows, known, at, accumulators):
        """One turn of the loop. What is read comes first: saved values are read before the next
        row's take their places, and a processor that takes a load for a later one of what it stores
        would make it wait."""
        k, result, stages = self.k, [], self.together
        values = {s: dict(of_row) for s, (of_row, _) in known.items()}

        def turn_to(s, stage):
            k.values, k.results, k._stage_of_fold = values[s], known[s][1], stage
            self.bind(rows[self.lags[s]])
            at(stage)

        for s, stage in reversed(stages):
            turn_to(s, stage)
            k._emit_home((s, 0))
        for s, stage in stages:
            turn_to(s, stage)
            width = sum(map(reduce.width, stage.reductions))
            result += k.accumulated(stage, accumulators[:width])
            accumulators = accumulators[width:]
        for s, stage in stages:
            turn_to(s, stage)
            k.leave(stage)
        k.results = {}  # for what this turn finds
        return result


def emit_rows(k, counters) -> None:
    """The rows of a piece whose vectors run along them."""
    e, loop = k.e, k.kernel.stages[0].loops[0]
    plain = [Value(("%lo",), "i64", 1)]

    def following(digits):
        if counters.counted:
            return counters.following(digits)
        return [Value((e.instruction(f"add i64 {digits[0].names[0]}, 1"),), "i64", 1)]

    def around(starts, body):
        def vectors(accumulators):
            index, mask = k.scalars[loop.variable], k.mask

            def at(stage):
                k.vector_variable = stage.loops[0].variable
                k.scalars[k.vector_variable], k.mask = index, mask

            return body(at, accumulators)

        extent = operand(k.slotted.extents[loop.variable])
        return k._vector_loop(loop.variable, "0", extent, starts, vectors)

    pipeline = Pipeline(k, lambda digits: counters.bind("", digits), following, around)
    if k.kernel.in_blocks:
        row_blocks.Blocks(pipeline, "%lo", "%hi").emit()
        return
    pipeline.emit(e.instruction("sub i64 %hi, %lo"), counters.first("%lo") or plain)


def emit_columns(k, variable, low, high) -> None:
    """The vectors of a chunk of columns, which go down them together; what is left of the chunk is
    done under a mask, stage by stage."""
    e = k.e
    copies = e.copies = k._copies()
    span = k.lanes * copies
    length = e.instruction(f"sub i64 {high}, {low}")
    count = e.instruction(f"sdiv i64 {length}, {span}")
    e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    some = e.instruction(f"call i64 @llvm.smin.i64(i64 {count}, i64 1)")

    def bind(digits):
        k.bind_vector(variable, digits[0].names[0], None)

    def following(digits):
        return [Value((e.instruction(f"add i64 {digits[0].names[0]}, {span}"),), "i64", 1)]

    def around(starts, body):
        def row(index, accumulators):
            def at(stage):
                k.scalars[stage.loops[0].variable] = index
                k._down = stage.loops[0].variable

            found = body(at, accumulators)
            k._down = None
            return found

        extent = operand(k.slotted.extents[k.kernel.stages[0].loops[0].variable])
        return k.staggered(Bounds("0", extent, "1"), starts, row, "stages", many=True)[0]

    def whole(_, __):
        Pipeline(k, bind, following, around).emit(count, [Value((low,), "i64", 1)])
        return []

    k.loop("0", some, "1", [], whole, "whole")
    k.results = {}
    k._tail(variable, k._advance(low, high, span), high, [], lambda carried: k._row() or [], False)
