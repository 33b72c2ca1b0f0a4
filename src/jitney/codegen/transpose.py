"""Square tiles: loads that run across the vector loop are transposed in registers.

In: a kernel whose last two row loops are (u, v) with `tile` = u. A piece is one block of `lanes`
values of u; along v it goes block by block. In each block every transposed load reads `lanes`
vectors along u (contiguous), transposes them in log2(lanes) rounds of shuffles and leaves the rows
in a scratch tile in L1; then the body runs for each u with vectors along v.
"""

from . import memory
from .emitter import Value
from .prefetch import prefetch_line

PREFETCH_ROWS = 128


def allocate_tiles(k) -> None:
    """Scratch tiles, one for each transposed load (in the function's entry block)."""
    v = k.kernel.rows[-1].variable
    for x in k.used:
        if x.op == "load" and not x.args and _crosses(x, k.kernel.tile, v):
            number = len(k.tiled)
            k.tiled[x.id] = number
            type_ = memory.memory_type(k.kernel.buffers[x.attrs[0]][0])
            k.e.emit_raw(f"  %tile{number} = alloca {type_}, i64 {k.lanes * k.lanes}, align 64")


def _crosses(x, u, v) -> bool:
    terms = dict(x.attrs[1][1])
    return (
        terms.get(u) == 1 and terms.get(v, 0) not in (0, 1, -1) and all(a >= 0 for a in terms)
    )


def emit_tiles(k, piece) -> None:
    """One piece: a block of u against all of v."""
    e, lanes = k.e, k.lanes
    u, v = k.kernel.rows[-2], k.kernel.rows[-1]
    blocks = f"%s{len(k.slotted.values)}"
    number, which, first = e.fresh(), e.fresh(), e.fresh()
    e.emit_raw(f"  {number} = udiv i64 {piece}, {blocks}")
    e.emit_raw(f"  {which} = urem i64 {piece}, {blocks}")
    e.emit_raw(f"  {first} = mul i64 {which}, {lanes}")
    k._bind_rows(k.kernel.rows[:-2], number)
    k._emit_home("outer")
    u_count = _remaining(k, u, first)
    u_mask = _first_lanes(e, u_count, lanes)
    v_extent = _extent(k, v)

    def block(v_first, _):
        v_count = _remaining(k, v, v_first)
        v_mask = _first_lanes(e, v_count, lanes)
        for x in k.used:
            if x.id in k.tiled:
                _fill_tile(k, x, first, v_first, v_count, u_mask, v_extent)

        def row(i, _):
            k.scalars[u.variable] = _sum(e, first, i)
            k.scalars[v.variable] = v_first
            mask = None if k.kernel.stream else v_mask  # what is streamed has no part of a vector
            k.vector_variable, k.mask, k.tile_row = v.variable, mask, i
            k._row()
            return []

        k.loop("0", u_count, "1", [], row, "row")
        return []

    k.loop("0", v_extent, lanes, [], block, "block")
    k.mask, k.vector_variable = None, None


def _extent(k, loop):
    text = k.slotted.extents[loop.variable]
    return f"%{text}" if text[0] == "s" else text


def _sum(e, a, b):
    name = e.fresh()
    e.emit_raw(f"  {name} = add i64 {a}, {b}")
    return name


def _remaining(k, loop, first):
    """min(lanes, extent - first)."""
    e = k.e
    left, count = e.fresh(), e.fresh()
    e.emit_raw(f"  {left} = sub i64 {_extent(k, loop)}, {first}")
    e.emit_raw(f"  {count} = call i64 @llvm.smin.i64(i64 {left}, i64 {k.lanes})")
    e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    return count


def _first_lanes(e, count, lanes):
    copies, e.copies = e.copies, 1
    mask = e.icmp("slt", memory.lane_numbers(e, lanes), e.splat(Value((count,), "i64", 1), lanes))
    e.copies = copies
    return mask


