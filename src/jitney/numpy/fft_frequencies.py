"""The frequencies that belong to the results of transforms, and shifts of frequency 0.

In: the length of a transform and the distance d of its samples, or an array of frequencies. Out:
frequencies in cycles a unit of d, or the array rolled by half.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.numpy.creation import array, placed
from jitney.numpy.manipulation import roll
from jitney.numpy.promotion import arraylike, canonical_axis, dtype_of, requested_dtype, shape_of


def fftfreq(n, d=1.0, *, dtype=None, device=None):
    """0, 1, …, -2, -1 over n·d: the frequencies of fft's result, [n].

    d is one number. ValueError for a length or distance that is a list.
    """
    n, d = _checked("fftfreq", n, d)
    wanted = _dtype_of(dtype, "fftfreq")
    computed = wanted if dtypes.is_floating(wanted) else dtypes.canonicalize_dtype(np.float64)
    k = lax.iota(computed, max(n, 0))
    k = (k + n // 2) % n - n // 2
    found = k / _span(n, d, computed)
    return placed("jnp.fft.fftfreq", lax.convert_element_type(found, wanted), device, None)


def rfftfreq(n, d=1.0, *, dtype=None, device=None):
    """0, 1, …, n // 2 over n·d: the frequencies of rfft's result, [n // 2 + 1].

    d is one number. ValueError for a length or distance that is a list.
    """
    n, d = _checked("rfftfreq", n, d)
    wanted = _dtype_of(dtype, "rfftfreq")
    count = n // 2 + 1 if n % 2 == 0 else (n - 1) // 2 + 1
    found = lax.iota(wanted, max(count, 0)) / _span(n, d, wanted)
    return placed("jnp.fft.rfftfreq", found, device, None)


def _checked(name: str, n: Any, d: Any) -> tuple[int, Any]:
    if isinstance(n, (list, tuple)):
        raise ValueError(f"The n argument of jax.numpy.fft.{name} only takes an int. Got n = "
                         f"{list(n)}.")
    if isinstance(d, (list, tuple)):
        raise ValueError(f"The d argument of jax.numpy.fft.{name} only takes a single value. Got "
                         f"d = {list(d)}.")
    d = arraylike(name, d)
    if dtypes.is_complex(dtype_of(d)):
        raise TypeError(f"The d argument of jax.numpy.fft.{name} must be real. Got d = {d}.")
    if shape_of(d):
        raise TypeError(f"The d argument of jax.numpy.fft.{name} only takes a single value. Got an "
                        f"array of shape {shape_of(d)}.")
    try:
        return operator.index(n), d
    except TypeError:
        raise TypeError(f"The n argument of jax.numpy.fft.{name} only takes an int. Got n = {n!r} "
                        f"of type {type(n).__name__}.") from None


def _dtype_of(dtype: Any, name: str) -> Any:
    if dtype is None:
        return dtypes.canonicalize_dtype(np.float64)
    return requested_dtype(dtype, name)


def _span(n: int, d: Any, dtype: Any) -> Any:
    """n·d as a number of this dtype."""
    if isinstance(d, (bool, int, float, np.number)):
        return np.asarray(d * n).astype(dtype)[()]
    return lax.convert_element_type(array(d * n), dtype)


def fftshift(x, axes=None):
    """x with frequency 0 moved to the middle of the axes (of all, when not given)."""
    return _shift("fftshift", x, axes, lambda n: n // 2)


def ifftshift(x, axes=None):
    """The inverse of fftshift."""
    return _shift("ifftshift", x, axes, lambda n: -(n // 2))


def _shift(name: str, x: Any, axes: Any, by: Any) -> Any:
    x = arraylike(name, x)
    shape = shape_of(x)
    if axes is None:
        axes = tuple(range(len(shape)))
    if isinstance(axes, (int, np.integer)):
        axis = canonical_axis(axes, len(shape))
        return roll(x, by(shape[axis]), axis)
    try:
        axes = tuple([canonical_axis(a, len(shape)) for a in axes])
    except TypeError:
        raise TypeError(f"{name}: axes must be an integer or a sequence of integers, got "
                        f"{axes!r}") from None
    return roll(x, tuple([by(shape[a]) for a in axes]), axes)
