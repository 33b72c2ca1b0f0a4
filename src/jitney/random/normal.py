"""Normal random numbers and their relatives.

In: a key, parameters, a shape, a dtype. Out: an array.
A normal number is √2 erf⁻¹(u) with u uniform in (-1, 1).
Invariant: one jitted call a draw.
"""

from __future__ import annotations

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.lax.out_sharding import check_out_sharding
from jitney.lax.shape import shape_of
from jitney.lax.special import published_erf_inv
from jitney.numpy.jitted import inlined
from jitney.random.arguments import (
    aligned,
    as_dtype,
    float_dtype,
    given_shape,
    inexact_dtype,
    one_key,
    sample_shape,
    split_keys,
    spread,
)
from jitney.random.uniform import rademacher, uniform

_REAL_OF = {np.dtype(np.complex64): np.dtype(np.float32),
            np.dtype(np.complex128): np.dtype(np.float64)}


def normal(key, shape=(), dtype=None, *, out_sharding=None):
    """Standard normal random numbers; complex ones have variance 1 in all.

    >>> normal(jitney.random.key(0))
    Array(1.6226422, dtype=float32)
    """
    check_out_sharding("normal", out_sharding)
    key = one_key("normal", key)
    dtype = inexact_dtype("normal", dtype)
    return _normal(key, given_shape(shape), dtype)


@jit(static_argnums=(1, 2))
def _normal(key, shape, dtype):
    if not dtypes.is_complex(dtype):
        return _normal_real(key, shape, dtype)
    real, imag = (as_dtype(_normal_real(k, shape, _REAL_OF[dtype]), dtype)
                  for k in split_keys(key))
    root = np.sqrt(2).astype(dtype)[()]
    return lax.div(lax.add(real, lax.mul(dtype.type(1j), imag)), root)


@jit(static_argnums=(1, 2))
def _normal_real(key, shape, dtype):
    low = np.nextafter(np.array(-1, dtype), np.array(0, dtype), dtype=dtype)[()]
    drawn = uniform(key, shape, dtype, low, dtype.type(1))
    return lax.mul(np.array(np.sqrt(2), dtype)[()], published_erf_inv(drawn))


# --- truncated ---------------------------------------------------------------------------------


def truncated_normal(key, lower, upper, shape=None, dtype=None, *, out_sharding=None):
    """Standard normal random numbers, given that they fall in (lower, upper)."""
    check_out_sharding("truncated_normal", out_sharding)
    key = one_key("truncated_normal", key)
    dtype = float_dtype("truncated_normal", dtype)
    shape = sample_shape("truncated_normal", shape, lower, upper)
    return _truncated_normal(key, lower, upper, shape, dtype)


@jit(static_argnums=(3, 4))
def _truncated_normal(key, lower, upper, shape, dtype):
    lower, upper = as_dtype(lower, dtype), as_dtype(upper, dtype)
    root = np.array(np.sqrt(2), dtype)[()]
    ends = [lax.erf(lax.div(x, root)) for x in (lower, upper)]
    drawn = lax.mul(root, published_erf_inv(uniform(key, shape, dtype, *ends)))
    inf = np.array(np.inf, dtype)[()]
    # erf rounds, so that a draw can fall on an end or outside
    return jnp.clip(drawn, _next(lower, inf), _next(upper, -inf))


def _next(x, towards):
    """The neighbour of `x` in the direction of `towards`, without derivative."""
    x = lax.stop_gradient(x)
    return lax.nextafter(x, lax.full_like(x, towards) if shape_of(x) else towards)


# --- functions of normal numbers ---------------------------------------------------------------


_ONE = np.float32(1)


def lognormal(key, sigma=_ONE, shape=None, dtype=None, *, out_sharding=None):
    """exp(sigma z) with z standard normal."""
    check_out_sharding("lognormal", out_sharding)
    key = one_key("lognormal", key)
    dtype = inexact_dtype("lognormal", dtype)
    return _lognormal(key, sigma, sample_shape("lognormal", shape, sigma), dtype)


@inlined(static_argnums=(2, 3))
def _lognormal(key, sigma, shape, dtype):
    scaled = lax.mul(normal(key, shape, dtype), aligned(shape, as_dtype(sigma, dtype)))
    return lax.exp(scaled)


def maxwell(key, shape=(), dtype=None, *, out_sharding=None):
    """Lengths of standard normal vectors of three components."""
    check_out_sharding("maxwell", out_sharding)
    key = one_key("maxwell", key)
    dtype = float_dtype("maxwell", dtype)
    return _maxwell(key, given_shape(shape), dtype)


@jit(static_argnums=(1, 2))
def _maxwell(key, shape, dtype):
    return _length(normal(key, (*shape, 3), dtype))


def _length(x):
    axis = len(shape_of(x)) - 1
    return lax.sqrt(jnp.sum(lax.mul(x, x), axis=axis))


def double_sided_maxwell(key, loc, scale, shape=(), dtype=None):
    """loc + scale · (a Maxwell number with a random sign); batch axes follow `shape`."""
    key = one_key("double_sided_maxwell", key)
    dtype = float_dtype("double_sided_maxwell", dtype)
    return _double_sided_maxwell(key, loc, scale, given_shape(shape), dtype)


