"""The kernel language: one loop nest that reads buffers, computes, reduces and writes buffers.

    Kernel
      rows     loops over the result's axes; all iterations are independent (these run in parallel)
      stages   one after another for each row: loops that accumulate reductions and/or store
      stores   of a row, after its stages (or of each element, when there are no stages)

`lane` says which loop the vector registers run along: 'row' (the last row loop: lanes are
neighbouring rows) or 'stage' (the last loop of every stage: lanes are neighbouring elements of one
row). With a `tile` along u, the last two row loops (u, v) run in squares in which loads that are
contiguous along u are transposed in registers. `borders` are conditions that are constants in the
middle of the row loops. With `sweep` the stage of a kernel that reduces columns takes that many
rows at a time, of all columns (codegen/sweep.py). With `jumps` the runs read that many rows later
are asked for. With `pairs` each row is two (pair_rows.py). `copies` vectors of rows keep their
saved values side by side. `turned`: lanes are rows, but neighbours in memory are elements of one
(turn_rows.py). `small`: 1 for short vector loops (masked throughout), 2 for kernels so small that
compiling quickly matters more than speed. Expressions are interned; a loop variable is an int,
unique in the kernel.

Sizes are not part of a kernel's meaning: `number_slots` replaces every extent, stride and offset
(other than 0 and ±1) by a parameter slot, so that the text is the same for all sizes. That text,
without names, is what kernels are cached by.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from .affine import Affine

SHORT_STRIDE = 16  # up to here whole vectors are read, and picked from or transposed
SHORT_ROW = 64  # the same where rows' elements are written out, so that many of them are wanted
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
    with the sum before them."""

    kind: str
    expr: Expr
    dtype: str
    index: Affine | None = None
    narrow: bool = False
    factor: Expr | None = None


@dataclass
class Store:
    """buffer[position] = expr (with `mask`: only where it holds)."""

    buffer: int
    position: Affine
    expr: Expr
    mask: Expr | None = None


@dataclass
class Carry:
    """A value that lives in a register from turn to turn: read from buffer[position] before the
    first turn, `next` after each, written back after the last. `carry[k]` is its present value."""

    buffer: int
    position: Affine
    dtype: str
    next: Expr


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
        return found + ([self.test] if self.test is not None else [])


class Stream(IntEnum):
    """Stores that go past the caches: none, those of rows that begin where lines do, or those of
    the whole lines in rows that begin anywhere."""

    NONE = 0
    LINES = 1
    PARTS = 2


class Tile(NamedTuple):
    """Squares of the row loops (`variable`, the last one), `side` elements wide, in which vectors
    have `lanes`; `ahead`: the next square's lines are asked for (see tiles.py)."""

    variable: int
    lanes: int
    side: int
    ahead: bool


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
    stream: Stream = Stream.NONE
    tile: Tile | None = None
    operations: tuple[str, ...] = ()
    label: str = ""
    copies: int = 1
    borders: list = field(default_factory=list)  # see interior.py
    sweep: int = 0
    near: dict = field(default_factory=dict)  # see near_loads.py
    jumps: int = 0
    pairs: Expr | None = None  # the number of the first of two rows
    turned: bool = False  # see turn_rows.py
    short_stride: int = SHORT_STRIDE


class Slots:
    """Numbers the parameters of a kernel: `name(value)` gives the text of an integer."""

    def __init__(self):
        self.values: list[int] = []
        self.named: dict = {}

    def new(self, value: int) -> str:
        self.values.append(value)
        return f"s{len(self.values) - 1}"

    def integer(self, value: int) -> str:
        """Text of an integer: itself if it is structural (0, 1, -1), else a slot."""
        return str(value) if -1 <= value <= 1 else self.new(value)


@dataclass
class SlottedKernel:
    """A kernel whose integers are slots: the canonical text, and the values for this size.

    `integers` maps (what, key) to the slot text, so that codegen and text agree:
    ('extent', variable), ('chunk', variable), ('affine', affine) -> tuple, ('param', bits, code).
    """

    kernel: Kernel
    text: str
    values: list[int]
    affines: dict
    extents: dict
    chunks: dict
    params: dict


def _affine_text(slots, affines, affine, names, lane_loops, near, longest) -> str:
    """The text of an index; one slot for each (atom, coefficient) of the kernel.

    Short strides along the vector loops are structural: their elements come in whole vectors. So
    are the distances of loads from one near them.
    """
    known = affines.get(affine)
    if known is None and affine in near:
        midst, distance = near[affine]
        _affine_text(slots, affines, midst, names, lane_loops, {}, longest)
        base, terms = affines[midst]
        known = affines[affine] = (f"{base}{distance:+}", terms)
    if known is None:
        terms, skipped = [], 0
        for atom, c in affine[1]:
            key = (atom, c)
            short = atom in lane_loops and 1 < c <= longest
            if short:
                skipped = c
            if key not in slots.named:
                slots.named[key] = str(c) if short else slots.integer(c)
            terms.append((atom, slots.named[key]))
        inside = 0 <= affine[0] < skipped
        base = str(affine[0]) if inside else slots.integer(affine[0])
        known = affines[affine] = (base, tuple(terms))
    base, terms = known
    parts = [f"{c}*{names(atom)}" for atom, c in terms]
    if base != "0" or not parts:
        parts.append(base)
    return "+".join(parts)


def _loaded_anew(load: Expr, by_id: dict[int, Expr]) -> frozenset:
    """Loops in which a load is repeated although its place does not change in them."""
    found = load.variables
    for a in load.args:
        found = found - a.variables
    for atom, _ in load.attrs[1][1]:
        found = found - (by_id[-1 - atom].variables if atom < 0 else {atom})
    return found


