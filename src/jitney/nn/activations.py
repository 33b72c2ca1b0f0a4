"""Activation functions.

In: an array. Out: an array of the same shape.
Functions that would have a wrong or unbounded derivative somewhere state their own.
Invariant: elementwise (glu aside), so that an activation fuses with what produces its argument.
"""

from __future__ import annotations

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.custom_derivatives import custom_jvp
from jitney.api.jit import jit
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import arraylike, promote_args_inexact

# --- piecewise linear --------------------------------------------------------------------------


@custom_jvp
@jit
def relu(x):
    """max(x, 0); the derivative at 0 is 0."""
    return jnp.maximum(x, 0)


relu.defjvps(lambda t, answer, x: lax.select(x > 0, t, lax.full_like(t, 0)))


@custom_jvp
@jit
def relu6(x):
    """min(max(x, 0), 6); the derivative at the corners is 0."""
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


relu6.defjvps(lambda t, answer, x: lax.select((x > 0) & (x < 6), t, lax.full_like(t, 0)))


@jit
def leaky_relu(x, negative_slope=1e-2):
    """x where x ≥ 0, negative_slope x elsewhere."""
    x = arraylike("leaky_relu", x)
    return jnp.where(x >= 0, x, negative_slope * x)


@jit
def hard_tanh(x):
    """x kept within [-1, 1]."""
    x = arraylike("hard_tanh", x)
    if jnp.issubdtype(x.dtype, np.unsignedinteger):
        return jnp.where(x > 1, 1, x)                   # no number below -1
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@jit
def hard_sigmoid(x):
    """relu6(x + 3) / 6."""
    return relu6(x + 3.0) / 6.0


@jit
def hard_silu(x):
    """x hard_sigmoid(x)."""
    x = jnp.asarray(arraylike("hard_silu", x))
    return x * hard_sigmoid(x)


hard_swish = hard_silu

# --- exponential -------------------------------------------------------------------------------


@inlined
def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return lax.logistic(x)


@inlined
def tanh(x, /):
    """The hyperbolic tangent."""
    return jnp.tanh(x)


@jit
def silu(x):
    """x sigmoid(x)."""
    x = jnp.asarray(arraylike("silu", x))
    return x * sigmoid(x)


swish = silu


@jit
def mish(x):
    """x tanh(softplus(x))."""
    x = jnp.asarray(arraylike("mish", x))
    return x * jnp.tanh(softplus(x))


@jit
def softplus(x):
    """log(1 + exp(x))."""
    return jnp.logaddexp(x, 0)


@jit
def log_sigmoid(x):
    """log sigmoid(x) = -softplus(-x)."""
    x = arraylike("log_sigmoid", x)
    return -softplus(-x)


@jit
def soft_sign(x):
    """x / (|x| + 1)."""
    x = jnp.asarray(arraylike("soft_sign", x))
    return x / (jnp.abs(x) + 1)


@jit
def squareplus(x, b=4):
    """(x + √(x² + b)) / 2."""
    x, b = arraylike("squareplus", x, b)
    return (x + jnp.sqrt(jnp.square(x) + b)) / 2.0


@jit
def sparse_plus(x):
    """0 up to -1, (x + 1)² / 4 up to 1, x from there."""
    x = jnp.asarray(x)
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


@jit
def sparse_sigmoid(x):
    """The derivative of sparse_plus: (x + 1) / 2 kept within [0, 1]."""
    return 0.5 * jnp.clip(x + 1.0, 0.0, 2.0)


# --- exponential linear units --------------------------------------------------------------------


@jit
def elu(x, alpha=1.0):
    """x where x > 0, alpha (exp(x) - 1) elsewhere."""
    x = jnp.asarray(arraylike("elu", x))
    # the inner choice keeps the branch not taken from overflowing
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0.0, x)))


@jit
def celu(x, alpha=1.0):
    """max(x, 0) + min(0, alpha (exp(x / alpha) - 1))."""
    x = arraylike("celu", x)
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


@jit
def selu(x):
    """The scaled elu that keeps mean 0 and variance 1 (Klambauer et al., 2017)."""
    alpha = 1.6732632423543772848170429916717
    scale = 1.0507009873554804934193349852946
    return scale * elu(x, alpha)


@inlined(static_argnames=("approximate",))
def gelu(x, approximate=True):
    """x Φ(x), by a formula with tanh when `approximate`."""
    (x,) = promote_args_inexact("gelu", x)
    x = jnp.asarray(x)
    if approximate:
        slope = np.sqrt(2 / np.pi).astype(x.dtype)
        return x * (0.5 * (1.0 + jnp.tanh(slope * (x + 0.044715 * (x ** 3)))))
    root = np.sqrt(0.5).astype(x.dtype)
    return jnp.array(0.5 * x * lax.erfc(-x * root), dtype=x.dtype)


@jit(static_argnames=("axis",))
def glu(x, axis=-1):
    """The first half along an axis, gated by the sigmoid of the second."""
    x = jnp.asarray(arraylike("glu", x))
    if x.shape[axis] % 2:
        raise AssertionError("axis size must be divisible by 2")
    first, second = jnp.split(x, 2, axis)
    return first * sigmoid(second)


# --- others --------------------------------------------------------------------------------------


@custom_jvp
@jit
def log1mexp(x):
    """log(1 - exp(-x)) for x > 0, by whichever formula loses no digits."""
    x, = promote_args_inexact("log1mexp", x)
    edge = jnp.log(2.0).astype(jnp.result_type(x))
    return jnp.where(x < edge, jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


log1mexp.defjvps(lambda t, answer, x: lax.div(t, lax.expm1(x)))


@jit
def identity(x):
    """The argument."""
    return arraylike("identity", x)


__all__ = [
    "celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh",
    "identity", "leaky_relu", "log1mexp", "log_sigmoid", "mish", "relu", "relu6", "selu",
    "sigmoid", "silu", "soft_sign", "softplus", "sparse_plus", "sparse_sigmoid", "squareplus",
    "swish", "tanh",
]
