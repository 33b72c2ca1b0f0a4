"""Spectra of signals: power, cross power, and over time.

In: signals sampled at `fs`, divided into overlapping windowed segments. Out: frequencies, times,
and spectra, in SciPy's conventions: a spectrum over time has frequencies at the place of the
signal's axis and times at the end.

Source: P. Welch, IEEE Trans. Audio Electroacoust. 15 (1967), 70.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from jitney import numpy as jnp
from jitney.base import dtypes
from jitney.numpy.promotion import arraylike, canonical_axis, promote_dtypes_inexact
from jitney.scipy.signal.segments import (
    Layout,
    checked_step,
    chosen_window,
    detrend_function,
    overlap_added,
    spectra,
    window_values,
)


def _even(x: Any, n: int) -> Any:
    return jnp.concatenate([jnp.flip(x[..., 1:n + 1], -1), x, jnp.flip(x[..., -n - 1:-1], -1)], -1)


def _odd(x: Any, n: int) -> Any:
    return jnp.concatenate([2 * x[..., :1] - jnp.flip(x[..., 1:n + 1], -1), x,
                            2 * x[..., -1:] - jnp.flip(x[..., -n - 1:-1], -1)], -1)


def _padded(x: Any, n: int, mode: str) -> Any:
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(n, n)], mode=mode)


_BOUNDARIES = {
    "even": _even, "odd": _odd, "constant": lambda x, n: _padded(x, n, "edge"),
    "zeros": lambda x, n: _padded(x, n, "constant"), None: None,
}  # fmt: skip


def _signals(x: Any, y: Any, axis: int) -> tuple[Any, Any, int]:
    """Both signals in one dtype (float32 at least), their axis last; y may be None."""
    x = jnp.asarray(arraylike("spectral analysis", x))
    axis_last = canonical_axis(axis, x.ndim)
    given = [x] if y is None else [x, jnp.asarray(arraylike("spectral analysis", y))]
    if y is not None and given[1].ndim != x.ndim:
        raise ValueError("x and y must have the same rank, got shapes "
                         f"{x.shape} and {given[1].shape}")
    given = [jnp.asarray(v) for v in promote_dtypes_inexact(*given)]
    work = dtypes.promote_types(given[0].dtype, np.float32)
    given = [jnp.moveaxis(v.astype(work), axis_last, -1) for v in given]
    if y is None:
        return given[0], None, axis_last
    try:
        np.broadcast_shapes(given[0].shape[:-1], given[1].shape[:-1])
    except ValueError:
        raise ValueError("x and y cannot be broadcast together; got shapes "
                         f"{given[0].shape} and {given[1].shape} (axis last)") from None
    return given[0], given[1], axis_last


def _with_zeros(x: Any, after: int) -> Any:
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, after)]) if after else x


def _segment_spectra(x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling,
                     axis, over_time, boundary, padded):
    """(frequencies, times, spectra with times last) of segments; y None is x itself.

    `over_time` gives transforms, otherwise their products. x and y are not empty.
    """
    if boundary not in _BOUNDARIES:
        raise ValueError(f"Unknown boundary option '{boundary}', must be one of: "
                         f"{list(_BOUNDARIES)}")
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"Unknown scaling: {scaling}; expected 'density' or 'spectrum'")
    x, y, place = _signals(x, y, axis)
    trend = detrend_function(detrend, -1 if place == x.ndim - 1 else place)
    if y is not None and x.shape[-1] != y.shape[-1]:
        length = max(x.shape[-1], y.shape[-1])
        x, y = (_with_zeros(v, length - v.shape[-1]) for v in (x, y))
    window, size = chosen_window(window, nperseg, x.shape[-1], x.real.dtype)
    nfft = size if nfft is None else operator.index(nfft)
    if nfft < size:
        raise ValueError(f"nfft must be greater than or equal to nperseg; got {nfft} and {size}")
    layout = Layout(size, checked_step(size, noverlap), nfft)
    if boundary is not None:
        x = _BOUNDARIES[boundary](x, size // 2)
        y = None if y is None else _BOUNDARIES[boundary](y, size // 2)
    if padded:
        after = -(x.shape[-1] - size) % layout.step % size
        x, y = _with_zeros(x, after), None if y is None else _with_zeros(y, after)
    onesided = return_onesided
    if return_onesided and dtypes.is_complex(dtypes.promote_types(x.dtype, window.dtype)):
        warnings.warn("Input data is complex, switching to return_onesided=False", UserWarning,
                      stacklevel=3)
        onesided = False
    result = spectra(x, window, layout, trend, onesided)
    scale = 1 / (fs * (window * window).sum()) if scaling == "density" else 1 / window.sum() ** 2
    if over_time:
        result = result * jnp.sqrt(scale)
    else:
        other = result if y is None else spectra(y, window, layout, trend, onesided)
        result = _doubled(jnp.conj(result) * other * scale, nfft) if onesided \
            else jnp.conj(result) * other * scale
        result = result.real if y is None else result
    frequencies = (jnp.fft.rfftfreq if onesided else jnp.fft.fftfreq)(nfft) * fs
    times = (np.arange(result.shape[-2]) * layout.step + size / 2
             - (0 if boundary is None else size / 2))
    return frequencies, jnp.asarray(times, frequencies.dtype) / fs, jnp.moveaxis(result, -1, place)


def _doubled(power: Any, nfft: int) -> Any:
    """Power of one side, with that of negative frequencies; 0 and Nyquist's have no partner."""
    factor = np.full(power.shape[-1], 2.0)
    factor[0] = 1
    if nfft % 2 == 0:
        factor[-1] = 1
    return power * jnp.asarray(factor, power.real.dtype)


