"""Exact functions, threefry and the special cases of pow."""

import kernel_harness as harness
import numpy as np
import pytest

import jitney
from jitney.codegen import math as vector_math

TARGETS = list(harness.targets())
X = np.array([0.0, -0.0, 0.3, -0.3, 0.5, -0.5, 1.5, 2.5, -2.5, -1.5, 8388607.5, 8388609.0, 1e30,
              -1e30, np.inf, -np.inf, np.nan, 1e-40, 0.49999997, -0.50000006])  # fmt: skip


def run(name, types, *arguments, target=TARGETS[0], **params):
    kernel = harness.compile_kernel(
        lambda e, *v: vector_math.evaluate(e, name, *v, **params),
        types,
        target=harness.targets()[target],
    )
    assert not harness.undefined_symbols(kernel.object_code)
    return kernel(*arguments)


def same(a, b):
    with np.errstate(all="ignore"):
        equal = (a == b) & (np.signbit(a) == np.signbit(b))
        return (equal | (np.isnan(a) & np.isnan(b))).all()


def half_away(x):
    with np.errstate(all="ignore"):
        size = np.abs(x)
        whole = np.trunc(size)
        return np.copysign(np.where(size - whole >= 0.5, whole + 1, whole), x)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("type_name", ["float", "double"])
def test_rounding_and_signs(type_name, target):
    x = X.astype(harness.NUMPY_TYPES[type_name])
    for name, truth in (
        ("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("round_half_even", np.rint),
        ("round_half_away", half_away), ("sign", np.sign), ("abs", np.abs),
    ):  # fmt: skip
        got = run(name, (type_name, type_name), x, target=target)
        expected = np.where(x == 0, x, truth(x)) if name == "sign" else truth(x)
        assert same(got, expected), name
    finite = run("is_finite", (type_name, "i8"), x, target=target)
    assert np.array_equal(finite != 0, np.isfinite(x))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("type_name", ["float", "double"])
def test_nextafter(type_name, target):
    x, y = (g.ravel() for g in np.meshgrid(*[X.astype(harness.NUMPY_TYPES[type_name])] * 2))
    got = run("nextafter", (type_name,) * 3, x, y, target=target)
    assert same(got, np.nextafter(x, y))


def test_nextafter_of_short_floats():
    x = np.array([0.0, 1.0, -1.0, 65504.0, 6e-8], np.float16)
    up = run("nextafter", ("half",) * 3, x, np.full_like(x, np.inf))
    assert same(up, np.nextafter(x, np.float16(np.inf)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("type_name", ["i8", "i16", "i32", "i64"])
def test_bit_counts(type_name, target):
    dtype = harness.NUMPY_TYPES[type_name]
    bits = np.iinfo(dtype).bits
    x = np.array([0, 1, -1, 2, 3, 100, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    words = [int(v) & ((1 << bits) - 1) for v in x]
    types = (type_name, type_name)
    counts = run("population_count", types, x, target=target)
    assert counts.tolist() == [w.bit_count() for w in words]
    leading = run("clz", types, x, target=target)
    assert leading.tolist() == [bits - w.bit_length() for w in words]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("type_name", ["float", "double"])
def test_special_cases_of_pow(type_name, target):
    dtype = harness.NUMPY_TYPES[type_name]
    few = np.array([0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, np.inf, -np.inf, np.nan, 2.5, -2.5,
                    1e-30, -1e30, 1e20, 8388609.0, -8388609.0], dtype)  # fmt: skip
    x, y = (g.ravel() for g in np.meshgrid(few, few))
    got = run("pow", (type_name,) * 3, x, y, target=target)
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
        close = np.abs(got - expected) <= 2 * np.spacing(np.abs(expected))
        exact = (got == expected) & (np.signbit(got) == np.signbit(expected))
    assert (exact | close | (np.isnan(got) & np.isnan(expected))).all()


@pytest.mark.parametrize("exponent", [-3, 0, 1, 2, 7])
def test_integer_pow(exponent):
    x = np.array([1.5, -2.0, 0.25, 3.0])
    got = run("integer_pow", ("double", "double"), x, exponent=exponent)
    assert np.allclose(got, x**exponent, rtol=1e-15)


KNOWN_ANSWERS = [  # key, counter, result: the published vectors of twenty rounds
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize("target", TARGETS)
def test_threefry(target):
    columns = np.array([k + c for k, c, _ in KNOWN_ANSWERS], np.uint32).astype(np.int32).T
    for word in (0, 1):
        kernel = harness.compile_kernel(
            lambda e, *v, word=word: vector_math.threefry2x32(e, *v)[word],
            ("i32",) * 5,
            target=harness.targets()[target],
        )
        got = kernel(*[np.ascontiguousarray(c) for c in columns]).view(np.uint32)
        assert got.tolist() == [r[word] for _, _, r in KNOWN_ANSWERS]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["exp", "tanh", "erf", "erfc", "logistic", "log", "sin"])
def test_a_number_by_itself_is_as_in_a_vector(name, dtype):
    """Bit by bit, whichever form the machine has for vectors: an array's only column may be
    computed once a row."""
    fun = jitney.jit(getattr(jitney.lax, name))
    with jitney.enable_x64(True):
        x = (3 * np.random.default_rng(0).standard_normal(100)).astype(dtype)
        x = abs(x) if name == "log" else x
        alone = np.array([np.asarray(fun(number)) for number in x])
        np.testing.assert_array_equal(alone, fun(x))
