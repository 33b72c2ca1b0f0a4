"""How much memory a plan needs at least: the largest sum of bytes alive at one step.

In: a program. Out: `Plan`s as they were made, with lives counted here once more, from the steps
alone: an input lives throughout, or to its last reading if it is given up; a constant throughout;
an output from its first writing on; a temporary from its first writing to its last reading. What
contractions pack their operands into is a temporary, too. No alignment.
"""

from dataclasses import dataclass

import jitney
from jitney import pipeline
from jitney.fuse.buffers import CopyStep, KernelStep


@dataclass
class Plan:
    partition: object
    items: list
    donated: tuple
    made: object

    def __post_init__(self):
        self.buffers = self.partition.buffers
        steps = [s for item in self.items for s in item.steps]
        dropped = [s for s in steps if id(s) in self.made.dropped]
        self.steps = [s for s in steps if id(s) not in self.made.dropped]
        self.home = dict(self.partition.aliases)
        for copy in dropped:  # nothing is copied: both are one place
            source, target = (self.root(end[0].id) for end in (copy.source, copy.target))
            if source != target and self.buffers[source].kind == "temp":
                self.home[source] = target
        self.spans: dict[int, list[int]] = {}
        for number, step in enumerate(self.steps):
            for i in touched(step):
                self.spans.setdefault(self.root(i), [number, number])[1] = number

    def root(self, number: int) -> int:
        while self.home.get(number, number) != number:
            number = self.home[number]
        return number

    def life(self, number: int) -> tuple[int, int] | None:
        """The first and the last step at which a buffer is needed."""
        buffer, end = self.buffers[number], len(self.steps) - 1
        first, last = self.spans.get(number, (None, -1))
        if self.root(number) != number:
            return None
        if buffer.kind == "in":
            return 0, last if self.donated[buffer.index] else end
        if buffer.kind == "const":
            return 0, end
        if first is None:
            return None
        return first, end if buffer.kind == "out" else last

    def bound(self) -> int:
        """Bytes alive at the worst step."""
        alive = [0] * max(1, len(self.steps))
        for buffer in self.buffers:
            if life := self.life(buffer.id):
                for step in range(life[0], life[1] + 1):
                    alive[step] += buffer.nbytes
        return max(alive)

    def planned(self) -> int:
        """Bytes of inputs, constants, new outputs and workspace."""
        shared = self.made.donated.keys() | self.made.forwarded.keys()
        held = sum(b.nbytes for b in self.buffers if b.kind in ("in", "const"))
        new = (b.nbytes for b in self.buffers if b.kind == "out" and b.index not in shared)
        return held + sum(new) + self.made.workspace_bytes

    def clashes(self) -> list[tuple[int, int]]:
        """Pairs of buffers that are alive together in the same bytes."""
        found, places = [], []
        for buffer in self.buffers:
            life = self.life(buffer.id)
            space, index, offset = self.made.place[buffer.id]
            if life and space in ("out", "work") and buffer.nbytes:
                if buffer.kind == "out" and buffer.index in self.made.donated:
                    life = 0, life[1]  # it is the input until it is written
                places.append((space, index, offset, offset + buffer.nbytes, *life, buffer.id))
        for k, (space, index, low, high, first, last, mine) in enumerate(places):
            for other in places[:k]:
                if other[:2] == (space, index) and other[2] < high and low < other[3]:
                    if other[4] <= last and first <= other[5]:
                        if not self.hands_over(other, (space, index, low, high, first, last)):
                            found.append((other[6], mine))
        return found

    def hands_over(self, one, two) -> bool:
        """Whether a kernel without sums reads the one and writes the other, at its last step."""
        if one[2:4] != two[2:4] or (one[5] != two[4] and two[5] != one[4]):
            return False
        step = self.steps[max(one[4], two[4])]
        return isinstance(step, KernelStep) and not step.slotted.kernel.stages


def touched(step) -> set[int]:
    if isinstance(step, CopyStep):
        return {step.source[0].id, step.target[0].id}
    if hasattr(step, "reads"):
        return set(step.reads) | set(step.writes)
    if isinstance(step, KernelStep):
        return {b.id for b in step.buffers}
    return {b.id for b, _ in step.refs}


def plan_of(monkeypatch, fun, *args, **options) -> Plan:
    """The plan of a program, made anew."""
    plans, original = [], pipeline.plan_buffers

    def plan_buffers(partition, items, donated):
        made = original(partition, items, donated)
        plans.append(Plan(partition, items, donated, made))
        return made

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "plan_buffers", plan_buffers)
        patch.setenv("JITNEY_CACHE_DIR", "")
        jitney.clear_caches()
        jitney.jit(fun, **options).lower(*args).compile()
    return plans[-1]
