"""The normal distribution cut at a and b (in standard deviations).

In: points and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import math

import numpy as np

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact
from jitney.scipy.special import log_ndtr, ndtr


def _log_mass(a, b):
    """log of the normal probability of (a, b), from the tail they are nearer to."""
    right = a > 0
    low, high = jnp.where(right, -b, a), jnp.where(right, -a, b)
    outer = _log_difference(log_ndtr(high), log_ndtr(low))
    # around zero: 1 minus both tails
    inner = jnp.log1p(-ndtr(a) - ndtr(-b))
    return jnp.where((a <= 0) & (b > 0), inner, outer)


def _log_difference(larger, smaller):
    return larger + jnp.log1p(-jnp.exp(jnp.minimum(smaller - larger, 0)))


@inlined
def logpdf(x, a, b, loc=0, scale=1):
    """log of the density; -inf outside."""
    x, a, b, loc, scale = promote_args_inexact("truncnorm.logpdf", x, a, b, loc, scale)
    z = (x - loc) / scale
    value = -0.5 * z * z - 0.5 * math.log(2 * math.pi) - jnp.log(scale) - _log_mass(a, b)
    value = jnp.where((z < a) | (z > b), -np.inf, value)
    return jnp.where(a >= b, np.nan, value)


@inlined
def pdf(x, a, b, loc=0, scale=1):
    """The density."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


@inlined
def logcdf(x, a, b, loc=0, scale=1):
    """log cdf."""
    x, a, b, loc, scale = promote_args_inexact("truncnorm.logcdf", x, a, b, loc, scale)
    x, a, b = jnp.broadcast_arrays((x - loc) / scale, a, b)
    inside = jnp.clip(x, a, b)
    value = _log_mass(a, inside) - _log_mass(a, b)
    value = jnp.where(x <= a, -np.inf, jnp.where(x >= b, 0, value))
    return jnp.where(a >= b, np.nan, value)


@inlined
def cdf(x, a, b, loc=0, scale=1):
    """The distribution function."""
    return jnp.exp(logcdf(x, a, b, loc, scale))


@inlined
def logsf(x, a, b, loc=0, scale=1):
    """log(1 - cdf)."""
    x, a, b, loc, scale = promote_args_inexact("truncnorm.logsf", x, a, b, loc, scale)
    return logcdf(-x, -b, -a, -loc, scale)


@inlined
def sf(x, a, b, loc=0, scale=1):
    """1 - cdf."""
    return jnp.exp(logsf(x, a, b, loc, scale))
