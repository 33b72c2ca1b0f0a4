"""Long chains of elementwise operations: kernels leave off at the same places."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.fuse.build_kernel import MAX_CHAIN
from jitney.fuse.cut_chains import MOST, MOST_VALUES, cut_chains
from jitney.lower.build_graph import build_graph


def recurrence(np, x, steps):
    """Each value of the two before it."""
    x, before = 0.5 * x, x
    for _ in range(steps):
        x, before = np.sin(x) * 0.7 + 0.3 * before, x
    return x


def many_before(np, x, steps, width):
    """Each value of one that lies `width` steps back."""
    values = [x * (1 + i) for i in range(width)]
    for i in range(steps):
        values.append(0.5 * values[-1] + 0.25 * values[-width] + 0.01 * i)
    return values[-1]


def graph_of(fun, *arguments):
    return build_graph(jax.make_jaxpr(fun)(*arguments), "tested")[0]


def kernels(fun, *arguments) -> int:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels").count("] kernel")


@pytest.mark.parametrize("steps", [10, 100, 400])
@pytest.mark.parametrize("shape", [(), (7,), (30, 40)])
def test_as_numpy(steps, shape):
    with jax.enable_x64(True):
        x = np.random.default_rng(steps).random(shape)
        found = jax.jit(lambda x: recurrence(jnp, x, steps))(x)
        np.testing.assert_allclose(found, recurrence(np, x, steps), 1e-11, 1e-13)


@pytest.mark.parametrize("width", [2, 5, MOST_VALUES, 20])
def test_values_from_far_back(width):
    with jax.enable_x64(True):
        x = np.random.default_rng(width).random((20, 30))
        found = jax.jit(lambda x: many_before(jnp, x, 300, width))(x)
        np.testing.assert_allclose(found, many_before(np, x, 300, width), 1e-12, 1e-12)


def test_the_number_of_kernels_grows_with_the_length():
    x = np.ones((40, 50), np.float32)
    counts = [kernels(lambda x, n=n: recurrence(jnp, x, n), x) for n in (50, 400, 800)]
    nodes = [4 * n for n in (50, 400, 800)]
    assert counts[0] == 1
    for count, length in zip(counts[1:], nodes[1:]):
        assert length / MAX_CHAIN <= count <= length / MOST * 2


def test_short_chains_are_left_whole():
    x = np.ones((40, 50), np.float32)
    graph = graph_of(lambda x: recurrence(jnp, x, 70), x)
    assert cut_chains(graph, frozenset()) == {}


def test_cuts_hold_few_values():
    x = np.ones((40, 50), np.float32)
    for width in (2, 5):
        graph = graph_of(lambda x, width=width: many_before(jnp, x, 500, width), x)
        cuts = cut_chains(graph, frozenset())
        numbers = list(cuts.values())
        assert len(set(numbers)) >= 3
        assert max(map(numbers.count, numbers)) <= width + 1


def test_gradients_of_chains():
    x = np.linspace(0.1, 1, 60, dtype=np.float32).reshape(3, 20)
    found = jax.jit(jax.grad(lambda x: recurrence(jnp, x, 200).sum()))(x)
    ahead = jax.jit(lambda x: jax.jvp(lambda x: recurrence(jnp, x, 200), (x,), (jnp.ones_like(x),)))
    np.testing.assert_allclose(found, ahead(x)[1], 1e-4, 1e-6)
