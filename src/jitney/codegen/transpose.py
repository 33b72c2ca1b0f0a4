"""Tiles: loads that run across the vector loop are transposed in registers.

In: a kernel whose last two row loops are (u, v), with a `tile` along u (see [Note: tiles] in
fuse/tiles.py). A piece is one row of tiles, or a strip of it along v. In each tile every transposed
load fills a scratch array in the first cache, a few rows of the source at a time: vectors along u,
transposed in registers; then the body runs for each u with vectors along v.
"""

from typing import NamedTuple

from ..fuse.tiles import LINE_BYTES, scratch_arrays, unit_of
from . import direct_tiles, memory, strided
from .instructions import Value
from .load_transposed import load_transposed
from .prefetch import NEAR, SECOND, prefetch_line
from .transpose_registers import Vectors, shuffle

MAX_ROWS = 16  # of a source in registers at a time: half of them


class Scratch(NamedTuple):
    """What a transposed load reads: scratch array `number`, in which elements have `unit` values,
    of each the one at `part`."""

    number: int
    unit: int
    part: int


def allocate_tiles(k) -> None:
    """The scratch arrays (in the function's entry block)."""
    tile, v = k.kernel.tile, k.kernel.rows[-1].variable
    arrays = scratch_arrays(k.used, tile.variable, v)
    for number, loads in enumerate(arrays.values()):
        type_ = memory.memory_type(k.kernel.buffers[loads[0].attrs[0]][0])
        unit = unit_of(loads[0], tile.variable, v)
        for x in loads:
            k.tiled[x.id] = Scratch(number, unit, x.attrs[1][0] % unit)
        size = tile.side * tile.length * unit
        k.e.emit_raw(f"  %tile{number} = alloca {type_}, i64 {size}, align 64")


def emit_tiles(k, piece, carried) -> list:
    """One piece, the body of a loop over them."""
    e, side, across = k.e, k.kernel.tile.side, k.kernel.tile.length
    u_extent, v_extent = [_extent(k, loop) for loop in k.kernel.rows[-2:]]
    strip, length = f"%s{len(k.slotted.values)}", f"%s{len(k.slotted.values) + 1}"
    more = e.instruction(f"add i64 {v_extent}, {length}")
    strips = e.instruction(f"udiv i64 {e.instruction(f'sub i64 {more}, 1')}, {length}")
    row = e.instruction(f"udiv i64 {piece}, {strips}")
    v_low = e.instruction(f"mul i64 {e.instruction(f'urem i64 {piece}, {strips}')}, {length}")
    v_high = _smaller(e, e.instruction(f"add i64 {v_low}, {length}"), v_extent)
    number = e.instruction(f"udiv i64 {row}, {strip}")
    u_low = e.instruction(f"mul i64 {e.instruction(f'urem i64 {row}, {strip}')}, {side}")
    k._bind_rows(k.kernel.rows[:-2], number)
    k._emit_home("outer")

    def tile(v_first, _):
        if k.kernel.tile.direct:
            u_end = _smaller(e, e.instruction(f"add i64 {u_low}, {side}"), u_extent)
            direct_tiles.emit_squares(k, u_low, u_end, v_first)
        else:
            _Tile(k, u_low, v_first, v_low, v_high).emit()
        return []

    k.loop(v_low, v_high, across, [], tile, "tile")
    return carried


def _extent(k, loop):
    text = k.slotted.extents[loop.variable]
    return f"%{text}" if text[0] == "s" else text


def _smaller(e, a, b):
    e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    return e.instruction(f"call i64 @llvm.smin.i64(i64 {a}, i64 {b})")


