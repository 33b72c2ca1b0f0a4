"""Means and lines of best fit taken away from signals.

In: samples along an axis, places where the trend may break. Out: the same without the trends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.numpy.promotion import arraylike, canonical_axis


@jit(static_argnames=("breaks",))
def _without_lines(x, breaks):
    """Rows [..., n] without the line of least squares of each piece."""
    pieces = []
    for start, stop in zip(breaks[:-1], breaks[1:], strict=True):
        piece = x[..., start:stop]
        times = np.arange(stop - start) - (stop - start - 1) / 2
        steep = np.sum(times**2)
        times = jnp.asarray(times, x.real.dtype)
        slope = jnp.sum(piece * times, axis=-1, keepdims=True) / (steep or 1.0)
        pieces.append(piece - jnp.mean(piece, axis=-1, keepdims=True) - slope * times)
    return jnp.concatenate(pieces, axis=-1)


@jit(static_argnames=("axis",))
def _without_mean(x, axis):
    return x - jnp.mean(x, axis=axis, keepdims=True)


def detrend(data: Any, axis: int = -1, type: str = "linear",
            bp: int | Sequence[int] | np.ndarray = 0, overwrite_data: None = None) -> Any:
    """Samples without their mean ("constant") or line of least squares ("linear") along an axis.

    bp: indices where a line ends and another begins. Integers become floats; 16-bit floats are
    computed in float32. ValueError for another type or breaks beyond the samples,
    NotImplementedError for `overwrite_data`: arrays are never overwritten.
    """
    if overwrite_data is not None:
        raise NotImplementedError("overwrite_data argument not implemented: arrays are never "
                                  "overwritten; leave it out")
    if type not in ("constant", "linear"):
        raise ValueError(f"Trend type must be 'linear' or 'constant', got {type!r}.")
    if isinstance(data, (list, tuple)):
        data = jnp.asarray(data)
    data = jnp.asarray(arraylike("detrend", data))
    dtype = dtypes.to_inexact_dtype(data.dtype)
    axis = canonical_axis(axis, data.ndim)
    x = data.astype(dtypes.promote_types(dtype, np.float32))
    if data.shape[axis] == 0:
        return x.astype(dtype)
    if type == "constant":
        return _without_mean(x, axis).astype(dtype)
    length = data.shape[axis]
    breaks = np.unique(np.concatenate([[0], np.atleast_1d(np.asarray(bp)).ravel(), [length]]))
    if breaks[0] < 0 or breaks[-1] > length:
        raise ValueError("Breakpoints must be non-negative and less than length of data along "
                         f"given axis, {length}; got {bp}.")
    result = _without_lines(jnp.moveaxis(x, axis, -1), tuple(int(b) for b in breaks))
    return jnp.moveaxis(result, -1, axis).astype(dtype)
