"""Comparison of whole arrays: isclose, allclose, array_equal, array_equiv.

In: two array-likes. Out: booleans.
Invariant: shapes that cannot be compared make `array_equal` false, not an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.numpy.floating import isinf
from jitney.numpy.jitted import traced_call
from jitney.numpy.promotion import arraylike, as_value, convert, dtype_of, promote_args, shape_of
from jitney.numpy.reductions import all as all_of
from jitney.numpy.ufunc_class import logical_and, logical_or
from jitney.numpy.ufuncs import equal, isnan
from jitney.numpy.where import spread


@traced_call(static_argnames=("equal_nan",))
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether |a - b| <= atol + rtol * |b|, elementwise."""
    a, b = promote_args("isclose", a, b)
    dtype = dtype_of(a)
    if dtypes.is_extended(dtype):
        return lax.eq(a, b)
    if not dtypes.is_inexact(dtype):
        dtype = dtypes.to_inexact_dtype(dtype)
        a, b = convert(a, dtype), convert(b, dtype)
    real = dtypes.to_floating_dtype(dtype)
    rtol, atol = convert(rtol, real), convert(atol, real)
    both_nan = logical_and(isnan(a), isnan(b))
    finite = _finite(b)
    distance = lax.abs(lax.sub(a, b))
    within = lax.le(distance, lax.add(atol, lax.mul(rtol, lax.abs(b))))
    close = logical_or(lax.eq(a, b), logical_and(finite, within))
    result = logical_or(close, both_nan) if equal_nan else close
    return spread(result, np.broadcast_shapes(shape_of(a), shape_of(b)))


def _finite(x: Any) -> Any:
    if dtypes.is_complex(dtype_of(x)):
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return lax.is_finite(x)


@traced_call(static_argnames=("equal_nan",))
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close."""
    return all_of(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1, a2, equal_nan=False):
    """Whether shapes and all elements are equal."""
    try:
        a1, a2 = arraylike("array_equal", a1, a2)
    except TypeError:
        return as_value(False)
    if shape_of(a1) != shape_of(a2):
        return as_value(False)
    same = equal(a1, a2)
    if equal_nan:
        same = logical_or(same, logical_and(isnan(a1), isnan(a2)))
    return all_of(same)


def array_equiv(a1, a2):
    """Whether elements are equal after broadcasting."""
    try:
        a1, a2 = arraylike("array_equiv", a1, a2)
    except TypeError:
        return as_value(False)
    try:
        np.broadcast_shapes(shape_of(a1), shape_of(a2))
    except ValueError:
        return as_value(False)
    return all_of(equal(a1, a2))


__all__ = ["isclose", "allclose", "array_equal", "array_equiv", "isinf"]
