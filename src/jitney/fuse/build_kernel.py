"""Writes one kernel by pulling the values of its roots from their operands.

In: root nodes with the places they are stored at, and a `Partition` that knows which nodes already
live in buffers. Out: a `Kernel` plus the buffers it reads.

`value(node, index)` gives the expression for one element of a node. Views (slice, transpose, …)
only change the index, so they cost nothing; elementwise nodes combine their operands at the same
index; a reduction becomes a stage of the row that needs it (`stages.py`), is expanded in place if
it is tiny, or is asked for from another kernel. The rules for each operation are in `pull_*.py`.

[Note: rows] The first attempt makes every axis of the root a row loop. Meeting a reduction whose
index uses only some of those loops (softmax: the row maximum) means that it should be computed once
per row: `NeedRows` is raised and the kernel is begun again with only those loops as rows and the
others as columns of a last stage.
"""

import math

from ..graph.elementwise import is_elementwise
from ..ir.node import Node
from ..ir.types import nbytes_of
from . import affine as af
from .expressions import COST, HEAVY, SLOW
from .find_distances import sums_of_distances
from .kernel import SHORT_AXIS, SHORT_ROW, SHORT_STRIDE, Expr, Kernel, Loop, Reduction, Stage, Store
from .pull_rules import PULL_RULES
from .reshape_broadcast import is_reshaped
from .split_reductions import SPLIT_SIZE
from .stages import Stages

UNROLL_LIMIT = 8  # reductions over at most this many elements are written out
# ... or this many of blocks, whose lines are at most SHORT_AXIS (a Zen 5, two threads and one,
# means of blocks of 4 x 4 .14 and .15 of the time, of 8 x 4 .15 and .17; of 8 x 8 .25, but the
# first call took 60 ms more).
MOST_OF_BLOCK = 32
# Columns up to which they are gone through in the order of memory, by several kernels; so are more
# if they are longer than this, and fewer elements are not. (An Emerald Rapids, two threads: columns
# of 10485 x 100 standardized 1270 to 290 us, softmax of them 1600 to 490.)
FEW_COLUMNS, LONGEST_COLUMN, FEW_ELEMENTS = 512, 4096, 1 << 18
# With AVX2 a few vectors of columns are a line or two, which no prefetcher follows: what waits for
# memory does so from this length on, or this one if rows lie so many bytes apart that all lines
# of a column are in a few sets of the second cache. (A Zen 1, two threads: columns of 1000 x 1000
# standardized .64 of the time, of 3000 x 3000 .71, of 4096 x 4096 .52; divided by their sums .61,
# .64, .56; of 1000 x 10,000 1.14 and .98.)
LONG_IN_LINES, LONG_IN_SETS, SET_BYTES = 1000, 128, 4096
# Reductions of at least so few elements are not written out where so many rows would repeat them:
# down 8 of 10000 (in turns, a Zen 5) layer norm 16 to 3.8 us, softmax down 4 8.1 to 2.9; nor are
# those of so many elements that follow others (log-sum-exp of 10000 x 8 22 to 11).
FEW_AGAIN, MOST_AGAIN, MANY_COSTLY = 2, 64, 6
MAX_REPEATED_COST = 40  # a short sum that other loops would repeat is stored if it costs more
MAX_EXPRESSIONS = 700  # a kernel with more is cut (compile time grows with its length)
MAX_CHAIN = 400  # elementwise nodes computed at one place; a longer chain is cut
NEAR_NODES = 32  # above a root among which a costly operation is looked for
MAX_DEPTH = 40  # nesting of views; deeper operands get a buffer of their own


class NeedRows(Exception):
    """The kernel must be begun again with these loop positions as rows, which may lie side by side
    in memory (`are_columns`)."""

    def __init__(self, positions, are_columns: bool):
        self.positions, self.are_columns = positions, are_columns