def _fill_tile(k, x, u_first, v_first, v_count, u_mask, v_extent) -> None:
    """tile[i][j] = element (u_first + i, v_first + j)."""
    e, lanes = k.e, k.lanes
    buffer, position = x.attrs
    u, v = k.kernel.rows[-2].variable, k.kernel.rows[-1].variable
    type_ = memory.memory_type(k.kernel.buffers[buffer][0])
    vector, suffix = f"<{lanes} x {type_}>", memory._suffix(f"<{lanes} x {type_}>")
    bits = f"<{lanes} x i1>"
    e.declare(f"declare {vector} @llvm.masked.load.{suffix}.p0(ptr, i32 immarg, {bits}, {vector})")
    k.scalars[u] = u_first
    rows = []
    last = e.instruction(f"sub i64 {v_count}, 1")
    e.declare("declare i64 @llvm.smin.i64(i64, i64)")
    for j in range(lanes):
        # rows that do not exist repeat the last one that does: a load whose mask is empty costs
        # hundreds of cycles where its address is in no page (ten times, for 100 x 100 x 100)
        inside, name = e.instruction(f"call i64 @llvm.smin.i64(i64 {j}, i64 {last})"), e.fresh()
        k.scalars[v] = _sum(e, v_first, inside)
        k.vector_variable = None
        base = k._place(position).base
        address = memory.pointer_at(e, f"%b{buffer}", type_, base)
        e.emit_raw(
            f"  {name} = call {vector} @llvm.masked.load.{suffix}.p0(ptr {address}, "
            f"i32 {memory._align(type_)}, {bits} {u_mask.names[0]}, {vector} zeroinitializer)"
        )
        rows.append(name)
        _prefetch(k, x, k.scalars[v], v_extent)
    for i, name in enumerate(transpose_registers(e, rows, vector, lanes)):
        address = memory.pointer_at(e, f"%tile{k.tiled[x.id]}", type_, i * lanes)
        e.emit_raw(f"  store {vector} {name}, ptr {address}, align {memory._align(type_)}")


def _prefetch(k, x, row, v_extent) -> None:
    """Asks for the line that is read PREFETCH_ROWS rows later, in this block of u or from the start
    of the next one: the stride hides it from the machine's own prefetcher."""
    e, lanes = k.e, k.lanes
    buffer, position = x.attrs
    v = k.kernel.rows[-1].variable
    ahead = e.instruction(f"call i64 @llvm.smin.i64(i64 {PREFETCH_ROWS}, i64 {v_extent})")
    later = e.instruction(f"add i64 {row}, {ahead}")
    wrapped = e.instruction(f"sub i64 {later}, {v_extent}")
    is_next = e.instruction(f"icmp sge i64 {wrapped}, 0")
    before = k.scalars[v]
    k.scalars[v] = e.instruction(f"select i1 {is_next}, i64 {wrapped}, i64 {later}")
    base = k._place(position).base
    k.scalars[v] = before
    shift = e.instruction(f"select i1 {is_next}, i64 {lanes}, i64 0")
    type_ = memory.memory_type(k.kernel.buffers[buffer][0])
    start = memory.pointer_at(e, f"%b{buffer}", type_, base)
    prefetch_line(e, memory.pointer_at(e, start, type_, shift))


def transpose_registers(e, rows, vector, lanes):
    """Transposes lanes × lanes elements held in `lanes` vectors: each round exchanges the off-
    diagonal blocks of twice the size (Eklundh 1972)."""
    width = 1
    while width < lanes:
        result = list(rows)
        low = [i if not i & width else i - width + lanes for i in range(lanes)]
        high = [i + width if not i & width else i + lanes for i in range(lanes)]
        for i in range(lanes):
            if i & width:
                continue
            a, b = rows[i], rows[i + width]
            result[i] = _shuffle(e, vector, a, b, low, lanes)
            result[i + width] = _shuffle(e, vector, a, b, high, lanes)
        rows, width = result, 2 * width
    return rows


def _shuffle(e, vector, a, b, picks, lanes):
    name = e.fresh()
    mask = ", ".join(f"i32 {p}" for p in picks)
    e.emit_raw(f"  {name} = shufflevector {vector} {a}, {vector} {b}, <{lanes} x i32> <{mask}>")
    return name


def load_row(k, x) -> Value:
    """Row `tile_row` of a transposed load's tile: a vector along v."""
    e = k.e
    code = k.kernel.buffers[x.attrs[0]][0]
    base = e.instruction(f"mul i64 {k.tile_row}, {k.lanes}")
    place = memory.Place(base, "1", ())
    return memory.load(e, code, f"%tile{k.tiled[x.id]}", place, k.lanes)
