"""Reductions have no loop along an axis of one element, which vectors would go along."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

SHAPES = [(1,), (1, 1), (5, 1), (1, 1, 9), (1, 300, 1), (2, 1, 3, 1), (40, 1), (3000, 1)]


def loops(fun, *arguments) -> list[str]:
    text = jax.explain(fun, *arguments, rounds=1).as_text("kernels")
    return [line.strip() for line in text.splitlines() if line.strip().startswith("loops")]


def rows(count):
    random = np.random.default_rng(count)
    return random.standard_normal((count, 5)).astype("float32"), random.integers(0, 5, count)


def mean_of_picked(x, labels):
    return jnp.take_along_axis(x, labels[:, None], 1).mean()


@pytest.mark.parametrize(("count", "expected"), [
    (600, ["loops v0<s0"]), (6000, ["loops v0<s0"]),
    (2_000_000, ["loops v1<s1/v0*s2", "loops v0<s0"]),  # in pieces
])  # fmt: skip
def test_what_is_picked_along_an_axis(count, expected):
    x, labels = rows(count)
    assert loops(mean_of_picked, x, labels) == expected
    want = x[np.arange(count), labels].astype("float64").mean()
    np.testing.assert_allclose(jax.jit(mean_of_picked)(x, labels), want, rtol=1e-5, atol=1e-6)


def test_what_is_stored_beside_the_sum():
    """A large array that the same kernel stores has the same loops."""
    x, labels = rows(6000)

    def fun(x, labels):
        picked = jnp.take_along_axis(x, labels[:, None], 1)
        return picked, picked.sum()

    picked, total = jax.jit(fun)(x, labels)
    np.testing.assert_array_equal(picked[:, 0], x[np.arange(6000), labels])
    np.testing.assert_allclose(total, picked.astype("float64").sum(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_all_axes(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    for ours, theirs in ((jnp.sum, np.sum), (jnp.max, np.max), (jnp.prod, np.prod)):
        got = jax.jit(lambda x, ours=ours: ours(jnp.exp(x) - 0.5))(x)
        np.testing.assert_allclose(got, theirs(np.exp(x) - np.float32(0.5)), rtol=1e-5)
    assert jax.jit(jnp.argmax)(x) == x.argmax()
    for axis in range(len(shape)):
        got = jax.jit(lambda x, axis=axis: jnp.exp(x).sum(axis))(x)
        np.testing.assert_allclose(got, np.exp(x).sum(axis), rtol=1e-5)
        np.testing.assert_array_equal(
            jax.jit(lambda x, axis=axis: jnp.argmin(x, axis))(x), x.argmin(axis)
        )
