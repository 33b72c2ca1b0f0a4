"""Functions with a quick way of their own, against NumPy: dtypes, shapes, axes, edges.

The quick ways are taken by eager calls; under `jit` the result must be the same.
"""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.testing.stages import check_all_stages

RNG = np.random.default_rng(0)
NUMBERS = ["float32", "float64", "int32", "int8", "uint8", "complex64", "float16"]


@pytest.fixture(autouse=True)
def wide_types():
    with jitney.enable_x64(True):
        yield


def numbers(shape, dtype):
    """Small whole numbers."""
    return RNG.integers(0 if dtype == "uint8" else -9, 9, shape).astype(dtype)


def both_ways(function, *args, **options):
    """The result of an eager call, and of a jitted one, which are equal."""
    eager = function(*args, **options)
    jitted = jitney.jit(lambda *given: function(*given, **options))(*args)
    for a, b in zip(jitney.tree.leaves(eager), jitney.tree.leaves(jitted)):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(np.asarray(a, complex), np.asarray(b, complex), rtol=1e-5,
                                   atol=1e-5)
    return eager


# --- sequences ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("n, width", [(1000, 17), (200, 65), (1000, 300), (300, 299), (65, 65)])
def test_convolutions(n, width, mode, dtype):
    x, k = numbers(n, dtype), numbers(width, dtype)
    wide = complex if dtype == "complex64" else float
    for name in ("convolve", "correlate"):
        got = np.asarray(getattr(jnp, name)(x, k, mode=mode))
        want = getattr(np, name)(x.astype(wide), k.astype(wide), mode)
        np.testing.assert_allclose(got.astype(wide), want.astype(wide),
                                   rtol=2e-3 if dtype == "float16" else 1e-6,
                                   atol=2e-3 * abs(want).max() if dtype == "float16" else 1e-3)


def test_convolution_keeps_nan_where_it_belongs():
    x, k = RNG.normal(size=500).astype(np.float32), np.ones(40, np.float32)
    x[100], x[300] = np.nan, np.inf
    got = np.asarray(jnp.convolve(x, k))
    want = np.array([x[max(0, i - 39):i + 1].sum() for i in range(len(got))])
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))


def test_convolution_at_every_stage():
    check_all_stages(jnp.convolve, RNG.normal(size=120).astype(np.float32),
                     RNG.normal(size=30).astype(np.float32), rtol=1e-4, atol=1e-4)


def test_gradient_of_a_convolution():
    x, k = RNG.normal(size=150), RNG.normal(size=40)
    got = jitney.grad(lambda k: (jnp.convolve(x, k) ** 2).sum())(k)
    np.testing.assert_allclose(got, np.correlate(2 * np.convolve(x, k), x), rtol=1e-9)


# --- diagonals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [-8, -2, -1, 0, 1, 2, 9])
@pytest.mark.parametrize("shape", [(5, 5), (40, 40), (3, 7), (7, 3), (1, 5), (0, 3)])
def test_traces(shape, k):
    for batch in ((), (4,), (2, 3)):
        for dtype in ("float32", "int32", "complex64"):
            x = numbers((*batch, *shape), dtype)
            got = jitney.jit(lambda x: jnp.trace(x, k, -2, -1))(x)
            np.testing.assert_allclose(got, np.trace(x, k, -2, -1), rtol=1e-5)
            np.testing.assert_allclose(jnp.trace(x, k, -2, -1), np.trace(x, k, -2, -1), rtol=1e-5)
            got = jitney.jit(lambda x: jnp.trace(x, k, -1, -2))(x)
            np.testing.assert_allclose(got, np.trace(x, k, -1, -2), rtol=1e-5)


@pytest.mark.parametrize("form", ["...ii->...", "...ii->...i"])
def test_diagonals_by_einsum(form):
    for shape in ((6, 6), (3, 6, 6), (2, 3, 4, 4)):
        x = numbers(shape, "float32")
        np.testing.assert_allclose(jitney.jit(lambda x: jnp.einsum(form, x))(x), np.einsum(form, x))


