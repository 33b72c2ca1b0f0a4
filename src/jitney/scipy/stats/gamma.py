"""The gamma distribution.

In: points and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import numpy as np

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact
from jitney.scipy.special import gammainc, gammaincc, gammaln, xlogy


@inlined
def logpdf(x, a, loc=0, scale=1):
    """log of the density; -inf below loc."""
    x, a, loc, scale = promote_args_inexact("gamma.logpdf", x, a, loc, scale)
    inside = x >= loc
    y = jnp.where(inside, (x - loc) / scale, 1)
    value = xlogy(a - 1, y) - y - (gammaln(a) + jnp.log(scale))
    return jnp.where(inside, value, -np.inf)


@inlined
def pdf(x, a, loc=0, scale=1):
    """The density."""
    return jnp.exp(logpdf(x, a, loc, scale))


@inlined
def cdf(x, a, loc=0, scale=1):
    """The distribution function."""
    x, a, loc, scale = promote_args_inexact("gamma.cdf", x, a, loc, scale)
    return gammainc(a, jnp.clip((x - loc) / scale, 0))


@inlined
def logcdf(x, a, loc=0, scale=1):
    """log cdf."""
    return jnp.log(cdf(x, a, loc, scale))


@inlined
def sf(x, a, loc=0, scale=1):
    """1 - cdf."""
    x, a, loc, scale = promote_args_inexact("gamma.sf", x, a, loc, scale)
    return gammaincc(a, jnp.clip((x - loc) / scale, 0))


@inlined
def logsf(x, a, loc=0, scale=1):
    """log(1 - cdf)."""
    return jnp.log(sf(x, a, loc, scale))
