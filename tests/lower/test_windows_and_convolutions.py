"""Windowed reductions, convolutions and general reductions as machine code."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.base import debug
from jitney.core import interpret

rng = np.random.default_rng(0)
IMAGE = rng.normal(size=(2, 9, 10, 3)).astype(np.float32)
MONOIDS = {"add": (lax.add, 0.0), "max": (lax.max, -np.inf), "min": (lax.min, np.inf)}
WINDOWS = {
    "pool": ((1, 2, 2, 1), (1, 2, 2, 1), "VALID", None, None),
    "same": ((1, 3, 3, 1), (1, 2, 1, 1), "SAME", None, None),
    "holes": (
        (2, 3, 2, 2), (1, 1, 2, 1), ((0, 1), (1, 2), (-1, 1), (0, 0)), (1, 2, 1, 1), (1, 1, 3, 1)
    ),
    "long": ((1, 5, 23, 1), (1, 1, 3, 1), ((0, 0), (4, 4), (20, 20), (0, 0)), None, None),
    "wide": ((1, 9, 9, 1), (1, 1, 1, 1), "SAME", None, None),
    "nothing": ((1, 20, 1, 1), (1, 1, 1, 1), "VALID", None, None),
}  # fmt: skip


def check(f, *args, tolerance=2e-4):
    """Compiled without a NumPy reference, and equal to the references."""
    closed = jitney.make_jaxpr(f)(*args)
    with np.errstate(all="ignore"):
        want = interpret.reference_of_closed(closed, *args)
    before = dict(debug.counts())
    got = jitney.tree_util.tree_leaves(jitney.jit(f)(*args))
    for name in ("reference_fallbacks", "reference_steps"):
        assert debug.counts().get(name, 0) == before.get(name, 0), "no machine code"
    for a, b in zip(got, want, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(a.astype(wide), b.astype(wide), tolerance, tolerance)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("monoid", MONOIDS)
def test_reduce_window(monoid, window):
    function, start = MONOIDS[monoid]

    def reduce(x):
        return lax.reduce_window(x, np.float32(start), function, *WINDOWS[window])

    check(reduce, IMAGE)
    if window != "holes":
        check(jitney.grad(lambda x: jnp.sum(jnp.sin(reduce(x)))), IMAGE)


@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8", "float16", "bfloat16"])
def test_reduce_window_of_other_types(dtype):
    x = jnp.asarray(np.abs(IMAGE * 9) % 7, dtype)
    for function in (lax.add, lax.max, lax.min):
        start = {lax.add: 0, lax.max: 0, lax.min: 100}[function]
        init = np.asarray(x).dtype.type(start)
        if function is lax.add:
            check(lambda x, i=init: lax.reduce_window(
                x, i, lax.add, (1, 2, 3, 1), (1, 1, 2, 1), "SAME"), np.asarray(x), tolerance=2e-2)


FUNCTIONS = {
    "max of 0": (lax.max, 0, ["int32", "float32", "uint8", "int8", "bfloat16"]),
    "min of 1": (lax.min, 1, ["int32", "float32", "uint8"]),
    "add of 1": (lax.add, 1, ["int32", "float32", "complex64"]),
    "mul": (lax.mul, 1, ["int32", "float32", "complex64", "float16"]),
    "mul of 3": (lambda a, b: lax.mul(b, a), 3, ["float32"]),
    "and": (lax.bitwise_and, -1, ["int32", "int8"]),
    "and of 6": (lax.bitwise_and, 6, ["uint8", "uint32"]),
    "or": (lax.bitwise_or, 0, ["int32", "uint16"]),
    "xor of 5": (lax.bitwise_xor, 5, ["int16", "uint64"]),
    "or of bool": (lax.bitwise_or, False, ["bool"]),
    "and of bool": (lax.bitwise_and, True, ["bool"]),
    "max of bool": (lax.max, False, ["bool"]),
    "min of bool": (lax.min, True, ["bool"]),
    "squares, in order": (lambda a, b: a * 0.9 + b * b, 0.5, ["float32"]),
    "the last": (lambda a, b: b, 7, ["float32", "int32"]),
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_reduce_window_of_any_function(function, window):
    """From any start: dilations of masks, peaks above a level, products."""
    fun, start, dtypes = FUNCTIONS[function]
    for dtype in dtypes:
        scale = 0.2 if "mul" in function and dtype != "int32" else 2
        x = jnp.asarray(np.abs(IMAGE[:, :7] * scale) + 0.5 * (scale < 1), dtype)
        if dtype == "bool":
            x = jnp.asarray(IMAGE[:, :7] > 0.7)
        init = np.asarray(start).astype(np.asarray(x).dtype)
        near = 5e-2 if dtype in ("bfloat16", "float16") else 2e-4
        check(lambda x, i=init, f=fun: lax.reduce_window(x, i, f, *WINDOWS[window]), x,
              tolerance=near)


def test_reduce_window_of_several_arrays():
    """The greatest of each window and what stands beside it."""
    def better(a, b):
        first = a[0] >= b[0]
        return lax.select(first, a[0], b[0]), lax.select(first, a[1], b[1])

    def f(x, y):
        return lax.reduce_window((x, y), (np.float32(-1), np.int32(-1)), better,
                                 *WINDOWS["same"])

    check(f, IMAGE, np.arange(IMAGE.size, dtype=np.int32).reshape(IMAGE.shape))


def test_ties_and_infinities_in_max_pooling():
    """The first of equal elements gets the gradient; padding never does."""
    x = np.array([[1, 1, -np.inf, -np.inf], [1, 0, -np.inf, -np.inf]], np.float32)

    def pooled(x):
        return lax.reduce_window(x, -np.inf, lax.max, (2, 2), (2, 2), ((1, 1), (0, 0)))

    gradient = jitney.jit(lambda x: jitney.vjp(pooled, x)[1](jnp.ones((2, 2)))[0])(x)
    np.testing.assert_array_equal(gradient, [[1, 0, 1, 0], [1, 0, 1, 0]])


CONVOLUTIONS = {
    "plain": ((2, 9, 10, 3), (3, 3, 3, 5), {
        "window_strides": (1, 1), "padding": "SAME",
        "dimension_numbers": ("NHWC", "HWIO", "NHWC")}),
    "dilated": ((2, 3, 9, 10), (5, 3, 3, 2), {
        "window_strides": (2, 1), "padding": ((1, 2), (-1, 3)), "rhs_dilation": (2, 1)}),
    "groups": ((2, 4, 9, 10), (6, 2, 3, 2), {
        "window_strides": (2, 1), "padding": "VALID", "feature_group_count": 2}),
    "depthwise": ((2, 4, 9, 10), (8, 1, 3, 3), {
        "window_strides": (1, 1), "padding": "SAME", "feature_group_count": 4}),
    "batch_groups": ((4, 3, 9, 10), (6, 3, 3, 2), {
        "window_strides": (2, 1), "padding": "VALID", "batch_group_count": 2}),
    "transposed": ((2, 3, 9, 10), (5, 3, 3, 2), {
        "window_strides": (1, 1), "padding": ((2, 2), (2, 2)), "lhs_dilation": (2, 3)}),
    "long_kernel": ((2, 3, 100), (5, 3, 90), {"window_strides": (1,), "padding": ((80, 90),)}),
    "few_results": ((2, 3, 100), (5, 3, 70), {"window_strides": (1,), "padding": ((0, 0),)}),
    "large_kernel": ((2, 3, 20, 20), (5, 3, 11, 9), {
        "window_strides": (1, 2), "padding": "SAME"}),
    "no_space": ((2, 3), (5, 3), {"window_strides": (), "padding": ()}),
    "empty": ((2, 3, 0), (5, 3, 2), {"window_strides": (1,), "padding": ((1, 1),)}),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64", "bfloat16"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(name, dtype):
    image, kernel, params = CONVOLUTIONS[name]
    x, k = (np.asarray(jnp.asarray(rng.normal(size=s) * (3 if dtype == "int32" else 0.5), dtype))
            for s in (image, kernel))
    if dtype == "complex64":
        x, k = x * np.complex64(1 + 0.5j), k * np.complex64(0.3 - 1j)
    check(lambda x, k: lax.conv_general_dilated(x, k, **params), x, k,
          tolerance=1e-1 if dtype == "bfloat16" else 1e-3)
    if dtype == "float32":
        for argument in (0, 1):
            check(jitney.grad(
                lambda x, k: jnp.sum(jnp.sin(lax.conv_general_dilated(x, k, **params))), argument),
                x, k, tolerance=2e-3)  # fmt: skip


def test_general_reduce():
    x = rng.normal(size=(5, 7, 3)).astype(np.float32)

    def both(a, b):
        return lax.max(a[0], b[0]), lax.add(lax.mul(a[1], np.float32(1)), b[1])

    check(lambda x: lax.reduce((x, x), (np.float32(-9), np.float32(2)), both, (0, 2)), x)
    check(lambda x: lax.reduce(x, np.float32(3), lambda a, b: a * b, (1,)), x)
    check(lambda x: lax.reduce(x[:0], np.float32(3), lambda a, b: a * b, (0,)), x)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int8", "uint16"])
def test_mulhi(dtype):
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, (50,), dtype=dtype, endpoint=True)
    check(lax.mulhi, x, x[::-1].copy())


def test_mulhi_of_64_bits():
    with jitney.enable_x64(True):
        for dtype in ("int64", "uint64"):
            info = np.iinfo(dtype)
            x = rng.integers(info.min, info.max, (50,), dtype=dtype, endpoint=True)
            x[:2] = info.min, info.max
            y = x[::-1].copy()
            want = [int(a) * int(b) >> 64 for a, b in zip(x, y, strict=True)]
            np.testing.assert_array_equal(lax.mulhi(x, y), np.array(want, dtype))


def test_selections_and_complex_extremes():
    x = rng.normal(size=(4, 9)).astype(np.float32)
    check(lambda x: lax.approx_max_k(x, 3), x)
    check(lambda x: lax.approx_min_k(x, 3, reduction_dimension=0), x)
    z = np.round(x) + 1j * np.round(x[::-1])
    z = z.astype(np.complex64)
    check(lambda z: [lax.max(z, z[::-1]), lax.min(z, z[::-1]), lax.reduce_max(z, (0,))], z)


def convolved(x, k, pads, sums, groups=1):
    """(what jitney finds, NumPy's sum over windows)."""
    axes = tuple(range(2, x.ndim))
    found = jitney.jit(lambda x, k: lax.conv_general_dilated(
        x, k, (1,) * len(axes), pads, feature_group_count=groups))(x, k)  # fmt: skip
    wide = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *pads])
    windows = np.lib.stride_tricks.sliding_window_view(wide, k.shape[2:], axes)
    return found, np.einsum(sums, windows, k)


@pytest.mark.parametrize("window", [(7, 7), (4, 4), (3, 9)])
def test_many_taps_of_each_feature(window):
    """They are read of a border that is stored around the image."""
    x = rng.normal(size=(2, 3, 16, 13)).astype(np.float32)
    k = rng.normal(size=(3, 1, *window)).astype(np.float32)
    pads = [(w // 2, (w - 1) // 2) for w in window]
    np.testing.assert_allclose(*convolved(x, k, pads, "nchwij,cuij->nchw", 3), 1e-4, 1e-4)


@pytest.mark.parametrize("taps", [32, 33, 40])
def test_many_taps_on_a_line(taps):
    """Their patches are gathered."""
    x = rng.normal(size=(2, 4, 50)).astype(np.float32)
    k = rng.normal(size=(5, 4, taps)).astype(np.float32)
    np.testing.assert_allclose(*convolved(x, k, [(3, 2)], "nchi,oci->noh"), 1e-4, 1e-4)