def test_trace_leaves_nan_beside_the_diagonal_out():
    x = np.full((50, 50), np.nan, np.float32)
    np.fill_diagonal(x, 1.0)
    assert jnp.trace(x) == 50
    check_all_stages(lambda x: jnp.einsum("ii->i", x), x)


def test_trace_reads_the_diagonal_alone():
    text = jitney.jit(jnp.trace).lower(np.ones((300, 300), np.float32)).compile().as_text()
    assert "select" not in text and "i32" not in text, text


# --- positions known beforehand -------------------------------------------------------------------


@pytest.mark.parametrize("program", [
    lambda x: x[jnp.arange(3, 60), jnp.arange(57) * 2],
    lambda x: x[jnp.arange(60) - 5],
    lambda x: x[jnp.arange(10)[:, None] + jnp.arange(20)[None]],
    lambda x: x.at[jnp.arange(50, 80)].get(mode="fill", fill_value=-1),
    lambda x: x.at[jnp.arange(50, 80)].get(mode="clip"),
    lambda x: x[jnp.arange(250, 300).astype("uint8")],
    lambda x: jnp.diagonal(x, 3),
])
def test_known_positions(program):
    x = RNG.normal(size=(70, 120)).astype(np.float32)
    check_all_stages(program, x)


# --- matrices of zeros and ones, grids ------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64", None])
@pytest.mark.parametrize("n, m", [(3, None), (200, 300), (300, 200), (0, 5), (257, 257)])
def test_matrices_of_ones(n, m, dtype):
    wanted = dtype or "float64"
    for k in (-3, 0, 2, 400):
        np.testing.assert_array_equal(jnp.eye(n, m, k, dtype), np.eye(n, m, k, wanted))
        got = jnp.tri(n, m, k, dtype or "float32")
        np.testing.assert_array_equal(got, np.tri(n, m, k, dtype or "float32"))
        assert jnp.eye(n, m, k, dtype).dtype == wanted


def test_grids():
    for shape in ((3, 4), (300, 200), (5,), (0, 3), (4, 5, 6)):
        for sparse in (False, True):
            got = jnp.indices(shape, dtype="int32", sparse=sparse)
            for a, b in zip(got, np.indices(shape, sparse=sparse), strict=True):
                np.testing.assert_array_equal(a, b)


def test_matrices_with_a_diagonal():
    for n in (0, 1, 5, 300):
        for k in (-2, 0, 3):
            v = numbers(n, "float32")
            np.testing.assert_array_equal(both_ways(jnp.diagflat, v, k=k), np.diagflat(v, k))


def test_positions_unravelled():
    i = RNG.integers(0, 24, 500).astype(np.int32)
    for got, want in zip(both_ways(jnp.unravel_index, i, shape=(2, 3, 4)),
                         np.unravel_index(i, (2, 3, 4)), strict=True):
        np.testing.assert_array_equal(got, want)


# --- insert, delete -------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [0, 3, -1, -7, 6, slice(2, 5), slice(None), slice(5, 2),
                                   slice(1, 6, 2), slice(-3, None), slice(6, 0, -2)])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64"])
def test_delete(dtype, axis, where):
    x = numbers((7, 7), dtype)
    np.testing.assert_array_equal(both_ways(jnp.delete, x, obj=where, axis=axis),
                                  np.delete(x, where, axis))


@pytest.mark.parametrize("where", [0, 3, -1, 7, [2], [1, 1, 5]])
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64"])
def test_insert(dtype, axis, where):
    x = numbers((7, 7), dtype)
    value = numbers((), dtype)
    np.testing.assert_array_equal(both_ways(jnp.insert, x, obj=where, values=value, axis=axis),
                                  np.insert(x, where, value, axis))
    if axis is not None and not isinstance(where, list):
        row = numbers(7, dtype)
        np.testing.assert_array_equal(
            both_ways(jnp.insert, x, obj=where, values=row, axis=axis),
            np.insert(x, where, row, axis))