class KernelBuilder(Stages):
    """State of one kernel being written; `partition` answers `view_of(node)`, `request(node)`.
    `may_split`: whether it may be begun again with loops over a finer shape (split_axes.py),
    `may_need_rows`: with others as rows."""

    def __init__(
        self, partition, roots, row_positions=None, written_out=0, shape=None, may_split=False,
        may_need_rows=True,
    ):
        super().__init__(roots[0][0], row_positions, written_out, shape)
        self.may_split = may_split
        self.partition = partition
        self.roots = {node.id for node, _ in roots}
        self.root_nodes = [node for node, _ in roots]
        self.distances: frozenset[int] | None = None
        self.root, self.root_key = roots[0][0], roots[0][0].id
        self.memo: dict = {}
        self.operations: list[str] = []
        self.depth = 0
        # a reduction that is a root cannot be loaded from elsewhere once its rows are columns
        reduced = [n for n, _ in roots if getattr(n, "op", None) in ("reduce", "argreduce")]
        may_restart = may_need_rows and row_positions is None
        self.restartable = may_restart and not reduced and not written_out

    # ------------------------------------------------------------------ pulling
    def value(self, node: Node, index, mask=None) -> Expr:
        """One element of a node."""
        key = (node.id, index, mask)
        found = self.memo.get(key)
        if found is not None:
            return found
        if is_elementwise(node) and not self.is_stored(node):
            expr = self._elementwise(node, index, mask)
        else:
            expr = self._other(node, index, mask)
        self.memo[key] = expr
        return expr

    def is_stored(self, node) -> bool:
        """Whether a node is read from a buffer rather than computed here."""
        if node.id in self.roots:
            return False  # its buffer is being written by this very kernel
        return self.partition.view_of(node) is not None or self.partition.is_forced(node)

    def _is_written_here(self, node) -> bool:
        """Whether a node is a result of this kernel, maybe reshaped; its buffer has it too late."""
        while node.id not in self.roots and is_reshaped(node):
            node = node.args[0]
        return node.id in self.roots

    def _elementwise(self, node, index, mask) -> Expr:
        """All elementwise nodes below `node` at the same index, without recursion."""
        order, stack, seen = [], [node], set()
        memo = self.memo
        while stack:
            current = stack.pop()
            if current.id in seen or (current.id, index, mask) in memo:
                continue
            seen.add(current.id)
            order.append(current)
            for a in current.args:
                if is_elementwise(a) and not self.is_stored(a):
                    stack.append(a)
        order.sort(key=lambda n: n.id)
        if len(order) > MAX_CHAIN:
            order = self._cut(order, index, mask)
        for current in order:
            memo[current.id, index, mask] = self._combine(current, index, mask)
        return memo[node.id, index, mask]

    def _cut(self, order, index, mask):
        """The last MAX_CHAIN nodes; what they need of the others is stored by another kernel."""
        kept = order[-MAX_CHAIN:]
        inside = {n.id for n in kept}
        outside = {n.id for n in order[:-MAX_CHAIN]}
        for node in kept:
            for a in node.args:
                if a.id in outside and a.id not in inside and a.id not in self.roots:
                    view = self.partition.request(a)
                    self.memo[a.id, index, mask] = self.load(view, index, mask)
        return kept

    def _combine(self, node, index, mask) -> Expr:
        if len(self.exprs) > MAX_EXPRESSIONS and node.id not in self.roots:
            return self.load(self.partition.request(node), index, mask)
        args = tuple([self.value(a, index, mask) for a in node.args])
        if node.op == "copy":
            return args[0]
        if len(self.operations) < 6:
            self.operations.append(node.op)
        expr = self.make(node.op, args, node.dtype)
        if COST.get(node.op, 1) >= SLOW or expr.cost >= HEAVY:
            times = self._times_repeated(expr)
            if times > 1:
                self.partition.note_repeated(node, times * expr.cost)
        if expr.cost < HEAVY:
            return expr
        self.partition.note_computed(node, self)
        guard = -1 if mask is None else mask.id
        columns = len(self.root_indices)
        self.partition.note_place(node, self.root_key, index, guard, expr.cost, columns)
        return self.keep(node, index, expr) if mask is None else expr

    def _times_repeated(self, expr) -> int:
        """How often each element is computed: by row loops that it does not follow, around one that
        it does (in which it is computed: what follows none of the inner loops is not repeated)."""
        inner = max(expr.variables, default=-1)
        shares = {self.chunked[v][0] for v in expr.variables if v in self.chunked}
        followed = expr.variables | shares  # a piece of a loop has elements of its own
        return math.prod(
            self.extents[v] for v in self.row_variables if v < inner and v not in followed
        )

    def _other(self, node, index, mask) -> Expr:
        view = None
        if not self._is_written_here(node):
            self.partition.is_forced(node)  # is asked for, if it is
            view = self.partition.view_of(node)
        if view is not None:
            return self.load(view, index, mask)
        rule = PULL_RULES.get(node.op)
        if is_elementwise(node):
            rule = None
        too_long = self.depth > MAX_DEPTH or len(self.exprs) > MAX_EXPRESSIONS
        if rule is None or too_long and node.id not in self.roots:
            return self.load(self.partition.request(node), index, mask)
        self.depth += 1
        try:
            return rule(self, node, index, mask)
        finally:
            self.depth -= 1

    # ------------------------------------------------------------------ reductions
    def reduction(self, node, index, mask, kind, axes) -> Expr:
        """The result of a reduction for one index of its result (see [Note: rows])."""
        source = node.args[0]
        extents = tuple([source.shape[a] for a in axes])
        size = math.prod(extents)
        if mask is not None or self.partition.must_store(node, self):
            return self.load(self.partition.request(node), index, mask)
        used = self.variables_of(*index)
        most = MOST_OF_BLOCK if self._is_of_blocks(source, axes) else UNROLL_LIMIT
        short = size <= most and node.op == "reduce" and size > 0
        if short and not self._is_stage(node, used, kind, axes, size):
            total = self._unrolled(source, index, kind, axes, extents)
            if total.cost <= MAX_REPEATED_COST or used == self.row_set:
                return total
            return self.load(self.partition.request(node), index, mask)
        is_row = used == self.row_set and self.column_stage is None
        if node.op == "reduce" and self.partition.should_split(node, is_row):
            if not is_row or node.id not in self._of_distances():
                return self.value(self.partition.split(node), index)
        if not self._may_stage(node, used, size):
            return self.load(self.partition.request(node), index, mask)
        return self._staged(node, index, kind, axes, extents, used)

    def _is_of_blocks(self, source, axes) -> bool:
        """Whether blocks of an array in memory are reduced, of whose lines a vector has several."""
        last = len(source.shape) - 1
        if len(axes) < 2 or axes[-1] != last or axes[-2] == last - 1:
            return False
        is_short = source.shape[last] <= SHORT_AXIS
        while source.op == "reshape":
            source = source.args[0]
        return is_short and self.partition.has_buffer(source)

    def _of_distances(self) -> frozenset[int]:
        """The reductions of columns that are one kernel (find_distances.py)."""
        if not self.partition.target.looks_up_powers:
            return frozenset()
        if self.distances is None:
            self.distances = sums_of_distances(self.root_nodes)
        return self.distances

    def _is_stage(self, node, used, kind, axes, size: int) -> bool:
        """Whether a short reduction is a stage, as longer ones are, rather than written out: each
        of a few rows would write out all of it, or it would itself write out too much."""
        if not axes or axes != tuple(range(axes[0], axes[-1] + 1)):
            return False
        if used == self.row_set and self.column_stage is None:
            return size >= MANY_COSTLY and self._is_costly_sum(node)
        return size >= FEW_AGAIN and self._is_repeated(node, used, kind, axes)

    def _is_repeated(self, node, used, kind, axes) -> bool:
        """Whether a few rows would write out the same reduction each; but where the axes behind are
        so short that they are written out, too."""
        again = self.column_variables
        if self.column_stage is None:
            again = self.row_set - used
            if not used < self.row_set or not self.restartable or self.stage_list:
                return False
        elif used != self.row_set:
            return False
        if math.prod(self.extents[v] for v in again) > MOST_AGAIN:
            return False
        behind = node.args[0].shape[axes[0] :]
        short = max(behind) <= SHORT_AXIS and math.prod(behind) <= SHORT_STRIDE
        if len(behind) > len(axes) or not short:
            return not short
        masked = kind in ("max", "min") and behind[-1] == SHORT_AXIS  # vectors of such short rows
        return masked or self._is_costly()

    def _may_stage(self, node, used, size) -> bool:
        rows = self.row_set
        if any(v in self.level_of for v in used):
            return False  # inside another stage
        if used == rows:
            return True
        if not used < rows or not self.restartable or self.stage_list:
            return False
        columns = math.prod(self.extents[v] for v in rows - used)
        count = math.prod(self.extents[v] for v in used)
        is_down, is_turned = _reduces_columns(node)
        if is_down and self._is_long_in_lines(node, count, columns):
            return False
        if _prefers_rows(count, columns, is_down, is_turned):
            raise NeedRows([self.position_of[v] for v in sorted(used)], is_down)
        return False

    def _is_long_in_lines(self, node, count: int, length: int) -> bool:
        """Whether columns are so long that strips of them wait for memory, and nothing else."""
        if not self.partition.target.has_dear_masks or count * length <= FEW_ELEMENTS:
            return False
        in_sets = count * nbytes_of(node.dtype) % SET_BYTES == 0
        is_long = length >= (LONG_IN_SETS if in_sets else LONG_IN_LINES)
        return is_long and not self._is_costly()

    def _is_costly(self) -> bool:
        """Whether an operation on all elements near above the root costs more than to read them."""
        size = self.root.size
        return any(x.size >= size and COST.get(x.op, 1) > HEAVY for x in self._near(self.root))

    def _is_costly_sum(self, node) -> bool:
        """Whether a reduction is of what follows a costly operation on another one, as that of
        log-sum-exp is: written out it would have all of them several times."""
        near = self._near(node.args[0])
        is_costly = any(COST.get(x.op, 1) > HEAVY for x in near)
        return is_costly and any(x.op == "reduce" for x in near)

    def _near(self, root) -> list:
        """The first nodes above one that this kernel would compute."""
        stored = self.partition.has_buffer
        seen, found = {root.id}, [root]
        for x in found:  # grows meanwhile
            new = [a for a in x.args if a.id not in seen and not stored(a)]
            if is_elementwise(x) or x.op in ("reduce", "broadcast", "reshape"):
                found += new[: max(0, NEAR_NODES - len(found))]
                seen.update(a.id for a in new)
        return found

    def _unrolled(self, source, index, kind, axes, extents):
        combine = {"sum": "add", "prod": "mul", "any": "or", "all": "and"}.get(kind, kind)
        total = None
        for flat in range(math.prod(extents)):
            position, rest = [], flat
            for e in reversed(extents):
                position.append(af.constant(rest % e))
                rest //= e
            element = self.value(source, af.insert(index, axes, position[::-1]))
            total = element if total is None else self.make(combine, (total, element), source.dtype)
        return total

    def _staged(self, node, index, kind, axes, extents, used) -> Expr:
        source = node.args[0]
        level = 0
        while True:
            stage, variables, position = self.stage_along(level, extents)
            inner = af.insert(index, axes, position)
            element = self.value(source, inner)
            if self.level(element) <= level:
                break
            level = self.level(element)
        known = [r.expr is element and r.kind == kind for r in stage.reductions]
        number = known.index(True) if True in known else len(known)
        if True not in known:
            counted = None
            if kind in ("argmax", "argmin"):
                counted = af.variable(variables[0])
            stage.reductions.append(Reduction(kind, element, node.dtype, counted))
        where = self.stage_list.index(stage)
        return self.make("reduced", (), node.dtype, (where, number, level), used, cost=0)


