"""Rows whose greatest number is guessed: by a few elements, and found only where that is no good.

In: a pipeline (row_pipeline.py) whose first stage finds maxima that are `guessed`
(fuse/guess_greatest.py). Out: `Guesses`: a guess before a row's second stage; after it, if a sum
that tells is too large, or no number, the greatest elements, and the second stage once more, by one
loop each, with the operations that any distance may have.

Elements are taken from all over a row, so that a mask at its beginning or end leaves some. They are
elements: one exponential is 1, so that no sum is too small. Where these few differ by much already
(of lanes, or pairs, the greatest), a greater one may be far above them, and the row's greatest is
found at once: one more loop, instead of two and a sum for nothing. Columns that lie in one vector
are done again together, but keep guesses that were good.
"""

import math

from ..ir.scalar_ops import RAISED
from . import reduce
from .accesses import operand
from .elementwise import llvm_type
from .instructions import Value

SAMPLES = 4  # vectors of a row
PAIRS = 16  # of elements of a column
# By which the greatest of lanes, or of pairs, may differ: of normal numbers of deviation 1 these do
# by 2.5 to 3.5; of deviation 4 one row of 1000 in 10,000 has an element 10 above 64 others.
# (With 12, an Emerald Rapids, one thread: softmax of columns of deviation 3, 128 x 2048, 1.26 of
# the time; of 5, which few guesses are good for, .93.)
WIDE = 16.0
# What a good guess leaves: an exponential of about 1, and none above that of log(16 n).
LEAST, MOST_ON_AVERAGE = 0.5, 16.0