class _Tile:
    """[u_first, u_end) x [v_first, v_end), in the strip [v_low, v_high)."""

    def __init__(self, k, u_first, v_first, v_low, v_high):
        e = k.e
        self.k, self.e, self.lanes = k, e, k.lanes
        self.side, self.length = k.kernel.tile.side, k.kernel.tile.length
        self.asks_ahead = k.kernel.tile.ahead
        self.u, self.v = k.kernel.rows[-2].variable, k.kernel.rows[-1].variable
        self.u_first, self.v_first, self.v_low, self.v_high = u_first, v_first, v_low, v_high
        self.u_extent = _extent(k, k.kernel.rows[-2])
        self.u_end = _smaller(e, e.instruction(f"add i64 {u_first}, {self.side}"), self.u_extent)
        self.v_end = _smaller(e, e.instruction(f"add i64 {v_first}, {self.length}"), v_high)
        # where masks are not cheap, the last vector along u begins earlier, and so does the tile
        self.is_masked, self.u_base = e.target.avx512, u_first
        if not self.is_masked:
            room = e.instruction(f"sub i64 {self.u_extent}, {self.lanes}")
            self.u_base = _smaller(e, u_first, room)

    def emit(self) -> None:
        first = {
            self.k.tiled[x.id].number: x for x in reversed(self.k.used) if x.id in self.k.tiled
        }
        loads = list(first.values())
        for x in loads:
            self._fill(x)
        ahead = self._next_tile(loads) if self.asks_ahead else []

        def row(u_at, _):
            self._row(u_at, ahead)
            return []

        self.k.loop(self.u_first, self.u_end, "1", [], row, "row")

    # ------------------------------------------------------------------ reading
    def _fill(self, x) -> None:
        """scratch[i][j] = element (u_base + i, v_first + j)."""
        k, e, scratch = self.k, self.e, self.k.tiled[x.id]
        buffer, type_ = f"%b{x.attrs[0]}", memory.memory_type(k.kernel.buffers[x.attrs[0]][0])
        unit = scratch.unit
        shape = Vectors(type_, self.lanes // unit, unit, memory.nbytes(type_) * unit)
        count = min(shape.lanes, MAX_ROWS)
        room = None if self.is_masked else e.instruction(f"sub i64 {self.u_extent}, {shape.lanes}")

        def rows(v_at, _):
            offsets = self._row_offsets(x, v_at, count)
            along = e.instruction(f"sub i64 {v_at}, {self.v_first}")

            def block(u_at, _):
                first = u_at if room is None else _smaller(e, u_at, room)
                shift = self._times(e.instruction(f"sub i64 {first}, {self.u_first}"), unit)
                source = memory.pointer_at(e, buffer, type_, shift)
                loaded = self._load_columns(shape, source, offsets, first)
                down = e.instruction(f"sub i64 {first}, {self.u_base}")
                at = e.instruction(f"add i64 {self._times(down, self.length)}, {along}")
                target = f"%tile{scratch.number}"
                target = memory.pointer_at(e, target, type_, self._times(at, unit))
                self._store_columns(shape, target, loaded, count)
                return []

            k.loop(self.u_first, self.u_end, shape.lanes, [], block, "block")
            return []

        k.loop(self.v_first, self.v_end, count, [], rows, "rows")

    def _times(self, value: str, number: int) -> str:
        return value if number == 1 else self.e.instruction(f"mul i64 {value}, {number}")

    def _row_offsets(self, x, v_at, count) -> list[str]:
        """Where `count` rows of the source are, at u_first. Rows that do not exist repeat the last
        one that does: a load whose mask is empty costs hundreds of cycles where its address is in
        no page (ten times, for 100 x 100 x 100)."""
        e = self.e
        left = e.instruction(f"sub i64 {self.v_end}, {v_at}")
        stride = self._stride(x)
        at = self._start(x, self.u_first, v_at)
        found = [at]
        for j in range(1, count):
            exists = e.instruction(f"icmp sgt i64 {left}, {j}")
            step = e.instruction(f"select i1 {exists}, i64 {stride}, i64 0")
            at = e.instruction(f"add i64 {at}, {step}")
            found.append(at)
        return found

    def _stride(self, x) -> str:
        text = dict(self.k.slotted.affines[x.attrs[1]][1])[self.v]
        return f"%{text}" if text[0] == "s" else text

    def _start(self, x, u_at, v_at) -> str:
        """Where the whole element of a transposed load is."""
        at, part = self._position(x.attrs[1], u_at, v_at), self.k.tiled[x.id].part
        return self.e.instruction(f"sub i64 {at}, {part}") if part else at

    def _position(self, position, u_at, v_at) -> str:
        """An index at a place of the tile, as a scalar."""
        k = self.k
        k.scalars[self.u], k.scalars[self.v], k.vector_variable = u_at, v_at, None
        return memory.settled(self.e, k._place(position)).base

    def _load_columns(self, shape, source, offsets, first) -> list[str]:
        e, mask = self.e, None
        if self.is_masked:
            left = e.instruction(f"sub i64 {self.u_extent}, {first}")
            mask = memory.first_bits(e, self._times(left, shape.unit), self.lanes)
        addresses = [memory.pointer_at(e, source, shape.type_, offset) for offset in offsets]
        return load_transposed(e, addresses, shape, mask)

    def _store_columns(self, shape, target, columns, count) -> None:
        e = self.e
        part = f"<{count * shape.unit} x {shape.type_}>"
        for j, name in enumerate(columns):
            for start in range(0, shape.lanes, count):
                piece = name
                if count < shape.lanes:
                    piece = shuffle(e, shape, name, "poison", range(start, start + count))
                place = (start + j) * self.length * shape.unit
                address = memory.pointer_at(e, target, shape.type_, place)
                align = memory._align(shape.type_)
                e.emit_raw(f"  store {part} {piece}, ptr {address}, align {align}")

    # ------------------------------------------------------------------ writing
    def _row(self, u_at, ahead) -> None:
        """The body for one u, with vectors along v."""
        k, e = self.k, self.e
        if ahead:
            self._ask_for_rows(e.instruction(f"sub i64 {u_at}, {self.u_first}"), ahead)
        if self.asks_ahead and not k.kernel.stream:
            self._ask_for_results(u_at)
        scratch = e.instruction(f"sub i64 {u_at}, {self.u_base}")
        scratch = e.instruction(f"mul i64 {scratch}, {self.length}")
        k.tile_row = e.instruction(f"sub i64 {scratch}, {self.v_first}")
        k.scalars[self.u] = u_at
        k._vector_loop(self.v, self.v_first, self.v_end, [], lambda carried: k._row() or [])

    def _next_tile(self, loads) -> list[tuple[str, str, str, int]]:
        """Of each scratch array: where the next tile's source begins, the distance of its rows,
        the type and unit. After the strip's last one this is the first of the next strip. Only
        rows that exist are asked for: others may be on no page, which takes a Zen 1 50 ns each
        (100³ with its first axis last: .67 of the time)."""
        e, found = self.e, []
        after = e.instruction(f"add i64 {self.v_first}, {self.length}")
        is_last = e.instruction(f"icmp sge i64 {after}, {self.v_high}")
        v_next = e.instruction(f"select i1 {is_last}, i64 {self.v_low}, i64 {after}")
        shift = e.instruction(f"select i1 {is_last}, i64 {self.side}, i64 0")
        u_next = e.instruction(f"add i64 {self.u_first}, {shift}")
        rows = _smaller(e, e.instruction(f"sub i64 {self.v_high}, {v_next}"), str(self.length))
        is_there = e.instruction(f"icmp slt i64 {u_next}, {self.u_extent}")
        self.rows_ahead = e.instruction(f"select i1 {is_there}, i64 {rows}, i64 0")
        for x in loads:
            type_ = memory.memory_type(self.k.kernel.buffers[x.attrs[0]][0])
            start = memory.pointer_at(e, f"%b{x.attrs[0]}", type_, self._start(x, u_next, v_next))
            found.append((start, self._stride(x), type_, self.k.tiled[x.id].unit))
        return found

    def _ask_for_rows(self, down: str, ahead) -> None:
        """Of each scratch array, the next tile's rows of the source that are asked for with one row
        of this tile's results."""
        for k in range(self.length // self.side):
            at = self._times(down, self.length // self.side)
            self._ask_for_row(self.e.instruction(f"add i64 {at}, {k}") if k else at, ahead)

    def _ask_for_row(self, down: str, ahead) -> None:
        """One of them, if it exists."""
        e = self.e
        ask, asked = e.fresh_label("tile.ask"), e.fresh_label("tile.asked")
        exists = e.instruction(f"icmp slt i64 {down}, {self.rows_ahead}")
        e.emit_raw(f"  br i1 {exists}, label %{ask}, label %{asked}")
        memo = dict(e._memory)
        e.begin_block(ask)
        for start, stride, type_, unit in ahead:
            at = e.instruction(f"mul i64 {down}, {stride}")
            pointer = memory.pointer_at(e, start, type_, at)
            self._ask_for_lines(pointer, type_, self.side * unit, SECOND, False)
        e.emit_raw(f"  br label %{asked}")
        e._memory = memo
        e.begin_block(asked)

    def _ask_for_results(self, u_at) -> None:
        """The lines that the next tile writes, to be owned by then."""
        e, k = self.e, self.k
        v_next = e.instruction(f"add i64 {self.v_first}, {self.length}")
        for store in k.kernel.stores:
            terms = dict(store.position[1])
            unit = terms.get(self.v, 0)
            if (
                unit in (1, 2)
                and all(atom >= 0 for atom in terms)
                and store.position[0] % unit == 0
            ):
                type_ = memory.memory_type(k.kernel.buffers[store.buffer][0])
                at = self._position(store.position, u_at, v_next)
                start = memory.pointer_at(e, f"%b{store.buffer}", type_, at)
                self._ask_for_lines(start, type_, self.length * unit, NEAR, True)

    def _ask_for_lines(self, start, type_, count: int, level, for_writing) -> None:
        """The lines of so many elements."""
        per_line = LINE_BYTES // memory.nbytes(type_)
        for at in range(0, count, per_line):
            address = memory.pointer_at(self.e, start, type_, at)
            prefetch_line(self.e, address, level, for_writing)


def load_row(k, x) -> Value:
    """A transposed load's elements for this u: a vector along v."""
    e, (number, unit, part) = k.e, k.tiled[x.id]
    code = k.kernel.buffers[x.attrs[0]][0]
    base = e.instruction(f"add i64 {k.tile_row}, {k.scalars[k.kernel.rows[-1].variable]}")
    if unit > 1:
        base = e.instruction(f"mul i64 {base}, {unit}")
    place = memory.Place(base, str(unit), (), part)
    read = strided.load if k._is_strided(code, place) else memory.load
    return read(e, code, f"%tile{number}", place, k.lanes)
