"""Choices: categories, permutations, samples of an array, waiting times.

In: a key, weights or an array to choose from. Out: indices or elements.
Invariant: choosing without replacement never repeats an index.
"""

from __future__ import annotations

import math

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.lax.out_sharding import check_out_sharding
from jitney.lax.random_bits import random_bits
from jitney.lax.shape import shape_of
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import check_arraylike, promote_dtypes_inexact
from jitney.random.arguments import (
    as_dtype,
    dtype_of,
    given_shape,
    integer_dtype,
    one_key,
    sample_shape,
    split_keys,
)
from jitney.random.continuous import gumbel
from jitney.random.uniform import randint, uniform

# --- categories --------------------------------------------------------------------------------


def _axis(axis, rank):
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {rank}")
    return axis % rank


def categorical(key, logits, axis=-1, shape=None, replace=True, mode=None, *, out_sharding=None):
    """Indices along `axis`, with probabilities proportional to exp(logits).

    `shape` ends with (or broadcasts to) the shape of logits without the axis. By the Gumbel trick:
    the largest of logits plus Gumbel noise.
    """
    check_out_sharding("categorical", out_sharding)
    key = one_key("categorical", key)
    check_arraylike("categorical", logits)
    logits = jnp.asarray(logits)
    axis = _axis(axis, logits.ndim)
    batch = logits.shape[:axis] + logits.shape[axis + 1:]
    shape = batch if shape is None else sample_shape("categorical", shape, np.empty(batch, bool))
    prefix = shape[:len(shape) - len(batch)]
    if replace:
        return _with_replacement(key, logits, axis, prefix, shape[len(prefix):], mode)
    count = math.prod(prefix)
    if count > logits.shape[axis]:
        raise ValueError(f"Number of samples without replacement ({count}) cannot exceed number of "
                         f"categories ({logits.shape[axis]}).")
    return _without_replacement(key, logits, axis, count, shape, mode)


@inlined(static_argnums=(2, 3, 4, 5))
def _without_replacement(key, logits, axis, count, shape, mode):
    noisy = lax.add(logits, gumbel(key, logits.shape, logits.dtype, mode=mode))
    _, found = lax.top_k(noisy, count, axis=axis)
    front = (axis, *[i for i in range(logits.ndim) if i != axis])
    return lax.reshape(found, shape, front if front != tuple(range(logits.ndim)) else None)


@inlined(static_argnums=(2, 3, 4, 5))
def _with_replacement(key, logits, axis, prefix, rest, mode):
    noise_shape = list(rest)
    noise_shape.insert(axis, logits.shape[axis])
    noise = gumbel(key, (*prefix, *noise_shape), logits.dtype, mode=mode)
    logits = lax.expand_dims(logits, range(len(prefix)))
    return jnp.argmax(jnp.add(noise, logits), axis=axis + len(prefix))


# --- permutations ------------------------------------------------------------------------------


def permutation(key, x, axis=0, independent=False, *, out_sharding=None):
    """`x` (or 0 … x-1) in random order along an axis; every line by itself if `independent`."""
    check_out_sharding("permutation", out_sharding)
    key = one_key("permutation", key)
    check_arraylike("permutation", x)
    if not np.ndim(x):
        if not dtypes.is_integer(dtype_of(x)):
            raise TypeError("x must be an integer or at least 1-dimensional")
        count = int(x)
        return _shuffle(key, jnp.arange(count), 0)
    x = jnp.asarray(x)
    axis = _axis(axis, x.ndim)
    if independent or x.ndim == 1:
        return _shuffle(key, x, axis)
    order = _shuffle(key, jnp.arange(x.shape[axis]), 0)
    return jnp.take(x, order, axis, unique_indices=True)