def test_deleting_elsewhere_compiles_nothing():
    from jitney.backend import object_cache

    x = jnp.arange(1000.0)
    jnp.delete(x, 5), jnp.insert(x, 5, 1.0)
    before = object_cache.counters["compiled"]
    deleted, inserted = jnp.delete(x, 700), jnp.insert(x, 700, -1.0)
    assert object_cache.counters["compiled"] == before
    assert deleted[700] == 701 and inserted[700] == -1


def test_delete_is_differentiable():
    got = jitney.grad(lambda x: (jnp.delete(x, 2) ** 2).sum())(jnp.arange(5.0))
    np.testing.assert_array_equal(got, [0, 2, 0, 6, 8])


# --- sets, polynomials ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"])
@pytest.mark.parametrize("shape", [(0,), (1,), (50,), (10, 7)])
@pytest.mark.parametrize("wanted", range(8))
def test_unique(dtype, shape, wanted):
    x = numbers(shape, dtype)
    options = dict(return_index=bool(wanted & 1), return_inverse=bool(wanted & 2),
                   return_counts=bool(wanted & 4))
    for axis in (None, *range(len(shape))):
        got = jnp.unique(jnp.asarray(x), axis=axis, **options)
        want = np.unique(x, axis=axis, **options)
        for g, w in zip(*(r if isinstance(r, tuple) else (r,) for r in (got, want)), strict=True):
            np.testing.assert_array_equal(np.asarray(g).ravel(), w.ravel())
            assert g.dtype == w.dtype or g.dtype == np.int64


@pytest.mark.parametrize("equal_nan", [True, False])
def test_unique_with_nan(equal_nan):
    x = np.array([1, np.nan, 1, np.nan, -0.0, 0.0], np.float32)
    np.testing.assert_array_equal(jnp.unique(x, equal_nan=equal_nan),
                                  np.unique(x, equal_nan=equal_nan))


def test_unique_is_differentiable():
    got = jitney.grad(lambda x: (jnp.unique(x) * jnp.arange(3.0)).sum())(jnp.array([5., 1., 3.]))
    np.testing.assert_array_equal(got, [2, 0, 1])


@pytest.mark.parametrize("dtype", ["float32", "int32", "float64"])
def test_isin_of_many(dtype):
    x, y = RNG.integers(0, 4000, 3000).astype(dtype), RNG.integers(0, 4000, 2000).astype(dtype)
    np.testing.assert_array_equal(jnp.isin(x, y), np.isin(x, y))
    with jitney.enable_x64(False):
        x, y = x.astype("float32"), y.astype("float32")
        np.testing.assert_array_equal(jnp.isin(x, y), np.isin(x, y))


@pytest.mark.parametrize("m, n", [(60, 5), (17, 17), (18, 1), (5, 3), (3, 5), (200, 150)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int32"])
def test_polynomial_division(dtype, m, n):
    u, v = numbers(m, dtype), np.abs(numbers(n, dtype)) + 20 * (np.arange(n) == 0)
    v = v.astype(dtype)
    got = jnp.polydiv(u, v)
    want = np.polydiv(u, v)
    np.testing.assert_allclose(np.asarray(got[0]), want[0], rtol=2e-4, atol=2e-4)
    whole = np.polyadd(np.polymul(np.asarray(got[0], complex), v), np.asarray(got[1], complex))
    np.testing.assert_allclose(whole[-m:] if len(whole) >= m else np.pad(
        whole, (m - len(whole), 0)), u, rtol=1e-3, atol=2e-3)


# --- order ----------------------------------------------------------------------------------------


ORDERED = ["float32", "float64", "float16", "bfloat16", "int8", "int32", "int64", "uint8", "uint32",
           "uint64", "bool"]


def in_disorder(shape, dtype):
    """Values with duplicates; of floats also NaN, infinities and both zeros."""
    x = RNG.integers(0, 2, shape) if dtype == "bool" else RNG.integers(0, 60, shape)
    if dtype not in ("float32", "float64", "float16", "bfloat16"):
        return jnp.asarray(x).astype(dtype)
    odd = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0])
    x = np.where(RNG.random(shape) < 0.1, RNG.choice(odd, shape), x - 30.0)
    return jnp.asarray(x).astype(dtype)


