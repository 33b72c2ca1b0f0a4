"""The canonical text of a kernel, in which sizes are parameters.

In: a scheduled kernel and its live expressions. Out: a `SlottedKernel`: every extent, stride and
offset (other than 0 and ±1, and what code depends on) is a slot, so that the text is the same for
all sizes. That text, without names, is what kernels are cached by.
"""

from dataclasses import dataclass, replace

from .affine import Affine
from .kernel import SHORT_AXIS, Expr, Kernel, Loop, Store, Stream


class Slots:
    """Numbers the parameters of a kernel: `new(value)` gives the text of an integer."""

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
    """A kernel whose integers are slots: the canonical text, and the values for this size. Codegen
    finds in `affines`, `extents`, `chunks` and `params` what the text says."""

    kernel: Kernel
    text: str
    values: list[int]
    affines: dict[Affine, tuple]  # (text of the constant, ((atom, text of its coefficient), …))
    extents: dict[int, str]  # of loops, by their variables
    chunks: dict[int, str]
    params: dict[int, str]  # by the expressions' numbers


def number_slots(kernel: Kernel, used: list[Expr]) -> SlottedKernel:
    """Gives every size-dependent integer of a kernel a slot and writes the canonical text.

    `used` are the kernel's live expressions, operands first.
    """
    writer = _Writer(kernel, used)
    lines = writer.lines()
    return SlottedKernel(
        kernel, "\n".join(lines), writer.slots.values, writer.affines, writer.extents,
        writer.chunks, writer.params,
    )  # fmt: skip


def without_stream(slotted: SlottedKernel) -> SlottedKernel:
    """The same kernel, whose results stay in the caches, with the slots that it has."""
    if not slotted.kernel.stream:
        return slotted
    buffers, rows, *others = slotted.text.split("\n")
    rows = rows.replace(" stream parts", "").replace(" stream", "")
    kernel = replace(slotted.kernel, stream=Stream.NONE)
    return replace(slotted, kernel=kernel, text="\n".join([buffers, rows, *others]))


