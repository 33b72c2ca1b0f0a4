"""Reductions of bits: whatever the axes, what is left out, and what they begin with."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

NAMES = ("bitwise_and", "bitwise_or", "bitwise_xor")


def same(got, want):
    got = np.asarray(got)
    assert got.dtype == np.asarray(want).dtype and got.shape == np.shape(want)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "bool"])
@pytest.mark.parametrize("axis", [0, 1, -1, (0, 2), None])
def test_reductions_of_bits(name, dtype, axis):
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2 if dtype == "bool" else 100, (5, 6, 7)).astype(dtype)
    ours, theirs = getattr(jnp, name).reduce, getattr(np, name).reduce
    chosen = rng.random((6, 7)) > 0.4
    for keepdims in (False, True):
        same(ours(x, axis=axis, keepdims=keepdims), theirs(x, axis=axis, keepdims=keepdims))
        same(ours(x, axis=axis, keepdims=keepdims, where=chosen),
             theirs(x, axis=axis, keepdims=keepdims, where=np.broadcast_to(chosen, x.shape)))
    if dtype != "bool":
        same(ours(x, axis=axis, initial=5), theirs(x, axis=axis, initial=5))


@pytest.mark.parametrize("name", NAMES)
def test_of_nothing_and_under_transformations(name):
    ours, theirs = getattr(jnp, name).reduce, getattr(np, name).reduce
    same(ours(np.zeros((0, 3), np.int32)), theirs(np.zeros((0, 3), np.int32)))
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    same(jax.vmap(ours)(x), theirs(x, axis=1))
    same(jax.jit(ours)(x), theirs(x))
    assert "scan" not in str(jax.make_jaxpr(ours)(x))
    with pytest.raises(TypeError, match="integers or booleans, not float32"):
        ours(np.ones(3, np.float32))
