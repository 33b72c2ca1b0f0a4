"""Small loops whose bodies fill vectors with costly operations are kernels, others one kernel."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax

RNG = np.random.default_rng(0)


def is_in_registers(fun, *arguments) -> bool:
    return "=carry" in jax.explain(fun, *arguments, rounds=1).as_text("kernels")


def forward(a, table, count=20):
    """The likelihoods of a hidden Markov chain."""
    body = lambda i, a: jax.nn.logsumexp(a[:, None] + table, 0)
    return lax.fori_loop(0, count, body, a)


@pytest.mark.parametrize("width", [1, 2, 4, 7, 8, 9, 12])
def test_values(width):
    a, table = (RNG.normal(size=s).astype(np.float32) for s in ((width,), (width, width)))
    wanted = a.astype(np.float64)
    for _ in range(20):
        wanted = np.log(np.exp(wanted[:, None] + table).sum(0))
    np.testing.assert_allclose(jax.jit(forward)(a, table), wanted, 1e-4, 1e-4)


def test_few_numbers_stay_in_registers():
    a = np.ones(4, np.float32)
    assert is_in_registers(forward, a, np.ones((4, 4), np.float32))


def test_many_exponentials_are_vectors():
    a = np.ones(8, np.float32)
    assert not is_in_registers(forward, a, np.ones((8, 8), np.float32))


def test_while_loops():
    def run(x):
        test = lambda s: s[1] < 10
        return lax.while_loop(test, lambda s: (jnp.tanh(s[0] @ s[0]) + jnp.sin(s[0]), s[1] + 1),
                              (x, 0))[0]  # fmt: skip

    x = RNG.normal(size=(6, 6)).astype(np.float32) * 0.3
    wanted = x
    for _ in range(10):
        wanted = np.tanh(wanted @ wanted) + np.sin(wanted)
    np.testing.assert_allclose(jax.jit(run)(x), wanted, 1e-3, 1e-4)
