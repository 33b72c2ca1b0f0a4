"""Loops whose state would be copied back in each turn: two buffers by turns instead.

In: the steps of one turn, the copies of next values into the state among them. Out: the steps of
two turns, the second of which reads what the first wrote and leaves its result in the state; and
those of a last single turn, for odd counts. A loop that runs while a test holds asks it between
the two turns as well, and copies back when it ends there. A stencil over the whole state then moves
each element twice a turn, not four times.
Keeps: every value. Small parts of the state are copied as before.
"""

from dataclasses import replace

from .buffers import Buffer, CopyStep, KernelStep, NativeStep, choose_branch, step_buffers
from .in_place import is_whole_copy, root_of

LEAST_TURNS = 4
LEAST_BYTES = 16 << 10  # copying less takes less than a kernel's start


def alternate(aliases, steps: list, state, counter) -> tuple[list, list] | None:
    """(steps of two turns, steps of one turn), or None if nothing would be won."""
    if any(counter.id in group for s in steps for group in step_buffers(s)):
        return None
    parts = _two_turns(aliases, steps, state)
    if parts is None:
        return None
    turn, other, back = parts
    return [*turn, *_exchanged(turn, other)], [*turn, *back]


def alternate_while(aliases, steps: list, state, test: list, predicate) -> list | None:
    """Steps of two turns, or of one where the test fails after it; None if nothing is won."""
    parts = _two_turns(aliases, steps, state) if _are_simple(test) else None
    if parts is None:
        return None
    turn, other, back = parts
    again = choose_branch((predicate, 0), [back, _exchanged(turn, other)])
    return [*turn, *_exchanged(test, other), again]


def _two_turns(aliases, steps, state) -> tuple[list, dict, list] | None:
    """(steps of a turn that leaves its result in other buffers, the other buffer of each, copies
    from them to the state)."""
    back = _copies_back(aliases, steps, {view.buffer.id for view in state})
    if not back or not _are_simple(steps):
        return None
    other: dict[int, Buffer] = {}
    for step in back:
        new, old = step.source[0], step.target[0]
        other[new.id], other[old.id] = old, new
    for number in aliases:  # what has its place in one of them has it in the other then
        home = root_of(aliases, number)
        if home in other:
            other[number] = other[home]
    return [s for s in steps if not any(s is b for b in back)], other, back


def _are_simple(steps) -> bool:
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
