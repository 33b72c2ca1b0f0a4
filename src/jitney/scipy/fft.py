"""Discrete cosine transforms under the names of `jax.scipy.fft`. Imported when first used.

In: real arrays [..., n, ...] (of complex ones, both parts are transformed). Out: arrays of the same
shape, or of the lengths asked for, in floating point. Only type 2 and its inverse; `norm` None or
"backward" (as SciPy scales) or "ortho".

Formulas: J. Makhoul, "A fast cosine transform in one and two dimensions", IEEE Trans. ASSP 28(1),
1980: even samples, then odd ones backwards, go through one complex transform of the same length.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.numpy import fft as jnp_fft
from jitney.numpy.creation import asarray, zeros
from jitney.numpy.joining import concatenate
from jitney.numpy.manipulation import flip, roll
from jitney.numpy.promotion import arraylike, canonical_axis, dtype_of, promote_dtypes_inexact
from jitney.numpy.promotion import shape_of as _shape_of
from jitney.numpy.ufuncs import exp as _exp
from jitney.numpy.ufuncs import sqrt as _sqrt

# --- arguments -------------------------------------------------------------------------------


def _checked(name: str, x: Any, kind: Any, norm: Any) -> Any:
    if kind != 2:
        raise NotImplementedError(f"Only DCT type 2 is implemented. Got type={kind!r} in "
                                  f"jax.scipy.fft.{name}.")
    x = asarray(arraylike(name, x))
    if norm not in (None, "backward", "ortho"):
        raise ValueError(f"jax.scipy.fft.{name}: norm={norm!r} is not implemented")
    return x


def _parts(function: Any, x: Any) -> Any:
    """The function of both parts of a complex array; None for a real one."""
    if not dtypes.is_complex(dtype_of(x)):
        return None
    return lax.complex(function(lax.real(x)), function(lax.imag(x)))


def _integer(name: str, argument: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"jax.scipy.fft.{name}: {argument} must be made of integers, got "
                        f"{value!r}") from None


def _integers(name: str, argument: str, given: Any) -> tuple[int, ...]:
    try:
        return (operator.index(given),)
    except TypeError:
        pass
    try:
        given = tuple(given)
    except TypeError:
        raise TypeError(f"jax.scipy.fft.{name}: {argument} must be an integer or a sequence of "
                        f"integers, got {given!r}") from None
    return tuple([_integer(name, argument, v) for v in given])


def _axes_and_lengths(name: str, x: Any, s: Any, axes: Any) -> tuple[tuple[int, ...], Any]:
    """The axes, counted from the front, and their lengths (None: as they are)."""
    rank = len(_shape_of(x))
    s = None if s is None else _integers(name, "s", s)
    if axes is None:
        count = rank if s is None else len(s)
        if count > rank:
            raise ValueError(f"s must have at most x.ndim ({rank}) elements, got {count}")
        return tuple(range(rank - count, rank)), s
    given = _integers(name, "axes", axes)
    found = tuple([canonical_axis(a, rank) for a in given])
    if len(set(found)) != len(found):
        raise ValueError(f"repeated axis: {given}")
    if s is not None and len(s) != len(found):
        raise ValueError(f"jax.scipy.fft.{name}: s and axes must have the same length, got {s} and "
                         f"{given}")
    return found, s


def _resized(name: str, x: Any, lengths: dict[int, int]) -> Any:
    """Axes cropped, or padded with zeros, to these lengths."""
    if any(n < 1 for n in lengths.values()):
        raise ValueError(f"jax.scipy.fft.{name}: lengths must be positive, got "
                         f"{tuple(lengths.values())}")
    shape = _shape_of(x)
    config = [(0, lengths[i] - n if i in lengths else 0, 0) for i, n in enumerate(shape)]
    return lax.pad(x, np.zeros((), dtype_of(x))[()], config)


def _check_sizes(name: str, x: Any, axes: tuple[int, ...]) -> None:
    shape = _shape_of(x)
    if any(shape[a] == 0 for a in axes):
        raise ValueError(f"jax.scipy.fft.{name}: no data points along the axes {axes} of an array "
                         f"of shape {shape}; give lengths to pad it to")


# --- parts of the formulas -------------------------------------------------------------------


def _beside(x: Any, axis: int, rank: int) -> Any:
    """A vector as an array whose only long axis is `axis`."""
    return lax.expand_dims(x, [i for i in range(rank) if i != axis])


def _interleaved(x: Any, axis: int) -> Any:
    """Even samples, then the odd ones backwards."""
    even = lax.slice_in_dim(x, 0, None, 2, axis)
    odd = lax.slice_in_dim(x, 1, None, 2, axis)
    return concatenate([even, lax.rev(odd, (axis,))], axis)


def _separated(x: Any, axis: int) -> Any:
    """The inverse of `_interleaved`."""
    n, rank = _shape_of(x)[axis], len(_shape_of(x))
    before = (slice(None),) * axis
    first = x[(*before, slice(0, (n + 1) // 2))]
    last = lax.rev(x[(*before, slice((n + 1) // 2, None))], (axis,))
    out = zeros(_shape_of(x), dtype_of(x))
    after = (slice(None),) * (rank - axis - 1)
    out = out.at[(*before, slice(None, None, 2), *after)].set(first)
    return out.at[(*before, slice(1, None, 2), *after)].set(last)


def _quarter_turns(n: int, k: Any) -> Any:
    """exp(-πi k / 2n)."""
    return _exp(-0.5j * math.pi * k / n)


def _orthonormal(x: Any, axis: int) -> Any:
    """x over √(n f): f = 4 for frequency 0, and 2 for the others."""
    shape, dtype = _shape_of(x), dtype_of(x)
    n = shape[axis]
    f = concatenate([lax.full((1,), 4, dtype), lax.full((n - 1,), 2, dtype)])
    return x / _sqrt(_beside(f, axis, len(shape)) * n)


# --- along one axis --------------------------------------------------------------------------


def dct(x, type=2, n=None, axis=-1, norm=None):
    """The discrete cosine transform 2 Σ_j x[j] cos(π k (2j + 1) / 2n) along one axis.

    n: the length; x is cropped or padded with zeros to it. norm="ortho" makes the transform an
    orthogonal one. NotImplementedError for other types than 2; ValueError for other values of norm,
    for an axis out of bounds and for no data points; TypeError for lists.
    """
    x = _checked("dct", x, type, norm)
    axis = canonical_axis(axis, len(_shape_of(x)))
    split = _parts(lambda part: dct(part, type, n, axis, norm), x)
    if split is not None:
        return split
    if n is not None:
        x = _resized("dct", x, {axis: _integer("dct", "n", n)})
    _check_sizes("dct", x, (axis,))
    return _dct(x, axis, norm)


def _dct(x: Any, axis: int, norm: Any) -> Any:
    shape = _shape_of(x)
    transformed = jnp_fft.fft(_interleaved(x, axis), axis=axis)
    k = _beside(lax.iota(dtype_of(lax.real(transformed)), shape[axis]), axis, len(shape))
    out = 2.0 * lax.real(transformed * _quarter_turns(shape[axis], k))
    return _orthonormal(out, axis) if norm == "ortho" else out


def idct(x, type=2, n=None, axis=-1, norm=None):
    """The inverse of dct. Arguments and errors as there."""
    x = _checked("idct", x, type, norm)
    axis = canonical_axis(axis, len(_shape_of(x)))
    split = _parts(lambda part: idct(part, type, n, axis, norm), x)
    if split is not None:
        return split
    if n is not None:
        x = _resized("idct", x, {axis: _integer("idct", "n", n)})
    _check_sizes("idct", x, (axis,))
    return _idct(x, axis, norm)


def _idct(x: Any, axis: int, norm: Any) -> Any:
    x, = promote_dtypes_inexact(x)
    shape = _shape_of(x)
    n = shape[axis]
    if norm != "ortho":
        x = _orthonormal(x, axis)
    x = _orthonormal(x, axis)
    k = _beside(lax.iota(dtype_of(x), n), axis, len(shape))
    x = lax.convert_element_type(x, dtype_of(_quarter_turns(n, k)))
    x = x / _quarter_turns(n, k) * 2 * n
    return _separated(lax.real(jnp_fft.ifft(x, axis=axis)), axis)


# --- along several axes ----------------------------------------------------------------------


def dctn(x, type=2, s=None, axes=None, norm=None):
    """dct over several axes (all, or the last len(s), when not given); s: their lengths.

    ValueError for repeated axes, and as many lengths as there are no axes; else as dct.
    """
    x = _checked("dctn", x, type, norm)
    axes, s = _axes_and_lengths("dctn", x, s, axes)
    split = _parts(lambda part: dctn(part, type, s, axes, norm), x)
    if split is not None:
        return split
    if s is not None:
        x = _resized("dctn", x, dict(zip(axes, s)))
    _check_sizes("dctn", x, axes)
    for i in range(0, len(axes), 2):
        x = _dct2(x, *axes[i:i + 2], norm) if i + 1 < len(axes) else _dct(x, axes[i], norm)
    return x


def _dct2(x: Any, first: int, second: int, norm: Any) -> Any:
    """Makhoul's transform over two axes: one complex transform of both."""
    shape = _shape_of(x)
    x = _interleaved(_interleaved(x, first), second)
    x = jnp_fft.fftn(x, axes=(first, second))
    k1, k2 = [_beside(lax.iota(dtype_of(x), shape[a]), a, len(shape)) for a in (first, second)]
    n1, n2 = shape[first], shape[second]
    turns = _quarter_turns(n1, k1)
    mirrored = _quarter_turns(n2, k2) * x
    mirrored = mirrored + _quarter_turns(n2, -k2) * roll(flip(x, second), 1, second)
    out = 2.0 * lax.real(turns * mirrored)
    return _orthonormal(_orthonormal(out, first), second) if norm == "ortho" else out


def idctn(x, type=2, s=None, axes=None, norm=None):
    """The inverse of dctn, with the same arguments."""
    x = _checked("idctn", x, type, norm)
    axes, s = _axes_and_lengths("idctn", x, s, axes)
    split = _parts(lambda part: idctn(part, type, s, axes, norm), x)
    if split is not None:
        return split
    if s is not None:
        x = _resized("idctn", x, dict(zip(axes, s)))
    _check_sizes("idctn", x, axes)
    for axis in axes:
        x = _idct(x, axis, norm)
    return x


__all__ = ["dct", "dctn", "idct", "idctn"]
