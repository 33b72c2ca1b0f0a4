"""Staggered loops without a beginning and an end of their own: long loops over elements.

In: a body in parts that carries nothing, whose last part does all it stores, at least as many turns
as there are parts. Out: one loop, of as many turns more as there are parts after the first. In the
first turns later parts compute something of the first vector's address from zeros, which is stored
nowhere that matters; in the last ones earlier parts do the last vector again. Every element comes
from the same instructions as before.

Why: turns that only begin, and those that only end, are two thirds of a staggered loop's code, and
LLVM's time grows with it. A Zen 5, 10^6 elements, first calls: gelu 14.6 to 9.6 ms, softplus 15 to
11, mish 27 to 15, gelu of bfloat16 79 to 32, silu of it 28 to 13; later ones, by turns, .98 to 1.05
of the time.
"""

import re

from .loop_parts import Body, Line
from .staggered_loop import Bounds, Turns, type_of

# What may trap where it computes with zeros: none of a body's vectors.
TRAPS = re.compile(r" = [us](?:div|rem) ")
STORED = re.compile(r"(  store <\d+ x \w+> \S+, ptr )(%[\w.]+)(, .*)")
SCRATCH = "%nowhere"  # where a vector may be stored that is none


def can_roll(body: Body) -> bool:
    """Whether no part does harm where it has no vector yet, or does its vector twice."""
    made = {line.name for line in body.lines}
    return not body.carried and all(
        STORED.fullmatch(line.text) and line.part == body.last
        if not line.name and "prefetch" not in line.text
        else not TRAPS.search(line.text) and not _follows_values(line, made)
        for line in body.lines
    )


def _follows_values(line: Line, made: set[str]) -> bool:
    """Whether it reads memory at addresses that were computed of values, which may be nowhere."""
    is_load = "= load " in line.text or ".load." in line.text or ".gather." in line.text
    return is_load and any(read in made for read in line.awaits)


class RolledTurns(Turns):
    """Parts of turns whose vectors are limited to those that there are."""

    def __init__(self, e, body: Body, bounds: Bounds, last_index: str):
        self.bounds, self.last_index, self.places, self.is_begun = bounds, last_index, {}, ""
        super().__init__(e, body, int(bounds.step))
        e.declare("declare i64 @llvm.smin.i64(i64, i64)")
        e.declare("declare i64 @llvm.smax.i64(i64, i64)")

    def index_at(self, turn: int) -> str:
        """Where the vector is that was begun so many turns ago (0, -1...)."""
        if turn not in self.places:
            name = super().index_at(turn)
            if turn:
                name = self._limited("smax", name, self.bounds.low)
            if turn > -self.body.last:
                name = self._limited("smin", name, self.last_index)
            self.places[turn] = name
        return self.places[turn]

    def _limited(self, how: str, name: str, limit: str) -> str:
        limited = self.e.fresh()
        self.e.emit_raw(f"  {limited} = call i64 @llvm.{how}.i64(i64 {name}, i64 {limit})")
        return limited

    def _write(self, line: Line, number: int, part: int, made: dict) -> None:
        stored = STORED.fullmatch(line.text)
        if stored is None:
            return super()._write(line, number, part, made)
        place, chosen = self._name(stored[2], number, part, made), self.e.fresh()
        self.e.emit_raw(f"  {chosen} = select i1 {self.is_begun}, ptr {place}, ptr {SCRATCH}")
        value = {r: self._name(r, number, part, made) for r in line.reads if r != stored[2]}
        text = f"{stored[1]}{chosen}{stored[3]}"
        for old, new in value.items():
            text = text.replace(f"{old},", f"{new},")
        self.e.emit_raw(text)


def write_rolled(e, body: Body, bounds: Bounds, labels) -> str:
    """The loop, if it has more turns than parts after the first; the index after it."""
    head, inside, done = labels
    before, step = e.block, int(bounds.step)
    ahead = step * body.last
    enough = e.instruction(f"add i64 {bounds.low}, {ahead}")
    many = e.instruction(f"icmp slt i64 {enough}, {bounds.high}")
    e.emit_raw(f"  br i1 {many}, label %{head}, label %{done}")
    known = dict(e._memory)
    e.begin_block(head)
    e.lines += [line.text for line in body.fixed]
    end = _end(e, bounds)
    last_index = e.instruction(f"sub i64 {end}, {step}")
    limit = e.instruction(f"add i64 {end}, {ahead}")
    e.emit_raw(f"  br label %{inside}")
    e.begin_block(inside)
    turns, waiting, following = RolledTurns(e, body, bounds, last_index), body.waiting(), e.fresh()
    names = {key: e.fresh() for key in waiting}
    turns.go_on(body.index, {}, names)
    phis = len(e.lines)
    turns.is_begun = e.instruction(f"icmp sge i64 {body.index}, {enough}")
    turns.turn(0, range(body.last + 1))
    e.lines[phis:phis] = [
        f"  {body.index} = phi i64 [ {bounds.low}, %{head} ], [ {following}, %{inside} ]",
        *(f"  {name} = phi {type_of(waiting[key])} [ {_zero(type_of(waiting[key]))}, %{head} ], "
          f"[ {turns.found[key[0], 1 - key[1]]}, %{inside} ]" for key, name in names.items()),
    ]  # fmt: skip
    e.emit_raw(f"  {following} = add i64 {body.index}, {step}")
    e.emit_raw(f"  {(test := e.fresh())} = icmp slt i64 {following}, {limit}")
    e.emit_raw(f"  br i1 {test}, label %{inside}, label %{done}")
    e.begin_block(done)
    e._memory, name = known, e.fresh()
    e.emit_raw(f"  {name} = phi i64 [ {bounds.low}, %{before} ], [ {end}, %{inside} ]")
    return name


def _end(e, bounds: Bounds) -> str:
    """The index after the last turn: of at least one turn, by a step that is a power of two."""
    step = int(bounds.step)
    length = e.instruction(f"sub i64 {bounds.high}, {bounds.low}")
    whole = e.instruction(f"add i64 {length}, {step - 1}")
    return e.instruction(f"add i64 {bounds.low}, {e.instruction(f'and i64 {whole}, {-step}')}")


def _zero(type_: str) -> str:
    if type_.startswith("<"):
        return "zeroinitializer"
    return {"ptr": "null", "float": "0.0", "double": "0.0", "half": "0.0", "bfloat": "0.0"}.get(
        type_, "0"
    )
