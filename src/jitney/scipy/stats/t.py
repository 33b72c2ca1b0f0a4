"""Student's t distribution.

In: points and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import math

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact
from jitney.scipy.special import gammaln


@inlined
def logpdf(x, df, loc=0, scale=1):
    """log of the density."""
    x, df, loc, scale = promote_args_inexact("t.logpdf", x, df, loc, scale)
    z = (x - loc) / scale
    half = (df + 1) / 2
    constant = gammaln(half) - gammaln(df / 2) - 0.5 * jnp.log(df * math.pi) - jnp.log(scale)
    return constant - half * jnp.log1p(z * z / df)


@inlined
def pdf(x, df, loc=0, scale=1):
    """The density."""
    return jnp.exp(logpdf(x, df, loc, scale))
