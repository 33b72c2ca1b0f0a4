"""Every primitive compiled to machine code gives what its NumPy reference gives."""

import zlib

import numpy as np
import pytest

import jitney
from jitney import lax
from jitney.base import debug
from jitney.core import interpret

FLOATS = ["float32", "float16", "bfloat16"]
INTEGERS = ["int32", "int8", "int16", "uint8", "uint32", "uint16"]
SIGNED = ["int32", "int8", "int16"]
COMPLEX = ["complex64"]
NUMBERS = FLOATS + INTEGERS + COMPLEX
ALL = NUMBERS + ["bool"]


def sample(shape, dtype, low=None, high=None, seed=0):
    rng = np.random.default_rng(seed)
    dtype = jitney.dtypes.canonicalize_dtype(dtype) if dtype != "bfloat16" else np.dtype(_bf16())
    if dtype.kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) > 0.5
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -50, 50, shape).astype(dtype)
    if low is not None:
        return rng.uniform(low, high, shape).astype(dtype)
    return (rng.normal(size=shape) * 3).astype(dtype)


def _bf16():
    import ml_dtypes

    return ml_dtypes.bfloat16


def check(f, *args, tolerance=None):
    closed = jitney.make_jaxpr(f)(*args)
    with np.errstate(all="ignore"):
        want = interpret.reference_of_closed(closed, *[np.asarray(a) for a in args])
    before = debug.counts().get("reference_fallbacks", 0)
    got = jitney.tree_util.tree_leaves(jitney.jit(f)(*args))
    assert debug.counts().get("reference_fallbacks", 0) == before, "no machine code"
    for g, w in zip(got, want, strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        half = g.dtype.name in ("bfloat16", "float16")
        tol = tolerance or (2e-2 if half else 3e-5)
        if g.dtype.kind != "c":
            g, w = g.astype(np.float64), w.astype(np.float64)
        np.testing.assert_allclose(g, w, rtol=tol, atol=tol)


UNARY = {
    "neg": NUMBERS, "sign": NUMBERS, "floor": FLOATS, "ceil": FLOATS, "is_finite": FLOATS,
    "exp": FLOATS + COMPLEX, "exp2": FLOATS + COMPLEX, "expm1": FLOATS + COMPLEX,
    "log": FLOATS + COMPLEX, "log1p": FLOATS + COMPLEX, "tanh": FLOATS + COMPLEX,
    "logistic": FLOATS + COMPLEX, "sin": FLOATS + COMPLEX, "cos": FLOATS + COMPLEX,
    "tan": FLOATS + COMPLEX, "asin": FLOATS + COMPLEX, "acos": FLOATS + COMPLEX,
    "atan": FLOATS + COMPLEX, "sinh": FLOATS + COMPLEX, "cosh": FLOATS + COMPLEX,
    "asinh": FLOATS + COMPLEX, "acosh": FLOATS + COMPLEX, "atanh": FLOATS + COMPLEX,
    "sqrt": FLOATS + COMPLEX, "rsqrt": FLOATS + COMPLEX, "cbrt": FLOATS, "square": NUMBERS,
    "abs": FLOATS + SIGNED + COMPLEX, "real": COMPLEX, "imag": COMPLEX, "conj": COMPLEX,
    "bitwise_not": INTEGERS + ["bool"], "population_count": INTEGERS, "clz": INTEGERS,
    "lgamma": FLOATS, "digamma": FLOATS, "erf": FLOATS, "erfc": FLOATS, "erf_inv": FLOATS,
    "bessel_i0e": FLOATS, "bessel_i1e": FLOATS,
}  # fmt: skip
DOMAIN = {
    "log": (0.01, 10), "sqrt": (0, 10), "rsqrt": (0.01, 10), "log1p": (-0.9, 10),
    "asin": (-1, 1), "acos": (-1, 1), "atanh": (-0.99, 0.99), "acosh": (1, 10),
    "lgamma": (0.1, 10), "digamma": (0.1, 10), "erf_inv": (-0.99, 0.99),
}  # fmt: skip


@pytest.mark.parametrize("name,dtype", [(n, d) for n, ds in UNARY.items() for d in ds])
def test_unary(name, dtype):
    low, high = DOMAIN.get(name, (None, None))
    x = sample((3, 21), dtype, low, high, zlib.crc32(name.encode()))
    check(getattr(lax, name), x, tolerance=3e-4 if dtype in COMPLEX else None)


BINARY = {
    "add": NUMBERS, "sub": NUMBERS, "mul": NUMBERS, "div": NUMBERS, "rem": FLOATS + INTEGERS,
    "pow": FLOATS + COMPLEX, "max": FLOATS + INTEGERS + ["bool"],
    "min": FLOATS + INTEGERS + ["bool"], "atan2": FLOATS, "nextafter": ["float32"],
    "bitwise_and": INTEGERS + ["bool"], "bitwise_or": INTEGERS + ["bool"],
    "bitwise_xor": INTEGERS + ["bool"], "shift_left": INTEGERS,
    "shift_right_logical": INTEGERS, "shift_right_arithmetic": INTEGERS, "eq": ALL, "ne": ALL,
    "lt": FLOATS + INTEGERS + ["bool"], "le": FLOATS + INTEGERS + ["bool"],
    "gt": FLOATS + INTEGERS, "ge": FLOATS + INTEGERS,
}  # fmt: skip


@pytest.mark.parametrize("name,dtype", [(n, d) for n, ds in BINARY.items() for d in ds])
def test_binary(name, dtype):
    seed = zlib.crc32(name.encode())
    low, high = (0.1, 4) if name == "pow" else (None, None)
    x, y = sample((4, 19), dtype, low, high, seed), sample((4, 19), dtype, seed=seed + 1)
    if name.startswith("shift"):
        y = (np.abs(y.astype(np.int32)) % 9).astype(y.dtype)
    tolerance = 1e-3 if dtype in COMPLEX or (name == "pow" and dtype == "float32") else None
    if name == "pow" and tolerance is None:
        tolerance = 5e-2
    check(getattr(lax, name), x, y, tolerance=tolerance)


@pytest.mark.parametrize("source", ALL)
def test_convert(source):
    for target in ALL:
        check(lambda x, t=target: lax.convert_element_type(x, t), sample((2, 9), source))


VIEWS = {
    "transpose": lambda x: lax.transpose(x, (2, 0, 1)),
    "rev": lambda x: lax.rev(x, (0, 2)),
    "pad": lambda x: lax.pad(x, np.zeros((), x.dtype), ((1, 2, 0), (-1, 0, 2), (0, -2, 1))),
    "concatenate": lambda x: lax.concatenate([x, x, x], 1),
    "slice": lambda x: lax.slice(x, (1, 0, 2), (5, 6, 7), (2, 1, 3)),
    "dynamic_slice": lambda x: lax.dynamic_slice(
        x, (np.int32(1), np.int32(7), np.int32(-1)), (2, 3, 4)
    ),
    "dynamic_update_slice": lambda x: lax.dynamic_update_slice(
        x, lax.slice(x, (0, 0, 0), (2, 3, 4)), (np.int32(1), np.int32(7), np.int32(-1))
    ),
    "broadcast_in_dim": lambda x: lax.broadcast_in_dim(x, (5, 2, 6, 7), (0, 2, 3)),
    "reshape": lambda x: lax.reshape(x, (7, 30), (2, 0, 1)),
    "select_n": lambda x: lax.select_n(lax.eq(x, x), lax.rev(x, (0,)), x),
    "cumsum": lambda x: lax.cumsum(x, 1) if x.dtype != bool else x,
    "cumsum_reverse": lambda x: lax.cumsum(x, 2, reverse=True) if x.dtype != bool else x,
}


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", VIEWS)
def test_views(name, dtype):
    check(VIEWS[name], sample((5, 6, 7), dtype))


ORDERED = {
    "reduce_max": lambda x: lax.reduce_max(x, (1,)),
    "reduce_min": lambda x: lax.reduce_min(x, (0, 2)),
    "argmax": lambda x: lax.argmax(x, 1, np.int32),
    "argmin": lambda x: lax.argmin(x, 2, np.int32),
    "sort": lambda x: lax.sort(x, dimension=1),
    "sort_two": lambda x: lax.sort((x, x), dimension=2, num_keys=1),
    "top_k": lambda x: lax.top_k(x, 3),
}


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS + ["bool"])
@pytest.mark.parametrize("name", ORDERED)
def test_ordered(name, dtype):
    check(ORDERED[name], sample((5, 6, 7), dtype))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_sums_and_products(dtype):
    x = sample((5, 6, 7), dtype)
    check(lambda x: lax.reduce_sum(x, (0, 2)), x, tolerance=1e-2 if dtype in COMPLEX else None)
    if dtype not in FLOATS[1:]:
        check(lambda x: lax.reduce_prod(x, (1,)), x, tolerance=1e-3)
    tolerance = 6e-2 if dtype in FLOATS[1:] else 1e-3
    check(
        lambda x: lax.dot_general(x, x, (((2,), (2,)), ((0,), (0,)))), x, tolerance=tolerance
    )


