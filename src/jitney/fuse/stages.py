"""The loops of one kernel: rows, the stages of a row one after another, and what they leave there.

In: the node whose elements are the rows (or rows and columns); expressions. Out: `Stage`s in order
of their levels (a stage runs after those whose results it needs), and scratch rows in which costly
values are kept from one stage to a later one.
"""

import itertools
import math

from ..ir.node import Node
from . import affine as af
from .expressions import Expressions
from .kernel import SHORT_ROW, Expr, Loop, Stage
from .split_axes import joined_index

# Elements of a row kept between stages: it must fit in L2 beside its sources. Of arrays that the
# caches keep with what is made of them longer ones are kept, too (a Zen 5, two threads: gelu over
# its sums of 20 x 20000 86 to 47 us, of 64 x 32000 419 to 213, softmax 26 to 22 and 116 to 107; of
# 100 x 32000, 26 MB with the result, 185 to 245, and what comes from memory 1.05 to 1.1).
ROW_LIMIT, NEAR_ROW_LIMIT, NEAR_ELEMENTS = 12288, 32768, 5 << 19
ROWS_LIMIT = 8 * ROW_LIMIT  # of rows that are written out side by side
COLUMNS = 1 << 20  # the level of the stage that stores a row's columns: after every reduction


class Stages(Expressions):
    """The loops so far: over `root`'s shape, or `shape`, in which axes are split (split_axes.py).
    `row_positions`: the axes that are rows, if others are columns of a last stage; `written_out`:
    so many last axes are no loops, their elements are written out."""

    def __init__(self, root: Node, row_positions=None, written_out=0, shape=None):
        super().__init__()
        self.extents: dict[int, int] = {}
        self.chunked: dict[int, tuple[int, int]] = {}
        self.stages: dict = {}
        self.stage_list: list[Stage] = []
        self.level_of: dict[int, int] = {}
        self.heavy_seen: dict[int, list[tuple]] = {}
        self.saved: list[tuple[str, int]] = []
        self.saved_level: list[int] = []
        self._levels: dict[int, int] = {}
        self.column_stage: Stage | None = None
        self.shape = root.shape if shape is None else shape
        places = self._make_loops(row_positions)
        self.root_index = joined_index(places, self.shape, root.shape)
        self.root_indices = [self.root_index]  # all that are computed at a turn of the row loops
        self.written_out = written_out
        if written_out:
            self._write_out_last_axes(places, root, written_out)

    # ------------------------------------------------------------------ loops
    def new_variable(self, extent: int) -> int:
        number = len(self.extents)
        self.extents[number] = extent
        return number

    def _make_loops(self, row_positions) -> list[af.Affine]:
        """The places along each axis of `shape`."""
        self.row_variables: list[int] = []
        self.column_variables: list[int] = []
        index = []
        for position, extent in enumerate(self.shape):
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
        self.row_set = frozenset(self.row_variables)
        if self.column_variables:
            self._make_column_stage()
        return index

    def _write_out_last_axes(self, places, root: Node, count: int) -> None:
        """The elements of the last axes instead of loops over them (see write_out.py)."""
        extents = self.shape[-count:]
        for extent in extents:
            if extent > 1:
                del self.extents[self.row_variables.pop()]
        self.row_set = frozenset(self.row_variables)
        self.root_indices = [
            joined_index((*places[:-count], *map(af.constant, last)), self.shape, root.shape)
            for last in itertools.product(*map(range, extents))
        ]

    def _make_column_stage(self) -> None:
        variables = self.column_variables
        stage = Stage([Loop(v, self.extents[v]) for v in variables])
        self.stages["columns"] = (stage, variables, COLUMNS)
        self.stage_list.append(stage)
        for v in variables:
            self.level_of[v] = COLUMNS
        self.column_stage = stage

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

    def stage_along(self, level: int, extents: tuple, key=None) -> tuple[Stage, list[int], list]:
        """(a stage of a level, its variables, the position in a reduction's axes). An axis of one
        element has no loop, which vectors would go along (a Zen 3: the mean of what
        `take_along_axis` picks, 600 x 1, 12.8 us, without it 3.8); of pieces the first axis has."""
        long = [k for k, n in enumerate(extents) if n != 1 or (key is not None and k == 0)] or [0]
        stage, variables = self.stage_for(level, tuple([extents[k] for k in long]), key)
        position = [af.constant(0)] * len(extents)
        for k, v in zip(long, variables, strict=True):
            position[k] = af.variable(v)
        return stage, variables, position

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

    def keep(self, node, index, expr) -> Expr:
        """[Note: saved rows] A costly value of one stage that a later stage needs again at the
        same place of the row is kept in a scratch row instead of being computed twice; of rows that
        are written out side by side, each in its own."""
        loops = sorted(expr.variables - self.row_set)
        if not loops or any(v not in self.level_of for v in loops):
            return expr
        if self.level(expr) > self.level_of[loops[0]]:
            return expr  # tried in too early a stage; it will be asked for again in a later one
        seen = self.heavy_seen.setdefault(node.id, [])
        for k, (first_index, first, first_loops) in enumerate(seen):
            same = first_loops != loops and self._same_place(first_index, first_loops, index, loops)
            if not same:
                continue
            if self.level_of[loops[0]] > self.level_of[first_loops[0]]:
                return self._save(first, expr, first_loops, loops)
            if self.level_of[loops[0]] < self.level_of[first_loops[0]]:
                # the stage met later runs earlier: what was made before becomes the reader
                read = self._save(expr, first, loops, first_loops)
                if read is not first:
                    first.op, first.args, first.attrs = read.op, read.args, read.attrs
                    first.cost = read.cost
                seen[k] = (index, expr, loops)
            return expr
        if len(seen) < SHORT_ROW:
            seen.append((index, expr, loops))
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
        if stage is None or not self._is_kept(math.prod(extents)):
            return expr
        strides = af.contiguous_strides(extents)
        known = [k for k, _, e in stage.saves if e is first]
        number = known[0] if known else self._new_row(stage, first, first_loops, strides)
        position = af.dot([af.variable(v) for v in loops], strides)
        variables = frozenset(loops) | (first.variables & self.row_set)
        return self.make("saved", (), first.dtype, (number, position), variables, cost=1)

    def _is_kept(self, size: int) -> bool:
        """Whether rows of so many elements are not too long."""
        together = size * len(self.root_indices)
        all_rows = together * math.prod(self.extents[v] for v in self.row_variables)
        limit = NEAR_ROW_LIMIT if all_rows <= NEAR_ELEMENTS else ROW_LIMIT
        return 0 < size <= limit and together <= ROWS_LIMIT

    def _new_row(self, stage: Stage, expr: Expr, loops, strides) -> int:
        """The number of a scratch row in which a stage leaves an expression."""
        number, size = len(self.saved), math.prod(self.extents[v] for v in loops)
        self.saved.append((expr.dtype, size))
        self.saved_level.append(self.level_of[loops[0]])
        position = af.dot([af.variable(v) for v in loops], strides)
        stage.saves.append((number, position, expr))
        return number
