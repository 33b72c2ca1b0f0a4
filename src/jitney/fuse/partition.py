"""Decides which nodes live in buffers and which kernel computes each of them.

In: a Graph. Out: `Partitioned`: buffers and ordered items of steps. Works backwards from the
outputs: each wanted node becomes the root of a kernel that computes everything down to nodes which
already live in a buffer. The rules of fusion, in order:

 1. Inputs, captured arrays and outputs live in buffers; so does what a routine reads or writes.
 2. Elementwise nodes and views are computed where they are used.
 3. A reduction is a stage of the kernel that uses it once a row ([Note: rows]).
 4. A costly node or a reduction that two kernels would compute, or one kernel for each row again,
    is stored once instead (`forced`): the partition is made again with that knowledge.
 5. A long reduction with few results is split in pieces that depend on its size alone, so that the
    sum is the same for any number of threads.
 6. Outputs of equal shape that share a source are computed by one kernel; so are small nodes that
    kernels asked for, parts of concatenations, and reductions over the same loops with the arrays
    that are made of what they read (`sibling_reductions.py`).
"""

import itertools
import math
from collections import deque

from ..graph.graph import Graph, literal_value
from ..ir.node import Node
from ..ir.strides import contiguous_strides
from ..ir.target import CpuTarget
from ..ir.types import nbytes_of
from . import pull_gather, pull_views, split_reductions  # noqa: F401  (they register the rules)
from .bound_exponentials import bound_exponentials
from .buffers import Buffer, CopyStep, Item, KernelStep, View, whole
from .build_kernel import KernelBuilder, NeedRows, finish_kernel, is_elementwise
from .choose_stored import heaviest, stored_operands, work_again, worth_storing
from .contract import contract_products
from .kernel import Store, live_expressions, number_slots
from .layout import product_strides
from .multiply_shares import multiply_shares
from .order_items import is_circular
from .pair_rows import pair_rows
from .reuse_kernel import Recorder, describe, remember, reuse
from .schedule import schedule_kernel
from .sibling_reductions import (
    MOST_SIBLINGS,
    REDUCTIONS,
    Waiting,
    is_large,
    loops_of,
    siblings,
    store_beside,
    stored_beside,
)
from .split_reductions import SPLIT_SIZE
from .updates import depends
from .write_out import has_short_last_axis

MERGED_SIZE = 64  # elements up to which nodes that kernels asked for share a kernel (rule 6)
MERGED_ROOTS = 64
MOST_BESIDE = 4  # concatenations computed together
NEAR_GROUPS = 16  # groups of reductions over the same loops that one may join: the latest
MOST_ALIKE = 8  # results of one kernel: more would only make it longer
STENCIL_COST = 64  # work per element above which a value read at neighbouring places is stored
REPEATED_WORK = 1 << 20  # beyond it a value that outer loops would compute again is stored
REPEATED_IN_LOOP = 1 << 16  # in the body of a loop, where one kernel more costs its call alone
ROUNDS = 3  # partitions tried: forcing more values into buffers rarely changes a third one
STEP_MAKERS: dict = {}
ROOT_MAKERS: list = []


def step_maker(op: str):
    """Registers `maker(partition, node, view, item)` for an operation that cannot be pulled."""

    def register(maker):
        STEP_MAKERS[op] = maker
        return maker

    return register


