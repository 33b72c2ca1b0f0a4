"""The Bernoulli distribution.

In: counts and parameters, broadcast together. Out: values of one floating dtype.
"""

from __future__ import annotations

import numpy as np

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact
from jitney.scipy.special import xlog1py, xlogy


@inlined
def logpmf(k, p, loc=0):
    """log of the probability of k."""
    k, p, loc = promote_args_inexact("bernoulli.logpmf", k, p, loc)
    x = k - loc
    value = xlogy(x, p) + xlog1py(1 - x, -p)
    return jnp.where((x == 0) | (x == 1), value, -np.inf)


@inlined
def pmf(k, p, loc=0):
    """The probability of k."""
    return jnp.exp(logpmf(k, p, loc))


@inlined
def cdf(k, p):
    """The distribution function."""
    k, p = promote_args_inexact("bernoulli.cdf", k, p)
    value = jnp.where(k < 0, 0, jnp.where(k < 1, 1 - p, 1))
    bad = (p != p) | (p < 0) | (p > 1) | (k != k)
    return jnp.where(bad, np.nan, value)


@inlined
def ppf(q, p):
    """The inverse of cdf; NaN outside [0, 1]."""
    q, p = promote_args_inexact("bernoulli.ppf", q, p)
    bad = (q != q) | (q < 0) | (q > 1) | (p != p) | (p < 0) | (p > 1)
    return jnp.where(bad, np.nan, jnp.where(q <= 1 - p, 0, 1).astype(q.dtype))
