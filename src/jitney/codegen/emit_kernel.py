"""Kernel -> LLVM IR text with explicit vectors.

In: a `SlottedKernel` (every size is a parameter slot) and a target. Out: the text of one module
with the function `k(ptr ptrs, ptr params, i64 lo, i64 hi)`: the one kernel ABI.

`[lo, hi)` counts pieces. With lane 'row' a piece is one setting of the outer row loops and one
chunk of the last row loop, along which the vectors run; with lane 'stage' a piece is one row and
vectors run along the last loop of each stage. An expression is emitted in the outermost loop that
binds all its variables, so whatever does not change in a loop is computed before it.
"""

import math
from functools import partial

from ..fuse.alike import parts_of
from ..fuse.kernel import Stream
from ..fuse.pieces import count_parameters
from ..fuse.schedule import lanes_of
from ..graph.graph import literal_value
from ..ir.target import CpuTarget
from . import (
    alike_rows,
    counted_rows,
    find_best,
    interior,
    memory,
    move_blocks,
    reduce,
    register_loop,
    row_pipeline,
    saved_rows,
    sweep,
    transpose,
)
from .accesses import Accesses, operand
from .elementwise import constant_of_bits, evaluate, extreme_of_number, llvm_type
from .emitter import Emitter
from .homes import atoms, find_homes
from .instructions import Value
from .math.exponential import Factored, near_factors, nearness, raised_factors
from .outline import Outliner
from .rolled_loop import SCRATCH
from .row_counters import RowCounters
from .turned_rows import TurnedRows
from .vector_loops import VectorLoops

_COSTLY = 10  # own cost of an operation of which one vector's values may not fit in the registers


def emit_kernel(slotted, used, target: CpuTarget, name="k") -> str:
    """The module's text."""
    return KernelEmitter(slotted, used, target).module(name)


def _literal(x) -> float | None:
    """A float that is a literal, but NaN and -0; 1 for those that are parameters: zeros and NaN
    stay in the code (`pull_views.is_structural`)."""
    if x.op != "const":
        return 1.0 if x.op == "param" else None
    number = float(literal_value(x.attrs[0], x.dtype))
    return None if number != number or (number == 0 and math.copysign(1, number) < 0) else number