def root_maker(maker):
    """Registers `maker(partition, node, view, item) -> bool`: adds the steps of an elementwise root
    that is to be stored and answers True, or leaves it to a kernel."""
    ROOT_MAKERS.append(maker)
    return maker


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
        merge_outputs=True,
    ):
        self.graph = graph
        self.table = table
        self.target = target
        self.forced = forced
        self.plan_contraction = plan_contraction
        self.views: dict = {}
        self.is_nested = buffers is not None
        self.merge_outputs = merge_outputs
        self.buffers: list[Buffer] = [] if buffers is None else buffers
        self.aliases: dict[int, int] = {}
        self.pending: list[Node] = []
        self.items: list[Item] = []
        self.computed: dict[int, set] = {}
        self.node_of: dict[int, Node] = {}
        self.places: dict[tuple, tuple[int, set]] = {}
        self.repeated: dict[int, int] = {}
        self.known_reductions: dict[int, tuple] = {}
        self.origins: dict[int, Node] = {}  # whose pieces a partial reduction has
        self.separated: set[int] = set()  # updates that need not be looked at again (updates.py)
        if self.is_nested:
            return
        for node in graph.inputs:
            self._store_leaf(node, "in")
        for node in graph.nodes():
            if node.op == "const":
                self._store_leaf(node, "const")

    # ------------------------------------------------------------------ questions of builders
    literal_value = staticmethod(literal_value)

    def view_of(self, node: Node) -> View | None:
        """Where a node lives, if it does."""
        view = self.views.get(node.id)
        if view is None and node.op == "reshape":
            inner = self.view_of(node.args[0])
            if inner is not None and inner.is_contiguous:
                view = self.views[node.id] = inner.reshaped(node.shape)
        return view

    def request(self, node: Node) -> View:
        """Where a node will live; it is computed by a kernel of its own."""
        view = self.view_of(node)
        if view is not None:
            return view
        if node.op == "reshape":
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

    def reshape(self, node: Node, shape) -> Node:
        """A (new) node: node under another shape, with nested reshapes merged."""
        if node.shape == tuple(shape):
            return node
        if node.op == "reshape":
            return self.reshape(node.args[0], shape)
        if node.op == "broadcast" and node.args[0].size == 1:
            scalar = self.reshape(node.args[0], ())
            return self.table.intern("broadcast", (scalar,), tuple(shape), node.dtype, ((),))
        return self.table.intern("reshape", (node,), tuple(shape), node.dtype)

    def note_computed(self, node: Node, root: int) -> None:
        self.computed.setdefault(node.id, set()).add(root)
        self.node_of[node.id] = node

    def note_place(self, node: Node, root: int, index, cost: int) -> None:
        """One kernel computes `node` at this index; other constants in it are its neighbours."""
        key = (node.id, root, tuple([a[1] for a in index]))
        found = self.places.get(key)
        if found is None:
            found = self.places[key] = (cost, set())
        found[1].add(tuple([a[0] for a in index]))

    def note_repeated(self, node: Node, cost: int) -> None:
        """A kernel computes each element of `node` again and again, at this cost in all."""
        self.repeated[node.id] = max(cost, self.repeated.get(node.id, 0))
        self.node_of[node.id] = node

    def prefers_rows(self, count: int, columns: int) -> bool:
        """Whether `count` rows of `columns` elements should be one kernel with stages."""
        return count * columns <= SPLIT_SIZE or (columns * 4 <= (256 << 10) and count >= 4)

    should_split = staticmethod(split_reductions.should_split)

    def split(self, node: Node) -> Node:
        """reduce(x) -> reduce(partial(x)): the same value from pieces."""
        return split_reductions.split(self, node)

    # ------------------------------------------------------------------ buffers
    def new_buffer(self, code, size, kind="temp", index=0) -> Buffer:
        buffer = Buffer(len(self.buffers), code, size, kind, index)
        self.buffers.append(buffer)
        return buffer

    def _store_leaf(self, node: Node, kind: str) -> None:
        buffer = self.new_buffer(node.dtype, node.size, kind, node.attrs[0])
        self.views[node.id] = whole(buffer, node.shape)

    # ------------------------------------------------------------------ the work
    def run(self) -> None:
        groups = self.alike(self._place_outputs())
        large = [g for g in groups if self.merge_outputs and is_large(g[0][0])]
        self.large = Waiting(large)
        for group in [g for g in groups if not (self.merge_outputs and is_large(g[0][0]))]:
            self.emit(group, self._beside(group))
        for node in self.graph.effects:
            self.request(node)
        while self.pending or self.large:
            if self.pending:
                group = self._with_neighbours(self.pending.pop())
                self.emit(group, self._beside(group))
            else:
                self.emit(self.large.next_group())

    def _with_neighbours(self, node):
        """Rule 6 for what kernels asked for: a small elementwise node, and others waiting that
        share a source with it (the factors a backward pass reads of a long chain, say, which
        kernels of their own would each compute from the chain's beginning)."""
        roots = [(node, self.views.get(node.id))]
        if node.op in REDUCTIONS and self.merge_outputs:
            return roots + self._siblings(node)
        if node.op == "concat" and self.merge_outputs and node.size > MERGED_SIZE:
            return roots + self._twins(node)
        if not self._may_be_merged(node):
            return roots
        kept = []
        for other in reversed(self.pending[-2 * MERGED_ROOTS :]):
            if (
                len(roots) < MERGED_ROOTS
                and self._may_be_merged(other)
                and other.shape == node.shape
                and _shares_source(other, [roots[-1][0]])
            ):
                roots.append((other, self.views[other.id]))
            else:
                kept.append(other)
        self.pending[-2 * MERGED_ROOTS :] = reversed(kept)
        return roots

    def _siblings(self, node):
        """Rule 6 for reductions: others waiting that read what this one reads."""
        found = siblings(self, node, self.pending[-2 * MERGED_ROOTS :])
        for other in found:
            self.pending.remove(other)
        return [(other, self.views[other.id]) for other in found]

    def _beside(self, group):
        """Rule 6 for arrays made of what reductions read: outputs, or asked for by other kernels,
        that the reductions' kernel stores."""
        reductions = [node for node, _ in group]
        if not self.merge_outputs or any(node.op not in REDUCTIONS for node in reductions):
            return []
        found = stored_beside(self, reductions, self.pending[-2 * MERGED_ROOTS :])
        for node in found:
            self.large.take(node)
            if node in self.pending:
                self.pending.remove(node)
        return [(node, self.views[node.id]) for node in found]

    def _twins(self, node):
        """Rule 6 for concatenations: others waiting whose parts can be computed beside this one's:
        the other half of complex numbers, say."""
        shapes, group = [a.shape for a in node.args], [node]
        for other in self.pending[-2 * MERGED_ROOTS :]:
            if (
                len(group) < MOST_BESIDE
                and other.op == "concat" and other.attrs == node.attrs
                and [a.shape for a in other.args] == shapes
                and _shares_source(other, [node])
                and not any(depends(other, x) or depends(x, other) for x in group)
            ):  # fmt: skip
                group.append(other)
                self.pending.remove(other)
        return [(other, self.views[other.id]) for other in group[1:]]

    def _may_be_merged(self, node) -> bool:
        return self.merge_outputs and is_elementwise(node) and 0 < node.size <= MERGED_SIZE

    def _place_outputs(self):
        """Gives each distinct output a buffer; others are copies of it or of a leaf."""
        self.output_buffers, roots, first = [], [], {}
        self.forwarded: dict[int, int] = {}
        for i, node in enumerate(self.graph.outputs):
            kind = "temp" if self.is_nested else "out"
            buffer = self.new_buffer(node.dtype, node.size, kind, i)
            self.output_buffers.append(buffer)
            base = node
            while base.op == "reshape":
                base = base.args[0]
            if base.op == "input" and not self.is_nested:
                self.forwarded[i] = base.attrs[0]
                continue
            if base.op in ("input", "const") or base.id in first:
                source = (first[base.id], 0) if base.id in first else self._leaf_place(base)
                item = Item([])
                item.add(CopyStep(source, (buffer, 0), buffer.nbytes))
                self.items.append(item)
                continue
            first[base.id] = buffer
            view = whole(buffer, base.shape)
            if base.op == "part":
                self._place_part(base, view)
                continue
            self.views[base.id] = view
            roots.append((base, view))
        return roots

    def _leaf_place(self, node):
        """(buffer, byte offset) of an input."""
        view = self.views[node.id]
        return view.buffer, view.offset * nbytes_of(view.buffer.code)

    def _place_part(self, part, view) -> None:
        self.views[part.id] = view
        self.request_call(part.args[0])

    def alike(self, roots):
        """Rule 6: groups of elementwise roots of one shape that read a common node."""
        groups: list = []
        of_loops: dict = {}
        for node, view in roots:
            if self._joins_siblings(node, view, groups, of_loops):
                continue
            alone = not self.merge_outputs or not is_elementwise(node) or node.size == 0
            if alone or self.view_of(node) not in (None, view):
                groups.append([(node, view)])
                continue
            for group in groups:
                other = group[0][0]
                if (
                    is_elementwise(other)
                    and other.shape == node.shape
                    and len(group) < MOST_ALIKE
                    and _shares_source(node, [n for n, _ in group])
                ):
                    group.append((node, view))
                    break
            else:
                groups.append([(node, view)])
        return groups

    def _joins_siblings(self, node, view, groups, of_loops) -> bool:
        """Puts a reduction among outputs into the group of others that read what it reads.
        `of_loops`: the groups of reductions so far by their loops."""
        if not self.merge_outputs or node.op not in REDUCTIONS or self.view_of(node) is not view:
            return False
        alike = of_loops.setdefault(loops_of(node), [])
        for group in alike[-NEAR_GROUPS:]:
            members = [n for n, _ in group]
            if len(group) < MOST_SIBLINGS and all(siblings(self, n, [node]) for n in members):
                group.append((node, view))
                return True
        groups.append([(node, view)])
        alike.append(groups[-1])
        return True

    def emit(self, roots, beside=()) -> None:
        """Adds the item that computes the root(s) into their view(s), and arrays beside them."""
        node, view = roots[0]
        maker = STEP_MAKERS.get(node.op)
        item = Item([])
        if node.op != "call" and node.size == 0:
            item.writes.add(view.buffer.id)
        elif maker is not None:
            others = [roots[1:]] if len(roots) > 1 else []  # of concatenations
            maker(self, node, view, item, *others)
        elif not self._is_made_otherwise(roots, item):
            self.emit_kernel(roots, item, beside=beside)
        self.items.append(item)

    def _is_made_otherwise(self, roots, item) -> bool:
        node, view = roots[0]
        return len(roots) == 1 and is_elementwise(node) and any(
            [maker(self, node, view, item) for maker in ROOT_MAKERS]
        )

    def emit_into(self, node: Node, view: View, item: Item) -> None:
        """Adds steps that put the value of a node (wherever it lives) into a view."""
        if view.buffer.size == 0 or node.size == 0 or node.op == "empty":
            item.writes.add(view.buffer.id)
            return
        source = self.view_of(node)
        if source is not None and source.is_contiguous and view.is_contiguous:
            width = view.buffer.nbytes // view.buffer.size
            item.add(
                CopyStep(
                    (source.buffer, source.offset * width),
                    (view.buffer, view.offset * width),
                    node.size * width,
                )
            )
            return
        self.emit_kernel([(node, view)], item)

    def emit_kernel(self, roots, item: Item, position=None, beside=()) -> None:
        """Adds a fused kernel. `position(builder, view, index)` overrides where results go;
        `beside`: what reductions store beside their results."""
        described = None
        if position is None and not beside:
            roots = [_strip_reshape(self, node, view) for node, view in roots]
            described = describe(self, roots[0][0], roots[0][1]) if len(roots) == 1 else None
        step = reuse(self, described, roots[0][1]) if described is not None else None
        if step is None:
            step = self._write_kernel(roots, position, described, beside)
        item.add(step)

    def _write_kernel(self, roots, position, described, beside=()) -> KernelStep:
        rows = None
        notes: dict = {}
        for _ in range(2):
            journal = len(self.buffers), len(self.pending), dict(self.views)
            recorder = Recorder(self, described, notes)
            builder = KernelBuilder(recorder, [*roots, *beside], rows)
            try:
                stores = self._stores(builder, roots, position)
                for node, view in beside:
                    store_beside(builder, roots[0][0], node, view)
                break
            except NeedRows as need:
                rows, notes = need.positions, recorder.notes()
                del self.buffers[journal[0] :]
                del self.pending[journal[1] :]
                self.views = journal[2]
        kernel = finish_kernel(builder, stores, roots[0][0].op)
        step = self._step_of(kernel, builder)
        if not beside and position is None and has_short_last_axis(step, roots):
            builder = KernelBuilder(recorder, roots, None, True)
            stores = self._stores(builder, roots, position)
            kernel = finish_kernel(builder, stores, roots[0][0].op)
            step = self._step_of(kernel, builder)
        if described is not None:
            modes = tuple([mode for _, mode in kernel.buffers])
            remember(described, recorder, step, modes, roots[0][1])
        return step

    def _stores(self, builder, roots, position):
        stores = []
        for (node, view), index in itertools.product(roots, builder.root_indices):
            expr = builder.value(node, index)
            number = builder.buffer_number(view.buffer, "out")
            if position is not None:
                where = position(builder, view, index)
            else:
                where = builder.position_in(view, index)
            stores.append(Store(number, where, expr))
        if builder.column_stage is not None:
            builder.column_stage.stores.extend(stores)
            return []
        return stores

    def _step_of(self, kernel, builder) -> KernelStep:
        used = contract_products(kernel, live_expressions(kernel))
        cost = schedule_kernel(kernel, used, self.target, repeated=self.is_nested)
        used = multiply_shares(kernel, bound_exponentials(kernel, used))
        used = pair_rows(kernel, used)
        slotted = number_slots(kernel, used)
        buffers = [self.buffers[i] for i in builder.buffer_ids]
        writes = {
            b.id for b, (_, mode) in zip(buffers, kernel.buffers, strict=True) if mode != "in"
        }
        return KernelStep(slotted, used, buffers, writes, cost)

    def result_view(self, call: Node, number: int) -> View:
        """Where result `number` of a routine lives."""
        shape, code = call.attrs[1][number]
        return self.views[self.table.intern("part", (call,), shape, code, (number,)).id]

    def computed_twice(self, forced) -> set[int]:
        """Costly nodes that more than one kernel computes (rule 4)."""
        twice = {
            i
            for i, kernels in self.computed.items()
            if len(kernels) > 1 and i not in forced and work_again(self.node_of[i]) > 64
        }
        return twice | {
            node
            for (node, _, _), (cost, where) in self.places.items()
            if (len(where) - 1) * cost > STENCIL_COST
            and node not in forced
            and work_again(self.node_of[node]) > SPLIT_SIZE
        }

    def computed_again(self, forced) -> set[int]:
        """Costly nodes that a kernel computes again in each turn of its outer loops (rule 4)."""
        most = REPEATED_IN_LOOP if self.is_nested else REPEATED_WORK
        return {
            i for i, cost in self.repeated.items()
            if i not in forced and cost * self.node_of[i].size > most
        }  # fmt: skip

    def add_kernel(self, kernel, buffers, item: Item, cost: float, small: int = 1) -> None:
        """Adds a kernel that was written elsewhere."""
        used = contract_products(kernel, live_expressions(kernel))
        kernel.small = small
        writes = {
            b.id for b, (_, mode) in zip(buffers, kernel.buffers, strict=True) if mode != "in"
        }
        item.add(KernelStep(number_slots(kernel, used), used, buffers, writes, cost))


