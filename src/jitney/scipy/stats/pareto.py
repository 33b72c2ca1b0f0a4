"""The Pareto distribution.

In: points and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import numpy as np

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact


@inlined
def logpdf(x, b, loc=0, scale=1):
    """log of the density; -inf below loc + scale."""
    x, b, loc, scale = promote_args_inexact("pareto.logpdf", x, b, loc, scale)
    inside = x >= loc + scale
    z = jnp.where(inside, (x - loc) / scale, 1)
    return jnp.where(inside, jnp.log(b / scale) - (b + 1) * jnp.log(z), -np.inf)


@inlined
def pdf(x, b, loc=0, scale=1):
    """The density."""
    return jnp.exp(logpdf(x, b, loc, scale))


@inlined
def logsf(x, b, loc=0, scale=1):
    """log(1 - cdf)."""
    x, b, loc, scale = promote_args_inexact("pareto.logsf", x, b, loc, scale)
    inside = x >= loc + scale
    z = jnp.where(inside, (x - loc) / scale, 1)
    return jnp.where(inside, -b * jnp.log(z), 0)


@inlined
def sf(x, b, loc=0, scale=1):
    """1 - cdf."""
    return jnp.exp(logsf(x, b, loc, scale))


@inlined
def cdf(x, b, loc=0, scale=1):
    """The distribution function."""
    return -jnp.expm1(logsf(x, b, loc, scale))


@inlined
def logcdf(x, b, loc=0, scale=1):
    """log cdf."""
    return jnp.log(cdf(x, b, loc, scale))


@inlined
def ppf(q, b, loc=0, scale=1):
    """The inverse of cdf; NaN outside [0, 1]."""
    q, b, loc, scale = promote_args_inexact("pareto.ppf", q, b, loc, scale)
    value = loc + scale * jnp.exp(-jnp.log1p(-q) / b)
    return jnp.where((q < 0) | (q > 1) | (q != q), np.nan, value)
