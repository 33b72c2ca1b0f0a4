"""Counts: Poisson, binomial and multinomial random numbers, by rejection in a loop.

In: a key, parameters, a shape, a dtype. Out: an array of counts.
Small means multiply (or add logarithms of) uniform numbers; large ones use Hörmann's transformed
rejection (1993).
Invariant: the loops are counted, so that a draw ends whatever the parameters.
"""

from __future__ import annotations

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.lax.out_sharding import check_out_sharding
from jitney.lax.random_bits import random_split
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import check_arraylike, promote_dtypes_inexact
from jitney.random.arguments import (
    as_dtype,
    dtype_of,
    float_dtype,
    integer_dtype,
    one_key,
    sample_shape,
    split_keys,
)
from jitney.random.uniform import uniform

# --- Poisson -----------------------------------------------------------------------------------


def poisson(key, lam, shape=None, dtype=None, *, out_sharding=None):
    """Poisson random numbers of mean `lam`."""
    check_out_sharding("poisson", out_sharding)
    key = one_key("poisson", key)
    dtype = integer_dtype("poisson", dtype)
    if key.dtype._impl.name != "threefry2x32":
        raise NotImplementedError("`poisson` is only implemented for the threefry2x32 RNG, not "
                                  f"{key.dtype._impl}")
    shape = sample_shape("poisson", shape, lam)
    lam = as_dtype(jnp.broadcast_to(lam, shape), np.float32)
    return _poisson(key, lam, shape, dtype)


_DIRECT_LIMIT = 10.0


@jit(static_argnums=(2, 3))
def _poisson(key, lam, shape, dtype):
    direct = lax.bitwise_or(lax.ne(lam, lam), lax.lt(lam, np.float32(_DIRECT_LIMIT)))
    small = lax.select(direct, lam, lax.full_like(lam, 0))
    large = lax.select(direct, lax.full_like(lam, 1e5), lam)
    drawn = lax.select(direct, _poisson_knuth(key, small, shape, dtype),
                       _poisson_rejection(key, large, shape, dtype))
    zero = lax.full_like(drawn, 0)
    return lax.select(lax.eq(lam, np.float32(0)), zero, drawn)


@jit(static_argnums=(2, 3))
def _poisson_knuth(key, lam, shape, dtype):
    """How many uniform numbers can be multiplied until the product is below exp(-lam)."""
    limit = dtypes.iinfo(dtype).max

    def going(state):
        i, _, _, log_product = state
        return lax.bitwise_and(jnp.any(lax.gt(log_product, lax.neg(lam))),
                               lax.lt(as_dtype(i, dtype), dtype.type(limit)))

    def body(state):
        i, count, key, log_product = state
        key, drawn = split_keys(key)
        more = lax.gt(log_product, lax.neg(lam))
        count = lax.select(more, lax.add(count, dtype.type(1)), count)
        u = uniform(drawn, shape, np.float32)
        return lax.add(i, np.int32(1)), count, key, lax.add(log_product, lax.log(u))

    start = (np.int32(0), lax.full(shape, 0, dtype), key, lax.full(shape, 0, np.float32))
    count = lax.while_loop(going, body, start)[1]
    return lax.sub(count, dtype.type(1))


@jit(static_argnums=(2, 3))
def _poisson_rejection(key, lam, shape, dtype):
    """Hörmann's PTRS."""
    c = np.float32
    log_lam = lax.log(lam)
    b = lax.add(c(0.931), lax.mul(c(2.53), lax.sqrt(lam)))
    a = lax.add(c(-0.059), lax.mul(c(0.02483), b))
    inv_alpha = lax.add(c(1.1239), lax.div(c(1.1328), lax.sub(b, c(3.4))))
    v_r = lax.sub(c(0.9277), lax.div(c(3.6224), lax.sub(b, c(2))))
    limit = dtypes.iinfo(dtype).max

    def going(state):
        i, _, accepted, _ = state
        return lax.bitwise_and(jnp.any(lax.bitwise_not(accepted)),
                               lax.lt(as_dtype(i, dtype), dtype.type(limit)))

    def body(state):
        i, kept, accepted, key = state
        key, key_u, key_v = split_keys(key, 3)
        u = lax.sub(uniform(key_u, shape, lam.dtype), c(0.5))
        v = uniform(key_v, shape, lam.dtype)
        s = lax.sub(c(0.5), lax.abs(u))
        slope = lax.add(lax.div(lax.mul(c(2), a), s), b)
        k = lax.floor(lax.add(lax.add(lax.mul(slope, u), lam), c(0.43)))
        density = lax.add(lax.div(a, lax.mul(s, s)), b)
        log_v = lax.log(lax.div(lax.mul(v, inv_alpha), density))
        log_p = lax.sub(lax.add(lax.neg(lam), lax.mul(k, log_lam)), lax.lgamma(lax.add(k, c(1))))
        quick = lax.bitwise_and(lax.ge(s, c(0.07)), lax.le(v, v_r))
        outside = lax.bitwise_or(lax.lt(k, c(0)),
                                 lax.bitwise_and(lax.lt(s, c(0.013)), lax.gt(v, s)))
        slow = lax.bitwise_and(lax.bitwise_not(outside), lax.le(log_v, log_p))
        accept = lax.bitwise_or(quick, slow)
        return (lax.add(i, np.int32(1)), lax.select(accept, k, kept),
                lax.bitwise_or(accepted, accept), key)

    start = (np.int32(0), lax.full(shape, -1, lam.dtype), lax.full(shape, False), key)
    return as_dtype(lax.while_loop(going, body, start)[1], dtype)


