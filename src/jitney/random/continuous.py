"""Continuous distributions made from one uniform number by inverting the distribution function.

In: a key, parameters, a shape, a dtype. Out: an array.
Invariant: one jitted call a draw; the order of operations fixes every bit of the result.
"""

from __future__ import annotations

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.base import config, dtypes
from jitney.lax.out_sharding import check_out_sharding
from jitney.lax.shape import shape_of
from jitney.numpy.jitted import inlined
from jitney.random.arguments import (
    aligned,
    as_dtype,
    float_dtype,
    given_shape,
    one_key,
    sample_shape,
    spread,
)
from jitney.random.uniform import _uniform, uniform


def _tiny(dtype):
    return dtype.type(dtypes.finfo(dtype).tiny)


def exponential(key, shape=(), dtype=None, *, out_sharding=None):
    """Exponential random numbers of rate 1."""
    check_out_sharding("exponential", out_sharding)
    key = one_key("exponential", key)
    dtype = float_dtype("exponential", dtype)
    return _exponential(key, given_shape(shape), dtype)


@jit(static_argnums=(1, 2))
def _exponential(key, shape, dtype):
    return lax.neg(lax.log1p(lax.neg(uniform(key, shape, dtype))))


def gumbel(key, shape=(), dtype=None, mode=None, *, out_sharding=None):
    """Standard Gumbel random numbers; mode "high" spends more bits on the upper tail."""
    check_out_sharding("gumbel", out_sharding)
    key = one_key("gumbel", key)
    dtype = float_dtype("gumbel", dtype)
    if mode is None:
        mode = "high" if config.high_dynamic_range_gumbel.value else "low"
    if mode not in ("high", "low"):
        raise ValueError(f"Must provide valid mode for gumbel got: {mode}")
    return _gumbel(key, given_shape(shape), dtype, mode)


@jit(static_argnums=(1, 2, 3))
def _gumbel(key, shape, dtype, mode):
    if mode == "low":
        drawn = _uniform(key, shape, dtype, minval=_tiny(dtype), maxval=1.0)
        return lax.neg(lax.log(lax.neg(lax.log(drawn))))
    pair = _uniform(key, (2, *shape), dtype, minval=0.0, maxval=1.0)
    coarse, fine = (lax.index_in_dim(pair, i, 0, keepdims=False) for i in (0, 1))
    # below ½ the spacing of floats has room for the further bits
    epsilon = dtype.type(dtypes.finfo(dtype).eps)
    upper = lax.ge(coarse, dtype.type(0.5))
    finer = lax.add(lax.add(coarse, lax.mul(epsilon, fine)), _tiny(dtype))
    drawn = jnp.where(upper, coarse, finer)
    return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(drawn)))))


def laplace(key, shape=(), dtype=None, *, out_sharding=None):
    """Standard Laplace random numbers."""
    check_out_sharding("laplace", out_sharding)
    key = one_key("laplace", key)
    dtype = float_dtype("laplace", dtype)
    return _laplace(key, given_shape(shape), dtype)


@jit(static_argnums=(1, 2))
def _laplace(key, shape, dtype):
    low = dtype.type(-1.0) + dtype.type(dtypes.finfo(dtype).epsneg)
    drawn = uniform(key, shape, dtype, low, 1.0)
    return lax.mul(lax.sign(drawn), lax.log1p(lax.neg(lax.abs(drawn))))


def logistic(key, shape=(), dtype=None, *, out_sharding=None):
    """Standard logistic random numbers."""
    check_out_sharding("logistic", out_sharding)
    key = one_key("logistic", key)
    dtype = float_dtype("logistic", dtype)
    return _logistic(key, given_shape(shape), dtype)


@jit(static_argnums=(1, 2))
def _logistic(key, shape, dtype):
    drawn = uniform(key, shape, dtype, _tiny(dtype), 1.0)
    return lax.sub(lax.log(drawn), lax.log1p(lax.neg(drawn)))


