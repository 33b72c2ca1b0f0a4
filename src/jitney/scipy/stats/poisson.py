"""The Poisson distribution.

In: counts and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import math

import numpy as np

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact
from jitney.scipy.special import gammaincc, gammaln, xlogy


@inlined
def logpmf(k, mu, loc=0):
    """log of the probability of k."""
    k, mu, loc = promote_args_inexact("poisson.logpmf", k, mu, loc)
    x = k - loc
    value = xlogy(x, mu) - gammaln(x + 1) - mu
    return jnp.where((x < 0) | (x != jnp.floor(x)), -np.inf, value)


@inlined
def pmf(k, mu, loc=0):
    """The probability of k."""
    return jnp.exp(logpmf(k, mu, loc))


@inlined
def cdf(k, mu, loc=0):
    """The distribution function."""
    k, mu, loc = promote_args_inexact("poisson.cdf", k, mu, loc)
    x = jnp.floor(k - loc)
    return jnp.where(x < 0, 0, gammaincc(jnp.maximum(0, x) + 1, mu))


_TERMS = 180
_LARGE = 100.0


@inlined
def entropy(mu, loc=0):
    """-Σ pmf log pmf: the sum for small means, an asymptotic series for large ones."""
    mu, loc = promote_args_inexact("poisson.entropy", mu, loc)
    mu = jnp.asarray(mu) + 0 * loc
    small = jnp.where(mu < _LARGE, mu, 1)
    logs = logpmf(jnp.arange(_TERMS, dtype=mu.dtype), small[..., None])
    total = -jnp.sum(jnp.exp(logs) * jnp.where(logs == -np.inf, 0, logs), axis=-1)
    large = jnp.where(mu < _LARGE, _LARGE, mu)
    inverse = 1 / large
    series = 0.5 * jnp.log(2 * math.pi * math.e * large) - inverse * (
        1 / 12 + inverse * (1 / 24 + inverse * 19 / 360))
    return jnp.where(mu < 0, np.nan, jnp.where(mu < _LARGE, total, series))
