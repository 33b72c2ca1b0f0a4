"""Eager histograms of given edges are one program, as those of a number of bins are."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp


@pytest.mark.parametrize("kind", [list, tuple, np.asarray, jnp.asarray])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("density", [False, True])
def test_given_edges(kind, weighted, density):
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, (50, 40)).astype(np.float32)
    weights = rng.integers(0, 4, x.shape).astype(np.float32) if weighted else None
    edges = [-7.0, -2.5, 0.0, 1.0, 4.0, 8.0]
    found, at = jnp.histogram(x, kind(edges), weights=weights, density=density)
    expected, _ = np.histogram(x, edges, weights=weights, density=density)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_array_equal(at, np.float32(edges))
    jitted = jax.jit(lambda x, e: jnp.histogram(x, e, weights=weights, density=density)[0])
    np.testing.assert_array_equal(jitted(x, np.float32(edges)), found)


def test_edges_that_are_none():
    with pytest.raises(ValueError, match="1d"):
        jnp.histogram(np.ones(3), [[0.0, 1.0], [1.0, 2.0]])
    counts, edges = jnp.histogram(np.ones(3, np.float32), [0.0])
    assert counts.shape == (0,) and edges.shape == (1,)
