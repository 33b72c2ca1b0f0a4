"""Integrals of exponentials, sines and logarithms: E₁, Eₙ, Ei, Si and Ci, Spence's function.

In: numbers that become floating. Out: floating arrays.
Near zero a power series, far away a continued fraction or an asymptotic series, with as many terms
as the dtype can feel; coefficients are computed here, when the module is imported.
Invariant: every term count is fixed, so that a function is one elementwise kernel.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.custom_derivatives import custom_jvp
from jitney.base import dtypes
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import arraylike, dtype_of, promote_args_inexact
from jitney.scipy.special.horner import polynomial

_EULER = 0.57721566490153286061


def _is_double(x) -> bool:
    return dtype_of(x) == np.float64


# --- E₁ and Eₙ -----------------------------------------------------------------------------------


def _fraction(n, x, steps):
    """exp(-x) / (x + n - 1n / (x + n + 2 - 2(n+1) / (x + n + 4 - …))), from the far end."""
    tail = x + n + 2.0 * steps
    for k in range(steps, 0, -1):
        tail = x + n + 2.0 * (k - 1) - k * (n + (k - 1.0)) / tail
    return jnp.exp(-x) / tail


def _near_zero(n, x, terms):
    """(-x)^(n-1) / (n-1)! (ψ(n) - log x) - Σ (-x)^k / ((k - n + 1) k!) without k = n - 1."""
    total, power = jnp.zeros_like(x), jnp.ones_like(x)
    for k in range(terms):
        gap = k - (n - 1)
        total = total + jnp.where(gap == 0, 0, power / jnp.where(gap == 0, 1, gap))
        power = power * -x / (k + 1)
    m = n - 1
    sign = 1 - 2 * (m % 2)
    singular = sign * jnp.exp(jnp.where(m == 0, 0, m * jnp.log(x)) - lax.lgamma(n))
    return singular * (lax.digamma(n) - jnp.log(x)) - total


@custom_jvp
def _expn(n, x):
    double = _is_double(x)
    small = x <= 1
    inside = jnp.where(small & (x > 0), x, 1)
    outside = jnp.where(small, 2, x)
    order = jnp.maximum(n, 1)
    value = jnp.where(small, _near_zero(order, inside, 20 if double else 12),
                      _fraction(order, outside, 90 if double else 20))
    value = jnp.where(n == 0, jnp.exp(-x) / x, value)
    value = jnp.where((x == 0) & (n >= 2), 1 / jnp.where(n == 1, 2, n - 1), value)
    value = jnp.where((x == 0) & (n < 2), np.inf, value)
    return jnp.where((n < 0) | (x < 0), np.nan, value)


_expn.defjvps(None, lambda t, answer, n, x: -t * _expn(n - 1, x))
_expn.__name__ = "expn"


@inlined
def expn(n, x):
    """∫₁^∞ exp(-xt) / tⁿ dt."""
    n, x = promote_args_inexact("expn", n, x)
    return _expn(*jnp.broadcast_arrays(n, x))


@inlined
def exp1(x):
    """E₁(x) = ∫ₓ^∞ exp(-t) / t dt."""
    (x,) = promote_args_inexact("exp1", x)
    return _expn(jnp.ones_like(x), x)


# --- Ei ------------------------------------------------------------------------------------------


def _ei_series(terms: int) -> list[float]:
    return [1 / (k * math.factorial(k)) for k in range(terms, 0, -1)]


def _asymptotic(terms: int) -> list[float]:
    return [float(math.factorial(k)) for k in range(terms, -1, -1)]


@custom_jvp
def _expi(x):
    double = _is_double(x)
    edge, terms, far_terms = (40.0, 115, 38) if double else (18.0, 58, 17)
    below = x < 0
    size = jnp.where(below, -x, jnp.where(x == 0, 1, x))
    inner = jnp.minimum(size, edge)
    near = _EULER + jnp.log(inner) + inner * polynomial(_ei_series(terms), inner)
    outer = jnp.maximum(size, edge)
    far = jnp.exp(outer) / outer * polynomial(_asymptotic(far_terms), 1 / outer)
    positive = jnp.where(size <= edge, near, far)
    value = jnp.where(below, -_expn(jnp.ones_like(x), size), positive)
    return jnp.where(x == 0, -np.inf, jnp.where(x == np.inf, np.inf, value))


_expi.defjvps(lambda t, answer, x: t * jnp.exp(x) / x)
_expi.__name__ = "expi"


@inlined
def expi(x):
    """Ei(x) = -∫₋ₓ^∞ exp(-t) / t dt (principal value)."""
    (x,) = promote_args_inexact("expi", x)
    return _expi(jnp.asarray(x))


# --- Si and Ci -----------------------------------------------------------------------------------


def _si_series(terms: int) -> list[float]:
    return [(-1) ** k / ((2 * k + 1) * math.factorial(2 * k + 1)) for k in range(terms, -1, -1)]


def _ci_series(terms: int) -> list[float]:
    return [(-1) ** k / (2 * k * math.factorial(2 * k)) for k in range(terms, 0, -1)]


def _auxiliary(x, steps):
    """(f, g) with Si = π/2 - f cos x - g sin x: E₁(ix) e^(ix) = -g - i f, by its fraction."""
    real, imag = jnp.full_like(x, 1.0 + 2 * steps), x
    for k in range(steps, 0, -1):
        scale = k * k / (real * real + imag * imag)
        real, imag = (2 * k - 1) - scale * real, x + scale * imag
    size = real * real + imag * imag
    return imag / size, real / size


@custom_jvp
def _sici(x):
    double = _is_double(x)
    size = lax.abs(x)
    inner = jnp.where((size <= 4) & (size > 0), size, 1)
    square = inner * inner
    s_near = inner * polynomial(_si_series(16 if double else 9), square)
    c_near = _EULER + jnp.log(inner) + square * polynomial(_ci_series(16 if double else 9), square)
    outer = jnp.where((size > 4) & (size < np.inf), size, 5)
    f, g = _auxiliary(outer, 48 if double else 14)
    sine, cosine = jnp.sin(outer), jnp.cos(outer)
    s = jnp.where(size <= 4, s_near, math.pi / 2 - f * cosine - g * sine)
    c = jnp.where(size <= 4, c_near, f * sine - g * cosine)
    s = jnp.where(size == 0, 0, jnp.where(size == np.inf, math.pi / 2, s))
    c = jnp.where(size == 0, -np.inf, jnp.where(size == np.inf, 0, c))
    return lax.sign(x) * s, jnp.where(x == -np.inf, np.nan, c)


@_sici.defjvp
def _sici_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return _sici(x), (t * jnp.sinc(x / math.pi), t * jnp.cos(x) / x)


_sici.__name__ = "sici"


@inlined
def sici(x):
    """(Si, Ci): the sine and cosine integrals."""
    (x,) = promote_args_inexact("sici", x)
    if dtypes.is_complex(dtype_of(x)):
        raise ValueError("Argument `x` to sici must be real-valued. Got dtype "
                         f"{dtype_of(x)}.")
    return _sici(jnp.asarray(x))


# --- Spence's function ---------------------------------------------------------------------------


def _bernoulli_over_factorial(terms: int) -> list[float]:
    """B(2k) / (2k + 1)!, highest first."""
    numbers = [Fraction(1)]
    for m in range(1, 2 * terms + 1):
        total = sum(math.comb(m + 1, k) * b for k, b in enumerate(numbers))
        numbers.append(-Fraction(total, m + 1))
    return [float(numbers[2 * k] / math.factorial(2 * k + 1)) for k in range(terms, -1, -1)]


_DILOGARITHM = _bernoulli_over_factorial(10)


def _dilogarithm(u):
    """Li₂(z) with u = -log(1 - z): u - u²/4 + Σ B(2k) u^(2k+1) / (2k+1)!; for |u| ≤ log 2."""
    return u * polynomial(_DILOGARITHM, u * u) - 0.25 * u * u


@inlined
def spence(x):
    """-∫₁ˣ log t / (t - 1) dt = Li₂(1 - x)."""
    x = jnp.asarray(arraylike("spence", x) if not isinstance(x, (list, tuple)) else x)
    if x.dtype not in (np.float32, np.float64):
        raise TypeError(f"x.dtype={x.dtype} is not supported, see docstring for supported types.")
    safe = jnp.where(x > 0, x, 1)
    above = safe > 2
    y = jnp.where(above, 1 / safe, safe)                       # (0, 2]
    low = y < 0.5
    log_y = jnp.log(y)
    # -log(1 - z) is -log y for z = 1 - y, and -log(1 - y) for z = y
    u = jnp.where(low, -lax.log1p(-jnp.where(low, y, 0)), -log_y)
    value = _dilogarithm(u)
    value = jnp.where(low, math.pi ** 2 / 6 - log_y * lax.log1p(-jnp.where(low, y, 0)) - value,
                      value)
    value = jnp.where(above, -0.5 * log_y * log_y - value, value)
    return jnp.where(x < 0, np.nan, jnp.where(x == 0, math.pi ** 2 / 6, value))


__all__ = ["exp1", "expi", "expn", "sici", "spence"]
