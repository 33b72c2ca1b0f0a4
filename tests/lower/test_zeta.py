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


EDGES = [(2, -0.5), (3, -2.5), (2.5, -1.5), (2, 0), (3, 0), (2, -3), (1, 2), (0.5, 2), (np.nan, 1)]
EDGES += [(2, np.nan), (np.inf, 1), (np.inf, 0.5), (2, np.inf), (1e5, 0.9), (1e5, 1), (1.5, 1e300)]
EDGES += [(2, 1e8), (2, np.nextafter(1e8, np.inf)), (64, 1e-4), (65, 2), (2, -100.5)]


@pytest.mark.parametrize("routine", ["zeta", "polygamma"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_edges(routine):
    s, x = (np.array(column, float) for column in zip(*EDGES))
    first = s if routine == "zeta" else s - 1
    with jax.enable_x64(True):
        got = np.asarray(jax.jit(getattr(lax, routine))(first, x))
    want = getattr(special_values, routine)(first, x)
    if routine == "polygamma":  # as zeta's at poles: without a sign where s is odd
        want = np.where((x == 0) & (s % 2 == 1), np.nan, want)
    unlike = np.isinf(got) & np.isnan(want) | (first > 1e4)  # inf * 0, factorials beyond
    same = np.isclose(got, want, rtol=1e-12, atol=0, equal_nan=True) | unlike
    assert same.all(), [(a, b, c, d) for a, b, c, d, e in zip(s, x, got, want, same) if not e]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5), (1000,)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_shapes_and_types(shape, dtype):
    x = np.linspace(0.2, 30, int(np.prod(shape))).reshape(shape)
    x = jax.numpy.asarray(x, dtype)
    got = jax.jit(lambda x: lax.polygamma(jax.numpy.full_like(x, 2), x))(x)
    want = special_values.polygamma(np.full(shape, 2.0), np.asarray(x, np.float64))
    assert got.dtype == dtype and got.shape == shape
    assert np.allclose(np.asarray(got, np.float64), want, rtol=float(jax.numpy.finfo(dtype).eps))
