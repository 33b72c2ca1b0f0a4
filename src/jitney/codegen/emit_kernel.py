"""Kernel -> LLVM IR text with explicit vectors.

In: a `SlottedKernel` (every size is a parameter slot) and a target. Out: the text of one module
with the function `k(ptr ptrs, ptr params, i64 lo, i64 hi)`: the one kernel ABI.

`[lo, hi)` counts pieces. With lane 'row' a piece is one setting of the outer row loops and one
chunk of the last row loop, along which the vectors run; with lane 'stage' a piece is one row and
vectors run along the last loop of each stage. An expression is emitted in the outermost loop that
binds all its variables, so whatever does not change in a loop is computed before it.

[Note: tails] Vector loops run unmasked in steps of copies × lanes and then masked, one vector at a
time; small kernels are masked throughout, which halves the code to compile.
"""

import re

from ..fuse.kernel import Stream
from ..fuse.schedule import lanes_of
from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from . import (
    interior,
    memory,
    neighbours,
    prefetch,
    reduce,
    register_loop,
    strided,
    sweep,
    transpose,
)
from .elementwise import constant_of_bits, evaluate, llvm_type
from .emitter import Emitter, Value
from .outline import Outliner

# Unrolled copies by the cost of one iteration: light bodies need several to cover latencies, heavy
# ones overlap well enough in the reorder buffer and would only lengthen the compile.
COPIES_BY_COST = ((14, 4), (150, 2))
_COSTLY = 10  # own cost of an operation of which one vector's values may not fit in the registers
_NEAR = re.compile(r"(.+?)([+-]\d+)?")
_FLOATS = ("float", "double", "half", "bfloat")


def emit_kernel(slotted, used, target: CpuTarget, name="k") -> str:
    """The module's text."""
    return KernelEmitter(slotted, used, target).module(name)


