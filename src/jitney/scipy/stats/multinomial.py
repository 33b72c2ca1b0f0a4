"""The multinomial distribution.

In: counts and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import numpy as np

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact
from jitney.scipy.special import gammaln, xlogy


@inlined
def logpmf(x, n, p):
    """log of the probability of counts x (last axis) that sum to n."""
    x, p = promote_args_inexact("multinomial.logpmf", x, p)
    (n,) = promote_args_inexact("multinomial.logpmf", n)
    value = gammaln(n + 1) + jnp.sum(xlogy(x, p) - gammaln(x + 1), axis=-1)
    return jnp.where(jnp.sum(x, axis=-1) == n, value, -np.inf)


@inlined
def pmf(x, n, p):
    """The probability of counts x."""
    return jnp.exp(logpmf(x, n, p))
