"""Results that are made of something joined are joined of what is made of its parts."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

SHAPE = (60, 24, 50)
RESULTS = {
    "turned": lambda np, x, y: np.concatenate([x, y], 0).transpose(2, 1, 0),
    "computed": lambda np, x, y: np.exp(np.concatenate([x, y * 2], 0)) + 1,
    "cut and turned": lambda np, x, y: np.concatenate([x, y], 0)[:, ::-1, 1::3].swapaxes(0, 2),
    "halves exchanged": lambda np, x, y: x * y + np.concatenate(
        [-y[..., 25:], y[..., :25]], -1) * x,
    "unequal": lambda np, x, y: np.sqrt(abs(np.concatenate([x, y[:20]], 0))),
    "stacked": lambda np, x, y: np.stack([x, y, x - y], 1).reshape(60, 72, 50) * 2,
    "both ways": lambda np, x, y: abs(np.concatenate(
        [np.concatenate([x, y], 0), np.concatenate([y, x * 3], 0)], 1)),
    "one behind the other, by turns": lambda np, x, y: np.maximum(
        np.concatenate([x, y], 0), np.concatenate([y, x], 0)),
    "of short floats": lambda np, x, y: np.concatenate([x, y], 1).astype("float16") * 2,
    "whether": lambda np, x, y: np.concatenate([x, y], 2) > 0.5,
    "padded far": lambda np, x, y: np.pad(x, ((30, 40), (0, 0), (0, 0))) * 2 - 1,
    "a running sum of it": lambda np, x, y: np.cumsum(abs(np.concatenate([x, y * 2], 1)), 2),
    "a product of it": lambda np, x, y: np.matmul(
        abs(np.concatenate([x, y * 2], 1)), y[0].T),
}  # fmt: skip


def arrays():
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(SHAPE).astype("float32") for _ in range(2))
    x[3, 4, 5], y[1, 1, 1], y[2, 2, 2] = np.nan, -0.0, np.inf
    return x, y


def graph_of(fun, *args) -> list[str]:
    text = jitney.explain(fun, *args, rounds=1).as_text("graph")
    return [line for line in text.splitlines() if line.startswith(("  %", "%"))]


@pytest.mark.parametrize("name", RESULTS)
def test_against_numpy(name):
    x, y = arrays()
    found = np.asarray(jitney.jit(lambda x, y: RESULTS[name](jnp, x, y))(x, y))
    want = RESULTS[name](np, x, y)
    assert found.shape == want.shape and found.dtype == want.dtype
    rtol = 1e-5 if found.dtype != "float16" else 2e-3
    np.testing.assert_allclose(found, want, rtol=rtol, atol=2e-5)


@pytest.mark.parametrize("name", ["turned", "computed", "unequal", "whether"])
def test_the_result_is_joined(name):
    x, y = arrays()
    last = graph_of(lambda x, y: RESULTS[name](jnp, x, y), x, y)[-1]
    assert "concat" in last, last


def test_results_that_stay_as_they_are():
    """Small ones, borders, and what more than one result is made of."""
    x, y = map(jnp.asarray, arrays())
    for fun, args in [
        (lambda x, y: jnp.exp(jnp.concatenate([x, y], 0)), (x[:5], y[:5])),
        (lambda x, y: jnp.roll(x, 2, 0) * y, (x, y)),
        (lambda x, y: (lambda z: (jnp.exp(z), z.T))(jnp.concatenate([x, y], 0)), (x, y)),
    ]:
        assert "concat" not in graph_of(fun, *args)[-1]


def test_one_result_twice_is_joined_once():
    x, y = arrays()
    fun = lambda x, y: (lambda z: (z, z))(jnp.exp(jnp.concatenate([x, y], 0)))
    first, second = jitney.jit(fun)(x, y)
    want = np.exp(np.concatenate([x, y], 0))
    np.testing.assert_allclose(first, want, rtol=1e-6)
    np.testing.assert_allclose(second, want, rtol=1e-6)
    debug = graph_of(fun, x, y)
    assert sum("concat" in line for line in debug) == 1