def stft(x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = 256,
         noverlap: int | None = None, nfft: int | None = None, detrend: Any = False,
         return_onesided: bool = True, boundary: str | None = "zeros", padded: bool = True,
         axis: int = -1) -> tuple[Any, Any, Any]:
    """(frequencies [f], times [t], transforms [..., f, t] of segments) of a signal [..., n].

    window: a name or (name, parameter) of SciPy's, or values. nperseg: samples of a segment, cut
    to the signal with a warning; noverlap: of neighbours (half); nfft: length of the transform.
    detrend: False, "constant", "linear" or a function. boundary: what is put before and after the
    signal: "zeros", "even", "odd", "constant" or None. padded: zeros complete the last segment.
    Complex signals have two-sided spectra. ValueError for arguments that do not fit.
    """
    if np.size(x) == 0:
        shape = np.shape(x)
        return _nothing(shape, x), _nothing(shape, x), _nothing(shape, x, True)
    return _segment_spectra(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
                            "spectrum", axis, True, boundary, padded)


def _nothing(shape: tuple[int, ...], x: Any, as_complex: bool = False) -> Any:
    dtype = dtypes.promote_types(dtypes.to_inexact_dtype(dtypes.dtype(x)), np.float32)
    dtype = dtypes.to_complex_dtype(dtype) if as_complex else np.zeros((), dtype).real.dtype
    return jnp.zeros(shape, dtype)


def csd(x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None,
        noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant",
        return_onesided: bool = True, scaling: str = "density", axis: int = -1,
        average: str = "mean") -> tuple[Any, Any]:
    """(frequencies [f], cross power [..., f]) of two signals, averaged over segments.

    The shorter signal is continued by zeros; y None means x, whose power is real. scaling:
    "density" (per frequency) or "spectrum". average: "mean" or "median" (of real and imaginary
    parts, freed from its bias). Other arguments and errors are those of `stft`.
    """
    if average not in ("mean", "median"):
        raise ValueError(f'average must be "median" or "mean", got {average}')
    if np.size(x) == 0 or (y is not None and np.size(y) == 0):
        shape = _empty_shape(np.shape(x), np.shape(x if y is None else y), axis)
        return _nothing(shape, x), _nothing(shape, x, y is not None)
    frequencies, _, power = _segment_spectra(
        x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, False,
        None, False)
    if average == "mean":
        return frequencies, power.mean(axis=-1)
    bias = _median_bias(power.shape[-1])
    if dtypes.is_complex(power.dtype):
        middle = jnp.median(power.real, -1) + 1j * jnp.median(power.imag, -1)
        return frequencies, middle.astype(power.dtype) / bias
    return frequencies, jnp.median(power, axis=-1) / bias


