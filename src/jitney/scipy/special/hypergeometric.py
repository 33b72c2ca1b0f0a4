"""Hypergeometric functions and spherical harmonics.

In: numbers that become floating. Out: floating (harmonics: complex) arrays.
Invariant: series stop when a term no longer counts, in every element.
"""

from __future__ import annotations

import math

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.custom_derivatives import custom_jvp
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.numpy.promotion import concrete_or_error, promote_args_inexact
from jitney.scipy.special.gammas import gamma

_MOST_TERMS = 250


def _series(ratio, first, dtype):
    """1 + first + …, each term `ratio(k)` times the one before."""
    epsilon = dtypes.finfo(dtype).eps

    def going(state):
        total, k, term = state
        return (k < _MOST_TERMS) & jnp.any(lax.abs(term) > epsilon * lax.abs(total))

    def body(state):
        total, k, term = state
        counts = lax.abs(term) > epsilon * lax.abs(total)
        total = jnp.where(counts, total + term, total)
        return total, k + 1, jnp.where(counts, term * ratio(k.astype(dtype)), 0)

    return lax.while_loop(going, body, (jnp.ones_like(first), jnp.int32(1), first))[0]


# --- ₁F₁ -----------------------------------------------------------------------------------------


@custom_jvp
def _hyp1f1(a, b, x):
    small = lax.abs(x) < 100
    near_x = jnp.where(small, x, 1)
    near = _series(lambda k: (a + k) / (b + k) * near_x / (k + 1), a / b * near_x, x.dtype)
    far_x = jnp.where(small, 100, x)
    far = _series(lambda k: (b - a + k) * (1 - a + k) / (k + 1) / far_x,
                  (b - a) * (1 - a) / far_x, x.dtype)
    far = gamma(b) / gamma(a) * jnp.exp(far_x) * far_x ** (a - b) * far
    value = jnp.where(small, near, far)
    value = jnp.where((b == 0) & (a != 0), np.inf, value)
    value = jnp.where((a == b) & (a != 0), jnp.exp(x), value)
    return jnp.where(a == 0, 1, value)


@_hyp1f1.defjvp
def _hyp1f1_jvp(primals, tangents):
    (a, b, x), (_, _, t) = primals, tangents
    return _hyp1f1(a, b, x), t * a / b * _hyp1f1(a + 1, b + 1, x)


def hyp1f1(a, b, x):
    """Kummer's confluent hypergeometric function ₁F₁(a; b; x); differentiable in x."""
    a, b, x = promote_args_inexact("hyp1f1", a, b, x)
    return _hyp1f1(*jnp.broadcast_arrays(a, b, x))


# --- ₂F₁ -----------------------------------------------------------------------------------------


@custom_jvp
def _hyp2f1(a, b, c, x):
    """The power series, at x or at x / (x - 1), whichever is nearer to zero."""
    turned = x < 0
    y = jnp.where(turned, x / (x - 1), x)
    upper = jnp.where(turned, c - b, b)
    inner = jnp.where(y < 1, y, 0)
    value = _series(lambda k: (a + k) * (upper + k) / (c + k) * inner / (k + 1),
                    a * upper / c * inner, x.dtype)
    value = jnp.where(turned, (1 - jnp.where(turned, x, 0)) ** -a * value, value)
    at_one = gamma(c) * gamma(c - a - b) / (gamma(c - a) * gamma(c - b))
    value = jnp.where(x == 1, jnp.where(c - a - b > 0, at_one, np.inf), value)
    value = jnp.where(x > 1, np.nan, value)
    return jnp.where((x == 0) | (a == 0) | (b == 0), 1, value)


@_hyp2f1.defjvp
def _hyp2f1_jvp(primals, tangents):
    (a, b, c, x), t = primals, tangents[3]
    return _hyp2f1(a, b, c, x), t * a * b / c * _hyp2f1(a + 1, b + 1, c + 1, x)


def hyp2f1(a, b, c, x):
    """The Gaussian hypergeometric function ₂F₁(a, b; c; x) for x ≤ 1; differentiable in x."""
    a, b, c, x = promote_args_inexact("hyp2f1", a, b, c, x)
    return _hyp2f1(*jnp.broadcast_arrays(a, b, c, x))


# --- spherical harmonics -------------------------------------------------------------------------


def sph_harm_y(n, m, theta, phi, diff_n=None, n_max=None):
    """Spherical harmonics of degree n and order m at the polar angle theta and the azimuth phi."""
    if diff_n is not None:
        raise NotImplementedError("The diff_n argument of sph_harm_y is not supported")
    if n_max is None:
        n_max = int(np.max(concrete_or_error(
            n, "The `n_max` argument of `jnp.scipy.special.sph_harm` must be statically specified "
            "to use `sph_harm` within JAX transformations.")))
    n, m, theta, phi = (jnp.atleast_1d(x) for x in (n, m, theta, phi))
    return _sph_harm_y(n, m, theta, phi, int(n_max))


@jit(static_argnums=4)
def _sph_harm_y(n, m, theta, phi, n_max):
    cosine, order = jnp.cos(theta), jnp.abs(m)
    legendre = _normalised_legendre(n, order, cosine, n_max)
    angle = m * phi
    value = legendre * lax.complex(jnp.cos(angle), jnp.sin(angle))
    return jnp.where(m < 0, (1.0 - 2.0 * (order % 2)) * value, value)


def _normalised_legendre(n, m, x, n_max):
    """The associated Legendre function with the harmonics' factor, by recurrences in m then n."""
    sine = jnp.sqrt(jnp.maximum(1 - x * x, 0))
    result = jnp.zeros(jnp.broadcast_shapes(n.shape, m.shape, x.shape), x.dtype)
    diagonal = jnp.full_like(x, math.sqrt(1 / (4 * math.pi)))
    for order in range(n_max + 1):
        before, current = jnp.zeros_like(x), diagonal
        for degree in range(order, n_max + 1):
            result = jnp.where((n == degree) & (m == order), current, result)
            up = degree + 1
            a = math.sqrt((4 * up * up - 1) / (up * up - order * order))
            b = math.sqrt(((up - 1) ** 2 - order * order) / (4 * (up - 1) ** 2 - 1))
            before, current = current, a * (x * current - b * before)
        diagonal = -math.sqrt((2 * order + 3) / (2 * order + 2)) * sine * diagonal
    return result


__all__ = ["hyp1f1", "hyp2f1", "sph_harm_y"]
