"""Window functions of a given length: bartlett, blackman, hamming, hanning, kaiser.

In: a static number of points. Out: a vector of weights in the default float type.
Invariant: windows of one point are ones.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.numpy.floating import i0
from jitney.numpy.promotion import array_arguments, concrete_or_error, convert, dtype_of
from jitney.numpy.ufuncs import constant


def _points(name: str, M: Any) -> tuple[int, Any]:
    count = operator.index(concrete_or_error(M, f"M argument of jnp.{name}"))
    return count, dtypes.canonicalize_dtype(float)


def _cosine(n: Any, count: int, turns: float) -> Any:
    angle = lax.div(lax.mul(constant(turns * np.pi, n), n), constant(count - 1, n))
    return lax.cos(angle)


def bartlett(M):
    """Triangular window, zero at the ends."""
    count, dtype = _points("bartlett", M)
    if count <= 1:
        return lax.full((count,), 1, dtype)
    n = lax.iota(dtype, count)
    rise = lax.abs(lax.sub(lax.add(lax.mul(constant(2, n), n), constant(1, n)), constant(count, n)))
    return lax.sub(constant(1, n), lax.div(rise, constant(count - 1, n)))


def blackman(M):
    """Window of three cosine terms."""
    count, dtype = _points("blackman", M)
    if count <= 1:
        return lax.full((count,), 1, dtype)
    n = lax.iota(dtype, count)
    first = lax.sub(constant(0.42, n), lax.mul(constant(0.5, n), _cosine(n, count, 2)))
    return lax.add(first, lax.mul(constant(0.08, n), _cosine(n, count, 4)))


def hamming(M):
    """Raised cosine window with small end values."""
    count, dtype = _points("hamming", M)
    if count <= 1:
        return lax.full((count,), 1, dtype)
    n = lax.iota(dtype, count)
    return lax.sub(constant(0.54, n), lax.mul(constant(0.46, n), _cosine(n, count, 2)))


def hanning(M):
    """Raised cosine window, zero at the ends."""
    count, dtype = _points("hanning", M)
    if count <= 1:
        return lax.full((count,), 1, dtype)
    n = lax.iota(dtype, count)
    return lax.mul(constant(0.5, n), lax.sub(constant(1, n), _cosine(n, count, 2)))


def kaiser(M, beta):
    """Window of Bessel functions, with a shape parameter."""
    count, dtype = _points("kaiser", M)
    beta = array_arguments("kaiser", beta)
    if count <= 1:
        return lax.full((count,), 1, dtype)
    n = lax.iota(dtype, count)
    half = constant(0.5 * (count - 1), n)
    distance = lax.integer_pow(lax.div(lax.sub(n, half), half), 2)
    beta = convert(beta, dtype_of(n))
    inside = lax.mul(beta, lax.sqrt(lax.sub(constant(1, n), distance)))
    return lax.div(i0(inside), i0(beta))