def _empty_shape(x: tuple[int, ...], y: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Of the spectrum of signals one of which is empty."""
    axis = canonical_axis(axis, len(x))
    outer = np.broadcast_shapes(x[:axis] + x[axis + 1:], y[:axis] + y[axis + 1:])
    return (*outer[:axis], min(x[axis], y[axis]), *outer[axis:])


def _median_bias(n: int) -> float:
    """The mean of the median of n exponential variables (B. Allen et al., gr-qc/0509116)."""
    even = 2 * np.arange(1.0, (n - 1) // 2 + 1)
    return float(1 + np.sum(1 / (even + 1) - 1 / even))


def welch(x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None,
          noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant",
          return_onesided: bool = True, scaling: str = "density", axis: int = -1,
          average: str = "mean") -> tuple[Any, Any]:
    """(frequencies [f], power [..., f]) of a signal: `csd` with itself."""
    return csd(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling,
               axis, average)


def istft(Zxx: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None,
          noverlap: int | None = None, nfft: int | None = None, input_onesided: bool = True,
          boundary: bool = True, time_axis: int = -1, freq_axis: int = -2) -> tuple[Any, Any]:
    """(times [n], signal [..., n]) of a spectrum over time, by overlapping sums: undoes `stft`.

    nperseg, noverlap and the window must be those of the transform; boundary: whether half a
    segment was added at both ends. The signal is real if the spectrum is one-sided.
    Source: D. Griffin, J. Lim, IEEE Trans. Acoust. Speech Signal Process. 32 (1984), 236.
    """
    z = jnp.asarray(arraylike("istft", Zxx))
    if z.ndim < 2:
        raise ValueError(f"Input stft must be at least 2d; got shape {z.shape}")
    time, freq = canonical_axis(time_axis, z.ndim), canonical_axis(freq_axis, z.ndim)
    if time == freq:
        raise ValueError("Must specify differing time and frequency axes!")
    z = jnp.moveaxis(z, (time, freq), (-2, -1))
    usual = 2 * (z.shape[-1] - 1) if input_onesided else z.shape[-1]
    size, nfft = _inverse_sizes(nperseg, nfft, usual, input_onesided)
    step = checked_step(size, noverlap)
    z = z.astype(dtypes.to_complex_dtype(dtypes.promote_types(
        dtypes.to_inexact_dtype(z.dtype), np.float32)))
    values = _inverse_window(window, size, z.real.dtype)
    parts = (jnp.fft.irfft if input_onesided else jnp.fft.ifft)(z, nfft)[..., :size]
    x = overlap_added(parts * values * values.sum(), step)
    norm = overlap_added(jnp.broadcast_to(values**2, (z.shape[-2], size)), step)
    x = x / jnp.where(norm > 1e-10, norm, 1)
    if boundary:
        x = x[..., size // 2:x.shape[-1] - size // 2]
    times = jnp.arange(x.shape[-1], dtype=dtypes.canonicalize_dtype(float)) / fs
    place = time - (freq < time)
    return times, jnp.moveaxis(x, -1, place)


def _inverse_sizes(nperseg: Any, nfft: Any, usual: int, onesided: bool) -> tuple[int, int]:
    """(samples of a segment, of the transform) for a spectrum whose usual segment is known."""
    size = usual if nperseg is None else operator.index(nperseg)
    if size < 1:
        raise ValueError(f"nperseg must be a positive integer, got {size}")
    if nfft is None:  # one-sided spectra of odd length look like those of one sample less
        nfft = size if onesided and size == usual + 1 else usual
    nfft = operator.index(nfft)
    if nfft < size:
        raise ValueError(f"FFT length ({nfft}) must be longer than nperseg ({size}).")
    return size, nfft


def _inverse_window(window: Any, size: int, dtype: Any) -> Any:
    if isinstance(window, (str, tuple)):
        return jnp.asarray(window_values(window, size), dtype)
    window = jnp.asarray(window)
    if window.ndim != 1:
        raise ValueError(f"window must be 1-D, got shape {window.shape}")
    if window.shape[0] != size:
        raise ValueError(f"window must have length of {size}, got {window.shape[0]}")
    return window
