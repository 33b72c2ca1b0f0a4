"""Loops over small state as one kernel: the state in registers, no step between the operations.

In: a "loop" call node. Out: one kernel, or None if the loop does not qualify. It qualifies if its
state is a few numbers (plus arrays to which each turn only writes one small row), and its body is
made of operations whose elements can be written out: then every element of the state becomes a
scalar expression of the elements before.
"""

import math
from types import SimpleNamespace

from . import affine as af
from .build_kernel import KernelBuilder
from .contractions import as_loops
from .expressions import COST, SLOW
from .kernel import Carry, Kernel, Loop, Stage, Store
from .pull_gather import clamped
from .pull_views import literal

MAX_STATE = 48  # elements kept in registers (more would spill, and the code is written per element)
MAX_ROW = 48  # elements written to a stacked result in one turn
MAX_TERMS = 16  # of a sum that is written out
MAX_EXPRESSIONS = 1200
MAX_TURNS = 1 << 22
# Work of costly operations on whole vectors, whose elements would be written out one by one: beyond
# it, kernels of a turn take less (100 turns of 8 x 8 exponentials and their sums 45 us, in kernels
# 12; of 4 x 4 13 and 18).
MOST_COSTLY, WHOLE_VECTOR = 400, 8


class NotSmall(Exception):
    """The loop is not made of a few numbers."""


class Leaves:
    """Stands for the partition while the body is written out: constants are loaded, all else is
    computed."""

    def __init__(self, partition, table):
        self.table = table
        self.views: dict = {}
        self.reshape = lambda node, shape: type(partition).reshape(self, node, shape)

    def view_of(self, node):
        return self.views.get(node.id)

    def request(self, node):
        raise NotSmall(node.op)

    def is_forced(self, node):
        return False

    def must_store(self, node, builder):
        return False

    def note_computed(self, node, builder):
        return None

    def note_repeated(self, node, cost):
        pass

    def note_place(self, node, root, index, guard, cost, columns):
        return None

    def should_split(self, node, is_row):
        return False


class StateBuilder(KernelBuilder):
    """Pulls elements at constant places; the state's elements are `carry` expressions. Of so many
    lanes as `batch` says, the first axis of the state or, if `is_last`, the last one is."""

    def __init__(self, leaves, batch=0, is_last=False):
        root = SimpleNamespace(shape=(), id=-1)
        super().__init__(leaves, [(root, None)])
        self.carried: dict[int, tuple[int, tuple]] = {}
        self.counted: dict[int, tuple] = {}
        self.counter = None
        self.written: set[int] = set()
        self.turn = self.new_variable(0)
        self.lane = (af.variable(self.new_variable(batch)),) if batch else ()
        self.is_last = is_last

    def _other(self, node, index, mask):
        if len(self.exprs) > MAX_EXPRESSIONS:
            raise NotSmall("too many operations")
        if node is self.counter:
            position = self.index_expr(af.variable(self.turn))
            return self.make("convert", (position,), node.dtype)
        if node.id in self.carried:
            return self._carry(node, index)
        if node.id in self.counted:
            return self._count(node)
        if node.op == "dot":
            return self.value(self._as_sum(node), index, mask)
        return super()._other(node, index, mask)

    def _carry(self, node, index):
        first, shape = self.carried[node.id]
        lane, index = self._apart(tuple(index))
        if lane != self.lane:
            raise NotSmall("an element of another lane")
        position = af.dot(index, af.contiguous_strides(self._apart(shape)[1]))
        if position[1]:
            raise NotSmall("an element of the state at a traced position")
        used = self.variables_of(af.variable(self.turn), *self.lane)
        return self.make("carry", (), node.dtype, (first + position[0],), used, cost=0)

    def _count(self, node):
        """A counter: its first value plus so many steps."""
        view, step = self.counted[node.id]
        turn = self.make("convert", (self.index_expr(af.variable(self.turn)),), node.dtype)
        gone = self.make("mul", (turn, self.value(step, ())), node.dtype)
        return self.make("add", (self.load(view, ()), gone), node.dtype)

    def elements(self, shape):
        """The places of a lane's elements in an array of the state."""
        own = _places(self._apart(shape)[1])
        if self.is_last:
            return [(*place, *self.lane) for place in own]
        return [(*self.lane, *place) for place in own]

    def _apart(self, index):
        """What of an index or a shape belongs to the lanes, and what is a lane's own."""
        count = len(self.lane)
        if self.is_last:
            return index[len(index) - count :], index[: len(index) - count]
        return index[:count], index[count:]

    def load(self, view, index, mask=None, variables=frozenset()):
        if view.buffer.id in self.written:  # by earlier turns
            variables = variables | {self.turn}
        return super().load(view, index, mask, variables)

    def _as_sum(self, node):
        return as_loops(self.partition, node)

    def reduction(self, node, index, mask, kind, axes):
        source = node.args[0]
        extents = tuple([source.shape[a] for a in axes])
        if node.op != "reduce" or not 0 < math.prod(extents) <= MAX_TERMS or mask is not None:
            raise NotSmall("a long reduction")
        return self._unrolled(source, index, kind, axes, extents)


