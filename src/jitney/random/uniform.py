"""Random bits, and what is made of them directly: uniform numbers, integers, coin flips.

In: a key, a shape, a dtype, bounds. Out: an array.
A uniform number is made of the mantissa: random bits under the exponent of 1 give [1, 2).
Invariant: one jitted call a draw; everything elementwise, so that a draw is one kernel.
"""

from __future__ import annotations

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.lax.nary import constant
from jitney.lax.out_sharding import check_out_sharding
from jitney.lax.random_bits import random_bits
from jitney.random.arguments import (
    aligned,
    any_dtype,
    as_dtype,
    dtype_of,
    float_dtype,
    given_shape,
    one_key,
    sample_shape,
    split_keys,
)

# --- bits --------------------------------------------------------------------------------------


def bits(key, shape=(), dtype=None, *, out_sharding=None):
    """Uniformly random unsigned integers over the whole range of their dtype."""
    check_out_sharding("bits", out_sharding)
    key = one_key("bits", key)
    dtype = any_dtype(dtype, np.uint64 if dtypes.canonicalize_dtype(int).itemsize == 8
                      else np.uint32)
    if not dtypes.issubdtype(dtype, np.unsignedinteger):
        raise ValueError(f"dtype argument to `bits` must be an unsigned int dtype, got {dtype}")
    return random_bits(key, dtypes.itemsize_bits(dtype), given_shape(shape))


# --- uniform -----------------------------------------------------------------------------------


def uniform(key, shape=(), dtype=None, minval=0.0, maxval=1.0, *, out_sharding=None):
    """Uniform random numbers in [minval, maxval)."""
    check_out_sharding("uniform", out_sharding)
    key = one_key("uniform", key)
    dtype = float_dtype("uniform", dtype)
    return _uniform(key, given_shape(shape), dtype, minval, maxval)


@jit(static_argnums=(1, 2))
def _uniform(key, shape, dtype, minval, maxval):
    minval, maxval = (as_dtype(x, dtype) for x in (minval, maxval))
    minval, maxval = (lax.broadcast_to_rank(x, len(shape)) for x in (minval, maxval))
    unit = in_one_to_two(key, shape, dtype)
    unit = lax.sub(unit, dtype.type(1))
    scaled = lax.add(lax.mul(unit, lax.sub(maxval, minval)), minval)
    return lax.max(minval, lax.reshape(scaled, shape))


def in_one_to_two(key, shape, dtype):
    """Numbers in [1, 2): random mantissas."""
    width, mantissa = dtypes.itemsize_bits(dtype), dtypes.finfo(dtype).nmant
    if width not in (8, 16, 32, 64):
        raise TypeError(f"uniform only accepts 8-, 16-, 32-, or 64-bit dtypes, got {dtype}.")
    drawn = 8 if mantissa < 8 else width
    word = np.dtype(f"uint{width}")
    raw = random_bits(key, drawn, shape)
    if drawn != width:
        raw = as_dtype(raw, word)
    raw = lax.shift_right_logical(raw, word.type(drawn - mantissa))
    one = np.ones((), dtype).view(word)[()]
    return lax.bitcast_convert_type(lax.bitwise_or(raw, one), dtype)


# --- integers ----------------------------------------------------------------------------------


def randint(key, shape, minval, maxval, dtype=None, *, out_sharding=None):
    """Uniformly random integers in [minval, maxval)."""
    check_out_sharding("randint", out_sharding)
    key = one_key("randint", key)
    dtype = any_dtype(dtype, int)
    if not dtypes.is_integer(dtype):
        raise TypeError(f"randint only accepts integer dtypes, got {dtype}")
    shape = given_shape(shape)
    minval, maxval = (_integer(x) for x in (minval, maxval))
    sample_shape("randint", shape, minval, maxval)
    if dtypes.itemsize_bits(dtype) >= 32:
        return _randint(key, shape, minval, maxval, dtype)
    info = dtypes.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    minval = jnp.clip(minval, min=low, max=high)
    maxval = jnp.clip(maxval, min=low, max=high + 1)
    drawn = _randint(key, shape, minval, maxval, np.dtype(np.int32))
    return as_dtype(drawn, dtype)


