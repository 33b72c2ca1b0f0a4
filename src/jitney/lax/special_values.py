"""NumPy values of special functions, float64 inside: the meaning of what `special` defines.

In: arrays of one floating dtype. Out: the same dtype, rounded once.
Invariant: SciPy is imported when the first value is asked for, not before.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np

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
    out = scipy_special().betainc(a, b, x)
    out = np.where((a == 0) & (b > 0) & (x >= 0) & (x <= 1), 1.0, out)
    out = np.where((b == 0) & (a > 0) & (x >= 0) & (x <= 1), 0.0, out)
    bad = (a < 0) | (b < 0) | (x < 0) | (x > 1) | ((a == 0) & (b == 0))
    return np.where(bad | np.isnan(a + b + x), np.nan, out)


# --- derivatives of the incomplete gamma function with respect to a -----------------------------


def _log_density(a, x):
    """log of x^a e^-x / Γ(a+1)."""
    return a * np.log(x) - x - scipy_special().gammaln(a + 1)


def _series_derivative(a, x):
    """d P(a, x) / da for x ≤ a + 1, from P = density · Σ x^n / ((a+1)…(a+n))."""
    total, term = np.ones_like(x), np.ones_like(x)
    d_total, d_term = np.zeros_like(x), np.zeros_like(x)
    for n in range(1, _TERMS):
        factor = x / (a + n)
        d_term = d_term * factor - term * factor / (a + n)
        term = term * factor
        total, d_total = total + term, d_total + d_term
        if np.all((np.abs(d_term) <= _EPSILON * np.abs(d_total)) | ~np.isfinite(d_total)):
            break
    d_log = np.log(x) - scipy_special().digamma(a + 1)
    return np.exp(_log_density(a, x)) * (d_log * total + d_total)


def _fraction_derivative(a, x):
    """-d Q(a, x) / da for x > a + 1, from the continued fraction of Q and its derivative."""
    y, z = 1.0 - a, x + 2.0 - a
    p2, q2, p1, q1 = np.ones_like(x), x, x + 1, z * x
    dp2, dq2, dp1, dq1 = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x), -x
    ans = p1 / q1
    d_ans = (dp1 - ans * dq1) / q1
    for n in range(1, _TERMS):
        y, z = y + 1, z + 2
        c = y * n
        p, q = p1 * z - p2 * c, q1 * z - q2 * c
        dp = dp1 * z - p1 - dp2 * c + p2 * n
        dq = dq1 * z - q1 - dq2 * c + q2 * n
        new = p / q
        d_new = (dp - new * dq) / q
        settled = np.abs(d_new - d_ans) <= _EPSILON * np.abs(d_new)
        ans, d_ans = new, d_new
        p2, p1, q2, q1 = p1, p, q1, q
        dp2, dp1, dq2, dq1 = dp1, dp, dq1, dq
        scale = np.where(np.abs(p) > 1e150, 1e-150, 1.0)
        p2, p1, q2, q1 = p2 * scale, p1 * scale, q2 * scale, q1 * scale
        dp2, dp1, dq2, dq1 = dp2 * scale, dp1 * scale, dq2 * scale, dq1 * scale
        if np.all(settled | ~np.isfinite(d_new)):
            break
    log_density = a * np.log(x) - x - scipy_special().gammaln(a)
    d_log = np.log(x) - scipy_special().digamma(a)
    return -np.exp(log_density) * (d_log * ans + d_ans)


def _igamma_grad_a(a, x):
    bad = (a <= 0) | (x < 0) | np.isnan(a) | np.isnan(x)
    inner = ~bad & (x > 0) & np.isfinite(x)
    safe_a, safe_x = np.where(inner, a, 1.0), np.where(inner, x, 1.0)
    low = safe_x <= safe_a + 1
    series = _series_derivative(np.where(low, safe_a, 1.0), np.where(low, safe_x, 1.0))
    fraction = _fraction_derivative(np.where(low, 1.0, safe_a), np.where(low, 3.0, safe_x))
    out = np.where(low, series, fraction)
    return np.where(bad, np.nan, np.where(inner, out, 0.0))


@in_float64
def igamma_grad_a(a, x):
    return _igamma_grad_a(a, x)


@in_float64
def random_gamma_grad(a, x):
    log_pdf = (a - 1) * np.log(x) - x - scipy_special().gammaln(a)
    out = -_igamma_grad_a(a, x) / np.exp(log_pdf)
    bad = (a <= 0) | (x < 0) | np.isnan(a) | np.isnan(x)
    return np.where(bad, np.nan, np.where(x == 0, 0.0, out))
