"""The normal distribution.

In: points and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import math

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact
from jitney.scipy.special import log_ndtr, ndtr, ndtri


@inlined
def logpdf(x, loc=0, scale=1):
    """log of the density."""
    x, loc, scale = promote_args_inexact("norm.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return -0.5 * (z * z) - (0.5 * math.log(2 * math.pi) + jnp.log(scale))


@inlined
def pdf(x, loc=0, scale=1):
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


@inlined
def cdf(x, loc=0, scale=1):
    """The distribution function."""
    x, loc, scale = promote_args_inexact("norm.cdf", x, loc, scale)
    return ndtr((x - loc) / scale)


@inlined
def logcdf(x, loc=0, scale=1):
    """log cdf, accurate in the lower tail."""
    x, loc, scale = promote_args_inexact("norm.logcdf", x, loc, scale)
    return log_ndtr((x - loc) / scale)


@inlined
def sf(x, loc=0, scale=1):
    """1 - cdf."""
    x, loc, scale = promote_args_inexact("norm.sf", x, loc, scale)
    return cdf(-x, -loc, scale)


@inlined
def logsf(x, loc=0, scale=1):
    """log(1 - cdf)."""
    x, loc, scale = promote_args_inexact("norm.logsf", x, loc, scale)
    return logcdf(-x, -loc, scale)


@inlined
def ppf(q, loc=0, scale=1):
    """The inverse of cdf."""
    q, loc, scale = promote_args_inexact("norm.ppf", q, loc, scale)
    return ndtri(q) * scale + loc


@inlined
def isf(q, loc=0, scale=1):
    """The inverse of sf."""
    q, loc, scale = promote_args_inexact("norm.isf", q, loc, scale)
    return -ndtri(q) * scale + loc
