"""Where the chain of instructions that is a loop's body can be cut in parts.

In: the lines of a body, one basic block, its index, and what it carries from turn to turn. Out:
`find_parts`: the instructions, each with the number of its part, if the chain is long and the
values that cross the cuts are few; what a part reads, it or an earlier one has computed.
"""

import re
import statistics
from dataclasses import dataclass, field
from typing import NamedTuple

NAME = re.compile(r"%[\w.]+")
MASK = re.compile(r"[fi]cmp |bitcast <\d+ x i1>")
CALLED = re.compile(r"@llvm\.(?:x86\.avx512\.)?(?:mask\.)?(\w+)")
# Cycles until a result can be used, on Zen 4, Zen 5 and Golden Cove about; others take four.
LATENCIES = {"load": 7, "fcmp": 0, "icmp": 0, "bitcast": 0, "select": 3, "fdiv": 13, "fma": 5,
             "permvar": 5, "scalef": 8, "sqrt": 15}  # fmt: skip
ADDRESSES = ("add i64", "sub i64", "mul i64", "getelementptr")
PART = 15  # cycles of the chain that are worth a part of their own
APART = 3  # lines between the middles of chains; copies of a vector are written line by line


class Limits(NamedTuple):
    """The most parts, and values that cross cuts and accumulators: as many registers, of 32, beside
    constants and what a part computes."""

    parts: int
    waiting: int


# Log-sum-exp of two rows in three parts has 28 values that wait (Zen 4: 10.3 cycles a vector), in
# two 20 (10.05), uncut 12 (10.3); softmax in three parts has 14.
USUAL = Limits(3, 22)
# Where four vector instructions begin in a cycle, a chain of the same length is twice as many
# instructions that wait in the schedulers (Zen 5, cycles a vector: gelu 13.4 in three parts, 11.3
# in four; mish 39.5, 34.4; log-sum-exp of two rows 6.3 in two, 6.0 in three).
FOUR_A_CYCLE = Limits(4, 28)


@dataclass
class Line:
    """An instruction: its result ('' for none), what it reads, and what it waits for (of addresses,
    what they are computed from); the cycle in which it could begin, and its part."""

    text: str
    name: str
    reads: list[str]
    awaits: list[str]
    start: int = 0
    part: int = 0

    @property
    def latency(self) -> int:
        called = CALLED.search(self.text)
        operation = called[1] if called else self.text.split(" = ")[-1].split()[0]
        return LATENCIES.get(operation, 4)


@dataclass
class Body:
    """A loop's instructions: `fixed` ones, the same in all turns; those of `addresses`, which every
    part computes for its own vector; and the others."""

    index: str
    carried: dict[str, str]  # name at the beginning of a turn -> at its end
    fixed: list[Line] = field(default_factory=list)
    addresses: dict[str, Line] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)

    @property
    def last(self) -> int:
        """The number of the last part."""
        return max(line.part for line in self.lines)

    def waiting(self) -> dict[tuple[str, int], str]:
        """(value, turns ago) of what parts read of earlier ones -> the text of its instruction."""
        made, found = {line.name: line for line in self.lines if line.name}, {}
        for line in self.lines:
            for read in line.awaits:
                if read in made:
                    for ago in range(1, line.part - made[read].part + 1):
                        found[read, ago] = made[read].text
        return found

    def chains(self) -> list[list[Line]]:
        """The instructions in groups that read nothing of one another and lie apart: those of two
        rows. One row after the other, with all its parts, fewer registers wait at a time (log-sum-
        exp of 1024 x 1024: 9.8 cycles a vector, else 10.0). One group where something is stored,
        which another might read."""
        if any(not line.name and "prefetch" not in line.text for line in self.lines):
            return [self.lines]
        group: dict[str, int] = {}  # of each value, the number of a group; carried values' too
        places: dict[int, list[int]] = {}
        for place, line in enumerate(self.lines):
            names = [line.name, *(r for r in line.awaits if r in group or r in self.carried)]
            met = {group[name] for name in names if name in group}
            joined = sorted({place}.union(*(places.pop(number) for number in met)))
            places[place] = joined
            group |= dict.fromkeys([name for name, of in group.items() if of in met], place)
            group |= dict.fromkeys(names, place)
        found: list[list[int]] = []
        before = -APART
        for several in sorted(places.values(), key=statistics.mean):
            middle = statistics.mean(several)
            found = found if middle - before < APART and found else [*found, []]
            found[-1] += several
            before = middle
        return [[self.lines[place] for place in sorted(several)] for several in found]