@pytest.mark.parametrize("dtype", ORDERED)
@pytest.mark.parametrize("shape", [(1,), (7,), (130,), (5000,), (3, 40), (40, 3), (2, 300, 5)])
def test_partitions(shape, dtype):
    a = in_disorder(shape, dtype)
    a = jnp.where(a != a, jnp.asarray(np.nan).astype(dtype), a)  # short rows: -NaN first, as in JAX
    known = np.asarray(a.astype("float64"))
    for axis in range(-1, len(shape)):
        order = np.sort(known, axis=axis)
        for k in {0, shape[axis] // 2, shape[axis] - 1, -1}:
            for got in (jnp.partition(a, k, axis), jnp.take_along_axis(
                    a, jnp.argpartition(a, k, axis), axis)):
                assert got.dtype == a.dtype and got.shape == a.shape
                found = np.asarray(got.astype("float64"))
                np.testing.assert_array_equal(np.sort(found, axis=axis), order)
                at = np.take(order, [k], axis=axis)
                np.testing.assert_array_equal(np.take(found, [k], axis=axis), at)
                k0 = k % shape[axis]
                low, high = np.split(found, [k0], axis=axis)
                assert np.all((low <= at) | np.isnan(at))
                assert np.all((high >= at) | np.isnan(high))


def test_argpartition_gives_each_position_once():
    x = RNG.normal(size=(4, 3000)).astype(np.float32)
    found = np.sort(jnp.argpartition(x, 77), axis=-1)
    np.testing.assert_array_equal(found, np.broadcast_to(np.arange(3000), found.shape))
    assert found.dtype == np.int32


def test_partitions_without_elements_and_errors():
    assert jnp.partition(jnp.zeros((0, 3)), 1, axis=1).shape == (0, 3)
    assert jnp.argpartition(jnp.zeros((2, 0)), 0, axis=0).shape == (2, 0)
    for function in (jnp.partition, jnp.argpartition):
        with pytest.raises(ValueError, match="out of bounds"):
            function(jnp.arange(3.0), 3)
        with pytest.raises(NotImplementedError, match="complex"):
            function(jnp.zeros(3, complex), 1)


def test_partition_under_transformations():
    x = jnp.asarray(RNG.normal(size=(3, 50)).astype(np.float32))
    at = lambda v: jnp.partition(v, 20)[20]
    np.testing.assert_allclose(jitney.vmap(at)(x), np.sort(x, -1)[:, 20])
    gradient = jitney.grad(lambda v: at(v) * 2)(x[0])
    np.testing.assert_array_equal(gradient, 2 * (np.asarray(x[0]) == np.sort(x[0])[20]))
    assert "name=partition" in str(jitney.make_jaxpr(at)(x[0]))


def test_division_as_a_primitive():
    from jitney.lax.partition import argpartition, partition

    x = jnp.asarray(RNG.normal(size=(4, 30)).astype(np.float32))
    for axis, k in ((0, 2), (1, 11)):
        got = jitney.vmap(lambda v, k=k: partition(v, k - 1, 0), in_axes=1 - axis)(x)
        rows = np.asarray(x) if axis else np.asarray(x).T
        np.testing.assert_allclose(np.sort(got, -1), np.sort(rows, -1))
        np.testing.assert_allclose(got[:, k - 1], np.sort(rows, -1)[:, k - 1])
    value, tangent = jitney.jvp(lambda v: partition(v, 7, 1), (x,), (2 * x,))
    np.testing.assert_allclose(tangent, 2 * value)
    assert argpartition(x, 3, 1).dtype == np.int32


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint32", "uint64"])
@pytest.mark.parametrize("n", [1, 2, 4, 15, 16, 17, 33, 64, 127, 128, 129, 1000, 5000, 300_000])
def test_sorts(n, dtype):
    """Random, few values, in order, backwards, equal; both ways; NaN last."""
    x = in_disorder(n, dtype)
    wide = jnp.asarray(RNG.integers(0, 2**31, n)).astype(dtype)
    for a in (x, wide, jnp.sort(wide), jnp.sort(wide)[::-1], jnp.full(n, 3, dtype)):
        known = np.asarray(a)
        np.testing.assert_array_equal(jnp.sort(a), np.sort(known))
        np.testing.assert_array_equal(jnp.sort(a, descending=True), np.sort(known)[::-1])
    order = np.argsort(np.asarray(x), kind="stable")
    np.testing.assert_array_equal(np.signbit(jnp.sort(x).astype("float64")),
                                  np.signbit(np.asarray(x)[order].astype("float64")))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "uint8",
                                   "int32", "bool"])
