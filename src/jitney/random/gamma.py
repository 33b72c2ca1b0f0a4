"""Gamma random numbers, and the distributions made of them.

In: a key, parameters, a shape, a dtype. Out: an array.
Marsaglia and Tsang, "A simple method for generating gamma variables" (2000): a squeezed rejection
from a cubed normal, for shape parameters of at least 1; smaller ones are reached by a power of a
uniform number, in log space, since the result may be smaller than any float.
Invariant: every element has a key of its own, so that a result never depends on its neighbours.
"""

from __future__ import annotations

import math

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.core.avals import ShapedArray
from jitney.core.primitive import Primitive
from jitney.lax.out_sharding import check_out_sharding
from jitney.lax.random_bits import _define as define_decomposition
from jitney.lax.random_bits import random_bits_p, random_split_p, random_unwrap, random_wrap
from jitney.lax.shape import shape_of
from jitney.lax.special import published_erf_inv
from jitney.random.arguments import (
    aligned,
    as_dtype,
    dtype_of,
    float_dtype,
    given_shape,
    one_key,
    sample_shape,
    split_keys,
    spread,
)
from jitney.random.continuous import exponential
from jitney.random.normal import normal
from jitney.random.uniform import in_one_to_two, rademacher
from jitney.transforms.jvp import define_jvp_from_answer
from jitney.transforms.vmap import at_front, batch_size, define_batch

# --- the primitive -----------------------------------------------------------------------------

random_gamma_p = Primitive("random_gamma")


@random_gamma_p.def_abstract
def _random_gamma_type(keys, a, *, log_space):
    if not dtypes.is_floating(a.dtype):
        raise TypeError(f"random_gamma needs a floating shape parameter, got {a}")
    if a.shape[:len(keys.shape)] != keys.shape:
        raise TypeError(f"random_gamma: the shape of the keys {keys.shape} must begin the shape of "
                        f"the parameter {a.shape}")
    return ShapedArray(a.shape, a.dtype)


def _reference_draws(raw, dtype):
    """For raw keys [n, 2]: (normal, uniform) makers of one number a key, in NumPy."""
    width = dtypes.itemsize_bits(dtype)
    mantissa = dtypes.finfo(dtype).nmant
    word = np.dtype(f"uint{width}")
    drawn = 8 if mantissa < 8 else width
    bits = random_bits_p.reference_rule(raw, bit_width=drawn, shape=()).astype(word)
    one = np.ones((), dtype).view(word)
    unit = (bits >> word.type(drawn - mantissa) | one).view(dtype) - dtype.type(1)
    return unit


def _reference_normal(raw, dtype):
    low = np.nextafter(dtype.type(-1), dtype.type(0))
    u = np.maximum(low, _reference_draws(raw, dtype) * (dtype.type(1) - low) + low)
    return dtype.type(np.sqrt(2)) * lax.erf_inv_p.reference_rule(u)


def _split_each(raw, count):
    """[n, 2] keys -> `count` arrays of keys."""
    keys = random_split_p.reference_rule(raw, shape=(count,))
    return [keys[..., i, :] for i in range(count)]


def _cubes(keys, c, dtype):
    """One normal x a key with 1 + c x > 0, and that number."""
    x, v = np.zeros_like(c), np.full_like(c, -1)
    while True:
        todo = np.flatnonzero(v <= 0)
        if not todo.size:
            return x, v
        keys[todo], drawn = _split_each(keys[todo], 2)
        x[todo] = _reference_normal(drawn, dtype)
        v[todo] = 1 + x[todo] * c[todo]


def _reference_log_gamma(keys, a, dtype):
    """(the number without its boost, its log with it, log of the boost), an element a key."""
    one, third = dtype.type(1), dtype.type(1 / 3)
    boosted = a < one
    d = np.where(boosted, a + one, a) - third
    c = third / np.sqrt(d)
    keys, boost_keys = _split_each(keys, 2)
    x_2, v, u = np.zeros_like(d), np.ones_like(d), np.full_like(d, 2)

    def rejected(i):
        squeeze = one - dtype.type(0.0331) * (x_2[i] * x_2[i])
        bound = x_2[i] * dtype.type(0.5) + d[i] * ((one - v[i]) + np.log(v[i]))
        return (u[i] >= squeeze) & (np.log(u[i]) >= bound)

    todo = np.flatnonzero(rejected(slice(None)))
    while todo.size:
        keys[todo], cube_keys, uniform_keys = _split_each(keys[todo], 3)
        x, root = _cubes(cube_keys, c[todo], dtype)
        x_2[todo], v[todo] = x * x, root * root * root
        u[todo] = _reference_draws(uniform_keys, dtype)
        todo = todo[rejected(todo)]
    log_u = np.log1p(-_reference_draws(boost_keys, dtype))
    log_boost = np.where(~boosted | (log_u == 0), dtype.type(0), log_u * (one / a))
    return d * v, np.log(d) + np.log(v) + log_boost, log_boost


