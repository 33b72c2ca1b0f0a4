"""Exponentials of what is never above 0: found where it is so, and only there; right everywhere."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.testing.stages import check_all_stages

NEVER_ABOVE = {
    "-x x": lambda x: jnp.exp(-x * x),
    "-(x x)/2": lambda x: jnp.exp(-0.5 * x * x),
    "-(x - 1)^2/2": lambda x: jnp.exp(-((x - 1) ** 2) / 2),
    "-|x|": lambda x: jnp.exp(-jnp.abs(x)),
    "a and b": lambda x: jnp.exp(jnp.minimum(x, 0) - jnp.abs(x) * 3),
    "distances": lambda x: jnp.exp(-((x[:1] - x[:, :1]) ** 2)),
    "softmax": jax.nn.softmax,
    "of columns": lambda x: jax.nn.softmax(x, 0),
    "of an expression": lambda x: jax.nn.softmax(x * 2 + 1),
    "logarithm": jax.nn.log_softmax,
}
SOMETIMES_ABOVE = {
    "x x": lambda x: jnp.exp(x * x),
    "-x^3": lambda x: jnp.exp(-(x**3)),
    "x y": lambda x: jnp.exp(-x * x[:1]),
    "of finite ones": jax.nn.logsumexp,
    "of others": lambda x: jnp.exp(x - x[:, ::-1][:, :999].max(1, keepdims=True)),
    "the least": lambda x: jnp.exp(x - x.min(1, keepdims=True)),
    "of other rows": lambda x: jnp.exp(x - x[::-1].max(1, keepdims=True)),
}


def numbers(shape=(64, 1000), seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def is_found(fun, x) -> bool:
    text = jax.explain(fun, x, rounds=1).as_text("kernels")
    names = ("exp_nonpositive", "exp_distance", "exp_raised")  # (raise_exponentials.py)
    return any(name in text for name in names)


@pytest.mark.parametrize("name", NEVER_ABOVE)
def test_found(name):
    assert is_found(NEVER_ABOVE[name], numbers())


@pytest.mark.parametrize("name", SOMETIMES_ABOVE)
def test_not_found(name):
    assert not is_found(SOMETIMES_ABOVE[name], numbers())


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e20])
@pytest.mark.parametrize("name", [*NEVER_ABOVE, *SOMETIMES_ABOVE])
def test_as_eager(name, scale):
    fun, x = {**NEVER_ABOVE, **SOMETIMES_ABOVE}[name], numbers() * np.float32(scale)
    if scale > 2:
        x[3, 5], x[4, 7], x[6, 8] = np.inf, -np.inf, np.nan
        x[8], x[10] = -np.inf, 0
    x = jnp.asarray(x)
    np.testing.assert_allclose(jax.jit(fun)(x), fun(x), rtol=1e-4, atol=1e-30)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_stages(dtype):
    with jax.enable_x64(True):
        x = jnp.asarray(numbers((5, 70))).astype(dtype)
        check_all_stages(lambda x: jnp.exp(-x * x), x)
        check_all_stages(jax.nn.softmax, x)


@pytest.mark.parametrize("length", [1, 15, 16, 64, 65, 1000])
def test_sums_need_no_scale(length):
    """One exponential of a softmax is 1: however far below the others are, nothing overflows."""
    x = np.full((70, length), -1e30, "float32")
    x[:, length // 2] = 3.0
    expected = (np.arange(length) == length // 2).astype("float32")
    np.testing.assert_array_equal(jax.jit(jax.nn.softmax)(x), np.stack([expected] * 70))
