"""The binomial distribution.

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
    """log of the probability of k."""
    k, n, p, loc = promote_args_inexact("binom.logpmf", k, n, p, loc)
    x = k - loc
    ways = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
    value = ways + xlogy(x, p) + xlog1py(n - x, -p)
    return jnp.where((x >= 0) & (x <= n), value, -np.inf)


@inlined
def pmf(k, n, p, loc=0):
    """The probability of k."""
    return jnp.exp(logpmf(k, n, p, loc))
