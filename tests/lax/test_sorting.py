"""Sorting, selection, reductions and scans where order, ties, NaN and zeros matter."""

import numpy as np
import pytest
from helpers import assert_close, by_reference, compiled, dtype_named

from jitney import lax

TYPES = ("float32", "bfloat16", "float16", "int32", "uint8", "bool")


def values(name, *shape, seed=0):
    numbers = np.random.RandomState(seed).randint(-50, 50, shape) / 4
    return np.abs(numbers).astype(dtype_named(name)) if name in ("uint8", "bool") \
        else numbers.astype(dtype_named(name))


def agree(fun, *args):
    """Reference and compiled results, equal; the reference is given."""
    reference = by_reference(fun, *args)
    for a, b in zip(compiled(fun, *args), reference, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    return reference


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("axis", [0, 1])
def test_sort_is_numpys(name, axis):
    x = values(name, 6, 7)
    found, = agree(lambda v: lax.sort(v, axis), x)
    np.testing.assert_array_equal(found.astype(np.float32), np.sort(x.astype(np.float32), axis))


def test_sort_puts_nan_last_and_is_stable():
    x = np.array([np.nan, 3, -np.nan, -0.0, 0.0, -np.inf, np.inf], np.float32)
    found, order = agree(lambda v: lax.sort((v, np.arange(7, dtype=np.int32))), x)
    assert order.tolist() == [5, 3, 4, 1, 6, 0, 2]
    assert np.isnan(found[-2:]).all()
    pairs = agree(lambda v, w: lax.sort((v, w, np.arange(6, dtype=np.int32)), num_keys=2),
                  np.array([1, 0, 1, 0, 1, 1], np.int32), np.array([3, 2, 1, 2, 1, 0], np.int32))
    assert pairs[2].tolist() == [1, 3, 5, 2, 4, 0]


def test_sort_of_complex_numbers_is_lexicographic():
    x = np.array([1 + 2j, 1 + 1j, complex(np.nan, 1), 0], np.complex64)
    found, = by_reference(lax.sort, x)
    assert found[:3].tolist() == [0, 1 + 1j, 1 + 2j]


def test_top_k():
    values_, places = agree(lambda v: lax.top_k(v, 2), np.array([1, np.nan, 3], np.float32))
    assert np.isnan(values_[0]) and values_[1] == 3 and places.tolist() == [1, 2]
    _, places = agree(lambda v: lax.top_k(v, 3), np.array([1, 1, 0, 1], np.float32))
    assert places.tolist() == [0, 1, 3]
    zeros, places = agree(lambda v: lax.top_k(v, 4), np.array([-0.0, 0, 0, -0.0], np.float32))
    assert places.tolist() == [1, 2, 0, 3] and np.signbit(zeros).tolist() == [0, 0, 1, 1]
    _, places = agree(lambda v: lax.top_k(v, 2, axis=0), values("int32", 5, 3))
    assert places.shape == (2, 3)


@pytest.mark.parametrize("name", TYPES)
def test_reductions(name):
    x = values(name, 5, 8)
    wide = x.astype(np.float64)
    agree(lambda v: lax.argmax(v, 1, "int32"), x)
    agree(lambda v: lax.argmin(v, 0, "int32"), x)
    for fun, oracle in ((lax.reduce_max, np.max), (lax.reduce_min, np.min)):
        found, = agree(lambda v, fun=fun: fun(v, (0,)), x)
        np.testing.assert_array_equal(found.astype(np.float64), oracle(wide, 0))
    if name in ("float32", "bfloat16", "float16"):
        for axes in ((0,), (1,), (0, 1), ()):
            for run in (by_reference, compiled):
                found, = run(lambda v, axes=axes: lax.reduce_sum(v, axes), x)
                assert_close(found, wide.sum(axes) if axes else wide, 8)


def test_extremes_of_nothing_and_of_nan():
    empty = np.ones((0, 3), np.float32)
    assert agree(lambda v: lax.reduce_max(v, (0,)), empty)[0].tolist() == [-np.inf] * 3
    assert agree(lambda v: lax.reduce_sum(v, (0,)), empty)[0].tolist() == [0] * 3
    assert agree(lambda v: lax.reduce_prod(v, (0,)), empty)[0].tolist() == [1] * 3
    nan = np.array([1, np.nan, 3], np.float32)
    assert np.isnan(agree(lambda v: lax.reduce_max(v, (0,)), nan)[0])
    for fun in (lax.argmax, lax.argmin):
        assert agree(lambda v, fun=fun: fun(v, 0, "int32"), nan)[0] == 1
    wide = np.arange(300, dtype=np.float32)
    assert agree(lambda v: lax.argmax(v, 0, "int16"), wide)[0] == 299


@pytest.mark.parametrize("name", ["float32", "int32"])
@pytest.mark.parametrize("reverse", [False, True])
def test_scans(name, reverse):
    x = values(name, 4, 9)
    turned = x[:, ::-1] if reverse else x
    oracles = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum,
               "cummin": np.minimum}
    for fun, oracle in oracles.items():
        if fun == "cumprod":
            turned, x_ = np.sign(turned), np.sign(x)
        else:
            x_ = x
        want = oracle.accumulate(turned, axis=1, dtype=x.dtype)
        want = want[:, ::-1] if reverse else want
        for run in (by_reference, compiled):
            found, = run(lambda v, fun=fun: getattr(lax, fun)(v, 1, reverse), x_)
            np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)
        turned = x[:, ::-1] if reverse else x


def test_scans_meet_nan_and_infinity():
    x = np.array([1, np.nan, 2, np.inf], np.float32)
    assert np.isnan(agree(lax.cummax, x)[0][1:]).all()
    y = np.array([-np.inf, 1, 2], np.float32)
    for run in (by_reference, compiled):
        found, = run(lax.cumlogsumexp, y)
        assert_close(found, np.array([-np.inf, 1, 2.3132617], np.float32), 4)


def test_general_reductions():
    x = values("float32", 3, 5)
    found, = by_reference(lambda v: lax.reduce(
        v, np.float32(0), lambda a, b: lax.add(a, lax.mul(b, b)), (1,)), x)
    assert_close(found, (x * x).sum(1), 8)
    total, least = by_reference(lambda v, w: lax.reduce(
        (v, w), (np.float32(0), np.int32(100)),
        lambda a, b: (lax.add(a[0], b[0]), lax.min(a[1], b[1])), (0,)), x, values("int32", 3, 5))
    assert_close(total, x.sum(0), 8)
    assert least.tolist() == values("int32", 3, 5).min(0).tolist()
