"""Reductions that read the same arrays are one kernel; those that need one another are not."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

PAIRS = {
    "least and greatest": lambda x, axis: (x.min(axis), x.max(axis)),
    "sum and squares": lambda x, axis: (x.sum(axis), (x * x).sum(axis)),
    "kinds": lambda x, axis: (x.min(axis), (x > 1).any(axis), x.sum(axis)),
    "shifted and scaled": lambda x, axis: ((x - 1).sum(axis), (2 * x).max(axis), x.prod(axis)),
}
SHAPES = [(300, 400), (37, 1025), (1000, 1000), (5, 7), (1, 3), (70_000, 3)]


def numbers(shape, dtype="float32"):
    return np.random.default_rng(sum(shape)).uniform(-2, 2, shape).astype(dtype)


def kernels(fun, *arguments) -> str:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PAIRS)
def test_as_numpy(name, shape, axis):
    x = numbers(shape)
    found = jax.jit(lambda x: PAIRS[name](x, axis))(x)
    with np.errstate(over="ignore", under="ignore"):
        expected = PAIRS[name](x.astype("float64"), axis)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-3 * np.sqrt(x.size))


@pytest.mark.parametrize("axis, most", [(None, 2), (0, 2), (1, 1)])
def test_what_they_share_is_read_once(axis, most):
    x = jnp.asarray(numbers((1000, 1000)))
    text = kernels(lambda x: (x.min(axis), x.max(axis), (x * x).sum(axis)), x)
    assert text.count("] kernel ") == most


def test_positions_beside_values():
    x = numbers((500, 600))
    both = lambda x: (x.max(1), x.argmax(1), x.argmin(1))
    assert kernels(both, jnp.asarray(x)).count("] kernel ") == 1
    for a, b in zip(jax.jit(both)(x), both(x), strict=True):
        np.testing.assert_array_equal(a, b)


def test_one_that_needs_the_other():
    """The second sum is about the mean of all: it cannot run beside the first."""
    x = numbers((1000, 3)) + 5
    def fun(x):
        mean = x.mean()
        return x.sum(0), jnp.abs(x - mean).sum(0)
    found = jax.jit(fun)(x)
    np.testing.assert_allclose(found[1], np.abs(x - x.mean(dtype="f8")).sum(0), rtol=1e-4)


def test_arrays_of_their_own_are_kernels_of_their_own():
    x, y = jnp.asarray(numbers((400, 500))), jnp.asarray(numbers((500, 400)).T)
    assert kernels(lambda x, y: (x.sum(1), y.sum(1)), x, y).count("] kernel ") == 2


def test_gradients_of_a_scale_and_a_shift():
    """Both are sums down the same columns."""
    def loss(scale, shift, x):
        return (jnp.tanh(x * scale + shift) ** 2).sum()
    x, scale, shift = numbers((2000, 100)), numbers((100,)), numbers((1, 100))[0]
    found = jax.jit(jax.grad(loss, (0, 1)))(scale, shift, x)
    t = np.tanh(x.astype("f8") * scale + shift)
    slope = 2 * t * (1 - t * t)
    np.testing.assert_allclose(found[0], (slope * x).sum(0), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(found[1], slope.sum(0), rtol=1e-4, atol=1e-3)
    text = kernels(jax.grad(loss, (0, 1)), scale, shift, x)
    assert text.count("=tanh") == 1


def test_the_same_for_any_number_of_siblings():
    """A sum is the same alone and beside others."""
    x = numbers((1234, 567))
    alone, beside = jax.jit(lambda x: x.sum()), jax.jit(lambda x: (x.max(), x.sum(), x.min()))
    assert float(alone(x)) == float(beside(x)[1])


def test_none_and_empty():
    x = jnp.zeros((0, 5))
    total, product = jax.jit(lambda x: (x.sum(0), x.prod(0)))(x)
    np.testing.assert_array_equal(total, np.zeros(5))
    np.testing.assert_array_equal(product, np.ones(5))
