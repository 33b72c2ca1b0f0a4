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
        self._changed = threading.Condition()
        self._mine = threading.local()
        self._closed_by: int | None = None
        self.inside = 0

    def __enter__(self) -> None:
        me = threading.get_ident()
        depth = getattr(self._mine, "depth", 0)
        with self._changed:
            while self._closed_by not in (None, me) and not depth:
                self._changed.wait()
            self.inside += 1
        self._mine.depth = depth + 1

    def __exit__(self, *error: object) -> None:
        with self._changed:
            self.inside -= 1
            self._changed.notify_all()
        self._mine.depth -= 1

    def close(self) -> None:
        """Lets nobody new in, and waits for the others to leave."""
        end = time.monotonic() + PATIENCE
        own = getattr(self._mine, "depth", 0)
        with self._changed:
            self._closed_by = threading.get_ident()
            while self.inside > own and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)

    def open(self) -> None:
        """In the parent: goes on."""
        with self._changed:
            self._closed_by = None
            self._changed.notify_all()

    def reopen_in_child(self) -> None:
        """In the child: only the forking thread lives on, with what it was inside of."""
        own = getattr(self._mine, "depth", 0)
        self._reset()
        self.inside = self._mine.depth = own


def _every(action: str) -> None:
    for gate in list(_gates):
        getattr(gate, action)()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _every("close"),
        after_in_parent=lambda: _every("open"),
        after_in_child=lambda: _every("reopen_in_child"),
    )
