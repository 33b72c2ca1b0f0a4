"""Writes one kernel by pulling the values of its roots from their operands.

In: root nodes with the places they are stored at, and a `Partition` that knows which nodes already
live in buffers. Out: a `Kernel` plus the buffers it reads.

`value(node, index)` gives the expression for one element of a node. Views (slice, transpose, …)
only change the index, so they cost nothing; elementwise nodes combine their operands at the same
index; a reduction becomes a stage of the row that needs it, is expanded in place if it is tiny, or
is asked for from another kernel. The rules for each operation are in `pull_*.py`.

[Note: rows] The first attempt makes every axis of the root a row loop. Meeting a reduction whose
index uses only some of those loops (softmax: the row maximum) means that it should be computed once
per row: `NeedRows` is raised and the kernel is begun again with only those loops as rows and the
others as columns of a last stage.
"""

import math

from ..graph.graph import literal_bits, literal_value
from ..ir import scalar_ops
from ..ir.node import Node
from ..ir.types import nbytes_of
from . import affine as af
from .affine import Affine
from .kernel import Expr, Kernel, Loop, Reduction, Stage, Store

# Cost of one element in units of one vector instruction; what is not listed costs 1.
COST = {
    "div": 4, "rem": 20, "sqrt": 5, "rsqrt": 6, "exp": 12, "exp2": 12, "log": 14, "sin": 16,
    "cos": 16, "tan": 28, "tanh": 18, "logistic": 16, "erf": 16, "erf_inv": 40, "erfc": 30,
    "erf_inv_published": 30,
    "log1p": 20, "expm1": 16, "pow": 60, "atan2": 30, "asin": 20, "acos": 20, "atan": 20,
    "sinh": 20, "cosh": 20, "asinh": 30, "acosh": 30, "atanh": 30, "cbrt": 20, "lgamma": 80,
    "digamma": 60, "bessel_i0e": 40, "bessel_i1e": 40, "nextafter": 6, "ldexp": 3,
}  # fmt: skip
HEAVY = 8  # from this cost on a value is kept rather than computed twice
FOLDED = frozenset(
    "convert eq ne lt le gt ge and or xor not add sub mul min max neg abs".split()
)
UNROLL_LIMIT = 8  # reductions over at most this many elements are written out
MAX_REPEATED_COST = 40  # a short sum that other loops would repeat is stored if it costs more
MAX_EXPRESSIONS = 700  # a kernel with more is cut (compile time grows with its length)
MAX_CHAIN = 400  # elementwise nodes computed at one place; a longer chain is cut
MAX_DEPTH = 40  # nesting of views; deeper operands get a buffer of their own
ROW_LIMIT = 12288  # elements of a row kept between stages: it must fit in L2 beside its sources

COLUMNS = 1 << 20  # the level of the stage that stores a row's columns: after every reduction


class NeedRows(Exception):
    """The kernel must be begun again with these loop positions as rows."""

    def __init__(self, positions):
        self.positions = positions


