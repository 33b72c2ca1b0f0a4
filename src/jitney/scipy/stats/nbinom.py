"""The negative binomial distribution.

In: counts and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import numpy as np

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact
from jitney.scipy.special import gammaln, xlog1py, xlogy


@inlined
def logpmf(k, n, p, loc=0):
    """log of the probability of k failures before n successes."""
    k, n, p, loc = promote_args_inexact("nbinom.logpmf", k, n, p, loc)
    x = k - loc
    ways = gammaln(x + n) - gammaln(n) - gammaln(x + 1)
    value = ways + xlogy(n, p) + xlog1py(x, -p)
    return jnp.where(x < 0, -np.inf, value)


@inlined
def pmf(k, n, p, loc=0):
    """The probability of k."""
    return jnp.exp(logpmf(k, n, p, loc))
