"""Rows whose results are folded, guessed and finished sixteen at a time.

In: a pipeline (row_pipeline.py) of two stages, the first of which is a guess (guessed_rows.py), of
a kernel whose rows are `in_blocks` (fuse/gather_ends.py, with figures). Out: a loop over blocks of
as many rows as there are lanes. Of a row alone, folding the lanes of its guess and of its sums,
what exponentials need of the guess, and whether it was any good, are some 125 instructions, as many
as 160 elements of log-sum-exp take; of sixteen together, whose vectors are folded into one, in the
order in which each would be by itself, they are 65. So a row is its second stage's loop, which
begins with numbers from memory and leaves a vector there. Before it the elements are read that the
guess of the row a block later will take, and the greatest of each lane is left in memory, too.
"""

from functools import partial

from . import memory, reduce
from .elementwise import llvm_type
from .guessed_rows import WIDE
from .instructions import Value
from .math.exponential import nearness

ROWS = 16  # of a block: lanes of float32


class Blocks:
    """The rows [low, high) of a pipeline."""

    def __init__(self, pipeline, low: str, high: str):
        self.pipeline, self.k, self.e = pipeline, pipeline.k, pipeline.e
        self.guesses, self.ends = pipeline.guesses, pipeline.ends
        self.low, self.high = low, high
        self.sums = pipeline.stages[1].reductions
        (self.least,) = {x.args[1].id for x in self.k.used if x.op == "exp_raised_near"}

    def emit(self) -> None:
        e, k = self.e, self.k
        e.declare("declare i64 @llvm.smin.i64(i64, i64)")
        self.guesses.begin()
        self.near_at, self.guess_at, self.samples_at = map(self._room, (1, 1, ROWS))
        self.sums_at = [self._room(ROWS) for _ in self.sums]
        self.last = e.instruction(f"sub i64 {self.high}, 1")
        k.loop("0", str(ROWS), "1", [], partial(self._sample, self.low), "sample")
        k.loop(self.low, self.high, str(ROWS), [], self._block, "block")
        k.values = dict(self.pipeline.base)

    def _room(self, vectors: int) -> str:
        """So many vectors on the stack."""
        name = self.e.fresh()
        self.e.emit_raw(f"  {name} = alloca <{ROWS} x float>, i64 {vectors}, align 64")
        return name

    def _block(self, first, _):
        e = self.e
        left = e.instruction(f"sub i64 {self.high}, {first}")
        count = e.instruction(f"call i64 @llvm.smin.i64(i64 {left}, i64 {ROWS})")
        guess = self._guess(first, count)
        undo = self._know_near(first, count, guess)
        self.k.loop("0", count, "1", [], partial(self._row, first), "row")
        totals = self._totals(undo)
        totals = self._checked(first, count, [guess, *totals])
        self.ends.write(first, e.instruction(f"add i64 {first}, {count}"), totals)
        return []

    # ------------------------------------------------------------------ guesses
    def _guess(self, first: str, count: str) -> Value:
        """Of each row of a block, in its lane."""
        e = self.e
        vectors = [self._load_vector(self.samples_at, number) for number in range(ROWS)]
        most = fold_across(e, vectors, e.fast_max)
        spread = e.fsub(most, fold_across(e, vectors, e.fast_min))
        wide = self._of_rows(e.fcmp("ugt", spread, e.like(spread, WIDE)), count)

        def exact(row, _):
            return [self.pipeline._alone(0, [row], {})[0, 0]]

        return self._done_again(first, count, wide, [most], exact, "wide")[0]

    def _know_near(self, first: str, count: str, guess: Value) -> Value:
        """Leaves in memory what the exponentials of a block's rows need; what undoes it in sums."""
        e, k = self.e, self.k
        self._store(self.guess_at, "0", guess)
        high = e.instruction(f"add i64 {first}, {count}")
        with self.ends.in_lanes(first, high, {(0, 0): guess}, 2):
            near, undo = nearness(e, k.values[self.least])
        self._store(self.near_at, "0", near)
        return undo

    # ------------------------------------------------------------------ rows
    def _row(self, first: str, number: str, _):
        """The second stage of one row; its sums' lanes are left in memory."""
        e, k = self.e, self.k
        row = e.instruction(f"add i64 {first}, {number}")
        self._sample(e.instruction(f"add i64 {first}, {ROWS}"), number, _)
        guess = self._load(self.guess_at, number)
        self._enter(1, row, {(0, 0): guess})
        near = self._load(self.near_at, number)
        self.pipeline._widen(1)
        k.near = {self.least: (e.splat(near, ROWS), None)}
        known = {1: (k.values, k.results)}
        body = partial(self.pipeline._elements, [[Value((row,), "i64", 1)]] * 2, known)
        loops = partial(self.pipeline.around, body=body)
        for (_, n), _, (vector,) in k.accumulators(self.pipeline.together, loops):
            self._store(self.sums_at[n], number, vector)
        k.values = dict(self.pipeline.base)
        return []

    def _sample(self, first: str, number: str, _):
        """Leaves the greatest of each lane of some vectors of a row: its guess will be of these."""
        e, k = self.e, self.k
        row = e.instruction(f"add i64 {first}, {number}")
        row = e.instruction(f"call i64 @llvm.smin.i64(i64 {row}, i64 {self.last})")
        self._enter(0, row, {})
        k._stage_of_fold = None  # lines are asked for by the rows themselves
        (of_row,) = self.pipeline.stages[0].reductions
        vector = self.guesses.sampled(reduce.start(e, of_row, ROWS))[0]  # not whether it met a NaN
        self._store(self.samples_at, number, vector)
        k.values = dict(self.pipeline.base)
        return []

    # ------------------------------------------------------------------ ends
    def _totals(self, undo: Value) -> list[Value]:
        """The sums of a block's rows, each in its lane."""
        e, found = self.e, []
        for r, place in zip(self.sums, self.sums_at, strict=True):
            vectors = [self._load_vector(place, number) for number in range(ROWS)]
            total = fold_across(e, vectors, partial(reduce.merge_values, e, r))
            found.append(e.fmul(total, undo) if r.expr.op == "exp_raised_near" else total)
        return found

    def _checked(self, first: str, count: str, results: list[Value]) -> list[Value]:
        """A block's guesses and sums, right for guesses that were no good, too."""
        k, telling = self.k, self.guesses.telling
        bad = self.guesses.is_off(telling[0], results[1 + telling[0]])
        for n in telling[1:]:
            bad = self.e.or_(bad, self.guesses.is_off(n, results[1 + n]))

        def again(row, _):
            k.near, k.plain = None, True
            exact = self.pipeline._alone(0, [row], {})
            found = self.pipeline._alone(1, [row], exact)
            k.plain = False
            return [exact[0, 0], *[found[1, n] for n in range(len(self.sums))]]

        return self._done_again(first, count, self._of_rows(bad, count), results, again, "again")

    def _of_rows(self, flags: Value, count: str) -> str:
        """The flags of the rows that there are, as bits of an i64."""
        e = self.e
        bits = e.instruction(f"bitcast {flags.text} {flags.names[0]} to i{ROWS}")
        bits = e.instruction(f"zext i{ROWS} {bits} to i64")
        there = e.instruction(f"sub i64 {e.instruction(f'shl i64 1, {count}')}, 1")
        return e.instruction(f"and i64 {bits}, {there}")

    def _done_again(self, first, count, bits, values, do, label) -> list[Value]:
        """Some rows' values, lane by lane, done again by `do(row, values)` where a bit is set."""
        e, k = self.e, self.k
        none = e.instruction(f"icmp eq i64 {bits}, 0")
        turns = e.instruction(f"select i1 {none}, i64 0, i64 {count}")

        def one(number, carried):
            bit = e.instruction(f"and i64 {e.instruction(f'lshr i64 {bits}, {number}')}, 1")
            row = Value((e.instruction(f"add i64 {first}, {number}"),), "i64", 1)
            narrow = Value((e.instruction(f"trunc i64 {number} to i32"),), "i32", 1)
            is_here = e.icmp("eq", memory.lane_numbers(e, ROWS, "i32"), e.splat(narrow, ROWS))

            def body(_, old):
                new = do(row, old)
                return [
                    e.select(is_here, e.splat(a, ROWS), b) for a, b in zip(new, old, strict=True)
                ]

            return k.loop("0", bit, "1", carried, body, label)

        return k.loop("0", turns, "1", values, one, f"{label}.rows")

    def _enter(self, s, row: str, results) -> None:
        self.pipeline._enter(s, [Value((row,), "i64", 1)], results)

    # ------------------------------------------------------------------ memory
    def _store(self, place: str, number: str, vector: Value) -> None:
        e = self.e
        at = e.instruction(f"getelementptr <{ROWS} x float>, ptr {place}, i64 {number}")
        e.emit_raw(f"  store {vector.text} {vector.names[0]}, ptr {at}, align 64")

    def _load(self, place: str, number: str) -> Value:
        e, name = self.e, self.e.fresh()
        at = e.instruction(f"getelementptr float, ptr {place}, i64 {number}")
        e.emit_raw(f"  {name} = load float, ptr {at}, align 4")
        return Value((name,), llvm_type("f32"), 1)

    def _load_vector(self, place: str, number: int) -> Value:
        e, name = self.e, self.e.fresh()
        at = e.instruction(f"getelementptr <{ROWS} x float>, ptr {place}, i64 {number}")
        e.emit_raw(f"  {name} = load <{ROWS} x float>, ptr {at}, align 64")
        return Value((name,), llvm_type("f32"), ROWS)