@random_gamma_p.def_reference
def _random_gamma_reference(raw, a, *, log_space):
    dtype, batch = a.dtype, raw.shape[:-1]
    count = math.prod(a.shape[len(batch):])
    keys = random_split_p.reference_rule(raw, shape=(count,)).reshape(-1, raw.shape[-1]).copy()
    with np.errstate(all="ignore"):
        plain, logs, log_boost = _reference_log_gamma(keys, a.reshape(-1), dtype)
        out = logs if log_space else plain * np.exp(log_boost)
    return np.asarray(out, dtype).reshape(a.shape)


# The same as a program, which compiled code runs: every element goes on until all are done, with
# its own key, and keeps what it has once accepted.


def _unit(keys, dtype):
    """One uniform number in [0, 1) a key."""
    return lax.sub(in_one_to_two(keys, (), dtype), dtype.type(1))


def _normal_a_key(keys, dtype):
    low, one = np.nextafter(dtype.type(-1), dtype.type(0)), dtype.type(1)
    u = lax.max(low, lax.add(lax.mul(_unit(keys, dtype), one - low), low))
    return lax.mul(dtype.type(np.sqrt(2)), published_erf_inv(u))


def _each_split(keys, count):
    split = random_split_p.bind(keys, shape=(count,))
    return [lax.index_in_dim(split, i, 1, keepdims=False) for i in range(count)]


def _chosen_keys(condition, keys, others):
    """`select` on the keys' words."""
    words, other_words = random_unwrap(keys), random_unwrap(others)
    condition = lax.broadcast_in_dim(condition, words.shape, (0,))
    return random_wrap(lax.select(condition, words, other_words), impl=keys.dtype._impl)


def _cubes_program(keys, c, active):
    """`_cubes` for the active elements."""
    dtype = c.dtype

    def going(state):
        return jnp.any(lax.le(state[2], dtype.type(0)))

    def body(state):
        keys, x, v = state
        todo = lax.le(v, dtype.type(0))
        later, drawn = _each_split(keys, 2)
        new = _normal_a_key(drawn, dtype)
        root = lax.add(dtype.type(1), lax.mul(new, c))
        return (_chosen_keys(todo, later, keys), lax.select(todo, new, x),
                lax.select(todo, root, v))

    start = lax.select(active, lax.full_like(c, -1), lax.full_like(c, 1))
    _, x, v = lax.while_loop(going, body, (keys, lax.full_like(c, 0), start))
    return x, v


def _log_gamma_program(keys, a):
    """As `_reference_log_gamma`."""
    dtype = a.dtype
    one, third = dtype.type(1), dtype.type(1 / 3)
    plain = lax.ge(a, one)
    d = lax.sub(lax.select(plain, a, lax.add(a, one)), third)
    c = lax.div(lax.full_like(d, third), lax.sqrt(d))
    keys, boost_keys = _each_split(keys, 2)

    def rejected(x_2, v, u):
        squeeze = lax.sub(one, lax.mul(dtype.type(0.0331), lax.mul(x_2, x_2)))
        bound = lax.add(lax.mul(x_2, dtype.type(0.5)),
                        lax.mul(d, lax.add(lax.sub(one, v), lax.log(v))))
        return lax.bitwise_and(lax.ge(u, squeeze), lax.ge(lax.log(u), bound))

    def body(state):
        keys, *kept = state
        todo = rejected(*kept)
        later, cube_keys, uniform_keys = _each_split(keys, 3)
        x, root = _cubes_program(cube_keys, c, todo)
        new = (lax.mul(x, x), lax.mul(lax.mul(root, root), root), _unit(uniform_keys, dtype))
        return (_chosen_keys(todo, later, keys),
                *[lax.select(todo, n, k) for n, k in zip(new, kept, strict=True)])

    start = (keys, lax.full_like(d, 0), lax.full_like(d, 1), lax.full_like(d, 2))
    v = lax.while_loop(lambda state: jnp.any(rejected(*state[1:])), body, start)[2]
    log_u = lax.log1p(lax.neg(_unit(boost_keys, dtype)))
    unboosted = lax.bitwise_or(plain, lax.eq(log_u, dtype.type(0)))
    zero = lax.full_like(d, 0)
    log_boost = lax.select(unboosted, zero, lax.mul(log_u, lax.div(lax.full_like(a, 1), a)))
    return lax.mul(d, v), lax.add(lax.add(lax.log(d), lax.log(v)), log_boost), log_boost