def _strip_reshape(partition, node, view):
    """A root that only reshapes: the loops run over the shape before."""
    while node.op == "reshape" and view.is_contiguous and partition.view_of(node.args[0]) is None:
        node = node.args[0]
        view = view.reshaped(node.shape)
    return node, view


def _shares_source(node, others, limit=24) -> bool:
    """Whether two nodes have a common (non-literal) node among their near ancestors."""

    def near(start):
        seen, waiting = set(), deque([start])
        while waiting and len(seen) < limit:
            n = waiting.popleft()
            if n.id in seen or n.op == "lit":
                continue
            seen.add(n.id)
            waiting.extend(n.args)
        return seen

    mine = near(node)
    return any(mine & near(o) for o in others)


def partition_graph(graph: Graph, table, target: CpuTarget, plan_contraction=None) -> Partition:
    """The partition of a graph (see the module's rules).

    `plan_contraction(batch, m, n, k, code_in, code_out, strides…)` plans matrix products (None: as
    fused loops).
    """
    forced = stored_operands(graph)
    merge = True
    for turn in range(ROUNDS):
        partition = _one_partition(graph, table, target, forced, plan_contraction, merge)
        if merge and is_circular(partition.items):
            merge = False
            partition = _one_partition(graph, table, target, forced, plan_contraction, merge)
        twice, repeated = partition.computed_twice(forced), partition.computed_again(forced)
        if not twice and not repeated:
            break
        if repeated:
            forced = forced | heaviest(repeated, partition.node_of)
        if twice:
            forced = forced | (
                heaviest(twice, partition.node_of) if turn == 0
                else worth_storing(twice, partition, forced)
            )  # fmt: skip
    return partition


def _one_partition(graph, table, target, forced, plan_contraction, merge) -> Partition:
    partition = Partition(graph, table, target, forced, plan_contraction, None, merge)
    partition.run()
    return partition
