"""A row's loop in three parts, so that conditions of borders are constants in the middle one.

In: a kernel with `borders` (see [Note: borders] in fuse/interior.py) or `near` loads, or one that
streams rows which begin within lines, and one row, [low, high). Out: the loops: a masked one for
the left border, unmasked ones for the middle (as many copies as the lighter body allows, then one),
the masked one again for the right border, which is written once, as the body of a loop of two
turns; with `sided` each has a text of its own, in which the other's conditions are known (with
`overlaps` its vector is stored whole, also what the middle stores; with `whole_rows` the row is
done in `whole_rows.py`). A border may be empty, and so may the middle, which begins where a vector
of the result begins in memory. Rows in which a condition on another axis has the other value are
one masked loop, so that in those borders these conditions are known.
`emit_middles` does the middles of two such rows in one loop (`joined_rows.py`).
Keeps: which elements are computed, and how; only conditions known to hold are not asked.
"""

from typing import NamedTuple

from ..fuse.kernel import Expr, Store
from ..fuse.tiles import LINE_BYTES
from . import begun_rows, memory, whole_rows
from .instructions import Value
from .middle import Middle

MANY, MOST_OF_MANY = 4, 48  # copies of a stencil's middle, up to so many expressions


class Turn(NamedTuple):
    """What a turn of one row or of two begins with (joined_rows.py)."""

    is_pair: str
    places: tuple[str, str, str]  # of the middle of both, see `places_of_middle`


def emit_parts(k, variable: int, low: str, high: str, turn: Turn | None = None) -> None:
    """The loops of one row; `k` is the KernelEmitter. In a turn of two rows the middle is left to
    `emit_middles`; such rows are many, and the middles of the others little work."""
    fits, begun_before = _row_fits(k), k.begun_rows
    k.begun_rows = begun_rows.of_row(k, variable)
    if k.kernel.whole_rows:
        _whole_row(k, variable, low, high, fits)
        k.begun_rows = begun_before
        return
    plan = Middle(k, k.kernel.borders)
    copies = _copies(k, plan) if turn is None else 1
    places = places_of_middle(k, variable, low, high, copies) if turn is None else turn.places
    if fits is not None:  # rows at a border of another axis are all border
        k.masked_loop(variable, low, _choice(k.e, fits, low, high))
        low, *places = (_choice(k.e, fits, place, high) for place in (low, *places))
    first, wide_end, end = places

    def emit(index: str) -> None:
        k.bind_vector(variable, index, None)
        plan.emit()

    def middle(*places: str) -> None:
        _middle(k, variable, emit, places, copies)

    if k.kernel.whole_ends or k.kernel.sided:
        _side(k, variable, 0, (low, first), fits is None)
        middle(first, wide_end, end if turn is None else _choice(k.e, turn.is_pair, first, end))
        _side(k, variable, 1, (end, high), fits is None)
    else:
        _twice(k, variable, (low, first, wide_end, end, high), middle)
    k.vector_variable, k.begun_rows = None, begun_before


def _whole_row(k, variable: int, low: str, high: str, fits: str | None) -> None:
    """A row that is whole vectors, or all border."""
    ends = [Middle(k, _known_at(k, variable, n), k.asked_at_ends[n]) for n in (0, 1)]
    plans = whole_rows.Plans(ends[0], Middle(k, k.kernel.borders), ends[1])
    if fits is None:
        whole_rows.emit_row(k, variable, low, high, plans)
        return
    e = k.e
    k.masked_loop(variable, low, _choice(e, fits, low, high))
    inside, done = (e.fresh_label(f"row.{part}") for part in ("fits", "done"))
    known = dict(e._memory)
    e.emit_raw(f"  br i1 {fits}, label %{inside}, label %{done}")
    e.begin_block(inside)
    whole_rows.emit_row(k, variable, low, high, plans)
    e.emit_raw(f"  br label %{done}")
    e.begin_block(done)
    e._memory = known  # what was computed inside is not known behind it


def emit_middles(k, variable: int, turn: Turn, enter: list) -> None:
    """The middles of two rows in one loop, if it is a turn of two; `enter` has a function for each
    row that says what is known of it."""
    plan = Middle(k, k.kernel.borders)
    copies = _copies(k, plan)
    first, _, end = turn.places
    end = _choice(k.e, turn.is_pair, end, first)
    wide_end = _whole_steps(k, first, end, k.lanes * copies)

    def emit(index: str) -> None:
        for enter_row in enter:
            enter_row()
            k.bind_vector(variable, index, None)
            plan.emit()
            k.row_before = k.loaded
        k.row_before = {}

    _middle(k, variable, emit, (first, wide_end, end), copies)
    k.vector_variable = None


