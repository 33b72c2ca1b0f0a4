"""Sums of arrays padded to stand side by side are concatenations; of others they are sums."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

N = 160  # rows: sums of few elements are left alone
X = np.random.default_rng(0).standard_normal((N, 8)).astype("float32")
X[0, 0], X[1, 1], X[2, 5] = -0.0, np.nan, np.inf


def padded(x, axis, low, high, value=0.0):
    widths = [(0, 0)] * x.ndim
    widths[axis] = (low, high)
    return jnp.pad(x, widths, constant_values=value)


JOINED = {
    "two": lambda x: padded(x, 1, 0, 8) + padded(x, 1, 8, 0),
    "the other way round": lambda x: padded(x, 1, 8, 0) + padded(x, 1, 0, 8),
    "rows": lambda x: padded(x, 0, 0, N) + padded(-x, 0, N, 0),
    "three": lambda x: padded(x, 1, 0, 16) + padded(x, 1, 8, 8) + padded(x, 1, 16, 0),
    "with zeros around": lambda x: padded(x, 1, 3, 12) + padded(x, 1, 11, 4),
    "parts of different lengths": lambda x: padded(x[:, :3], 1, 0, 5) + padded(x[:, 3:], 1, 3, 0),
    "integers": lambda x: sum(padded(x[4:].astype("int32"), 1, 8 * k, 8 - 8 * k) for k in (0, 1)),
    "used again": lambda x: (lambda y: jnp.tanh(y) * y)(padded(x, 1, 0, 8) + padded(x, 1, 8, 0)),
}
ADDED = {
    "few elements": lambda x: padded(x[:9], 1, 0, 8) + padded(x[:9], 1, 8, 0),
    "overlapping": lambda x: padded(x, 1, 0, 2) + padded(x, 1, 2, 0),
    "a gap": lambda x: padded(x, 1, 0, 12) + padded(x, 1, 12, 0),
    "other axes": lambda x: padded(x, 1, 0, 8) + padded(x[:80].reshape(80, 8), 0, 80, 0)[:, :1],
    "other numbers": lambda x: padded(x, 1, 0, 8, 1.0) + padded(x, 1, 8, 0, 1.0),
    "two axes": lambda x: jnp.pad(x, ((0, 6), (0, 8))) + jnp.pad(x, ((0, 6), (8, 0))),
    "subtracted": lambda x: padded(x, 1, 0, 8) - padded(x, 1, 8, 0),
}


def graph_of(fun, *arguments):
    return jax.explain(fun, *arguments, rounds=1).as_text("graph")


@pytest.mark.parametrize("name", [*JOINED, *ADDED])
def test_every_bit(name):
    fun = (JOINED | ADDED)[name]
    with jax.disable_jit():
        want = np.asarray(fun(jnp.asarray(X)))
    got = np.asarray(jax.jit(fun)(X))
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got)[~np.isnan(want)],
                                  np.signbit(want)[~np.isnan(want)])  # fmt: skip


@pytest.mark.parametrize("name", JOINED)
def test_joined(name):
    text = graph_of(JOINED[name], X)
    assert " concat" in text and text.count(" pad[") <= (name == "with zeros around")


@pytest.mark.parametrize("name", ADDED)
def test_others(name):
    assert " concat" not in graph_of(ADDED[name], X)


def gated(x):
    return (jax.nn.gelu(x[:, :4]) * x[:, 4:]).sum()


def gates(x):
    a, b, c, d = x[:, :2], x[:, 2:4], x[:, 4:6], x[:, 6:]
    return (jax.nn.sigmoid(a) * jnp.tanh(b) + jax.nn.sigmoid(c) * d).sum()


@pytest.mark.parametrize("fun", [gated, gates])
def test_gradients_of_parts(fun):
    x = np.nan_to_num(X, posinf=2.0)
    with jax.disable_jit():
        want = jax.grad(fun)(x)
    np.testing.assert_allclose(jax.jit(jax.grad(fun))(x), want, rtol=1e-5, atol=1e-6)
    assert " pad[" not in graph_of(jax.grad(fun), x)
