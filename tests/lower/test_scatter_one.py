"""Scatters of one element a row are comparisons, of which sums are known; all others are not."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

N, C, D = 13, 7, 5
RNG = np.random.default_rng(0)
PLACES = RNG.integers(-9, 9, N).astype("int32")
VALUES = RNG.standard_normal(N).astype("float32")
GRID = RNG.integers(-9, 9, (N, D)).astype("int32")


def rows():
    return jnp.arange(N)


COMPARED = {
    "added": lambda i, v: jnp.zeros((N, C)).at[rows(), i].add(v),
    "subtracted": lambda i, v: jnp.zeros((N, C)).at[rows(), i].subtract(v),
    "set": lambda i, v: jnp.zeros((N, C)).at[rows(), i].set(v),
    "one number": lambda i, v: jnp.zeros((N, C)).at[rows(), i].set(1.0),
    "to another number": lambda i, v: jnp.full((N, C), 2.5).at[rows(), i].add(v),
    "in columns": lambda i, v: jnp.zeros((C, N)).at[i, rows()].add(v),
    "of windows": lambda i, v: jnp.zeros((N, C, D)).at[rows(), i].add(v[:, None]),
    "windows apart": lambda i, v: jnp.zeros((N, D, C)).at[rows(), :, i].add(v[:, None]),
    "of two axes": lambda i, v: jnp.zeros((N, D, C)).at[
        rows()[:, None], jnp.arange(D), GRID].add(v[:, None]),
    "two axes turned": lambda i, v: jnp.zeros((C, D, N)).at[
        GRID, jnp.arange(D), rows()[:, None]].set(v[:, None]),
    "integers": lambda i, v: jnp.zeros((N, C), "int8").at[rows(), i].add(v.astype("int8")),
    "short floats": lambda i, v: jnp.zeros((N, C), "bfloat16").at[rows(), i].add(v),
    "complex": lambda i, v: jnp.zeros((N, C), "complex64").at[rows(), i].set(v + 1j),
    "batched": lambda i, v: jax.vmap(lambda i, v: jnp.zeros(C).at[i].add(v))(i, v),
    "along an axis": lambda i, v: jnp.put_along_axis(
        jnp.zeros((N, C)), jnp.clip(i, 0)[:, None], v[:, None], 1, inplace=False),
}  # fmt: skip
LOOKED_UP = {
    "several a row": lambda i, v: jnp.zeros((N, C)).at[rows()[:, None], GRID].add(v[:, None]),
    "rows in another order": lambda i, v: jnp.zeros((N, C)).at[rows()[::-1], i].add(v),
    "not all rows": lambda i, v: jnp.zeros((N + 1, C)).at[rows(), i].add(v),
    "rows twice": lambda i, v: jnp.zeros((N, C)).at[rows() // 2, i].add(v),
    "into an array": lambda i, v: jnp.outer(v, jnp.arange(C)).at[rows(), i].add(v),
    "multiplied": lambda i, v: jnp.ones((N, C)).at[rows(), i].multiply(v),
}


def graph_of(fun, *arguments):
    return jax.explain(fun, *arguments, rounds=1).as_text("graph")


def check(fun, *arguments):
    """A program is what its operations are one by one, bit for bit."""
    with jax.disable_jit():
        want = np.asarray(fun(*arguments))
    np.testing.assert_array_equal(np.asarray(jax.jit(fun)(*arguments)), want)


@pytest.mark.parametrize("name", COMPARED)
def test_compared(name):
    check(COMPARED[name], PLACES, VALUES)
    text = graph_of(COMPARED[name], PLACES, VALUES)
    assert "scatter" not in text and " eq " in text


@pytest.mark.parametrize("name", LOOKED_UP)
def test_others(name):
    check(LOOKED_UP[name], PLACES, VALUES)
    assert "scatter" in graph_of(LOOKED_UP[name], PLACES, VALUES)


def test_against_numpy():
    want = np.zeros((N, C), "float32")
    want[np.arange(N), PLACES % C] = VALUES
    got = jax.jit(lambda i, v: jnp.zeros((N, C)).at[rows(), i].add(v))(PLACES % C, VALUES)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("mode", ["clip", "fill", "drop"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32"])
def test_places_out_of_bounds(mode, dtype):
    """They are dropped, or the nearest ones; also of a type that has not all places."""
    i = np.array([0, 100, 127, 5, 200 if dtype[0] == "u" else -1, 3], dtype)
    if "32" in dtype:
        i[1:3] = 2**31 - 1, 300
    v = np.arange(1, 7, dtype="float32")

    def fun(i, v):
        return jnp.zeros((6, 300)).at[jnp.arange(6), i].add(v, mode=mode)

    check(fun, i, v)
    assert "scatter" not in graph_of(fun, i, v)


PICKED = {
    "along an axis": lambda x, i: jnp.take_along_axis(x, i[:, None], 1)[:, 0],
    "by rows": lambda x, i: x[jnp.arange(x.shape[0]), i],
    "batched": lambda x, i: jax.vmap(lambda row, k: row[k])(x, i),
}


@pytest.mark.parametrize("pick", PICKED)
@pytest.mark.parametrize("shape", [(8, 6), (40, 300)])
def test_the_loss_of_labels(pick, shape):
    """Its gradient is one kernel, or few if the loss itself is wanted, too."""
    x = np.random.default_rng(1).standard_normal(shape).astype("float32")
    labels = np.random.default_rng(2).integers(0, shape[1], shape[0]).astype("int32")

    def loss(x, labels):
        return -PICKED[pick](jax.nn.log_softmax(x), labels).mean()

    value, gradient = jax.jit(jax.value_and_grad(loss))(x, labels)
    shares = np.exp(x - x.max(-1, keepdims=True).astype("float64"))
    shares /= shares.sum(-1, keepdims=True)
    np.testing.assert_allclose(value, -np.log(shares[range(len(x)), labels]).mean(), rtol=1e-6)
    shares[range(len(x)), labels] -= 1
    np.testing.assert_allclose(gradient, shares / len(x), rtol=1e-4, atol=1e-8)
    alone = jax.jit(jax.grad(loss)).lower(x, labels).compile().as_text()
    assert alone.count("kernel ") == 1 and "routine" not in alone


@pytest.mark.parametrize("sign", [jnp.positive, jnp.negative])
def test_sums_are_the_elements(sign):
    """Of rows that have none it is 0; no row is gone through."""
    i, v = PLACES.copy(), VALUES.copy()
    v[:3], i[:3] = (-0.0, np.nan, np.inf), (1, 2, 3)

    def fun(i, v):
        return sign(jnp.zeros((N, C)).at[rows(), i].add(v)).sum(1)

    got = jax.jit(fun)(i, v)
    with jax.disable_jit():
        want = fun(i, v)
    np.testing.assert_array_equal(got, want)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(want)[numbers])
    assert "reduce" not in graph_of(fun, i, v)


def test_other_sums():
    fun = lambda i, v: jnp.zeros((N, C)).at[rows(), i].add(v).sum(0)
    check(fun, PLACES, VALUES)
    check(lambda i, v: jnp.full((N, C), 1.0).at[rows(), i].set(v).sum(1), PLACES, VALUES)
    assert "reduce" in graph_of(fun, PLACES, VALUES)


NOT_PLACES = {
    "fractions": lambda i, v: jnp.where(
        jax.lax.broadcasted_iota("float32", (N, 7), 1) == i[:, None] / 2, v[:, None], 0.0),
    "numbers that come again": lambda i, v: jnp.where(
        jax.lax.broadcasted_iota("int8", (N, 300), 1) == i.astype("int8")[:, None],
        v[:, None], 0.0),
    "another number elsewhere": lambda i, v: jnp.where(jnp.arange(7) == i[:, None], v[:, None], 1),
    "values along the row": lambda i, v: jnp.where(jnp.arange(N) == i[:, None], v, 0.0),
    "places along the row": lambda i, v: jnp.where(jnp.arange(N) == i, v[:, None], 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_PLACES)
def test_sums_that_are_gone_through(name):
    i, fun = np.arange(N, dtype="int32"), lambda i, v: NOT_PLACES[name](i, v).sum(1)
    want = np.asarray(NOT_PLACES[name](i, VALUES)).sum(1)
    np.testing.assert_allclose(jax.jit(fun)(i, VALUES), want, rtol=1e-6)
    assert "reduce" in graph_of(fun, i, VALUES)