def cauchy(key, shape=(), dtype=None, *, out_sharding=None):
    """Standard Cauchy random numbers."""
    check_out_sharding("cauchy", out_sharding)
    key = one_key("cauchy", key)
    dtype = float_dtype("cauchy", dtype)
    return _cauchy(key, given_shape(shape), dtype)


@jit(static_argnums=(1, 2))
def _cauchy(key, shape, dtype):
    drawn = uniform(key, shape, dtype, dtype.type(dtypes.finfo(dtype).eps), 1.0)
    pi = np.array(np.pi, dtype)[()]
    return lax.tan(lax.mul(pi, lax.sub(drawn, dtype.type(0.5))))


def pareto(key, b, shape=None, dtype=None, *, out_sharding=None):
    """Pareto random numbers with exponent `b` (density b x^-(b+1) for x ≥ 1)."""
    check_out_sharding("pareto", out_sharding)
    key = one_key("pareto", key)
    dtype = float_dtype("pareto", dtype)
    return _pareto(key, b, sample_shape("pareto", shape, b), dtype)


@jit(static_argnums=(2, 3))
def _pareto(key, b, shape, dtype):
    b = as_dtype(b, dtype)
    return lax.exp(lax.div(exponential(key, shape, dtype), aligned(shape, b)))


def rayleigh(key, scale, shape=None, dtype=None, *, out_sharding=None):
    """Rayleigh random numbers."""
    check_out_sharding("rayleigh", out_sharding)
    key = one_key("rayleigh", key)
    dtype = float_dtype("rayleigh", dtype)
    return _rayleigh(key, scale, sample_shape("rayleigh", shape, scale), dtype)


@jit(static_argnums=(2, 3))
def _rayleigh(key, scale, shape, dtype):
    drawn = uniform(key, shape, dtype)
    scale = spread(as_dtype(scale, dtype), shape)
    return lax.mul(scale, lax.sqrt(lax.mul(lax.log(drawn), dtype.type(-2))))


def weibull_min(key, scale, concentration, shape=(), dtype=None):
    """Weibull random numbers."""
    key = one_key("weibull_min", key)
    dtype = float_dtype("weibull_min", dtype)
    return _weibull_min(key, scale, concentration, given_shape(shape), dtype)


@jit(static_argnums=(3, 4))
def _weibull_min(key, scale, concentration, shape, dtype):
    shape += lax.broadcast_shapes(shape_of(scale), shape_of(concentration))
    drawn = uniform(key, shape, dtype, 0, 1)
    power = lax.neg(lax.log1p(lax.neg(drawn)))
    exponent = as_dtype(jnp.divide(1.0, concentration), dtype)
    return lax.mul(lax.pow(power, aligned(shape, exponent)), aligned(shape, as_dtype(scale, dtype)))


def triangular(key, left, mode, right, shape=None, dtype=None, *, out_sharding=None):
    """Random numbers with a triangular density on [left, right], highest at `mode`."""
    check_out_sharding("triangular", out_sharding)
    key = one_key("triangular", key)
    dtype = float_dtype("triangular", dtype)
    shape = sample_shape("triangular", shape, left, mode, right)
    return _triangular(key, left, mode, right, shape, dtype)


@inlined(static_argnums=(4, 5))
def _triangular(key, left, mode, right, shape, dtype):
    left, right, mode = (spread(as_dtype(x, dtype), shape) for x in (left, right, mode))
    edge = lax.div(lax.sub(mode, left), lax.sub(right, left))
    u = uniform(key, shape, dtype)
    rising = lax.mul(lax.mul(u, lax.sub(right, left)), lax.sub(mode, left))
    below = lax.add(left, lax.sqrt(rising))
    rest = lax.sub(dtype.type(1), u)
    falling = lax.mul(lax.mul(rest, lax.sub(right, left)), lax.sub(right, mode))
    above = lax.sub(right, lax.sqrt(falling))
    return lax.select(lax.lt(u, edge), below, above)


__all__ = ["cauchy", "exponential", "gumbel", "laplace", "logistic", "pareto",
           "rayleigh", "triangular", "weibull_min"]