def _random_gamma_program(avals, raw, a, *, log_space):
    keys = random_wrap(raw, impl=avals[0].dtype._impl)
    count = math.prod(a.shape[len(keys.shape):])
    keys = lax.reshape(random_split_p.bind(keys, shape=(count,)), (a.size,))
    plain, logs, log_boost = _log_gamma_program(keys, lax.reshape(a, (a.size,)))
    return lax.reshape(logs if log_space else lax.mul(plain, lax.exp(log_boost)), a.shape)


define_decomposition(random_gamma_p, _random_gamma_program)


def _random_gamma_jvp(t, answer, keys, a, *, log_space):
    if not log_space:
        return lax.mul(t, lax.random_gamma_grad(a, answer))
    sample = lax.exp(answer)
    tiny = lax.full_like(sample, dtypes.finfo(dtype_of(sample)).tiny)
    sample = lax.select(lax.eq(sample, lax.full_like(sample, 0)), tiny, sample)
    return lax.mul(t, lax.div(lax.random_gamma_grad(a, sample), sample))


def _random_gamma_batch(args, dims, *, log_space):
    keys, a = (at_front(x, d, batch_size(args, dims)) for x, d in zip(args, dims, strict=True))
    return random_gamma_p.bind(keys, a, log_space=log_space), 0


define_jvp_from_answer(random_gamma_p, None, _random_gamma_jvp)
define_batch(random_gamma_p, _random_gamma_batch)

# --- gamma -------------------------------------------------------------------------------------


def gamma(key, a, shape=None, dtype=None, *, out_sharding=None):
    """Gamma random numbers of shape parameter `a` and scale 1."""
    check_out_sharding("gamma", out_sharding)
    key = one_key("gamma", key)
    dtype = float_dtype("gamma", dtype)
    return _gamma(key, a, sample_shape("gamma", shape, a), dtype)


def loggamma(key, a, shape=None, dtype=None, *, out_sharding=None):
    """Logarithms of gamma random numbers, accurate for small `a`."""
    check_out_sharding("loggamma", out_sharding)
    key = one_key("loggamma", key)
    dtype = float_dtype("loggamma", dtype)
    return _gamma(key, a, sample_shape("gamma", shape, a), dtype, log_space=True)


@jit(static_argnames=("shape", "dtype", "log_space"))
def _gamma(key, a, shape, dtype, log_space=False):
    return random_gamma_p.bind(key, spread(as_dtype(a, dtype), shape), log_space=log_space)


# --- ratios of gammas --------------------------------------------------------------------------


def beta(key, a, b, shape=None, dtype=None, *, out_sharding=None):
    """Beta random numbers."""
    check_out_sharding("beta", out_sharding)
    key = one_key("beta", key)
    dtype = float_dtype("beta", dtype)
    return _beta(key, a, b, sample_shape("beta", shape, a, b), dtype)


@jit(static_argnums=(3, 4))
def _beta(key, a, b, shape, dtype):
    a, b = as_dtype(a, dtype), as_dtype(b, dtype)
    key_a, key_b = split_keys(key)
    a, b = spread(a, shape), spread(b, shape)
    log_a, log_b = loggamma(key_a, a, shape, dtype), loggamma(key_b, b, shape, dtype)
    largest = lax.max(log_a, log_b)                       # so that one of the two does not vanish
    gamma_a = lax.exp(lax.sub(log_a, largest))
    gamma_b = lax.exp(lax.sub(log_b, largest))
    return lax.div(gamma_a, lax.add(gamma_a, gamma_b))


def dirichlet(key, alpha, shape=None, dtype=None, *, out_sharding=None):
    """Points of a simplex; `shape` is that of the batch, the last axis of alpha stays."""
    check_out_sharding("dirichlet", out_sharding)
    key = one_key("dirichlet", key)
    dtype = float_dtype("dirichlet", dtype)
    alpha = jnp.asarray(alpha)
    if alpha.ndim < 1:
        raise ValueError(f"dirichlet requires alpha.ndim >= 1, got alpha.ndim == {alpha.ndim}")
    shape = alpha.shape[:-1] if shape is None else sample_shape(
        "dirichlet", shape, np.empty(alpha.shape[:-1], bool))
    return _dirichlet(key, alpha, shape, dtype)


