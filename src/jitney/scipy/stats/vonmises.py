"""The von Mises distribution.

In: points and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import math

import numpy as np

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact
from jitney.scipy.special import i0e


@inlined
def logpdf(x, kappa):
    """log of the density; NaN unless kappa > 0."""
    x, kappa = promote_args_inexact("vonmises.logpdf", x, kappa)
    value = kappa * (jnp.cos(x) - 1) - jnp.log(2 * math.pi * i0e(kappa))
    return jnp.where(kappa > 0, value, np.nan)


@inlined
def pdf(x, kappa):
    """The density."""
    return jnp.exp(logpdf(x, kappa))
