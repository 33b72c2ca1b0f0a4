"""Reductions down columns in the order of memory: rows are read whole, several at a time, and the
accumulators of all columns of a piece wait in the first cache.

In: a kernel with `sweep` = how many rows a turn takes: lane 'row', one stage that only reduces.
Out: the loops of a piece. Each accumulator is a stretch of vectors on the stack, one for each
vector of columns, read and written once in `sweep` rows.
Keeps: the order in which the elements of a column are combined.

Down a strip of four vectors the machine's prefetcher loses the way at every row: sums of
20000 x 100 float32 take 280 us by one thread, 122 in this order.
"""

from . import memory, reduce
from .instructions import Value


def copies(k) -> int:
    """How many vectors of columns are done at a time: many rows keep the machine busy enough."""
    return 2 if k.kernel.sweep == 4 and k.copies_for(k.used) == 4 else 1


def allocate_accumulators(k) -> None:
    """A stretch of vectors for each accumulator of the stage (in the function's entry block)."""
    e = k.e
    e.emit_raw(f"  %sweep.room = add i64 {_chunk(k)}, {2 * k.lanes * k._copies()}")
    e.emit_raw(f"  %sweep.count = udiv i64 %sweep.room, {k.lanes}")
    for number, value in enumerate(_starts(k)):
        e.emit_raw(
            f"  %sweep{number} = alloca {_waiting(e, value)}, i64 %sweep.count, align 64"
        )


def emit_sweep(k, variable: int, low: str, high: str) -> None:
    """The columns [low, high) of a piece, `variable` along the vectors."""
    stage = k.kernel.stages[0]

    def begin(_):
        _write(k, variable, low, _starts(k))
        return []

    def end(_):
        k._emit_home(("row", 0))
        found = _read(k, variable, low)
        for number, (r, at) in enumerate(_places(stage)):
            k.results[0, number] = reduce.finish(k.e, r, found[at : at + reduce.width(r)])
        k._emit_home(("row", 1))
        k.store_all(k.kernel.stores)
        return []

    k._vector_loop(variable, low, high, [], begin)
    _emit_loops(k, stage, 0, lambda rows: _columns(k, stage, variable, low, high, rows))
    k._vector_loop(variable, low, high, [], end)


def _emit_loops(k, stage, depth: int, columns) -> None:
    """The stage's loops around the columns; the last one takes `sweep` rows a turn, then one."""
    e, loop, many = k.e, stage.loops[depth], k.kernel.sweep
    first, last = k._stage_bounds(loop)
    if depth < len(stage.loops) - 1:

        def around(index, _):
            k.scalars[loop.variable] = index
            _emit_loops(k, stage, depth + 1, columns)
            return []

        k.loop(first, last, "1", [], around, "stage")
        return
    limit = e.instruction(f"sub i64 {last}, {many - 1}")
    length = e.instruction(f"sub i64 {last}, {first}")
    rest = e.instruction(f"add i64 {first}, {e.instruction(f'and i64 {length}, {-many}')}")

    def several(index, _):
        columns([index, *[e.instruction(f"add i64 {index}, {i}") for i in range(1, many)]])
        return []

    def single(index, _):
        columns([index])
        return []

    k.loop(first, limit, str(many), [], several, "sweep")
    k.loop(rest, last, "1", [], single, "last")


def _columns(k, stage, variable, low, high, rows) -> None:
    """All vectors of columns, with the elements of some rows."""
    down, home = stage.loops[-1].variable, (0, len(stage.loops) - 1)
    k.begun_rows, k.down_swept = _begun_rows(k, stage, variable, rows), down
    whole, numbers = k.homes.get(home, ()), _numbers_of_rows(k, stage, variable, rows)
    k.homes[home] = [x for x in whole if variable in x.variables]

    def body(_):
        k._emit_home(("row", 0))
        accumulators = _read(k, variable, low)
        for row, known in zip(rows, numbers, strict=True):
            k.scalars[down] = row
            k.values.update(known)
            for depth in range(len(stage.loops) - 1):
                k._emit_home((0, depth))
            accumulators = k._stage_body(0, stage, len(stage.loops) - 1, accumulators)
        _write(k, variable, low, reduce.asked(k.e, accumulators))
        return []

    k._vector_loop(variable, low, high, [], body)
    k.begun_rows, k.homes[home] = {}, whole


