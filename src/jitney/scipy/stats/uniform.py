"""The uniform distribution on [loc, loc + scale].

In: points and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import numpy as np

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact


@inlined
def logpdf(x, loc=0, scale=1):
    """log of the density; -inf outside."""
    x, loc, scale = promote_args_inexact("uniform.logpdf", x, loc, scale)
    return jnp.where((x < loc) | (x > loc + scale), -np.inf, -jnp.log(scale))


@inlined
def pdf(x, loc=0, scale=1):
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


@inlined
def cdf(x, loc=0, scale=1):
    """The distribution function."""
    x, loc, scale = promote_args_inexact("uniform.cdf", x, loc, scale)
    return jnp.clip((x - loc) / scale, 0, 1)


@inlined
def ppf(q, loc=0, scale=1):
    """The inverse of cdf; NaN outside [0, 1]."""
    q, loc, scale = promote_args_inexact("uniform.ppf", q, loc, scale)
    return jnp.where((q < 0) | (q > 1) | (q != q), np.nan, loc + q * scale)
