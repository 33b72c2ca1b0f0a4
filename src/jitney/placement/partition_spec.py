"""`PartitionSpec`: for each dimension of an array, the mesh axes along which it is split.

    P("x", None, ("y", "z"))    # dimension 0 over x, dimension 1 whole, dimension 2 over y and z

Dimensions beyond the last entry are whole. Specs compare entry by entry, as in JAX: `P("x")` and
`P("x", None)` mean the same and are not equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


class UnconstrainedSingleton:
    """An entry that leaves a dimension to the compiler."""

    def __repr__(self):
        return "UNCONSTRAINED"

    def __reduce__(self):
        return _unconstrained, ()


UNCONSTRAINED = UnconstrainedSingleton()


def _unconstrained() -> UnconstrainedSingleton:
    return UNCONSTRAINED


def _entry(part: Any) -> Any:
    """`('x',)` is `'x'`, `()` is None; other tuples stay."""
    if isinstance(part, (tuple, list)):
        part = tuple(part)
        if not part:
            return None
        if len(part) == 1:
            return part[0]
    return part


class PartitionSpec:
    """How the dimensions of an array are split over the axes of a mesh."""

    __slots__ = ("_partitions", "_hash", "unreduced", "reduced")
    UNCONSTRAINED = UNCONSTRAINED

    def __init__(self, *partitions: Any, unreduced: Iterable = frozenset(),
                 reduced: Iterable = frozenset()):
        self.unreduced, self.reduced = frozenset(unreduced), frozenset(reduced)
        if self.unreduced or self.reduced:
            raise NotImplementedError(
                "PartitionSpec(unreduced=…, reduced=…) belongs to explicit sharding, where the "
                "types of values carry shardings; here they do not. Sum with jax.lax.psum in a "
                "jax.shard_map instead.")
        self._partitions = tuple([_entry(p) for p in partitions])
        self._hash = hash(("PartitionSpec", self._partitions))

    @property
    def partitions(self) -> tuple:
        return self._partitions

    def __len__(self) -> int:
        return len(self._partitions)

    def __iter__(self) -> Iterator:
        return iter(self._partitions)

    def __getitem__(self, i: Any) -> Any:
        return self._partitions[i]

    def index(self, value: Any) -> int:
        return self._partitions.index(_entry(value))

    def count(self, value: Any) -> int:
        return self._partitions.count(_entry(value))

    def __add__(self, other: Any) -> PartitionSpec:
        if not isinstance(other, (PartitionSpec, tuple)):
            return NotImplemented
        return PartitionSpec(*self, *other)

    def __radd__(self, other: Any) -> PartitionSpec:
        if not isinstance(other, tuple):
            return NotImplemented
        return PartitionSpec(*other, *self)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, PartitionSpec) and self._partitions == other._partitions

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self):
        if len(self._partitions) == 1:
            return f"P({self._partitions[0]!r},)"
        return f"P({', '.join(map(repr, self._partitions))})"

    def __reduce__(self):
        return PartitionSpec, self._partitions

    def update(self, partitions: Any = None, **others: Any) -> PartitionSpec:
        """The same spec with other entries."""
        return PartitionSpec(*(self._partitions if partitions is None else partitions), **others)


def axes_of(entry: Any) -> tuple:
    """The mesh axes of one entry."""
    if entry is None or entry is UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


def mentioned(spec: PartitionSpec) -> tuple:
    """All mesh axes in a spec, in order."""
    return tuple(axis for entry in spec for axis in axes_of(entry))


P = PartitionSpec

__all__ = ["P", "PartitionSpec", "UNCONSTRAINED", "axes_of", "mentioned"]
