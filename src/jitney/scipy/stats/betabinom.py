"""The beta-binomial distribution.

In: counts and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import numpy as np

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact
from jitney.scipy.special import betaln


@inlined
def logpmf(k, n, a, b, loc=0):
    """log of the probability of k."""
    k, n, a, b, loc = promote_args_inexact("betabinom.logpmf", k, n, a, b, loc)
    x = jnp.floor(k) - loc
    ways = -jnp.log1p(n) - betaln(n - x + 1, x + 1)
    value = ways + betaln(x + a, n - x + b) - betaln(a, b)
    value = jnp.where((x >= 0) & (x <= n), value, -np.inf)
    return jnp.where((n < 0) | (a <= 0) | (b <= 0), np.nan, value)


@inlined
def pmf(k, n, a, b, loc=0):
    """The probability of k."""
    return jnp.exp(logpmf(k, n, a, b, loc))
