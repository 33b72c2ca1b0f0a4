"""Distances from what a loop does not change are sums with its negative, where masks are dear."""

import numpy as np
import pytest
import scipy.special
from narrower_machines import run_tests

import jitney as jax
import jitney.numpy as jnp
from jitney.backend.host import host_target

only_with_avx2 = pytest.mark.skipif(not host_target().has_dear_masks, reason="there are masks")


def rows(count=40, width=700, dtype="float32"):
    return np.random.default_rng(0).standard_normal((count, width)).astype(dtype)


def kernels(fun, *args) -> str:
    return jax.explain(fun, *args, rounds=1).as_text("kernels")


@only_with_avx2
@pytest.mark.parametrize("axis", [0, 1])
def test_distances_of_exponentials(axis):
    text = kernels(lambda x: jax.nn.softmax(x, axis), rows(300, 700))
    assert "=neg" in text and "=sub" not in text


@only_with_avx2
def test_others_stay():
    """Where there is no long operation, where both are loaded, and where x is needed again."""
    assert "=neg" not in kernels(lambda x: x - x.mean(-1, keepdims=True), rows())
    assert "=neg" not in kernels(lambda x, y: jnp.exp(x - y).sum(-1), rows(), rows())
    twice = lambda x: (x * jnp.tanh(x - x.max(-1, keepdims=True))).sum(-1)  # noqa: E731
    assert "=neg" not in kernels(twice, rows())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_same_bits(dtype):
    """Also of zeros, infinities and numbers whose difference is not exact."""
    with jax.enable_x64(True):
        x = rows(dtype=dtype)
        x[1], x[2, ::2], x[3, 5], x[4, 7] = -0.0, 0.0, np.inf, -np.inf
        x[5] *= 1e5
        greatest = x.max(-1, keepdims=True)
        with np.errstate(invalid="ignore"):
            distances = x - greatest
        got = jax.jit(lambda x: jnp.tanh(x - x.max(-1, keepdims=True)))(x)
        expected = jax.jit(jnp.tanh)(distances)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(expected))
        numbers = ~np.isnan(distances)
        assert (np.signbit(got) == np.signbit(expected))[numbers].all()


@pytest.mark.parametrize("fun", [jax.nn.softmax, jax.nn.log_softmax, jax.nn.logsumexp])
@pytest.mark.parametrize("scale", [1.0, 30.0, 1e4])
def test_rows_near_and_far_apart(fun, scale):
    """With masks, and one element far above those that a guess is made of."""
    x = rows() * np.float32(scale)
    x[::3, 100:300], x[::5, 333] = -np.inf, 50 * scale
    got = np.asarray(jax.jit(lambda x: fun(x, axis=-1))(x))
    wide = x.astype(float)
    expected = getattr(scipy.special, fun.__name__)(wide, axis=-1)
    np.testing.assert_allclose(got, expected, rtol=3e-6, atol=2.5e-7)
    with np.errstate(invalid="ignore"):
        assert (np.isneginf(got) == np.isneginf(expected)).all()


def test_greatest_numbers_are_guessed():
    if not host_target().looks_up_powers:
        pytest.skip("exponentials are of distances alone")
    for fun in (jax.nn.logsumexp, jax.nn.log_softmax):
        assert " guessed" in kernels(lambda x, fun=fun: fun(x, axis=-1), rows())


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64"])
def test_narrower_machines(target):
    run_tests(__file__, target)
