"""The Laplace distribution.

In: points and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact


@inlined
def logpdf(x, loc=0, scale=1):
    """log of the density."""
    x, loc, scale = promote_args_inexact("laplace.logpdf", x, loc, scale)
    return -jnp.abs((x - loc) / scale) - jnp.log(2 * scale)


@inlined
def pdf(x, loc=0, scale=1):
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


@inlined
def cdf(x, loc=0, scale=1):
    """The distribution function."""
    x, loc, scale = promote_args_inexact("laplace.cdf", x, loc, scale)
    z = (x - loc) / scale
    tail = 0.5 * jnp.exp(-jnp.abs(z))
    return jnp.where(z <= 0, tail, 1 - tail)
