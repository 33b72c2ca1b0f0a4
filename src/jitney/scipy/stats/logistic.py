"""The logistic distribution.

In: points and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact
from jitney.scipy.special import expit, logit


@inlined
def logpdf(x, loc=0, scale=1):
    """log of the density."""
    x, loc, scale = promote_args_inexact("logistic.logpdf", x, loc, scale)
    half = (x - loc) / scale / 2
    return -2 * jnp.logaddexp(half, -half) - jnp.log(scale)


@inlined
def pdf(x, loc=0, scale=1):
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


@inlined
def cdf(x, loc=0, scale=1):
    """The distribution function."""
    x, loc, scale = promote_args_inexact("logistic.cdf", x, loc, scale)
    return expit((x - loc) / scale)


@inlined
def sf(x, loc=0, scale=1):
    """1 - cdf."""
    x, loc, scale = promote_args_inexact("logistic.sf", x, loc, scale)
    return expit(-((x - loc) / scale))


@inlined
def ppf(x, loc=0, scale=1):
    """The inverse of cdf."""
    x, loc, scale = promote_args_inexact("logistic.ppf", x, loc, scale)
    return logit(x) * scale + loc


@inlined
def isf(x, loc=0, scale=1):
    """The inverse of sf."""
    x, loc, scale = promote_args_inexact("logistic.isf", x, loc, scale)
    return -logit(x) * scale + loc
