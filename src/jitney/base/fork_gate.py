"""A gate that fork waits at: no child is born while a thread is inside foreign code with locks.

In: threads that enter and leave a region (LLVM, whose registries and allocators have locks of their
own that nobody can take over). Out: `fork` of such a process waits, for a bounded time, until no
other thread is inside, so that the child finds every lock free.
"""

import os
import threading
import time
import weakref

PATIENCE = 20.0  # seconds fork waits at most: one kernel takes milliseconds

_gates: "weakref.WeakSet[ForkGate]" = weakref.WeakSet()


class ForkGate:
    """`with gate:` around code that must not be cut in two by fork. Re-entrant.

    >>> gate = ForkGate()
    >>> with gate, gate:
    ...     gate.inside
    2
    """

    def __init__(self) -> None:
        self._reset()
        _gates.add(self)

    def _reset(self) -> None:
        # A lock, not the condition, is what `with` enters: its methods are Python, between whose
        # lines Ctrl-C may come when the lock is taken and nobody knows. Re-entrant: a signal's
        # handler may compile.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._depths: dict[int, int] = {}  # of the threads inside
        self._closed_by: int | None = None

    @property
    def inside(self) -> int:
        """How often threads have entered that have not left."""
        return sum(self._depths.values())

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._lock:
            while self._closed_by not in (None, me) and me not in self._depths:
                self._changed.wait()
            self._depths[me] = self._depths.get(me, 0) + 1

    def __exit__(self, *error: object) -> None:
        me = threading.get_ident()
        with self._lock:
            self._depths[me] -= 1
            if not self._depths[me]:
                del self._depths[me]
            self._changed.notify_all()

    def close(self) -> None:
        """Lets nobody new in, and waits for the others to leave. What this thread has entered does
        not count: a second Ctrl-C may have kept it from leaving."""
        end, me = time.monotonic() + PATIENCE, threading.get_ident()
        with self._lock:
            self._closed_by = me
            while self._depths.keys() - {me} and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)

    def open(self) -> None:
        """In the parent: goes on."""
        with self._lock:
            self._closed_by = None
            self._changed.notify_all()

    def reopen_in_child(self) -> None:
        """In the child: only the forking thread lives on, with what it was inside of."""
        me = threading.get_ident()
        own = self._depths.get(me, 0)
        self._reset()
        if own:
            self._depths[me] = own


def _every(action: str) -> None:
    for gate in list(_gates):
        getattr(gate, action)()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _every("close"),
        after_in_parent=lambda: _every("open"),
        after_in_child=lambda: _every("reopen_in_child"),
    )
