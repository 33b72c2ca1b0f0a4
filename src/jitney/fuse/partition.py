"""Decides which nodes live in buffers and which kernel computes each of them.

In: a Graph. Out: a `Partition`: buffers, views of them by node, and items of steps. Works backwards
from the outputs: each wanted node becomes the root of a kernel that computes everything down to
nodes which already live in a buffer. The rules of fusion, in order:

 1. Inputs, captured arrays and outputs live in buffers; so does what a routine reads or writes.
 2. Elementwise nodes and views are computed where they are used.
 3. A reduction is a stage of the kernel that uses it once a row ([Note: rows]).
 4. A costly node or a reduction that two kernels would compute, or one kernel for each row again,
    is stored once instead (`forced`): the partition is made again with that knowledge
    (`repeated_work.py`, `choose_stored.py`).
 5. A long reduction with few results is split in pieces that depend on its size alone, so that the
    sum is the same for any number of threads, or by rows (`split_reductions.py`).
 6. Outputs of equal shape that share a source are computed by one kernel; so are small nodes that
    kernels asked for, parts of concatenations, and reductions over the same loops with the arrays
    that are made of what they read (`group_roots.py`, `sibling_reductions.py`), and rows of arrays
    that a loop stacks (`group_updates.py`); but for those whose kernels would wait for each other
    (`circles.py`).
"""

import math
from itertools import compress
from operator import not_

from ..graph.graph import Graph
from ..ir.node import Node
from ..ir.strides import contiguous_strides
from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from .buffers import Buffer, CopyStep, Item, View, whole
from .choose_stored import heaviest, needed, stored_anyhow, worth_storing
from .circles import Apart, keep_apart
from .group_roots import alike, beside, with_neighbours
from .group_updates import group_updates
from .layout import product_strides
from .make_steps import emit_roots
from .repeated_work import RepeatedWork
from .reshape_broadcast import is_reshaped, reshaped_broadcast
from .sibling_reductions import Waiting, is_large

# Partitions tried: forcing more values into buffers rarely changes a third one, but what rows would
# repeat, or kernels compute of many elements, is looked for in two more (roots in gradients of
# batch normalization: .7 to .9 of the time)
ROUNDS, MORE_ROUNDS = 3, 2
MOST_WAITING = 64  # nodes among which a reduction is looked for that an array may join