@jit(static_argnums=(2, 3))
def _dirichlet(key, alpha, shape, dtype):
    logs = loggamma(key, as_dtype(alpha, dtype), (*shape, shape_of(alpha)[-1]), dtype)
    largest = lax.stop_gradient(jnp.max(logs, axis=-1, keepdims=True, initial=-jnp.inf))
    weights = lax.exp(lax.sub(logs, largest))
    return lax.div(weights, jnp.sum(weights, axis=-1, keepdims=True))


def chisquare(key, df, shape=None, dtype=None, *, out_sharding=None):
    """Chi-square random numbers."""
    check_out_sharding("chisquare", out_sharding)
    key = one_key("chisquare", key)
    dtype = float_dtype("chisquare", dtype)
    return _chisquare(key, df, sample_shape("chisquare", shape, df), dtype)


@jit(static_argnums=(2, 3))
def _chisquare(key, df, shape, dtype):
    two = dtype.type(2)
    logs = loggamma(key, lax.div(as_dtype(df, dtype), _two_like(df, two)), shape, dtype)
    return lax.mul(lax.exp(logs), two)


def _two_like(x, two):
    return lax.full(shape_of(x), two) if shape_of(x) else two


def f(key, dfnum, dfden, shape=None, dtype=None, *, out_sharding=None):
    """Random numbers of the F distribution."""
    check_out_sharding("f", out_sharding)
    key = one_key("f", key)
    dtype = float_dtype("f", dtype)
    return _f(key, dfnum, dfden, sample_shape("f", shape, dfnum, dfden), dtype)


@jit(static_argnums=(3, 4))
def _f(key, dfnum, dfden, shape, dtype):
    dfden, dfnum = as_dtype(dfden, dtype), as_dtype(dfnum, dtype)
    key_den, key_num = split_keys(key)
    top, bottom = chisquare(key_num, dfnum, shape, dtype), chisquare(key_den, dfden, shape, dtype)
    return lax.div(lax.div(top, aligned(shape, dfnum)), lax.div(bottom, aligned(shape, dfden)))


def t(key, df, shape=None, dtype=None, *, out_sharding=None):
    """Random numbers of Student's t distribution."""
    check_out_sharding("t", out_sharding)
    key = one_key("t", key)
    dtype = float_dtype("t", dtype)
    return _t(key, df, sample_shape("t", shape, df), dtype)


@jit(static_argnums=(2, 3))
def _t(key, df, shape, dtype):
    df = as_dtype(df, dtype)
    normal_key, gamma_key = split_keys(key)
    z = normal(normal_key, shape, dtype)
    half = lax.div(df, _two_like(df, dtype.type(2)))
    g = gamma(gamma_key, half, shape, dtype)
    return lax.mul(z, lax.sqrt(lax.div(aligned(shape, half), g)))


# --- generalised normal, balls -----------------------------------------------------------------


def generalized_normal(key, p, shape=(), dtype=None, *, out_sharding=None):
    """Random numbers of density proportional to exp(-|x|^p)."""
    check_out_sharding("generalized_normal", out_sharding)
    key = one_key("generalized_normal", key)
    dtype = float_dtype("gamma", dtype)
    return _generalized_normal(key, p, given_shape(shape), dtype)


@jit(static_argnums=(2, 3))
def _generalized_normal(key, p, shape, dtype):
    gamma_key, sign_key = split_keys(key)
    sizes = gamma(gamma_key, jnp.divide(1.0, p), shape, dtype)
    signs = rademacher(sign_key, shape, dtype)
    return lax.mul(signs, lax.pow(sizes, as_dtype(jnp.divide(1.0, p), dtype)))


def ball(key, d, p=2, shape=(), dtype=None, *, out_sharding=None):
    """Points uniform in the unit ball of d dimensions in the p-norm."""
    check_out_sharding("ball", out_sharding)
    key = one_key("ball", key)
    dtype = float_dtype("gamma", dtype)
    return _ball(key, p, d, given_shape(shape), dtype)


@jit(static_argnums=(2, 3, 4))
def _ball(key, p, d, shape, dtype):
    """Barthe, Guédon, Mendelson and Naor (2005)."""
    direction_key, radius_key = split_keys(key)
    g = generalized_normal(direction_key, p, (*shape, d), dtype)
    e = exponential(radius_key, shape, dtype)
    norm = jnp.power(jnp.add(jnp.sum(jnp.power(lax.abs(g), p), axis=-1), e), jnp.divide(1.0, p))
    return lax.div(g, lax.expand_dims(norm, (len(shape),)))


__all__ = ["ball", "beta", "chisquare", "dirichlet", "f", "gamma", "generalized_normal",
           "loggamma", "random_gamma_p", "t"]