class KernelBuilder:
    """State of one kernel being written; `partition` answers `view_of(node)`, `request(node)`."""

    def __init__(self, partition, roots, row_positions=None, is_written_out=False):
        self.partition = partition
        self.roots = {node.id for node, _ in roots}
        self.memo: dict = {}
        self.exprs: list[Expr] = []
        self.known: dict = {}
        self.buffers: list[tuple[str, str]] = []
        self.buffer_numbers: dict[int, int] = {}
        self.buffer_ids: list[int] = []
        self.extents: dict[int, int] = {}
        self.chunked: dict[int, tuple[int, int]] = {}
        self.stages: dict = {}
        self.stage_list: list[Stage] = []
        self.level_of: dict[int, int] = {}
        self.heavy_seen: dict[int, tuple] = {}
        self.saved: list[tuple[str, int]] = []
        self.saved_level: list[int] = []
        self.operations: list[str] = []
        self.depth = 0
        self.root_key = roots[0][0].id
        self._levels: dict[int, int] = {}
        self.column_stage: Stage | None = None
        # a reduction that is a root cannot be loaded from elsewhere once its rows are columns
        reduced = [n for n, _ in roots if getattr(n, "op", None) in ("reduce", "argreduce")]
        self.restartable = row_positions is None and not reduced and not is_written_out
        self._make_loops(roots[0][0], row_positions)
        self.root_indices = [self.root_index]  # all that are computed at a turn of the row loops
        if is_written_out:
            self._write_out_last_axis(roots[0][0])

    # ------------------------------------------------------------------ loops
    def new_variable(self, extent: int) -> int:
        number = len(self.extents)
        self.extents[number] = extent
        return number

    def _make_loops(self, root: Node, row_positions) -> None:
        self.row_variables: list[int] = []
        self.column_variables: list[int] = []
        index = []
        for position, extent in enumerate(root.shape):
            if extent == 1:
                index.append(af.ZERO)
                continue
            variable = self.new_variable(extent)
            index.append(af.variable(variable))
            is_row = row_positions is None or position in row_positions
            (self.row_variables if is_row else self.column_variables).append(variable)
        self.position_of = {
            v[1][0][0]: position for position, v in enumerate(index) if v[1]
        }
        self.root_index = tuple(index)
        self.row_set = frozenset(self.row_variables)
        if self.column_variables:
            self._make_column_stage()

    def _write_out_last_axis(self, root: Node) -> None:
        """The elements of the last axis instead of a loop over them (see write_out.py)."""
        del self.extents[self.row_variables.pop()]
        self.row_set = frozenset(self.row_variables)
        self.root_indices = [
            (*self.root_index[:-1], af.constant(i)) for i in range(root.shape[-1])
        ]

    def _make_column_stage(self) -> None:
        variables = self.column_variables
        stage = Stage([Loop(v, self.extents[v]) for v in variables])
        self.stages["columns"] = (stage, variables, COLUMNS)
        self.stage_list.append(stage)
        for v in variables:
            self.level_of[v] = COLUMNS
        self.column_stage = stage

    # ------------------------------------------------------------------ expressions
    def make(self, op, args, dtype, attrs=(), variables=frozenset(), cost=None) -> Expr:
        if op == "select" and args[0].op == "const":
            return args[1 if args[0].attrs[0] else 2]
        if op in FOLDED and all(a.op == "const" for a in args):
            return self._folded(op, args, dtype)
        if op in ("max", "min") and dtype[0] != "f" and args[0].op == op and (
            args[1] in args[0].args
        ):
            return args[0]  # a place that was kept within its array before
        if op == "abs" or op == "mul" and args[0] is args[1]:
            args = (self._either_difference(args[0]),) * len(args)
        key = (op, tuple([a.id for a in args]), dtype, attrs)
        expr = self.known.get(key)
        if expr is None:
            if cost is None:
                cost = COST.get(op, 1)
            for a in args:
                variables = variables | a.variables
                cost += a.cost
            expr = Expr(op, args, dtype, attrs, len(self.exprs), cost, variables)
            self.exprs.append(expr)
            self.known[key] = expr
        return expr

    def _folded(self, op, args, dtype) -> Expr:
        """An operation of known numbers: of places in arrays that are written out, say."""
        masks = [(1 << 8 * nbytes_of(a.dtype)) - 1 for a in args]
        values = [literal_value(a.attrs[0] & m, a.dtype) for a, m in zip(args, masks, strict=True)]
        bits = literal_bits(scalar_ops.evaluate(op, dtype, values), dtype)
        return self.make("const", (), dtype, (bits,), cost=0)

    def _either_difference(self, x: Expr) -> Expr:
        """a - b or b - a, whichever was asked for first: their squares and sizes are the same, and
        with them the distance of each of two bodies from the other."""
        if x.op != "sub" or x.dtype[0] != "f":
            return x
        turned = self.known.get(("sub", tuple([a.id for a in x.args[::-1]]), x.dtype, ()))
        return turned if turned is not None and turned.id < x.id else x

    def variables_of(self, *affines: Affine) -> frozenset:
        found: set[int] = set()
        for a in affines:
            for atom, _ in a[1]:
                if atom >= 0:
                    found.add(atom)
                else:
                    found |= self.exprs[-1 - atom].variables
        return frozenset(found)

    def integer(self, value: int, dtype="i64") -> Expr:
        bits = value & ((1 << 64) - 1)
        if -64 <= value <= 64:
            return self.make("const", (), dtype, (bits,), cost=0)
        return self.make("param", (), dtype, (bits,), cost=0)

    def index_expr(self, position: Affine, dtype="i64") -> Expr:
        """The integer value of an index."""
        if not position[1]:
            return self.integer(position[0], dtype)
        return self.make("index", (), dtype, (position,), self.variables_of(position))

    def atom(self, expr: Expr) -> Affine:
        """An index that is the (i64) value of an expression."""
        if expr.op == "index":
            return expr.attrs[0]
        if expr.op == "const":
            bits = expr.attrs[0]
            return af.constant(bits - (1 << 64) if bits >> 63 else bits)
        return af.variable(-1 - expr.id)

    def both(self, a: Expr | None, b: Expr | None) -> Expr | None:
        """Conjunction of two masks, either of which may be absent."""
        if a is None or b is None or a is b:
            return a if b is None else b
        return self.make("and", (a, b), "b1")

    # ------------------------------------------------------------------ buffers
    def buffer_number(self, buffer, mode: str) -> int:
        """The kernel's own number for a buffer of the partition."""
        number = self.buffer_numbers.get(buffer.id)
        if number is None:
            number = self.buffer_numbers[buffer.id] = len(self.buffers)
            self.buffers.append((buffer.code, mode))
            self.buffer_ids.append(buffer.id)
        elif self.buffers[number][1] != mode:
            self.buffers[number] = (buffer.code, "inout")
        return number

    def load(self, view, index, mask=None, variables=frozenset()) -> Expr:
        """An element of a buffer. `variables`: loops it must be loaded anew in."""
        if mask is not None and mask.op == "const":
            if not mask.attrs[0]:
                return self.make("const", (), view.buffer.code, (0,), cost=0)
            mask = None
        position = self.position_in(view, index)
        number = self.buffer_number(view.buffer, "in")
        args = (mask,) if mask is not None else ()
        variables = variables | self.variables_of(position)
        return self.make("load", args, view.buffer.code, (number, position), variables, cost=1)

    @staticmethod
    def position_in(view, index) -> Affine:
        """Where element `index` of a view lies in its buffer."""
        return af.offset(af.dot(index, view.strides), view.offset)

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
        while node.op == "reshape" and node.id not in self.roots:
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
        if expr.cost < HEAVY:
            return expr
        self.partition.note_computed(node, self)
        self.partition.note_place(node, self.root_key, index, expr.cost)
        times = self._times_repeated(expr)
        if times > 1:
            self.partition.note_repeated(node, times * expr.cost)
        return self._keep(node, index, expr) if mask is None else expr

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

    # ------------------------------------------------------------------ stages
    def stage_for(self, level: int, extents: tuple, key=None) -> tuple[Stage, list[int]]:
        """The stage of a level with loops of these extents, made on first use."""
        found = self.stages.get((level, extents, key))
        if found is None:
            variables = [self.new_variable(e) for e in extents]
            stage = Stage([Loop(v, self.extents[v]) for v in variables])
            found = self.stages[level, extents, key] = (stage, variables, level)
            self.stage_list.append(stage)
            for v in variables:
                self.level_of[v] = level
        return found[0], found[1]

    def level(self, expr: Expr) -> int:
        """1 + the last stage whose results expr needs (0 if none)."""
        found = self._levels.get(expr.id)
        if found is None:
            found = 0
            if expr.op == "reduced":
                found = expr.attrs[2] + 1
            elif expr.op == "saved":
                found = self.saved_level[expr.attrs[0]] + 1
            for a in expr.args:
                found = max(found, self.level(a))
            if expr.op in ("load", "index"):
                for atom, _ in expr.attrs[-1][1]:
                    if atom < 0:
                        found = max(found, self.level(self.exprs[-1 - atom]))
            self._levels[expr.id] = found
        return found

    def _keep(self, node, index, expr) -> Expr:
        """[Note: saved rows] A costly value of one stage that a later stage needs again at the
        same place of the row is kept in a scratch row instead of being computed twice."""
        loops = sorted(expr.variables - self.row_set)
        if not loops or any(v not in self.level_of for v in loops):
            return expr
        if self.level(expr) > self.level_of[loops[0]]:
            return expr  # tried in too early a stage; it will be asked for again in a later one
        seen = self.heavy_seen.get(node.id)
        if seen is None:
            self.heavy_seen[node.id] = (index, expr, loops)
            return expr
        first_index, first, first_loops = seen
        if first_loops == loops or not self._same_place(first_index, first_loops, index, loops):
            return expr
        if self.level_of[loops[0]] > self.level_of[first_loops[0]]:
            return self._save(first, expr, first_loops, loops)
        if self.level_of[loops[0]] < self.level_of[first_loops[0]]:
            # the stage met later runs earlier: what was made before becomes the reader
            read = self._save(expr, first, loops, first_loops)
            if read is not first:
                first.op, first.args, first.attrs = read.op, read.args, read.attrs
                first.cost = read.cost
            self.heavy_seen[node.id] = (index, expr, loops)
        return expr

    def _same_place(self, first_index, first_loops, index, loops) -> bool:
        if [self.extents[v] for v in first_loops] != [self.extents[v] for v in loops]:
            return False
        for old, new in zip(first_loops, loops, strict=True):
            first_index = [af.substitute(a, old, af.variable(new)) for a in first_index]
        return tuple(first_index) == index

    def _save(self, first: Expr, expr: Expr, first_loops, loops) -> Expr:
        """An expression that reads, in `loops`, what `first` leaves in a scratch row (or expr)."""
        stage = next(
            (s for s in self.stage_list if [lo.variable for lo in s.loops] == first_loops), None
        )
        extents = [self.extents[v] for v in loops]
        size = math.prod(extents)
        if stage is None or size > ROW_LIMIT or size == 0:
            return expr
        strides = af.contiguous_strides(extents)
        known = [k for k, _, e in stage.saves if e is first]
        if known:
            number = known[0]
        else:
            number = len(self.saved)
            self.saved.append((first.dtype, size))
            self.saved_level.append(self.level_of[first_loops[0]])
            position = af.dot([af.variable(v) for v in first_loops], strides)
            stage.saves.append((number, position, first))
        position = af.dot([af.variable(v) for v in loops], strides)
        variables = frozenset(loops) | (first.variables & self.row_set)
        return self.make("saved", (), first.dtype, (number, position), variables, cost=1)

    def reduction(self, node, index, mask, kind, axes) -> Expr:
        """The result of a reduction for one index of its result (see [Note: rows])."""
        source = node.args[0]
        extents = tuple([source.shape[a] for a in axes])
        size = math.prod(extents)
        if mask is not None or self.partition.must_store(node, self):
            return self.load(self.partition.request(node), index, mask)
        if size <= UNROLL_LIMIT and node.op == "reduce" and size > 0:
            total = self._unrolled(source, index, kind, axes, extents)
            if total.cost <= MAX_REPEATED_COST or self.variables_of(*index) == self.row_set:
                return total
            return self.load(self.partition.request(node), index, mask)
        used = self.variables_of(*index)
        is_row = used == self.row_set and self.column_stage is None
        if node.op == "reduce" and self.partition.should_split(node, is_row):
            return self.value(self.partition.split(node), index)
        if not self._may_stage(node, used, size):
            return self.load(self.partition.request(node), index, mask)
        return self._staged(node, index, kind, axes, extents, used)

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
        if self.partition.prefers_rows(count, columns):
            raise NeedRows([self.position_of[v] for v in sorted(used)])
        return False

    def _unrolled(self, source, index, kind, axes, extents):
        combine = {"sum": "add", "prod": "mul", "any": "or", "all": "and"}.get(kind, kind)
        total = None
        for flat in range(math.prod(extents)):
            position, rest = [], flat
            for e in reversed(extents):
                position.append(af.constant(rest % e))
                rest //= e
            element = self.value(source, insert(index, axes, position[::-1]))
            total = element if total is None else self.make(combine, (total, element), source.dtype)
        return total

    def _staged(self, node, index, kind, axes, extents, used) -> Expr:
        source = node.args[0]
        level = 0
        while True:
            stage, variables = self.stage_for(level, extents)
            inner = insert(index, axes, [af.variable(v) for v in variables])
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