class Partition:
    """State of one partition. Kernel builders ask `view_of`, `request` and the predicates."""

    def __init__(
        self,
        graph: Graph,
        table,
        target: CpuTarget,
        forced=frozenset(),
        plan_contraction=None,
        buffers=None,
        apart=None,
        cuts=None,
        learnt=None,
    ):
        self.graph = graph
        self.table = table
        self.target = target
        self.forced = forced
        self.cuts = cuts or {}  # nodes where chains are cut, by number (cut_chains.py)
        self.learnt = {} if learnt is None else learnt  # of loops' bodies (loops.py)
        self.levels: dict[int, int] = {}  # of small nodes, and which are steps (levels.py)
        self.steps: dict[int, bool] = {}
        self.computed_with: dict[int, list[Node]] = {}  # what one kernel computes with a node
        self.made_of: dict[int, set] = {}  # what kernels of nodes would compute (group_roots.py)
        self.plan_contraction = plan_contraction
        self.views: dict = {}
        self.is_nested = buffers is not None
        self.apart = apart or Apart()  # what is not computed together with other nodes
        self.buffers: list[Buffer] = [] if buffers is None else buffers
        self.aliases: dict[int, int] = {}
        self.pending: list[Node] = []
        self.items: list[Item] = []
        self.work = RepeatedWork(self.is_nested)
        self.origins: dict[int, Node] = {}  # whose pieces a partial reduction has
        self.separated: set[int] = set()  # updates that need not be looked at again (updates.py)
        self.kept: set[int] = set()  # outputs that happen in place as they are (the same)
        if self.is_nested:
            return
        for node in graph.inputs:
            self._store_leaf(node, "in")
        for node in graph.nodes():
            if node.op == "const":
                self._store_leaf(node, "const")

    # ------------------------------------------------------------------ questions of builders
    def view_of(self, node: Node) -> View | None:
        """Where a node lives, if it does."""
        view = self.views.get(node.id)
        if view is None and is_reshaped(node):
            inner = self.view_of(node.args[0])
            if inner is not None and inner.is_contiguous:
                view = self.views[node.id] = inner.reshaped(node.shape)
        return view

    def request(self, node: Node) -> View:
        """Where a node will live; it is computed by a kernel of its own."""
        view = self.view_of(node)
        if view is not None:
            return view
        if is_reshaped(node):
            return self.request(node.args[0]).reshaped(node.shape)
        if node.op == "part":
            self.request_call(node.args[0])
            return self.views[node.id]
        buffer = self.new_buffer(node.dtype, node.size)
        view = self.views[node.id] = View(buffer, node.shape, self.strides_for(node))
        self.pending.append(node)
        return view

    def strides_for(self, node: Node) -> tuple[int, ...]:
        """With which strides a node will be stored that is asked for."""
        if node.op == "dot":
            return product_strides(node, self.graph.users_of(node))
        return contiguous_strides(node.shape)

    def request_call(self, call: Node) -> None:
        """Buffers for all results of a routine."""
        for i, (shape, code) in enumerate(call.attrs[1]):
            part = self.table.intern("part", (call,), shape, code, (i,))
            if part.id not in self.views:
                self.views[part.id] = whole(self.new_buffer(code, math.prod(shape)), shape)
        if ("call", call.id) not in self.views:
            self.views["call", call.id] = None
            self.pending.append(call)

    def result_view(self, call: Node, number: int) -> View:
        """Where result `number` of a routine lives."""
        shape, code = call.attrs[1][number]
        return self.views[self.table.intern("part", (call,), shape, code, (number,)).id]

    def reshape(self, node: Node, shape) -> Node:
        """A (new) node: node under another shape, with nested reshapes merged."""
        if node.shape == tuple(shape):
            return node
        if node.op == "reshape":
            return self.reshape(node.args[0], shape)
        if node.op == "broadcast" and node.args[0].size == 1:
            scalar = self.reshape(node.args[0], ())
            return self.table.intern("broadcast", (scalar,), tuple(shape), node.dtype, ((),))
        found = reshaped_broadcast(node, shape) if node.op == "broadcast" else None
        if found is not None:
            operand = self.reshape(node.args[0], found[0])
            return self.table.intern("broadcast", (operand,), tuple(shape), node.dtype, found[1:])
        return self.table.intern("reshape", (node,), tuple(shape), node.dtype)

    # ------------------------------------------------------------------ buffers
    def new_buffer(self, code, size, kind="temp", index=0) -> Buffer:
        buffer = Buffer(len(self.buffers), code, size, kind, index)
        self.buffers.append(buffer)
        return buffer

    def _store_leaf(self, node: Node, kind: str) -> None:
        buffer = self.new_buffer(node.dtype, node.size, kind, node.attrs[0])
        self.views[node.id] = whole(buffer, node.shape)

    def mark(self) -> tuple:
        """What `go_back` needs to forget what is asked for from now on."""
        return len(self.buffers), len(self.pending), len(self.views)

    def go_back(self, mark: tuple) -> None:
        """Forgets the buffers that have been asked for since."""
        buffers, pending, views = mark
        del self.buffers[buffers:]
        del self.pending[pending:]
        while len(self.views) > views:  # the latest are the last
            self.views.popitem()

    # ------------------------------------------------------------------ the work
    def run(self) -> None:
        """Adds the items of all that is wanted; large arrays wait for reductions to join."""
        updates, roots = group_updates(self, self._place_outputs())
        groups = [*updates, *alike(self, roots)]
        large = [is_large(g[0][0]) and not self.apart.has(g[0][0]) for g in groups]
        self.large = Waiting(list(compress(groups, large)), self.table)
        for group in compress(groups, map(not_, large)):
            emit_roots(self, group, beside(self, group))
        for node in self.graph.effects:
            self.request(node)
        while self.pending or self.large:
            if self.pending:
                group = with_neighbours(self, self._next_pending())
                emit_roots(self, group, beside(self, group))
            else:
                emit_roots(self, self.large.next_group())

    def _next_pending(self) -> Node:
        """The latest node that is asked for; a large array waits for reductions it may join."""
        latest = self.pending[-1]
        if is_large(latest) and not self.apart.has(latest):
            for i in range(len(self.pending) - 2, max(-1, len(self.pending) - MOST_WAITING), -1):
                node = self.pending[i]
                if node.op == "reduce" and node.args[0].size == latest.size:
                    return self.pending.pop(i)
        return self.pending.pop()

    def _place_outputs(self) -> list[tuple[Node, View]]:
        """Gives each distinct output a buffer; others are copies of it or of a leaf."""
        self.output_buffers: list[Buffer] = []
        self.forwarded: dict[int, int] = {}
        roots, first = [], dict[int, Buffer]()
        for i, node in enumerate(self.graph.outputs):
            buffer = self.new_buffer(node.dtype, node.size, "temp" if self.is_nested else "out", i)
            self.output_buffers.append(buffer)
            base = _below_reshapes(node)
            if base.op == "input" and not self.is_nested:
                self.forwarded[i] = base.attrs[0]
            elif base.op in ("input", "const"):
                self._copy_output(self._leaf_place(base), buffer)
            elif base.id in first:
                self._copy_output((first[base.id], 0), buffer)
            else:
                first[base.id] = buffer
                view = self.views[base.id] = whole(buffer, base.shape)
                if base.op == "part":
                    self.request_call(base.args[0])
                else:
                    roots.append((base, view))
        return roots

    def _copy_output(self, source: tuple[Buffer, int], buffer: Buffer) -> None:
        item = Item([])
        item.add(CopyStep(source, (buffer, 0), buffer.nbytes))
        self.items.append(item)

    def _leaf_place(self, node: Node) -> tuple[Buffer, int]:
        """(buffer, byte offset) of an input."""
        view = self.views[node.id]
        return view.buffer, view.offset * nbytes_of(view.buffer.code)


