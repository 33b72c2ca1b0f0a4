"""Small networks: what tiny products read is stored once, as is what is spread over more."""

import re

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

RNG = np.random.default_rng(0)


def steps(fun, *arguments) -> int:
    return int(re.search(r"(\d+) fused steps", kernels(fun, *arguments))[1])


def kernels(fun, *arguments) -> str:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


def layers(width, count):
    matrix = lambda: (RNG.normal(size=(width, width)) / width**0.5).astype(np.float32)
    return [(matrix(), RNG.normal(size=width).astype(np.float32)) for _ in range(count)]


def network(lib, x, weights):
    for w, b in weights:
        x = lib.tanh(x @ w + b)
    return x


@pytest.mark.parametrize("rows", [None, 1, 4, 32])
@pytest.mark.parametrize("width", [2, 3, 4, 5, 8, 10, 16, 32])
def test_networks_are_numpys(width, rows):
    weights = layers(width, 4)
    x = RNG.normal(size=(width,) if rows is None else (rows, width)).astype(np.float32)
    np.testing.assert_allclose(
        jax.jit(lambda x: network(jnp, x, weights))(x), network(np, x, weights), 1e-4, 1e-5
    )


@pytest.mark.parametrize("width", [4, 8, 16, 32])
def test_activations_are_not_computed_for_each_column(width):
    weights, x = layers(width, 6), np.ones(width, np.float32)
    text = kernels(lambda x: network(jnp, x, weights), x)
    for kernel in text.split("\n[")[1:]:
        loops = re.search(r"rows (.*?) lane", kernel)
        if "=tanh" in kernel:  # along its elements alone, in no other loop
            assert "loops" not in kernel and loops[1].count("<") == 1, kernel
    assert steps(lambda x: network(jnp, x, weights), x) <= 12


def test_what_is_spread_is_stored_before():
    """Not the products of activations with weights, which are more."""
    w = RNG.normal(size=(4, 4)).astype(np.float32)
    x = RNG.normal(size=(32, 4)).astype(np.float32)
    fun = lambda x: (jnp.exp(x @ w)[:, :, None] * w).sum(1)
    workspace = int(re.search(r"workspace (\d+) bytes", kernels(fun, x))[1])
    assert workspace <= 2 * 4 * 32 * 4
    np.testing.assert_allclose(
        jax.jit(fun)(x), (np.exp(x @ w)[:, :, None] * w).sum(1), 1e-4, 1e-4
    )


def test_concatenations_that_products_read_are_stored():
    w = RNG.normal(size=(64, 16)).astype(np.float32)
    x = RNG.normal(size=(4, 16)).astype(np.float32)

    def fun(lib, x):
        gates = lib.concatenate([lib.tanh(x), lib.exp(x), x * x, lib.sin(x)], 1)
        return gates @ w, gates.sum(0)

    text = kernels(lambda x: fun(jnp, x), x)
    assert text.count("=tanh") == text.count("=exp ") == text.count("=sin") == 1
    for found, wanted in zip(jax.jit(lambda x: fun(jnp, x))(x), fun(np, x), strict=True):
        np.testing.assert_allclose(found, wanted, 1e-4, 1e-4)