def insert(index, axes, positions):
    """index with positions put in at axes (ascending)."""
    result = list(index)
    for axis, position in zip(axes, positions, strict=True):
        result.insert(axis, position)
    return tuple(result)


_NOT_ELEMENTWISE = frozenset(
    """input const lit empty broadcast reshape transpose reverse slice pad concat iota dynamic_slice
    dynamic_update_slice framed gather reduce argreduce partial dot cumulative call part scatter
    conv sort""".split()
)


def is_elementwise(node: Node) -> bool:
    """Whether a node's element depends only on its operands' elements at the same index."""
    return node.op not in _NOT_ELEMENTWISE


PULL_RULES: dict = {}


def pull_rule(op: str):
    """Registers the rule that pulls one element of an operation's result."""

    def register(rule):
        PULL_RULES[op] = rule
        return rule

    return register


def finish_kernel(builder: KernelBuilder, stores: list[Store], label: str) -> Kernel:
    """Puts the parts together; stages in order of level, columns last."""
    order = sorted(
        range(len(builder.stage_list)),
        key=lambda i: _stage_level(builder, builder.stage_list[i]),
    )
    renumber = {old: new for new, old in enumerate(order)}
    for expr in builder.exprs:
        if expr.op == "reduced":
            expr.attrs = (renumber[expr.attrs[0]], expr.attrs[1])
    stages = [builder.stage_list[i] for i in order]
    stages = [s for s in stages if s.reductions or s.stores or s.saves]
    if len(stages) != len(order):
        _renumber_after_drop(builder, [builder.stage_list[i] for i in order], stages)
    rows = [Loop(v, builder.extents[v]) for v in builder.row_variables]
    for stage in stages:
        for loop in stage.loops:
            if loop.variable in builder.chunked:
                loop.chunk_row, loop.chunk = builder.chunked[loop.variable]
    return Kernel(
        builder.buffers,
        rows,
        stages,
        stores,
        "row",
        builder.exprs,
        builder.saved,
        operations=tuple(builder.operations),
        label=label,
    )


def _stage_level(builder, stage) -> int:
    for s, _, level in builder.stages.values():
        if s is stage:
            return level
    return 1 << 30


def _renumber_after_drop(builder, before, after) -> None:
    position = {id(s): i for i, s in enumerate(after)}
    for expr in builder.exprs:
        if expr.op == "reduced":
            stage = before[expr.attrs[0]]
            if id(stage) in position:
                expr.attrs = (position[id(stage)], expr.attrs[1])