@pytest.mark.parametrize("shape", [(1,), (5,), (1000,), (70001,), (300, 4), (4, 300), (70, 65),
                                   (17, 3, 40)])
def test_extremes(shape, dtype):
    """First positions: ties, NaN, infinities, and rows whose elements are all the worst."""
    is_float = "float" in dtype
    for kind in range(4 if is_float else 2):
        x = RNG.integers(0, 5, shape).astype(float)
        if kind == 1:
            x = np.full(shape, -np.inf if is_float else 0)
        elif kind == 2:
            x = np.where(RNG.random(shape) < 0.05, np.nan, x)
        elif kind == 3:
            x = np.where(RNG.random(shape) < 0.5, -np.inf, np.inf)
        a = jnp.asarray(x).astype(dtype)
        known = np.asarray(a.astype("float32"))
        for axis in (None, *range(len(shape))):
            np.testing.assert_array_equal(jnp.argmax(a, axis), np.argmax(known, axis))
            np.testing.assert_array_equal(jnp.argmin(a, axis), np.argmin(known, axis))


def test_extremes_of_the_least_integer():
    assert jnp.argmax(jnp.full(50, np.iinfo("int32").min, "int32")) == 0
    assert jnp.argmin(jnp.full((3, 70), 255, "uint8"), axis=1).tolist() == [0, 0, 0]