def fold_across(e, vectors: list[Value], merge) -> Value:
    """Sixteen vectors of sixteen lanes in one: lane r has all of vector r, folded by halves as a
    vector by itself is (reduce.fold_lanes). Each round takes one shuffle a vector, the last two
    within 16 bytes."""
    merged = partial(_merged, e, merge)
    found = []
    for j in range(4):
        pairs = [
            merged(vectors[j + k], vectors[j + k + 4], [*range(8), *range(16, 24)], 8)
            for k in (0, 8)
        ]
        blocks = [16 * v + 8 * g + i for v in range(2) for g in range(2) for i in range(4)]
        found.append(merged(*pairs, blocks, 4))
    within = [16 * v + 4 * k + i for k in range(4) for v in range(2) for i in range(2)]
    halves = [merged(found[j], found[j + 1], within, 2) for j in (0, 2)]
    single = [16 * v + 4 * k + 2 * i for k in range(4) for v in range(2) for i in range(2)]
    return merged(*halves, single, 1)


def _merged(e, merge, a: Value, b: Value, low: list[int], distance: int) -> Value:
    """What is at some places of a and b together, and what is so far above these, merged."""
    parts = []
    for away in (0, distance):
        picks = ", ".join(f"i32 {n + away}" for n in low)
        name = e.instruction(
            f"shufflevector {a.text} {a.names[0]}, {b.text} {b.names[0]}, <{ROWS} x i32> <{picks}>"
        )
        parts.append(Value((name,), a.type, ROWS))
    return merge(*parts)
