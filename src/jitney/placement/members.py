"""Members: one thread for each device of a run, and the meetings where they exchange values.

In: a function of a position, and the named axes along which positions lie. Out: its results, one a
position, every position on a thread of its own. Inside, `current_member()` says which position a
thread has, and `member.meet(…)` waits for the others of a group (what collectives are made of).

    run(lambda i: program(parts[i]), {"x": 2, "y": 4})

Invariants: values are combined in order of positions, whoever comes last. When a member fails, when
members want different things of each other, or when all that are left wait, every waiting member is
released with an error, and the run raises the error of the lowest position that failed.

[Note: counting] `World.running` counts threads that can go on by themselves: members that compute,
not those that wait for a meeting or for an inner run. When it is zero, nobody will ever come.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

from jitney import _native
from jitney.base import config, errors


class Stopped(BaseException):
    """Raised in a member whose run has failed elsewhere."""


class _Meeting:
    """Members of a group that have come, with their values, and what they leave with."""

    __slots__ = ("what", "values", "results")

    def __init__(self, what: Any):
        self.what = what
        self.values: dict[int, Any] = {}
        self.results: dict[int, Any] | None = None


class World:
    """What all members of a run (and of runs inside it) share."""

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.Lock())
        self.running = 0
        self.failure: BaseException | None = None
        self.meetings: dict[Any, _Meeting] = {}

    def check(self) -> None:
        """Raise `Stopped` once some member has failed (loops of programs ask this, too)."""
        if self.failure is not None:
            raise Stopped

    def fail(self, error: BaseException) -> None:
        """Release everybody."""
        with self.changed:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if self.failure is None:
            self.failure = error
        self.changed.notify_all()

    def _one_less(self) -> None:
        """A thread stops running, the lock being held; see [Note: counting]."""
        self.running -= 1
        if self.running == 0 and self.meetings and self.failure is None:
            waiting = sorted({str(m.what[0]) for m in self.meetings.values()})
            self._fail(errors.JaxRuntimeError(
                f"the devices do not agree: some wait in {', '.join(waiting)} for others that have "
                "ended, or wait elsewhere. Every device must run the same collectives in the same "
                "order: no collective in a branch or loop that only some devices take."))


class Member:
    """One position of a run."""

    def __init__(self, world: World, coordinates: dict[Any, int], sizes: dict[Any, int]):
        self.world, self.coordinates, self.sizes = world, coordinates, sizes

    def position(self, axes: Sequence) -> int:
        """The number of this member along several axes, the first being the slowest."""
        number = 0
        for axis in axes:
            if axis not in self.coordinates:
                raise NameError(f"unbound axis name: {axis}. The axes of the devices that run this "
                                f"program are {tuple(self.coordinates)}")
            number = number * self.sizes[axis] + self.coordinates[axis]
        return number

    def group(self, axes: Sequence, groups: Sequence[Sequence[int]] | None) -> tuple[int, ...]:
        """The positions along `axes` this member exchanges values with, itself included."""
        here = self.position(axes)
        if groups is None:
            count = 1
            for axis in axes:
                count *= self.sizes[axis]
            return tuple(range(count))
        return next(tuple(g) for g in groups if here in g)

    def meet(self, axes: tuple, groups: Any, what: tuple, value: Any,
             combine: Callable[[list], Sequence]) -> Any:
        """Wait for the group; `combine(values) -> results`, both in the group's order.

        `what` names the exchange and must be equal for all. The member that comes last combines.
        """
        here, group, world = self.position(axes), self.group(axes, groups), self.world
        if len(group) == 1:
            return combine([value])[0]
        others = tuple((a, i) for a, i in self.coordinates.items() if a not in axes)
        key = (axes, group, others)
        with world.changed:
            world.check()
            meeting = world.meetings.get(key)
            if meeting is None:
                meeting = world.meetings[key] = _Meeting(what)
            elif meeting.what != what:
                world._fail(_disagreement(meeting.what, what))
                world.check()
            meeting.values[here] = value
            if len(meeting.values) < len(group):
                return _wait(world, meeting, here)
            del world.meetings[key]
        results = combine([meeting.values[i] for i in group])
        with world.changed:
            meeting.results = dict(zip(group, results, strict=True))
            world.running += len(group) - 1
            world.changed.notify_all()
        return meeting.results[here]


def _wait(world: World, meeting: _Meeting, here: int) -> Any:
    world._one_less()
    while meeting.results is None:
        world.check()
        world.changed.wait()
    return meeting.results[here]


def _disagreement(first: tuple, second: tuple) -> BaseException:
    return errors.JaxRuntimeError(
        f"the devices do not agree: one is in {_text(first)} where another is in {_text(second)}. "
        "Every device must run the same collectives in the same order.")


def _text(what: tuple) -> str:
    return what[0] + "".join(f" {part}" for part in what[1:])


# --- which member a thread is --------------------------------------------------------------------


class _Current(threading.local):
    member: Member | None = None


_current = _Current()


def current_member() -> Member:
    """The member this thread acts for; NameError outside runs."""
    if _current.member is None:
        raise NameError("a collective was evaluated outside the scope of its named axis")
    return _current.member


# --- threads --------------------------------------------------------------------------------------


class _Worker(threading.Thread):
    """A thread that waits for things to do; it is used again by later runs."""

    def __init__(self) -> None:
        super().__init__(name="jitney-device", daemon=True)
        self.jobs: queue.SimpleQueue = queue.SimpleQueue()
        self.start()

    def run(self) -> None:
        while True:
            job = self.jobs.get()
            job()
            del job                              # what it holds must not live until the next one
            _idle.append(self)


_idle: list[_Worker] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)


def _start(job: Callable[[], None]) -> None:
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.jobs.put(job)


class _Run:
    """One run in progress."""

    def __init__(self, body: Callable[[int], Any], members: list[Member], nested: bool):
        self.body, self.members, self.nested = body, members, nested
        self.world = members[0].world
        self.left = len(members)
        self.results: list = [None] * len(members)
        self.errors: list[BaseException | None] = [None] * len(members)
        self.switches = config.overlay()

    def job(self, i: int) -> Callable[[], None]:
        def work() -> None:
            with config.with_overlay(self.switches):
                self.act(i)
        return work

    def act(self, i: int) -> None:
        """Position i, on the present thread."""
        before, _current.member = _current.member, self.members[i]
        check = _native.swap_interrupt_check(self.world.check)
        try:
            self.results[i] = self.body(i)
        except BaseException as error:
            self.errors[i] = error
            if not isinstance(error, Stopped):
                self.world.fail(error)
        finally:
            _native.swap_interrupt_check(check)
            _current.member = before
            self._end()

    def _end(self) -> None:
        with self.world.changed:
            self.left -= 1
            if self.left == 0 and self.nested:
                self.world.running += 1          # the thread that waits for this run goes on
            self.world._one_less()
            if self.left == 0:
                self.world.changed.notify_all()

    def wait(self) -> None:
        """Until all have ended; Ctrl-C stops them at their next meeting or loop."""
        try:
            self._wait()
        except BaseException as error:
            self.world.fail(error)
            self._wait()
            raise

    def _wait(self) -> None:
        with self.world.changed:
            while self.left:
                self.world.changed.wait()

    def outcome(self) -> list:
        found = [e for e in self.errors if e is not None]
        real = [e for e in found if not isinstance(e, Stopped)]
        if real:
            raise real[0]
        if found:
            raise self.world.failure if not self.nested and self.world.failure else found[0]
        return self.results


def run(body: Callable[[int], Any], sizes: dict[Any, int]) -> list:
    """`[body(0), body(1), …]`, one a position along the axes of `sizes`, each on its own thread.

    Positions are numbered row-major; the first is the calling thread's. A run inside a run adds
    axes to those around it.
    """
    outer = _current.member
    world = outer.world if outer else World()
    count = 1
    for size in sizes.values():
        count *= size
    members = [_member(world, outer, i, sizes) for i in range(count)]
    current = _Run(body, members, outer is not None)
    with world.changed:
        world.running += count - (outer is not None)
    for i in range(1, count):
        _start(current.job(i))
    current.act(0)
    current.wait()
    return current.outcome()


def _member(world: World, outer: Member | None, number: int, sizes: dict) -> Member:
    coordinates: dict[Any, int] = dict(outer.coordinates) if outer else {}
    all_sizes: dict[Any, int] = dict(outer.sizes) if outer else {}
    for axis in reversed(list(sizes)):
        number, coordinates[axis] = divmod(number, sizes[axis])
        all_sizes[axis] = sizes[axis]
    return Member(world, coordinates, all_sizes)


__all__ = ["Member", "Stopped", "World", "current_member", "run"]
