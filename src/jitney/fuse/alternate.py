"""Loops whose state would be copied back in each turn: two buffers by turns instead.

In: the steps of one turn, the copies of next values into the state among them. Out: the steps of
two turns, the second of which reads what the first wrote and leaves its result in the state; and
those of a last single turn, for odd counts. Parts that change places (exchange.py) do so from turn
to turn. Where steps read the counter, one between the turns advances it. A loop that runs while a
test holds asks it between the two turns as well, and copies back when it ends there. A stencil
over the whole state then moves each element twice a turn, not four times.
Keeps: every value. Small parts of the state are copied as before.
"""

from dataclasses import replace

from .buffers import Buffer, CopyStep, KernelStep, NativeStep, choose_branch
from .in_place import is_whole_copy, root_of

LEAST_TURNS = 4
LEAST_BYTES = 16 << 10  # copying less takes less than a kernel's start
# Where steps count turns, or parts change places, twice the steps must be worth it: copies be a
# hundredth of what the steps are estimated to take, which is some eight times what they do. (An
# Emerald Rapids, one thread, by turns, times and shares: a wave in a sponge, denormals flushed,
# .72, .085; the game of life .95, .014; a radix sort .97 to 1.03, .017; Navier-Stokes by FFT 1.0,
# .004.)
BYTES_A_NS, LEAST_SHARE = 25.0, 0.01


def alternate(aliases, steps: list, state, places, advance, spare) -> tuple[list, list] | None:
    """(steps of two turns, steps of one turn), or None if nothing would be won. `places`: buffers
    that change places in a turn; `advance()`, where steps read the counter: a step that adds one to
    it; `spare(buffer)`: another one like it."""
    parts = _two_turns(aliases, steps, state, places)
    if parts is None:
        return None
    turn, other, back = parts
    if advance and not places and not is_worth_it(steps, sum(s.nbytes for s in back)):
        return None
    between = [advance()] if advance else []
    last = [*turn, *back, *_changed_back(places, spare)]
    return [*turn, *between, *_exchanged(turn, other)], last


def is_worth_it(steps, nbytes: int) -> bool:
    """Whether copies of so many bytes are a large part of a turn."""
    cost = sum(s.cost for s in steps if not isinstance(s, CopyStep))
    return nbytes / BYTES_A_NS >= LEAST_SHARE * cost


def _changed_back(places, spare) -> list[CopyStep]:
    """Copies that exchange what buffers hold."""
    if places is None:
        return []
    one, two = places
    moves = [(one, free := spare(one)), (two, one), (free, two)]
    return [CopyStep((source, 0), (target, 0), source.nbytes) for source, target in moves]


def alternate_while(aliases, steps: list, state, test: list, predicate) -> list | None:
    """Steps of two turns, or of one where the test fails after it; None if nothing is won."""
    parts = _two_turns(aliases, steps, state, None) if are_simple(test) else None
    if parts is None:
        return None
    turn, other, back = parts
    again = choose_branch((predicate, 0), [back, _exchanged(turn, other)])
    return [*turn, *_exchanged(test, other), again]


def _two_turns(aliases, steps, state, places) -> tuple[list, dict, list] | None:
    """(steps of a turn that leaves its result in other buffers, the other buffer of each, copies
    from them to the state)."""
    back = _copies_back(aliases, steps, {view.buffer.id for view in state})
    if not (back or places) or not are_simple(steps):
        return None
    other: dict[int, Buffer] = {}
    for new, old in [*[(s.source[0], s.target[0]) for s in back], *([places] if places else [])]:
        other[new.id], other[old.id] = old, new
    for number in aliases:  # what has its place in one of them has it in the other then
        home = root_of(aliases, number)
        if home in other:
            other[number] = other[home]
    return [s for s in steps if not any(s is b for b in back)], other, back


def are_simple(steps) -> bool:
    return all(type(s) in (CopyStep, KernelStep, NativeStep) for s in steps)


def _copies_back(aliases, steps, state: set[int]) -> list[CopyStep]:
    """The copies at the end of a turn that fill large parts of the state."""
    found = []
    for step in reversed(steps):
        if not is_whole_copy(step) or step.target[0].id not in state:
            break
        new, old = step.source[0], step.target[0]
        at_home = new.id not in aliases and old.id not in aliases
        if step.nbytes >= LEAST_BYTES and new.kind == "temp" and at_home:
            found.append(step)
    sources = [s.source[0].id for s in found]
    return [s for s in found if sources.count(s.source[0].id) == 1
            and s.source[0].id not in state]  # fmt: skip


def _exchanged(steps, other: dict[int, Buffer]) -> list:
    return [_exchanged_step(s, other) for s in steps]


def _exchanged_step(step, other: dict[int, Buffer]):
    """The step with each buffer's other one in its place."""

    def place(ref):
        return other.get(ref[0].id, ref[0]), ref[1]

    if isinstance(step, CopyStep):
        return replace(step, source=place(step.source), target=place(step.target))
    writes = {other[b].id if b in other else b for b in step.writes}
    if isinstance(step, KernelStep):
        buffers = [other.get(b.id, b) for b in step.buffers]
        return replace(step, buffers=buffers, writes=writes)
    return replace(step, refs=[place(ref) for ref in step.refs], writes=writes)