def build_register_loop(partition, bodies, consts, own, tests, state, flag, firsts):
    """(kernel, buffers, which parts of the state begin with given numbers) of a loop, or None.
    `flag`: a byte for loops with a test; `firsts`: see `number_of`."""
    test, body, count = bodies
    if count > MAX_TURNS:
        return None  # one call of a kernel cannot be interrupted
    if _work_in_vectors(body.graph) > MOST_COSTLY:
        return None
    try:
        return _build(partition, test, body, count, consts, own, tests, state, flag, firsts)
    except NotSmall:
        return None


def _work_in_vectors(graph) -> int:
    """The cost of the costly elementwise operations that fill vectors."""
    costs = [(n, COST.get(n.op, 1)) for n in graph.nodes() if n.size >= WHOLE_VECTOR]
    return sum(cost * n.size for n, cost in costs if cost >= SLOW)


def bind_inputs(builder, leaves, body, counted, consts, captured, state, kinds):
    """Tells the builder what each input of a body's graph is."""
    inputs = list(body.graph.inputs)
    builder.counter = inputs.pop(0) if counted else None
    builder.carried = {}
    leaves.views = {}
    for node, view in zip(inputs[: len(consts)], consts, strict=True):
        leaves.views[node.id] = view
    for node, view in zip(body.captured, captured, strict=True):
        leaves.views[node.id] = view
    first = 0
    for node, view, kind in zip(inputs[len(consts) :], state, kinds, strict=True):
        if kind == "carry":
            builder.carried[node.id] = (first, node.shape)
            first += len(builder.elements(node.shape))
        elif kind == "same" or (kind == "row" and not builder.lane):
            leaves.views[node.id] = view
            if kind == "row":
                builder.written.add(view.buffer.id)
    return inputs[len(consts) :]


def _build(partition, test, body, count, consts, own, tests, state, flag, firsts):
    inputs = body.graph.inputs[len(body.graph.inputs) - len(state) :]
    kinds = [
        kind_of_state(body.graph, old, new)
        for old, new in zip(inputs, body.graph.outputs, strict=True)
    ]
    carried_size = sum(n.size for n, k in zip(inputs, kinds, strict=True) if k == "carry")
    if carried_size > MAX_STATE or carried_size == 0 or 0 in [v.buffer.size for v in state]:
        raise NotSmall("the state is large")
    leaves = Leaves(partition, body.table)
    builder = StateBuilder(leaves)
    builder.extents[builder.turn] = max(count, 0)
    bind_inputs(builder, leaves, body, count >= 0, consts, own, state, kinds)
    stage = Stage([Loop(builder.turn, max(count, 0))])
    # a loop with a test may be called again, and goes on with what it has left
    firsts = [f if k == "carry" and test is None else None
              for f, k in zip(firsts, kinds, strict=True)]  # fmt: skip
    for new, view, kind, first in zip(body.graph.outputs, state, kinds, firsts, strict=True):
        if kind == "carry":
            carry_elements(builder, stage, new, view, first)
        elif kind == "row":
            store_row(builder, stage, new, view)
    if test is not None:
        leaves.table = test.table
        builder.memo = {}
        bind_inputs(builder, leaves, test, False, consts, tests, state, kinds)
        stage.test = builder.value(test.graph.outputs[0], ())
        stage.flag = builder.buffer_number(flag, "out")
    kernel = Kernel(
        builder.buffers, [], [stage], [], "none", builder.exprs,
        operations=tuple(builder.operations), label="loop",
    )  # fmt: skip
    begun = [first is not None for first in firsts]
    return kernel, [partition.buffers[i] for i in builder.buffer_ids], begun


