"""Steps for loops and branches: nested lists of steps over the same buffers.

In: a "loop" or "branch" call node. Out: a `LoopStep` or `BranchStep`. The state of a loop lives in
the buffers of its results: they are initialised, and each turn of the loop leaves the next state in
them (`in_place.py`: without copying wherever that is right).
"""

from functools import partial

from ..ir.types import nbytes_of
from .alternate import LEAST_TURNS, alternate, alternate_while, are_simple, is_worth_it
from .block_turns import block_turns, keep_in_caches
from .buffers import CopyStep, Item, LoopStep, View, choose_branch, touched, whole
from .choose_stored import heaviest, stored_anyhow, worth_storing
from .circles import Apart, keep_apart
from .exchange import exchange, find_exchange
from .in_place import is_copy, merge_copies, readers_first, root_of, update_in_place
from .invariant import costly_invariants, split_invariant
from .kernel import Kernel, Store
from .lane_loop import build_lane_loop
from .localize import localize
from .make_steps import emit_into
from .order_items import order_items
from .partition import Partition
from .register_loop import Leaves, StateBuilder, build_register_loop, number_of
from .routines import CALLS, stored_view
from .updates import separate_updates
from .write_kernel import add_kernel

SMALL_LOOP_NS = 100.0
LOOP_TURN_NS = 30.0  # a turn of a loop in registers
ROUNDS = 8  # partitions of a body tried at most


def _nested(partition, body, input_views, captured_views, beside=False, changing=None):
    """A partition of a body whose inputs live in the given views of the outer buffers.

    `changing`: which of them another turn finds changed, if it is the body of a loop. What is
    stored and merged in the end, the next partition of the same body begins with (`learnt`): else
    loops in loops would be partitioned again and again."""
    mark = len(partition.buffers)
    key = id(body.graph), beside, changing is None
    anyhow = id(body.graph), "anyhow"
    if anyhow not in partition.learnt:
        partition.learnt[anyhow] = stored_anyhow(body.graph)
    forced, cuts = partition.learnt[anyhow]
    if changing is not None:
        forced |= costly_invariants(body.graph, changing)
    known, apart = partition.learnt.get(key, (frozenset(), Apart()))
    forced |= known
    rounds = ROUNDS
    while rounds:
        del partition.buffers[mark:]
        for number in [b for b in partition.aliases if b >= mark]:
            del partition.aliases[number]
        inner = Partition(
            body.graph, body.table, partition.target, forced, partition.plan_contraction,
            partition.buffers, apart, cuts, partition.learnt,
        )  # fmt: skip
        for node, view in zip(body.graph.inputs, input_views, strict=True):
            inner.views[node.id] = view
        for node, view in zip(body.captured, captured_views, strict=True):
            inner.views[node.id] = view
        inner.aliases = partition.aliases
        inner.graph = separate_updates(inner, body.graph, beside)
        inner.run()
        before, apart = apart, keep_apart(inner.items, apart)
        if apart != before:
            continue  # not counted: what waits for itself must not be the last word
        rounds -= 1
        twice = inner.work.computed_twice(forced)
        repeated = inner.work.computed_again(forced)
        if not twice and not repeated:
            break
        if twice and rounds < ROUNDS - 1:
            forced = forced | worth_storing(twice, inner, forced)
        else:
            repeated |= twice
        if repeated:
            forced = forced | heaviest(repeated, inner.work.node_of)
    partition.learnt[key] = forced, apart
    return inner


def _steps(items):
    return [step for item in items for step in item.steps]


