"""Objects that are indexed to make arrays or indices: r_, c_, s_, index_exp, ix_.

In: slices, arrays and numbers between brackets. Out: arrays, or the index itself.
Invariant: a slice with an imaginary step counts points, any other is `arange`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney import lax
from jitney.numpy.creation import asarray
from jitney.numpy.joining import concatenate
from jitney.numpy.manipulation import atleast_1d, moved_order
from jitney.numpy.promotion import array_arguments, dtype_of, shape_of
from jitney.numpy.ranges import arange, linspace

s_, index_exp = np.s_, np.index_exp


def _slice_values(key: slice) -> Any:
    start = 0 if key.start is None else key.start
    step = 1 if key.step is None else key.step
    if isinstance(step, complex):
        return linspace(start, key.stop, int(abs(step)))
    return arange(start, key.stop, step)


class _AxisConcatenator:
    """What `r_` and `c_` share; a leading text "axis,rank,position" says how to join."""

    axis, ndmin, trans1d = 0, 1, -1

    def __getitem__(self, key):
        items = key if isinstance(key, tuple) else (key,)
        axis, ndmin, trans1d, matrix = self.axis, self.ndmin, self.trans1d, None
        if isinstance(items[0], str):
            directive, items = items[0], items[1:]
            if directive in ("r", "c"):
                matrix = directive
            else:
                axis, ndmin, trans1d = self._numbers(directive)
        parts = [self._part(item, ndmin, trans1d) for item in items]
        result = concatenate(parts, axis=axis)
        if matrix and len(shape_of(result)) == 1:
            result = result[None, :] if matrix == "r" else result[:, None]
        return result

    def _numbers(self, directive: str) -> tuple[int, int, int]:
        try:
            given = [int(n) for n in directive.split(",")]
        except ValueError:
            raise ValueError(f"could not understand directive {directive!r}") from None
        if len(given) > 3:
            raise ValueError(f"could not understand directive {directive!r}")
        defaults = [self.axis, self.ndmin, self.trans1d]
        return tuple(given + defaults[len(given):])

    def _part(self, item: Any, ndmin: int, trans1d: int) -> Any:
        if isinstance(item, str):
            raise ValueError("string directive must be placed at the beginning")
        value = atleast_1d(_slice_values(item) if isinstance(item, slice) else asarray(item))
        rank = len(shape_of(value))
        missing = ndmin - rank
        if missing <= 0:
            return value
        value = lax.expand_dims(value, tuple(range(missing)))
        # trans1d says at which axis the old ones begin
        start = trans1d if trans1d >= 0 else missing + trans1d + 1
        source = tuple(range(missing, ndmin))
        order = moved_order(ndmin, source, tuple(range(start, start + rank)))
        return lax.transpose(value, order) if order != tuple(range(ndmin)) else value

    def __len__(self):
        return 0


class RClass(_AxisConcatenator):
    """`jnp.r_[1:4, 0]`: join along the first axis."""


class CClass(_AxisConcatenator):
    """`jnp.c_[a, b]`: join along the second axis, vectors becoming columns."""

    axis, ndmin, trans1d = -1, 2, 0


r_, c_ = RClass(), CClass()


def ix_(*args):
    """Vectors as an open mesh, to index the product of their elements."""
    values = [array_arguments("ix", a) for a in args]
    found = []
    for i, value in enumerate(values):
        if len(shape_of(value)) != 1:
            raise ValueError("Arguments to jax.numpy.ix_ must be 1-dimensional, got shape "
                             f"{shape_of(value)}")
        if dtype_of(value) == np.bool_:
            raise NotImplementedError("Boolean arguments to jax.numpy.ix_ are not implemented")
        found.append(lax.broadcast_in_dim(value, tuple(
            shape_of(value)[0] if j == i else 1 for j in range(len(values))), (i,)))
    return tuple(found)
