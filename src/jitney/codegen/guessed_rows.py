"""Rows whose greatest number is guessed: by a few elements, and found only where that was no good.

In: a pipeline (row_pipeline.py) whose first stage finds maxima that are `guessed`
(fuse/guess_greatest.py). Out: `Guesses`: a guess before a row's second stage; after it, if a sum
that tells is too large, or no number, the greatest elements, and the second stage once more, by one
loop each, with the operations that any distance may have.

Elements are taken from all over a row, so that a mask at its beginning or end leaves some. They are
elements: one exponential is 1, so that no sum is too small. Columns that lie in one vector are done
again together, but keep guesses that were good.
"""

from ..ir.scalar_ops import RAISED
from .accesses import operand
from .elementwise import llvm_type
from .instructions import Value

SAMPLES = 4  # vectors of a row, or twice as many rows of columns
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
        """A guess for each greatest number of a row."""
        k = self.k
        self.pipeline._enter(0, digits, {})
        k._stage_of_fold = None  # lines are asked for by the stages that read all of a row
        take = self._take_vectors if k.lane == "stage" else self._take_rows
        k._fold([(0, self.first)], take)
        found, k.values = k.results, dict(self.pipeline.base)
        return found

    def _take_vectors(self, accumulators):
        """A vector at the beginning of each quarter of a row."""
        k, e = self.k, self.e
        variable = self.first.loops[0].variable
        extent = operand(k.slotted.extents[variable])
        e.copies, base = 1, dict(k.values)
        found = [Value(v.names[:1], v.type, v.lanes) for v in accumulators]
        for number in range(SAMPLES):
            at = e.instruction(f"mul i64 {extent}, {number}")
            k.bind_vector(variable, e.instruction(f"udiv i64 {at}, {SAMPLES}"), None)
            found = k._stage_body(0, self.first, 0, found)
            k.values = dict(base)
        k.vector_variable = None
        return found

    def _take_rows(self, accumulators):
        """Some rows of columns."""
        k, e = self.k, self.e
        variable = self.first.loops[0].variable
        extent = operand(k.slotted.extents[variable])
        e.declare("declare i64 @llvm.smax.i64(i64, i64)")
        apart = e.instruction(f"udiv i64 {extent}, {2 * SAMPLES}")
        step = e.instruction(f"call i64 @llvm.smax.i64(i64 {apart}, i64 1)")

        def row(index, accumulators):
            k.scalars[variable] = index
            return k._stage_body(0, self.first, 0, accumulators)

        return k.loop("0", extent, step, accumulators, row, "guess")

    def checked(self, row, waiting, new) -> tuple[dict, dict]:
        """What waits, and the second stage's results for a row, both right for a guess that was no
        good, too."""
        k, select = self.k, self.e.select
        guesses = [(0, n, 1) for n in range(len(self.first.reductions))]
        sums = [(1, n) for n in range(len(self.second.reductions))]
        bad = {self.second.reductions[n].tells: self._is_off(n, new[1, n]) for n in self.telling}

        def again(_, carried):
            k.near, k.plain = None, True
            old = dict(zip([*guesses, *sums], carried, strict=True))
            exact = self.pipeline._alone(0, row, {})
            taken = {(0, n): select(bad[n], exact[0, n], old[0, n, 1]) for _, n, _ in guesses}
            found = self.pipeline._alone(1, row, taken)
            k.plain = False
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

    def _is_off(self, n, total) -> Value:
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