@jit(static_argnums=(3, 4))
def _double_sided_maxwell(key, loc, scale, shape, dtype):
    shape += lax.broadcast_shapes(shape_of(loc), shape_of(scale))
    size_key, sign_key = split_keys(key)
    sizes, signs = maxwell(size_key, shape, dtype), rademacher(sign_key, shape, dtype)
    scaled = lax.mul(lax.mul(signs, sizes), aligned(shape, as_dtype(scale, dtype)))
    return lax.add(scaled, aligned(shape, as_dtype(loc, dtype)))


def wald(key, mean, shape=None, dtype=None, *, out_sharding=None):
    """Inverse Gaussian random numbers of the given mean (Michael, Schucany and Haas, 1976)."""
    check_out_sharding("wald", out_sharding)
    key = one_key("wald", key)
    dtype = float_dtype("wald", dtype)
    return _wald(key, mean, sample_shape("wald", shape, mean), dtype)


@jit(static_argnums=(2, 3))
def _wald(key, mean, shape, dtype):
    normal_key, uniform_key = split_keys(key)
    mean = spread(as_dtype(mean, dtype), shape)
    z = normal(normal_key, shape, dtype)
    u = uniform(uniform_key, shape, dtype)
    y = lax.integer_pow(z, 2)
    y_2, mean_2 = lax.integer_pow(y, 2), lax.integer_pow(mean, 2)
    two, four = dtype.type(2), dtype.type(4)
    root = lax.sqrt(lax.add(lax.mul(lax.mul(four, mean), y), lax.mul(mean_2, y_2)))
    x = lax.sub(lax.add(mean, lax.div(lax.mul(mean_2, y), two)),
                lax.mul(lax.div(mean, two), root))
    return lax.select(lax.le(u, lax.div(mean, lax.add(mean, x))), x, lax.div(mean_2, x))


# --- vectors and matrices ----------------------------------------------------------------------

_METHODS = ("svd", "eigh", "cholesky")


def multivariate_normal(key, mean, cov, shape=None, dtype=None, method="cholesky", *,
                        out_sharding=None):
    """Normal random vectors of a mean and covariance matrix."""
    check_out_sharding("multivariate_normal", out_sharding)
    key = one_key("multivariate_normal", key)
    mean, cov = jnp.asarray(mean), jnp.asarray(cov)
    if dtype is None:
        dtype = dtypes.to_inexact_dtype(jnp.result_type(mean, cov))
    dtype = float_dtype("multivariate_normal", dtype)
    if method not in _METHODS:
        raise ValueError("method must be one of {'svd', 'eigh', 'cholesky'}")
    if mean.ndim < 1:
        raise ValueError("multivariate_normal requires mean.ndim >= 1, got mean.ndim == "
                         f"{mean.ndim}")
    if cov.ndim < 2:
        raise ValueError(f"multivariate_normal requires cov.ndim >= 2, got cov.ndim == {cov.ndim}")
    n = mean.shape[-1]
    if cov.shape[-2:] != (n, n):
        raise ValueError(f"multivariate_normal requires cov.shape == (..., n, n) for n={n}, but "
                         f"got cov.shape == {cov.shape}.")
    batch = lax.broadcast_shapes(mean.shape[:-1], cov.shape[:-2])
    shape = batch if shape is None else given_shape(shape)
    if shape[len(shape) - len(batch):] != batch and lax.broadcast_shapes(shape, batch) != shape:
        raise ValueError(f"multivariate_normal: shape {shape} is not compatible with the batch "
                         f"shape {batch} of mean and cov")
    return _multivariate_normal(key, mean, cov, shape, dtype, method)


@jit(static_argnums=(3, 4, 5))
def _multivariate_normal(key, mean, cov, shape, dtype, method):
    if dtypes.is_floating(cov.dtype) and cov.dtype.itemsize < 4:
        cov = as_dtype(cov, dtype)                  # matrices are factored in 32 bits or more
    factor = _factor(cov, method)
    z = normal(key, (*shape, mean.shape[-1]), dtype)
    return mean + jnp.einsum("...ij,...j->...i", factor, z)


def _factor(cov, method):
    """A matrix whose product with its transpose is `cov`."""
    if method == "cholesky":
        return jnp.linalg.cholesky(cov)
    if method == "svd":
        vectors, values, _ = jnp.linalg.svd(cov)
    else:
        values, vectors = jnp.linalg.eigh(cov)
    return vectors * jnp.sqrt(values[..., None, :])


def orthogonal(key, n, shape=(), dtype=None, m=None, *, out_sharding=None):
    """Random orthogonal (or unitary) matrices, uniform in Haar measure."""
    check_out_sharding("orthogonal", out_sharding)
    key = one_key("orthogonal", key)
    dtype = inexact_dtype("orthogonal", dtype)
    return _orthogonal(key, given_shape(shape), n, dtype, n if m is None else m)


@jit(static_argnums=(1, 2, 3, 4))
def _orthogonal(key, shape, n, dtype, m):
    z = normal(key, (*shape, max(n, m), min(n, m)), dtype)
    q, r = jnp.linalg.qr(z)
    d = jnp.linalg.diagonal(r)
    x = q * jnp.expand_dims(jnp.sign(d), -2)
    return x.mT if n < m else x


__all__ = ["double_sided_maxwell", "lognormal", "maxwell", "multivariate_normal", "normal",
           "orthogonal", "truncated_normal", "wald"]