def _below_reshapes(node: Node) -> Node:
    while is_reshaped(node):
        node = node.args[0]
    return node


def partition_graph(graph: Graph, table, target: CpuTarget, plan_contraction=None) -> Partition:
    """The partition of a graph (see the module's rules).

    `plan_contraction(batch, m, n, k, code_in, code_out, strides…)` plans matrix products (None: as
    fused loops).
    """
    kept, cuts = stored_anyhow(graph)
    forced, shared = kept, frozenset[int]()
    apart, learnt, size = Apart(), dict[tuple, tuple](), len(graph.nodes())

    def parted() -> Partition:
        nonlocal apart
        while True:
            partition = Partition(
                graph, table, target, forced, plan_contraction, None, apart, cuts, learnt
            )
            partition.run()
            before, apart = apart, keep_apart(partition.items, apart)
            if apart == before:
                return partition

    for turn in range(ROUNDS + MORE_ROUNDS):
        partition = parted()
        work = partition.work
        twice, repeated = work.computed_twice(forced), work.computed_again(forced)
        if not repeated and (not twice or turn >= ROUNDS - 1 and not work.is_much(twice, size)):
            break
        if repeated:
            kept = kept | heaviest(repeated, work.node_of)
        if twice:
            shared = shared | (
                heaviest(twice, work.node_of) if turn == 0
                else worth_storing(twice, partition, kept | shared)
            )  # fmt: skip
        shared = needed(graph, shared, kept)
        forced = kept | shared
    return partition