def kind_of_state(graph, old, new, longest=MAX_ROW, unread=False) -> str:
    """same | row (only one row is written, of at most `longest` elements) | carry.

    The other elements of an array with rows may be read, unless `unread`: in one loop all loads of
    a turn come before its stores, but lanes must not see what other lanes have stored."""
    if old is new:
        return "same"
    if new.op == "dynamic_update_slice" and new.args[0] is old and (
        longest is None or new.args[1].size <= longest
    ):
        replaced = row_replaced(new)
        uses = sum(a is old and n is not replaced for n in graph.nodes() for a in n.args)
        traced = any(s.op != "lit" for s in new.args[2:])
        if (uses == 1 or not unread) and traced and graph.outputs.count(new) == 1:
            return "row"
    return "carry"


def row_replaced(new):
    """What was where a row is written, if the row is `select(mask, value, what was there)`."""
    operand, update, *starts = new.args
    if update.op != "select":
        return None
    before = update.args[2]
    same = before.op == "dynamic_slice" and before.args[0] is operand
    return before if same and list(before.args[1:]) == starts else None


def _places(shape):
    """Every constant multi-index of a shape, in row-major order."""
    for flat in range(math.prod(shape)):
        place = []
        for n in reversed(shape):
            place.append(af.constant(flat % n))
            flat //= n
        yield tuple(place[::-1])


def carry_elements(builder, stage, new, view, first) -> None:
    """`first`: what the state begins with, if that is one number (see `number_of`)."""
    number = builder.buffer_number(view.buffer, "inout" if first is None else "out")
    start = literal(builder, first) if first is not None else None
    for place in builder.elements(new.shape):
        position, value = builder.position_in(view, place), builder.value(new, place)
        stage.carried.append(Carry(number, position, new.dtype, value, start))


def number_of(node):
    """The "lit" node that all elements of a node are, or None: the state of a loop that begins with
    it need not be written before."""
    code = node.dtype
    while node.op in ("broadcast", "reshape"):
        node = node.args[0]
    return node if node.op == "lit" and node.dtype == code else None


def store_row(builder, stage, new, view, lane_axis=None) -> None:
    update, starts = new.args[1], new.args[2:]
    number = builder.buffer_number(view.buffer, "out")
    first = [
        clamped(builder, builder.value(s, ()), n - size)
        for s, n, size in zip(starts, new.shape, update.shape, strict=True)
    ]
    mask = None
    if row_replaced(new) is not None:
        mask, update = update.args[:2]
    for place in _row_places(builder, update.shape, lane_axis):
        where = [af.add(a, b) for a, b in zip(place, first, strict=True)]
        position = builder.position_in(view, where)
        written = builder.value(mask, place) if mask is not None else None
        stage.stores.append(Store(number, position, builder.value(update, place), written))


def _row_places(builder, shape, lane_axis):
    if lane_axis is None:
        yield from _places(shape)
        return
    for place in _places((*shape[:lane_axis], *shape[lane_axis + 1 :])):
        yield (*place[:lane_axis], *builder.lane, *place[lane_axis:])