# --- binomial ----------------------------------------------------------------------------------


def binomial(key, n, p, shape=None, dtype=None):
    """How many of `n` trials of success probability `p` succeed (as a float)."""
    key = one_key("binomial", key)
    check_arraylike("binomial", n, p)
    dtype = float_dtype("binomial", dtype)
    return _binomial(key, n, p, sample_shape("binomial", shape, n, p), dtype)


@inlined(static_argnums=(3, 4))
def _binomial(key, n, p, shape, dtype):
    n, p = (as_dtype(jnp.broadcast_to(x, shape), dtype) for x in (n, p))
    c = dtype.type
    flipped = lax.ge(p, c(0.5))
    rare = lax.select(flipped, lax.sub(c(1), p), p)              # the rarer of the two outcomes
    bad_n = lax.bitwise_or(lax.ne(n, n), lax.lt(n, c(0)))
    infinite_n = jnp.isinf(n)
    bad_p = lax.bitwise_or(lax.ne(rare, rare), lax.lt(rare, c(0)))
    q = lax.select(bad_p, lax.full_like(n, 0.01), rare)
    direct = lax.bitwise_or(bad_n, lax.le(lax.mul(n, q), c(10)))
    whole = lax.floor(n)
    by_waiting = _binomial_waiting(key, lax.select(direct, whole, lax.full_like(n, 0)), q, shape)
    by_rejection = _binomial_rejection(
        key, lax.select(direct, lax.full_like(n, 1e4), whole),
        lax.select(direct, lax.full_like(n, 0.5), q), shape)
    drawn = lax.select(direct, by_waiting, by_rejection)
    bad = lax.bitwise_or(bad_p, bad_n)
    drawn = lax.select(bad, lax.full_like(n, np.nan), drawn)
    infinite = lax.bitwise_and(infinite_n, lax.bitwise_not(bad))
    drawn = lax.select(infinite, lax.full_like(n, np.inf), drawn)
    as_drawn = lax.bitwise_or(lax.bitwise_or(lax.bitwise_not(flipped), bad), infinite_n)
    return lax.select(as_drawn, drawn, lax.sub(whole, drawn))


def _binomial_waiting(key, n, q, shape):
    """Counts geometric waiting times until they exceed n."""
    c = dtype_of(n).type
    log_q, limit = lax.log1p(lax.neg(q)), dtypes.finfo(dtype_of(n)).max

    def going(state):
        i, _, total, _ = state
        return lax.bitwise_and(jnp.any(lax.le(total, n)), lax.lt(as_dtype(i, dtype_of(n)), limit))

    def body(state):
        i, count, total, key = state
        drawn, key = split_keys(key)
        count = lax.select(lax.le(total, n), lax.add(count, c(1)), count)
        wait = lax.ceil(lax.div(lax.log(uniform(drawn, shape, dtype_of(n))), log_q))
        return lax.add(i, np.int32(1)), count, lax.add(total, wait), key

    zeros = lax.full_like(n, 0)
    count = lax.while_loop(going, body, (np.int32(0), zeros, zeros, key))[1]
    return lax.sub(count, c(1))


# log k! - (k + ½) log(k + 1) + (k + 1) - ½ log 2π for k = 0 … 9
_STIRLING_ERRORS = (
    0.08106146679532726, 0.0413406959554093, 0.0276779256849983, 0.0207906721037650,
    0.0166446911898212, 0.0138761288230707, 0.0118967099458918, 0.0104112652619721,
    0.00925546218271273, 0.00833056343336287)


def _stirling_error(k):
    """The error of Stirling's formula for log k!."""
    c = dtype_of(k).type
    table = np.array(_STIRLING_ERRORS, dtype_of(k))
    near = lax.clamp(c(0), k, c(9))
    m = lax.add(near, c(1))
    square = lax.mul(m, m)
    series = lax.div(lax.sub(c(1 / 12), lax.div(lax.sub(c(1 / 360), lax.div(c(1 / 1260), square)),
                                                square)), m)
    position = as_dtype(lax.floor(near), np.int32)
    return lax.select(lax.le(k, c(9)), jnp.asarray(table)[position], series)


