"""The beta distribution.

In: points and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import numpy as np

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact
from jitney.scipy.special import betainc, betaln, xlog1py, xlogy


def _inside(x, loc, scale, value, below, above):
    value = jnp.where(x > loc + scale, above, value)
    return jnp.where(x < loc, below, value)


@inlined
def logpdf(x, a, b, loc=0, scale=1):
    """log of the density."""
    x, a, b, loc, scale = promote_args_inexact("beta.logpdf", x, a, b, loc, scale)
    y = (x - loc) / scale
    value = xlogy(a - 1, y) + xlog1py(b - 1, -y) - betaln(a, b) - jnp.log(scale)
    return _inside(x, loc, scale, value, -np.inf, -np.inf)


@inlined
def pdf(x, a, b, loc=0, scale=1):
    """The density."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


@inlined
def cdf(x, a, b, loc=0, scale=1):
    """The distribution function."""
    x, a, b, loc, scale = promote_args_inexact("beta.cdf", x, a, b, loc, scale)
    return betainc(a, b, jnp.clip((x - loc) / scale, 0, 1))


@inlined
def logcdf(x, a, b, loc=0, scale=1):
    """log cdf."""
    return jnp.log(cdf(x, a, b, loc, scale))


@inlined
def sf(x, a, b, loc=0, scale=1):
    """1 - cdf."""
    x, a, b, loc, scale = promote_args_inexact("beta.sf", x, a, b, loc, scale)
    return betainc(b, a, 1 - jnp.clip((x - loc) / scale, 0, 1))


@inlined
def logsf(x, a, b, loc=0, scale=1):
    """log(1 - cdf)."""
    return jnp.log(sf(x, a, b, loc, scale))
