"""The Dirichlet distribution.

In: points (coordinates along the first axis) and concentrations. Out: one value a point.
"""

from __future__ import annotations

import numpy as np

from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_dtypes_inexact
from jitney.scipy.special import gammaln, xlogy


@inlined
def logpdf(x, alpha):
    """log of the density at points of the simplex, whose coordinates lie along the first axis.

    The last coordinate may be left out. -inf off the simplex.
    """
    x, alpha = (jnp.asarray(v) for v in promote_dtypes_inexact(x, alpha))
    if alpha.ndim != 1:
        raise ValueError("`alpha` must be one-dimensional; got alpha.shape="
                         f"{alpha.shape}")
    if x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError("`x` must have either the same number of entries as `alpha` or one entry "
                         f"fewer; got x.shape={x.shape}, alpha.shape={alpha.shape}")
    if x.shape[0] != alpha.shape[0]:
        x = jnp.concatenate([x, 1 - jnp.sum(x, axis=0, keepdims=True)])
    weights = alpha.reshape(alpha.shape + (1,) * (x.ndim - 1))
    constant = jnp.sum(gammaln(alpha)) - gammaln(jnp.sum(alpha))
    value = jnp.sum(xlogy(weights - 1, x), axis=0) - constant
    on = jnp.all((x >= 0) & (x <= 1), axis=0) & (jnp.abs(jnp.sum(x, axis=0) - 1) < 1e-6)
    return jnp.where(on, value, -np.inf)


@inlined
def pdf(x, alpha):
    """The density."""
    return jnp.exp(logpdf(x, alpha))
