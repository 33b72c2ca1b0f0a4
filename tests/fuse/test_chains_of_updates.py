"""A chain of updates longer than Python's stack is made in one place, one after the other."""

import numpy as np

import jitney as jax
import jitney.numpy as jnp


def test_a_thousand_updates():
    def program(x):
        for i in range(1500):
            x = x.at[i % 97].set(x[(i + 1) % 97] + 1)
        return x

    expected = np.arange(97, dtype=np.float32)
    for i in range(1500):
        expected[i % 97] = expected[(i + 1) % 97] + 1
    np.testing.assert_array_equal(jax.jit(program)(jnp.arange(97.0)), expected)


def test_long_division():
    random = np.random.default_rng(0)
    above, below = random.random(1024).astype(np.float32), random.random(9).astype(np.float32)
    quotient, _ = jax.jit(jnp.polydiv)(above, below + 1)
    assert quotient.shape == (1016,)
    np.testing.assert_allclose(quotient[:20], np.polydiv(above, below + 1)[0][:20], rtol=1e-3)
