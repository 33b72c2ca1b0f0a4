"""Many updates of few places: lists of updates with results of their own."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.fuse.scatter import SCATTER_IN_PIECES, scatter_pieces


def test_pieces_depend_on_sizes_alone():
    assert scatter_pieces("add", "f32", SCATTER_IN_PIECES - 1, 10) == 1
    assert scatter_pieces("add", "f32", 100_000, 10_000) == 4
    assert scatter_pieces("add", "f32", 10**7, 1) == 8
    assert scatter_pieces("add", "f32", 100_000, 40_000) == 1  # more to clear than to add
    assert scatter_pieces("min", "f32", 100_000, 10_000) == 4
    assert scatter_pieces("add", "f32", 20_000 * 64, 1000 * 64, 64) == 2  # vectors are soon added
    assert scatter_pieces("mul", "f32", 100_000, 10) == 1
    assert scatter_pieces("add", "bf16", 100_000, 10) == 1  # pieces would be rounded too soon


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_sums_of_many_updates(dtype):
    rng = np.random.default_rng(0)
    index = rng.integers(-3000, 3001, (50_000, 1))  # from the end as well, and one outside
    updates = rng.integers(0, 5, (50_000, 2)).astype(dtype)
    base = rng.integers(0, 5, (3000, 2)).astype(dtype)
    add = jitney.jit(lambda x, i, u: x.at[i[:, 0]].add(u))
    assert "scatter_add_pieces" in add.lower(base, index, updates).compile().as_text()
    want = base.copy()
    inside = index[:, 0] < 3000
    np.add.at(want, index[inside, 0], updates[inside])
    np.testing.assert_array_equal(add(base, index, updates), want)


@pytest.mark.parametrize("kind", ["min", "max"])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_extremes_of_many_updates(kind, dtype):
    rng = np.random.default_rng(1)
    index = rng.integers(0, 3000, 50_000)
    updates = rng.normal(scale=50, size=50_000).astype(dtype)
    base = np.full(3000, 3, dtype)
    if dtype == "float32":
        updates[rng.integers(0, 50_000, 40)] = np.nan
    fun = jitney.jit(lambda x, i, u: getattr(x.at[i], kind)(u))
    assert f"scatter_{kind}_pieces" in fun.lower(base, index, updates).compile().as_text()
    want = base.copy()
    (np.minimum if kind == "min" else np.maximum).at(want, index, updates)
    np.testing.assert_array_equal(fun(base, index, updates), want)


def test_sums_within_a_loop():
    index = np.arange(40_000, dtype=np.int32) % 7

    @jitney.jit
    def count(n):
        return jitney.lax.fori_loop(0, n, lambda k, x: x.at[index].add(1), jnp.zeros(7, jnp.int32))

    np.testing.assert_array_equal(count(3), 3 * np.bincount(index))


@pytest.mark.parametrize("kind", ["add", "min", "max"])
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_runs_of_one_place(kind, size, dtype):
    """Sorted places, whose updates are combined by fours, and what begins and ends between."""
    rng = np.random.default_rng(size)
    index = np.sort(rng.integers(-1, size + 1, 100_001)).astype(np.int32)
    updates = rng.integers(-9, 10, index.size).astype(dtype)
    base = rng.integers(-9, 10, size).astype(dtype)
    want = base.copy()
    inside = (index >= 0) & (index < size)
    ufunc = {"add": np.add, "min": np.minimum, "max": np.maximum}[kind]
    ufunc.at(want, index[inside], updates[inside])
    index[index < 0] = size
    scattered = jitney.jit(lambda x, i, u: getattr(x.at[i], kind)(u))
    np.testing.assert_array_equal(scattered(base, index, updates), want)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sums_of_many_halves_are_rounded_once(dtype):
    index = jnp.arange(60_000) % 100
    sums = jnp.zeros(100, dtype).at[index].add(jnp.ones(60_000, dtype))
    assert sums.dtype == dtype and np.all(np.asarray(sums, np.float32) == 600)
    few = jnp.zeros(60_000, dtype).at[index].add(jnp.ones(60_000, dtype))  # one by one
    assert float(few[0]) == (256 if dtype == "bfloat16" else 600)