def find_parts(
    texts: list[str], index: str, carried: dict[str, str], least: int = 2, most: Limits = USUAL
) -> Body | None:
    """The instructions of a body in so many parts at least, or None. `carried`: the name of each
    value at the beginning of a turn -> at its end."""
    body = _parse(texts, index, carried)
    if body is None or not _time(body):
        return None
    longest = max(line.start for line in body.lines)
    for count in range(min(most.parts, longest // PART), least - 1, -1):
        reach = longest / count / 3
        cuts = [_best_cut(body, longest * k / count, reach) for k in range(1, count)]
        for line in body.lines:
            line.part = sum(line.start >= at for at in cuts)
        if len(body.waiting()) + len(carried) <= most.waiting:
            return body
    return None


def _parse(texts: list[str], index: str, carried: dict[str, str]) -> Body | None:
    """None where there are branches, or something may be read that the turn has written."""
    body, varying, wrote = Body(index, carried), {index, *carried}, False
    for text in texts:
        if not text.startswith("  ") or text.startswith("  br "):
            return None
        name, equals, right = text.strip().partition(" = ")
        if not equals:
            name, right = "", text
        reads, known = NAME.findall(right), body.addresses
        awaits = [a for r in reads for a in (known[r].awaits if r in known else [r])]
        line = Line(text, name, reads, awaits)
        is_load = right.startswith("load ") or ".load." in right
        if is_load and wrote:
            return None
        wrote = wrote or (not name and "prefetch" not in right)
        if name and not is_load and not any(read in varying for read in line.reads):
            body.fixed.append(line)
            continue
        varying.add(name)
        if right.startswith(ADDRESSES) and not any(read in carried for read in line.reads):
            body.addresses[name] = line
        else:
            body.lines.append(line)
    return body


def _time(body: Body) -> bool:
    """Gives each instruction the cycle in which it can begin. Whether all that is carried and read
    is made of itself, so that it can stay in one part."""
    ready: dict[str, int] = {}
    for line in body.lines:
        line.start = max((ready.get(read, 0) for read in line.awaits), default=0)
        ready[line.name] = line.start + line.latency
    groups = [_computed_from(body, name) for name in body.carried]
    changed = True
    while changed:  # what a turn makes of what the one before has left begins together: in one part
        changed = False
        for group in groups:
            start = max((line.start for line in group), default=0)
            changed = changed or any(line.start != start for line in group)
            for line in group:
                line.start = start
    _delay_masks(body, groups)
    made = {line.name for line in body.lines}
    return bool(body.lines) and all(
        end == name or end in ({line.name for line in group} or made)
        for group, (name, end) in zip(groups, body.carried.items(), strict=True)
    )


def _delay_masks(body: Body, groups: list[list[Line]]) -> None:
    """Masks are made when they are needed, of what is mostly needed then, too: between two turns
    one would wait in another register, of integers."""
    fixed = {id(line) for group in groups for line in group}
    needed: dict[str, int] = {}
    for line in reversed(body.lines):
        if id(line) not in fixed and MASK.match(line.text.partition(" = ")[2]):
            line.start = needed.get(line.name, line.start)
        for read in line.awaits:
            needed[read] = min(needed.get(read, line.start), line.start)


def _computed_from(body: Body, carried: str) -> list[Line]:
    """The instructions that read a carried value, or what is computed from it."""
    names, found = {carried}, []
    for line in body.lines:
        if any(read in names for read in line.awaits):
            names.add(line.name)
            found.append(line)
    return found


def _best_cut(body: Body, target: float, reach: float) -> int:
    """The cycle, about the target, across which the fewest values live."""
    times = sorted({line.start for line in body.lines})
    near = [at for at in times if abs(at - target) <= reach]
    near = near or [min(times, key=lambda at: abs(at - target))]
    return min(near, key=lambda at: (_crossing(body, at), abs(at - target)))


def _crossing(body: Body, at: int) -> int:
    before = {line.name for line in body.lines if line.name and line.start < at}
    later = [line for line in body.lines if line.start >= at]
    return len({read for line in later for read in line.awaits if read in before})
