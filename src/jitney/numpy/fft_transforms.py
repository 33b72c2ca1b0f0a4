"""The transforms of `jax.numpy.fft`: lengths and axes are settled here, `lax.fft` computes.

In: an array [..., n, ...]. Out: an array whose transformed axes have the lengths asked for
(n // 2 + 1 of them along the last one in rfft…).
Invariant: `lax.fft` transforms at most three axes at once; more of them go in two parts, the real
side in the part that holds the last axis.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney import lax
from jitney.lax import FftType
from jitney.numpy.creation import asarray
from jitney.numpy.jitted import inlined
from jitney.numpy.manipulation import moveaxis
from jitney.numpy.padding import pad
from jitney.numpy.promotion import arraylike, canonical_axis, dtype_of, shape_of
from jitney.numpy.reductions import prod
from jitney.numpy.ufuncs import conjugate, sqrt

_INVERSE = ("ifft", "ifft2", "ifftn", "irfft", "irfft2", "irfftn", "ihfft")
_BESIDE = {FftType.RFFT: FftType.FFT, FftType.IRFFT: FftType.IFFT}  # of the axes before the last
_MOST_AXES = 3

# --- what they share -------------------------------------------------------------------------


def _integer(name: str, argument: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"jax.numpy.fft.{name}: {argument} must be an integer, got {value!r} of "
                        f"type {type(value).__name__}") from None


def _integers(name: str, argument: str, values: Any) -> tuple[int, ...] | None:
    """A sequence of integers as a tuple; TypeError for anything else, None for None."""
    if values is None:
        return None
    try:
        values = tuple(values)
    except TypeError:
        raise TypeError(f"jax.numpy.fft.{name}: {argument} must be a sequence of integers, got "
                        f"{values!r}") from None
    return tuple([_integer(name, argument, v) for v in values])


def _check_norm(norm: Any) -> None:
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f"Invalid norm value {norm}; should be \"backward\", \"ortho\" or "
                         "\"forward\".")


def _check_lengths(s: tuple[int, ...] | None, axes: tuple[int, ...] | None) -> None:
    if s is None:
        return
    if any(n <= 0 for n in s):
        raise ValueError(f"Shape should be positive. Got lengths {s}.")
    if axes is not None and len(s) != len(axes):
        raise ValueError(f"Shape and axes have different lengths. Got {s} and {axes}.")


def _settled_axes(name: str, a: Any, s: tuple | None, axes: tuple | None) -> tuple[int, ...]:
    rank = len(shape_of(a))
    if axes is None:
        count = rank if s is None else len(s)
        if count > rank:
            raise ValueError(f"jax.numpy.fft.{name}: s must have at most as many lengths as the "
                             f"array has axes ({rank}), got {s}.")
        return tuple(range(rank - count, rank))
    found = tuple([canonical_axis(axis, rank) for axis in axes])
    if len(set(found)) != len(found):
        raise ValueError(f"jax.numpy.fft.{name} does not support repeated axes. Got axes {axes}.")
    return found


def _resized(a: Any, s: tuple[int, ...], kind: FftType) -> Any:
    """The last axes cropped to the lengths `s`, or padded with zeros."""
    shape = shape_of(a)
    wanted = list(s)
    if kind is FftType.IRFFT and s:
        wanted[-1] = s[-1] // 2 + 1
    wanted = [*shape[: len(shape) - len(s)], *wanted]
    a = a[tuple([slice(0, n) for n in wanted])]
    return pad(a, [(0, n - have) for n, have in zip(wanted, shape_of(a))])


def _lengths(a: Any, count: int, kind: FftType) -> tuple[int, ...]:
    """The lengths of the last axes on the real side."""
    shape = shape_of(a)
    found = shape[len(shape) - count:]
    if kind is FftType.IRFFT and found:
        return (*found[:-1], max(0, 2 * (found[-1] - 1)))
    return found


def _core(name: str, kind: FftType, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    a = asarray(arraylike(f"jax.numpy.fft.{name}", a))
    _check_norm(norm)
    _check_lengths(s, axes)
    axes = _settled_axes(name, a, s, axes)
    last = tuple(range(-len(axes), 0))
    a = moveaxis(a, axes, last)
    if s is not None:
        a = _resized(a, s, kind)
    else:
        s = _lengths(a, len(axes), kind)
    a = _over_last(a, kind, s)
    if norm is not None:
        a = a * _factor(name, s, norm, dtype_of(a))
    return moveaxis(a, last, axes)


def _over_last(a: Any, kind: FftType, s: tuple[int, ...]) -> Any:
    """The transform over the last axes, in parts of at most three."""
    count = len(s)
    if count <= _MOST_AXES:
        return lax.fft(a, kind, s)
    first = max(count - _MOST_AXES, count // 2)
    before = tuple(range(-count, first - count))
    to = tuple(range(-first, 0))

    def others(x):
        x = _over_last(moveaxis(x, before, to), _BESIDE.get(kind, kind), s[:first])
        return moveaxis(x, to, before)

    if kind in (FftType.IFFT, FftType.IRFFT):
        return lax.fft(others(a), kind, s[first:])
    return others(lax.fft(a, kind, s[first:]))


def _factor(name: str, s: Sequence[int], norm: str, dtype: Any) -> Any:
    if norm == "backward":
        return np.asarray(1, dtype)[()]
    total = prod(np.asarray(s, dtype))
    total = sqrt(total) if norm == "ortho" else total
    return total if name in _INVERSE else 1 / total


# --- one axis --------------------------------------------------------------------------------


def _one_axis(name: str, axis: Any) -> Any:
    if isinstance(axis, (tuple, list)):
        instead = "Apply it to one axis after another" if "hfft" in name \
            else f"Please use jax.numpy.fft.{name}n"
        raise ValueError(f"jax.numpy.fft.{name} does not support multiple axes. {instead}. Got "
                         f"axis = {axis!r}.")
    return None if axis is None else (_integer(name, "axis", axis),)


def _along(name: str, kind: FftType, a: Any, n: Any, axis: Any, norm: Any) -> Any:
    s = None if n is None else (_integer(name, "n", n),)
    return _core(name, kind, a, s, _one_axis(name, axis), norm)


_STATIC = ("n", "axis", "norm")


@inlined(static_argnames=_STATIC)
def fft(a, n=None, axis=-1, norm=None):
    """The discrete Fourier transform along one axis: Σ_j a[j] exp(-2πi jk / n), complex.

    n: the length; a is cropped or padded with zeros to it. ValueError for lengths that are not
    positive, for axes out of bounds, and for unknown values of norm.
    """
    return _along("fft", FftType.FFT, a, n, axis, norm)


@inlined(static_argnames=_STATIC)
def ifft(a, n=None, axis=-1, norm=None):
    """The inverse of fft: Σ_k a[k] exp(2πi jk / n) / n, complex. Arguments as in fft."""
    return _along("ifft", FftType.IFFT, a, n, axis, norm)


@inlined(static_argnames=_STATIC)
def rfft(a, n=None, axis=-1, norm=None):
    """The frequencies 0 … n // 2 of fft of real numbers (the others are their conjugates).

    Arguments as in fft. ValueError for complex numbers, float16, bfloat16, and for no numbers.
    """
    return _along("rfft", FftType.RFFT, a, n, axis, norm)


@inlined(static_argnames=_STATIC)
def irfft(a, n=None, axis=-1, norm=None):
    """The real array of length n whose rfft is a; n is 2 (m - 1) for m frequencies if not given.

    The imaginary parts of frequency 0, and of n / 2 if n is even, are not read.
    """
    return _along("irfft", FftType.IRFFT, a, n, axis, norm)


def _length(name: str, a: Any, n: Any, axis: Any, of_shape: Any) -> int:
    if n is not None:
        return _integer(name, "n", n)
    shape = shape_of(a)
    if axis is None:
        raise TypeError(f"jax.numpy.fft.{name} needs one axis, got None")
    return of_shape(shape[canonical_axis(_one_axis(name, axis)[0], len(shape))])


@inlined(static_argnames=_STATIC)
def hfft(a, n=None, axis=-1, norm=None):
    """fft, of length n, of an array whose second half is the conjugate of its first, a: real.

    n is 2 (m - 1) for m elements if not given.
    """
    a = asarray(arraylike("jax.numpy.fft.hfft", a))
    count = _length("hfft", a, n, axis, lambda m: max(0, 2 * (m - 1)))
    found = _along("hfft", FftType.IRFFT, conjugate(a), n, axis, norm)
    return found * count


@inlined(static_argnames=_STATIC)
def ihfft(a, n=None, axis=-1, norm=None):
    """The inverse of hfft: the first half of ifft of real numbers."""
    a = asarray(arraylike("jax.numpy.fft.ihfft", a))
    count = _length("ihfft", a, n, axis, lambda m: m)
    found = _along("ihfft", FftType.RFFT, a, n, axis, norm)
    return conjugate(found) * (1 / count)


# --- several axes ----------------------------------------------------------------------------


def _over(name: str, kind: FftType, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    s, axes = _integers(name, "s", s), _integers(name, "axes", axes)
    return _several(a, name, kind, s, axes, norm)


@inlined(static_argnums=(1, 2, 3, 4, 5))
def _several(a, name, kind, s, axes, norm):
    return _core(name, kind, a, s, axes, norm)


def _over_two(name: str, kind: FftType, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    axes = _integers(name, "axes", axes)
    if axes is None or len(axes) != 2:
        raise ValueError(f"jax.numpy.fft.{name} only supports 2 axes. Got axes = {axes}.")
    return _over(name, kind, a, s, axes, norm)


def fft2(a, s=None, axes=(-2, -1), norm=None):
    """fft over two axes; s: their lengths. Errors as in fftn."""
    return _over_two("fft2", FftType.FFT, a, s, axes, norm)


def ifft2(a, s=None, axes=(-2, -1), norm=None):
    """ifft over two axes; s: their lengths. Errors as in fftn."""
    return _over_two("ifft2", FftType.IFFT, a, s, axes, norm)


def rfft2(a, s=None, axes=(-2, -1), norm=None):
    """rfft over the second axis, then fft over the first. Errors as in fftn."""
    return _over_two("rfft2", FftType.RFFT, a, s, axes, norm)


def irfft2(a, s=None, axes=(-2, -1), norm=None):
    """ifft over the first axis, then irfft over the second. Errors as in fftn."""
    return _over_two("irfft2", FftType.IRFFT, a, s, axes, norm)


def fftn(a, s=None, axes=None, norm=None):
    """fft over several axes (all, or the last len(s), when not given); s: their lengths.

    ValueError for repeated axes, axes out of bounds, as many lengths as there are no axes, and
    lengths that are not positive; TypeError for axes and lengths that are no integers.
    """
    return _over("fftn", FftType.FFT, a, s, axes, norm)


def ifftn(a, s=None, axes=None, norm=None):
    """The inverse of fftn, with the same arguments."""
    return _over("ifftn", FftType.IFFT, a, s, axes, norm)


def rfftn(a, s=None, axes=None, norm=None):
    """rfft over the last of the axes, then fft over the others. Arguments as in fftn."""
    return _over("rfftn", FftType.RFFT, a, s, axes, norm)


def irfftn(a, s=None, axes=None, norm=None):
    """The inverse of rfftn; without s, the last axis becomes 2 (m - 1) long."""
    return _over("irfftn", FftType.IRFFT, a, s, axes, norm)