def _binomial_rejection(key, n, q, shape):
    """Hörmann's BTRS."""
    c = dtype_of(n).type
    sd = lax.sqrt(lax.mul(lax.mul(n, q), lax.sub(c(1), q)))
    b = lax.add(c(1.15), lax.mul(c(2.53), sd))
    a = lax.add(lax.add(c(-0.0873), lax.mul(c(0.0248), b)), lax.mul(c(0.01), q))
    middle = lax.add(lax.mul(n, q), c(0.5))
    v_r = lax.sub(c(0.92), lax.div(c(4.2), b))
    odds = lax.div(q, lax.sub(c(1), q))
    alpha = lax.mul(lax.add(c(2.83), lax.div(c(5.1), b)), sd)
    mode = lax.floor(lax.mul(lax.add(n, c(1)), q))
    limit = dtypes.finfo(dtype_of(n)).max

    def going(state):
        i, _, accepted, _ = state
        return lax.bitwise_and(jnp.any(lax.bitwise_not(accepted)),
                               lax.lt(as_dtype(i, dtype_of(n)), limit))

    def log_bound(k):
        """log of the ratio of the density at k to that at the mode."""
        plus = lambda x, y: lax.add(x, c(y))                                   # noqa: E731
        rest_mode, rest_k = plus(lax.sub(n, mode), 1), plus(lax.sub(n, k), 1)
        terms = [
            lax.mul(plus(mode, 0.5), lax.log(lax.div(plus(mode, 1), lax.mul(odds, rest_mode)))),
            lax.mul(plus(n, 1), lax.log(lax.div(rest_mode, rest_k))),
            lax.mul(plus(k, 0.5), lax.log(lax.div(lax.mul(odds, rest_k), plus(k, 1)))),
            _stirling_error(mode), _stirling_error(lax.sub(n, mode))]
        total = terms[0]
        for term in terms[1:]:
            total = lax.add(total, term)
        return lax.sub(lax.sub(total, _stirling_error(k)), _stirling_error(lax.sub(n, k)))

    def body(state):
        i, kept, accepted, key = state
        key, key_u, key_v = split_keys(key, 3)
        u, v = uniform(key_u, shape, dtype_of(n)), uniform(key_v, shape, dtype_of(n))
        u = lax.sub(u, c(0.5))
        s = lax.sub(c(0.5), lax.abs(u))
        quick = lax.bitwise_and(lax.ge(s, c(0.07)), lax.le(v, v_r))
        slope = lax.add(lax.div(lax.mul(c(2), a), s), b)
        k = lax.floor(lax.add(lax.mul(slope, u), middle))
        outside = lax.bitwise_or(lax.lt(k, c(0)), lax.gt(k, n))
        density = lax.add(lax.div(a, lax.mul(s, s)), b)
        log_v = lax.log(lax.div(lax.mul(v, alpha), density))
        slow = lax.bitwise_and(lax.bitwise_not(outside), lax.le(log_v, log_bound(k)))
        accept = lax.bitwise_or(quick, slow)
        return (lax.add(i, np.int32(1)), lax.select(accept, k, kept),
                lax.bitwise_or(accepted, accept), key)

    start = (np.int32(0), lax.full_like(n, -1), lax.full(shape, False), key)
    return lax.while_loop(going, body, start)[1]


# --- multinomial -------------------------------------------------------------------------------


def multinomial(key, n, p, *, shape=None, dtype=None, unroll=1):
    """How `n` trials fall into categories of probabilities `p` (last axis).

    One binomial draw a category, of the trials that are left; `unroll` is that of the `scan` over
    the categories.
    """
    key = one_key("multinomial", key)
    check_arraylike("multinomial", n, p)
    dtype = float_dtype("multinomial", dtype)
    n, p = promote_dtypes_inexact(n, p)
    p = jnp.asarray(p)
    shape = (*sample_shape("multinomial", None, n, np.empty(p.shape[:-1], bool)), p.shape[-1]) \
        if shape is None else tuple(shape)
    rest = jnp.cumsum(p[..., ::-1], axis=-1)[..., ::-1]
    ratios = jnp.moveaxis(p / jnp.where(rest == 0, 1, rest), -1, 0)
    left = as_dtype(jnp.broadcast_to(n, shape[:-1]), dtype)

    def draw(left, category):
        key, ratio = category
        taken = binomial(key, left, jnp.clip(ratio, 0, 1), shape[:-1], dtype)
        return lax.sub(left, taken), taken

    keys = random_split(key, (p.shape[-1],))
    _, counts = lax.scan(draw, left, (keys, ratios), unroll=unroll)
    return jnp.moveaxis(counts, 0, -1)


__all__ = ["binomial", "multinomial", "poisson"]