class KernelEmitter(Accesses, VectorLoops):
    """State of one kernel's code generation."""

    def __init__(self, slotted, used, target):
        self.slotted = slotted
        self.kernel = slotted.kernel
        self.used = used
        self.by_id = {x.id: x for x in used}
        self.lane = self.kernel.lane
        self.lanes = 1 if self.lane == "none" else lanes_of(self.kernel, used, target)
        self.e = Emitter(target)
        alike = self.kernel.alike  # one of the elements stands for all
        once = used if alike is None else [p.of[0] for p in parts_of(alike)]
        self.outliner = Outliner(once, target)
        self.values: dict[int, Value] = {}
        self.results: dict = {}
        self.scalars: dict[int, str] = {}
        self.vector_variable: int | None = None
        self.begun: str | None = None  # where the present vector would begin, were it not `early`
        self.mask: Value | None = None
        self.tail: tuple = (None, None)  # the mask of a tail and its elements, once it has been one
        self.homes = find_homes(self.kernel, used)
        self.tiled: dict = {}
        self.columns: dict = {}  # of a tile that is direct: the present one, by what loads it
        self.turned = TurnedRows(self) if self.kernel.turned else None
        self.carry_values: list[Value] = []
        self.loaded: dict = {}  # vectors of this turn: (buffer, index) -> Value
        self.between: set = set()  # such places that only neighbours are read of (middle.py)
        self.row_before: dict = {}  # what the row before has loaded (joined_rows.py)
        self._columns_read: dict | None = None  # of short rows, the last one
        # columns of rows that were transposed (row_squares.py), vectors of short rows (strided.py)
        self.short_rows_read: dict = {}
        self.anew: Value | None = None  # lanes that no vector before had, where one begins early
        self.left: str | None = None  # rows (or elements) that are left for a masked vector
        self._down: int | None = None  # the loop that goes down the columns of a vector of rows
        self._stage_of_fold = None  # the stage whose loops are emitted
        self._folded: list = []  # the reductions whose accumulators are folded together
        self._starts: list[Value] = []  # what these begin with
        self._first_readers: dict = {}  # buffer -> the first stage that reads it
        self.begun_rows: dict = {}  # where rows that are swept begin (sweep.py)
        self.at_row_end = False  # where nothing is stored past the caches
        self.middle_ends: dict = {}  # of the parts of rows, where known before these (interior.py)
        self.asked_at_ends: list[dict] = []  # the conditions' values in vectors of both ends
        self.never_off: frozenset[int] = frozenset()  # conditions some lane meets (middle.py)
        self.off_beyond: frozenset[int] = frozenset()  # those off beyond the row's end alone
        self.beside: dict = {}  # vectors of loads and what is beside them (whole_rows.py)
        self.down_swept: int | None = None  # the loop that goes down them
        self.plain = False  # whether loops take one vector at a time, under a mask
        self.is_guessed = False  # whether what stages have found is a guess (guessed_rows.py)
        self.redone = None  # which columns are done again, if not all save anew (guessed_rows.py)
        self.before_turns: tuple[list[str], dict] | None = None  # lines before a loop, known names
        self.near: dict | None = None  # of guessed numbers (exponential.nearness)
        self.saved_at: dict[int, str] = {}  # where rows lie that are saved (saved_rows.py)
        self.saved_steps: dict[int, str] = {}  # from one of two such rows to the other

    def _atoms(self, x):
        return atoms(x, self.by_id)

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
        for i in range(len(self.slotted.values) + count_parameters(self.kernel)):
            if i in self._float_slots():
                continue
            e.emit_raw(f"  %sp{i} = getelementptr i64, ptr %params, i64 {i}")
            e.emit_raw(f"  %s{i} = load i64, ptr %sp{i}")
        if self.kernel.rolled:
            e.emit_raw(f"  {SCRATCH} = alloca [512 x i8], align 64")
        saved_rows.allocate(self)
        if self.kernel.tile is not None and not self.kernel.tile.direct:
            transpose.allocate_tiles(self)
        if self.kernel.sweep:
            sweep.allocate_accumulators(self)
        if self.turned is not None:
            self.turned.allocate()
        self._emit_home("entry")
        self._emit_pieces()
        return e.lines

    def _float_slots(self):
        return {int(slot[1:]) for slot in self.slotted.params.values()}

    # ------------------------------------------------------------------ loops
    def _emit_pieces(self) -> None:
        """The loop over [lo, hi)."""
        if self.kernel.tile is not None:
            self.loop("%lo", "%hi", "1", [], partial(transpose.emit_tiles, self), "piece")
        else:
            self._emit_rows()
        is_weak = self.e.target.triple.startswith("x86_64")  # elsewhere a release orders these, too
        if self.kernel.stream and is_weak:  # before another thread is told that the result is there
            self.e.declare("declare void @llvm.x86.sse.sfence()")
            self.e.emit_raw("  call void @llvm.x86.sse.sfence()")

    def _emit_rows(self) -> None:
        by_chunks = self.lane == "row"
        rows = self.kernel.rows[:-1] if by_chunks else self.kernel.rows
        counters = RowCounters(self, rows, by_chunks)
        if self.kernel.pipelined and not by_chunks:
            row_pipeline.emit_rows(self, counters)
            return
        if self.kernel.counted:
            counted_rows.emit_rows(self)
            return
        if self.kernel.pipelined and not rows:  # pieces that follow one another (pieces.py)
            self._emit_chunk("%lo", "%hi")
            return

        def piece(number, digits):
            chunk = counters.bind(number, digits)
            following = counters.following(digits)
            if by_chunks:
                self._emit_chunk(chunk, self.e.instruction(f"add i64 {chunk}, 1"))
            else:
                self._row()
            return following

        self.loop("%lo", "%hi", "1", counters.first("%lo"), piece, "piece")

    def _emit_chunk(self, first, end) -> None:
        """Chunks [first, end) of the last row loop, in the row that the others say."""
        self._emit_home("outer")
        self.emit_part(self.kernel.rows[-1].variable, *self.chunk_ends(first, end))

    def chunk_ends(self, first, end) -> tuple[str, str]:
        """Where chunks [first, end) of the last row loop begin and end."""
        e = self.e
        length = f"%s{len(self.slotted.values)}"
        low, top = [e.instruction(f"mul i64 {number}, {length}") for number in (first, end)]
        extent = operand(self.slotted.extents[self.kernel.rows[-1].variable])
        e.declare("declare i64 @llvm.smin.i64(i64, i64)")
        return low, e.instruction(f"call i64 @llvm.smin.i64(i64 {top}, i64 {extent})")

    def emit_part(self, variable: int, low: str, high: str) -> None:
        """The elements [low, high) of a row."""
        kernel = self.kernel
        if kernel.alike is not None:
            alike_rows.emit_alike_rows(self, variable, low, high)
        elif kernel.blocks:
            move_blocks.emit_blocks(self, variable, low, high)
        elif kernel.borders or kernel.near or kernel.stream == Stream.PARTS:
            interior.emit_parts(self, variable, low, high)
        elif kernel.sweep:
            sweep.emit_sweep(self, variable, low, high)
        elif kernel.pipelined:
            row_pipeline.emit_columns(self, variable, low, high)
        else:
            self._vector_loop(variable, low, high, [], lambda carried: self._row() or [])

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

    # ------------------------------------------------------------------ rows and stages
    def _row(self) -> None:
        """Everything for one row (or one vector of rows)."""
        if self.turned is not None:
            self.turned.fill()
        self._emit_home(("row", 0))
        for s, stage in enumerate(self.kernel.stages):
            if stage.carried:
                register_loop.emit_register_loop(self, s, stage)
                continue
            self._stage(s, stage)
            self._emit_home(("row", s + 1))
        self.store_all(self.kernel.stores)
        if self.turned is not None:
            self.turned.empty()

    def _stage(self, s, stage) -> None:
        self._stage_of_fold = stage
        self._fold([(s, stage)], lambda starts: self._stage_loop(s, stage, 0, starts))

    def _fold(self, stages, loops) -> None:
        """The results of numbered stages whose accumulators `loops` takes, begun, and returns."""
        e, copies = self.e, self.e.copies
        for key, r, accumulator in self.accumulators(stages, loops):
            if self.lane == "stage":
                accumulator = reduce.fold_lanes(e, r, accumulator)
            self.results[key] = reduce.finish(e, r, accumulator)
        e.copies = copies

    def accumulators(self, stages, loops):
        """Yields (stage, number of a reduction), it, and its accumulator after the `loops`: where
        vectors go along rows one vector of lanes, for all copies."""
        e, along = self.e, self.lane == "stage"
        if along:
            e.copies = 1 if self.kernel.small or self.plain else self._copies()
        self._folded = [r for _, stage in stages for r in stage.reductions]
        self._starts = [v for r in self._folded for v in reduce.start(e, r, self.lanes)]
        finals = loops(self._starts)
        for s, stage in stages:
            for number, r in enumerate(stage.reductions):
                accumulator, finals = finals[: reduce.width(r)], finals[reduce.width(r) :]
                if along:
                    e.copies = len(accumulator[0].names)
                    accumulator = reduce.fold_copies(e, r, accumulator)
                    e.copies = 1
                yield (s, number), r, accumulator

    def _fold_carried(self, carried):
        """All copies of the accumulators into one, before the masked tail."""
        e, result, position = self.e, [], 0
        for r in self._folded:
            width = reduce.width(r)
            result.extend(reduce.fold_copies(e, r, carried[position : position + width]))
            position += width
        return result

    def _stage_loop(self, s, stage, depth, carried):
        loop = stage.loops[depth]
        low, high = self._stage_bounds(loop)
        if depth == len(stage.loops) - 1 and self.lane == "stage":
            body = partial(self._stage_body, s, stage, depth)
            if self.kernel.stream == Stream.PARTS and stage.stores:
                low = self._head(stage.stores[0], loop.variable, low, high, body)
            if any(r.by_blocks for r in stage.reductions):
                best = find_best.ByBlocks(self, loop.variable, partial(self._emit_home, (s, depth)))
                return best.find(low, high)
            folded = self._vector_loop(loop.variable, low, high, carried, body)
            return self._respread(folded, carried) if depth else folded

        def body(index, accumulators):
            self.scalars[loop.variable] = index
            if depth == len(stage.loops) - 1:
                self._down = loop.variable
                carried = self._stage_body(s, stage, depth, accumulators)
                self._down = None
                return carried
            self._emit_home((s, depth))
            return self._stage_loop(s, stage, depth + 1, accumulators)

        return self.loop(low, high, "1", carried, body, f"stage{s}")

    def _head(self, store, variable, low, high, body) -> str:
        """The elements before the first whole line of a row that is stored; where they end."""
        first = interior.aligned(self, store, variable, low, high)
        self._tail(variable, low, first, [], body, True)
        return first

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

    def _stage_body(self, s, stage, depth, accumulators):
        self._emit_home((s, depth))
        result = self.accumulated(stage, accumulators)
        self.leave(stage)
        return result

    def accumulated(self, stage, accumulators) -> list[Value]:
        """A stage's accumulators after the present elements."""
        mask = (self.anew or self.mask) if self.lane == "stage" else None
        pairs = "turns" if self.kernel.sweep else "copies" if self.lane == "stage" else None
        result, position = [], 0
        for r in stage.reductions:
            width = reduce.width(r)
            element = self.element_of(r)
            if isinstance(element, Factored):
                element = reduce.Product(element, element.second)
            if r.factor is not None:
                element = reduce.Product(element, self._as_lanes(self.values[r.factor.id]))
            where = self._position_of(r) if r.index is not None else None
            before = accumulators[position : position + width]
            result.extend(reduce.combine(self.e, r, before, element, where, mask, pairs))
            position += width
        return result

    def element_of(self, reduction) -> Value:
        """What a reduction has of the present elements, in all lanes."""
        return self._as_lanes(self.values[reduction.expr.id])

    def leave(self, stage) -> None:
        """What a stage saves and stores of the present elements."""
        for number, at, x in stage.saves:
            saved_rows.save(self, number, at, self._as_lanes(self.values[x.id]))
        self.store_all(stage.stores)

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
            return saved_rows.load(self, x)
        return self.operation(x, [self.values[a.id] for a in x.args])

    def operation(self, x, args: list[Value]) -> Value:
        """What an operation makes of these operands."""
        e, op = self.e, x.op
        if self.outliner.handles(x):
            return self.outliner.call(e, x, args)
        if op == "exp_raised_near":
            return self._near_exponential(x, *args)
        if op == "exp_raised_kept_near" and not self.is_guessed:  # may be far off, or large
            return evaluate(e, "exp_raised_kept_any", x.dtype, [x.dtype], [e.fsub(*args)])
        if op in ("exp_raised", "exp_raised_any"):  # which is only added (raise_exponentials.py)
            found = raised_factors(e, *args, falls=op == "exp_raised")
            return found or evaluate(e, op, x.dtype, [x.dtype], args)
        if op in ("max", "min") and x.dtype in ("f32", "f64"):
            numbers = [_literal(a) for a in x.args]
            limit = next((i for i, number in enumerate(numbers) if number is not None), None)
            if limit is not None:
                return extreme_of_number(e, op, args[1 - limit], args[limit], numbers[limit] == 0)
        return evaluate(e, op, x.dtype, [a.dtype for a in x.args], args)

    def _near_exponential(self, x, element, least) -> Value:
        """Of an element's distance from what was guessed, or is known (guess_greatest.py)."""
        if self.near is not None:
            return near_factors(self.e, element, self.near[x.args[1].id][0])
        return raised_factors(self.e, self.e.fsub(element, least))

    def know_near(self, x) -> None:
        """What a guessed number's exponentials need of it, in all lanes, and their sum: once a
        row."""
        high, undo = nearness(self.e, self.values[x.args[1].id])
        self.near = (self.near or {}) | {x.args[1].id: (self._as_lanes(high), undo)}

    def _parameter(self, x):
        e, slot = self.e, self.slotted.params[x.id][1:]
        type_ = memory.memory_type(x.dtype)
        address, name = e.fresh(), e.fresh()
        e.emit_raw(f"  {address} = getelementptr i64, ptr %params, i64 {slot}")
        e.emit_raw(f"  {name} = load {type_}, ptr {address}")
        value = Value((name,), type_, 1)
        return value if type_ == llvm_type(x.dtype) else e.bitcast(llvm_type(x.dtype), value)
