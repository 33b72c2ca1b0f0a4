"""About twenty functions from a vector (or matrix) to an array, as material for properties."""

import numpy as np

import jitney
import jitney.nn
import jitney.numpy as jnp
from jitney import lax


@jitney.custom_jvp
def _cube(x):
    return x * x * x


_cube.defjvps(lambda t, out, x: 3.0 * t * x * x)


@jitney.custom_vjp
def _scaled_sine(x):
    return jnp.sin(x) * 2.0


_scaled_sine.defvjp(lambda x: (_scaled_sine(x), jnp.cos(x)), lambda c, g: (2.0 * g * c,))


@jitney.jit
def _jitted(x):
    return jnp.tanh(x) * jnp.sum(x)


def _attention(x):
    m = jnp.outer(x, jnp.sin(x))
    return jitney.nn.softmax(m @ m.T, axis=-1) @ m


def _updates(x):
    return x.at[1].set(x[0] * x[2]).at[0].add(3.0)


def _shared(x):
    y = _jitted(x)
    return _jitted(y) + y


FUNCTIONS = {
    "polynomial": lambda x: 3.0 * x ** 3 - x ** 2 + 1.0,
    "trigonometric": lambda x: jnp.sin(x) * jnp.cos(2.0 * x),
    "quotient": lambda x: x / (1.0 + x * x),
    "exp_log": lambda x: jnp.log(1.0 + jnp.exp(x)),
    "sum_of_squares": lambda x: jnp.sum(x ** 2),
    "mean_variance": lambda x: (x - jnp.mean(x)) / jnp.sqrt(jnp.var(x) + 0.1),
    "outer_matmul": lambda x: jnp.outer(x, x) @ x,
    "attention": _attention,
    "softmax": lambda x: jitney.nn.softmax(x),
    "logsumexp": lambda x: jitney.nn.logsumexp(x),
    "where": lambda x: jnp.where(x > 0.1, x * x, jnp.sin(x)),
    "maximum": lambda x: jnp.maximum(x, 0.3 * x[::-1]),
    "slices": lambda x: x[1:] * x[:-1],
    "gather": lambda x: x[np.array([2, 0, 2])] * x[:3],
    "updates": _updates,
    "concatenate": lambda x: jnp.concatenate([x, x[:2] ** 2]).reshape(2, 3),
    "cumsum": lambda x: jnp.cumsum(x * x),
    "sort": lambda x: jnp.sort(x) * jnp.arange(4.0),
    "pad": lambda x: jnp.pad(x, 2)[1:-1],
    "prod": lambda x: jnp.prod(x),
    "dot_general": lambda x: lax.dot(jnp.outer(x, x), jnp.outer(x, jnp.cos(x))),
    "jitted": _jitted,
    "jitted_twice": _shared,
    "custom_jvp": _cube,
    "remat": jitney.checkpoint(lambda x: jnp.sin(jnp.sin(x)) * x),
}
REVERSE_ONLY = {"custom_vjp": _scaled_sine}
POINT = np.array([0.4, -0.7, 1.3, 0.9])
