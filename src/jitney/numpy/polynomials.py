"""Polynomials as vectors of coefficients, highest power first.

In: coefficient vectors. Out: coefficient vectors, values, roots, fits.
Invariant: lengths depend on lengths alone; leading zeros are trimmed only on request.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitney import lax
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.numpy import reductions
from jitney.numpy.creation import broadcast_value
from jitney.numpy.diagonals import diag
from jitney.numpy.jitted import is_eager, traced_call
from jitney.numpy.joining import concatenate
from jitney.numpy.linear_products import dot, outer
from jitney.numpy.manipulation import atleast_1d, part, roll, trim_zeros
from jitney.numpy.nan_reductions import squared_magnitude
from jitney.numpy.promotion import (
    array_arguments,
    concrete_or_error,
    convert,
    dtype_of,
    promote_dtypes,
    promote_dtypes_inexact,
    shape_of,
)
from jitney.numpy.ranges import eye, vander
from jitney.numpy.statistics import convolve
from jitney.numpy.ufuncs import constant, sqrt, true_divide
from jitney.numpy.where import where_value

MANY_STEPS = 16  # a longer division is a loop when it runs by itself

# --- values and arithmetic ---------------------------------------------------------------------


@traced_call(static_argnames=("unroll",))
def polyval(p, x, *, unroll=16):
    """The polynomial's value at x, by Horner's rule."""
    p, x = promote_dtypes(*array_arguments("polyval", p, x))
    p, x = convert(p, dtype_of(p)), convert(x, dtype_of(x))
    if len(shape_of(p)) == 1:
        start = lax.full_like(x, 0)
    else:
        start = lax.full(np.broadcast_shapes(shape_of(p)[1:], shape_of(x)), constant(0, x))
    result, _ = lax.scan(lambda y, c: (y * x + c, None), start, p, unroll=unroll)
    return result


@traced_call
def polyadd(a1, a2):
    """Sum of two polynomials."""
    a1, a2 = promote_dtypes(*array_arguments("polyadd", a1, a2))
    longer, shorter = (a1, a2) if shape_of(a2)[0] <= shape_of(a1)[0] else (a2, a1)
    offset = shape_of(longer)[0] - shape_of(shorter)[0]
    return longer.at[offset:].add(shorter) if shape_of(shorter)[0] else longer


@traced_call
def polysub(a1, a2):
    """Difference of two polynomials."""
    a1, a2 = promote_dtypes(*array_arguments("polysub", a1, a2))
    return polyadd(a1, lax.neg(a2))


def polymul(a1, a2, *, trim_leading_zeros=False):
    """Product of two polynomials."""
    a1, a2 = promote_dtypes_inexact(*array_arguments("polymul", a1, a2))
    if trim_leading_zeros and (len(a1) > 1 or len(a2) > 1):
        a1, a2 = trim_zeros(a1, trim="f"), trim_zeros(a2, trim="f")
    if not len(a1):
        a1 = lax.full((1,), constant(0, a2))
    if not len(a2):
        a2 = lax.full((1,), constant(0, a1))
    return convolve(a1, a2, mode="full")


def _divided(u: Any, v: Any) -> tuple[Any, Any]:
    m, n = len(u) - 1, len(v) - 1
    scale = true_divide(constant(1, v), v[0])
    quotient = lax.full((max(m - n + 1, 1),), constant(0, u))
    for k in range(m - n + 1):
        factor = scale * u[k]
        quotient = quotient.at[k].set(factor)
        u = u.at[k:k + n + 1].add(lax.neg(factor) * v)
    return quotient, u


@jit
def _divided_in_a_loop(u: Any, v: Any) -> tuple[Any, Any]:
    """The same, not written out."""
    steps, width = shape_of(u)[0] - shape_of(v)[0] + 1, shape_of(v)[0]
    scale = true_divide(constant(1, v), v[0])

    def step(k, state):
        quotient, u = state
        window = lax.dynamic_slice_in_dim(u, k, width)
        factor = lax.mul(scale, window[0])
        window = window + lax.neg(factor) * v
        quotient = lax.dynamic_update_slice_in_dim(quotient, factor[None], k, 0)
        return quotient, lax.dynamic_update_slice_in_dim(u, window, k, 0)

    quotient = lax.full((steps,), constant(0, u))
    return lax.fori_loop(0, steps, step, (quotient, u))


def polydiv(u, v, *, trim_leading_zeros=False):
    """Quotient and remainder of two polynomials."""
    u, v = promote_dtypes_inexact(*array_arguments("polydiv", u, v))
    m, n = len(u) - 1, len(v) - 1
    if m - n > MANY_STEPS and is_eager(u, v):
        quotient, u = _divided_in_a_loop(u, v)
    else:
        quotient, u = _divided(u, v)
    if trim_leading_zeros:
        return quotient, trim_zeros(u, trim="f")
    return quotient, u


@traced_call(static_argnames=("m",))
def polyder(p, m=1):
    """The m-th derivative."""
    p = array_arguments("polyder", p)
    m = operator.index(concrete_or_error(m, "'m' argument of jnp.polyder"))
    p, = promote_dtypes_inexact(p)
    if m < 0:
        raise ValueError("Order of derivative must be positive")
    if m == 0:
        return p
    count = shape_of(p)[0] - m
    if count <= 0:
        return lax.full((0,), constant(0, p))
    powers = lax.expand_dims(lax.add(constant(m, p), lax.iota(dtype_of(p), count)), (0,))
    steps = lax.expand_dims(lax.iota(dtype_of(p), m), (1,))
    factors = reductions.prod(lax.sub(powers, steps), axis=0)
    return part(p, 0, count) * lax.rev(factors, (0,))


@traced_call(static_argnames=("m",))
def polyint(p, m=1, k=None):
    """The m-th integral, with constants of integration k."""
    m = operator.index(concrete_or_error(m, "'m' argument of jnp.polyint"))
    k = 0 if k is None else k
    p, k = promote_dtypes_inexact(*array_arguments("polyint", p, k))
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    k = atleast_1d(k)
    if len(k) == 1:
        k = broadcast_value(lax.squeeze(k, (0,)), (m,))
    if shape_of(k) != (m,):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    if m == 0:
        return p
    powers = lax.iota(dtype_of(p), shape_of(p)[0] + m)
    steps = lax.iota(dtype_of(p), m)
    differences = lax.sub(lax.expand_dims(powers, (0,)), lax.expand_dims(steps, (1,)))
    factors = reductions.prod(lax.max(constant(1, p), differences), axis=0)
    return true_divide(concatenate([p, k]), lax.rev(factors, (0,)))


# --- roots -------------------------------------------------------------------------------------


def _eigenvalues(matrix: Any) -> Any:
    return lax.linalg.eig(matrix, compute_left_eigenvectors=False,
                      compute_right_eigenvectors=False)[0]


@traced_call
def _roots_no_zeros(p):
    if len(p) < 2:
        return lax.full((0,), 0, dtypes.to_complex_dtype(dtype_of(p)))
    companion = diag(lax.full((len(p) - 2,), constant(1, p)), k=-1)
    companion = companion.at[0, :].set(true_divide(lax.neg(p[1:]), p[0]))
    return _eigenvalues(companion)


@traced_call
def _roots_with_zeros(p, leading):
    p = where_value(lax.eq(leading, np.int32(len(p))), 1, p)
    roots = _roots_no_zeros(roll(p, lax.neg(leading)))
    is_zero = lax.eq(roots, constant(0, roots))
    _, roots = lax.sort((is_zero, roots), num_keys=1)
    inside = lax.iota(np.int32, len(p) - 1) < np.int32(len(p) - 1) - leading
    return where_value(inside, roots, complex(np.nan, np.nan))


def roots(p, *, strip_zeros=True):
    """Roots of a polynomial; NaN in place of missing ones with strip_zeros=False."""
    p = array_arguments("roots", p)
    p, = promote_dtypes_inexact(p)
    p = atleast_1d(p)
    if len(shape_of(p)) != 1:
        raise ValueError("Input must be a rank-1 array.")
    if len(p) < 2:
        return lax.full((0,), 0, dtypes.to_complex_dtype(dtype_of(p)))
    all_zero = reductions.all(lax.eq(p, constant(0, p)))
    leading = where_value(all_zero, len(p), reductions.argmin(lax.eq(p, constant(0, p))))
    if strip_zeros:
        count = int(concrete_or_error(leading, "The error occurred in the jnp.roots() function. "
                                      "To use this within a JIT-compiled context, pass "
                                      "strip_zeros=False, but be aware that leading zeros will "
                                      "result in some returned roots being set to NaN."))
        return _roots_no_zeros(p[count:])
    return _roots_with_zeros(p, convert(leading, np.dtype(np.int32)))


@traced_call
def poly(seq_of_zeros):
    """The polynomial with the given roots (or the characteristic polynomial of a matrix)."""
    seq_of_zeros = array_arguments("poly", seq_of_zeros)
    seq_of_zeros, = promote_dtypes_inexact(seq_of_zeros)
    seq_of_zeros = atleast_1d(seq_of_zeros)
    dims = shape_of(seq_of_zeros)
    if len(dims) == 2 and dims[0] == dims[1] and dims[0]:
        seq_of_zeros = _eigenvalues(seq_of_zeros)
    elif len(dims) != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if not dims[0]:
        return lax.full((), constant(1, seq_of_zeros))
    one = lax.full((1,), constant(1, seq_of_zeros))
    result = one
    for i in range(dims[0]):
        factor = lax.concatenate([one, lax.expand_dims(lax.neg(seq_of_zeros[i]), (0,))], 0)
        result = convolve(result, factor, mode="full")
    return result


# --- fitting -----------------------------------------------------------------------------------


@traced_call(static_argnames=("rcond",))
def _lstsq(a, b, rcond):
    """(solution, residuals, rank, singular values) of a least-squares problem."""
    vector = len(shape_of(b)) == 1
    b = lax.expand_dims(b, (1,)) if vector else b
    u, s, vt = lax.linalg.svd(a, full_matrices=False)
    kept = lax.bitwise_and(lax.gt(s, constant(0, s)), lax.ge(s, constant(rcond, s) * s[0]))
    rank = reductions.sum(kept)
    inverse = where_value(kept, true_divide(constant(1, s), where_value(kept, s, 1)), 0)
    projected = dot(lax.transpose(u, (1, 0)), b)
    x = dot(lax.transpose(vt, (1, 0)), lax.expand_dims(inverse, (1,)) * projected)
    rest = b - dot(a, x)
    residuals = lax.integer_pow(sqrt(reductions.sum(squared_magnitude(rest), axis=0)), 2)
    return (lax.squeeze(x, (1,)) if vector else x), residuals, rank, s


@traced_call(static_argnames=("deg", "rcond", "full", "cov"))
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """Least-squares fit of a polynomial of degree `deg`."""
    x, y = promote_dtypes_inexact(*array_arguments("polyfit", x, y))
    deg = operator.index(concrete_or_error(deg, "deg must be int"))
    order = deg + 1
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if len(shape_of(x)) != 1:
        raise TypeError("expected 1D vector for x")
    if not shape_of(x)[0]:
        raise TypeError("expected non-empty vector for x")
    if len(shape_of(y)) not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if shape_of(x)[0] != shape_of(y)[0]:
        raise TypeError("expected x and y to have same length")
    if rcond is None:
        rcond = shape_of(x)[0] * float(dtypes.finfo(dtype_of(x)).eps)
    left, right = vander(x, order), y
    if w is not None:
        w, = promote_dtypes_inexact(array_arguments("polyfit", w))
        if len(shape_of(w)) != 1:
            raise TypeError("expected a 1-d array for weights")
        if shape_of(w)[0] != shape_of(y)[0]:
            raise TypeError("expected w and y to have the same length")
        left = left * lax.expand_dims(w, (1,))
        right = right * (lax.expand_dims(w, (1,)) if len(shape_of(right)) == 2 else w)
    scale = sqrt(reductions.sum(left * left, axis=0))
    left = left / lax.expand_dims(scale, (0,))
    c, residuals, rank, s = _lstsq(left, right, rcond)
    c = c / (lax.expand_dims(scale, (1,)) if len(shape_of(c)) == 2 else scale)
    if full:
        return c, residuals, rank, s, rcond
    if not cov:
        return c
    base = _inverse(dot(lax.transpose(left, (1, 0)), left)) / outer(scale, scale)
    if cov == "unscaled":
        factor: Any = constant(1, base)
    else:
        if shape_of(x)[0] <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance "
                             "matrix")
        factor = atleast_1d(residuals / constant(shape_of(x)[0] - order, residuals))
    if len(shape_of(y)) == 1:
        return c, base * factor
    return c, lax.expand_dims(base, (2,)) * factor


def _inverse(matrix: Any) -> Any:
    """The inverse of a symmetric positive definite matrix."""
    factor = lax.linalg.cholesky(matrix)
    identity = eye(shape_of(matrix)[0], dtype=dtype_of(matrix))
    half = lax.linalg.triangular_solve(factor, identity, left_side=True, lower=True)
    return dot(lax.transpose(half, (1, 0)), half)