# --- products, powers, masks ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", [0, 1, 3, 1000, 100_000])
def test_inner_products_of_complex_vectors(n, dtype):
    a, b = ((RNG.normal(size=n) + 1j * RNG.normal(size=n)).astype(dtype) for _ in range(2))
    tolerance = dict(rtol=1e-4, atol=1e-2) if dtype == "complex64" else dict(rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(jnp.vdot(a, b), np.vdot(a, b), **tolerance)
    np.testing.assert_allclose(jnp.dot(a, b), np.dot(a, b), **tolerance)
    np.testing.assert_allclose(jnp.matmul(a[None], b[:, None]), a[None] @ b[:, None], **tolerance)
    np.testing.assert_allclose(jnp.vdot(a.real, b), np.vdot(a.real, b), **tolerance)
    np.testing.assert_allclose(
        jnp.tensordot(a.reshape(1, 1, n), b.reshape(n, 1), axes=1),
        np.tensordot(a.reshape(1, 1, n), b.reshape(n, 1), axes=1), **tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_two_are_exact(dtype):
    info = np.finfo(dtype)
    e = np.arange(info.minexp - info.nmant - 2, info.maxexp + 3)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(jnp.power(2.0, e.astype(dtype)),
                                      np.ldexp(np.ones((), dtype), e))
        for x in (1.0, -0.75, 3.14, 0.0, -0.0, np.inf, -np.inf, np.nan, info.tiny, info.max):
            got = jnp.ldexp(np.asarray(x, dtype), e.astype(np.int32))
            want = np.ldexp(np.asarray(x, dtype), e.astype(np.int32))
            small = abs(want) < info.tiny  # below, the exponent alone may be rounded first
            np.testing.assert_allclose(got, want, rtol=0, atol=0 if not small.any() else info.tiny)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", ["float32", "bool", "complex64", "bfloat16"])
def test_compress(dtype, axis):
    x = jnp.asarray(RNG.integers(0, 5, (6, 8))).astype(dtype)
    known = np.asarray(x)
    for length in (0, 3, 6):
        keep = RNG.integers(0, 2, length)
        got = jnp.compress(keep, x, axis=axis)
        assert got.dtype == x.dtype
        np.testing.assert_array_equal(got, np.compress(keep, known, axis=axis))
    mask = known == known.max()
    np.testing.assert_array_equal(jnp.extract(mask, x), np.extract(mask, known))


@pytest.mark.parametrize("first", ["int32", "int8", "uint8", "int64", "float32"])
@pytest.mark.parametrize("second", ["int32", "uint8", "int64", "float32"])
def test_isin_of_many_integers(first, second):
    x = RNG.integers(0, 100, (60, 50)).astype(first)
    y = RNG.integers(0, 100, 3000)[RNG.integers(0, 3000, 3000) % 7 == 0].astype(second)
    y = np.concatenate([y[y > 30]] * 10)
    for invert in (False, True):
        got = both_ways(jnp.isin, x, y, invert=invert)
        np.testing.assert_array_equal(got, np.isin(x, y, invert=invert))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_deleting_many(axis):
    x = numbers((90, 90), "float32")
    where = RNG.integers(-90, 90, 40)
    np.testing.assert_array_equal(jnp.delete(x, where, axis), np.delete(x, where, axis))


# --- routines that eager calls use: masks, counts, bits -------------------------------------------


def dtypes_of_all_sizes():
    return ["bool", "int8", "float16", "bfloat16", "int32", "float32", "float64", "complex64",
            "complex128"]


@pytest.mark.parametrize("shape", [(0,), (1,), (70,), (40_000,), (30, 7), (3, 0), (4, 5, 6)])
@pytest.mark.parametrize("dtype", dtypes_of_all_sizes())
def test_positions_of_masks(dtype, shape):
    x = jnp.asarray(RNG.integers(0, 3, shape) % 2).astype(dtype)
    if x.size > 2 and "float" in dtype:
        x = x.at[(0,) * len(shape)].set(jnp.nan).at[(-1,) * len(shape)].set(-0.0)
    known = np.asarray(x)
    for wide in (False, True):
        with jitney.enable_x64(wide):
            for got, want in zip(jnp.nonzero(x), np.nonzero(known), strict=True):
                assert got.dtype == (np.int64 if wide else np.int32)
                np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(jnp.flatnonzero(x), np.flatnonzero(known))
            np.testing.assert_array_equal(jnp.argwhere(x), np.argwhere(known))


@pytest.mark.parametrize(
    "shape", [(0,), (1,), (70,), (40_000,), (200, 201), (30, 7), (3, 0), (4, 5, 6)]
)
@pytest.mark.parametrize("dtype", dtypes_of_all_sizes())
def test_choosing_and_placing(dtype, shape):
    x = jnp.asarray(RNG.integers(-3, 3, shape)).astype(dtype)
    known, mask = np.asarray(x), RNG.random(shape) < 0.4
    np.testing.assert_array_equal(jnp.extract(mask, x), np.extract(mask, known))
    for given in (mask, jnp.asarray(mask)):
        chosen = x[given]
        assert chosen.dtype == x.dtype and chosen.weak_type == x.weak_type
        np.testing.assert_array_equal(chosen, known[mask])
    if shape[0]:
        rows = RNG.random(shape[0]) < 0.5
        np.testing.assert_array_equal(jnp.compress(rows, x, axis=0), known[rows])
    for count in (1, 3, 100_000):
        values = jnp.asarray(RNG.integers(-9, 9, count)).astype(dtype)
        want = known.copy()
        if known.size:
            np.place(want, mask, np.asarray(values))
        np.testing.assert_array_equal(jnp.place(x, mask, values, inplace=False), want)
        np.testing.assert_array_equal(jitney.jit(
            lambda *a: jnp.place(*a, inplace=False))(x, mask, values), want)
    counts = RNG.integers(0, 4, shape[0])
    np.testing.assert_array_equal(jnp.repeat(x, counts, axis=0), np.repeat(known, counts, axis=0))


def test_repeating_refuses_negative_counts():
    with pytest.raises(ValueError):
        jnp.repeat(jnp.arange(3), np.array([1, -1, 2]))
    assert jnp.repeat(jnp.arange(3), np.array([0, 0, 0])).shape == (0,)
    np.testing.assert_array_equal(jnp.repeat(jnp.arange(1), np.array([2, 3])), [0] * 5)


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("shape", [(0,), (5,), (70_000,), (30, 70), (70, 3), (2, 17, 9), (3, 0)])
def test_packed_bits(shape, order):
    for dtype in ("bool", "uint8", "int8", "int32"):
        x = RNG.integers(0, 3, shape).astype(dtype)
        for axis in (None, *range(-len(shape), len(shape))):
            got = both_ways(jnp.packbits, x, axis=axis, bitorder=order)
            assert got.dtype == np.uint8
            np.testing.assert_array_equal(got, np.packbits(x, axis, order))
    x = RNG.integers(0, 256, shape).astype(np.uint8)
    for axis in (None, *range(len(shape))):
        for count in (None, 0, 3, 21, -2):
            if count == -2 and not (x.size if axis is None else shape[axis]):
                continue
            got = both_ways(jnp.unpackbits, x, axis=axis, count=count, bitorder=order)
            np.testing.assert_array_equal(got, np.unpackbits(x, axis, count, order))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
@pytest.mark.parametrize("shape", [(64,), (100_000,), (70, 300), (300, 70), (3, 65, 7)])
def test_first_extremes_of_bytes(shape, dtype):
    for x in (RNG.integers(0, 2, shape), np.zeros(shape), np.ones(shape), RNG.random(shape) < 0.01):
        x = x.astype(dtype)
        for axis in (None, *range(len(shape))):
            for name in ("argmax", "argmin"):
                got = both_ways(getattr(jnp, name), x, axis=axis)
                np.testing.assert_array_equal(got, getattr(np, name)(x, axis))
    check_all_stages(lambda x: jnp.argmax(x, 0), x)
    assert jnp.argmax(jnp.zeros((100, 0), dtype), axis=0).shape == (0,)
    assert jnp.argmin(jnp.zeros((0, 100), dtype), axis=1).shape == (0,)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(7,), (3, 5), (40_000,), (2, 40_000), (300, 70), (70, 3, 40)])
