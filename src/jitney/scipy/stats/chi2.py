"""The chi-square distribution: the gamma distribution of shape df / 2 and scale 2.

In: points and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact
from jitney.scipy.stats import gamma


@inlined
def logpdf(x, df, loc=0, scale=1):
    """log of the density."""
    x, df, loc, scale = promote_args_inexact("chi2.logpdf", x, df, loc, scale)
    return gamma.logpdf(x, df / 2, loc, 2 * scale)


@inlined
def pdf(x, df, loc=0, scale=1):
    """The density."""
    return jnp.exp(logpdf(x, df, loc, scale))


@inlined
def cdf(x, df, loc=0, scale=1):
    """The distribution function."""
    x, df, loc, scale = promote_args_inexact("chi2.cdf", x, df, loc, scale)
    return gamma.cdf(x, df / 2, loc, 2 * scale)


@inlined
def logcdf(x, df, loc=0, scale=1):
    """log cdf."""
    return jnp.log(cdf(x, df, loc, scale))


@inlined
def sf(x, df, loc=0, scale=1):
    """1 - cdf."""
    x, df, loc, scale = promote_args_inexact("chi2.sf", x, df, loc, scale)
    return gamma.sf(x, df / 2, loc, 2 * scale)


@inlined
def logsf(x, df, loc=0, scale=1):
    """log(1 - cdf)."""
    return jnp.log(sf(x, df, loc, scale))