@jit(static_argnums=(2,))
def _shuffle(key, x, axis):
    """Sort by random words, often enough that ties hardly matter: 3 log n / log 2³² rounds."""
    size = max(1, math.prod(shape_of(x)))
    rounds = math.ceil(3 * math.log(size) / math.log(2**32 - 1))
    for _ in range(rounds):
        key, drawn = split_keys(key)
        order = random_bits(drawn, 32, shape_of(x))
        _, x = lax.sort((order, x), dimension=axis, num_keys=1)
    return x


# --- samples of an array -----------------------------------------------------------------------


def choice(key, a, shape=(), replace=True, p=None, axis=0, mode=None):
    """A random sample of `a` along an axis (of 0 … a-1 for an integer), with weights `p`."""
    key = one_key("choice", key)
    if not isinstance(shape, (tuple, list, np.ndarray)) and not hasattr(shape, "__len__"):
        raise TypeError(f"shape argument of jax.random.choice must be a sequence, got {shape}")
    check_arraylike("choice", a)
    shape, scalar = given_shape(shape), not np.ndim(a)
    axis = 0 if scalar else _axis(axis, np.ndim(a))
    population = int(a) if scalar else np.shape(a)[axis]
    count = math.prod(shape)
    if count and population <= 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and count > population:
        raise ValueError(f"Cannot take a larger sample (size {count}) than population (size "
                         f"{population}) when 'replace=False'")
    if p is not None:
        check_arraylike("choice", p)
        if np.shape(p) != (population,):
            raise ValueError("p must be None or a 1D vector with the same size as a.shape[axis]. p "
                             f"has shape {np.shape(p)} and a.shape[axis] is {population}.")
        found = _weighted(key, p, shape, replace, mode)
        return found if scalar else jnp.take(jnp.asarray(a), found, axis)
    if replace:
        found = randint(key, shape, 0, population)
        return found if scalar else jnp.take(jnp.asarray(a), found, axis)
    found = permutation(key, population if scalar else a, axis)
    sample = lax.slice_in_dim(found, 0, count, axis=axis)
    return lax.reshape(sample, shape if scalar else
                       np.shape(a)[:axis] + shape + np.shape(a)[axis + 1:])


@inlined(static_argnums=(2, 3, 4))
def _weighted(key, p, shape, replace, mode):
    """Indices drawn with weights: by the running sums, or by the Gumbel trick."""
    (p,) = promote_dtypes_inexact(p)
    p = jnp.asarray(p)
    if replace:
        sums = jnp.cumsum(p)
        drawn = uniform(key, shape, sums.dtype)
        scaled = lax.mul(sums[-1], lax.sub(sums.dtype.type(1), drawn))
        found = jnp.searchsorted(sums, scaled)
    else:
        noisy = lax.add(gumbel(key, p.shape, p.dtype, mode=mode), lax.log(p))
        _, found = lax.top_k(noisy, math.prod(shape))
        found = lax.reshape(found, shape)
    return found.astype(dtypes.canonicalize_dtype(int))


# --- waiting times -----------------------------------------------------------------------------


def geometric(key, p, shape=None, dtype=None, *, out_sharding=None):
    """How many trials of success probability `p` the first success takes (at least 1)."""
    check_out_sharding("geometric", out_sharding)
    key = one_key("geometric", key)
    dtype = integer_dtype("geometric", dtype)
    return _geometric(key, p, sample_shape("geometric", shape, p), dtype)


@jit(static_argnums=(2, 3))
def _geometric(key, p, shape, dtype):
    (p,) = promote_dtypes_inexact(p)
    wanted = dtype_of(p)
    drawn = uniform(key, shape, wanted)
    drawn = jnp.where(lax.eq(drawn, wanted.type(0)), 1, drawn)
    log_u, log_q = lax.log(drawn), lax.log1p(lax.neg(p))
    ratio = lax.div(log_u, jnp.broadcast_to(log_q, shape))
    trials = lax.add(lax.floor(ratio), wanted.type(1))
    return as_dtype(trials, dtype)


__all__ = ["categorical", "choice", "geometric", "permutation"]
