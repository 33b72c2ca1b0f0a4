"""Cumulative routines against NumPy: every type, axis position, direction and vector width."""

import os
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))  # tests are imported without a package
from routine_caller import (  # noqa: E402
    DTYPES,
    FLOATS,
    INTEGERS,
    call,
    native,
    same_bits,
    samples,
)

SHAPES = [(1, 0, 1), (2, 1, 1), (3, 2, 1), (2, 17, 1), (3, 1000, 1), (1, 70000, 1)]
SHAPES += [(2, 17, 3), (1, 40, 700), (3, 5, 64), (2, 3, 0)]
SHAPES += [(1, 9000, 3), (1, 3000, 12), (2, 2100, 23), (1, 1500, 38), (1, 900, 65)]


def run(name, x, reverse, block=0, far=0, down=0):
    outer, n, inner = x.shape
    out = np.empty_like(x)
    width = block or max(inner, 1)
    extent = outer * -(-inner // width) if inner else 0
    call(f"{name}", [x, out], [n, inner, reverse, block, far, down], extent, 2)
    return out


def flip(x, reverse):
    return x[:, ::-1] if reverse else x


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name, shape, reverse):
    x = samples(name, shape, sum(shape))
    cases = {"cumsum": np.cumsum, "cumprod": np.cumprod}
    for routine, numpy_function in cases.items():
        with np.errstate(over="ignore"):
            want = flip(numpy_function(flip(x, reverse), axis=1, dtype=x.dtype), reverse)
        assert np.array_equal(run(f"{routine}_{name}", x, reverse), want)
    for routine, ufunc in (("cummax", np.maximum), ("cummin", np.minimum)):
        want = flip(ufunc.accumulate(flip(x, reverse), axis=1), reverse) if x.size else x
        assert np.array_equal(run(f"{routine}_{name}", x, reverse), want)


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", FLOATS)
def test_float_maximum_and_minimum(name, shape, reverse):
    x = samples(name, shape, sum(shape))
    if shape[1] > 2:
        late = np.arange(shape[1]).reshape(1, -1, 1) > shape[1] // 2  # NaN in one half only
        x = np.where(late & np.isnan(x.astype(float)), np.array(0, x.dtype), x).astype(x.dtype)
    wide = x.astype(np.float64)
    for routine, ufunc in (("cummax", np.maximum), ("cummin", np.minimum)):
        want = flip(ufunc.accumulate(flip(wide, reverse), axis=1), reverse) if x.size else wide
        got = run(f"{routine}_{name}", x, reverse)
        assert np.array_equal(got.astype(np.float64), want, equal_nan=True)


def test_zeros_have_an_order():
    x = np.array([-0.0, 0.0, -0.0], np.float32).reshape(1, 3, 1)
    assert list(np.signbit(run("cummax_f32", x, 0)).ravel()) == [True, False, False]
    assert list(np.signbit(run("cummin_f32", -x, 0)).ravel()) == [False, True, True]
    assert np.signbit(run("cumsum_f32", np.full((1, 3, 1), -0.0, np.float32), 0)).all()


TOLERANCE = {"f16": 2e-3, "bf16": 1e-2, "f32": 1e-5, "f64": 1e-13}


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", FLOATS)
def test_float_sums_and_products(name, shape, reverse):
    rng = np.random.default_rng(1)
    n = max(shape[1], 1)
    x = rng.random(shape).astype(DTYPES[name])
    want = flip(np.cumsum(flip(x.astype(np.float64), reverse), axis=1), reverse)
    got = run(f"cumsum_{name}", x, reverse).astype(np.float64)
    fits = want < 60000
    assert np.allclose(got[fits], want[fits], rtol=TOLERANCE[name] * (1 + n / 3e4), atol=1e-3)
    near_one = (1 + (rng.random(shape) - 0.5) / np.sqrt(n)).astype(DTYPES[name])
    want = flip(np.cumprod(flip(near_one.astype(np.float64), reverse), axis=1), reverse)
    got = run(f"cumprod_{name}", near_one, reverse).astype(np.float64)
    assert np.allclose(got, want, rtol=TOLERANCE[name] * (1 + n / 3e3))


