"""The kernel language: one loop nest that reads buffers, computes, reduces and writes buffers.

    Kernel
      rows     loops over the result's axes; all iterations are independent (these run in parallel)
      stages   one after another for each row: loops that accumulate reductions and/or store
      stores   of a row, after its stages (or of each element, when there are no stages)

`lane` says which loop the vector registers run along: 'row' (the last row loop: lanes are
neighbouring rows) or 'stage' (the last loop of every stage: lanes are neighbouring elements of one
row). With a `tile` along u, the last two row loops (u, v) run in squares in which loads that are
contiguous along u are transposed in registers. `borders` are conditions that are constants in the
middle of the row loops, `sided`: and at one end of them, `whole_ends`: which are one vector each
(interior.py). With `sweep` the stage of a kernel that reduces columns takes that many rows at a
time, of all columns (codegen/sweep.py). With `jumps` the runs read that many rows later are asked
for. With `pairs` each row is two (pair_rows.py). `copies` vectors of rows keep their saved values
side by side. `turned`: lanes are rows, but neighbours in memory are elements of one (turn_rows.py).
`pipelined`: each stage does another row, which are so many `apart` (pipeline_rows.py,
space_rows.py); of columns, rows so many `ahead` are asked for. `asks_for_results`: lines that are
written soon are, too (ask_for_results.py).
`gathered`: their ends are done in vectors, `in_blocks`: their guesses, too (gather_ends.py).
`staggered`: turns of loops overlap (stagger_turns.py), `rolled`: so many that a few more are
little. `small`: 1 for short vector loops (masked throughout), 2 for kernels so small that compiling
quickly matters more than speed.
Expressions are interned; a loop variable is an int, unique in the kernel.

Sizes are not part of a kernel's meaning: `number_slots.py` puts parameters in their places.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

from .affine import Affine

SHORT_STRIDE = 16  # up to here whole vectors are read, and picked from or transposed
SHORT_ROW = 64  # the same where rows' elements are written out, so that many of them are wanted
MOST_BESIDE = 16  # columns of longer rows that are transposed to parts of these rows
SHORT_AXIS = 8  # elements of a last axis, or of a row, that one kernel may write out


class Expr:
    """A scalar value inside the loops.

    ops: const[bits] param[bits] index[affine] load[buffer, affine](mask?) reduced[stage, k]
    saved[k, affine] convert bitcast select and the elementwise names of the graph language.
    """

    __slots__ = ("args", "attrs", "cost", "dtype", "id", "op", "variables")

    def __init__(self, op, args, dtype, attrs, number, cost, variables):
        self.op = op
        self.args = args
        self.dtype = dtype
        self.attrs = attrs
        self.id = number
        self.cost = cost
        self.variables = variables

    def __repr__(self):
        return f"e{self.id}:{self.dtype}={self.op}"


@dataclass
class Loop:
    """`variable` runs over [0, extent); with `chunk_row`, over row `chunk_row`'s share of it:
    [row*chunk, min(extent, (row+1)*chunk)). `unrolled` loops do not appear (expanded on building).
    """

    variable: int
    extent: int
    chunk_row: int | None = None
    chunk: int = 0


@dataclass
class Reduction:
    """kind: sum prod max min and or xor argmax argmin (`index`: the position these count, `narrow`:
    which needs no more than 30 bits). With `factor` the sum is one of products, rounded once each
    with the sum before them. `unwatched`: a maximum that may be anything if it has met NaN.
    `guessed`: a maximum that may be any number about as great; `tells`: a sum that shows whether
    that of this number was (guess_greatest.py).
    `by_blocks`: see find_by_blocks.py."""

    kind: str
    expr: Expr
    dtype: str
    index: Affine | None = None
    narrow: bool = False
    factor: Expr | None = None
    unwatched: bool = False
    guessed: bool = False
    tells: int | None = None
    by_blocks: bool = False


@dataclass
class Store:
    """buffer[position] = expr (with `mask`: only where it holds)."""

    buffer: int
    position: Affine
    expr: Expr
    mask: Expr | None = None


@dataclass
class Carry:
    """A value that lives in a register from turn to turn: `start` (a number) before the first turn,
    or what buffer[position] holds; `next` after each; written back after the last. `carry[k]` is
    its present value."""

    buffer: int
    position: Affine
    dtype: str
    next: Expr
    start: Expr | None = None


@dataclass
class Stage:
    """`test`: the single loop runs while it holds (its extent means nothing then), but no more than
    a bounded number of turns a call; buffer `flag` tells the caller whether it held at the end.
    `is_part`: a later stage has longer loops, so this one has not read what that will read.
    """

    loops: list[Loop]
    reductions: list[Reduction] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    saves: list[tuple[int, Affine, Expr]] = field(default_factory=list)
    carried: list[Carry] = field(default_factory=list)
    test: Expr | None = None
    flag: int = 0
    is_part: bool = False

    def results(self) -> list[Expr]:
        """The expressions this stage is there for."""
        found = [r.expr for r in self.reductions] + [e for _, _, e in self.saves]
        found += [r.factor for r in self.reductions if r.factor is not None]
        found += [c.next for c in self.carried]
        found += [c.start for c in self.carried if c.start is not None]
        return found + ([self.test] if self.test is not None else [])


class Stream(IntEnum):
    """Stores that go past the caches: none, those of rows that begin where lines do, or those of
    the whole lines in rows that begin anywhere."""

    NONE = 0
    LINES = 1
    PARTS = 2


class Counted(IntEnum):
    """Whether the beginnings of rows are counted on (codegen/counted_rows.py): no; of short rows,
    which are one vector at most, whole vectors, or whole ones and a part of one; of long ones."""

    NO = 0
    ONE = 1
    WHOLE = 2
    BOTH = 3
    LONG = 4


class Tile(NamedTuple):
    """Rectangles of the row loops (`variable`, the last one), `side` times `length` elements, in
    which vectors have `lanes`; `ahead`: the next one's lines are asked for; `direct`: there is no
    scratch array (see tiles.py)."""

    variable: int
    lanes: int
    side: int
    length: int
    ahead: bool
    direct: bool = False


class RowsAgain(NamedTuple):
    """`places`: of loads, each with the one that had in the row before what it has in this one,
    where the conditions of `borders` have the values that these say (see find_rows_again.py)."""

    places: dict[Affine, Affine] = {}
    borders: tuple = ()


@dataclass
class Kernel:
    """See the module's text. `buffers[i]` = (element code, 'in' | 'out' | 'inout')."""

    buffers: list[tuple[str, str]]
    rows: list[Loop]
    stages: list[Stage]
    stores: list[Store]
    lane: str
    exprs: list[Expr]
    saved: list[tuple[str, int]] = field(default_factory=list)
    small: int = 0
    counted: Counted = Counted.NO
    lanes: int = 0  # 0: as types have; fewer for rows shorter than a vector, more for words
    stream: Stream = Stream.NONE
    tile: Tile | None = None
    operations: tuple[str, ...] = ()
    label: str = ""
    copies: int = 1
    borders: list = field(default_factory=list)  # see interior.py
    sided: bool = False  # the same
    whole_ends: bool = False  # the same
    whole_rows: bool = False  # the same
    overlaps: bool = False  # a row's last vector may begin in the one before (see end_runs.py)
    in_vectors: bool = False  # what vectors run along is whole ones (the same)
    early: bool = False  # the last vector of a run begins so early that it is whole (the same)
    sweep: int = 0
    near: dict = field(default_factory=dict)  # see near_loads.py
    woven: dict = field(default_factory=dict)  # the same, for those a short step apart
    jumps: int = 0
    pairs: Expr | None = None  # the number of the first of two rows
    turned: bool = False  # see turn_rows.py
    pipelined: bool = False  # see pipeline_rows.py
    ahead: int = 0  # the same
    apart: int = 1  # see space_rows.py
    asks_for_results: bool = False  # see ask_for_results.py
    gathered: bool = False  # see gather_ends.py
    in_blocks: bool = False  # the same
    staggered: bool = False  # see stagger_turns.py
    rolled: bool = False  # the same
    again: RowsAgain = RowsAgain()
    short_stride: int = SHORT_STRIDE
    blocks: int = 0  # rows written at a time (see move_blocks.py, weave_rows.py)
    alike: Any = None  # a Pattern by which they are computed (alike.py, weave_rows.py)
    beside: bool = False  # the stores fill rows' elements that follow one another, in this order


