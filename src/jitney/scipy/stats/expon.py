"""The exponential distribution.

In: points and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import numpy as np

from jitney import numpy as jnp
from jitney.nn import log1mexp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact


@inlined
def logpdf(x, loc=0, scale=1):
    """log of the density; -inf below loc."""
    x, loc, scale = promote_args_inexact("expon.logpdf", x, loc, scale)
    value = -((x - loc) / scale) - jnp.log(scale)
    return jnp.where(x < loc, -np.inf, value)


@inlined
def pdf(x, loc=0, scale=1):
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


@inlined
def cdf(x, loc=0, scale=1):
    """The distribution function."""
    x, loc, scale = promote_args_inexact("expon.cdf", x, loc, scale)
    return -jnp.expm1(-jnp.maximum((x - loc) / scale, 0))


@inlined
def logcdf(x, loc=0, scale=1):
    """log cdf."""
    x, loc, scale = promote_args_inexact("expon.logcdf", x, loc, scale)
    z = (x - loc) / scale
    above = z > 0
    return jnp.where(above, log1mexp(jnp.where(above, z, 1)), -np.inf)


@inlined
def sf(x, loc=0, scale=1):
    """1 - cdf."""
    return jnp.exp(logsf(x, loc, scale))


@inlined
def logsf(x, loc=0, scale=1):
    """log(1 - cdf)."""
    x, loc, scale = promote_args_inexact("expon.logsf", x, loc, scale)
    return -jnp.maximum((x - loc) / scale, 0)


@inlined
def ppf(q, loc=0, scale=1):
    """The inverse of cdf; NaN outside [0, 1]."""
    q, loc, scale = promote_args_inexact("expon.ppf", q, loc, scale)
    value = loc - scale * jnp.log1p(-q)
    return jnp.where((q < 0) | (q > 1) | (q != q), np.nan, value)
