"""Exponentials of what lies near a number, as a product of two: where 32nds are rounded to nearest,
and where they are rounded down."""

import copy

import kernel_harness as harness
import numpy as np
import pytest

from jitney.codegen.math.exponential import near_factors
from jitney.ir.scalar_ops import RAISED

pytestmark = pytest.mark.skipif("avx512" not in harness.targets(), reason="no AVX-512")


def kernel_of(vectors_a_cycle):
    """2^RAISED 2^(x log2(e) - h) of float32."""
    target = copy.copy(harness.targets()["avx512"])
    target.vectors_a_cycle = vectors_a_cycle

    def product(e, x, h):
        found = near_factors(e, x, h)
        return e.fmul(found, found.second)

    return harness.compile_kernel(product, ("float",) * 3, None, 2, target)


@pytest.fixture(params=[2, 4], ids=["to nearest", "down"])
def kernel(request):
    return kernel_of(request.param)


def powers(kernel, exponent, h=0.0):
    """Of exponents that are x log2(e) - h, nearly; and what these are in full."""
    log2_e = np.float32(1.4426950408889634)
    x = ((np.asarray(exponent) + h) / float(log2_e)).astype(np.float32)
    exact = x.astype(float) * float(log2_e) - h
    return kernel(x, np.full_like(x, h)), exact


@pytest.mark.parametrize("h", [0.0, 1.0, -37.5, 1000.25])
def test_good_to_the_rounding_of_the_exponent(kernel, h):
    got, exact = powers(kernel, np.linspace(-60.0, 60.0, 200_000), h)
    np.testing.assert_allclose(got, np.exp2(exact + RAISED), rtol=1.6e-7 + 60 * 2.0**-25)


def test_of_whole_32nds(kernel):
    """What has no remainder is as good as the table: the greatest element's exponential is 1."""
    for h in np.float32([0.0, -5.0, 3.25, 1e5, -1e8, 3e37]):
        got = kernel(np.zeros(32, np.float32), np.full(32, -h, np.float32))
        with np.errstate(over="ignore"):
            expected = np.exp2(np.float64(h) + RAISED).astype(np.float32)
        if -100 < h < 60:
            np.testing.assert_allclose(got, expected, rtol=1.2e-7)
        else:
            assert (got < 2.0**-60).all() if h < 0 else np.isinf(got).all()


def test_about_each_32nd(kernel):
    """On both sides of what is rounded down, and of the whole numbers. The polynomial, a power in
    the table, the exponent and the product are each rounded by about 2^-24."""
    near = np.arange(-64, 65)[:, None] / 32 + np.array([-1e-6, -1e-7, 0.0, 1e-7, 1e-6])
    got, exact = powers(kernel, near.ravel())
    np.testing.assert_allclose(got, np.exp2(exact + RAISED), rtol=4.4 * 2.0**-24)


def test_beyond_all(kernel):
    """Far below is next to nothing, far above infinite; what is no number is no number, or
    infinite, so that a sum tells of it."""
    x = np.float32([-np.inf, -3e38, -1e9, -200.0, 200.0, 1e9, 3e38, np.inf, np.nan])
    x = np.pad(x, (0, 32 - len(x)))
    got = kernel(x, np.zeros_like(x))[:9]
    assert (got[:4] < 2.0**-60).all()
    assert np.isinf(got[4:8]).all()
    assert not np.isfinite(got[8])


@pytest.mark.parametrize("h", [np.inf, -np.inf, np.nan])
def test_beside_no_number(kernel, h):
    got = kernel(np.float32([0.0] * 16 + [np.inf] * 8 + [-np.inf] * 8), np.full(32, h, np.float32))
    total = float(got.astype(float).sum())
    assert not 2.0**-1 <= total / 2.0**RAISED <= 16 * 32
