"""Loops around vectors: whole ones side by side, then what is left under a mask.

In: a kernel emitter with `e`, `kernel`, `lanes` and `values`; what a turn does, as a function that
takes and returns the carried values. Out: the loops' blocks. `VectorLoops` is the part of
`KernelEmitter` that knows how often code is repeated.

[Note: tails] Vector loops run unmasked in steps of copies × lanes and then masked, one vector at a
time; small kernels are masked throughout, which halves the code to compile.
"""

from . import memory, row_squares, sweep
from .instructions import Value

# Unrolled copies by the cost of one iteration: light bodies need several to cover latencies, heavy
# ones overlap well enough in the reorder buffer and would only lengthen the compile.
COPIES_BY_COST = ((14, 4), (150, 2))
# A Zen 3 looks some 130 operations on vectors ahead: of a chain of 60 that is not enough work for
# its units unless four vectors go side by side (float32, one thread, cycles a vector: erf 17.7 to
# 14.2, log1p 16.4 to 14.3, softplus 35 to 26; to compile, a fifth longer).
COPIES_OF_AVX2 = ((100, 4), (150, 2))


class VectorLoops:
    """Needs `e`, `kernel`, `slotted`, `used`, `homes`, `lane`, `lanes`, `values` and `scalars`."""

    def loop(self, low, high, step, carried, body, label):
        """for (i = low; i < high; i += step); `body(i, carried)` returns the carried values."""
        e = self.e
        head, inside, done = (e.fresh_label(f"{label}.{part}") for part in ("head", "body", "done"))
        before = e.block
        e.emit_raw(f"  br label %{head}")
        e.begin_block(head)
        index, following = e.fresh(), e.fresh()
        e.emit_raw(f"  {index} = phi i64 [ {low}, %{before} ], [ {following}, %{inside}.latch ]")
        phis, slots = [], []
        for value in carried:
            names = tuple(e.fresh() for _ in value.names)
            slots.append((len(e.lines), names, value))
            e.lines.extend([""] * len(names))
            phis.append(Value(names, value.type, value.lanes))
        test = e.fresh()
        e.emit_raw(f"  {test} = icmp slt i64 {index}, {high}")
        e.emit_raw(f"  br i1 {test}, label %{inside}, label %{done}")
        memo, values, squares = dict(e._memory), dict(self.values), dict(self.squares)
        e.begin_block(inside)
        results = body(index, phis)
        e.emit_raw(f"  br label %{inside}.latch")
        e.begin_block(f"{inside}.latch")
        e.emit_raw(f"  {following} = add i64 {index}, {step}")
        e.emit_raw(f"  br label %{head}")
        e._memory, self.values, self.squares = memo, values, squares
        for (line, names, start), result in zip(slots, results, strict=True):
            for k, name in enumerate(names):
                ended = result.names[k if len(result.names) > 1 else 0]
                e.lines[line + k] = (
                    f"  {name} = phi {start.text} [ {start.names[k]}, %{before} ], "
                    f"[ {ended}, %{inside}.latch ]"
                )
        e.begin_block(done)
        return phis

    def _vector_loop(self, variable, low, high, carried, body):
        """Runs `body(carried) -> carried` along a vector loop; see [Note: tails]."""
        e, lanes = self.e, self.lanes
        copies = self._copies()
        k = self.kernel
        whole = k.stream or k.pairs is not None or k.sweep or k.pipelined
        masked_only = k.small or (copies == 1 and not whole)
        if not masked_only:
            limit, span = e.fresh(), lanes * copies
            e.emit_raw(f"  {limit} = sub i64 {high}, {span - 1}")

            def full(index, accumulators):
                self.bind_vector(variable, index, None)
                return body(accumulators)

            e.copies = copies
            carried = self.loop(low, limit, span, carried, full, "full")
            low = self._advance(low, high, span)
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
            self.bind_vector(variable, index, high)
            return body(accumulators)

        result = self.loop(low, high, lanes, folded, masked, "tail")
        self.mask = None
        self.vector_variable = None
        return result

    def bind_vector(self, variable, index, high) -> None:
        e = self.e
        self.vector_variable = variable
        self.scalars[variable] = index
        self.mask = None
        self.loaded, self.squares = {}, {}
        if high is None:
            return
        self.left = left = e.fresh()
        e.emit_raw(f"  {left} = sub i64 {high}, {index}")
        self.mask = memory.first_lanes(e, left, self.lanes)

    def _copies(self) -> int:
        if self.kernel.small or self.lane == "none":
            return 1
        if self.kernel.beside or any(self._is_row_square(x) for x in self.used):
            return 1
        if self.kernel.turned:
            return min(self.copies_for(self.used), self.kernel.copies)
        if self.kernel.saved and self.lane == "row":
            return self.kernel.copies
        if self.kernel.tile is not None:
            return min(self.copies_for(self.used), self.kernel.tile.side // self.lanes)
        if self.kernel.sweep:
            return sweep.copies(self)
        return self.copies_for(self.used)

    def _is_row_square(self, x) -> bool:
        """Whether a load is of rows that are transposed: a vector of them is much already."""
        if x.op != "load" or x.args or self.lane != "row":
            return False
        steps = dict(self.slotted.affines[x.attrs[1]][1])
        step = steps.get(self.kernel.rows[-1].variable, "")
        return step.isdigit() and int(step) > row_squares.PICKED

    def copies_for(self, expressions) -> int:
        """Unrolled copies of a loop over these expressions (those outside of it do not count)."""
        once = {id(x) for home in ("entry", "outer") for x in self.homes.get(home, ())}
        inner = [x for x in expressions if id(x) not in once and x.op not in ("const", "param")]
        cost = len(inner) + sum(
            max(0, min(40, x.cost - sum(a.cost for a in x.args)) - 1) for x in inner
        )
        narrow = self.e.target.avx2 and not self.e.target.avx512
        for limit, copies in COPIES_OF_AVX2 if narrow else COPIES_BY_COST:
            if cost <= limit:
                return copies
        return 1