def places_of_middle(k, variable: int, low: str, high: str, copies: int) -> tuple:
    """Where the middle of a row begins, where its wide vectors end, where it ends."""
    begun, last = k.middle_ends.get((low, high)) or ends_of_middle(k, variable, low, high)
    store = k.kernel.stores[0]
    first = aligned(k, store, variable, begun, last)
    wide_end = _whole_steps(k, first, last, k.lanes * copies)
    return first, wide_end, _whole_steps(k, first, last, _step_of_middle(k, store))


def _side(k, variable: int, end: int, part: tuple[str, str], fits: bool) -> None:
    """One end of a row, with a text of its own; `fits`: whether the row certainly has a middle."""
    start, stop = part
    if k.kernel.whole_ends:
        at = k.e.instruction(f"sub i64 {stop}, {k.lanes}") if end else start
        _end(k, variable, end, part, at, fits and bool(k.asked_at_ends[end]))
    else:
        k.masked_loop(variable, start, stop, Middle(k, _known_at(k, variable, end)).emit)


def _known_at(k, variable: int, end: int) -> list:
    """The borders whose conditions have the middle's value at one end of a row, too."""
    return [b for b in k.kernel.borders if variable not in b.condition.variables or not b.ends[end]]


def ask_at_ends(k, variable: int, low: str, high: str) -> list[dict]:
    """The values of conditions that differ along rows, in a row's first vector and in its last."""
    found, before = [], dict(k.values)
    for end, at in enumerate((low, k.e.instruction(f"sub i64 {high}, {k.lanes}"))):
        k.bind_vector(variable, at, None)
        asked = {}
        for b in k.kernel.borders:
            if variable in b.condition.variables and b.ends[end]:
                index = b.condition.args[0]
                k.values[index.id] = k._expression(index)
                asked[b.condition.id] = k._expression(b.condition)
        found.append(asked)
    k.values, k.vector_variable = before, None
    return found


def _end(k, variable: int, end: int, part: tuple[str, str], at: str, is_any: bool) -> None:
    """The vector at one end of a row, of which [start, stop) is stored; or all of it, if what the
    middle stores as well may be stored twice. `is_any`: there is something to store (a loop of one
    turn has all its addresses made before it, and kept on the stack)."""
    e, (start, stop) = k.e, part
    plan = Middle(k, _known_at(k, variable, end), k.asked_at_ends[end])

    def stored() -> Value:
        if end == 0:
            return memory.first_lanes(e, e.instruction(f"sub i64 {stop}, {at}"), k.lanes)
        return memory.lanes_from(e, e.instruction(f"sub i64 {start}, {at}"), k.lanes)

    def body(_index, _):
        k.bind_vector(variable, at, None)
        plan.emit(None if k.kernel.overlaps else stored)
        k.mask = None
        return []

    if is_any:
        body(at, [])
    else:
        k.loop(start, stop, str(k.lanes), [], body, "end")


def _twice(k, variable: int, places: tuple[str, ...], middle) -> None:
    """Both borders by the same text, the body of a loop of two turns; the middle is the first's."""
    e, (low, first, wide_end, end, high) = k.e, places
    others = [b for b in k.kernel.borders if variable not in b.condition.variables]
    emit_border = Middle(k, others).emit if others else None

    def part(turn, _):
        is_left = e.instruction(f"icmp eq i64 {turn}, 0")
        start, stop = _choice(e, is_left, low, end), _choice(e, is_left, first, high)
        k.masked_loop(variable, start, stop, emit_border)
        middle(_choice(e, is_left, first, end), _choice(e, is_left, wide_end, end), end)
        return []

    k.loop("0", "2", "1", [], part, "part")


def _middle(k, variable: int, emit, places: tuple[str, ...], copies: int) -> None:
    """Wide vectors as far as they go, then single ones."""
    start, wide_stop, stop = places
    if copies > 1:
        _middle_loop(k, variable, emit, start, wide_stop, copies)
        start = wide_stop
    _middle_loop(k, variable, emit, start, stop, 1)


def _middle_loop(k, variable: int, emit, start: str, stop: str, copies: int) -> None:
    def body(index, _):
        emit(index)
        return []

    k.e.copies = copies
    k.loop(start, stop, str(k.lanes * copies), [], body, "middle")
    k.e.copies = 1


