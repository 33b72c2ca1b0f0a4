"""What collectives mean when every device has a thread: the NumPy references.

In: the value of this member, a NumPy array, and the parameters of the primitive. Out: its result.
Every reference runs on the thread of its member and meets the others there (`placement.members`).
Sums are taken in the order of positions, in float32 for floats of 16 bits, so that they do not
depend on who comes first. Large values are combined by all members, each a piece.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from jitney.placement.members import Member, current_member

_LARGE = 1 << 16            # bytes from which all members share the work of a reduction
_SHORT = {np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)}


def exchange(name: str, axes: tuple, groups: Any, x: np.ndarray,
             combine: Callable[[list], Sequence], extra: tuple = ()) -> Any:
    """`combine` applied to the values of the group, in the order of positions."""
    what = (name, x.dtype.name, x.shape, axes, *extra)
    with np.errstate(all="ignore"):
        return current_member().meet(axes, groups, what, x, combine)


def all_reduce(name: str, operation: np.ufunc, axes: tuple, groups: Any,
               x: np.ndarray) -> np.ndarray:
    """The values of the group, reduced; every member gets the same array."""
    if x.nbytes < _LARGE:
        def combine(values: list) -> list:
            return [_fold(operation, values)] * len(values)

        return exchange(name, axes, groups, x, combine)
    member = current_member()
    group = member.group(axes, groups)
    return _reduce_in_pieces(name, operation, member, axes, groups, group, x)


def _reduce_in_pieces(name: str, operation: np.ufunc, member: Member, axes: tuple, groups: Any,
                      group: tuple, x: np.ndarray) -> np.ndarray:
    def share(values: list) -> list:
        return [(values, np.empty_like(x, order="C"))] * len(values)

    values, total = exchange(name, axes, groups, x, share)
    k, count = group.index(member.position(axes)), len(group)
    lo, hi = k * x.size // count, (k + 1) * x.size // count
    total.reshape(-1)[lo:hi] = _fold(operation, [v.reshape(-1)[lo:hi] for v in values])
    return exchange(f"{name} (end)", axes, groups, x, lambda values: [total] * len(values))


def _fold(operation: np.ufunc, values: list) -> np.ndarray:
    """Left to right."""
    first = values[0]
    wide = np.dtype(np.float32) if first.dtype in _SHORT and operation is np.add else first.dtype
    total = np.array(first, dtype=wide)
    for value in values[1:]:
        operation(total, value.astype(wide, copy=False), out=total)
    return total.astype(first.dtype, copy=False)


def gather(name: str, axes: tuple, groups: Any, x: np.ndarray, at: int,
           tiled: bool) -> np.ndarray:
    """The values of the group, stacked along a new dimension or joined."""
    join = np.concatenate if tiled else np.stack
    return exchange(name, axes, groups, x,
                    lambda values: [join(values, axis=at)] * len(values), (at, tiled))


def reduce_scatter(name: str, axes: tuple, groups: Any, x: np.ndarray, at: int,
                   tiled: bool) -> np.ndarray:
    """Part k of the sum for the k-th member of the group."""
    def combine(values: list) -> list:
        total = _fold(np.add, values)
        if tiled:
            return np.split(total, len(values), axis=at)
        return [np.take(total, k, axis=at) for k in range(len(values))]

    return exchange(name, axes, groups, x, combine, (at, tiled))


def all_to_all(name: str, axes: tuple, groups: Any, x: np.ndarray, split: int, concat: int,
               tiled: bool) -> np.ndarray:
    """Part k of every value, joined, for the k-th member of the group."""
    def combine(values: list) -> list:
        count = len(values)
        if tiled:
            parts = [np.split(v, count, axis=split) for v in values]
            return [np.concatenate([p[k] for p in parts], axis=concat) for k in range(count)]
        return [np.stack([np.take(v, k, axis=split) for v in values], axis=concat)
                for k in range(count)]

    return exchange(name, axes, groups, x, combine, (split, concat, tiled))


def permute(name: str, axes: tuple, x: np.ndarray, pairs: tuple) -> np.ndarray:
    """The value of the source, or zeros."""
    def combine(values: list) -> list:
        sources = {d: s for s, d in pairs}
        return [values[sources[i]].copy() if i in sources else np.zeros_like(v)
                for i, v in enumerate(values)]

    return exchange(name, axes, None, x, combine, (pairs,))