@pytest.mark.parametrize("name", FLOATS)
def test_special_values_propagate(name):
    x = np.array([1, np.inf, 2, -np.inf, 3, 4] * 9).astype(DTYPES[name]).reshape(1, -1, 1)
    with np.errstate(invalid="ignore"):
        assert same_bits(run(f"cumsum_{name}", x, 0), np.cumsum(x, axis=1, dtype=x.dtype))
    x[0, 20] = np.nan
    assert np.isnan(run(f"cumprod_{name}", x, 0).astype(float)[0, 20:]).all()


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("shape", [(1, 0, 1), (2, 17, 1), (2, 1000, 1), (2, 9, 5)])
@pytest.mark.parametrize("name", FLOATS)
def test_logsumexp(name, shape, reverse):
    x = np.random.default_rng(2).normal(size=shape).astype(DTYPES[name])
    want = flip(x.astype(float), reverse)
    want = flip(np.logaddexp.accumulate(want, axis=1), reverse) if x.size else want
    got = run(f"cumlogsumexp_{name}", x, reverse).astype(float)
    assert np.allclose(got, want.astype(float), rtol=TOLERANCE[name], atol=TOLERANCE[name])


def test_logsumexp_special_values():
    inf, nan = np.inf, np.nan
    x = np.array([-inf, -inf, 1, 2, -inf, inf, inf, 2, nan, 1], np.float64).reshape(1, -1, 1)
    got = run("cumlogsumexp_f64", x, 0).ravel()
    two = np.logaddexp(1, 2)
    want = [-inf, -inf, 1, two, two, inf, inf, inf, nan, nan]
    assert np.allclose(got, want, equal_nan=True)


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("shape", [(2, 0, 1), (2, 17, 1), (2, 33, 3), (1, 1000, 1)])
@pytest.mark.parametrize("name", ["c64", "c128"])
def test_complex(name, shape, reverse):
    rng = np.random.default_rng(3)
    x = np.exp(1j * rng.random(shape) * 6).astype(DTYPES[name])
    for routine, numpy_function in (("cumsum", np.cumsum), ("cumprod", np.cumprod)):
        want = flip(numpy_function(flip(x.astype(complex), reverse), axis=1), reverse)
        assert np.allclose(run(f"{routine}_{name}", x, reverse), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("routine", ["cumsum_f32", "cumprod_c64", "cummax_f16", "cumlogsumexp_f32"])
def test_blocks_of_columns_and_in_place(routine):
    name = routine.rsplit("_", 1)[1]
    x = np.random.default_rng(4).random((3, 11, 50)).astype(DTYPES[name])
    for reverse in (0, 1):
        want = run(routine, x, reverse)
        for block in (1, 7, 16, 50, 80):
            assert same_bits(run(routine, x, reverse, block), want)
        same = x.copy()
        call(routine, [same, same], [11, 50, reverse, 0, 0, 0], 3)
        assert same_bits(same, want)
        row = np.ascontiguousarray(x.reshape(1, -1, 1))
        want = run(routine, row, reverse)
        call(routine, [row, row], [row.size, 1, reverse, 0, 0, 0], 1)
        assert same_bits(row, want)


LONG = [(1, 200_003, 1), (2, 50_001, 2), (1, 33_333, 4), (1, 20_011, 8), (1, 9_001, 33)]
LONG += [(1, 300, 2500), (2, 40, 5003)]  # several chunks each; rows of several strips


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("shape", LONG)
@pytest.mark.parametrize("name", ["i8", "u16", "i32", "i64", "bf16", "f32", "f64"])
def test_long_axes_in_chunks(name, shape, reverse):
    """Whole numbers and extremes are exact, sums near, and all in place as well; the bits are those
    of any number of threads."""
    x = samples(name, shape, 7, special=False)
    routines = {"cummax": np.maximum.accumulate, "cummin": np.minimum.accumulate}
    wide = flip(x.astype(np.float64) if name in FLOATS else x, reverse)
    routines["cumsum"] = lambda v, axis: np.cumsum(v, axis, dtype=v.dtype)
    for routine, numpy_function in routines.items():
        want = flip(numpy_function(wide, axis=1), reverse)
        results = []
        for threads in (1, 2, 5):
            native.set_num_threads(threads)
            results.append(run(f"{routine}_{name}", x, reverse))
            same = x.copy()
            call(f"{routine}_{name}", [same, same], [*shape[1:], reverse, 0, 1, 0], shape[0])
            results.append(same)
        native.set_num_threads(0)
        assert all(same_bits(r, results[0]) for r in results)
        if routine == "cumsum" and name in FLOATS:
            size = np.abs(wide).cumsum(axis=1).max()
            assert np.abs(results[0].astype(np.float64) - want).max() < TOLERANCE[name] * size
        else:
            assert np.array_equal(results[0], want.astype(x.dtype))


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("block", [16, 60, 64, 250, 256])
@pytest.mark.parametrize("name", ["i8", "i32", "i64", "bf16", "f32", "f64"])
def test_blocks_of_columns_in_registers(name, block, reverse):
    """From the first row to the last, each column by itself: the bits of a loop."""
    x = samples(name, (2, 700, 300), 5, special=False)
    block = min(block, 1024 // x.itemsize)
    wide = x.astype(np.float32) if name == "bf16" else x
    want = flip(np.cumsum(flip(wide, reverse), axis=1, dtype=wide.dtype), reverse).astype(x.dtype)
    greatest = flip(np.maximum.accumulate(flip(wide, reverse), axis=1), reverse).astype(x.dtype)
    for down in (0, 1):
        assert same_bits(run(f"cumsum_{name}", x, reverse, block, down=down), want)
        assert same_bits(run(f"cummax_{name}", x, reverse, block, down=down), greatest)


@pytest.mark.parametrize("shape", [(1, 200_003, 1), (3, 4096, 1), (2, 5001, 4), (1, 300, 2500),
                                   (5, 40, 512)])  # fmt: skip
@pytest.mark.parametrize("routine", ["cumsum_f32", "cummax_i64", "cumsum_bf16", "cumsum_c64"])
def test_results_past_the_caches(routine, shape):
    """Aligned and not, with one column or more: the same bits."""
    x = np.random.default_rng(9).integers(-50, 50, shape).astype(DTYPES[routine.split("_")[1]])
    for reverse in (0, 1):
        assert same_bits(run(routine, x, reverse, far=1), run(routine, x, reverse))


def test_zeros_and_specials_across_chunks():
    n = 100_000
    assert np.signbit(run("cumsum_f32", np.full((1, n, 1), -0.0, np.float32), 0)).all()
    x = np.ones((1, n, 1), np.float32)
    x[0, 40_000], x[0, 80_000] = np.inf, -np.inf
    got = run("cumsum_f32", x, 0).ravel()
    assert np.isfinite(got[:40_000]).all() and np.isposinf(got[40_000:80_000]).all()
    assert np.isnan(got[80_000:]).all()


def test_products_do_not_overflow_by_themselves():
    """Partial products far along the axis would be infinite, those from the start are not."""
    x = np.ones((1, 100_000, 1), np.float32)
    x[0, :30], x[0, 60_000:60_050] = 0.1, 10.0
    got = run("cumprod_f32", x, 0).ravel()
    assert np.isfinite(got).all() and np.isclose(got[60_030], 10.0, rtol=1e-4)


@pytest.mark.skipif(os.environ.get("JITNEY_CPU_LEVEL") is not None, reason="is the inner run")
@pytest.mark.parametrize("level", ["0", "1"])
def test_narrower_vectors(level):
    here = os.path.dirname(__file__)
    files = [os.path.join(here, f"test_routines_{f}.py") for f in ("scan", "top_k", "index")]
    env = dict(os.environ, JITNEY_CPU_LEVEL=level)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
