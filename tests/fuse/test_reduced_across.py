"""Reductions across what is joined along another axis are reductions of its parts, joined."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

SHAPE = (40, 30, 33)
JOINED = {
    "rolled": lambda np, x: np.roll(x, 3, 1),
    "rolled twice": lambda np, x: np.roll(np.roll(x, 1, 0), -2, 1),
    "padded": lambda np, x: np.pad(x, ((0, 0), (1, 2), (0, 0)), constant_values=0.25),
    "padded all around": lambda np, x: np.pad(x, 1, "edge"),
    "joined": lambda np, x: np.concatenate([x, x * 2, -x], 1),
    "stacked": lambda np, x: np.stack([x, x + 1, x * x], 2),
    "joined, then computed with": lambda np, x: abs(np.concatenate([x, x * 2], 0)) + 1,
    "joined, transposed": lambda np, x: np.concatenate([x, x * 2], 0).transpose(1, 0, 2),
    "joined with its mirror image": lambda np, x: np.concatenate([x, x[:, ::-1]], 1),
}
REDUCTIONS = {
    "sum": lambda np, x, axis: np.sum(x, axis),
    "greatest": lambda np, x, axis: np.max(x, axis, keepdims=True),
    "place": lambda np, x, axis: np.argmin(x, axis),
    "any": lambda np, x, axis: np.any(x > 1, axis),
}


def numbers():
    x = np.random.default_rng(0).standard_normal(SHAPE).astype("float32")
    x[3, 4, 5], x[3, 5, 5], x[7, 0, 0] = np.nan, -0.0, np.inf
    return x


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("reduced", REDUCTIONS)
@pytest.mark.parametrize("joined", JOINED)
def test_against_numpy(joined, reduced, axis):
    x = numbers()
    fun = lambda np, x: REDUCTIONS[reduced](np, JOINED[joined](np, x), axis)
    found = np.asarray(jitney.jit(lambda x: fun(jnp, x))(x))
    want = fun(np, x)
    assert found.shape == want.shape
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype,bits", [("bfloat16", 8), ("float16", 11)])
def test_sums_of_short_floats_are_rounded_once(dtype, bits):
    x = jnp.asarray(abs(numbers()[10:])).astype(dtype)
    found = jitney.jit(lambda x: jnp.concatenate([x, x * 2], 1).sum(2))(x)
    assert found.dtype == dtype
    exact = np.asarray(x, "float64")
    want = np.concatenate([exact, exact * 2], 1).sum(2)
    np.testing.assert_allclose(np.asarray(found, "float64"), want, rtol=1.01 * 2.0**-bits)


def graph_of(fun, *args) -> str:
    return jitney.explain(fun, *args, rounds=1).as_text("graph")


def test_results_are_joined_instead():
    x = jnp.zeros((100, 30, 12))
    for fun in (lambda x: jnp.roll(x, 1, 1).max(2), lambda x: jnp.argmax(jnp.roll(x, 1, 1), 2)):
        graph = graph_of(fun, x)
        assert graph.index("reduce") < graph.index("concat"), graph


def test_what_stays_joined():
    """What is small, what is needed elsewhere too, and unequal parts whose columns are reduced."""
    x = jnp.zeros((100, 30, 12))
    for fun, of in [
        (lambda x: jnp.roll(x, 1, 1).max(2), x[:9]),
        (lambda x: (lambda y: y - y.max(2, keepdims=True))(jnp.roll(x, 1, 1)), x),
        (lambda x: jnp.roll(x, 1, 1).sum(0), x),
    ]:
        graph = graph_of(fun, of)
        assert graph.index("concat") < graph.index("reduce"), graph