def _integer(x):
    """An integer argument; floats are truncated."""
    dtype = dtype_of(x)
    if type(x) is int:
        return x
    if dtypes.is_integer(dtype) and dtypes.itemsize_bits(dtype) >= 32:
        return x
    return as_dtype(x, dtypes.canonicalize_dtype(int))


def _clipped(x, dtype):
    """`x` as another integer dtype, out-of-range values moved to the nearest end."""
    own, wanted = dtypes.iinfo(dtype_of(x)), dtypes.iinfo(dtype)
    low, high = max(int(own.min), int(wanted.min)), min(int(own.max), int(wanted.max))
    return as_dtype(jnp.clip(x, constant(x, low), constant(x, high)), dtype)


@jit(static_argnums=(1, 4))
def _randint(key, shape, minval, maxval, dtype):
    """Two words reduced modulo the span, so that the bias is far below what can be noticed."""
    width = dtypes.itemsize_bits(dtype)
    word = np.dtype(f"uint{width}")
    top = dtype.type(dtypes.iinfo(dtype).max)
    unreachable = lax.gt(maxval, _clipped(top, dtype_of(maxval)))
    minval, maxval = _clipped(minval, dtype), _clipped(maxval, dtype)
    minval, maxval = (lax.broadcast_to_rank(x, len(shape)) for x in (minval, maxval))
    high, low = (random_bits(k, width, shape) for k in split_keys(key))
    span = as_dtype(lax.sub(maxval, minval), word)
    one = word.type(1)
    span = lax.select(lax.le(maxval, minval), lax.full_like(span, one), span)
    whole = lax.bitwise_and(unreachable, lax.gt(maxval, minval))
    span = lax.select(whole, lax.add(span, one), span)
    half = lax.rem(word.type(2 ** (width // 2)), span)
    factor = lax.rem(lax.mul(half, half), span)
    mixed = lax.add(lax.mul(lax.rem(high, span), factor), lax.rem(low, span))
    return lax.add(minval, as_dtype(lax.rem(mixed, span), dtype))


# --- coin flips --------------------------------------------------------------------------------


def bernoulli(key, p=0.5, shape=None, mode="low", *, out_sharding=None):
    """Booleans, True with probability `p`; mode "high" is finer for p far below 1e-7."""
    check_out_sharding("bernoulli", out_sharding)
    if mode not in ("high", "low"):
        raise ValueError(f"got mode={mode!r}, expected 'high' or 'low'")
    key = one_key("bernoulli", key)
    if type(p) in (bool, int, float):
        p = float(p)
    dtype = dtypes.canonicalize_dtype(dtype_of(p))
    if not dtypes.is_floating(dtype):
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {dtype}.")
    return _bernoulli(key, as_dtype(p, dtype), sample_shape("bernoulli", shape, p), mode)


@jit(static_argnums=(2, 3))
def _bernoulli(key, p, shape, mode):
    dtype = dtype_of(p)
    if mode == "low":
        return lax.lt(uniform(key, shape, dtype), aligned(shape, p))
    pair = uniform(key, (2, *shape), dtype)
    coarse, fine = (lax.index_in_dim(pair, i, 0, keepdims=False) for i in (0, 1))
    fine = lax.mul(fine, dtypes.finfo(dtype).eps)
    return lax.lt(fine, lax.sub(aligned(shape, p), coarse))


def rademacher(key, shape=(), dtype=None, *, out_sharding=None):
    """-1 or 1, with equal probability."""
    check_out_sharding("rademacher", out_sharding)
    key = one_key("rademacher", key)
    return _rademacher(key, given_shape(shape), any_dtype(dtype, int))


@jit(static_argnums=(1, 2))
def _rademacher(key, shape, dtype):
    heads = as_dtype(bernoulli(key, 0.5, shape), dtype)
    if dtype == np.bool_:
        return lax.full(shape, True)
    return lax.sub(lax.mul(dtype.type(2), heads), dtype.type(1))


__all__ = ["bernoulli", "bits", "rademacher", "randint", "uniform"]
