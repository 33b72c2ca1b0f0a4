"""Exponentials that are only summed and divided by their sum are raised, with AVX2; shares are the
same."""

import numpy as np
import pytest
import scipy.special

import jitney as jax
import jitney.numpy as jnp
from jitney.backend.host import host_target
from jitney.fuse import write_kernel

TARGET = host_target()
pytestmark = pytest.mark.skipif(
    TARGET.avx512 or not TARGET.looks_up_powers, reason="exponentials are not by eighths"
)


def greatest(x, axis=-1):
    return x.max(axis, keepdims=True)


def powers(x):
    return jnp.exp(x - greatest(x))


def shares_and_powers(x):
    power = powers(x)
    return power / power.sum(-1, keepdims=True), power


def shares_and_sum(x):
    total = powers(x).sum(-1, keepdims=True)
    return powers(x) / total, total


RAISED = {
    "softmax": jax.nn.softmax,
    "of columns": lambda x: jax.nn.softmax(x, 0),
    "of a part": lambda x: jax.nn.softmax(x[:, 100:], -1),
    "in bfloat16": lambda x: jax.nn.softmax(x, -1).astype(jnp.bfloat16),
    "twice": lambda x: jax.nn.softmax(x, -1) * 2 + 1,
}
NOT_RAISED = {
    "exponentials, too": shares_and_powers,
    "the sum, too": shares_and_sum,
    "its logarithm": lambda x: jax.nn.log_softmax(x, -1),
    "of another sum": lambda x: powers(x) / powers(x).sum(-1, keepdims=True) ** 2,
    "squares": lambda x: powers(x) ** 2 / powers(x).sum(-1, keepdims=True),
}


def is_raised(fun, x) -> bool:
    return "exp_raised_kept" in jax.explain(fun, x, rounds=1).as_text("kernels")


def rows(count=64, width=1000, seed=0):
    return np.random.default_rng(seed).standard_normal((count, width)).astype("float32")


@pytest.mark.parametrize("name", RAISED)
def test_shares_alone(name):
    assert is_raised(RAISED[name], rows(400, 600))


@pytest.mark.parametrize("name", NOT_RAISED)
def test_what_else_is_read(name):
    x = rows(40, 600)
    assert not is_raised(NOT_RAISED[name], x)
    got = jax.jit(NOT_RAISED[name])(x)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(NOT_RAISED[name](x)), strict=True):
        np.testing.assert_allclose(a, b, rtol=3e-6, atol=3e-6)


def test_float64_is_left_alone():
    with jax.enable_x64(True):
        assert not is_raised(jax.nn.softmax, rows().astype(float))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e4, 1e30])
@pytest.mark.parametrize("shape", [(64, 1000), (5, 130), (33, 257), (1, 4100), (300, 700)])
def test_shares(monkeypatch, shape, scale, axis):
    """Right, and the bits that others have: denormal exponentials are not rounded."""
    x = rows(*shape, seed=sum(shape)) * np.float32(scale)
    x[::3, : shape[1] // 2] = -np.inf
    x[-1, 5] = np.float32(0)
    raised = np.asarray(jax.jit(lambda x: jax.nn.softmax(x, axis))(x))
    monkeypatch.setenv("JITNEY_CACHE_DIR", "")
    monkeypatch.setattr(write_kernel, "raise_shares", lambda _, used, __: used)
    jax.clear_caches()
    assert not is_raised(lambda x: jax.nn.softmax(x, axis), x)
    plain = np.asarray(jax.jit(lambda x: jax.nn.softmax(x, axis))(x))
    exact = scipy.special.softmax(x.astype(float), axis)
    is_normal = plain > 1e-30
    np.testing.assert_array_equal(raised[is_normal], plain[is_normal])
    is_nan = np.isnan(exact)
    np.testing.assert_array_equal(np.isnan(raised), is_nan)
    np.testing.assert_allclose(raised[~is_nan], exact[~is_nan], rtol=1e-5, atol=1e-35)


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_without_numbers(axis):
    x = rows(200, 300)
    x[3], x[4, 7], x[5, 8], x[6], x[7, 1:] = -np.inf, np.nan, np.inf, 3e38, -np.inf
    turned = x if axis == 1 else np.ascontiguousarray(x.T)
    got = np.asarray(jax.jit(lambda x: jax.nn.softmax(x, axis))(turned))
    got = got if axis == 1 else got.T
    assert np.isnan(got[3:6]).all()
    assert (got[6] == np.float32(1 / 300)).all()
    assert got[7, 0] == 1 and (got[7, 1:] == 0).all()
    assert np.isfinite(got[8:]).all()
