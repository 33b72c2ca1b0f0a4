"""The Cauchy distribution.

In: points and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import math

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact


@inlined
def logpdf(x, loc=0, scale=1):
    """log of the density."""
    x, loc, scale = promote_args_inexact("cauchy.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return -(math.log(math.pi) + jnp.log(scale) + jnp.log1p(z * z))


@inlined
def pdf(x, loc=0, scale=1):
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


@inlined
def cdf(x, loc=0, scale=1):
    """The distribution function."""
    x, loc, scale = promote_args_inexact("cauchy.cdf", x, loc, scale)
    # arctan2 keeps the digits of the lower tail that ½ + arctan(z) / π loses
    return jnp.arctan2(scale, loc - x) / math.pi


@inlined
def logcdf(x, loc=0, scale=1):
    """log cdf."""
    return jnp.log(cdf(x, loc, scale))


@inlined
def sf(x, loc=0, scale=1):
    """1 - cdf."""
    x, loc, scale = promote_args_inexact("cauchy.sf", x, loc, scale)
    return cdf(-x, -loc, scale)


@inlined
def logsf(x, loc=0, scale=1):
    """log(1 - cdf)."""
    return jnp.log(sf(x, loc, scale))


@inlined
def ppf(q, loc=0, scale=1):
    """The inverse of cdf."""
    q, loc, scale = promote_args_inexact("cauchy.ppf", q, loc, scale)
    return scale * jnp.tan(math.pi * q - math.pi / 2) + loc


@inlined
def isf(q, loc=0, scale=1):
    """The inverse of sf."""
    q, loc, scale = promote_args_inexact("cauchy.isf", q, loc, scale)
    return scale * jnp.tan(math.pi / 2 - math.pi * q) + loc
