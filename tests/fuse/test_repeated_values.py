"""A costly value that the rows of a kernel would compute again and again is stored once."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

X = np.random.default_rng(0).normal(size=(400, 500)).astype(np.float32)
ROW, COLUMN = X[0].copy(), X[:, 0].copy()


def kernels(function, *args) -> int:
    program = jitney.jit(function).lower(*args).compile()
    np.testing.assert_allclose(program(*args), function(*args), rtol=2e-5, atol=2e-5)
    return program.as_text().count("] kernel")


@pytest.mark.parametrize(("function", "expected"), [
    (lambda x, r: x * jnp.exp(r), 2),
    (lambda x, r: x * (r * 2 + 1), 1),                      # cheap
    (lambda x, r: jitney.nn.softmax(x + jnp.sin(r)), 2),
    (lambda x, r: x[:, (r * 100).astype(int) % 500], 2),    # positions with a division each
    (lambda x, r: x[:10] * jnp.exp(r), 1),                  # little work
])  # fmt: skip
def test_values_of_a_row(function, expected):
    assert kernels(function, X, ROW) == expected


def test_values_of_a_column_are_computed_once_a_row():
    assert kernels(lambda x, c: x * jnp.exp(c)[:, None], X, COLUMN) == 1


def test_values_of_a_row_in_a_loop():
    """Less work is enough there: the kernel that stores them is compiled once and called often."""

    def learn(x, c, r):
        def step(_, state):
            x, r = state
            change = jnp.tanh(r) * (1.0 - jnp.tanh(r))
            return x - c[:, None] * change, r * 0.9

        return jitney.lax.fori_loop(0, 5, step, (x, r))[0]

    for x, expected in ((X[:20, :16].copy(), 1), (X[:50, :16].copy(), 2),
                        (np.tile(X[:, :16], (10, 1)), 3)):  # of few rows, states fit registers
        assert kernels(learn, x, x[:, 0].copy(), ROW[:16].copy()) == expected


def test_kernels_that_wait_for_each_other_are_never_the_last_word():
    """Storing more makes kernels of several results wait for one another, also in the last round:
    these are made apart then. (Random draws of a ball once met that and came out wrong.)"""
    key = jitney.random.key(17)
    direction, radius = jitney.random.split(key)
    x = np.asarray(jitney.random.generalized_normal(direction, 2, (64, 3)))
    e = np.asarray(jitney.random.exponential(radius, (64,)))
    want = x / np.sqrt((x**2).sum(1) + e)[:, None]
    np.testing.assert_allclose(jitney.random.ball(key, 3, shape=(64,)), want, rtol=1e-5)