def live_expressions(kernel: Kernel) -> list[Expr]:
    """The expressions some store, save or reduction needs, operands first."""
    by_id = {e.id: e for e in kernel.exprs}
    stack: list[Expr] = []
    seen: set[int] = set()

    def need_affine(a):
        stack.extend([by_id[-1 - atom] for atom, _ in a[1] if atom < 0])

    def need_store(store):
        stack.append(store.expr)
        if store.mask is not None:
            stack.append(store.mask)
        need_affine(store.position)

    for stage in kernel.stages:
        stack.extend(stage.results())
        for _, position, _ in stage.saves:
            need_affine(position)
        for store in stage.stores:
            need_store(store)
    for store in kernel.stores:
        need_store(store)
    while stack:
        expr = stack.pop()
        if expr.id in seen:
            continue
        seen.add(expr.id)
        stack.extend(expr.args)
        if expr.op in ("load", "index", "saved"):
            need_affine(expr.attrs[-1])
    return [by_id[i] for i in sorted(seen)]


def append_expression(
    kernel: Kernel, found: list[Expr], op: str, *args: Expr, attrs=(), dtype=None
) -> Expr:
    """A new expression, the kernel's last one and that of `found`."""
    variables = frozenset().union(*[a.variables for a in args])
    cost = (0 if op == "const" else 4 if op == "div" else 1) + sum(a.cost for a in args)
    x = Expr(op, args, dtype or args[0].dtype, attrs, len(kernel.exprs), cost, variables)
    kernel.exprs.append(x)
    found.append(x)
    return x