def _reduces_columns(node) -> tuple[bool, bool]:
    """Whether what is reduced lies far apart in memory, and the results side by side; and whether
    that is so because it is a transpose, whose elements nobody stores in that order."""
    axes = tuple(node.attrs[1] if node.op == "reduce" else (node.attrs[1],))
    found, source = axes, node.args[0]
    for _ in range(NEAR_NODES):  # down to where it lies in another order
        if source.op == "transpose":
            found = tuple(sorted([source.attrs[0][a] for a in found]))
        elif not is_elementwise(source):
            break
        source = next((a for a in source.args if a.op != "broadcast"), source.args[0])
    is_down = found == tuple(range(len(found))) and node.size > 1
    return is_down, is_down and found != axes


def _prefers_rows(count: int, columns: int, is_down: bool, is_turned: bool) -> bool:
    """Whether `count` rows of `columns` elements should be one kernel with stages. Few columns, or
    long ones, are better gone through several times in the order of memory, by all threads; so are
    those stored as rows, which one kernel would scatter (a Zen 5, two threads: correlations of the
    columns of 4096 x 128 3.9 ms, so .43)."""
    if count * columns <= SPLIT_SIZE:
        return True
    is_far = is_down and (count <= FEW_COLUMNS or columns > LONGEST_COLUMN)
    if is_far and (is_turned or count * columns > FEW_ELEMENTS):
        return False
    return columns * 4 <= (256 << 10) and count >= 4


