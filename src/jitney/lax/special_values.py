"""NumPy values of special functions, float64 inside: the meaning of what `special` defines.

In: arrays of one floating dtype. Out: the same dtype, rounded once.
Invariant: SciPy is imported when the first value is asked for, not before.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np

from .by_threads import by_threads

_TERMS = 2000
_EPSILON = 2.0**-53


def scipy_special():
    """`scipy.special`, imported when needed (it costs a third of a second)."""
    return importlib.import_module("scipy.special")


def in_float64(function: Callable) -> Callable:
    """A reference computing in float64."""

    def reference(*args, **params):
        dtype = args[0].dtype
        args = np.broadcast_arrays(*[a.astype(np.float64) for a in args])
        return np.asarray(function(*args, **params)).astype(dtype)

    return reference


@in_float64
def lgamma(x):
    return scipy_special().gammaln(x)


@in_float64
def digamma(x):
    pole = (x <= 0) & (x == np.floor(x))
    return np.where(pole, np.nan, scipy_special().digamma(x))


@in_float64
def erf(x):
    return scipy_special().erf(x)


@in_float64
def erfc(x):
    return scipy_special().erfc(x)


@in_float64
def erf_inv(x):
    return np.where(x == 0, x, scipy_special().erfinv(x))


@in_float64
def bessel_i0e(x):
    return scipy_special().i0e(x)


@in_float64
def bessel_i1e(x):
    return np.where(x == 0, x, scipy_special().i1e(x))


@in_float64
def igamma(a, x):
    bad = (a < 0) | (x < 0) | ((a == 0) & (x == 0))
    return np.where(bad, np.nan, scipy_special().gammainc(a, x))


@in_float64
def igammac(a, x):
    bad = (a < 0) | (x < 0) | ((a == 0) & (x == 0))
    return np.where(bad, np.nan, scipy_special().gammaincc(a, x))


@in_float64
def zeta(x, q):
    out = scipy_special().zeta(x, q)
    pole = (q <= 0) & (q == np.floor(q))
    out = np.where(pole, np.where(x % 2 == 0, np.inf, np.nan), out)
    return np.where(x < 1, np.nan, np.where(x == 1, np.inf, out))


@in_float64
def polygamma(m, x):
    special = scipy_special()
    out = np.where(m % 2 == 0, -1.0, 1.0) * np.exp(special.gammaln(m + 1)) * special.zeta(m + 1, x)
    out = np.where(m == 0, special.digamma(x), out)
    return np.where((m < 0) | (m != np.floor(m)), np.nan, out)


@in_float64
def betainc(a, b, x):
    out = by_threads(scipy_special().betainc, a, b, x)
    out = np.where((a == 0) & (b > 0) & (x >= 0) & (x <= 1), 1.0, out)
    out = np.where((b == 0) & (a > 0) & (x >= 0) & (x <= 1), 0.0, out)
    bad = (a < 0) | (b < 0) | (x < 0) | (x > 1) | ((a == 0) & (b == 0))
    return np.where(bad | np.isnan(a + b + x), np.nan, out)


# --- derivatives of the incomplete gamma function with respect to a -----------------------------
#
# As a factor times e^exponent: where the exponential underflows, the factor is still a number.


def _slope_by_series(a, x):
    """d P(a, x) / da for x ≤ a + 1, from P = x^a e^-x / Γ(a+1) · Σ x^n / ((a+1)…(a+n))."""
    total, term = np.ones_like(x), np.ones_like(x)
    d_total, d_term = np.zeros_like(x), np.zeros_like(x)
    for n in range(1, _most_terms(a)):
        factor = x / (a + n)
        d_term = d_term * factor - term * factor / (a + n)
        term = term * factor
        total, d_total = total + term, d_total + d_term
        if np.all((np.abs(d_term) <= _EPSILON * np.abs(d_total)) | ~np.isfinite(d_total)):
            break
    special = scipy_special()
    d_log = np.log(x) - special.digamma(a + 1)
    return d_log * total + d_total, a * np.log(x) - x - special.gammaln(a + 1)


def _slope_by_fraction(a, x):
    """-d Q(a, x) / da for x > a + 1, from Q = x^a e^-x / Γ(a) times a continued fraction."""
    y, z = 1.0 - a, x + 2.0 - a
    p2, q2, p1, q1 = np.ones_like(x), x, x + 1, z * x
    dp2, dq2, dp1, dq1 = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x), -x
    ans = p1 / q1
    d_ans = (dp1 - ans * dq1) / q1
    done = np.zeros(x.shape, bool)
    for n in range(1, _most_terms(a)):
        y, z = y + 1, z + 2
        c = y * n
        p, q = p1 * z - p2 * c, q1 * z - q2 * c
        dp = dp1 * z - p1 - dp2 * c + p2 * n
        dq = dq1 * z - q1 - dq2 * c + q2 * n
        new = p / q
        d_new = (dp - new * dq) / q
        settled = np.abs(d_new - d_ans) <= _EPSILON * np.abs(d_new)
        ans, d_ans = np.where(done, ans, new), np.where(done, d_ans, d_new)
        done |= settled | ~np.isfinite(d_new)
        if np.all(done):
            break
        scale = np.where(np.abs(p) > 1e150, 1e-150, 1.0)
        p2, p1, q2, q1 = p1 * scale, p * scale, q1 * scale, q * scale
        dp2, dp1, dq2, dq1 = dp1 * scale, dp * scale, dq1 * scale, dq * scale
    special = scipy_special()
    d_log = np.log(x) - special.digamma(a)
    return -(d_log * ans + d_ans), a * np.log(x) - x - special.gammaln(a)


def _most_terms(a) -> int:
    """More than either converges in: the terms fall as those of a Gaussian of width √a."""
    return 2000 + int(20 * np.sqrt(np.max(a, initial=0.0)))


def _slope(a, x):
    """Factor and exponent of d P / da, whether x ≤ a + 1, and where a and x are inside."""
    inner = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    safe_a, safe_x = np.where(inner, a, 1.0), np.where(inner, x, 1.0)
    low = safe_x <= safe_a + 1
    series = _slope_by_series(np.where(low, safe_a, 1.0), np.where(low, safe_x, 1.0))
    fraction = _slope_by_fraction(np.where(low, 1.0, safe_a), np.where(low, 3.0, safe_x))
    factor, exponent = (np.where(low, *both) for both in zip(series, fraction, strict=True))
    return factor, exponent, low, inner


def _is_outside(a, x):
    return ~(a > 0) | ~(x >= 0) | np.isinf(a)


@in_float64
def igamma_grad_a(a, x):
    factor, exponent, _, inner = _slope(a, x)
    out = np.where(inner, factor * np.exp(exponent), 0.0)
    return np.where(_is_outside(a, x), np.nan, out)


@in_float64
def random_gamma_grad(a, x):
    """-dP/da over the density x^(a-1) e^-x / Γ(a), whose exponentials cancel."""
    factor, _, low, inner = _slope(a, x)
    out = -factor * np.where(low, x / np.where(a == 0, 1.0, a), x)
    return np.where(_is_outside(a, x) | np.isinf(x), np.nan, np.where(inner, out, 0.0))
