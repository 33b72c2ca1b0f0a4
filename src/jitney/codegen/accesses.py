"""What a kernel reads and writes: the places of its indices, and the loads and stores there.

In: expressions and stores whose loop variables and operands have values in the emitter. Out: their
instructions. `Accesses` is the half of `KernelEmitter` that knows memory; the other half has the
loops.
"""

from ..fuse.kernel import SHORT_AXIS
from ..ir.types import nbytes_of
from . import gather_lanes, memory, neighbours, prefetch, row_squares, strided, transpose
from .elementwise import llvm_type
from .instructions import Value

_FLOATS = ("float", "double", "half", "bfloat")
PICKED_UNDER_MASKS = 4  # the longest step of what is picked from whole vectors, and not gathered


class Accesses:
    """Needs `e`, `kernel`, `slotted`, `lane`, `lanes`, `scalars`, `values`, `mask` and the present
    `vector_variable`. `farthest`: the load ahead of which memory is asked for."""

    farthest: int | None = None

    def _load(self, x):
        number, position = x.attrs
        if x.id in self.columns:
            return self.columns[x.id]
        if x.id in self.tiled:
            return transpose.load_row(self, x)
        if self.turned is not None and x in self.turned:
            return self.turned.load(x)
        if self.row_before and not x.args and self.mask is None:
            known = self.row_before.get((number, self.kernel.again.places.get(position)))
            if known is not None:
                self.loaded[number, position] = known
                return known
        mask = self.values[x.args[0].id] if x.args else None
        pointer, place = self._source(number, position)
        if place.step is not None or place.vectors:
            mask = self._with_tail(mask)
        code = self.kernel.buffers[number][0]
        self._ask_ahead(x, code, pointer, place)
        if self.lane == "stage" and mask is None:
            self._ask_for_next_row(number, position, place)
        if self.beside:
            value = neighbours.from_beside(self, x, mask)
            if value is not None:
                return value
        if mask is None and position in self.kernel.near:
            value = neighbours.load(self, x, pointer, place)
            if value is not None:
                return value
        is_strided = self._is_strided(code, place, is_load=True)
        is_strided = is_strided and not (x.args and self._is_gathered(code, place))
        if is_strided and not x.args and row_squares.is_row(place, self.lanes):
            return row_squares.load(self, x, place)
        if is_strided:
            reach = 0
            if not x.args and int(place.step) > 0:
                reach = self._last_column(number, position)
            value = strided.load(
                self.e, code, pointer, place, self.lanes, mask, bool(x.args), reach,
                self.short_rows_read,
            )
        else:
            value = None
            is_gather = place.vectors or place.step not in (None, "1", "-1")
            is_end = mask is not None and not x.args  # of a row: seldom, and sooner compiled
            if is_gather and self.e.target.has_dear_masks and self.lanes > 1 and not is_end:
                value = gather_lanes.load(self, x, pointer, place, mask)
            guarded = bool(x.args) and x.args[0].id not in self.never_off
            value = value or memory.load(self.e, code, pointer, place, self.lanes, mask, guarded)
        if mask is None:
            self.loaded[number, position] = value
        return value

    def _last_column(self, number: int, position) -> int:
        """The last element of a short row that is read wherever this one is."""
        if self._columns_read is None:
            self._columns_read = {}
            for x in self.used:
                if x.op == "load" and not x.args:
                    constant, terms = self.slotted.affines[x.attrs[1]]
                    start, skip = memory.column_of(constant)
                    key = x.attrs[0], start, terms
                    self._columns_read[key] = max(skip, self._columns_read.get(key, 0))
        constant, terms = self.slotted.affines[position]
        start, skip = memory.column_of(constant)
        return max(skip, self._columns_read.get((number, start, terms), 0))

    def _source(self, number: int, position) -> tuple[str, memory.Place]:
        """What an index of a buffer is counted from, and the place there: the row's beginning, if
        that is known."""
        begun = self.begun_rows.get((number, position, self.scalars.get(self.down_swept)))
        if begun is None:
            return f"%b{number}", self._place(position)
        pointer, distance = begun
        base = memory._shifted(self.e, self.scalars[self.vector_variable], distance)
        return pointer, memory.Place(base, "1" if self.lanes > 1 else None, ())

    def _ask_ahead(self, x, code, pointer, place) -> None:
        """For what a load will read some rows, or bytes, later."""
        e, stride = self.e, self._stride_of_rows(x.attrs[1], place)
        if stride is not None and self.kernel.jumps:
            ahead = self._after_jumps(x.attrs[1], stride)
            prefetch.prefetch_ahead(
                e, code, pointer, place, ahead, self.lanes, prefetch.SECOND
            )
        elif stride is not None and not self.kernel.small:  # short rows follow one another
            ahead = self._rows_ahead(code, stride)
            prefetch.prefetch_ahead(e, code, pointer, place, ahead, self.lanes)
        if x.id == self.farthest and place.step == "1":
            ahead = str(prefetch.BYTES_AHEAD // nbytes_of(code))
            prefetch.prefetch_ahead(
                e, code, pointer, place, ahead, self.lanes, prefetch.SECOND
            )

    def _rows_ahead(self, code, stride) -> str:
        """How far ahead the rows are that a walk down columns asks for."""
        e, k = self.e, self.kernel
        extent = operand(self.slotted.extents[self._down])
        span = self.lanes * e.copies

        def distances():
            rows = str(prefetch.ROWS_AHEAD)
            if k.ahead:
                rows = prefetch.rows_ahead(e, code, stride, k.ahead)
            if k.pipelined and e.target.avx512:  # turns that overlap: nothing to wait for
                return e.instruction(f"mul i64 {stride}, {rows}")
            return prefetch.columns_ahead(e, stride, rows, extent, span)

        ahead = self.before_the_turns(distances)
        if isinstance(ahead, str):
            return ahead
        return prefetch.down_columns(e, ahead, self.scalars[self._down])

    def _after_jumps(self, position, stride) -> str:
        """How far ahead the run is that is read `jumps` rows later."""
        rows = self.kernel.rows
        beside = "0"
        if len(rows) > 2:
            beside = operand(dict(self.slotted.affines[position][1]).get(rows[-3].variable, "0"))
        down = rows[-2].variable
        extent, jumps = operand(self.slotted.extents[down]), str(self.kernel.jumps)
        ahead = self.before_the_turns(
            lambda: prefetch.columns_ahead(self.e, stride, jumps, extent, beside)
        )
        return prefetch.down_columns(self.e, ahead, self.scalars[down])

    def _stride_of_rows(self, position, place) -> str | None:
        """Where whole vectors of columns are reduced, or rows jump: how far apart the rows are that
        this load goes down, one in each turn of the innermost loop around the vectors."""
        down = self.kernel.rows[-2].variable if self.kernel.jumps else self._down
        if self.lane != "row" or self.mask is not None or down is None:
            return None
        stride = dict(self.slotted.affines[position][1]).get(down)
        return operand(stride) if stride is not None and place.step == "1" else None

    def _ask_for_next_row(self, number, position, place) -> None:
        """Where a stage reads what an earlier one has read, and so waits for no memory, it asks for
        the next row. Layer norms of 1024 x 1024 take 0.9 of the time, softmax .97. Rows that come
        from memory need more time to come (softmax of 8192 x 2048: .84 of the time if they are
        asked into the second cache)."""
        stage = self._stage_of_fold
        if stage is None or stage.is_part or not self.kernel.rows:
            return
        is_first = self._first_readers.setdefault(number, stage) is stage
        if is_first != self.kernel.pipelined:
            return
        pair = self.kernel.pairs
        atom = self.kernel.rows[-1].variable if pair is None else -1 - pair.id
        stride = dict(self.slotted.affines[position][1]).get(atom)
        if stride is not None and place.step == "1" and not place.vectors:
            code, rows = self.kernel.buffers[number][0], 1 if pair is None else 2
            level = prefetch.SECOND if self.kernel.stream else prefetch.NEAR
            extent = self.slotted.extents[stage.loops[-1].variable]
            in_lines = self.kernel.pipelined and pair is None and not self.kernel.stream

            def distance():
                row = self.e.instruction(f"mul i64 {operand(stride)}, {rows}")
                if not in_lines:
                    return row
                return prefetch.along_rows(self.e, code, operand(stride), operand(extent), row)

            ahead = self.before_the_turns(distance)
            prefetch.prefetch_ahead(
                self.e, code, f"%b{number}", place, ahead, self.lanes, level
            )

    def _is_strided(self, code, place, is_load=False) -> bool:
        """Whether whole vectors are moved for a short stride (see strided.py)."""
        if place.vectors or place.step is None or place.step[0] == "%" or self.lanes == 1:
            return False
        short = int(place.step) > 1 or (is_load and -SHORT_AXIS <= int(place.step) < -1)
        return short and self.e.target.moves_vectors(nbytes_of(code))

    def _is_gathered(self, code, place) -> bool:
        """Whether elements with a short stride that are read under masks of their own should rather
        be gathered: all vectors between them would be read for one element each, each under a mask
        that is made for it (differences of 2 x 6 x 100 x k, joined, whose axes are exchanged: k = 7
        9.7 to 6.1 us, 16 35 to 15, a quarter of the code; with AVX2 29 to 8, 63 to 20; k = 4 is
        level)."""
        return abs(int(place.step)) > PICKED_UNDER_MASKS and nbytes_of(code) >= 4

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
        if any(atom == self.vector_variable and is_short_stride(c) for atom, c in terms):
            constant, skip = memory.column_of(constant)
        base = self._first_place(constant)
        for atom, coefficient in terms:
            factor = operand(coefficient)
            if atom >= 0:
                scalar = self.scalars[atom]
                if atom == self.vector_variable and self.lanes > 1:
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
        slot, distance = memory.NEAR.fullmatch(constant).groups()
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

    def store_all(self, stores) -> None:
        """Stores, those that fill the places between one another together."""
        if self.kernel.beside:
            row_squares.store_columns(self, stores)
            return
        groups: dict = {}
        for store in stores:
            constant, terms = self.slotted.affines[store.position]
            is_short = store.mask is None and any(
                atom == self.vector_variable and is_short_stride(c) for atom, c in terms
            )
            place = (store.buffer, memory.column_of(constant)[0], terms)
            key = place if is_short else id(store)
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
        pointer = f"%b{group[0].buffer}"
        if row_squares.is_row(places[0], self.lanes):
            row_squares.store(self, code, pointer, places[0], values)
            return
        mask = self._with_tail(None)
        stream = self.kernel.stream and mask is None and not self.at_row_end
        strided.store(self.e, code, pointer, places[0], values, self.lanes, mask, stream)

    def _store(self, store) -> None:
        if self.turned is not None and store in self.turned:
            self.turned.store(store, self.values[store.expr.id])
            return
        pointer, place = self._source(store.buffer, store.position)
        code = self.kernel.buffers[store.buffer][0]
        if self.kernel.asks_for_results:
            self._ask_for_result(store, code, pointer, place)
        mask = self.values[store.mask.id] if store.mask is not None else None
        if place.step is not None or place.vectors:
            mask = self._with_tail(mask)
        stream = self.kernel.stream and mask is None and not self.at_row_end
        value = self.values[store.expr.id]
        if self._is_strided(code, place):
            strided.store(self.e, code, pointer, place, {place.skip: value}, self.lanes, mask)
            return
        whole = self._is_whole(mask)
        memory.store(self.e, code, pointer, place, value, self.lanes, mask, stream, whole)

    def _ask_for_result(self, store, code, pointer, place) -> None:
        """For the lines that this store will write some rows, or bytes, later."""
        # results of rows that jump follow one another
        stride = None if self.kernel.jumps else self._stride_of_rows(store.position, place)
        if stride is not None:
            ahead = self._rows_ahead(code, stride)
        elif place.step == "1" and self.mask is None and self.lanes > 1 and not self.at_row_end:
            ahead = str(prefetch.RESULTS_ALONG // nbytes_of(code))
        else:
            return
        prefetch.prefetch_ahead(self.e, code, pointer, place, ahead, self.lanes)

    def _is_whole(self, mask) -> str | None:
        """Whether a tail has all lanes, asked where a masked store takes longer than a branch: most
        vectors behind those that are done side by side are whole."""
        if mask is None or mask is not self.tail[0] or self.lanes == 1 or self.e.target.avx512:
            return None
        return self.e.instruction(f"icmp sge i64 {self.tail[1]}, {self.lanes}")


def is_short_stride(text: str) -> bool:
    """Whether the text of a coefficient is a number above 1 (see `number_slots`)."""
    return text.isdigit() and int(text) > 1


def operand(text: str) -> str:
    """A slot name or an integer as an LLVM operand."""
    return f"%{text}" if text[0] == "s" else text
