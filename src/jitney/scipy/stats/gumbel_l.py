"""The Gumbel distribution of smallest values.

In: points and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

from jitney import numpy as jnp
from jitney.nn import log1mexp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact


@inlined
def logpdf(x, loc=0, scale=1):
    """log of the density."""
    x, loc, scale = promote_args_inexact("gumbel_l.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return z - jnp.exp(z) - jnp.log(scale)


@inlined
def pdf(x, loc=0, scale=1):
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


@inlined
def logsf(x, loc=0, scale=1):
    """log(1 - cdf)."""
    x, loc, scale = promote_args_inexact("gumbel_l.logsf", x, loc, scale)
    return -jnp.exp((x - loc) / scale)


@inlined
def sf(x, loc=0, scale=1):
    """1 - cdf."""
    return jnp.exp(logsf(x, loc, scale))


@inlined
def cdf(x, loc=0, scale=1):
    """The distribution function."""
    return -jnp.expm1(logsf(x, loc, scale))


@inlined
def logcdf(x, loc=0, scale=1):
    """log cdf."""
    return log1mexp(-logsf(x, loc, scale))


@inlined
def ppf(p, loc=0, scale=1):
    """The inverse of cdf."""
    p, loc, scale = promote_args_inexact("gumbel_l.ppf", p, loc, scale)
    return loc + scale * jnp.log(-jnp.log1p(-p))