def _lane_loops(kernel: Kernel) -> frozenset[int]:
    """The loops that vectors run along (in tiles both ways), unless they are short."""
    across = frozenset([kernel.tile.variable] if kernel.tile is not None else ())
    if kernel.small or kernel.lane == "none" or kernel.turned:
        return across
    if kernel.lane == "row":
        return across.union(loop.variable for loop in kernel.rows[-1:])
    return frozenset(stage.loops[-1].variable for stage in kernel.stages if stage.loops)


def number_slots(kernel: Kernel, used: list[Expr]) -> SlottedKernel:
    """Gives every size-dependent integer of a kernel a slot and writes the canonical text.

    `used` are the kernel's live expressions, operands first.
    """
    slots = Slots()
    affines: dict = {}
    extents: dict[int, str] = {}
    chunks: dict[int, str] = {}
    params: dict[int, str] = {}
    number: dict[int, int] = {}
    loop_names: dict[int, str] = {}
    by_id = {x.id: x for x in used}
    in_registers = any(stage.carried for stage in kernel.stages)

    def names(atom):
        return loop_names[atom] if atom >= 0 else f"e{number[-1 - atom]}"

    lane_loops = _lane_loops(kernel)

    def affine(a):
        return _affine_text(
            slots, affines, a, names, lane_loops, kernel.near, kernel.short_stride
        )

    def loop_text(loop):
        loop_names[loop.variable] = f"v{len(loop_names)}"
        extents[loop.variable] = slots.new(loop.extent)
        text = f"{loop_names[loop.variable]}<{extents[loop.variable]}"
        if loop.chunk_row is not None:
            chunks[loop.variable] = slots.new(loop.chunk)
            text += f"/{loop_names[loop.chunk_row]}*{chunks[loop.variable]}"
        return text

    lines = ["buffers " + " ".join(f"{code}:{mode}" for code, mode in kernel.buffers)]
    rows = " ".join([loop_text(loop) for loop in kernel.rows])
    flags = f" small {kernel.small}"
    if kernel.stream:
        flags += " stream" + " parts" * (kernel.stream == Stream.PARTS)
    if kernel.copies > 1:
        flags += f" copies {kernel.copies}"
    if kernel.tile is not None:
        variable, lanes, side, ahead = kernel.tile
        flags += f" tile {loop_names[variable]} {lanes} {side}{' ahead' if ahead else ''}"
    if kernel.jumps:
        flags += f" jumps {kernel.jumps}"
    if kernel.pairs is not None:
        flags += " pairs"
    if kernel.turned:
        flags += " turned"
    if kernel.sweep:
        flags += f" sweep {kernel.sweep}"
    lines.append(f"rows {rows} lane {kernel.lane}{flags}")
    if kernel.saved:
        lines.append("saved " + " ".join(f"{code}:{slots.new(n)}" for code, n in kernel.saved))
    for stage in kernel.stages:
        part = " part" * stage.is_part
        lines.append("loops " + " ".join([loop_text(loop) for loop in stage.loops]) + part)
    for expr in used:
        number[expr.id] = len(number)
        op = expr.op
        if op == "load":
            text = f"b{expr.attrs[0]}[{affine(expr.attrs[1])}]"
            again = _loaded_anew(expr, by_id) & loop_names.keys() if in_registers else ()
            text += "".join([f" anew in {loop_names[v]}" for v in sorted(again)])
        elif op in ("index", "saved"):
            extra = f"{expr.attrs[0]} " if op == "saved" else ""
            text = extra + affine(expr.attrs[-1])
        elif op == "param":
            slot = params.get(expr.id)
            if slot is None:
                slot = params[expr.id] = slots.new(signed(expr.attrs[0]))
            text = slot
        elif expr.attrs:
            text = ",".join(map(str, expr.attrs))
        else:
            text = ""
        args = " ".join([f"e{number[a.id]}" for a in expr.args])
        lines.append(f"e{number[expr.id]}:{expr.dtype}={op} {text} {args}")

    for border in kernel.borders:
        value = "holds" if border.holds else "above" if border.above else "below"
        lines.append(f"border e{number[border.condition.id]} {value}")

    def store_text(store):
        mask = f" if e{number[store.mask.id]}" if store.mask is not None else ""
        return f"b{store.buffer}[{affine(store.position)}]=e{number[store.expr.id]}{mask}"

    for s, stage in enumerate(kernel.stages):
        for r in stage.reductions:
            where = f" at {affine(r.index)}" if r.index is not None else ""
            where += " narrow" if r.narrow else ""
            times = f"*e{number[r.factor.id]}" if r.factor is not None else ""
            lines.append(f"stage {s} {r.kind}:{r.dtype} e{number[r.expr.id]}{times}{where}")
        for k, position, expr in stage.saves:
            lines.append(f"stage {s} save {k}[{affine(position)}]=e{number[expr.id]}")
        lines += [f"stage {s} {store_text(store)}" for store in stage.stores]
        for c in stage.carried:
            place = affine(c.position)
            lines.append(f"stage {s} carry b{c.buffer}[{place}]:{c.dtype} e{number[c.next.id]}")
        if stage.test is not None:
            lines.append(f"stage {s} while e{number[stage.test.id]} flag b{stage.flag}")
    lines += [store_text(store) for store in kernel.stores]
    return SlottedKernel(
        kernel, "\n".join(lines), slots.values, affines, extents, chunks, params,
    )  # fmt: skip


def signed(bits: int) -> int:
    """A 64-bit pattern as the int64 that has it."""
    return bits - (1 << 64) if bits >> 63 else bits


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