def _call_loop(partition, node, item: Item) -> None:
    (test, body, count), n_state = node.attrs[2:]
    views = [stored_view(partition, a) for a in node.args[: len(node.args) - n_state]]
    n_body, n_test = len(body.captured), len(test.captured) if test is not None else 0
    own = views[len(views) - n_body :] if n_body else []
    tests = views[len(views) - n_body - n_test : len(views) - n_body] if n_test else []
    consts = views[: len(views) - n_body - n_test]
    state = [partition.result_view(node, i) for i in range(n_state)]
    values = node.args[len(node.args) - n_state :]
    begin, bodies = partial(_begin, partition, values, state, item), (test, body, count)
    firsts = [*map(number_of, values)]
    if _is_one_kernel(partition, item, bodies, (consts, own, tests), state, begin, firsts):
        return
    begin([False] * n_state)
    counter = partition.new_buffer("i32", 1) if count >= 0 else None
    counted = [whole(counter, ())] if counter is not None else []
    many = count < 0 or count >= LEAST_TURNS
    beside = many and not (counted and body.graph.users_of(body.graph.inputs[0]))
    fixed = slice(len(counted), len(counted) + len(consts))
    moving = [n for n in body.graph.inputs if n not in body.graph.inputs[fixed]]
    inner = _nested(partition, body, [*counted, *consts, *state], own, beside, moving)
    changing = [v.buffer.id for v in [*counted, *state]]
    steps, places = _turn(partition, inner, state, count)
    before, steps = split_invariant(
        partition.aliases, steps,
        {root_of(partition.aliases, b) for b in changing},
    )  # fmt: skip
    for step in before:
        item.add(step)
    steps = localize(partition.aliases, steps)
    predicate, test_steps = None, []
    if test is not None:
        tested = _nested(partition, test, [*consts, *state], tests)
        predicate = tested.output_buffers[0]
        test_steps = _steps(order_items(tested.items))
        steps = alternate_while(partition.aliases, steps, state, test_steps, predicate) or steps
    for turn, number, first, by in _turns(partition, steps, state, counter, count, places):
        reads, writes = touched(test_steps + turn)
        writes |= set(changing)
        cost = (sum(s.cost for s in turn) + SMALL_LOOP_NS) * (number if number >= 0 else 1000)
        turn, blocks = _in_blocks(partition, turn, number if by == 1 else 1, changing)
        item.add(
            LoopStep(
                test_steps, turn, predicate, counter, number, reads - writes, writes, cost, blocks,
                first, by,
            )
        )  # fmt: skip


def _in_blocks(partition, turn, number: int, changing):
    """(the steps of a turn, the blocks of rows they go by, or None)."""
    if number < LEAST_TURNS:
        return turn, None
    blocks = block_turns(partition.aliases, turn, number, changing, partition.target)
    return [keep_in_caches(step) for step in turn] if blocks else turn, blocks


def _turns(partition, steps, state, counter, count: int, places):
    """(steps, how often, -1 while the test holds, where the counter begins and how it goes on) of
    the loops that make up a loop."""
    found = None
    counts = counter is not None and any(counter.id in touched([s])[0] for s in steps)
    if count >= LEAST_TURNS and not (counts and _are_blocks(partition, steps, count, state)):
        advance = partial(_advance, partition, counter) if counts else None
        spare = partial(_spare, partition)
        found = alternate(partition.aliases, steps, state, places, advance, spare)
    if found is None:
        yield steps, count, 0, 1
        return
    both, last = found
    yield both, count // 2, 0, 2 if counts else 1
    if count % 2:
        yield last, 1, count - 1, 1


def _advance(partition, counter):
    """A step that adds one to a counter."""
    builder, item, view = StateBuilder(Leaves(partition, {})), Item([]), whole(counter, ())
    following = builder.make("add", (builder.load(view, ()), builder.integer(1, "i32")), "i32")
    number = builder.buffer_number(counter, "out")
    store = Store(number, builder.position_in(view, ()), following)
    kernel = Kernel(builder.buffers, [], [], [store], "none", builder.exprs, label="count")
    add_kernel(kernel, [partition.buffers[i] for i in builder.buffer_ids], item, 1.0, 2)
    return item.steps[0]


def _spare(partition, buffer):
    return partition.new_buffer(buffer.code, buffer.size)


def _begin(partition, values, state, item, begun) -> None:
    """Writes what the state begins with, but for the parts that a kernel begins itself."""
    for value, view, known in zip(values, state, begun, strict=True):
        if not known:
            emit_into(partition, value, view, item)


def _is_one_kernel(partition, item, loop, inputs, state, begin, firsts) -> bool:
    """Adds the kernel or kernels that do all of a small loop, if that can be done."""
    (test, body, count), (consts, own, tests) = loop, inputs
    lanes = build_lane_loop(partition, body, count, consts, own, state, firsts)
    if lanes is not None:
        kernels, begun = lanes
        begin(begun)
        for kernel, buffers, cost, size in kernels:
            add_kernel(kernel, buffers, item, cost, size)
        return True
    flag = partition.new_buffer("b1", 1) if test is not None else None
    small = build_register_loop(
        partition, (test, body, count), consts, own, tests, state, flag, firsts
    )
    if small is not None:
        kernel, buffers, begun = small
        begin(begun)
        _add_register_loop(partition, item, (kernel, buffers), flag, count)
    return small is not None