def finish_kernel(builder: KernelBuilder, stores: list[Store], label: str) -> Kernel:
    """Puts the parts together; stages in order of level, columns last, without empty ones."""
    level = {id(stage): level for stage, _, level in builder.stages.values()}
    stages = sorted(builder.stage_list, key=lambda stage: level[id(stage)])
    stages = [s for s in stages if s.reductions or s.stores or s.saves]
    number = {id(stage): i for i, stage in enumerate(stages)}
    for expr in builder.exprs:
        if expr.op == "reduced":
            where, reduction, _ = expr.attrs
            expr.attrs = (number[id(builder.stage_list[where])], reduction)
    _chunk_loops(builder, stages)
    rows = [Loop(v, builder.extents[v]) for v in builder.row_variables]
    return Kernel(
        builder.buffers, rows, stages, stores, "row", builder.exprs, builder.saved,
        operations=tuple(builder.operations), label=label,
        short_stride=SHORT_ROW if builder.written_out else SHORT_STRIDE,
    )  # fmt: skip


def _chunk_loops(builder: KernelBuilder, stages: list[Stage]) -> None:
    for stage in stages:
        for loop in stage.loops:
            if loop.variable in builder.chunked:
                loop.chunk_row, loop.chunk = builder.chunked[loop.variable]