def _copies(k, plan) -> int:
    """How many vectors the middle does at a time: neighbours are made of vectors side by side."""
    needed = plan.needed_expressions()
    copies = k.copies_for(needed)
    return MANY if k.kernel.near and copies > 1 and len(needed) <= MOST_OF_MANY else copies


def _row_fits(k) -> str | None:
    """Whether this row has the values that the plan says of the other axes' conditions."""
    return rows_fit(k, k.kernel.borders, k.kernel.rows[-1].variable)


def rows_fit(k, borders, *apart: int) -> str | None:
    """Whether conditions have their values, but for those on some loops."""
    fits = None
    for border in borders:
        x = border.condition
        if not x.variables.isdisjoint(apart):
            continue
        holds = k.values[x.id].names[0]
        if not border.holds:
            holds = k.e.instruction(f"xor i1 {holds}, true")
        fits = holds if fits is None else k.e.instruction(f"and i1 {fits}, {holds}")
    return fits


def _step_of_middle(k, store: Store) -> int:
    """Elements that begin and end together: of a vector, or of a line where results go past the
    caches. What such stores leave of a line is read from memory and written again when others
    fill it (seven points of 256^3 on a Zen 3, whose vectors are half lines: 17 ms, so 7.5)."""
    nbytes = memory.nbytes(memory.memory_type(k.kernel.buffers[store.buffer][0]))
    return max(k.lanes, LINE_BYTES // nbytes) if k.kernel.stream else k.lanes


def aligned(k, store: Store, variable: int, first: str, last: str) -> str:
    """The first place from `first` on whose result begins a vector in memory (a line, if it goes
    past the caches), or `last`."""
    e = k.e
    type_ = memory.memory_type(k.kernel.buffers[store.buffer][0])
    if dict(store.position[1]).get(variable) != 1:
        return first
    row, distance = k.begun_rows.get((store.buffer, store.position, None), (None, 0))
    if row is None:
        base, _ = k.position_without(store.position, variable)
        row = memory.pointer_at(e, f"%b{store.buffer}", type_, base)
    start = memory.pointer_at(e, row, type_, memory._shifted(e, first, distance))
    number = e.instruction(f"ptrtoint ptr {start} to i64")
    beyond = e.instruction(f"udiv i64 {number}, {memory.nbytes(type_)}")
    last_bits = _step_of_middle(k, store) - 1
    missing = e.instruction(f"and i64 {e.instruction(f'sub i64 0, {beyond}')}, {last_bits}")
    return _extreme(e, "smin", e.instruction(f"add i64 {first}, {missing}"), last)


def _choice(e, condition: str, a: str, b: str) -> str:
    return e.instruction(f"select i1 {condition}, i64 {a}, i64 {b}")


def _whole_steps(k, first: str, last: str, span: int) -> str:
    """first + (last - first) / span * span."""
    length = k.e.instruction(f"sub i64 {last}, {first}")
    whole = k.e.instruction(f"and i64 {length}, {-span}")
    return k.e.instruction(f"add i64 {first}, {whole}")


def ends_of_middle(k, variable: int, low: str, high: str, borders=None) -> tuple[str, str]:
    """The middle of a row that fits: where its own conditions have the values of the plan. Or of
    another loop, by other `borders`."""
    e = k.e
    first, last = low, high
    for border in k.kernel.borders if borders is None else borders:
        x = border.condition
        if variable not in x.variables:
            continue
        start, stop = _range(k, x, variable)
        if border.holds or border.above:
            first = _extreme(e, "smax", first, start if border.holds else stop)
        if border.holds or not border.above:
            last = _extreme(e, "smin", last, stop if border.holds else start)
    first = _extreme(e, "smin", first, high)
    return first, _extreme(e, "smax", last, first)


def _range(k, x: Expr, variable: int) -> tuple[str, str]:
    """[start, stop) of the vector loop in which the condition holds."""
    e = k.e
    base, factor = k.position_without(x.args[0].attrs[-1], variable)
    assert factor in ("1", "-1"), "other steps need a division"
    limit = k.values[x.args[1].id].names[0]
    if factor == "1":
        return e.instruction(f"sub i64 0, {base}"), e.instruction(f"sub i64 {limit}, {base}")
    stop = e.instruction(f"add i64 {base}, 1")
    return e.instruction(f"sub i64 {stop}, {limit}"), stop


def _extreme(e, kind: str, a: str, b: str) -> str:
    e.declare(f"declare i64 @llvm.{kind}.i64(i64, i64)")
    return e.instruction(f"call i64 @llvm.{kind}.i64(i64 {a}, i64 {b})")
