"""Loops around vectors: whole ones side by side, then what is left under a mask.

In: a kernel emitter with `e`, `kernel`, `lanes` and `values`; what a turn does, as a function that
takes and returns the carried values. Out: the loops' blocks. `VectorLoops` is the part of
`KernelEmitter` that knows how often code is repeated.

[Note: tails] Vector loops run unmasked in steps of copies × lanes and then masked, one vector at a
time; small kernels are masked throughout, which halves the code to compile. Where that is little
and masks are dear, they are not (2 x + 1 of 1000 numbers, called by itself: a Zen 1 takes 2.4 us
with masks, 1.0 without; to compile 3.1 and 4.3 ms).
"""

from functools import partial
from typing import NamedTuple

from ..fuse.kernel import SHORT_STRIDE
from ..fuse.number_slots import lane_loops
from ..fuse.short_rows import shuffles_of
from . import memory, row_squares, staggered_loop, sweep
from .instructions import Value
from .lift_addresses import Stepped, lift_addresses
from .loop_parts import FOUR_A_CYCLE, USUAL, find_parts
from .rolled_loop import can_roll, write_rolled
from .staggered_loop import Bounds

# Unrolled copies by the cost of one iteration: light bodies need several to cover latencies, heavy
# ones overlap well enough in the reorder buffer and would only lengthen the compile. Copies are
# powers of two: whole turns end where the low bits of a length are cleared.
COPIES_BY_COST = ((14, 4), (150, 2))
# A Zen 3 looks some 130 operations on vectors ahead: of a chain of 60 that is not enough work for
# its units unless four vectors go side by side (float32, one thread, cycles a vector: erf 17.7 to
# 14.2, log1p 16.4 to 14.3, softplus 35 to 26; to compile, a fifth longer).
COPIES_OF_AVX2 = ((100, 4), (150, 2))
# Bfloats are rounded after each operation, which takes four instructions that wait for one another
# two cycles each on a Zen 5 (cycles a vector: gelu 30.5 to 25).
COPIES_OF_BFLOATS = ((60, 4), (150, 2))
# Loops that wait for a long operation of each turn go on meanwhile in other vectors (one thread, by
# turns, a Zen 5: x + exp(-x) .59 of the time of two vectors, Kepler's problem .60, pendula .78; six
# exponentials that need not wait for one another 1.1).
MANY_LOOPS, LONG_OPERATION, FEW_LONG = 4, 10, 3
SHUFFLES, SHUFFLES_OF_AVX2 = 2, 4  # so many cost as much as one operation
MOST_TWICE = 25  # operations of a small kernel that are written with and without masks


class Turn(NamedTuple):
    """A turn of a loop that is not written yet: labels (before it, of its body, after the loop),
    its index, what is carried when it begins, the lines before the loop and its own, and of each
    name in what is carried its type, what it is before the first turn and what at a turn's end."""

    labels: list[str]
    index: str
    phis: list[Value]
    before: list[str]
    lines: list[str]
    carried: dict[str, tuple[str, str, str]]


