"""Convolution and correlation of arrays of equal rank, directly and by Fourier transforms.

In: two arrays; integers become floats. Out: an array whose extents are m + n - 1 ("full"), those of
the first array ("same": the middle of the full result), or |m - n| + 1 ("valid": where one array
covers the other).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.numpy.promotion import arraylike, canonical_axes, promote_dtypes_inexact

_MODES = ("full", "same", "valid")


def _check_mode(mode: str) -> None:
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {list(_MODES)}, got {mode!r}")


def _arrays(name: str, in1: Any, in2: Any) -> tuple[Any, Any]:
    """Both as arrays of one inexact dtype."""
    one, two = promote_dtypes_inexact(*arraylike(name, in1, in2))
    return jnp.asarray(one), jnp.asarray(two)


def _middle(full: Any, shape: Sequence[int], axes: Sequence[int], upward: bool = False) -> Any:
    """The middle part with extents `shape` along `axes`; a half goes down, or `upward`."""
    starts, limits = [0] * full.ndim, list(full.shape)
    for axis in axes:
        starts[axis] = (full.shape[axis] - shape[axis] + upward) // 2
        limits[axis] = starts[axis] + shape[axis]
    return lax.slice(full, starts, limits)


def _one_covers_the_other(one: Any, two: Any, axes: Sequence[int]) -> tuple[bool, bool]:
    """(whether the first is at least as long along all axes, whether the second is)."""
    return (all(one.shape[a] >= two.shape[a] for a in axes),
            all(two.shape[a] >= one.shape[a] for a in axes))


# --- directly ------------------------------------------------------------------------------------


@jit(static_argnames=("mode", "precision", "upward"))
def _direct(one, two, mode, precision, upward=False):
    """The convolution of arrays of which one covers the other."""
    shape, axes = one.shape, range(one.ndim)
    if not _one_covers_the_other(one, two, axes)[0]:
        one, two = two, one
    padding = [(0, 0) if mode == "valid" else (n - 1, n - 1) for n in two.shape]
    result = lax.conv_general_dilated(one[None, None], jnp.flip(two)[None, None],
                                      (1,) * one.ndim, padding, precision=precision)[0, 0]
    return _middle(result, shape, axes, upward) if mode == "same" else result


def _convolved(name: str, in1: Any, in2: Any, mode: str, precision: Any, correlated: bool,
               upward: bool = False) -> Any:
    """What the direct methods share; correlation is convolution with the flipped conjugate."""
    one, two = _arrays(name, in1, in2)
    if one.ndim != two.ndim:
        raise ValueError("in1 and in2 must have the same number of dimensions, got shapes "
                         f"{one.shape} and {two.shape}")
    if one.size == 0 or two.size == 0:
        raise ValueError("zero-size arrays not supported in convolutions, got shapes "
                         f"{one.shape} and {two.shape}.")
    if not any(_one_covers_the_other(one, two, range(one.ndim))):
        raise ValueError("One input must be smaller than the other in every dimension, got shapes "
                         f"{one.shape} and {two.shape}.")
    if correlated:
        two = jnp.flip(two).conj()
    if one.ndim == 0:
        return one * two
    return _direct(one, two, mode, precision, upward)


def _choose(name: str, in1: Any, in2: Any, mode: str, method: str, precision: Any,
            correlated: bool) -> Any:
    _check_mode(mode)
    if method == "fft":
        if correlated:
            in2 = jnp.flip(jnp.asarray(arraylike(name, in2))).conj()
        return fftconvolve(in1, in2, mode=mode)
    if method not in ("auto", "direct"):
        raise ValueError(f"Got method={method!r}; expected 'auto', 'fft', or 'direct'.")
    return _convolved(name, in1, in2, mode, precision, correlated)


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto",
             precision: Any = None) -> Any:
    """The convolution of two arrays of equal rank; one must cover the other ("direct").

    mode: "full", "same" or "valid". method: "direct" (which "auto" is) or "fft". precision: as in
    `lax.dot_general`, for the direct method. Integers become floats.
    ValueError for shapes that do not fit, empty arrays (direct), unknown modes and methods.
    """
    return _choose("convolve", in1, in2, mode, method, precision, False)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto",
              precision: Any = None) -> Any:
    """The cross-correlation: the convolution with in2 flipped along all axes and conjugated.

    Arguments and errors are those of `convolve`.
    """
    return _choose("correlate", in1, in2, mode, method, precision, True)


def _check_plane(name: str, in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any) -> None:
    _check_mode(mode)
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(f"{name}() only supports boundary='fill', fillvalue=0; got "
                                  f"boundary={boundary!r}, fillvalue={fillvalue!r}. Pad in1 "
                                  "(jax.numpy.pad) and use mode='valid'")
    if np.ndim(in1) != 2 or np.ndim(in2) != 2:
        raise ValueError(f"{name}() only supports 2-dimensional inputs, got shapes "
                         f"{np.shape(in1)} and {np.shape(in2)}.")


def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill",
               fillvalue: Any = 0, precision: Any = None) -> Any:
    """`convolve` of matrices. NotImplementedError for other boundaries than zeros."""
    _check_plane("convolve2d", in1, in2, mode, boundary, fillvalue)
    return _convolved("convolve2d", in1, in2, mode, precision, False)


def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill",
                fillvalue: Any = 0, precision: Any = None) -> Any:
    """`correlate` of matrices. In mode "same" halves go up, as in SciPy.

    NotImplementedError for other boundaries than zeros.
    """
    _check_plane("correlate2d", in1, in2, mode, boundary, fillvalue)
    return _convolved("correlate2d", in1, in2, mode, precision, True, upward=True)


# --- by Fourier transforms -----------------------------------------------------------------------


def _fast_length(n: int) -> int:
    """The least length from n on with no prime factor above 5."""
    def smooth(k):
        for p in (2, 3, 5):
            while k % p == 0:
                k //= p
        return k == 1

    while n > 0 and not smooth(n):
        n += 1
    return n


@jit(static_argnames=("axes", "mode"))
def _by_transforms(one, two, axes, mode):
    full = [one.shape[a] + two.shape[a] - 1 for a in axes]
    lengths = [_fast_length(n) for n in full]
    shape = one.shape
    if dtypes.is_complex(one.dtype):
        result = jnp.fft.ifftn(jnp.fft.fftn(one, lengths, axes) * jnp.fft.fftn(two, lengths, axes),
                               lengths, axes)
    else:
        result = jnp.fft.irfftn(
            jnp.fft.rfftn(one, lengths, axes) * jnp.fft.rfftn(two, lengths, axes), lengths, axes)
    for axis, n in zip(axes, full, strict=True):
        result = lax.slice_in_dim(result, 0, n, axis=axis)
    if mode == "same":
        return _middle(result, shape, axes)
    if mode == "valid":
        extents = list(result.shape)
        for a in axes:
            extents[a] = one.shape[a] - two.shape[a] + 1
        return _middle(result, extents, axes)
    return result


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Sequence[int] | None = None) -> Any:
    """The convolution of two arrays of equal rank along `axes` (all), by Fourier transforms.

    Along other axes the extents must be equal. 16-bit floats are computed in float32.
    ValueError for shapes that do not fit, an unknown mode, axes that repeat or do not exist.
    """
    one, two = _arrays("fftconvolve", in1, in2)
    if one.ndim != two.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality, got shapes "
                         f"{one.shape} and {two.shape}")
    _check_mode(mode)
    chosen = tuple(range(one.ndim)) if axes is None else canonical_axes(axes, one.ndim)
    if any(one.shape[a] != two.shape[a] for a in range(one.ndim) if a not in chosen):
        raise ValueError(f"mapped axes must have same shape; got in1.shape={one.shape} "
                         f"in2.shape={two.shape} axes={chosen}")
    if mode == "valid":
        first, second = _one_covers_the_other(one, two, chosen)
        if not (first or second):
            raise ValueError("For 'valid' mode, One input must be at least as large as the other "
                             f"in every dimension, got shapes {one.shape} and {two.shape}.")
        one, two = (one, two) if first else (two, one)
    if not chosen:
        return one * two
    if 0 in [one.shape[a] for a in chosen] + [two.shape[a] for a in chosen]:
        return _of_nothing(one, two, chosen, mode)
    dtype, work = one.dtype, dtypes.promote_types(one.dtype, np.float32)
    return _by_transforms(one.astype(work), two.astype(work), chosen, mode).astype(dtype)


def _of_nothing(one: Any, two: Any, axes: Sequence[int], mode: str) -> Any:
    """Sums over nothing: zeros."""
    shape = list(one.shape)
    for a in axes if mode != "same" else ():
        shape[a] = max(shape[a] + (two.shape[a] - 1) * (1 if mode == "full" else -1), 0)
    return jnp.zeros(shape, one.dtype)
