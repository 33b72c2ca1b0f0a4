"""Many independent loops as one kernel: each lane of the vector registers runs a loop of its own.

In: a counted "loop" call node whose state is arrays with a common first axis (what `vmap` makes of
a scan) or last axis (coordinates of many points, say). Out: one kernel, or None if the loop does
not qualify. It qualifies if no element of the state depends on elements at another place of that
axis: then the state of as many loops as there are lanes stays in registers for all turns, and
threads share the axis. Arrays to which each turn writes one row are stored to in passing; integer
counters become functions of the turn.
(Common last axes, a Zen 5, two threads and one, beside kernels of each turn: epidemics at 10,000
points .14 and .23 of the time, pendula with their paths .22 and .43, Kepler's problem .51 and .96,
its gradient .37 and .55.)
"""

import math

from .kernel import Kernel, Loop, Stage, Store
from .register_loop import (
    MAX_ROW,
    MAX_STATE,
    MAX_TURNS,
    Leaves,
    NotSmall,
    StateBuilder,
    bind_inputs,
    carry_elements,
    kind_of_state,
    store_row,
)

FEWEST = 8  # loops: with fewer most lanes would be idle
NS_PER_OPERATION = 0.05  # of one lane


def build_lane_loop(partition, body, count, consts, own, state, firsts):
    """([(kernel, buffers, nanoseconds, small)], which parts of the state begin with given numbers)
    of a loop, or None. `firsts`: see `number_of`."""
    if not 0 < count <= MAX_TURNS:
        return None
    for is_last in (False, True):
        try:
            return _build(partition, body, count, consts, own, state, firsts, is_last)
        except NotSmall:
            continue
    return None


def _build(partition, body, count, consts, own, state, firsts, is_last):
    inputs = body.graph.inputs[len(body.graph.inputs) - len(state) :]
    pairs = list(zip(inputs, body.graph.outputs, strict=True))
    kinds, axes = _kinds(body.graph, pairs)
    carried = [old for (old, _), k in zip(pairs, kinds, strict=True) if k == "carry"]
    batch = _batch(carried, -1 if is_last else 0)
    if is_last and all(len(n.shape) == 1 for n in carried):
        raise NotSmall("the first axis is the last one")
    leaves = Leaves(partition, body.table)
    builder = StateBuilder(leaves, batch, is_last)
    builder.extents[builder.turn] = count
    bind_inputs(builder, leaves, body, True, consts, own, state, kinds)
    _bind_counters(builder, pairs, state, kinds)
    stage = Stage([Loop(builder.turn, count)])
    firsts = [f if k == "carry" else None for f, k in zip(firsts, kinds, strict=True)]
    for (_, new), view, kind, first in zip(pairs, state, kinds, firsts, strict=True):
        if kind == "carry":
            carry_elements(builder, stage, new, view, first)
        elif kind == "row":
            store_row(builder, stage, new, view, _lane_axis(axes[new.id], batch, is_last))
    rows = [Loop(builder.lane[0][1][0][0], batch)]
    kernel = Kernel(
        builder.buffers, rows, [stage], [], "row", builder.exprs,
        operations=tuple(builder.operations), label="loops",
    )  # fmt: skip
    buffers = [partition.buffers[i] for i in builder.buffer_ids]
    cost = NS_PER_OPERATION * len(builder.exprs) * count * batch
    made = [(kernel, buffers, cost, int(batch < 64))]
    made += [
        _advance_counter(partition, leaves, old, new, view, count)
        for (old, new), view, kind in zip(pairs, state, kinds, strict=True)
        if kind == "counter"
    ]
    return made, [first is not None for first in firsts]


def _batch(carried, axis: int) -> int:
    """The extent of the first or last axis of all arrays of the state."""
    if not carried or not all(n.shape for n in carried):
        raise NotSmall("no axis in common")
    batch = carried[0].shape[axis]
    if batch < FEWEST or any(n.shape[axis] != batch for n in carried):
        raise NotSmall("no axis in common")
    if not 0 < sum(n.size for n in carried) // batch <= MAX_STATE:
        raise NotSmall("the state is large")
    return batch


def _kinds(graph, pairs):
    """same | counter | row | carry, and for rows the axes that are written whole."""
    kinds, axes = [], {}
    for old, new in pairs:
        kind = kind_of_state(graph, old, new, None, unread=True)
        if kind == "carry" and _step_of(old, new) is not None:
            kind = "counter"
        if kind == "row":
            update, starts = new.args[1], new.args[2:]
            axes[new.id] = [
                (a, n) for a, (n, s) in enumerate(zip(update.shape, starts, strict=True))
                if s.op == "lit" and s.attrs[0] == 0 and n == new.shape[a]
            ]  # fmt: skip
        kinds.append(kind)
    return kinds, axes


def _lane_axis(whole, batch, is_last) -> int:
    """The axis of a row that runs over the lanes: scans put it first after their own, or last."""
    found = [axis for axis, extent in whole if extent == batch]
    if not found:
        raise NotSmall("a row that the lanes do not share")
    lanes = found[-1 if is_last else 0]
    rest = math.prod(extent for axis, extent in whole if axis != lanes)
    if rest > MAX_ROW:
        raise NotSmall("a long row")
    return lanes


# ---------------------------------------------------------------------- counters
def _step_of(old, new):
    """The literal an integer scalar grows by in each turn."""
    if old.shape != () or old.dtype[0] not in "iu" or new.op != "add":
        return None
    others = [a for a in new.args if a is not old]
    return others[0] if len(others) == 1 and others[0].op == "lit" else None


def _bind_counters(builder, pairs, state, kinds) -> None:
    for (old, new), view, kind in zip(pairs, state, kinds, strict=True):
        if kind == "counter":
            builder.counted[old.id] = (view, _step_of(old, new))


def _advance_counter(partition, leaves, old, new, view, count):
    """What the counter is after the last turn: stored by a kernel of its own, since all lanes read
    what it was before the first."""
    builder = StateBuilder(leaves)
    builder.counted[old.id] = (view, _step_of(old, new))
    first = builder.load(view, ())
    turns = builder.integer(count, old.dtype)
    gone = builder.make("mul", (turns, builder.value(_step_of(old, new), ())), old.dtype)
    number = builder.buffer_number(view.buffer, "out")
    last = builder.make("add", (first, gone), old.dtype)
    store = Store(number, builder.position_in(view, ()), last)
    kernel = Kernel(builder.buffers, [], [], [store], "none", builder.exprs, label="count")
    return kernel, [partition.buffers[i] for i in builder.buffer_ids], 1.0, 2
