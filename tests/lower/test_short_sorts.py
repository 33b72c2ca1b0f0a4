"""Sorts along short axes are comparisons of neighbours: every bit is that of the routines."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax

RNG = np.random.default_rng(0)
DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "uint32", "int64", "bool"]
SPECIAL = [np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0, 2.0]


def rows_of(dtype, shape):
    """Few different numbers, so that many are equal."""
    x = RNG.choice(SPECIAL if "float" in dtype else [0, 1, 2, 3, 100], shape)
    return jnp.asarray(x, dtype)


def bits(x):
    x = np.asarray(x)
    return x if x.dtype == bool else x.view(f"u{x.dtype.itemsize}")


def by_routine(fun, x, axis):
    """The same for few rows at a time, which routines sort."""
    lines = jnp.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)
    parts = [fun(lines[:, i : i + 2000], 0) for i in range(0, lines.shape[1], 2000)]
    whole = np.concatenate([np.asarray(part) for part in parts], 1)
    shape = (-1, *np.delete(x.shape, axis))
    return np.moveaxis(whole.reshape(shape), 0, axis)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [2, 3, 5, 8, 9])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_every_bit(axis, n, dtype):
    with jax.enable_x64():
        shape = [61, 71]
        shape.insert(axis, n)
        x = rows_of(dtype, tuple(shape))
        sort = lambda x, axis: jnp.sort(x, axis=axis)
        found = jax.jit(sort, static_argnums=1)(x, axis)
        np.testing.assert_array_equal(bits(found), bits(by_routine(sort, x, axis)))
        order = lambda x, axis: jnp.argsort(x, axis=axis)
        found = jax.jit(order, static_argnums=1)(x, axis)
        np.testing.assert_array_equal(found, by_routine(order, x, axis))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n, k", [(2, 1), (8, 2), (16, 3), (5, 3)])
@pytest.mark.parametrize("axis", [0, 1])
def test_greatest(axis, n, k, dtype):
    with jax.enable_x64():
        x = rows_of(dtype, (n, 4300) if axis == 0 else (4300, n))
        top = lambda x, axis: lax.top_k(x, k, axis=axis)
        found = jax.jit(top, static_argnums=1)(x, axis)
        for part in range(2):
            want = by_routine(lambda x, axis, part=part: top(x, axis)[part], x, axis)
            np.testing.assert_array_equal(bits(found[part]), bits(want))


def images():
    return RNG.standard_normal((40, 60)).astype("float32")


FILTERS = {
    "median": lambda n, w: n.median(w, axis=0),
    "least": lambda n, w: n.sort(w, axis=0)[0],
    "trimmed mean": lambda n, w: n.sort(w, axis=0)[2:-2].mean(0),
    "of magnitudes": lambda n, w: n.sort(n.abs(w - w.mean(0)), axis=0)[3],
}


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("has_nan", [False, True])
def test_filters_store_nothing(name, has_nan):
    x = images()
    if has_nan:
        x[4, 5] = np.nan
    windows = lambda n, x: n.stack([x[i : i + 38, j : j + 58] for i in range(3) for j in range(3)])
    fun = lambda x: FILTERS[name](jnp, windows(jnp, x))
    np.testing.assert_allclose(jax.jit(fun)(x), FILTERS[name](np, windows(np, x)), rtol=1e-5)
    text = jax.explain(fun, x, rounds=1).as_text("graph")
    assert "concat" not in text and "call" not in text, text


def test_gradients():
    x = RNG.standard_normal((5, 4300)).astype("float32")
    weights = jnp.arange(5.0)[:, None]
    fun = lambda x: (jnp.sort(x, 0) * weights).sum() + jnp.median(x, 0).sum()
    order = np.argsort(x, 0)
    want = np.zeros_like(x)
    np.put_along_axis(want, order, np.broadcast_to(np.asarray(weights), x.shape), 0)
    np.put_along_axis(want, order[2:3], 3.0, 0)
    np.testing.assert_allclose(jax.jit(jax.grad(fun))(x), want)


def test_several_operands_follow_the_key():
    key = RNG.integers(0, 3, (6, 4300)).astype("int32")
    a, b = RNG.standard_normal((2, 6, 4300)).astype("float32")
    found = jax.jit(lambda *v: lax.sort(v, dimension=0, num_keys=1))(key, a, b)
    order = np.argsort(key, 0, kind="stable")
    for x, got in zip((key, a, b), found, strict=True):
        np.testing.assert_array_equal(got, np.take_along_axis(x, order, 0))


def test_few_rows_are_left_to_routines():
    text = jax.explain(lambda x: jnp.sort(x, 0), np.ones((5, 100), "float32"), rounds=1)
    assert "call['sort'" in text.as_text("graph")
