"""Loops whose turns do the ends of some vectors beside the beginnings of those that follow.

In: a loop's body in parts (loop_parts.py). Out: turns that do each part of another vector, the last
part of the oldest one; before them turns that only begin, after them those that only end. Every
value comes from the same instructions as before, and what is carried goes on in the same order.

Why: a vector of exponentials is a chain of some 60 cycles, of which a processor has to have seven
in flight to keep its units busy, 24 operations each: more than can wait in a Zen 4, which has two
schedulers of 64. In three parts, what waits is in registers. Loops of softmax and log-sum-exp, with
data in the first cache: 9.8 and 9.3 cycles a vector, staggered 9.2 and 8.8, where their units would
allow 9.0 and 7.5. (Modulo scheduling, B. R. Rau, MICRO 27, 1994, of which the processor's own order
does the rest.)
"""

import re
from typing import NamedTuple

from .loop_parts import NAME, Body, Line

TYPE = re.compile(r"<\d+ x \w+>|\b(?:float|double|half|bfloat|ptr|i\d+)\b")


class Bounds(NamedTuple):
    """for (i = low; i < high; i += step): operands."""

    low: str
    high: str
    step: str


class Turns:
    """Writes parts of turns, counted from a turn 0 (`go_on`). `e` names results."""

    def __init__(self, e, body: Body, step: int):
        self.e, self.body, self.step = e, body, step
        self.chains = body.chains()
        self.part_of = {line.name: line.part for line in body.lines}
        self.go_on("", {}, {})

    def go_on(self, index: str, carried: dict[str, str], waiting: dict) -> None:
        """From a turn on that is turn 0 now; what waits was computed so many turns before it."""
        self.index, self.carried = index, dict(carried)
        self.found = {(value, -ago): name for (value, ago), name in waiting.items()}

    def turn(self, number: int, parts) -> None:
        """Some parts of a turn, of each chain that of the oldest vector first: what is read is read
        before later vectors' results take its place."""
        for chain in self.chains:
            for part in sorted(parts, reverse=True):
                made: dict[str, str] = {}
                for line in chain:
                    if line.part == part:
                        self._write(line, number, part, made)
                        if line.name:
                            self.found[line.name, number] = made[line.name]
                for name, result in self.body.carried.items():
                    if result in made:
                        self.carried[name] = made[result]

    def index_at(self, turn: int) -> str:
        if not turn or self.index.isdigit():
            return str(int(self.index) + turn * self.step) if turn else self.index
        name = self.e.fresh()
        self.e.emit_raw(f"  {name} = add i64 {self.index}, {turn * self.step}")
        return name

    def _write(self, line: Line, number: int, part: int, made: dict) -> None:
        renamed = {read: self._name(read, number, part, made) for read in line.reads}
        if line.name:
            renamed[line.name] = made[line.name] = self.e.fresh()
        self.e.emit_raw(NAME.sub(lambda m: renamed.get(m[0], m[0]), line.text))

    def _name(self, read: str, number: int, part: int, made: dict) -> str:
        """What a part of a turn calls a value of its vector."""
        if read in made:
            return made[read]
        if read in self.part_of:
            return self.found[read, number - part + self.part_of[read]]
        if read == self.body.index:
            made[read] = self.index_at(number - part)
        elif read in self.body.addresses:
            self._write(self.body.addresses[read], number, part, made)
        return made.get(read) or self.carried.get(read, read)


def write(e, body: Body, bounds: Bounds, carried, labels) -> tuple[dict[str, str], str]:
    """A loop of at least as many turns as there are parts. `carried`: name at the beginning of a
    turn -> (type, before the first, at a turn's end); `labels`: of the blocks before it, of its
    turns, after it. Answers what each is called after the loop, and the index there."""
    waiting, turns = body.waiting(), Turns(e, body, int(bounds.step))
    starts = _begin(turns, body, bounds, carried)
    names = {key: e.fresh() for key in waiting}
    types = {body.index: "i64", **{name: type_ for name, (type_, _, _) in carried.items()}}
    for (value, ago), name in names.items():
        starts[name] = turns.found[value, body.last - ago]
        types[name] = type_of(waiting[value, ago])
    _, inside, done = labels
    before = e.block
    e.emit_raw(f"  br label %{inside}")
    e.begin_block(inside)
    turns.go_on(body.index, {name: name for name in carried}, names)
    phis, turn, following = len(e.lines), body.last + 1, e.fresh()
    turns.turn(0, range(turn))
    waits = {key: turns.found[key[0], 1 - key[1]] for key in names}
    ends = {body.index: following, **turns.carried, **{names[k]: end for k, end in waits.items()}}
    e.lines[phis:phis] = [
        f"  {name} = phi {type_} [ {starts[name]}, %{before} ], [ {ends[name]}, %{inside} ]"
        for name, type_ in types.items()
    ]
    e.emit_raw(f"  {following} = add i64 {body.index}, {bounds.step}")
    e.emit_raw(f"  {(test := e.fresh())} = icmp slt i64 {following}, {bounds.high}")
    e.emit_raw(f"  br i1 {test}, label %{inside}, label %{done}")
    e.begin_block(done)
    turns.go_on(following, turns.carried, waits)
    for number in range(body.last):
        turns.turn(number, range(number + 1, turn))
    return turns.carried, following


def write_if_many(
    e, body: Body, bounds: Bounds, carried, labels, write=write
) -> tuple[dict[str, str], str]:
    """As `write`, and nothing is done where there are fewer turns than parts."""
    head, _, done = labels
    before, joined = e.block, f"{done}.all"
    most = e.instruction(f"add i64 {bounds.low}, {int(bounds.step) * body.last}")
    many = e.instruction(f"icmp slt i64 {most}, {bounds.high}")
    e.emit_raw(f"  br i1 {many}, label %{head}, label %{joined}")
    e.begin_block(head)
    last, end = write(e, body, bounds, carried, labels)
    e.emit_raw(f"  br label %{joined}")
    after = e.block
    e.begin_block(joined)

    def either(type_, none, all_) -> str:
        name = e.fresh()
        e.emit_raw(f"  {name} = phi {type_} [ {none}, %{before} ], [ {all_}, %{after} ]")
        return name

    last = {name: either(*carried[name][:2], last[name]) for name in last}
    return last, either("i64", bounds.low, end)


def _begin(turns: Turns, body: Body, bounds: Bounds, carried) -> dict[str, str]:
    """The turns that only begin; what the loop starts with, but for what waits."""
    turns.e.lines += [line.text for line in body.fixed]
    turns.go_on(bounds.low, {name: start for name, (_, start, _) in carried.items()}, {})
    for number in range(body.last):
        turns.turn(number, range(number + 1))
    return {body.index: turns.index_at(body.last), **turns.carried}


def type_of(text: str) -> str:
    """The LLVM type of an instruction's result.

    >>> type_of("  %a = fcmp olt <16 x float> %x, %y")
    '<16 x i1>'
    >>> type_of('  %a = call <8 x i64> asm "", "=v,0"(<8 x i64> %x)')
    '<8 x i64>'
    """
    right = text.split(" = ", 1)[1]
    operation, types = right.split()[0], TYPE.findall(right)
    if " to " in right:
        return types[-1]
    if operation in ("fcmp", "icmp"):
        return re.sub(r"\w+(>|)$", r"i1\1", types[0])
    if operation == "select":
        return types[1]
    if operation == "extractelement":
        return types[0].split()[-1][:-1]
    if operation == "shufflevector":
        return re.sub(r"\d+", re.findall(r"<(\d+) x i32>", right)[-1], types[0], count=1)
    return types[0]