def _add_register_loop(partition, item, small, flag, count) -> None:
    """The kernel; one that runs while a test holds is called again until the test fails, so that
    an endless loop can be interrupted between calls."""
    kernel, buffers = small
    if flag is None:
        add_kernel(kernel, buffers, item, LOOP_TURN_NS * count)
        return
    inner = Item([])
    add_kernel(kernel, buffers, inner, LOOP_TURN_NS * 1000)
    reads, writes = touched(inner.steps)
    cost = LOOP_TURN_NS * 1000
    item.add(LoopStep(inner.steps, [], flag, None, -1, reads - writes, writes, cost))


def _turn(partition, inner, state, count: int):
    """(the steps of one turn: the body, then copies of what could not be written in place; two
    buffers of the state that have changed places then, or None)."""
    pairs = [(v.buffer, new) for v, new in zip(state, inner.output_buffers, strict=True)]
    inputs = inner.graph.inputs[len(inner.graph.inputs) - len(state) :]
    items = order_items(inner.items)
    found = find_exchange(inner.graph.outputs, inputs, pairs) if count >= LEAST_TURNS else None
    if found is None or not are_simple(_steps(items)):
        return _plain_turn(partition, inner, items, inputs, pairs), None
    aliases, before = partition.aliases, dict(partition.aliases)
    plain = _plain_turn(partition, inner, items, inputs, pairs)
    moved_bytes = sum(pairs[k][0].nbytes for k in found)
    if not is_worth_it(plain, moved_bytes) or _are_blocks(partition, plain, count, state):
        return plain, None
    after = dict(aliases)
    aliases.clear()
    aliases.update(before)
    lost, moved = found
    mixed = [p for k, p in enumerate(pairs) if k not in found]
    mixed.append((pairs[lost][0], pairs[moved][1]))
    steps = exchange(aliases, _steps(readers_first(aliases, items, mixed)), pairs, found)
    if steps is None:
        aliases.update(after)
        return plain, None
    changing, steps = _changing(inner, inputs, pairs, steps, found)
    return update_in_place(aliases, steps, changing), (pairs[lost][0], pairs[moved][0])


def _plain_turn(partition, inner, items, inputs, pairs):
    steps = _steps(readers_first(partition.aliases, items, pairs))
    changing, steps = _changing(inner, inputs, pairs, steps, ())
    return update_in_place(partition.aliases, steps, changing)


def _are_blocks(partition, steps, count: int, state) -> bool:
    """Whether the rows of a loop have nothing to do with one another: it goes by blocks of them
    then, in the caches, where a copy costs little."""
    changing = [v.buffer.id for v in state]
    return block_turns(partition.aliases, steps, count, changing, partition.target) is not None


def _changing(inner, inputs, pairs, steps, but) -> tuple[list, list]:
    """(pairs of parts of the state that a turn changes, `but` some; its steps without copies of
    those that stay as they are)."""
    changing = []
    nodes = zip(inner.graph.outputs, inputs, pairs, strict=True)
    for number, (node, own, (old, new)) in enumerate(nodes):
        if node is own:
            steps = [s for s in steps if not is_copy(s, old, new)]
        elif new.size and number not in but:
            changing.append((old, new))
    return changing, steps


def _call_branch(partition, node, item: Item) -> None:
    bodies = node.attrs[2]
    index = stored_view(partition, node.args[0])
    views = [stored_view(partition, a) for a in node.args[1:]]
    captured = sum(len(body.captured) for body in bodies)
    operands, rest = views[: len(views) - captured], views[len(views) - captured :]
    results = [partition.result_view(node, i) for i in range(len(node.attrs[1]))]
    branches = []
    for body in bodies:
        own, rest = rest[: len(body.captured)], rest[len(body.captured) :]
        inner = _nested(partition, body, operands, own)
        steps = merge_copies(partition.aliases, _steps(order_items(inner.items)), [])
        filled = touched(steps)[1]
        for new, view in zip(inner.output_buffers, results, strict=True):
            _deliver(partition, steps, filled, new, view)
        branches.append(steps)
    place = (index.buffer, index.offset * nbytes_of(index.buffer.code))
    step = choose_branch(place, branches)
    step.writes |= {v.buffer.id for v in results}
    step.reads -= step.writes
    step.cost += SMALL_LOOP_NS
    item.add(step)


def _deliver(partition, steps, filled, new, view: View) -> None:
    """A branch's result is computed straight into the common result buffer: only one branch runs,
    so all of them may have their result there."""
    if not new.size:
        return
    home = root_of(partition.aliases, new.id)
    if home in filled and view.is_whole and new.nbytes == view.buffer.nbytes:
        partition.aliases[home] = view.buffer.id  # and no second result may be there
    else:
        steps.append(CopyStep((new, 0), (view.buffer, 0), new.nbytes))


CALLS["loop"] = _call_loop
CALLS["branch"] = _call_branch
