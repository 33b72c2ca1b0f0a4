"""Rolled rows: one load at a place that a condition chooses, and a text for each end of a row."""

import itertools

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.fuse.interior import condition_range
from jitney.fuse.kernel import Expr

SHAPES = [(40, 131), (3, 1000), (130, 64), (70, 100), (1, 3000), (2, 4097)]
DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool",
          "complex64"]  # fmt: skip


def kernels(fun, *arguments) -> str:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


def integers(shape, dtype="float32"):
    rng = np.random.default_rng(sum(shape))
    return np.asarray(jnp.asarray(rng.integers(0, 2 if dtype == "bool" else 50, shape), dtype))


def around(np, x):
    """Of the eight neighbours, those that are alike."""
    shifts = [s for s in itertools.product((-1, 0, 1), repeat=2) if any(s)]
    found = x
    for i, j in shifts:
        near = np.roll(np.roll(x, i, 0), j, 1)
        found = np.where(near == x, near, found * 2 if x.dtype != bool else found)
    return found


def two_axes(np, x):
    return np.roll(x, (1, -2), (0, 1)) - np.roll(x, (-3, 1), (0, 1))


def wrapped(np, x):
    wide = np.pad(x, [(1, 2), (2, 1)], mode="wrap")
    return wide[:-3, 2:-1] - 3 * wide[3:, :-3] + wide[1:-2, 3:]


def joined(np, x):
    return np.concatenate([x[1:], x[:1]]) * np.concatenate([x[:, -1:], x[:, :-1]], 1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fun", [around, two_axes, wrapped, joined])
def test_every_shape(fun, shape):
    x = integers(shape)
    np.testing.assert_array_equal(jax.jit(lambda x: fun(jnp, x))(x), fun(np, x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(dtype):
    def f(np, x):
        near = np.roll(x, 1, 0)
        return np.where(np.roll(x, -1, 1) == np.roll(x, 2, 1), near, np.roll(near, 1, 1))

    with jax.enable_x64(True):
        for shape in ((50, 131), (40, 200)):
            x = integers(shape, dtype)
            got = jax.jit(lambda x: f(jnp, x))(x)
            assert got.dtype == x.dtype
            np.testing.assert_array_equal(np.asarray(got), f(np, x))


def test_rows_are_chosen_and_not_masked():
    x = jnp.ones((40, 30, 128))
    text = kernels(lambda x: jnp.roll(x, 1, 0) + jnp.roll(x, -1, 1), x)
    assert "select" not in text and "border" not in text and text.count("=load b0[") == 2
    text = kernels(lambda x: jnp.roll(x, 1, 0) + jnp.roll(x, -1, 2), x)
    assert text.count("border") == 2 and "sided" in text  # the last axis alone


def test_a_chosen_row_along_two_axes():
    """Both conditions on the rows are gone; those on the columns are one choice."""
    x = jnp.ones((50, 40, 128))
    text = kernels(lambda x: x + jnp.roll(jnp.roll(jnp.roll(x, 1, 0), 1, 1), 1, 2), x)
    assert text.count("=select ") == 1 and text.count("=load b0[") == 3


def test_zeros_around_are_no_choice():
    x = jnp.ones((40, 128))
    text = kernels(lambda x: jnp.pad(x, 1)[:-2, 1:-1] + x, x)
    assert "border" in text


def test_sums_of_rolled_rows():
    x = integers((60, 70, 90))
    f = lambda np, x: (x * np.roll(x, 1, 0)).sum(-1) - (np.roll(x, -1, 1) * x).sum(-1)
    np.testing.assert_array_equal(jax.jit(lambda x: f(jnp, x))(x), f(np, x))


@pytest.mark.parametrize("shift", [1, 2, 3, 16, 17, -1, -2, -15, 127])
@pytest.mark.parametrize("columns", [128, 129, 143, 144, 145, 600])
def test_ends_of_rows(columns, shift):
    x = integers((30, columns))
    f = lambda np, x: np.roll(x, shift, 1) - 2 * x + np.pad(x, [(0, 0), (0, 2)])[:, 2:]
    np.testing.assert_array_equal(jax.jit(lambda x: f(jnp, x))(x), f(np, x))


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_ends_of_rows_read_with_a_stride(stride):
    x = integers((30, 256 * stride))
    f = lambda np, x: np.roll(x[:, ::stride], 1, 1) - x[:, ::-stride]
    np.testing.assert_array_equal(jax.jit(lambda x: f(jnp, x))(x), f(np, x))


def test_the_ends_of_large_rows_that_go_past_the_caches():
    x = integers((1024, 4096 + 16))
    f = lambda np, x: np.roll(x, 1, 1) + np.roll(x, 1, 0) + np.roll(x, -1, 1)
    np.testing.assert_array_equal(jax.jit(lambda x: f(jnp, x))(x), f(np, x))


def test_a_new_size_has_the_same_text():
    f = lambda x: jnp.roll(x, 1, 0) + jnp.roll(x, -1, 1)
    texts = {kernels(f, jnp.ones(s)).split("sizes")[0] for s in ((100, 300), (157, 411))}
    assert len(texts) == 1


@pytest.mark.parametrize("factor", [1, -1, 2, 3, -2, -3])
def test_where_a_condition_holds(factor):
    """Against all values one by one."""
    for base, limit, extent in itertools.product(range(-12, 24, 3), (0, 1, 4, 9), (1, 5, 11)):
        index = Expr("index", (), "u64", ((base, ((7, factor),)),), 0, 1, frozenset({7}))
        bound = Expr("const", (), "u64", (limit,), 1, 0, frozenset())
        condition = Expr("lt", (index, bound), "b1", (), 2, 2, frozenset({7}))
        variable, start, stop = condition_range(condition, {7: extent})
        truth = [v for v in range(extent) if 0 <= base + factor * v < limit]
        assert variable == 7 and list(range(start, stop)) == truth
    assert condition_range(condition, {3: 5}) is None