class KernelEmitter:
    """State of one kernel's code generation."""

    def __init__(self, slotted, used, target):
        self.slotted = slotted
        self.kernel = slotted.kernel
        self.used = used
        self.by_id = {x.id: x for x in used}
        self.lane = self.kernel.lane
        self.lanes = 1 if self.lane == "none" else lanes_of(self.kernel, used, target)
        self.e = Emitter(target)
        self.outliner = Outliner(used, target)
        self.values: dict[int, Value] = {}
        self.results: dict = {}
        self.scalars: dict[int, str] = {}
        self.vector_variable: int | None = None
        self.mask: Value | None = None
        self.homes: dict = {}
        self.tiled: dict = {}
        self.carry_values: list[Value] = []
        self.loaded: dict = {}  # vectors of this turn: (buffer, index) -> Value
        self._down: int | None = None  # the loop that goes down the columns of a vector of rows
        self._find_homes()

    # ------------------------------------------------------------------ where things go
    def _find_homes(self) -> None:
        """homes[(stage, depth)] = expressions emitted there; stage -1: rows, by level -1 or after a
        stage; ('entry') for those that no loop changes."""
        kernel = self.kernel
        row_of = {lo.variable: i for i, lo in enumerate(kernel.rows)}
        place_of = {}
        for s, stage in enumerate(kernel.stages):
            for d, loop in enumerate(stage.loops):
                place_of[loop.variable] = (s, d)
        ready: dict[int, int] = {}
        for x in self.used:
            after = x.attrs[0] + 1 if x.op == "reduced" else 0
            for a in (*x.args, *self._atoms(x)):
                after = max(after, ready[a.id])
            ready[x.id] = after
            inner = [place_of[v] for v in x.variables if v in place_of]
            if inner:
                key = max(inner)
            elif after or (self.lane == "row" and self._is_varying_row(x)):
                key = ("row", after)
            elif x.variables:
                key = ("row", 0) if any(v in row_of for v in x.variables) else "entry"
                in_tile = kernel.tile is not None and kernel.tile.variable in x.variables
                if key != "entry" and self.lane == "row" and not in_tile:
                    key = "outer"
            else:
                key = "entry"
            self.homes.setdefault(key, []).append(x)

    def _is_varying_row(self, x) -> bool:
        return bool(self.kernel.rows) and self.kernel.rows[-1].variable in x.variables

    def _atoms(self, x):
        if x.op in ("load", "index", "saved"):
            return [self.by_id[-1 - atom] for atom, _ in x.attrs[-1][1] if atom < 0]
        return []

    # ------------------------------------------------------------------ module
    def module(self, name) -> str:
        body = self._function_body()
        e = self.e
        lines = [f'target triple = "{e.target.triple}"']
        lines += list({**e.declarations, **self.outliner.declarations})
        head = f"define void @{name}(ptr %ptrs, ptr %params, i64 %lo, i64 %hi)"
        lines.append(f"{head}{self._stack_alignment()} {{")
        lines.append("entry:")
        lines += body
        definitions = {**e.definitions, **self.outliner.definitions}
        lines += ["  ret void", "}", *self.outliner.texts, *definitions.values(), "!0 = !{i32 1}"]
        return "\n".join(lines)

    def _stack_alignment(self) -> str:
        """For bodies that may run out of registers: registers kept on the stack across two cache
        lines made the loop of tan (float64) take 2.4 ns an element or 1.2, as the caller's frame
        happened to lie."""
        whole = self.e.target.vector_bits // 8
        costly = any(x.cost - sum(a.cost for a in x.args) >= _COSTLY for x in self.used)
        return f" alignstack({whole})" if costly and self.lanes > 1 and whole > 16 else ""

    def _function_body(self):
        e = self.e
        e.emit_raw("  %safe_word = alloca i64")
        e.emit_raw("  store i64 0, ptr %safe_word")
        for i in range(len(self.kernel.buffers)):
            e.emit_raw(f"  %pp{i} = getelementptr ptr, ptr %ptrs, i64 {i}")
            e.emit_raw(f"  %b{i} = load ptr, ptr %pp{i}")
        for i in range(len(self.slotted.values) + 2):
            if i in self._float_slots():
                continue
            e.emit_raw(f"  %sp{i} = getelementptr i64, ptr %params, i64 {i}")
            e.emit_raw(f"  %s{i} = load i64, ptr %sp{i}")
        for number, (code, _) in enumerate(self.kernel.saved):
            self._allocate_saved(number, code)
        if self.kernel.tile is not None:
            transpose.allocate_tiles(self)
        if self.kernel.sweep:
            sweep.allocate_accumulators(self)
        self._emit_home("entry")
        self._emit_pieces()
        return e.lines

    def _float_slots(self):
        return {int(slot[1:]) for slot in self.slotted.params.values()}

    def _allocate_saved(self, number, code) -> None:
        e = self.e
        count = self.slotted.kernel.saved[number][1]
        del count
        extent = self._saved_extent(number)
        per = self.lanes * self._copies() if self.lane == "row" else 1
        pad = self.lanes * 4
        e.emit_raw(f"  %svn{number} = mul i64 {extent}, {per}")
        e.emit_raw(f"  %svm{number} = add i64 %svn{number}, {pad}")
        e.emit_raw(f"  %sv{number} = alloca {memory.memory_type(code)}, i64 %svm{number}, align 64")

    def _saved_extent(self, number):
        return operand(f"s{self._saved_slots()[number]}")

    def _saved_slots(self):
        """Slots of the saved rows' lengths: they follow the row loops' own (see number_slots)."""
        first = sum(1 + (lo.chunk_row is not None) for lo in self.kernel.rows)
        return [first + i for i in range(len(self.kernel.saved))]

    # ------------------------------------------------------------------ loops
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
        memo, values = dict(e._memory), dict(self.values)
        e.begin_block(inside)
        results = body(index, phis)
        e.emit_raw(f"  br label %{inside}.latch")
        e.begin_block(f"{inside}.latch")
        e.emit_raw(f"  {following} = add i64 {index}, {step}")
        e.emit_raw(f"  br label %{head}")
        e._memory, self.values = memo, values
        for (line, names, start), result in zip(slots, results, strict=True):
            for k, name in enumerate(names):
                ended = result.names[k if len(result.names) > 1 else 0]
                e.lines[line + k] = (
                    f"  {name} = phi {start.text} [ {start.names[k]}, %{before} ], "
                    f"[ {ended}, %{inside}.latch ]"
                )
        e.begin_block(done)
        return phis

    def _emit_pieces(self) -> None:
        """The loop over [lo, hi)."""
        self.loop("%lo", "%hi", "1", [], self._piece, "piece")
        if self.kernel.stream:  # before another thread is told that the result is there
            self.e.declare("declare void @llvm.x86.sse.sfence()")
            self.e.emit_raw("  call void @llvm.x86.sse.sfence()")

    def _piece(self, piece, _):
        kernel, e = self.kernel, self.e
        if kernel.tile is not None:
            transpose.emit_tiles(self, piece)
        elif self.lane == "row":
            outer, inner = kernel.rows[:-1], kernel.rows[-1]
            rest = piece
            count, chunk = f"%s{len(self.slotted.values) + 1}", f"%s{len(self.slotted.values)}"
            which, number = e.fresh(), e.fresh()
            e.emit_raw(f"  {which} = udiv i64 {rest}, {count}")
            e.emit_raw(f"  {number} = urem i64 {rest}, {count}")
            self._bind_rows(outer, number)
            self._emit_home("outer")
            low, top, high = e.fresh(), e.fresh(), e.fresh()
            extent = operand(self.slotted.extents[inner.variable])
            e.emit_raw(f"  {low} = mul i64 {which}, {chunk}")
            e.emit_raw(f"  {top} = add i64 {low}, {chunk}")
            e.emit_raw(f"  {high} = call i64 @llvm.smin.i64(i64 {top}, i64 {extent})")
            e.declare("declare i64 @llvm.smin.i64(i64, i64)")
            if kernel.borders or kernel.near or kernel.stream == Stream.PARTS:
                interior.emit_parts(self, inner.variable, low, high)
                return []
            if kernel.sweep:
                sweep.emit_sweep(self, inner.variable, low, high)
                return []
            self._vector_loop(inner.variable, low, high, [], lambda carried: self._row() or [])
        else:
            self._bind_rows(kernel.rows, piece)
            self._row()
        return []

    def _bind_rows(self, rows, number) -> None:
        e = self.e
        for i in range(len(rows) - 1, -1, -1):
            variable = rows[i].variable
            if i == 0:
                self.scalars[variable] = number
                break
            extent = operand(self.slotted.extents[variable])
            index, rest = e.fresh(), e.fresh()
            e.emit_raw(f"  {index} = urem i64 {number}, {extent}")
            e.emit_raw(f"  {rest} = udiv i64 {number}, {extent}")
            self.scalars[variable] = index
            number = rest

    def _vector_loop(self, variable, low, high, carried, body):
        """Runs `body(carried) -> carried` along a vector loop; see [Note: tails]."""
        e, lanes = self.e, self.lanes
        copies = self._copies()
        masked_only = self.kernel.small or (copies == 1 and not self.kernel.stream)
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
        self.loaded = {}
        if high is None:
            return
        left = e.fresh()
        e.emit_raw(f"  {left} = sub i64 {high}, {index}")
        self.mask = memory.first_lanes(e, left, self.lanes)

    def _copies(self) -> int:
        if self.kernel.small or self.lane == "none":
            return 1
        if self.kernel.saved and self.lane == "row":
            return self.kernel.copies
        if self.kernel.tile is not None:
            return min(self.copies_for(self.used), self.kernel.tile.side // self.lanes)
        if self.kernel.sweep:
            return sweep.copies(self)
        return self.copies_for(self.used)

    def copies_for(self, expressions) -> int:
        """Unrolled copies of a loop over these expressions (those outside of it do not count)."""
        once = {id(x) for home in ("entry", "outer") for x in self.homes.get(home, ())}
        inner = [x for x in expressions if id(x) not in once and x.op not in ("const", "param")]
        cost = len(inner) + sum(
            max(0, min(40, x.cost - sum(a.cost for a in x.args)) - 1) for x in inner
        )
        for limit, copies in COPIES_BY_COST:
            if cost <= limit:
                return copies
        return 1

    # ------------------------------------------------------------------ rows and stages
    def _row(self) -> None:
        """Everything for one row (or one vector of rows)."""
        self._emit_home(("row", 0))
        for s, stage in enumerate(self.kernel.stages):
            if stage.carried:
                register_loop.emit_register_loop(self, s, stage)
                continue
            self._stage(s, stage)
            self._emit_home(("row", s + 1))
        self.store_all(self.kernel.stores)

    def _stage(self, s, stage) -> None:
        e = self.e
        along = self.lane == "stage"
        copies = e.copies
        if along:
            e.copies = 1 if self.kernel.small else self._copies()
        starts = []
        for r in stage.reductions:
            starts.extend(reduce.start(e, r, self.lanes))
        self._stage_of_fold, self._starts = stage, starts
        finals = self._stage_loop(s, stage, 0, starts)
        position = 0
        for number, r in enumerate(stage.reductions):
            width = reduce.width(r)
            accumulator = finals[position : position + width]
            position += width
            if along:
                e.copies = len(accumulator[0].names)
                accumulator = reduce.fold_copies(e, r, accumulator)
                e.copies = 1
                accumulator = reduce.fold_lanes(e, r, accumulator)
            self.results[s, number] = reduce.finish(e, r, accumulator)
        e.copies = copies

    def _fold_carried(self, carried):
        """All copies of a stage's accumulators into one, before the masked tail."""
        e, result, position = self.e, [], 0
        for r in self._stage_of_fold.reductions:
            width = reduce.width(r)
            result.extend(reduce.fold_copies(e, r, carried[position : position + width]))
            position += width
        return result

    def _stage_loop(self, s, stage, depth, carried):
        loop = stage.loops[depth]
        low, high = self._stage_bounds(loop)
        if depth == len(stage.loops) - 1 and self.lane == "stage":
            folded = self._vector_loop(
                loop.variable, low, high, carried,
                lambda accumulators: self._stage_body(s, stage, accumulators, depth),
            )  # fmt: skip
            return self._respread(folded, carried) if depth else folded

        def body(index, accumulators):
            self.scalars[loop.variable] = index
            if depth == len(stage.loops) - 1:
                self._down = loop.variable
                carried = self._stage_body(s, stage, accumulators, depth)
                self._down = None
                return carried
            self._emit_home((s, depth))
            return self._stage_loop(s, stage, depth + 1, accumulators)

        return self.loop(low, high, "1", carried, body, f"stage{s}")

    def _respread(self, folded, carried):
        """Accumulators for the next turn of the loop around a vector loop whose tail has folded
        all copies into the first: the other copies start anew."""
        result = []
        for value, begun, neutral in zip(folded, carried, self._starts, strict=True):
            names = value.names + neutral.names[len(value.names) : len(begun.names)]
            result.append(Value(names, value.type, value.lanes))
        return result

    def _stage_bounds(self, loop):
        """Where a stage's loop begins and ends: all of it, or its row's share."""
        e = self.e
        extent = operand(self.slotted.extents[loop.variable])
        if loop.chunk_row is None:
            return "0", extent
        row = self.scalars[loop.chunk_row]
        chunk = operand(self.slotted.chunks[loop.variable])
        low, top, high = e.fresh(), e.fresh(), e.fresh()
        e.emit_raw(f"  {low} = mul i64 {row}, {chunk}")
        e.emit_raw(f"  {top} = add i64 {low}, {chunk}")
        e.emit_raw(f"  {high} = call i64 @llvm.smin.i64(i64 {top}, i64 {extent})")
        e.declare("declare i64 @llvm.smin.i64(i64, i64)")
        return low, high

    def _stage_body(self, s, stage, accumulators, depth):
        self._emit_home((s, depth))
        mask = self.mask if self.lane == "stage" else None
        pairs = "turns" if self.kernel.sweep else "copies" if self.lane == "stage" else None
        result, position = [], 0
        for r in stage.reductions:
            width = reduce.width(r)
            element = self._as_lanes(self.values[r.expr.id])
            where = self._position_of(r) if r.index is not None else None
            before = accumulators[position : position + width]
            result.extend(reduce.combine(self.e, r, before, element, where, mask, pairs))
            position += width
        for number, at, x in stage.saves:
            self._save(number, at, x)
        self.store_all(stage.stores)
        return result

    def _as_lanes(self, value):
        return self.e.splat(value, self.lanes) if value.lanes != self.lanes else value

    def _position_of(self, reduction):
        """What argmax counts, as wide as it is kept (a vector if it follows the vector loop)."""
        e, type_ = self.e, reduce.position_type(reduction)
        place = memory.settled(e, self._place(reduction.index))
        value = Value((place.base,), "i64", 1)
        if place.step is None and not place.vectors:
            value = value if type_ == "i64" else e.trunc_int(value, type_)
            return self._as_lanes(value) if self.lane != "none" else value
        if type_ == "i64" or place.step != "1" or place.vectors:
            value = e.binary("add", value, memory._offsets(e, place, self.lanes))
            return value if type_ == "i64" else e.trunc_int(value, type_)
        return e.binary("add", e.trunc_int(value, type_), memory.lane_numbers(e, self.lanes, type_))

    # ------------------------------------------------------------------ expressions
    def _emit_home(self, key) -> None:
        for x in self.homes.get(key, ()):
            self.values[x.id] = self._expression(x)

    def _expression(self, x) -> Value:
        e, op = self.e, x.op
        if op == "const":
            return constant_of_bits(e, x.dtype, x.attrs[0])
        if op == "param":
            return self._parameter(x)
        if op == "load":
            return self._load(x)
        if op == "index":
            return self._index(x)
        if op == "carry":
            return self.carry_values[x.attrs[0]]
        if op == "reduced":
            return self.results[x.attrs[0], x.attrs[1]]
        if op == "saved":
            return self._load_saved(x)
        args = [self.values[a.id] for a in x.args]
        if self.outliner.handles(x):
            return self.outliner.call(e, x, args)
        return evaluate(e, op, x.dtype, [a.dtype for a in x.args], args)

    def _parameter(self, x):
        e, slot = self.e, self.slotted.params[x.id][1:]
        type_ = memory.memory_type(x.dtype)
        address, name = e.fresh(), e.fresh()
        e.emit_raw(f"  {address} = getelementptr i64, ptr %params, i64 {slot}")
        e.emit_raw(f"  {name} = load {type_}, ptr {address}")
        value = Value((name,), type_, 1)
        return value if type_ == llvm_type(x.dtype) else e.bitcast(llvm_type(x.dtype), value)

    def _load(self, x):
        number, position = x.attrs
        if x.id in self.tiled:
            return transpose.load_row(self, x)
        mask = self.values[x.args[0].id] if x.args else None
        place = self._place(position)
        if place.step is not None or place.vectors:
            mask = self._with_tail(mask)
        code = self.kernel.buffers[number][0]
        down = self._stride_of_rows(position, place)
        if down is not None:
            rows = (self.kernel.jumps, prefetch.SECOND) if self.kernel.jumps else ()
            prefetch.prefetch_rows(self.e, code, f"%b{number}", place, down, self.lanes, *rows)
        if mask is None and position in self.kernel.near:
            value = neighbours.load(self, x, place)
            if value is not None:
                return value
        read = strided.load if self._is_strided(code, place) else memory.load
        value = read(self.e, code, f"%b{number}", place, self.lanes, mask, bool(x.args))
        if mask is None:
            self.loaded[number, position] = value
        return value

    def _stride_of_rows(self, position, place) -> str | None:
        """Where whole vectors of columns are reduced, or rows jump: how far apart the rows are that
        this load goes down, one in each turn of the innermost loop around the vectors."""
        down = self.kernel.rows[-2].variable if self.kernel.jumps else self._down
        if self.lane != "row" or self.mask is not None or down is None:
            return None
        stride = dict(self.slotted.affines[position][1]).get(down)
        return operand(stride) if stride is not None and place.step == "1" else None

    def _is_strided(self, code, place) -> bool:
        """Whether whole vectors are moved for a short stride (see strided.py)."""
        if place.vectors or place.step is None or place.step[0] == "%" or self.lanes == 1:
            return False
        target = self.e.target
        return int(place.step) > 1 and (target.avx512 or (target.avx2 and nbytes_of(code) >= 4))

    def _with_tail(self, mask):
        if self.mask is None or mask is None:
            return self.mask if mask is None else mask
        return self.e.binary("and", self._as_lanes(mask), self.mask)

    def _index(self, x):
        place = memory.settled(self.e, self._place(x.attrs[-1]))
        value = Value((place.base,), "i64", 1)
        if place.step is not None or place.vectors:
            value = self.e.binary("add", value, memory._offsets(self.e, place, self.lanes))
        return value

    def _place(self, position):
        """A `Place` for an affine index in the present loops."""
        e = self.e
        constant, terms = self.slotted.affines[position]
        step, skip, vectors = None, 0, []
        if any(atom == self.vector_variable and is_short_stride(c) for atom, c in terms) and (
            constant.isdigit()
        ):
            constant, skip = "0", int(constant)
        base = self._first_place(constant)
        for atom, coefficient in terms:
            factor = operand(coefficient)
            if atom >= 0:
                scalar = self.scalars[atom]
                if atom == self.vector_variable:
                    step = factor
            else:
                value = self.values[-1 - atom]
                if value.lanes != 1 or len(value.names) > 1:
                    vectors.append((factor, value))
                    continue
                scalar = value.names[0]
            product = scalar
            if factor != "1":
                product = e.instruction(f"mul i64 {scalar}, {factor}")
            base = product if base == "0" else e.instruction(f"add i64 {base}, {product}")
        return memory.Place(base, step, tuple(vectors), skip)

    def _first_place(self, constant: str) -> str:
        """The text of an index's constant as an operand: a number, a slot, or one's neighbour."""
        slot, distance = _NEAR.fullmatch(constant).groups()
        if distance is None:
            return operand(slot)
        return self.e.instruction(f"add i64 {operand(slot)}, {int(distance)}")

    def position_without(self, position, variable) -> tuple[str, str]:
        """An affine index where `variable` is zero, and the text of its coefficient."""
        before, self.vector_variable = (self.vector_variable, self.scalars.get(variable)), None
        self.scalars[variable] = "0"
        base = memory.settled(self.e, self._place(position)).base
        self.vector_variable, self.scalars[variable] = before
        return base, dict(self.slotted.affines[position][1])[variable]

    def zero_of(self, x) -> Value:
        """Zero of an expression's type, the same in all lanes."""
        type_ = llvm_type(x.dtype)
        return self.e.constant(type_, 0.0 if type_ in _FLOATS else 0, 1)

    def _saved_place(self, position):
        place = self._place(position)
        if self.lane != "row":
            return place, self.lanes
        e = self.e
        width = self.lanes * self._copies()
        base = e.instruction(f"mul i64 {place.base}, {width}")
        return memory.Place(base, "1", ()), self.lanes

    def _save(self, number, position, x) -> None:
        place, lanes = self._saved_place(position)
        code = self.kernel.saved[number][0]
        value = self._as_lanes(self.values[x.id])
        memory.store(self.e, code, f"%sv{number}", place, value, lanes)

    def _load_saved(self, x):
        number, position = x.attrs
        place, lanes = self._saved_place(position)
        return memory.load(self.e, self.kernel.saved[number][0], f"%sv{number}", place, lanes)

    def store_all(self, stores) -> None:
        """Stores, those that fill the places between one another together."""
        groups: dict = {}
        for store in stores:
            terms = self.slotted.affines[store.position][1]
            key = (store.buffer, store.position[1]) if store.mask is None and any(
                atom == self.vector_variable and is_short_stride(c) for atom, c in terms
            ) else id(store)
            groups.setdefault(key, []).append(store)
        for group in groups.values():
            if len(group) > 1:
                self._store_side_by_side(group)
            else:
                self._store(group[0])

    def _store_side_by_side(self, group) -> None:
        places = [self._place(store.position) for store in group]
        code = self.kernel.buffers[group[0].buffer][0]
        values = {p.skip: self.values[s.expr.id] for p, s in zip(places, group, strict=True)}
        if len(values) < len(group) or len({p.base for p in places}) > 1 or not self._is_strided(
            code, places[0]
        ):
            for store in group:
                self._store(store)
            return
        mask, pointer = self._with_tail(None), f"%b{group[0].buffer}"
        stream = self.kernel.stream and mask is None
        strided.store(self.e, code, pointer, places[0], values, self.lanes, mask, stream)

    def _store(self, store) -> None:
        place = self._place(store.position)
        code = self.kernel.buffers[store.buffer][0]
        mask = self.values[store.mask.id] if store.mask is not None else None
        if place.step is not None or place.vectors:
            mask = self._with_tail(mask)
        stream = self.kernel.stream and mask is None
        value = self.values[store.expr.id]
        pointer = f"%b{store.buffer}"
        if self._is_strided(code, place):
            strided.store(self.e, code, pointer, place, {place.skip: value}, self.lanes, mask)
            return
        memory.store(self.e, code, pointer, place, value, self.lanes, mask, stream)


def is_short_stride(text: str) -> bool:
    """Whether the text of a coefficient is a number above 1 (see `number_slots`)."""
    return text.isdigit() and int(text) > 1


def operand(text: str) -> str:
    """A slot name or an integer as an LLVM operand."""
    return f"%{text}" if text[0] == "s" else text
