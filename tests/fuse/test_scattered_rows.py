"""Rows that are scattered: NumPy's results for any width, type, mode and kind of update."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

KINDS = {
    "set": lambda rows, k, u: rows.__setitem__(k, u),
    "add": lambda rows, k, u: np.add.at(rows, k, u),
    "multiply": lambda rows, k, u: np.multiply.at(rows, k, u),
    "min": lambda rows, k, u: np.minimum.at(rows, k, u),
    "max": lambda rows, k, u: np.maximum.at(rows, k, u),
}
DTYPES = ["float32", "float64", "int32", "int8", "uint16", "uint64"]


def in_order(kind, rows, index, updates):
    """One update after the other, as repeated indices need."""
    rows = rows.copy()
    for k, u in zip(index, np.broadcast_to(updates, (len(index), *rows.shape[1:])), strict=True):
        KINDS[kind](rows, int(k), u)
    return rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 8, 16])
def test_updates(kind, dtype, width):
    rng = np.random.default_rng(width)
    with jitney.enable_x64(True):
        rows = rng.integers(0, 4, (50, width)).astype(dtype)
        index = rng.integers(-50, 50, 300)
        one, many = (rng.integers(1, 3, shape).astype(dtype) for shape in (width, (300, width)))
        for updates in (many, one, one[:1], rows.dtype.type(2)):
            fun = jitney.jit(lambda x, k, u: getattr(x.at[k], kind)(u))
            found = fun(rows, index, updates)
            np.testing.assert_array_equal(found, in_order(kind, rows, index, updates))


@pytest.mark.parametrize("mode", ["drop", "clip", "fill"])
@pytest.mark.parametrize("updates", ["one", "many"])
def test_indices_outside(mode, updates):
    rng = np.random.default_rng(1)
    rows, index = np.zeros((40, 3), "float32"), rng.integers(-70, 70, 200)
    values = rng.integers(1, 9, (200, 3)).astype("float32")
    values = values if updates == "many" else values[:1]
    found = jitney.jit(lambda x, k, u: x.at[k].add(u, mode=mode))(rows, index, values)
    wrapped = np.where(index < 0, index + 40, index)
    kept = (wrapped >= 0) & (wrapped < 40) if mode != "clip" else np.ones(200, bool)
    values = np.broadcast_to(values, (200, 3))[kept]
    want = in_order("add", rows, np.clip(wrapped, 0, 39)[kept], values)
    np.testing.assert_array_equal(found, want)


def test_one_window_is_not_written_out():
    rows, index = jnp.zeros((1000, 3)), jnp.arange(500)
    text = jitney.jit(lambda x, k: x.at[k].add(1.0)).lower(rows, index).compile().as_text()
    assert "1500" not in text  # elements of a window for each index


@pytest.mark.parametrize("shape", [(0, 3), (5, 0), (0,)])
def test_nothing(shape):
    for index in (np.zeros(0, int), np.zeros(4, int)):
        found = jitney.jit(lambda x, k: x.at[k].add(1.0))(jnp.zeros(shape), index)
        assert found.shape == shape


def test_indices_of_two_axes_and_windows_of_two():
    rng = np.random.default_rng(2)
    x, k = rng.normal(size=(20, 2, 3)).astype("float32"), rng.integers(0, 20, (4, 5))
    row = np.float32([1, 2, 3])
    want = x.copy()
    np.add.at(want, k, row)
    np.testing.assert_array_equal(jitney.jit(lambda x, k: x.at[k].add(row))(x, k), want)
    columns = np.float32([[1], [2]])
    want = x.copy()
    np.add.at(want, k, columns)
    found = jitney.jit(lambda x, k, c: x.at[k].add(c))(x, k, columns)
    np.testing.assert_array_equal(found, want)
    want = x.copy()
    want[k[:, 0], :, k[:, 1] % 3] = columns[:, 0]
    found = jitney.jit(lambda x, k: x.at[k[:, 0], :, k[:, 1] % 3].set(columns[:, 0]))(x, k)
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("width", [1, 3, 4, 9])
def test_threads_give_the_same_bits(width):
    rng = np.random.default_rng(3)
    values = rng.normal(size=(60_000, width)).astype("float32")
    index = rng.integers(0, 500, 60_000)
    f = jitney.jit(lambda v, k: jitney.ops.segment_sum(v, k, 500))
    many, before = np.asarray(f(values, index)), jitney._native.num_threads()
    jitney._native.set_num_threads(1)
    try:
        assert np.array_equal(many, np.asarray(f(values, index)))
    finally:
        jitney._native.set_num_threads(before)
    np.testing.assert_allclose(many, in_order("add", np.zeros((500, width)), index, values),
                               rtol=1e-4, atol=1e-4)
