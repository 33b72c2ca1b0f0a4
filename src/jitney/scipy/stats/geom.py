"""The geometric distribution on 1, 2, 3, …

In: counts and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import numpy as np

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact
from jitney.scipy.special import xlog1py


@inlined
def logpmf(k, p, loc=0):
    """log of the probability that the first success is the k-th trial."""
    k, p, loc = promote_args_inexact("geom.logpmf", k, p, loc)
    x = k - loc
    return jnp.where(x <= 0, -np.inf, xlog1py(x - 1, -p) + jnp.log(p))


@inlined
def pmf(k, p, loc=0):
    """The probability of k."""
    return jnp.exp(logpmf(k, p, loc))