class VectorLoops:
    """Needs `e`, `kernel`, `slotted`, `used`, `homes`, `lane`, `lanes`, `values` and `scalars`."""

    def loop(self, low, high, step, carried, body, label):
        """for (i = low; i < high; i += step); `body(i, carried)` returns the carried values."""
        return self._write(self._turn(carried, body, label), Bounds(low, high, step))

    def staggered(self, bounds, carried, body, label, many=False):
        """As `loop`, by turns that overlap where that gains (staggered_loop.py). (Carried values,
        index after the loop, None for that of `_advance`.) Of fewer turns than there are parts it
        does none, unless there are known to be `many`."""
        turn = self._turn(carried, body, label)
        parts = self._parts_of(turn) if self.e.target.avx512 else None
        if parts is None:
            return self._write(turn, bounds), None
        self.e.lines += turn.before
        write = staggered_loop.write if many else staggered_loop.write_if_many
        if self.kernel.rolled and can_roll(parts):
            write = partial(write, write=write_rolled)
        last, end = write(self.e, parts, bounds, turn.carried, turn.labels)
        return [Value(tuple(last[n] for n in v.names), v.type, v.lanes) for v in turn.phis], end

    def _parts_of(self, turn: Turn):
        """Elements by themselves gain by three parts (exp, gelu, softplus a tenth, float32), and
        not where two are all that registers hold (elu 13.9 to 15.2 cycles a vector, asinh 33 to
        35)."""
        least = 2 if self.kernel.pipelined else 3
        most = FOUR_A_CYCLE if self.e.target.vectors_a_cycle >= 4 else USUAL
        ends = {name: end for name, (_, _, end) in turn.carried.items()}
        return find_parts(turn.lines, turn.index, ends, least, most)

    def _turn(self, carried, body, label) -> Turn:
        """A turn of a loop, of which nothing is written yet."""
        e = self.e
        labels = [e.fresh_label(f"{label}.{part}") for part in ("head", "body", "done")]
        index = e.fresh()
        phis = [Value(tuple(e.fresh() for _ in v.names), v.type, v.lanes) for v in carried]
        memo, values, columns = dict(e._memory), dict(self.values), dict(self.short_rows_read)
        before, outer, e.lines, e.block = e.block, e.lines, [], labels[1]
        of_outer, self.before_turns = self.before_turns, ([], memo)
        results = body(index, phis)
        lines, e.lines, e.block = e.lines, outer, before
        (first, _), self.before_turns = self.before_turns, of_outer
        e._memory, self.values, self.short_rows_read = memo, values, columns
        names = {
            name: (start.text, start.names[k], result.names[k if len(result.names) > 1 else 0])
            for phi, start, result in zip(phis, carried, results, strict=True)
            for k, name in enumerate(phi.names)
        }
        return Turn(labels, index, phis, first, lines, names)

    def before_the_turns(self, write):
        """What `write` emits, of nothing that the innermost loop computes, before that loop, where
        LLVM would not move it: its comparisons leave flags. (Its names are known after the loop,
        too, which it comes before.)"""
        if self.before_turns is None:
            return write()
        e, outer = self.e, (self.e.lines, self.e._memory)
        e.lines, e._memory = self.before_turns
        result = write()
        e.lines, e._memory = outer
        return result

    def _write(self, turn: Turn, bounds):
        """The loop of such turns; its carried values."""
        e = self.e
        head, inside, done = turn.labels
        before, following, test = e.block, e.fresh(), e.fresh()
        e.lines += turn.before
        lines, steps = self._lift(turn, bounds)
        e.lines += [f"  br label %{head}", f"{head}:"]
        carried = {turn.index: ("i64", bounds.low, following), **turn.carried}
        carried |= {name: ("i64", start, end) for name, (start, end, _) in steps.items()}
        for name, (type_, start, end) in carried.items():
            came = f"[ {start}, %{before} ], [ {end}, %{inside}.latch ]"
            e.emit_raw(f"  {name} = phi {type_} {came}")
        e.emit_raw(f"  {test} = icmp slt i64 {turn.index}, {bounds.high}")
        e.emit_raw(f"  br i1 {test}, label %{inside}, label %{done}")
        e.lines += [f"{inside}:", *lines, f"  br label %{inside}.latch", f"{inside}.latch:"]
        e.lines += [f"  {following} = add i64 {turn.index}, {bounds.step}"]
        e.lines += [f"  {end} = add i64 {name}, {by}" for name, (_, end, by) in steps.items()]
        e.lines += [f"  br label %{head}"]
        e.begin_block(done)
        return turn.phis

    def _lift(self, turn: Turn, bounds) -> tuple[list[str], dict]:
        """Writes the addresses that no turn changes; the lines that are left of a turn, and the
        steps of products that the loop carries, by name."""
        ends = {name: end for name, (_, _, end) in turn.carried.items()}
        before, lines, stepped = lift_addresses(turn.lines, turn.index, ends)
        self.e.lines += before
        return lines, {name: self._step_of(of, bounds) for name, of in stepped.items()}

    def _step_of(self, of: Stepped, bounds) -> tuple[str, str, str]:
        """What a value that is carried instead of a product begins with, what it is called at a
        turn's end, and what it goes on by."""
        e, factor = self.e, of.factor
        start, by = bounds.low, factor
        if start != "0":
            start = e.instruction(f"mul i64 {start}, {factor}")
        if of.added is not None:
            start = of.added if start == "0" else e.instruction(f"add i64 {start}, {of.added}")
        if str(bounds.step) != "1":
            by = e.instruction(f"mul i64 {factor}, {bounds.step}")
        return start, e.fresh(), by

    def _vector_loop(self, variable, low, high, carried, body):
        """Runs `body(carried) -> carried` along a vector loop; see [Note: tails]."""
        e, lanes = self.e, self.lanes
        copies = self._copies()
        k = self.kernel
        whole = k.stream or k.pairs is not None or k.sweep or k.pipelined
        # Each vector that is woven has a mask of its own (10,000 of 3 x 3 times vectors .76 of the
        # time without, their products .95).
        if self.e.target.has_dear_masks:
            whole = whole or self._shuffles(self.used) > 0
        masked_only = k.small or self.plain or (copies == 1 and not whole)
        if masked_only and self.e.target.has_dear_masks:
            masked_only = k.in_vectors or k.early or self._operations(self.used) > MOST_TWICE
        if not masked_only:
            limit, span = e.fresh(), lanes * copies
            e.emit_raw(f"  {limit} = sub i64 {high}, {span - 1}")

            def full(index, accumulators):
                self.bind_vector(variable, index, None)
                return body(accumulators)

            e.copies = copies
            bounds = Bounds(low, limit, span)
            if k.pipelined or k.staggered:
                carried, end = self.staggered(bounds, carried, full, "full")
            else:
                carried, end = self.loop(*bounds, carried, full, "full"), None
            low = end or self._advance(low, high, span)
        return self._tail(variable, low, high, carried, body, masked_only)

    def masked_loop(self, variable, low, high, emit=None) -> None:
        """The whole row's expressions over [low, high), one masked vector at a time; `emit` writes
        them if something is known of them."""
        emit = emit or self._row
        if self.kernel.stream and not self.e.target.avx512:  # lines, which are several vectors
            limit = self.e.instruction(f"sub i64 {high}, {self.lanes - 1}")

            def whole(index, _):
                self.bind_vector(variable, index, None)
                return emit() or []

            self.e.copies, self.at_row_end = 1, True  # the row may begin within a vector
            self.loop(low, limit, self.lanes, [], whole, "whole")
            self.at_row_end = False
            low = self._advance(low, high, self.lanes)
        self._tail(variable, low, high, [], lambda carried: emit() or [], True)

    def _advance(self, low, high, span):
        """Where the unmasked loop stopped: low + (high - low) / span * span."""
        assert span & (span - 1) == 0, "a number of copies that is no power of two"
        e = self.e
        length, whole, at = e.fresh(), e.fresh(), e.fresh()
        e.emit_raw(f"  {length} = sub i64 {high}, {low}")
        e.emit_raw(f"  {whole} = and i64 {length}, {-span}")
        e.emit_raw(f"  {at} = add i64 {low}, {whole}")
        return at

    def _tail(self, variable, low, high, carried, body, masked_only):
        e, lanes = self.e, self.lanes
        folded = carried
        if not masked_only and carried:
            folded = self._fold_carried(carried)
        e.copies = 1

        def masked(index, accumulators):
            if self.kernel.early:
                self._bind_early(variable, index, high)
            else:
                self.bind_vector(variable, index, None if self.kernel.in_vectors else high)
            return body(accumulators)

        self.at_row_end = True  # what goes past the caches begins where lines do
        result = self.loop(low, high, lanes, folded, masked, "tail")
        self.at_row_end, self.mask, self.anew = False, None, None
        self.vector_variable = None
        return result

    def _bind_early(self, variable, index, high) -> None:
        """The vector from `index` on, or the last whole one before `high`; which of its lanes no
        vector had before."""
        e = self.e
        e.declare("declare i64 @llvm.smin.i64(i64, i64)")
        last = e.instruction(f"sub i64 {high}, {self.lanes}")
        at = e.instruction(f"call i64 @llvm.smin.i64(i64 {index}, i64 {last})")
        self.bind_vector(variable, at, None)
        self.begun = index
        if self.lane == "stage":
            seen = e.instruction(f"trunc i64 {e.instruction(f'sub i64 {index}, {at}')} to i32")
            numbers = memory.lane_numbers(e, self.lanes, "i32")
            self.anew = e.icmp("sge", numbers, e.splat(Value((seen,), "i32", 1), self.lanes))

    def bind_vector(self, variable, index, high) -> None:
        e = self.e
        self.vector_variable = variable
        self.scalars[variable] = self.begun = index
        self.mask = None
        self.loaded, self.short_rows_read = {}, {}
        if high is None:
            return
        self.left = left = e.fresh()
        e.emit_raw(f"  {left} = sub i64 {high}, {index}")
        self.mask = memory.first_lanes(e, left, self.lanes)
        self.tail = self.mask, left

    def _copies(self) -> int:
        if self.kernel.small or self.lane == "none":
            return 1
        if self.kernel.beside or any(self._is_row_square(x) for x in self.used):
            return 1
        if self.kernel.turned:
            return min(self.copies_for(self.used), self.kernel.copies)
        decided = self.kernel.saved or self.kernel.pipelined and self.kernel.copies > 1
        if decided and self.lane == "row":
            return self.kernel.copies
        if self.kernel.tile is not None:
            return min(self.copies_for(self.used), self.kernel.tile.length // self.lanes)
        if self.kernel.sweep:
            return sweep.copies(self)
        return MANY_LOOPS if self._waits_for_itself() else self.copies_for(self.used)

    def _waits_for_itself(self) -> bool:
        """Whether loops with a state of their own have a long operation in each turn, few enough
        to wait for one another, and their states leave registers for the results of so many."""
        carried = [c for stage in self.kernel.stages for c in stage.carried]
        registers = 32 if self.e.target.avx512 else 16
        if not carried or MANY_LOOPS * len(carried) > registers * 3 // 4:
            return False
        costs = [x.cost - sum(a.cost for a in x.args) for x in self.used]
        return 0 < sum(cost >= LONG_OPERATION for cost in costs) <= FEW_LONG

    def _is_row_square(self, x) -> bool:
        """Whether a load is of rows that are transposed: a vector of them is much already."""
        if x.op != "load" or x.args or self.lane != "row":
            return False
        steps = dict(self.slotted.affines[x.attrs[1]][1])
        step = steps.get(self.kernel.rows[-1].variable, "")
        return step.isdigit() and int(step) > row_squares.PICKED

    def copies_for(self, expressions) -> int:
        """Unrolled copies of a loop over these expressions (those outside of it do not count)."""
        cost = self._operations(expressions)
        target = self.e.target
        limits = COPIES_OF_AVX2 if target.has_dear_masks else COPIES_BY_COST
        bfloats = any(x.dtype == "bf16" for x in expressions)
        if bfloats and target.vectors_a_cycle >= 4 and not self.kernel.pipelined:
            limits = COPIES_OF_BFLOATS
        for limit, copies in limits:
            if cost <= limit:
                return copies
        return 1

    def _operations(self, expressions) -> int:
        once = {id(x) for home in ("entry", "outer") for x in self.homes.get(home, ())}
        inner = [x for x in expressions if id(x) not in once and x.op not in ("const", "param")]
        return len(inner) + self._shuffles(inner) + sum(
            max(0, min(40, x.cost - sum(a.cost for a in x.args)) - 1) for x in inner
        )

    def _shuffles(self, inner) -> int:
        """Of what is read or written a short step apart (strided.py), a part: the units that pick
        are others than those that compute (rows of 7 over their norms, two vectors side by side
        instead of one .90 of the time; with AVX2 four instead of two .80). What is written further
        apart goes lane by lane."""
        along, ids = lane_loops(self.kernel), {id(x) for x in inner}
        stores = [s for stage in (self.kernel, *self.kernel.stages) for s in stage.stores]
        read = [x.attrs[1] for x in inner if x.op == "load"]
        written = _steps([s.position for s in stores if id(s.expr) in ids], along)
        short = [step for step in _steps(read, along) + written if 1 < step <= SHORT_STRIDE]
        apart = self.lanes * sum(step > SHORT_STRIDE for step in written)
        part = SHUFFLES_OF_AVX2 if self.e.target.has_dear_masks else SHUFFLES
        return sum(map(shuffles_of, short)) // part + apart


def _steps(places, along) -> list[int]:
    """How far apart places of neighbours in these loops lie."""
    return [abs(c) for _, terms in places for atom, c in terms if atom in along]