def test_extremes_without_nan(shape, dtype):
    x = np.where(RNG.random(shape) < 0.3, np.nan, RNG.integers(-9, 9, shape))
    x[0] = -np.inf
    x[-1] = np.nan
    a = jnp.asarray(x).astype(dtype)
    for name, worst in (("nanmax", -np.inf), ("nanmin", np.inf)):
        filled = np.where(np.isnan(x), worst, x)
        reduce = getattr(np, name[3:])
        for axis in (None, *range(len(shape))):
            for keep in (False, True):
                want = reduce(filled, axis, keepdims=keep)
                got = both_ways(getattr(jnp, name), a, axis=axis, initial=worst, keepdims=keep)
                np.testing.assert_array_equal(np.asarray(got.astype("float64")), want)
                want = np.where(np.isnan(x).all(axis, keepdims=keep), np.nan, want)
                got = both_ways(getattr(jnp, name), a, axis=axis, keepdims=keep)
                np.testing.assert_array_equal(np.asarray(got.astype("float64")), want)
    check_all_stages(jnp.nanmax, a)


def test_extremes_without_nan_read_once():
    text = jitney.jit(jnp.nanmax).lower(np.ones(1000, np.float32)).compile().as_text()
    assert "fmax" in text and "and" not in text.replace("fused_", ""), text


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8"])
def test_histograms_count_as_the_search_does(dtype, x64):
    with jitney.enable_x64(x64):
        x = np.concatenate([RNG.normal(size=3000) * 9, np.arange(-20, 21)]).astype(dtype)
        for bins, ends in ((10, None), (64, (-3, 3)), (7, (2.5, 2.5)), (1000, (0, 20))):
            counts, edges = jnp.histogram(x, bins, range=ends)
            values = jnp.asarray(x).astype(edges.dtype)
            e, v = np.asarray(edges, np.float64), np.asarray(values, np.float64)
            np.testing.assert_array_equal(counts, np.histogram(v, e)[0])
            jitted = jitney.jit(jnp.histogram, static_argnums=(1, 2))(x, bins, ends)
            again = np.histogram(v, np.asarray(jitted[1], np.float64))[0]
            np.testing.assert_array_equal(jitted[0], again)


