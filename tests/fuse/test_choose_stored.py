"""What is soon made of stored arrays is not stored itself."""

import re

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

X = np.random.default_rng(0).standard_normal((512, 256)).astype("float32")


def gated(x):
    """Of a hyperbolic tangent; what it is multiplied with is read again."""
    return ((jax.nn.gelu(x[:, :128]) * x[:, 128:]) ** 2).mean()


def above_nought(x):
    y = (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5)
    return (jax.nn.relu(y * 2 + 1) ** 2).mean()


def steps_of(fun, *arguments) -> tuple[int, int]:
    """(kernels, bytes of workspace)."""
    text = jax.jit(fun).lower(*arguments).compile().as_text()
    return text.count("] kernel "), int(re.search(r"workspace (\d+)", text)[1])


@pytest.mark.parametrize("loss", [gated, above_nought])
def test_values_and_gradients(loss):
    both = jax.value_and_grad(loss)
    value, gradient = jax.jit(both)(X)
    with jax.disable_jit():
        want, slope = both(X)
    np.testing.assert_allclose(value, want, rtol=1e-5)
    np.testing.assert_allclose(gradient, slope, rtol=1e-3, atol=1e-7)


def test_what_is_stored():
    """Of the gated unit the tangent, its half, and the product; of the other one array."""
    assert steps_of(jax.value_and_grad(gated), X)[0] <= 6
    assert steps_of(jax.value_and_grad(above_nought), X)[1] <= 1.1 * X.nbytes
