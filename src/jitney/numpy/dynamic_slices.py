"""Slices of a known length from anywhere: `ds(start, size)` between square brackets.

In: a start, which may be traced, and a size. Out: `Slice`, an index entry; and what indexing does
with one: reading slices the array first, writing gets an index that says the same without it.
Invariant: a start is moved so that the slice lies inside the array, as `lax.dynamic_slice` does.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.base.pytree import register_pytree_node_class
from jitney.core.avals import get_aval, is_value
from jitney.core.trace import Tracer
from jitney.lax.shape import shape_of


@register_pytree_node_class
class Slice:
    """`size` entries from `start` on, `stride` apart; made by `ds`."""

    __slots__ = ("start", "size", "stride")

    def __init__(self, start: Any, size: int, stride: int = 1):
        self.start, self.size, self.stride = start, size, stride

    def __repr__(self) -> str:
        return f"Slice(start={self.start}, size={self.size}, stride={self.stride})"

    def tree_flatten(self) -> tuple:
        return (self.start,), (self.size, self.stride)

    @classmethod
    def tree_unflatten(cls, aux: tuple, children: Any) -> Slice:
        return cls(*children, *aux)

    @property
    def span(self) -> int:
        """From the first entry to the last, both included."""
        return (self.size - 1) * self.stride + 1 if self.size else 0


def ds(start: Any, size: Any = None, stride: int | None = None) -> Any:
    """An index: `size` entries from `start` on, `stride` apart; `start` may be traced.

    `ds(None)` is `:`, and `ds(n)` are the first n entries. A negative start counts from the end;
    a start that is too large is moved back, so that the slice lies inside. TypeError for a size or
    stride that is no integer known now, and for a start that is no integer; ValueError for a
    negative size and a stride below 1.

    >>> jnp.arange(10)[ds(4, 2)]
    Array([4, 5], dtype=int32)
    """
    if start is None:
        if size is not None or stride is not None:
            raise TypeError(f"ds(None) is the whole axis and takes nothing else, got size {size} "
                            f"and stride {stride}")
        return slice(None)
    if size is None:
        start, size = 0, start
    size, stride = _known("size", size), _known("stride", 1 if stride is None else stride)
    if size < 0 or stride < 1:
        raise ValueError(f"ds: a size is at least 0 and a stride at least 1, got {size}, {stride}")
    if not is_value(start) or get_aval(start).shape or not dtypes.is_integer(get_aval(start).dtype):
        raise TypeError(f"ds: the start is an integer, got {start!r}")
    return Slice(start, size, stride)


def _known(what: str, x: Any) -> int:
    if isinstance(x, Tracer) and x._concrete() is None:
        raise TypeError(f"ds: the {what} is part of the result's shape and cannot be traced; make "
                        "it a static argument")
    return operator.index(x)


def holds_slice(idx: Any) -> bool:
    """Whether an index has a Slice among its entries."""
    return type(idx) is Slice or (type(idx) is tuple and any(type(e) is Slice for e in idx))


def _placed(x: Any, idx: Any) -> list[tuple[Any, int]]:
    """(entry, the axis it begins at) of an index."""
    entries = idx if type(idx) is tuple else (idx,)
    rank, found, axis = len(shape_of(x)), [], 0
    taken = sum(map(_axes_of, entries))
    for e in entries:
        found.append((e, axis))
        axis += rank - taken if e is Ellipsis else _axes_of(e)
    if axis > rank:
        raise IndexError(f"Too many indices: array is {rank}-dimensional, but {axis} were indexed")
    return found


def _axes_of(e: Any) -> int:
    """How many axes an entry is for."""
    if e is None or e is Ellipsis or isinstance(e, (bool, np.bool_)):
        return 0
    if isinstance(e, (list, np.ndarray)) or is_value(e):
        aval = get_aval(np.asarray(e) if isinstance(e, list) else e)
        return len(aval.shape) if aval.dtype == np.bool_ else 1
    return 1


def _checked(x: Any, e: Slice, axis: int) -> int:
    length = shape_of(x)[axis]
    if e.span > length:
        raise IndexError(f"{e} does not fit into axis {axis} of length {length}")
    return length


def sliced(x: Any, idx: Any) -> tuple[Any, tuple]:
    """(x with its Slices taken, an index for what is left)."""
    rest = []
    for e, axis in _placed(x, idx):
        if type(e) is Slice:
            _checked(x, e, axis)
            x = lax.dynamic_slice_in_dim(x, e.start, e.span, axis)
            e = slice(None, None, e.stride)
        rest.append(e)
    return x, tuple(rest)


def plain_index(x: Any, idx: Any) -> tuple:
    """An index without Slices for the same places: static slices, or one array of positions."""
    placed = _placed(x, idx)
    entries = [_plain(e, _checked(x, e, axis)) if type(e) is Slice else e for e, axis in placed]
    moving = [e for e, (old, _) in zip(entries, placed) if type(old) is Slice
              and not isinstance(e, slice)]
    others = [e for e, (old, _) in zip(entries, placed) if type(old) is not Slice
              and not (e is None or e is Ellipsis or isinstance(e, slice))]
    if moving and len(moving) + len(others) > 1:
        raise NotImplementedError(
            "x.at[]: one ds(start, size) with a traced start beside slices only; for others write "
            "lax.dynamic_update_slice, or x.at[] of a part and put it back")
    return tuple(entries)


def _plain(e: Slice, length: int) -> Any:
    if not e.size:
        return slice(0, 0)
    last = length - e.span
    if isinstance(e.start, Tracer):
        start = lax.convert_element_type(e.start, np.int32)
        start = lax.select(start < 0, start + length, start)
        start = lax.clamp(np.int32(0), start, np.int32(last))
        return start + lax.mul(lax.iota(np.int32, e.size), np.int32(e.stride))
    start = int(np.asarray(e.start))
    start = min(max(start + length if start < 0 else start, 0), last)
    return slice(start, start + e.span, e.stride)
