"""Indices of gathers are clamped in the type they have, and are right at its ends."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

INDICES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def as_int32(i):
    """JAX's gather has int32 indices for arrays of fewer elements than that counts."""
    return (i + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize("dtype", INDICES)
@pytest.mark.parametrize("length", [1, 5, 100, 300, 70_000])
def test_every_type_of_index(dtype, length):
    info = np.iinfo(dtype)
    drawn = np.array([info.min, info.min + 1, 0, 1, 4, 99, 127, info.max - 1, info.max], dtype)
    table = np.arange(length, dtype=np.float32) * 3
    with jax.enable_x64(True):
        clipped = jax.jit(lambda t, i: t.at[i].get(mode="clip"))(table, drawn)
        filled = jax.jit(lambda t, i: t.at[i].get(mode="fill", fill_value=-1))(table, drawn)
    wrapped = [as_int32(int(i) + length if i < 0 else int(i)) for i in drawn]
    expected = [table[min(max(i, 0), length - 1)] for i in wrapped]
    np.testing.assert_array_equal(clipped, expected)
    inside = [table[i] if 0 <= i < length else -1 for i in wrapped]
    np.testing.assert_array_equal(filled, inside)


def test_short_indices_stay_short():
    table, index = jnp.zeros(1000), jnp.zeros(4096, jnp.int32)
    text = jax.explain(lambda t, i: t.at[i].get(mode="clip"), table, index, rounds=1)
    kernels = text.as_text("kernels")
    assert "i32=max" in kernels and "i64=max" not in kernels
