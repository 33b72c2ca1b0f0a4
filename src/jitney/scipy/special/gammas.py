"""Gamma and beta functions and their relatives.

In: numbers that become floating. Out: floating arrays.
Invariant: products of gammas are sums of logarithms until the end, so that they do not overflow.
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.custom_derivatives import custom_jvp
from jitney.api.jit import jit
from jitney.base import dtypes, errors
from jitney.core.trace import Tracer
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import dtype_of, promote_args_inexact

# --- gamma -------------------------------------------------------------------------------------


@inlined
def gammaln(x):
    """log |Γ(x)|."""
    (x,) = promote_args_inexact("gammaln", x)
    return lax.lgamma(x)


@inlined
def loggamma(x):
    """log Γ(x): NaN for real x ≤ 0 (where it is complex); the principal branch for complex x."""
    (x,) = promote_args_inexact("loggamma", x)
    x = jnp.asarray(x)
    if dtypes.is_complex(x.dtype):
        return _complex_loggamma(x)
    return jnp.where(x > 0, lax.lgamma(x), jnp.nan)


# B(2k) / (2k (2k - 1)), the coefficients of Stirling's series
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_SHIFT = 8


def _complex_loggamma(z):
    """Stirling's series after shifting Re z to at least 8; reflection for Re z < 0."""
    left = z.real < 0
    w = jnp.where(left, 1 - z, z)
    logs = jnp.zeros_like(w)
    for _ in range(_SHIFT):
        small = w.real < _SHIFT
        logs = logs + jnp.where(small, jnp.log(jnp.where(w == 0, 1, w)), 0)
        w = jnp.where(small, w + 1, w)
    inverse = 1 / w
    square, series = inverse * inverse, _STIRLING[-1]
    for c in _STIRLING[-2::-1]:
        series = series * square + c
    right = (w - 0.5) * jnp.log(w) - w + 0.5 * math.log(2 * math.pi) + series * inverse - logs
    return jnp.where(left, _log_reflection(z) - right, right)


def _log_reflection(z):
    """log π - log sin πz, on the branch that makes log Γ continuous off the negative axis."""
    upper = z.imag >= 0
    w = jnp.where(upper, z, jnp.conj(z))
    # sin πw = exp(-iπw) (1 - exp(2iπw)) i / 2, where exp(2iπw) does not overflow
    rest = jnp.log(-jnp.expm1(2j * math.pi * w))
    log_sine = -1j * math.pi * w + rest + (0.5j * math.pi - math.log(2))
    return math.log(math.pi) - jnp.where(upper, log_sine, jnp.conj(log_sine))


@jit
def gammasgn(x):
    """The sign of Γ(x): NaN at the poles, that of zero at zero."""
    (x,) = promote_args_inexact("gammasgn", x)
    dtype = dtype_of(x)
    below, floor = x < 0, lax.floor(x)
    pole = (below & (x == floor)) | (x != x)
    negative = (below & (floor % 2 != 0)) | ((x == 0) & jnp.signbit(x))
    sign = jnp.where(negative, dtype.type(-1), dtype.type(1))
    return jnp.where(pole, dtype.type(np.nan), sign)


@inlined
def gamma(x):
    """Γ(x)."""
    (x,) = promote_args_inexact("gamma", x)
    return gammasgn(x) * lax.exp(lax.lgamma(x))


@inlined
def digamma(x):
    """The derivative of log Γ."""
    (x,) = promote_args_inexact("digamma", x)
    return lax.digamma(x)


@inlined
def _polygamma(n, x):
    n, x = promote_args_inexact("polygamma", n, x)
    return lax.polygamma(n, x)


def polygamma(n, x):
    """The n-th derivative of digamma, n an integer."""
    if not dtypes.is_integer(dtype_of(n)):
        raise ValueError("Argument `n` to polygamma must be of integer type. Got dtype "
                         f"{dtype_of(n)}.")
    return _polygamma(n, x)


@inlined
def gammainc(a, x):
    """The regularised lower incomplete gamma function."""
    a, x = promote_args_inexact("gammainc", a, x)
    return lax.igamma(a, x)


@inlined
def gammaincc(a, x):
    """The regularised upper incomplete gamma function."""
    a, x = promote_args_inexact("gammaincc", a, x)
    return lax.igammac(a, x)


def multigammaln(a, d):
    """The log of the multivariate gamma function of dimension d."""
    if isinstance(d, Tracer) and d._concrete() is None:
        raise errors.ConcretizationTypeError(d, "d argument of multigammaln")
    return _multigammaln(a, operator.index(d))


@inlined(static_argnums=1)
def _multigammaln(a, d):
    (a,) = promote_args_inexact("multigammaln", a)
    a = jnp.asarray(a)
    constant = 0.25 * d * (d - 1) * math.log(math.pi)
    halves = jnp.arange(d, dtype=a.dtype) / 2
    return jnp.sum(lax.lgamma(a[..., None] - halves), axis=-1) + a.dtype.type(constant)


# --- products of gammas --------------------------------------------------------------------------


def factorial(n, exact=False):
    """Γ(n + 1); 0 for negative n."""
    if exact:
        raise NotImplementedError("factorial with exact=True")
    return _factorial(n)