def _numbers_of_rows(k, stage, variable, rows) -> list[dict[int, Value]]:
    """For each row what the stage makes of it alone, the same for all columns."""
    found = []
    for row in rows:
        k.scalars[stage.loops[-1].variable] = row
        for depth in range(len(stage.loops)):
            for x in k.homes.get((0, depth), ()):
                if variable not in x.variables:
                    k.values[x.id] = k._expression(x)
        found.append({x.id: k.values[x.id] for x in k.homes.get((0, len(stage.loops) - 1), ())
                      if variable not in x.variables})  # fmt: skip
    return found


def _begun_rows(k, stage, variable, rows) -> dict[tuple, tuple]:
    """Where the rows of the arrays that are read along them begin, by buffer, position and row.
    Products of rows and strides left in the loop over columns take a third of its instructions
    (sums of 2000 x 1000: 61 us, 56 with pointers and no masks but at the rows' ends)."""
    down, found = stage.loops[-1].variable, {}
    for x in k.homes.get((0, len(stage.loops) - 1), ()):
        if x.op != "load":
            continue
        number, position = x.attrs
        terms = dict(k.slotted.affines[position][1])
        if terms.get(variable) != "1" or down not in terms or min(terms) < 0:
            continue
        for row in rows:
            k.scalars[down] = row
            base, _ = k.position_without(position, variable)
            type_ = memory.memory_type(k.kernel.buffers[number][0])
            start = memory.pointer_at(k.e, f"%b{number}", type_, base)
            found[number, position, row] = start, 0
    return found


def _starts(k) -> list[Value]:
    return [v for r in k.kernel.stages[0].reductions for v in reduce.start(k.e, r, k.lanes)]


def _places(stage):
    """The reductions, each with the number of its first accumulator."""
    at = 0
    for r in stage.reductions:
        yield r, at
        at += reduce.width(r)


def _chunk(k) -> str:
    """How many columns a piece has at most."""
    return f"%s{len(k.slotted.values)}"


def _addresses(k, number: int, type_: str, low: str) -> list[str]:
    """Each vector has accumulators of its own, also one that begins early."""
    e = k.e
    column = e.instruction(f"sub i64 {k.begun}, {low}")
    at = e.instruction(f"udiv exact i64 {column}, {k.lanes}")
    places = [at, *[e.instruction(f"add i64 {at}, {u}") for u in range(1, e.copies)]]
    return [e.instruction(f"getelementptr {type_}, ptr %sweep{number}, i64 {p}") for p in places]


def _read(k, variable, low) -> list[Value]:
    e, found = k.e, []
    for number, start in enumerate(_starts(k)):
        names, text = [], _waiting(e, start)
        for address in _addresses(k, number, text, low):
            names.append(e.fresh())
            e.emit_raw(f"  {names[-1]} = load {text}, ptr {address}")
            if text != start.text:
                names[-1] = e.instruction(f"icmp slt {text} {names[-1]}, zeroinitializer")
        found.append(Value(tuple(names), start.type, start.lanes))
    return found


def _write(k, variable, low, values) -> None:
    e = k.e
    for number, value in enumerate(values):
        text = _waiting(e, value)
        for u, address in enumerate(_addresses(k, number, text, low)):
            name = value.names[u if len(value.names) > 1 else 0]
            if text != value.text:
                name = e.instruction(f"sext {value.text} {name} to {text}")
            e.emit_raw(f"  store {text} {name}, ptr {address}")


def _waiting(e, value: Value) -> str:
    """The type in which an accumulator waits: flags as lanes full of ones where masks are such
    lanes. (Bit by bit they would be put together and taken apart: greatest of columns of
    1024 x 1024 175 us with AVX2, so 86.)"""
    if value.type != "i1" or value.lanes == 1 or e.target.avx512:
        return value.text
    return f"<{value.lanes} x i{e.target.vector_bits // value.lanes}>"