@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds"])
def test_gather(mode):
    index = np.array([[1, 2], [9, 0], [-3, 50]], np.int32)
    index = np.abs(index) % 2 if mode == "promise_in_bounds" else index
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0, 1)
    )
    check(
        lambda x, i: lax.gather(x, i, numbers, (1, 4), mode=mode), sample((10, 6), "float32"), index
    )


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("name", ["", "_add", "_mul", "_min", "_max"])
def test_scatter(name, mode, dtype):
    index = np.array([[1, 2], [9, 0], [-3, 50]], np.int32)
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0, 1)
    )
    scatter = getattr(lax, f"scatter{name}")
    check(
        lambda x, i, u: scatter(x, i, u, numbers, mode=mode),
        sample((10, 6), dtype), index, sample((3, 4), dtype, seed=5),
    )  # fmt: skip


def test_bits_and_rounding():
    x = sample((10, 6), "float32")
    check(lambda x: lax.bitcast_convert_type(x, np.uint8), x)
    check(lambda x: lax.bitcast_convert_type(x, np.int32), x)
    check(lambda x: lax.bitcast_convert_type(x, np.uint32), sample((3, 4), "uint8"))
    check(lambda x: lax.reduce_precision(x, 4, 5), x)
    check(lambda x: lax.reduce_precision(x, 8, 7), x)
    check(lambda x: [lax.integer_pow(x, k) for k in (0, 1, 2, 3, 5, -1, -2)], x, tolerance=1e-3)
    halves = np.array([-2.5, -1.5, -0.5, -0.2, 0, 0.5, 1.5, 2.5, 3.7], np.float32)
    check(lambda x: [lax.round(x, mode) for mode in lax.RoundingMethod], halves)
    check(lambda x: lax.clamp(np.float32(-1), x, np.float32(1.5)), x)