@inlined
def _factorial(n):
    (n,) = promote_args_inexact("factorial", n)
    return jnp.where(n < 0, 0, lax.exp(lax.lgamma(n + 1)))


def comb(N, k, *, repetition=False):
    """How many ways there are to choose k things of N."""
    return comb(N + k - 1, k) if repetition and not _both_zero(N, k) else _comb(N, k)


def _both_zero(N, k) -> bool:
    return isinstance(N, int) and isinstance(k, int) and N == 0 and k == 0


@inlined
def _comb(N, k):
    N, k = promote_args_inexact("comb", N, k)
    possible = (k <= N) & (N >= 0) & (k >= 0)
    N, k = jnp.where(possible, N, 0.0), jnp.where(possible, k, 0.0)
    logs = lax.lgamma(N + 1.0) - lax.lgamma(k + 1.0) - lax.lgamma(N + 1.0 - k)
    return jnp.where(possible, jnp.exp(logs), 0.0)


@custom_jvp
@inlined
def poch(z, m):
    """The rising factorial Γ(z + m) / Γ(z)."""
    z, m = promote_args_inexact("poch", z, m)
    return jnp.where(m == 0, dtype_of(z).type(1), gamma(z + m) / gamma(z))


def _poch_z(t, answer, z, m):
    return t * (digamma(z + m) - digamma(z)) * answer


def _poch_m(t, answer, z, m):
    return t * digamma(z + m) * answer


poch.defjvps(_poch_z, _poch_m)

# --- beta --------------------------------------------------------------------------------------


@inlined
def betaln(a, b):
    """log |B(a, b)|, without cancellation for large arguments (DiDonato and Morris, 1992)."""
    a, b = promote_args_inexact("betaln", a, b)
    a, b = jnp.minimum(a, b), jnp.maximum(a, b)
    direct = lax.lgamma(a) + (lax.lgamma(b) - lax.lgamma(a + b))
    return jnp.where(b < 8, direct, lax.lgamma(a) + _betaln_large(a, b))


_BERNOULLI_TERMS = (0.833333333333333e-01, -0.277777777760991e-02, 0.793650666825390e-03,
                    -0.595202931351870e-03, 0.837308034031215e-03, -0.165322962780713e-02)


def _betaln_large(a, b):
    """log Γ(b) - log Γ(a + b) for b ≥ 8."""
    h = a / b
    x, c = 1 / (1 + h), h / (1 + h)
    square = x * x
    sums = [1.0]
    for _ in _BERNOULLI_TERMS[1:]:
        sums.append(1 + (x + square * sums[-1]))
    # sums[k] = (1 - x^(2k+1)) / (1 - x)
    t = (1 / b) ** 2
    total = _BERNOULLI_TERMS[5] * sums[5]
    for k in (4, 3, 2, 1):
        total = total * t + _BERNOULLI_TERMS[k] * sums[k]
    w = (total * t + _BERNOULLI_TERMS[0]) * (c / b)
    u, v = (b + (a - 0.5)) * lax.log1p(h), a * (jnp.log(b) - 1)
    return jnp.where(u <= v, (w - v) - u, (w - u) - v)


@inlined
def beta(a, b):
    """B(a, b) = Γ(a) Γ(b) / Γ(a + b)."""
    a, b = promote_args_inexact("beta", a, b)
    sign = gammasgn(a) * gammasgn(b) * gammasgn(a + b)
    return sign * lax.exp(betaln(a, b))


@inlined
def betainc(a, b, x):
    """The regularised incomplete beta function."""
    a, b, x = promote_args_inexact("betainc", a, b, x)
    return lax.betainc(a, b, x)


# --- zeta, Bernoulli numbers ---------------------------------------------------------------------


@inlined
def _hurwitz(x, q):
    x, q = promote_args_inexact("zeta", x, q)
    return lax.zeta(x, q)


def zeta(x, q=None):
    """The Hurwitz zeta function Σ (k + q)⁻ˣ."""
    if q is None:
        raise NotImplementedError("Riemann zeta function not implemented; pass q != None to "
                                  "compute the Hurwitz Zeta function.")
    return _hurwitz(x, q)


def bernoulli(n):
    """The Bernoulli numbers B(0) … B(n), with B(1) = -1/2."""
    n = operator.index(n)
    if n < 0:
        raise ValueError("n must be a non-negative integer.")
    numbers: list[Fraction] = []
    for m in range(n + 1):
        if m > 1 and m % 2:
            numbers.append(Fraction(0))
            continue
        total = sum(math.comb(m + 1, k) * b for k, b in enumerate(numbers))
        numbers.append(-Fraction(total, m + 1) if m else Fraction(1))
    return jnp.array([_as_float(b) for b in numbers], dtypes.canonicalize_dtype(float))


def _as_float(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


__all__ = [
    "bernoulli", "beta", "betainc", "betaln", "comb", "digamma", "factorial", "gamma", "gammainc",
    "gammaincc", "gammaln", "gammasgn", "loggamma", "multigammaln", "poch", "polygamma", "zeta",
]
