"""Functions made of logarithms and exponentials: logit, entropies, Box-Cox; sums of exponentials.

In: numbers that become floating. Out: floating arrays.
Invariant: 0 · log 0 is 0.
"""

from __future__ import annotations

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.custom_derivatives import custom_jvp
from jitney.nn import normalisation
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import dtype_of, promote_args_inexact, shape_of

logsumexp = normalisation.logsumexp

# --- logistic ----------------------------------------------------------------------------------


@inlined
def expit(x):
    """1 / (1 + exp(-x))."""
    (x,) = promote_args_inexact("expit", x)
    return lax.logistic(x)


@custom_jvp
@inlined
def logit(x):
    """log(x / (1 - x))."""
    (x,) = promote_args_inexact("logit", x)
    return lax.log(x / (1 - x))


logit.defjvps(lambda t, answer, x: t / (x * (1 - x)))


def softmax(x, /, *, axis=None):
    """exp(x) / Σ exp(x), over all axes by default."""
    return normalisation.softmax(x, axis=axis)


def log_softmax(x, /, *, axis=None):
    """x - log Σ exp(x), over all axes by default."""
    return normalisation.log_softmax(x, axis=axis)


# --- x log y -----------------------------------------------------------------------------------


def _product(x, y, logarithm):
    """x · logarithm(y), 0 where x is 0 (and y is a number)."""
    counts = (x != 0) | (y != y)
    product = x * logarithm(y)
    return jnp.where(counts, product, jnp.zeros_like(product))


@custom_jvp
@inlined
def xlogy(x, y):
    """x log y, 0 where x is 0."""
    x, y = promote_args_inexact("xlogy", x, y)
    return _product(x, y, lax.log)


@xlogy.defjvp
def _xlogy_jvp(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    out = xlogy(x, y)
    return out, (dx * jnp.log(y) + dy * x / y).astype(out.dtype)


@custom_jvp
@inlined
def xlog1py(x, y):
    """x log(1 + y), 0 where x is 0."""
    x, y = promote_args_inexact("xlog1py", x, y)
    return _product(x, y, lax.log1p)


@xlog1py.defjvp
def _xlog1py_jvp(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    out = xlog1py(x, y)
    return out, (dx * jnp.log1p(y) + dy * x / (1 + y)).astype(out.dtype)


@custom_jvp
@inlined
def _xlogx(x):
    return xlogy(x, x)


@_xlogx.defjvp
def _xlogx_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return _xlogx(x), t * (jnp.log(x) + 1)


# --- entropies ---------------------------------------------------------------------------------


@inlined
def entr(x):
    """-x log x; -inf for negative x."""
    (x,) = promote_args_inexact("entr", x)
    bottom = lax.full(shape_of(x), dtype_of(x).type(-np.inf))
    return lax.select(x < 0, bottom, lax.neg(_xlogx(x)))


@inlined
def rel_entr(p, q):
    """p log(p / q); inf where p > 0 = q or either is negative."""
    p, q = promote_args_inexact("rel_entr", p, q)
    positive = (p > 0) & (q > 0)
    zero = (p == 0) & (q >= 0)
    safe_p, safe_q = jnp.where(positive, p, 1), jnp.where(positive, q, 1)
    inside = lax.sub(_xlogx(safe_p), xlogy(safe_p, safe_q))
    return jnp.where(positive, inside, jnp.where(zero, 0.0, jnp.inf).astype(dtype_of(inside)))


@inlined
def kl_div(p, q):
    """p log(p / q) - p + q."""
    p, q = promote_args_inexact("kl_div", p, q)
    return rel_entr(p, q) - p + q


# --- Box-Cox -----------------------------------------------------------------------------------


def _boxcox(log_x, power):
    flat = power == 0
    safe = jnp.where(flat, jnp.ones_like(power), power)
    return jnp.where(flat, log_x, lax.expm1(safe * log_x) / safe)


@inlined
def boxcox(x, lmbda):
    """(x^λ - 1) / λ, log x for λ = 0."""
    x, lmbda = promote_args_inexact("boxcox", x, lmbda)
    return _boxcox(lax.log(x), lmbda)


@inlined
def boxcox1p(x, lmbda):
    """((1 + x)^λ - 1) / λ, log(1 + x) for λ = 0."""
    x, lmbda = promote_args_inexact("boxcox1p", x, lmbda)
    return _boxcox(lax.log1p(x), lmbda)


__all__ = [
    "boxcox", "boxcox1p", "entr", "expit", "kl_div", "log_softmax", "logit", "logsumexp",
    "rel_entr", "softmax", "xlog1py", "xlogy",
]
