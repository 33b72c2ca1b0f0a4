"""Exponentials that are only summed are computed times a power of two, which the sum gives back."""

import numpy as np
import pytest
import scipy.special
from narrower_machines import run_tests

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


SCALED = {
    "times a number": lambda x: jax.nn.logsumexp(x * 3.0, -1),
    "times an array": lambda x: jax.nn.logsumexp(x * jnp.abs(x), -1),
    "kept": lambda x: jax.nn.logsumexp((x[0, :, None] - jnp.sin(x)) / 0.1, 0),
    "columns": lambda x: jax.nn.logsumexp(x * -10.0, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", SCALED)
def test_products_and_kept_elements(name):
    """Neither joined with the subtraction, nor unknown because they wait in memory."""
    x = rows(300, 300) * np.float32(9)
    x[5], x[:, 7], x[2, 3] = -np.inf, 1e30, np.nan
    for given in (rows(300, 300), rows(300, 300) * np.float32(40), x):
        got = np.asarray(jax.jit(SCALED[name])(given))
        with np.errstate(all="ignore"), jax.enable_x64(True):
            expected = np.asarray(SCALED[name](jnp.asarray(given.astype(float))))
        expected = np.where(np.abs(expected) > 3.4e38, np.sign(expected) * np.inf, expected)
        np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-5)
    assert "exp_raised" in kernels(SCALED[name], given)


def test_not_raised_where_it_does_not_pay():
    """Read by others, too, if only by shares (fuse/raise_shares.py); of products; of another type
    than float32."""
    assert "exp_raised" not in kernels(jax.nn.softmax, rows()).replace("exp_raised_kept", "")
    assert "exp_raised" not in kernels(lambda x: jnp.exp(-x * x / 2).sum(1), rows())
    with jax.enable_x64(True):
        assert "exp_raised" not in kernels(log_sum, rows().astype(float))


@pytest.mark.parametrize("shape", [(1, 3), (5, 17), (3, 130), (64, 1000), (2, 1024), (2000, 16)])
@pytest.mark.parametrize("scale", [1.0, 30.0, 1e4, 1e30])
def test_log_of_sum(shape, scale):
    x = rows(*shape) * np.float32(scale)
    expected = scipy.special.logsumexp(x.astype(float), axis=-1)
    np.testing.assert_allclose(jax.jit(log_sum)(x), expected, rtol=3e-6, atol=2e-6)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(16, 1000), (12, 130), (70, 300), (300, 70), (40, 20)])
def test_infinities_and_nan(shape, axis):
    """Infinity, the least there are, NaN before and after infinity, one number among infinities."""
    x = rows(*shape)
    lines = x if axis == 1 else x.T
    lines[0, 3], lines[1, 5], lines[2], lines[3, 7] = np.inf, -np.inf, -np.inf, np.nan
    lines[4, 9], lines[4, 10] = np.inf, np.nan
    lines[5, 9], lines[5, 10], lines[5, 11] = np.nan, np.inf, -np.inf
    lines[6, 1:], lines[7] = -np.inf, np.inf
    got = np.asarray(jax.jit(lambda x: jax.nn.logsumexp(x, axis))(x))
    with np.errstate(all="ignore"):
        expected = scipy.special.logsumexp(x.astype(float), axis=axis)
    np.testing.assert_allclose(got, expected, rtol=3e-6)
    assert got[0] == got[7] == np.inf and got[2] == -np.inf and np.isnan(got[3:6]).all()


def test_beside_infinity_numbers_of_any_size():
    """They are not below what is taken for the greatest, which is 0 there."""
    x = rows(64, 500) * np.float32(3e38)
    x[:, 17] = np.inf
    x[3, 400] = np.nan
    got = np.asarray(jax.jit(log_sum)(x))
    assert np.isnan(got[3]) and (np.delete(got, 3) == np.inf).all()


def test_zeros_stay_zeros():
    """What stands for a term of 0 is too little to be seen, also in sums of many of them."""
    x = np.full((256, 1 << 12), -np.inf, np.float32)
    assert "exp_raised" in kernels(log_sum, x)
    x[1] = -1e5
    x[:, 7] = 1.0
    np.testing.assert_array_equal(jax.jit(log_sum)(x), [1.0] * 256)


@pytest.mark.parametrize("number", [0.0, 5.0, -3.0, 1e30, -1e30])
def test_of_one_element_it_is_that(number):
    x = np.full((70, 100), -np.inf, "float32")
    x[:, 60] = number
    np.testing.assert_array_equal(jax.jit(log_sum)(x), x[:, 60])


def test_meaning():
    x = np.linspace(-131, 0, 5001, dtype=np.float32)
    exact = np.exp(x.astype(float)) * 2.0**scalar_ops.RAISED
    for name in ("exp_raised", "exp_raised_any"):
        np.testing.assert_allclose(scalar_ops.evaluate(name, "f32", [x]), exact, rtol=2e-7)


def test_stages_agree():
    x = rows(4, 200)
    assert "exp_raised_any" in kernels(log_sum, x)
    check_all_stages(log_sum, x)
    check_all_stages(jax.nn.log_softmax, x)


@pytest.mark.parametrize("count", [1, 7])
def test_many_of_them_in_a_kernel(count):
    """Operations that come often are functions of their own, which give one number."""
    x = rows(8, 300)

    def sums(x):
        return [jax.nn.logsumexp(x * k, -1) for k in range(1, count + 1)]

    for k, got in enumerate(jax.jit(sums)(x), start=1):
        expected = scipy.special.logsumexp(x.astype(float) * k, axis=-1)
        np.testing.assert_allclose(got, expected, rtol=3e-6, atol=2e-6)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64"])
def test_narrower_machines(target):
    run_tests(__file__, target)
