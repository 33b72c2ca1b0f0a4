"""Values where rounding, overflow and cancellation lie in wait: against exact arithmetic."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import jitney.numpy as jnp

COMPLEX = """exp expm1 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh asin acos atan asinh
acosh atanh sign square reciprocal""".split()
EXACT = {"log2": lambda z: mpmath.log(z) / mpmath.log(2), "reciprocal": lambda z: 1 / z,
         "log10": lambda z: mpmath.log(z) / mpmath.log(10), "square": lambda z: z * z,
         "expm1": mpmath.expm1, "log1p": lambda z: mpmath.log(1 + z)}  # fmt: skip
SIZES = [1e-30, 1e-9, 1e-4, 0.3, 0.8, 1 - 1e-7, 1.0, 1 + 1e-7, math.pi / 2, 2.5, 12.0, 40.0, 86.0,
         1e4, 1e7, 1e12, 1e30]  # fmt: skip


def points(dtype):
    part = np.dtype(dtype).type(0).real.dtype
    sizes = np.array([s * sign for s in SIZES for sign in (1, -1)], part)
    z = np.empty(len(sizes) ** 2, dtype)
    z.real, z.imag = zip(*itertools.product(sizes, sizes))
    return z


def exact(name, z):
    with mpmath.workdps(120):
        function = EXACT.get(name) or getattr(mpmath, name)
        try:
            return complex(function(mpmath.mpc(float(z.real), float(z.imag))))
        except OverflowError:
            return complex(math.inf, math.inf)


def overflows(value, part):
    return not all(abs(v) < 0.99 * float(np.finfo(part).max) for v in (value.real, value.imag))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", COMPLEX)
def test_complex(name, dtype):
    """To a few units in the last place of the larger part."""
    z, part = points(dtype), np.dtype(dtype).type(0).real.dtype
    limits = np.finfo(part)
    got = np.asarray(getattr(jnp, name)(jnp.asarray(z))).astype(np.complex128)
    wrong, tried = [], 0
    for x, g in zip(z, got):
        w = exact(name, x)
        if overflows(w, part):
            continue
        tried += 1
        bound = 16 * limits.eps * abs(w) + limits.tiny
        if not abs(g - w) <= bound:
            wrong.append(f"{x}: {g}, not {w}")
    assert tried > len(z) / 2
    assert not wrong, f"{len(wrong)} of {tried}: " + "; ".join(wrong[:5])


def quotients(name):
    dtype = getattr(np, name)
    rng, limits = np.random.default_rng(3), np.finfo(dtype)
    spread = np.log10(float(limits.max)) - 1
    x = rng.choice([-1, 1], 4000) * 10.0 ** rng.uniform(-spread, spread, 4000)
    near = rng.random(4000) < 0.7
    y = np.where(near, x / 10.0 ** rng.uniform(-1, 1.5 + spread / 5, 4000),
                 10.0 ** rng.uniform(-spread, spread, 4000)) * rng.choice([-1, 1], 4000)
    whole = rng.random(4000) < 0.3
    x, y = x.astype(dtype), y.astype(dtype)
    small = abs(y) < limits.max / 3
    x = np.where(whole & small, np.where(small, y, 1) * dtype(3), x).astype(dtype)
    fine = np.isfinite(x) & np.isfinite(y) & (x != 0) & (y != 0)
    return x[fine], y[fine]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floor_divide_is_exact(dtype):
    """The floor of the true quotient, as long as all integers of its size can be represented."""
    x, y = quotients(dtype)
    got = np.asarray(jnp.floor_divide(x, y)).astype(float)
    limit = 2.0 ** (np.finfo(dtype).nmant + 1)
    wanted = [Fraction(float(a)) / Fraction(float(b)) for a, b in zip(x, y)]
    checked = [(a, b, g, math.floor(w)) for a, b, g, w in zip(x, y, got, wanted) if abs(w) < limit]
    assert len(checked) > 1000
    assert [c for c in checked if c[2] != c[3]] == []


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_remainder_is_that_of_python(dtype):
    x, y = quotients(dtype)
    got = np.asarray(jnp.remainder(x, y))
    wanted = np.array([float(a) % float(b) for a, b in zip(x, y)])
    np.testing.assert_array_equal(got, wanted.astype(dtype))
    np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_inverse_functions_of_the_largest_numbers(dtype):
    x = np.finfo(dtype).max * np.array([1, 0.9, 0.7, 0.5, 0.3]).astype(dtype)
    wanted = np.log(x.astype(np.longdouble)) + np.log(np.longdouble(2))
    for function in (jnp.asinh, jnp.acosh, lambda v: -jnp.asinh(-v)):
        np.testing.assert_allclose(function(x), wanted, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_results_that_do_not_overflow(dtype):
    part = np.dtype(dtype).type(0).real.dtype
    top = float(np.finfo(part).max)
    big = np.log(top) * 1.0005
    angle = math.pi / 2 - 1e-3
    scale, rtol = math.cos(angle), 400 * float(np.finfo(part).eps)
    for name, sides in (("exp", 1), ("expm1", 1), ("cosh", 2), ("sinh", 2)):
        got = complex(getattr(jnp, name)(np.dtype(dtype).type(complex(big, angle))))
        turned = math.cos(float(part.type(angle)))
        wanted = float(mpmath.exp(float(part.type(big))) * turned / sides)
        assert math.isclose(got.real, wanted, rel_tol=max(rtol, 1e-2 * scale)), name
    corner = np.dtype(dtype).type(complex(top, -top))
    assert complex(jnp.sign(corner)) == pytest.approx(complex(0.5, -0.5) * math.sqrt(2))
    root = complex(jnp.sqrt(corner)) / math.sqrt(top)
    assert root == pytest.approx(complex(1.09868411, -0.45508986))
    assert complex(jnp.log(corner)) == pytest.approx(complex(math.log(top) + math.log(2) / 2,
                                                             -math.pi / 4))  # fmt: skip
