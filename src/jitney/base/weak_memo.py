"""What is kept about an object for as long as that object lives.

In: keys that can be referred to weakly, and values. Out: a mapping whose entries go with keys.

`weakref.WeakKeyDictionary` does the same, but takes entries out by a function in Python. Where that
function runs (when an object dies, in the middle of a collection) Python has nobody to hand an
exception to, so that a Ctrl-C that came a moment before ends there: it is printed and lost (5 in
1000 of those sent to a process that traced and compiled). Here a method of `dict` takes entries
out, and no line of Python runs.
"""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class WeakMemo(Generic[Key, Value]):
    """A mapping from living objects, by their own equality.

    TypeError for keys that have no hash or cannot be referred to weakly.

    >>> memo, key = WeakMemo(), frozenset([1])
    >>> memo[key] = "kept"
    >>> memo.get(key), len(memo)
    ('kept', 1)
    >>> del key
    >>> len(memo)
    0
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[weakref.ref, Any] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> Value | None:
        return self._entries.get(weakref.ref(key))

    def setdefault(self, key: Key, value: Value) -> Value:
        entries = self._entries
        found = entries.get(weakref.ref(key))
        return entries.setdefault(weakref.ref(key, entries.pop), value) if found is None else found

    def __setitem__(self, key: Key, value: Value) -> None:
        self._entries[weakref.ref(key, self._entries.pop)] = value

    def values(self) -> list[Value]:
        return list(self._entries.values())

    def clear(self) -> None:
        """References go first: values that die may take keys with them, which are out by then."""
        references, values = list(self._entries), self.values()
        self._entries.clear()
        del references
        del values
