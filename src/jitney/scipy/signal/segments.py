"""Overlapping segments of signals: their number, windows, spectra, and sums.

In: the arguments users give. Out: checked numbers; segments [..., segments, samples] of signals
[..., n] and the way back.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.base.lazy import lazy_module
from jitney.scipy.signal.trends import detrend

_scipy_signal = lazy_module("scipy.signal")


class Layout(NamedTuple):
    """Samples of a segment, from one start to the next, of its transform."""

    size: int
    step: int
    nfft: int


def window_values(window: Any, size: int) -> Any:
    """A named window [size], periodic, in float64."""
    if window == "hann":  # the usual one, without importing SciPy's signals
        return np.sin(np.pi * np.arange(size) / size) ** 2
    return _scipy_signal.get_window(window, size)


def _checked_size(nperseg: Any) -> int:
    size = operator.index(nperseg)
    if size < 1:
        raise ValueError(f"nperseg must be a positive integer, got {nperseg}")
    return size


def chosen_window(window: Any, nperseg: Any, length: int, dtype: Any) -> tuple[Any, int]:
    """(window, samples of a segment) for signals of a length."""
    if nperseg is not None:
        nperseg = _checked_size(nperseg)
    if isinstance(window, (str, tuple)):
        size = min(256, length) if nperseg is None else nperseg
        if size > length:
            warnings.warn(f"nperseg={size} is greater than input_length={length}, using "
                          f"nperseg={length}", UserWarning, stacklevel=4)
            size = length
        return jnp.asarray(window_values(window, size), dtype), size
    window = jnp.asarray(window)
    if window.ndim != 1:
        raise ValueError(f"window must be 1-D, got shape {window.shape}")
    if window.shape[0] > length:
        raise ValueError(f"window is longer than input signal: {window.shape[0]} > {length}")
    if nperseg is not None and nperseg != window.shape[0]:
        raise ValueError("value specified for nperseg is different from length of window: "
                         f"{nperseg} and {window.shape[0]}")
    return window.astype(dtypes.promote_types(window.dtype, dtype)), window.shape[0]


def checked_step(size: int, noverlap: Any) -> int:
    """From one segment to the next; half of one by default."""
    overlap = size // 2 if noverlap is None else operator.index(noverlap)
    if overlap >= size:
        raise ValueError(f"noverlap must be less than nperseg; got {overlap} and {size}")
    if overlap < 0:
        raise ValueError(f"noverlap must not be negative, got {overlap}")
    return size - overlap


def detrend_function(choice: Any, axis: int) -> Callable | None:
    """What takes trends away from segments along their last axis."""
    if choice is False or choice is None:
        return None
    if callable(choice):
        def moved(x):
            return jnp.moveaxis(choice(jnp.moveaxis(x, -1, axis)), axis, -1)
        return choice if axis == -1 else moved
    if not isinstance(choice, str):
        raise ValueError(f"Unsupported detrend type: {choice}; expected 'constant', 'linear', "
                         "False or a function")
    if choice == "constant":
        return _without_mean
    return lambda x: detrend(x, axis=-1, type=choice)


def _without_mean(x: Any) -> Any:
    return x - jnp.mean(x, axis=-1, keepdims=True)


@jit(static_argnames=("layout", "trend", "onesided"))
def spectra(x, window, layout, trend, onesided):
    """Transforms [..., segments, frequencies] of the windowed segments of x [..., n]."""
    count = (x.shape[-1] - layout.size) // layout.step + 1
    parts = x[..., np.arange(count)[:, None] * layout.step + np.arange(layout.size)]
    if trend is not None:
        parts = trend(parts)
    parts = parts * window
    return (jnp.fft.rfft if onesided else jnp.fft.fft)(parts, layout.nfft)


def overlap_added(parts: Any, step: int) -> Any:
    """The sum [..., n] of segments [..., segments, samples], each at its place."""
    *batch, count, size = parts.shape
    places = np.arange(count)[:, None] * step + np.arange(size)
    return jnp.zeros((*batch, size + (count - 1) * step), parts.dtype).at[..., places].add(parts)
