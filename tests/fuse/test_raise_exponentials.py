"""Exponentials that are only summed are computed times a power of two, which the sum gives back."""

import numpy as np
import pytest
import scipy.special

import jitney as jax
import jitney.numpy as jnp
from jitney.ir import scalar_ops
from jitney.testing.stages import check_all_stages


def kernels(fun, x) -> str:
    return jax.explain(fun, x, rounds=1).as_text("kernels")


def rows(count=64, width=1000):
    return np.random.default_rng(count + width).standard_normal((count, width)).astype("float32")


def log_sum(x):
    return jax.nn.logsumexp(x, axis=-1)


@pytest.mark.parametrize("fun", [log_sum, lambda x: jax.nn.logsumexp(x, 0), jax.nn.log_softmax])
def test_raised_where_only_summed(fun):
    assert "exp_raised" in kernels(fun, rows())


def test_not_raised_where_it_does_not_pay():
    """Read by others, too; of products; of another type than float32."""
    assert "exp_raised" not in kernels(jax.nn.softmax, rows())
    assert "exp_raised" not in kernels(lambda x: jnp.exp(-x * x / 2).sum(1), rows())
    with jax.enable_x64(True):
        assert "exp_raised" not in kernels(log_sum, rows().astype(float))


@pytest.mark.parametrize("shape", [(1, 3), (5, 17), (3, 130), (64, 1000), (2, 1024), (2000, 16)])
@pytest.mark.parametrize("scale", [1.0, 30.0, 1e4, 1e30])
def test_log_of_sum(shape, scale):
    x = rows(*shape) * np.float32(scale)
    expected = scipy.special.logsumexp(x.astype(float), axis=-1)
    np.testing.assert_allclose(jax.jit(log_sum)(x), expected, rtol=3e-6, atol=2e-6)


def test_infinities_and_nan():
    x = rows(8)
    x[0, 3], x[1, 5], x[2], x[3, 7] = np.inf, -np.inf, -np.inf, np.nan
    x[4, 9], x[4, 10] = np.inf, np.nan
    x[5, :500], x[6, 1:] = -np.inf, -np.inf
    got = np.asarray(jax.jit(log_sum)(x))
    with np.errstate(all="ignore"):
        expected = scipy.special.logsumexp(x.astype(float), axis=-1)
    np.testing.assert_allclose(got, expected, rtol=3e-6)
    assert got[0] == np.inf and got[2] == -np.inf and np.isnan(got[3]) and np.isnan(got[4])


def test_zeros_stay_zeros():
    """What stands for a term of 0 is too little to be seen, also in sums of many of them."""
    x = np.full((2, 1 << 20), -np.inf, np.float32)
    fun = lambda x: jnp.exp(jnp.minimum(x, 0.0) - 1.0).sum(1)
    assert "exp_raised" in kernels(fun, x)
    x[1] = -1e5
    assert not np.asarray(jax.jit(fun)(x)).any()
    x[:, 7] = 1.0
    np.testing.assert_allclose(jax.jit(fun)(x), np.exp([-1.0, -1.0]), rtol=2.4e-7)  # 2 ulp


def test_meaning():
    x = np.linspace(-131, 0, 5001, dtype=np.float32)
    got = scalar_ops.evaluate("exp_raised", "f32", [x])
    exact = np.exp(x.astype(float)) * 2.0**scalar_ops.RAISED
    np.testing.assert_allclose(got, exact, rtol=2e-7)


def test_stages_agree():
    x = rows(4, 200)
    assert "exp_raised" in kernels(log_sum, x)
    check_all_stages(log_sum, x)
