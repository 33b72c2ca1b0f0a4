"""The wrapped Cauchy distribution on [0, 2π].

In: points and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import math

import numpy as np

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact


@inlined
def logpdf(x, c):
    """log of the density; -inf outside, NaN unless 0 < c < 1."""
    x, c = promote_args_inexact("wrapcauchy.logpdf", x, c)
    value = jnp.log(1 - c * c) - math.log(2 * math.pi) - jnp.log(1 + c * c - 2 * c * jnp.cos(x))
    value = jnp.where((x >= 0) & (x <= 2 * math.pi), value, -np.inf)
    return jnp.where((c > 0) & (c < 1), value, np.nan)


@inlined
def pdf(x, c):
    """The density."""
    return jnp.exp(logpdf(x, c))
