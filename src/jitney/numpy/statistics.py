"""Statistics of samples: average, cov, corrcoef, and convolution of sequences.

In: observations, with optional weights. Out: estimates.
Invariant: estimates are computed in a floating (or complex) type.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.numpy import reductions
from jitney.numpy.arithmetic import clip
from jitney.numpy.creation import broadcast_value
from jitney.numpy.diagonals import diag
from jitney.numpy.jitted import traced_call
from jitney.numpy.joining import concatenate
from jitney.numpy.linear_products import dot
from jitney.numpy.manipulation import atleast_2d, flip
from jitney.numpy.promotion import (
    array_arguments,
    canonical_axes,
    canonical_axis,
    check_arraylike,
    convert,
    dtype_of,
    promote_dtypes_inexact,
    requested_dtype,
    shape_of,
)
from jitney.numpy.ufuncs import conj, multiply_values, sqrt, true_divide


def average(a, axis=None, weights=None, returned=False, keepdims=False):
    """Weighted mean along axes; with `returned`, also the sum of weights."""
    a = array_arguments("average", a)
    if weights is None:
        a, = promote_dtypes_inexact(a)
        mean = reductions.mean(a, axis=axis, keepdims=keepdims)
        axes = canonical_axes(axis, len(shape_of(a)))
        total = lax.full_like(mean, math.prod(shape_of(a)[i] for i in axes))
        return (mean, total) if returned else mean
    weights = array_arguments("average", weights)
    a, weights = promote_dtypes_inexact(a, weights)
    weights = _aligned_weights(a, weights, axis)
    total = reductions.sum(weights, axis=axis, keepdims=keepdims)
    weighted = reductions.sum(multiply_values(a, weights), axis=axis, keepdims=keepdims)
    mean = true_divide(weighted, total)
    if returned:
        return mean, broadcast_value(total, shape_of(mean))
    return mean


def _aligned_weights(a: Any, weights: Any, axis: Any) -> Any:
    if shape_of(a) == shape_of(weights):
        return weights
    if len(shape_of(weights)) != 1:
        raise ValueError("1D weights expected when shapes of a and weights differ.")
    if axis is None:
        raise ValueError("Axis must be specified when shapes of a and weights differ.")
    if isinstance(axis, tuple):
        raise ValueError("Single axis expected when shapes of a and weights differ")
    rank = len(shape_of(a))
    along = canonical_axis(axis, rank)
    if shape_of(weights)[0] != shape_of(a)[along]:
        raise ValueError("Length of weights not compatible with specified axis.")
    return lax.reshape(weights, tuple(shape_of(weights)[0] if i == along else 1
                                      for i in range(rank)))


@traced_call(static_argnames=("rowvar", "bias", "ddof", "dtype"))
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, dtype=None):
    """Covariance matrix of variables in rows (or columns)."""
    given = (m,) if y is None else (m, y)
    values = array_arguments("cov", *given)
    values = promote_dtypes_inexact(*(values if y is not None else (values,)))
    if dtype is not None:
        wanted = requested_dtype(dtype, "cov")
        values = [convert(v, wanted) for v in values]
    if any(len(shape_of(v)) > 2 for v in values):
        raise ValueError("m has more than 2 dimensions")
    x = _in_rows(values[0], rowvar)
    if y is not None:
        if shape_of(x)[0] == 0:
            return lax.full((0, 0), 0, dtype_of(x))
        x = concatenate([x, _in_rows(values[1], rowvar)], axis=0)
    if ddof is None:
        ddof = 0 if bias else 1
    weights = _weights(x, fweights, aweights)
    mean, total = average(x, axis=1, weights=weights, returned=True)
    total = total[0]
    if weights is None:
        factor = np.asarray(shape_of(x)[1] - ddof, dtypes.to_floating_dtype(dtype_of(x)))[()]
    elif ddof == 0:
        factor = total
    elif aweights is None:
        factor = total - ddof
    else:
        squares = reductions.sum(weights * convert(aweights, dtype_of(weights)))
        factor = total - ddof * squares / total
    centered = x - lax.expand_dims(mean, (1,))
    other = centered if weights is None else centered * weights
    product = dot(centered, conj(lax.transpose(other, (1, 0))))
    return lax.squeeze(true_divide(product, factor), tuple(
        i for i, n in enumerate(shape_of(product)) if n == 1))


def _in_rows(m: Any, rowvar: bool) -> Any:
    x = atleast_2d(m)
    return lax.transpose(x, (1, 0)) if not rowvar and shape_of(x)[0] != 1 else x


def _weights(x: Any, fweights: Any, aweights: Any) -> Any:
    weights = None
    if fweights is not None:
        fweights = _weight_vector("fweights", fweights, x)
        if not dtypes.is_integer(dtype_of(fweights)):
            raise TypeError("fweights must be integer.")
        weights = lax.abs(fweights)
    if aweights is not None:
        aweights = lax.abs(_weight_vector("aweights", aweights, x))
        weights = aweights if weights is None else multiply_values(weights, aweights)
    return weights


def _weight_vector(name: str, weights: Any, x: Any) -> Any:
    check_arraylike("cov", weights)
    if len(shape_of(weights)) != 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if shape_of(weights)[0] != shape_of(x)[1]:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    return array_arguments("cov", weights)


@traced_call(static_argnames=("rowvar", "dtype"))
def corrcoef(x, y=None, rowvar=True, dtype=None):
    """Matrix of correlation coefficients."""
    check_arraylike("corrcoef", x)
    c = cov(x, y, rowvar, dtype=dtype)
    if len(shape_of(c)) == 0:
        return true_divide(c, c)
    scale = sqrt(lax.real(diag(c)) if dtypes.is_complex(dtype_of(c)) else diag(c))
    c = c / convert(lax.expand_dims(scale, (1,)), dtype_of(c))
    c = c / convert(lax.expand_dims(scale, (0,)), dtype_of(c))
    if dtypes.is_complex(dtype_of(c)):
        return lax.complex(clip(lax.real(c), -1, 1), clip(lax.imag(c), -1, 1))
    return clip(c, -1, 1)


# --- convolution of sequences ------------------------------------------------------------------


@traced_call(static_argnames=("mode", "op", "precision", "preferred_element_type"))
def _conv(x, y, mode, op, precision, preferred_element_type=None):
    x, y = promote_dtypes_inexact(x, y)
    if len(shape_of(x)) != 1 or len(shape_of(y)) != 1:
        raise ValueError(f"{op}() only support 1-dimensional inputs.")
    if not shape_of(x)[0] or not shape_of(y)[0]:
        raise ValueError(f"{op}: inputs cannot be empty, got shapes {shape_of(x)} and "
                         f"{shape_of(y)}.")
    swapped = shape_of(x)[0] < shape_of(y)[0]
    if op == "correlate":
        y = conj(y)
        result_reversed = swapped
        if swapped:
            x, y = y, x
    else:
        result_reversed = False
        if swapped:
            x, y = y, x
        y = flip(y)
    m = shape_of(y)[0]
    pads = {"valid": (0, 0), "same": (m // 2, m - m // 2 - 1), "full": (m - 1, m - 1)}
    if mode not in pads:
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    padding = pads[mode]
    result = lax.conv_general_dilated(
        x[None, None, :], y[None, None, :], (1,), [padding], precision=precision,
        preferred_element_type=preferred_element_type)
    result = lax.squeeze(result, (0, 1))
    return flip(result) if result_reversed else result


@traced_call(static_argnames=("mode", "precision", "preferred_element_type"))
def convolve(a, v, mode="full", *, precision=None, preferred_element_type=None):
    """Convolution of two sequences."""
    check_arraylike("convolve", a, v)
    if preferred_element_type is not None:
        preferred_element_type = requested_dtype(preferred_element_type, "convolve")
    return _conv(a, v, mode=mode, op="convolve", precision=precision,
                 preferred_element_type=preferred_element_type)


@traced_call(static_argnames=("mode", "precision", "preferred_element_type"))
def correlate(a, v, mode="valid", *, precision=None, preferred_element_type=None):
    """Cross-correlation of two sequences."""
    check_arraylike("correlate", a, v)
    if preferred_element_type is not None:
        preferred_element_type = requested_dtype(preferred_element_type, "correlate")
    return _conv(a, v, mode=mode, op="correlate", precision=precision,
                 preferred_element_type=preferred_element_type)
