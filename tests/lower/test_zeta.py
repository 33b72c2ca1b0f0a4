"""Hurwitz's zeta function and derivatives of digamma, compiled, against mpmath and SciPy."""

import mpmath
import numpy as np
import pytest

import jitney as jax
from jitney import lax
from jitney.lax import special_values

RANGES = {
    "s near one": (lambda rng, n: 1 + 10 ** rng.uniform(-6, 0, n), (-3, 8)),
    "real s": (lambda rng, n: rng.uniform(1, 64, n), (-1, 3)),
    "whole s": (lambda rng, n: rng.integers(2, 64, n).astype(float), (-2, 2)),
    "beyond the formula": (lambda rng, n: rng.uniform(60, 200, n), (-1, 2)),
    "large q": (lambda rng, n: rng.uniform(1, 20, n), (7, 20)),
}


def exact(function, *arrays):
    with mpmath.workdps(400):  # relative to results that may be tiny
        return np.array([float(function(*map(mpmath.mpf, row))) for row in zip(*arrays)])


@pytest.mark.parametrize("name", RANGES)
def test_zeta(name):
    draw, (low, high) = RANGES[name]
    rng = np.random.default_rng(3)
    s, q = draw(rng, 60), 10 ** rng.uniform(low, high, 60)
    want = exact(mpmath.zeta, s, q)
    with jax.enable_x64(True):
        got = np.asarray(jax.jit(lax.zeta)(s, q))
    ordinary = (want > 1e-290) & (want < 1e290)
    # the power s of a q of so many digits
    tolerance = 3e-15 + 2e-16 * np.abs(s * np.log(q)) * (s > 32)
    assert (np.abs(got / want - 1) <= tolerance)[ordinary].all()
    assert np.allclose(got[~ordinary], want[~ordinary], rtol=1e-3, atol=1e-290)


def test_polygamma():
    rng = np.random.default_rng(4)
    m, x = rng.integers(0, 70, 80).astype(float), 10 ** rng.uniform(-1, 3, 80)
    want = exact(lambda a, b: mpmath.polygamma(int(a), b), m, x)
    with jax.enable_x64(True):
        got = np.asarray(jax.jit(lax.polygamma)(m, x))
    assert np.allclose(got, want, rtol=1e-14, atol=0)


inf, nan = np.inf, np.nan
EDGES = {  # (s, q): zeta, derivative s - 1 of digamma; None: what the reference says
    (2, -0.5): None, (3, -2.5): None, (2.5, -1.5): (nan, nan), (2, -100.5): None,
    (2, 0): (inf, inf), (3, 0): (nan, nan), (2, -3): (inf, inf), (3, -3): (nan, nan),
    (1, 2): (inf, None), (0.5, 2): (nan, nan), (nan, 1): (nan, nan), (2, nan): (nan, nan),
    (inf, 2): (0, nan), (inf, 1): (1, nan), (inf, 0.5): (inf, nan), (2, inf): (0, 0),
    (1e5, 0.9): (inf, inf), (1e5, 1): (1, inf), (99999, 1): (1, -inf), (1e5, 2): (0, nan),
    (1.5, 1e300): None, (20, 1e10): None, (2, 1e8): None, (2, np.nextafter(1e8, inf)): None,
    (64, 1e-4): None, (65, 2): None,
}  # fmt: skip


@pytest.mark.parametrize("number, name", enumerate(["zeta", "polygamma"]))
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow")
def test_edges(number, name):
    for (s, x), known in EDGES.items():
        if number and s > 1 and s % 1 != 0:
            known = (nan, nan)  # no derivative
        first, want = float(s - number), known[number] if known else None
        if want is None:
            want = getattr(special_values, name)(np.float64(first), np.float64(x))
        with jax.enable_x64(True):
            got = float(jax.jit(getattr(lax, name))(first, float(x)))
        assert np.isclose(got, want, rtol=1e-14, atol=0, equal_nan=True), (s, x, got, want)


def test_where_the_formula_has_three_terms():
    s, q = np.array([39.0, 30, 2, 1.5]), np.array([1.0001e8, 1e8 + 1, 1e9, 1e12])
    with jax.enable_x64(True):
        got = np.asarray(jax.jit(lax.zeta)(s, q))
    assert np.allclose(got, exact(mpmath.zeta, s, q), rtol=1e-15, atol=0)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5), (1000,)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_shapes_and_types(shape, dtype):
    x = np.linspace(0.2, 30, int(np.prod(shape))).reshape(shape)
    x = jax.numpy.asarray(x, dtype)
    got = jax.jit(lambda x: lax.polygamma(jax.numpy.full_like(x, 2), x))(x)
    want = special_values.polygamma(np.full(shape, 2.0), np.asarray(x, np.float64))
    assert got.dtype == dtype and got.shape == shape
    assert np.allclose(np.asarray(got, np.float64), want, rtol=float(jax.numpy.finfo(dtype).eps))
