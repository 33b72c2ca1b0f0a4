"""Staggered loops without code of their own for their beginnings and ends: long loops.

In: a loop's body in parts, whose last part does all it stores and carries, at least as many turns
as there are parts. Out: one loop, of as many turns more as there are parts after the first. In the
first turns later parts compute something of the first vector's address from zeros, which is stored
nowhere that matters, and what is carried stays as it is; in the last ones earlier parts do the last
vector again. Every value comes from the same instructions as before.

Why: turns that only begin, and those that only end, are two thirds of a staggered loop's code, and
LLVM's time grows with it. A Zen 5, 10^6 elements, first calls: gelu 18.7 to 13.1 ms, softplus 17.9
to 14.4, mish 31.7 to 19.7, gelu of bfloat16 89 to 38, its sum 94 to 46, silu of it 32.5 to 17.2;
later ones, by turns, .99 to 1.04 of the time.
"""

import re

from .instructions import Value
from .loop_parts import Body, Line
from .staggered_loop import Bounds, Turns, type_of

# What may trap where it computes with zeros: none of a body's vectors.
TRAPS = re.compile(r" = [us](?:div|rem) ")
STORED = re.compile(r"(  store <\d+ x \w+> \S+, ptr )(%[\w.]+)(, .*)")
# Instructions of a turn for each value that is carried, which is one more under a mask (by turns,
# one thread and two: sums of exponentials, 14, 1.10 1.08, of logarithms, 22, 1.05, the greatest
# tanh, 15, 1.08; sums of gelu, 34, and softplus, 53, are level).
ENOUGH_LINES = 32
SCRATCH = "%nowhere"  # where a vector may be stored that is none


def can_roll(body: Body) -> bool:
    """Whether no part does harm where it has no vector yet, or does its vector twice; and whether
    what is carried costs little."""
    if len(body.lines) < ENOUGH_LINES * len(body.carried):
        return False
    made, last = {line.name for line in body.lines}, body.last
    early = [line for line in body.lines if line.part < last]
    known = {name for line in early for name in (line.name, *line.awaits)}
    if any(name in known or end in known for name, end in body.carried.items()):
        return False
    return all(
        STORED.fullmatch(line.text) and line.part == last
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
        self.bounds, self.last_index, self.is_begun, self.places = bounds, last_index, "", {}
        self.last_part = body.last
        super().__init__(e, body, int(bounds.step))
        e.declare("declare i64 @llvm.smin.i64(i64, i64)")
        e.declare("declare i64 @llvm.smax.i64(i64, i64)")

    def index_at(self, turn: int) -> str:
        """Where the vector is that was begun so many turns ago (0, -1...)."""
        if turn not in self.places:
            name = super().index_at(turn)
            if turn:
                name = self._limited("smax", name, self.bounds.low)
            if turn > -self.last_part:
                name = self._limited("smin", name, self.last_index)
            self.places[turn] = name
        return self.places[turn]

    def if_begun(self, type_: str, new: str, old: str) -> str:
        """What is carried on: the new value where the last part has a vector. (Of vectors under a
        mask, which is that of the operation that made it.)"""
        chosen, condition, e = self.e.fresh(), f"i1 {self.is_begun}", self.e
        if type_.startswith("<"):
            lanes = int(type_.split()[0][1:])
            mask = e.splat(Value((self.is_begun,), "i1", 1), lanes)
            condition = f"{mask.text} {mask.names[0]}"
        e.emit_raw(f"  {chosen} = select {condition}, {type_} {new}, {type_} {old}")
        return chosen

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


def write_rolled(e, body: Body, bounds: Bounds, carried, labels) -> tuple[dict[str, str], str]:
    """A loop of at least as many turns as there are parts; what goes in and comes out are those of
    `staggered_loop.write`."""
    known, ahead = dict(e._memory), int(bounds.step) * body.last
    e.lines += [line.text for line in body.fixed]
    end = _end(e, bounds)
    last_index = e.instruction(f"sub i64 {end}, {bounds.step}")
    limit = e.instruction(f"add i64 {end}, {ahead}")
    enough = e.instruction(f"add i64 {bounds.low}, {ahead}")
    last = _write_turns(e, body, bounds, carried, labels, (last_index, enough, limit))
    e.begin_block(labels[-1])
    e._memory = known
    return last, end


def _write_turns(e, body: Body, bounds: Bounds, carried, labels, ends) -> dict[str, str]:
    """The loop. `ends`: the index of the last vector, that from which on the last part has one, and
    that after the last turn."""
    (_, inside, done), (last_index, enough, limit) = labels, ends
    before = e.block
    e.emit_raw(f"  br label %{inside}")
    e.begin_block(inside)
    phis, following = len(e.lines), e.fresh()
    turns = RolledTurns(e, body, bounds, last_index)
    turns.is_begun = e.instruction(f"icmp sge i64 {body.index}, {enough}")
    waiting = {key: e.fresh() for key in body.waiting()}
    turns.go_on(body.index, {name: name for name in carried}, waiting)
    turns.turn(0, range(body.last + 1))
    last = {name: turns.if_begun(carried[name][0], turns.carried[name], name) for name in carried}
    values = [(body.index, "i64", bounds.low, following)]
    for key, text in body.waiting().items():
        type_ = type_of(text)
        values.append((waiting[key], type_, _zero(type_), turns.found[key[0], 1 - key[1]]))
    values += [(name, *carried[name][:2], last[name]) for name in carried]
    e.lines[phis:phis] = [
        f"  {name} = phi {type_} [ {start}, %{before} ], [ {at_end}, %{inside} ]"
        for name, type_, start, at_end in values
    ]
    e.emit_raw(f"  {following} = add i64 {body.index}, {bounds.step}")
    e.emit_raw(f"  {(test := e.fresh())} = icmp slt i64 {following}, {limit}")
    e.emit_raw(f"  br i1 {test}, label %{inside}, label %{done}")
    return last


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
