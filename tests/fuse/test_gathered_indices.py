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


INSIDE = {
    "remainder": (lambda np, t, i: t[(i * 7) % 300], 300),
    "low bits": (lambda np, t, i: t[i % 256], 256),
    "masked": (lambda np, t, i: t[i & 127], 128),
    "next on a ring": (lambda np, t, i: t[(i % 300 + 1) % 300], 300),
    "bytes": (lambda np, t, i: t[i.astype(np.uint8)], 256),
    "of two": (lambda np, t, i: t[np.where(i > 0, i % 7, 7)], 8),
    "sum of ranges": (lambda np, t, i: t[(i & 15) * 1 + (i % 9) + 3], 30),
    "minimum": (lambda np, t, i: t[np.minimum(i & 255, 99)], 100),
}


@pytest.mark.parametrize("name", INSIDE)
def test_places_whose_range_is_known_are_not_kept_inside(name):
    fun, n = INSIDE[name]
    t = np.arange(n, dtype=np.float32)
    i = np.random.default_rng(0).integers(-(2**31), 2**31, 5000).astype(np.int32)
    np.testing.assert_array_equal(jax.jit(lambda t, i: fun(jnp, t, i))(t, i), fun(np, t, i))
    text = jax.explain(lambda t, i: fun(jnp, t, i), t, i, rounds=1).as_text("kernels")
    asked = [line for line in text.splitlines() if "=max" in line or "=min" in line]
    assert len(asked) == (name == "minimum")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32"])
@pytest.mark.parametrize("divisor", [1, 2, 8, 64])
def test_remainders_by_powers_of_two(dtype, divisor):
    info = np.iinfo(dtype)
    x = np.concatenate([np.arange(-70, 70), [info.min, info.max]]).astype(dtype)
    np.testing.assert_array_equal(jax.jit(lambda x: x % divisor)(x), x % dtype_of(dtype, divisor))


def dtype_of(dtype, number):
    return np.dtype(dtype).type(number)


@pytest.mark.parametrize("count", [30, 200, 700])
def test_places_of_long_chains(count):
    def fun(np, t, i, known):
        for k in range(count):
            i = np.minimum(np.maximum(i + k, 0) - k, 1 << 20)
            known = np.minimum(known + k, 1 << 20) - k // 2
        return t[i % 100] + t[known % 100]

    t, i = np.arange(100, dtype=np.float32), np.arange(5000, dtype=np.int32)
    found = jax.jit(lambda t, i: fun(jnp, t, i, jnp.arange(5000)))(t, i)
    np.testing.assert_array_equal(found, fun(np, t, i, np.arange(5000, dtype=np.int32)))
