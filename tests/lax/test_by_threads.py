"""Slow functions of arrays by several threads: the same values, and errors arrive."""

import numpy as np
import pytest
import scipy.special

import jitney as jax
from jitney import _native
from jitney.lax.by_threads import SHARE, by_threads


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    _native.set_num_threads(request.param)
    yield request.param
    _native.set_num_threads(0)


@pytest.mark.parametrize("shape", [(), (0,), (SHARE,), (2 * SHARE + 1,), (70, 3, 161)], ids=str)
def test_every_bit(threads, shape):
    rng = np.random.default_rng(0)
    a, x = rng.uniform(0.1, 9, shape), rng.uniform(0, 20, shape)
    got = by_threads(scipy.special.gammaincc, a, x)
    assert np.shape(got) == shape
    np.testing.assert_array_equal(got, scipy.special.gammaincc(a, x))
    strided = by_threads(scipy.special.gammainc, a.T, x.T)
    np.testing.assert_array_equal(strided, scipy.special.gammainc(a.T, x.T))


def test_errors_arrive(threads):
    def refuse(part):
        raise ValueError(f"{part.size} elements")

    with pytest.raises(ValueError, match="elements"):
        by_threads(refuse, np.zeros(10 * SHARE))


def test_compiled(threads):
    rng = np.random.default_rng(1)
    a, x = rng.uniform(0.1, 9, 9000).astype("f"), rng.uniform(0, 20, 9000).astype("f")
    got = jax.jit(jax.scipy.special.gammainc)(a, x)
    np.testing.assert_allclose(got, scipy.special.gammainc(a, x), rtol=2e-6, atol=1e-30)
    b = rng.uniform(0, 1, 9000).astype("f")
    got = jax.jit(jax.scipy.special.betainc)(a, x + 0.5, b)
    want = scipy.special.betainc(a, x + 0.5, b)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-30)
