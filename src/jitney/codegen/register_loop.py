"""Loops whose state stays in registers from turn to turn.

In: a stage with carried values (`Carry`). Out: one native loop: the state is loaded once, each turn
computes the next state in registers (scalars, or vectors of as many independent loops as there are
lanes) or begins with given numbers, and the last state is stored.
"""

from . import memory, reduce
from .instructions import Value

TURNS_A_CALL = 1 << 20  # a few milliseconds: between calls the program can be interrupted


def emit_register_loop(k, s, stage) -> None:
    """The whole loop, with the loads before and the stores after it."""
    e = k.e
    places = [k._place(c.position) for c in stage.carried]
    start = [_begin(k, c, place) for c, place in zip(stage.carried, places, strict=True)]
    if stage.test is not None:
        final = _while_loop(k, s, stage, start)
    else:
        final = _counted_loop(k, s, stage, start)
    for c, place, value in zip(stage.carried, places, final, strict=True):
        mask = _mask_of(k, place)
        memory.store(e, c.dtype, f"%b{c.buffer}", place, value, k.lanes, mask)


def _begin(k, c, place):
    """The value before the first turn."""
    if c.start is not None:
        return reduce.every_copy(k.e, k._as_lanes(k.values[c.start.id]))
    return memory.load(k.e, c.dtype, f"%b{c.buffer}", place, k.lanes, _mask_of(k, place))


def _mask_of(k, place):
    return k.mask if place.step is not None else None


def _turn(k, s, stage, expressions):
    """One turn: emits the expressions and the stores; gives the next values."""
    for x in expressions:
        k.values[x.id] = k._expression(x)
    for store in stage.stores:
        k._store(store)
    return [k._as_lanes(k.values[c.next.id]) for c in stage.carried]


def _counted_loop(k, s, stage, start):
    loop = stage.loops[0]
    high = k.slotted.extents[loop.variable]
    high = f"%{high}" if high[0] == "s" else high

    def body(index, carried):
        k.scalars[loop.variable] = index
        k.carry_values = carried
        return _turn(k, s, stage, k.homes.get((s, 0), ()))

    return k.loop("0", high, "1", start, body, "turn")


def _needed_by(test, expressions):
    """Ids of the expressions a test needs."""
    wanted, known = {test.id}, {x.id: x for x in expressions}
    for x in reversed(list(expressions)):
        if x.id in wanted:
            wanted |= {a.id for a in x.args if a.id in known}
            if x.op in ("load", "index"):
                wanted |= {-1 - atom for atom, _ in x.attrs[-1][1] if atom < 0}
    return wanted


def _while_loop(k, s, stage, start):
    e, expressions = k.e, k.homes.get((s, 0), [])
    wanted = _needed_by(stage.test, expressions)
    head, inside, done = (e.fresh_label(f"while.{part}") for part in ("head", "body", "done"))
    before = e.block
    e.emit_raw(f"  br label %{head}")
    e.begin_block(head)
    phis, lines = [], []
    for value in start:
        lines.append(len(e.lines))
        e.lines.append("")
        phis.append(Value((e.fresh(),), value.type, 1))
    turns, following, limited, go_on = (e.fresh() for _ in range(4))
    e.emit_raw(
        f"  {turns} = phi i64 [ 0, %{before} ], [ {following}, %{inside}.latch ]"
    )
    k.carry_values = phis
    memo, values = dict(e._memory), dict(k.values)
    for x in expressions:
        if x.id in wanted:
            k.values[x.id] = k._expression(x)
    test = k.values[stage.test.id].names[0]
    e.emit_raw(f"  {limited} = icmp slt i64 {turns}, {TURNS_A_CALL}")
    e.emit_raw(f"  {go_on} = and i1 {test}, {limited}")
    e.emit_raw(f"  br i1 {go_on}, label %{inside}, label %{done}")
    e.begin_block(inside)
    results = _turn(k, s, stage, [x for x in expressions if x.id not in wanted])
    latch = f"{inside}.latch"
    e.emit_raw(f"  br label %{latch}")
    e.begin_block(latch)
    e.emit_raw(f"  {following} = add i64 {turns}, 1")
    e.emit_raw(f"  br label %{head}")
    for line, phi, first, last in zip(lines, phis, start, results, strict=True):
        e.lines[line] = (
            f"  {phi.names[0]} = phi {first.text} [ {first.names[0]}, %{before} ], "
            f"[ {last.names[0]}, %{latch} ]"
        )
    e._memory, k.values = memo, values
    e.begin_block(done)
    e.emit_raw(f"  {limited}.b = zext i1 {test} to i8")
    e.emit_raw(f"  store i8 {limited}.b, ptr %b{stage.flag}")
    return phis