class Guesses:
    """`pipeline` has the rows; `limits` are what its sums are at most."""

    def __init__(self, pipeline):
        self.pipeline, self.k, self.e = pipeline, pipeline.k, pipeline.k.e
        self.first, self.second = pipeline.stages[:2]
        self.telling = [n for n, r in enumerate(self.second.reductions) if r.tells is not None]
        self.limits: dict[int, tuple[Value, Value]] = {}

    def begin(self) -> None:
        """What is the same for all rows: the limits of the sums that tell."""
        e = self.e
        extent = operand(self.k.slotted.extents[self.second.loops[0].variable])
        for n in self.telling:
            r = self.second.reductions[n]
            type_, one = llvm_type(r.dtype), 2.0 ** (RAISED if "raised" in r.expr.op else 0)
            count = Value((e.instruction(f"sitofp i64 {extent} to {type_}"),), type_, 1)
            least = e.constant(type_, LEAST * one, 1)
            self.limits[n] = least, e.fmul(count, e.constant(type_, MOST_ON_AVERAGE * one, 1))

    def of(self, digits) -> dict:
        """A guess for each greatest number of a row; that number where a guess may be far off."""
        k, select = self.k, self.e.select
        self.pipeline._enter(0, digits, {})
        k._stage_of_fold = None  # lines are asked for by the stages that read all of a row
        self.spreads: list[Value] = []
        take = self._take_vectors if k.lane == "stage" else self._take_rows
        k._fold([(0, self.first)], take)
        guessed, k.values = self._unless_all_are_one(k.results), dict(self.pipeline.base)
        is_wide = [self._is_wide(spread) for spread in self.spreads]

        def exact(_, carried):
            found = self.pipeline._alone(0, digits, {})
            return [
                select(wide, found[0, n], old)
                for n, (wide, old) in enumerate(zip(is_wide, carried, strict=True))
            ]

        count = self.e.instruction(f"zext i1 {self._any(is_wide)} to i64")
        carried = [guessed[0, n] for n in range(len(is_wide))]
        carried = k.loop("0", count, "1", carried, exact, "wide")
        return {(0, n): value for n, value in enumerate(carried)}

    def _unless_all_are_one(self, guessed) -> dict:
        """No guess for columns that may be of one number, which is not 0, where exponentials are
        kept that are not of distances: none of them were 1, nor their shares 1/n."""
        e, key = self.e, (0, 0)
        if not self._keeps_near():
            return guessed
        number, none = guessed[key], e.like(guessed[key], -math.inf)
        is_one = e.and_(e.fcmp("oeq", self.spreads[0], e.like(number, 0.0)),
                        e.fcmp("une", number, e.like(number, 0.0)))  # fmt: skip
        return guessed | {key: e.select(is_one, none, number)}

    def _keeps_near(self) -> bool:
        """Whether exponentials are kept that are not of distances (fuse/raise_shares.py)."""
        return any(r.expr.op == "exp_raised_kept_near" for r in self.second.reductions)

    def _is_wide(self, spread) -> Value:
        """Whether elements differ by much, or some are no numbers: of a row, or of each column."""
        wide = self.e.fcmp("ugt", spread, self.e.like(spread, WIDE))
        return wide if self.k.lane == "row" else Value((self._any([wide]),), "i1", 1)

    def samples(self):
        """Binds, one after the other, the vectors of a row that a guess is taken from."""
        k, e = self.k, self.e
        variable = self.first.loops[0].variable
        extent = operand(k.slotted.extents[variable])
        e.copies, base = 1, dict(k.values)
        for number in range(SAMPLES):
            at = e.instruction(f"mul i64 {extent}, {number}")
            k.bind_vector(variable, e.instruction(f"udiv i64 {at}, {SAMPLES}"), None)
            yield
            k.values = dict(base)
        k.vector_variable = None

    def sampled(self, accumulators) -> list[Value]:
        """Of the row that is bound a vector at the beginning of each quarter: the greatest of each
        lane."""
        found = [Value(v.names[:1], v.type, v.lanes) for v in accumulators]
        for _ in self.samples():
            found = self.k._stage_body(0, self.first, 0, found)
        return found

    def _take_vectors(self, accumulators):
        """The greatest of each lane, and how far below the greatest of all it is."""
        e, found = self.e, self.sampled(accumulators)
        for greatest in self._greatest(found):
            most = greatest
            while most.lanes > 1:
                most = e.fast_max(*[reduce.half(e, most, side) for side in (0, 1)])
            self.spreads.append(e.fsub(e.splat(most, greatest.lanes), greatest))
        return found

    def _take_rows(self, accumulators):
        """Rows in pairs, half the columns' length apart: the greatest of each pair."""
        k, e = self.k, self.e
        variable = self.first.loops[0].variable
        extent = operand(k.slotted.extents[variable])
        e.declare("declare i64 @llvm.smax.i64(i64, i64)")
        half = e.instruction(f"lshr i64 {extent}, 1")
        apart = e.instruction(f"udiv i64 {half}, {PAIRS}")
        step = e.instruction(f"call i64 @llvm.smax.i64(i64 {apart}, i64 1)")
        high = [Value((e.like(v, math.inf).names[0],) * e.copies, v.type, v.lanes)
                for v in self._greatest(accumulators)]  # fmt: skip

        def pair(index, carried):
            found, other = list(accumulators), e.instruction(f"add i64 {index}, {half}")
            for at in (index, other):
                base = dict(k.values)
                k.scalars[variable] = at
                found = k._stage_body(0, self.first, 0, found)
                k.values = base
            lows = [
                e.fast_min(low, value)
                for low, value in zip(carried[-len(high) :], self._greatest(found), strict=True)
            ]
            return [*self._merged(carried[: -len(high)], found), *lows]

        carried = k.loop("0", half, step, [*accumulators, *high], pair, "guess")
        found, lows = carried[: -len(high)], carried[-len(high) :]
        most = self._greatest(found)
        self.spreads = [e.fsub(a, b) for a, b in zip(most, lows, strict=True)]
        return found

    def _greatest(self, accumulators) -> list[Value]:
        """Of the first stage's accumulators the numbers, without flags."""
        widths = [reduce.width(r) for r in self.first.reductions]
        return [accumulators[sum(widths[:n])] for n in range(len(widths))]

    def _merged(self, some, others) -> list[Value]:
        found, at = [], 0
        for r in self.first.reductions:
            end = at + reduce.width(r)
            found += reduce.merged(self.e, r, some[at:end], others[at:end])
            at = end
        return found

    def checked(self, row, waiting, new) -> tuple[dict, dict]:
        """What waits, and the second stage's results for a row, both right for a guess that was no
        good, too."""
        k, select = self.k, self.e.select
        guesses = [(0, n, 1) for n in range(len(self.first.reductions))]
        sums = [(1, n) for n in range(len(self.second.reductions))]
        new = new | {
            (1, n): self.e.fmul(new[1, n], k.near[r.expr.args[1].id][1])
            for n, r in enumerate(self.second.reductions) if r.expr.op == "exp_raised_near"
        }  # fmt: skip
        bad = {self.second.reductions[n].tells: self.is_off(n, new[1, n]) for n in self.telling}

        def again(_, carried):
            k.near, k.plain = None, True
            k.redone = bad[0] if self._keeps_near() else None
            old = dict(zip([*guesses, *sums], carried, strict=True))
            exact = self.pipeline._alone(0, row, {})
            taken = {(0, n): select(bad[n], exact[0, n], old[0, n, 1]) for _, n, _ in guesses}
            found = self.pipeline._alone(1, row, taken)
            k.plain, k.redone = False, None
            of_row = [bad[self._told_by(n)] for _, n in sums]
            chosen = [select(b, found[key], old[key]) for b, key in zip(of_row, sums, strict=True)]
            return [*taken.values(), *chosen]

        carried = [*[waiting[key] for key in guesses], *[new[key] for key in sums]]
        count = self.e.instruction(f"zext i1 {self._any(bad.values())} to i64")
        carried = k.loop("0", count, "1", carried, again, "again")
        known = dict(zip([*guesses, *sums], carried, strict=True))
        waiting = waiting | {key: known[key] for key in guesses}
        return waiting, new | {key: known[key] for key in sums}

    def _told_by(self, n: int) -> int:
        """The guess that a sum depends on: the only one, or, of two rows side by side, that of
        the sum's row."""
        return n * len(self.first.reductions) // len(self.second.reductions)

    def is_off(self, n, total) -> Value:
        """Where a sum is outside its limits, or no number."""
        least, most = [self.e.splat(limit, total.lanes) for limit in self.limits[n]]
        return self.e.or_(self.e.fcmp("ult", total, least), self.e.fcmp("ugt", total, most))

    def _any(self, flags) -> str:
        """Whether any of some flags holds, in any lane of any copy."""
        e, names = self.e, []
        for flag in flags:
            text, found = flag.text, flag.names[0]
            for name in flag.names[1:]:
                found = e.instruction(f"or {text} {found}, {name}")
            if flag.lanes > 1:
                bits = e.instruction(f"bitcast {text} {found} to i{flag.lanes}")
                found = e.instruction(f"icmp ne i{flag.lanes} {bits}, 0")
            names.append(found)
        found = names[0]
        for name in names[1:]:
            found = e.instruction(f"or i1 {found}, {name}")
        return found
