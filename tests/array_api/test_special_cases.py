"""Special cases of elementwise functions: eagerly, jitted, and through operators."""

import math
import operator

import classes
import numpy as np
import pytest
import special_cases as tables

import jitney
import jitney.numpy as jnp

DTYPES = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
OPERATORS = {"add": operator.add, "divide": operator.truediv, "equal": operator.eq,
             "floor_divide": operator.floordiv, "multiply": operator.mul,
             "not_equal": operator.ne, "pow": operator.pow, "remainder": operator.mod,
             "subtract": operator.sub}  # fmt: skip


def ways(name, function):
    """The function eagerly, jitted, and as an operator."""
    yield "eager", function
    yield "jit", jitney.jit(lambda *args: function(*args))
    if name in OPERATORS:
        yield "operator", OPERATORS[name]


def wrong_real(function, table, dtype):
    points = list(classes.real_points(table))
    columns = [np.array(column, dtype) for column in zip(*(args for args, _, _ in points))]
    got = np.asarray(function(*map(jnp.asarray, columns))).astype(np.float64)
    return [f"{case}: {args} gave {g}" for (args, wanted, case), g in zip(points, got)
            if not classes.agrees(float(g), rounded(wanted, dtype))]


def rounded(wanted, dtype):
    return wanted if callable(wanted) else float(np.asarray(wanted, dtype))


REAL = {**tables.REAL_UNARY, **tables.REAL_BINARY}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REAL)
def test_real(name, dtype):
    for way, function in ways(name, getattr(jnp, name)):
        wrong = wrong_real(function, REAL[name], dtype)
        assert not wrong, f"{name}, {way}: " + "; ".join(wrong[:8])


def wrong_complex(function, points, dtype):
    z = np.empty(len(points), dtype)
    z.real, z.imag = zip(*(args for args, _, _ in points))
    got = np.asarray(function(jnp.asarray(z)))
    parts = zip(got.real.astype(float), got.imag.astype(float))
    return [f"{case}: {args} gave {re}, {im}" for (args, wanted, case), (re, im)
            in zip(points, parts)
            if not (classes.agrees(re, wanted[0]) and classes.agrees(im, wanted[1]))]


def turned(points, even):
    """The points of sin(z) = -i sinh(iz) from those of sinh (of cos(z) = cosh(iz) from cosh)."""
    for (a, b), (re, im), case in points:
        yield (b, -a), (re, im) if even else (im, negated(re)), case


def negated(wanted):
    return (lambda got: wanted(-got)) if callable(wanted) else -wanted


def conjugated(points):
    return [((a, -b), (re, negated(im)), case + " conj") for (a, b), (re, im), case in points]


def opposite(points, odd):
    return [((-a, -b), (negated(re), negated(im)) if odd else (re, im), case + " minus")
            for (a, b), (re, im), case in points]


def all_points(name):
    source = tables.TURNED.get(name, name)
    points = list(classes.complex_points(tables.COMPLEX_UNARY[source]))
    if name != "sign":
        points += conjugated(points)
    if source in tables.ODD + tables.EVEN:
        points += opposite(points, source in tables.ODD)
    if source != name:
        points = list(turned(points, source in tables.EVEN))
    return points


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", [*tables.COMPLEX_UNARY, *tables.TURNED])
def test_complex(name, dtype):
    for way, function in ways(name, getattr(jnp, name)):
        wrong = wrong_complex(function, all_points(name), dtype)
        assert not wrong, f"{name}, {way}: " + "; ".join(wrong[:8])


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name, base", [("log2", 2.0), ("log10", 10.0)])
def test_other_logarithms(name, base, dtype):
    """As the natural logarithm, divided by that of the base, part by part."""
    scale = math.log(base)
    points = [(args, tuple(scaled(part, scale) for part in wanted), case)
              for args, wanted, case in all_points("log")]
    wrong = wrong_complex(getattr(jnp, name), points, dtype)
    assert not wrong, "; ".join(wrong[:8])


def scaled(wanted, scale):
    return (lambda got: wanted(got * scale)) if callable(wanted) else wanted


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", tables.COMPLEX_TO_REAL)
def test_complex_to_real(name, dtype):
    points = []
    for case in tables.COMPLEX_TO_REAL[name].split():
        for (a, b), case_, in members(case):
            result = case.split("->")[1]
            wanted = {"|a|": abs(a), "|b|": abs(b)}.get(result)
            if wanted is None:
                wanted = classes.wanted_real(result, (a, b))
            points.append(((a, b), wanted, case_))
    z = np.empty(len(points), dtype)
    z.real, z.imag = zip(*(args for args, _, _ in points))
    for way, function in ways(name, getattr(jnp, name)):
        got = np.asarray(function(jnp.asarray(z))).astype(float)
        part = np.dtype(dtype).type(0).real.dtype
        wrong = [f"{case}: {args} gave {g}" for (args, wanted, case), g in zip(points, got)
                 if not classes.agrees(float(g), rounded(wanted, part))]
        assert not wrong, f"{name}, {way}: " + "; ".join(wrong[:8])


def members(case):
    names = case.split("->")[0].split(",")
    for a in classes.MEMBERS[names[0]]:
        for b in classes.MEMBERS[names[1]]:
            yield (a, b), case


@pytest.mark.parametrize("dtype", DTYPES)
def test_clip_with_nan(dtype):
    x = jnp.asarray(np.array([np.nan, 1.0, 2.0, -5.0], dtype))
    nan = jnp.asarray(np.array(np.nan, dtype))
    assert np.isnan(np.asarray(jnp.clip(x, 0, 1)))[0]
    assert np.isnan(np.asarray(jnp.clip(x, nan, None))).all()
    assert np.isnan(np.asarray(jnp.clip(x, None, nan))).all()
    assert np.isnan(np.asarray(jnp.clip(x, nan, nan))).all()


@pytest.mark.parametrize("dtype", COMPLEX)
def test_rounding_of_complex_parts(dtype):
    special = [math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.7, 3.0]
    pairs = [(a, b) for a in special for b in special]
    z = np.empty(len(pairs), dtype)
    z.real, z.imag = zip(*pairs)
    got = np.asarray(jnp.round(jnp.asarray(z)))
    np.testing.assert_array_equal(got.real, np.round(z.real))
    np.testing.assert_array_equal(got.imag, np.round(z.imag))
    np.testing.assert_array_equal(np.signbit(got.real), np.signbit(np.round(z.real)))
