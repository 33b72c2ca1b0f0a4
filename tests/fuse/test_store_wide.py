"""Sums of many arrays that several kernels need are stored; those of one kernel are not."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.fuse.store_wide import MOST_READ, store_wide
from jitney.lower.build_graph import build_graph


def residual(np, weights, x):
    for w in weights:
        x = np.tanh(x @ w) + x
    return x


def loss(weights, x):
    return (residual(jnp, weights, x) ** 2).sum()


def graph_of(fun, *arguments):
    return build_graph(jax.make_jaxpr(fun)(*arguments), "tested")[0]


def kernels(fun, *arguments) -> list[str]:
    text = jax.explain(fun, *arguments, rounds=1).as_text("kernels")
    return text.split("] kernel")[1:]


@pytest.mark.parametrize("layers", [1, 3, 12, 40])
def test_gradients_of_residual_networks(layers):
    rng = np.random.default_rng(layers)
    weights = [0.2 * rng.standard_normal((12, 12)).astype(np.float32) for _ in range(layers)]
    x = rng.standard_normal((20, 12)).astype(np.float32)
    found = jax.jit(jax.grad(loss, 1))(weights, x)
    with jax.enable_x64(True):
        wide = [w.astype(np.float64) for w in weights]
        expected = jax.grad(loss, 1)(wide, x.astype(np.float64))
    np.testing.assert_allclose(found, expected, 2e-3, 1e-3)


def test_no_kernel_reads_all_layers():
    weights = [np.ones((64, 64), np.float32)] * 30
    x = np.ones((200, 64), np.float32)
    found = kernels(jax.grad(loss, 1), weights, x)
    buffers = [k.split("buffers ")[1].splitlines()[0].count("f32:in") for k in found]
    assert max(buffers) <= MOST_READ + 4


def test_sums_of_one_kernel_are_not_stored():
    arrays = [np.ones((50, 60), np.float32)] * 9

    def one(*arrays):
        total = sum(arrays)
        return total * jnp.tanh(total)

    assert store_wide(graph_of(one, *arrays), frozenset()) == set()
    assert len(kernels(one, *arrays)) == 1


def test_rows_of_biases_do_not_count():
    rows = [np.ones(60, np.float32)] * 9
    x = np.ones((50, 60), np.float32)

    def shared(x, *rows):
        total = x
        for row in rows:
            total = total + row
        return total @ total.T, jnp.cumsum(total, 0)

    assert store_wide(graph_of(shared, x, *rows), frozenset()) == set()


def test_what_two_kernels_read_is_stored_once():
    arrays = [np.ones((64, 64), np.float32) * i for i in range(9)]

    def shared(*arrays):
        total = sum(arrays)
        return jnp.cumsum(total, 0), jnp.sort(total + 1, 1)

    stored = store_wide(graph_of(shared, *arrays), frozenset())
    assert len(stored) >= 1
    found = jax.jit(shared)(*arrays)
    np.testing.assert_allclose(found[0], np.cumsum(sum(arrays), 0), 1e-5)
    np.testing.assert_allclose(found[1], np.sort(sum(arrays) + 1, 1), 1e-5)