class _Writer:
    """The text so far."""

    def __init__(self, kernel: Kernel, used: list[Expr]):
        self.kernel, self.used, self.slots = kernel, used, Slots()
        self.affines: dict = {}
        self.extents: dict[int, str] = {}
        self.chunks: dict[int, str] = {}
        self.params: dict[int, str] = {}
        self.number: dict[int, int] = {}
        self.loop_names: dict[int, str] = {}
        self.by_id = {x.id: x for x in used}
        self.lane_loops = lane_loops(kernel)
        self.in_registers = any(stage.carried for stage in kernel.stages)

    def lines(self) -> list[str]:
        """Buffers and loops, expressions, then what is reduced and stored."""
        kernel = self.kernel
        found = ["buffers " + " ".join(f"{code}:{mode}" for code, mode in kernel.buffers)]
        rows = " ".join([self.loop(loop) for loop in kernel.rows])
        found.append(f"rows {rows} lane {kernel.lane}{self.flags()}")
        if kernel.saved:
            saved = [f"{code}:{self.slots.new(n)}" for code, n in kernel.saved]
            found.append("saved " + " ".join(saved))
        for stage in kernel.stages:
            part = " part" * stage.is_part
            found.append("loops " + " ".join([self.loop(loop) for loop in stage.loops]) + part)
        found += [self.expression(expr) for expr in self.used]
        for border in kernel.borders:
            ends = " left" * border.ends[0] + " right" * border.ends[1]
            found.append(f"border {self.border(border)}{ends}")
        for place, before in kernel.again.places.items():
            found.append(f"again {self.affine(place)} was {self.affine(before)}")
        found += [f"if {self.border(border)}" for border in kernel.again.borders]
        for s, stage in enumerate(kernel.stages):
            found += [f"stage {s} {text}" for text in self.stage(stage)]
        if kernel.beside:
            return [*found, self.stores_beside(kernel.stores)]
        return found + [self.store(store) for store in kernel.stores]

    def flags(self) -> str:
        """How the loops run: what `schedule.py` has chosen."""
        kernel = self.kernel
        text = f" small {kernel.small}"
        if kernel.counted:
            text += f" counted {kernel.counted.name.lower()}"
        if kernel.lanes:
            text += f" lanes {kernel.lanes}"
        if kernel.stream:
            text += " stream" + " parts" * (kernel.stream == Stream.PARTS)
        if kernel.copies > 1:
            text += f" copies {kernel.copies}"
        if kernel.tile is not None:
            variable, lanes, side, length, ahead, direct = kernel.tile
            extents = f"{side}" if side == length else f"{side}x{length}"
            text += f" tile {self.loop_names[variable]} {lanes} {extents}{' ahead' * ahead}"
            text += " direct" * direct
        if kernel.jumps:
            text += f" jumps {kernel.jumps}"
        text += " pairs" * (kernel.pairs is not None) + " turned" * kernel.turned
        text += " pipelined" * kernel.pipelined + f" ahead {kernel.ahead}" * (kernel.ahead > 0)
        text += f" apart {kernel.apart}" * (kernel.apart > 1)
        text += " asks for results" * kernel.asks_for_results
        text += " gathered" * kernel.gathered + " in blocks" * kernel.in_blocks
        text += " staggered" * kernel.staggered
        text += " rolled" * kernel.rolled
        text += " sided" * kernel.sided
        text += " ends whole" * kernel.whole_ends + " overlaps" * kernel.overlaps
        text += " rows whole" * kernel.whole_rows
        text += " in vectors" * kernel.in_vectors + " early" * kernel.early
        text += " blocks" * (kernel.blocks > 0) + f" {kernel.blocks}" * (kernel.blocks > 1)
        text += " alike" * (kernel.alike is not None)
        return text + (f" sweep {kernel.sweep}" if kernel.sweep else "")

    def loop(self, loop: Loop) -> str:
        name = self.loop_names[loop.variable] = f"v{len(self.loop_names)}"
        extent = self.extents[loop.variable] = self.slots.new(loop.extent)
        if loop.chunk_row is None:
            return f"{name}<{extent}"
        chunk = self.chunks[loop.variable] = self.slots.new(loop.chunk)
        return f"{name}<{extent}/{self.loop_names[loop.chunk_row]}*{chunk}"

    # ------------------------------------------------------------------ expressions
    def expression(self, expr: Expr) -> str:
        self.number[expr.id] = len(self.number)
        args = " ".join([f"e{self.number[a.id]}" for a in expr.args])
        return f"e{self.number[expr.id]}:{expr.dtype}={expr.op} {self.attributes(expr)} {args}"

    def attributes(self, expr: Expr) -> str:
        if expr.op == "load":
            text = f"b{expr.attrs[0]}[{self.affine(expr.attrs[1])}]"
            again = _loaded_anew(expr, self.by_id) if self.in_registers else frozenset()
            inner = sorted(again & self.loop_names.keys())
            return text + "".join([f" anew in {self.loop_names[v]}" for v in inner])
        if expr.op in ("index", "saved"):
            extra = f"{expr.attrs[0]} " if expr.op == "saved" else ""
            return extra + self.affine(expr.attrs[-1])
        if expr.op == "param":
            slot = self.params.get(expr.id)
            if slot is None:
                slot = self.params[expr.id] = self.slots.new(signed(expr.attrs[0]))
            return slot
        return ",".join(map(str, expr.attrs)) if expr.attrs else ""

    def affine(self, affine: Affine) -> str:
        """The text of an index; one slot for each (atom, coefficient) of the kernel."""
        known = self.affines.get(affine)
        if known is None:
            near = self.kernel.near.get(affine) or self.kernel.woven.get(affine)
            known = self.slotted(affine) if near is None else self.near(*near)
            self.affines[affine] = known
        base, terms = known
        parts = [f"{c}*{self.name(atom)}" for atom, c in terms]
        if base != "0" or not parts:
            parts.append(base)
        return "+".join(parts)

    def near(self, midst: Affine, distance: int) -> tuple:
        """Of loads near one another the distances are structural (near_loads.py)."""
        if midst not in self.affines:
            self.affines[midst] = self.slotted(midst)
        base, terms = self.affines[midst]
        return f"{base}{distance:+}", terms

    def slotted(self, affine: Affine) -> tuple:
        """Short strides along the vector loops are structural: their elements come in whole
        vectors."""
        terms, skipped, named = [], 0, self.slots.named
        for atom, c in affine[1]:
            short = atom in self.lane_loops and (
                1 < c <= self.kernel.short_stride or -SHORT_AXIS <= c < -1
            )
            if short:
                skipped = c
            if (atom, c) not in named:
                named[atom, c] = str(c) if short else self.slots.integer(c)
            terms.append((atom, named[atom, c]))
        inside = 0 <= affine[0] < skipped
        return str(affine[0]) if inside else self.slots.integer(affine[0]), tuple(terms)

    def name(self, atom: int) -> str:
        return self.loop_names[atom] if atom >= 0 else f"e{self.number[-1 - atom]}"

    def border(self, border) -> str:
        value = "holds" if border.holds else "above" if border.above else "below"
        return f"e{self.number[border.condition.id]} {value}"

    # ------------------------------------------------------------------ results
    def store(self, store: Store) -> str:
        mask = f" if e{self.number[store.mask.id]}" if store.mask is not None else ""
        place = self.affine(store.position)
        return f"b{store.buffer}[{place}]=e{self.number[store.expr.id]}{mask}"

    def stores_beside(self, stores: list[Store]) -> str:
        values = " ".join([f"e{self.number[store.expr.id]}" for store in stores])
        return f"b{stores[0].buffer}[{self.affine(stores[0].position)}..]={values}"

    def stage(self, stage) -> list[str]:
        """What a stage leaves: reductions, saved values, stores, carried values, its test."""
        number, found = self.number, []
        for r in stage.reductions:
            where = f" at {self.affine(r.index)}" if r.index is not None else ""
            where += " narrow" * r.narrow + " unwatched" * r.unwatched + " guessed" * r.guessed
            where += " blocks" * r.by_blocks + (f" tells {r.tells}" if r.tells is not None else "")
            times = f"*e{number[r.factor.id]}" if r.factor is not None else ""
            found.append(f"{r.kind}:{r.dtype} e{number[r.expr.id]}{times}{where}")
        for k, position, expr in stage.saves:
            found.append(f"save {k}[{self.affine(position)}]=e{number[expr.id]}")
        found += [self.store(store) for store in stage.stores]
        for c in stage.carried:
            place = self.affine(c.position)
            start = f" from e{number[c.start.id]}" if c.start is not None else ""
            found.append(f"carry b{c.buffer}[{place}]:{c.dtype} e{number[c.next.id]}{start}")
        if stage.test is not None:
            found.append(f"while e{number[stage.test.id]} flag b{stage.flag}")
        return found


def _loaded_anew(load: Expr, by_id: dict[int, Expr]) -> frozenset:
    """Loops in which a load is repeated although its place does not change in them."""
    found = load.variables
    for a in load.args:
        found = found - a.variables
    for atom, _ in load.attrs[1][1]:
        found = found - (by_id[-1 - atom].variables if atom < 0 else {atom})
    return found


def lane_loops(kernel: Kernel) -> frozenset[int]:
    """The loops that vectors run along (in tiles both ways), unless they are short."""
    across = frozenset([kernel.tile.variable] if kernel.tile is not None else ())
    if kernel.small or kernel.lane == "none" or kernel.turned:
        return across
    if kernel.lane == "row":
        return across.union(loop.variable for loop in kernel.rows[-1:])
    return frozenset(stage.loops[-1].variable for stage in kernel.stages if stage.loops)


def signed(bits: int) -> int:
    """A 64-bit pattern as the int64 that has it."""
    return bits - (1 << 64) if bits >> 63 else bits
