"""Bessel functions.

In: numbers that become floating. Out: floating arrays.
Invariant: recurrences run in the direction in which errors shrink.
"""

from __future__ import annotations

import operator

from jitney import lax
from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import promote_args_inexact


@inlined
def i0(x):
    """The modified Bessel function of order 0."""
    (x,) = promote_args_inexact("i0", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i0e(x))


@inlined
def i0e(x):
    """exp(-|x|) i0(x)."""
    (x,) = promote_args_inexact("i0e", x)
    return lax.bessel_i0e(x)


@inlined
def i1(x):
    """The modified Bessel function of order 1."""
    (x,) = promote_args_inexact("i1", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x))


@inlined
def i1e(x):
    """exp(-|x|) i1(x)."""
    (x,) = promote_args_inexact("i1e", x)
    return lax.bessel_i1e(x)


@jit(static_argnames=("v", "n_iter"))
def bessel_jn(z, *, v, n_iter=50):
    """J(0) … J(v) at z, stacked along a new first axis, by Miller's backward recurrence."""
    z, = promote_args_inexact("bessel_jn", z)
    z, v = jnp.asarray(z), operator.index(v)
    at_zero, safe = z == 0, jnp.where(z == 0, 1, z)
    after, current = jnp.zeros_like(z), jnp.full_like(z, 1e-16)
    total, kept = jnp.zeros_like(z), []
    for k in range(max(n_iter, v + 1), 0, -1):
        after, current = current, 2 * k / safe * current - after     # now of order k - 1
        if (k - 1) % 2 == 0:
            total = total + (2 if k > 1 else 1) * current
        if k - 1 <= v:
            kept.append(current)
        else:
            shrink = jnp.where(lax.abs(current) > 1e10, 1e-20, 1)    # only ratios matter
            after, current, total = after * shrink, current * shrink, total * shrink
    orders = [jnp.where(at_zero, float(order == 0), j / total)
              for order, j in enumerate(kept[::-1])]
    return jnp.stack(orders)


__all__ = ["bessel_jn", "i0", "i0e", "i1", "i1e"]
