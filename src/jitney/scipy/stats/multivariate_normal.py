"""The multivariate normal distribution.

In: points, means (coordinates along the last axis), covariance matrices. Out: a value a point.
"""

from __future__ import annotations

import math

from jitney import lax
from jitney import numpy as jnp
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_dtypes_inexact


def logpdf(x, mean, cov, allow_singular=None):
    """log of the density at points whose coordinates lie along the last axis."""
    if allow_singular is not None:
        raise NotImplementedError("allow_singular argument of multivariate_normal.logpdf")
    return _logpdf(x, mean, cov)


@inlined
def _logpdf(x, mean, cov):
    x, mean, cov = (jnp.asarray(a) for a in promote_dtypes_inexact(x, mean, cov))
    if not mean.shape:
        return -0.5 * jnp.square(x - mean) / cov - 0.5 * (math.log(2 * math.pi) + jnp.log(cov))
    n = mean.shape[-1]
    if not cov.shape:
        y = x - mean
        return -0.5 * jnp.sum(y * y, axis=-1) / cov - n / 2 * (
            math.log(2 * math.pi) + jnp.log(cov))
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError("multivariate_normal.logpdf got incompatible shapes")
    factor = jnp.linalg.cholesky(cov)
    batch = lax.broadcast_shapes(x.shape[:-1], mean.shape[:-1], cov.shape[:-2])
    y = jnp.broadcast_to(x - mean, (*batch, n))
    factor = jnp.broadcast_to(factor, (*batch, n, n))
    z = lax.linalg.triangular_solve(factor, y[..., None], left_side=True, lower=True)[..., 0]
    logs = jnp.sum(jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)
    return -0.5 * jnp.sum(z * z, axis=-1) - n / 2 * math.log(2 * math.pi) - logs


def pdf(x, mean, cov):
    """The density."""
    return jnp.exp(logpdf(x, mean, cov))
