"""Functions of whole axes: log-sum-exp, softmax, standardisation, one-hot encoding.

In: an array, axes, optionally a mask of the elements that count. Out: an array.
Invariant: the maximum is subtracted before exp, and carries no derivative, so that nothing
overflows and gradients stay finite.
"""

from __future__ import annotations

import math
import operator

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.base import dtypes, errors
from jitney.core.trace import Tracer
from jitney.lax.nary import filled
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import arraylike, canonical_axes, promote_args_inexact

# --- log-sum-exp -------------------------------------------------------------------------------


@inlined(static_argnames=("axis", "keepdims", "return_sign"))
def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False, where=None):
    """log Σ b exp(a) over axes, and the sum's sign when asked for."""
    if b is None:
        (a,) = promote_args_inexact("logsumexp", a)
    else:
        a, b = promote_args_inexact("logsumexp", a, b)
    a = jnp.asarray(a)
    if where is not None:
        a = jnp.where(where, a, 0)
    if b is not None:
        a = jnp.where(b != 0, a, -jnp.inf)
    axes = canonical_axes(axis, a.ndim)
    largest = jnp.max(a.real, axis=axes, keepdims=keepdims, where=where, initial=-jnp.inf)
    largest = lax.select(lax.is_finite(largest), largest, filled(largest, 0))
    largest = lax.stop_gradient(largest)
    spread = largest if keepdims else lax.expand_dims(largest, axes)
    terms = lax.exp(lax.sub(a, spread.astype(a.dtype)))
    if b is not None:
        terms = lax.mul(terms, b) if jnp.shape(b) == terms.shape else terms * b
    total = jnp.sum(terms, axis=axes, keepdims=keepdims, where=where)
    is_complex = dtypes.is_complex(total.dtype)
    sign = lax.sign(total)
    if return_sign or not is_complex:
        total = lax.abs(total)
    out = lax.add(lax.log(total), largest.astype(total.dtype))
    if return_sign:
        return out, sign
    if b is not None and not is_complex:
        out = jnp.where(sign < 0, out.dtype.type(np.nan), out)
    return out


@jit(static_argnames=("axis", "keepdims"))
def logmeanexp(x, axis=None, where=None, keepdims=False):
    """log of the mean of exp(x) over axes."""
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    if where is None:
        shape = jnp.shape(x)
        count = total.dtype.type(math.prod(shape[i] for i in canonical_axes(axis, len(shape))))
    else:
        counts = jnp.broadcast_to(where, jnp.shape(x))
        count = jnp.sum(counts, axis=axis, dtype=total.dtype, keepdims=keepdims)
    return total - lax.log(count)


# --- softmax -----------------------------------------------------------------------------------


def _shifted(name, x, axis, where):
    """(x minus its maximum, exp of that), the maximum taken where it counts."""
    x = jnp.asarray(arraylike(name, x))
    largest = jnp.max(x, axis, where=where, initial=-jnp.inf, keepdims=True)
    x = x if where is None else jnp.where(where, x, -jnp.inf)
    shifted = x - lax.stop_gradient(largest)
    return shifted, jnp.exp(shifted)


@inlined(static_argnames=("axis",))
def softmax(x, axis=-1, where=None):
    """exp(x) / Σ exp(x) over axes; 0 where not `where`."""
    _, weights = _shifted("softmax", x, axis, where)
    result = weights / jnp.sum(weights, axis, where=where, keepdims=True)
    return result if where is None else jnp.where(where, result, 0)


@jit(static_argnames=("axis",))
def log_softmax(x, axis=-1, where=None):
    """x - log Σ exp(x) over axes; -inf where not `where`."""
    shifted, weights = _shifted("log_softmax", x, axis, where)
    result = shifted - jnp.log(jnp.sum(weights, axis, where=where, keepdims=True))
    return result if where is None else jnp.where(where, result, -jnp.inf)


# --- standardisation ---------------------------------------------------------------------------


@jit(static_argnames=("axis", "algorithm"))
def standardize(x, axis=-1, mean=None, variance=None, epsilon=1e-5, where=None, *,
                algorithm="fast"):
    """(x - mean) / √(variance + epsilon) over axes.

    "fast": the variance is mean(x²) - mean(x)²; "stable": mean((x - mean)²).
    """
    (x,) = promote_args_inexact("standardize", x)
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        if algorithm == "fast":
            mean_square = jnp.mean(jnp.square(x), axis, keepdims=True, where=where)
            variance = jnp.clip(mean_square - jnp.square(mean), 0)
        elif algorithm == "stable":
            variance = jnp.mean(jnp.square(x - mean), axis, keepdims=True, where=where)
        else:
            raise ValueError(f"Unknown algorithm {algorithm!r}. Expected 'fast' or 'stable'.")
    return jnp.subtract(x, jnp.asarray(mean)) * lax.rsqrt(jnp.asarray(variance) + epsilon)


# --- one-hot encoding --------------------------------------------------------------------------


def one_hot(x, num_classes, *, dtype=None, axis=-1):
    """Indices as rows of zeros with a single 1; all zeros for indices out of range.

    >>> one_hot(jnp.array([0, 2]), 3)
    Array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    if isinstance(num_classes, Tracer):
        raise errors.ConcretizationTypeError(
            num_classes, "The error arose in jax.nn.one_hot argument `num_classes`.")
    dtype = dtypes.canonicalize_dtype(float if dtype is None else dtype)
    return _one_hot(jnp.asarray(x), operator.index(num_classes), dtype, operator.index(axis))


@jit(static_argnums=(1, 2, 3))
def _one_hot(x, num_classes, dtype, axis):
    rank = x.ndim + 1
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {rank}")
    axis %= rank
    shape = [1] * rank
    shape[axis] = num_classes
    return (lax.expand_dims(x, (axis,)) == lax.broadcasted_iota(x.dtype, shape, axis)).astype(dtype)


__all__ = ["log_softmax", "logmeanexp", "logsumexp", "one_hot", "softmax", "standardize"]