def test_searches_are_one_routine():
    x = RNG.normal(size=1000).astype(np.float32)
    for function in (lambda a, v: jnp.searchsorted(a, v), lambda a, v: jnp.digitize(v, a),
                     lambda a, v: jnp.searchsorted(a, v, side="right")):
        text = jitney.jit(function).lower(np.sort(x), x).compile().as_text()
        assert "searchsorted_f32" in text
    check_all_stages(lambda a, v: jnp.searchsorted(a, v, side="right"), np.sort(x), x[:50])
    found = jitney.vmap(lambda a: jnp.searchsorted(a, x[:9]))(np.sort(x.reshape(4, 250)))
    np.testing.assert_array_equal(found, [np.searchsorted(a, x[:9]) for a in
                                          np.sort(x.reshape(4, 250))])


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "bool", "int8"])
def test_counts(dtype):
    for n in (0, 9, 200_000):
        x = RNG.integers(0, 2 if dtype == "bool" else 100, n).astype(dtype)
        known = np.asarray(x).astype(int)
        np.testing.assert_array_equal(jnp.bincount(x, minlength=7), np.bincount(known, minlength=7))
        for length in (1, 50, 200):
            got = jitney.jit(jnp.bincount, static_argnames="length")(x, length=length)
            np.testing.assert_array_equal(got, np.bincount(known[known < length],
                                                           minlength=length))
    check_all_stages(lambda x: jnp.bincount(x, length=5), x[:300])


@pytest.mark.parametrize("n, m, k", [(0, None, 0), (5, None, 0), (5, 3, -1), (3, 9, 2), (4, 0, 0),
                                     (300, 400, 7), (6, 6, -9), (6, 6, 9)])
def test_triangles(n, m, k):
    for name in ("tril_indices", "triu_indices"):
        for got, want in zip(getattr(jnp, name)(n, k, m), getattr(np, name)(n, k, m), strict=True):
            assert got.dtype == np.int64
            np.testing.assert_array_equal(got, want)
    assert [i.shape for i in jnp.tril_indices(-1)] == [(0,), (0,)]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("axis", [0, 1, -2])
def test_transforms_of_columns(dtype, axis):
    x = (RNG.normal(size=(24, 18, 7)) + 1j * RNG.normal(size=(24, 18, 7))).astype(dtype)
    tolerance = 1e-4 if dtype == "complex64" else 1e-11
    for name in ("fft", "ifft"):
        got = both_ways(getattr(jnp.fft, name), x, axis=axis)
        np.testing.assert_allclose(got, getattr(np.fft, name)(x, axis=axis), rtol=tolerance,
                                   atol=tolerance)
    check_all_stages(lambda x: jnp.fft.fft(x, axis=axis), x[:5, :4], rtol=1e-4, atol=1e-4)
