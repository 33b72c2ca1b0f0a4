"""Reductions down columns in the order of memory: every kind and type, few rows left over, NaN."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import pipeline
from jitney.backend.host import host_target
from jitney.ir.target import CpuTarget

SHAPES = [(32, 64), (33, 65), (39, 100), (47, 257), (100, 1000), (64, 2050), (45, 1024)]


def numbers(shape, dtype, seed=0):
    drawn = np.random.default_rng(seed).integers(-50, 50, shape)
    return drawn > 0 if dtype is bool else drawn.astype(dtype)


def kernels(f, *arguments):
    return jax.explain(f, *arguments, rounds=1).as_text("kernels")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "uint8", "float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["sum", "max", "min", "argmax", "argmin"])
def test_as_numpy(kind, dtype, shape):
    x = numbers(shape, "float32", 1).clip(0) if dtype == "uint8" else numbers(shape, "float32", 1)
    x = jnp.asarray(x).astype(dtype)
    result = np.asarray(jax.jit(lambda x: getattr(x, kind)(0))(x).astype("float32"))
    if kind == "sum" and dtype in ("int8", "uint8"):
        pytest.skip("sums of short integers are wider in NumPy")
    expected = getattr(np.asarray(x).astype("float32"), kind)(0)
    np.testing.assert_allclose(result, expected, rtol=1e-2 if dtype == "bfloat16" else 1e-5)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["any", "all"])
def test_booleans(kind, shape):
    x = numbers(shape, bool)
    x[:, ::3], x[:, 1::3] = kind == "all", kind != "any"
    result = jax.jit(lambda x: getattr(x, kind)(0))(jnp.asarray(x))
    np.testing.assert_array_equal(result, getattr(x, kind)(0))


@pytest.mark.parametrize("rows", [32, 35, 71])
@pytest.mark.parametrize("kind", ["max", "min", "argmax"])
def test_one_nan_anywhere_in_a_column(kind, rows):
    x = numbers((rows, 3 * rows), "float32")
    x[np.arange(rows), np.arange(rows)] = np.nan
    x[rows // 2, rows : 2 * rows] = np.inf
    result = jax.jit(lambda x: getattr(x, kind)(0))(jnp.asarray(x))
    np.testing.assert_array_equal(result, getattr(x, kind)(0))


def test_what_does_not_change_down_a_column():
    x, scale = numbers((90, 200), "float32"), numbers((200,), "float32", 3)
    weights = numbers((90,), "float32", 4)
    result = jax.jit(lambda x, s, w: ((x - s) * w[:, None]).sum(0) + s)(x, scale, weights)
    expected = ((x - scale) * weights[:, None]).sum(0) + scale
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-2)


def test_several_reductions_and_axes():
    x = numbers((5, 40, 130), "float32")
    both = jax.jit(lambda x: x.max(1) - x.min(1) + x.sum(1))(x)
    np.testing.assert_allclose(both, x.max(1) - x.min(1) + x.sum(1), rtol=1e-6)
    outer = jax.jit(lambda x: x.sum((0, 1)))(x)
    np.testing.assert_allclose(outer, x.sum((0, 1)), rtol=1e-5, atol=1e-3)


def test_the_order_of_memory_is_used():
    text = kernels(lambda x: x.sum(0), jnp.zeros((100, 1000)))
    assert "sweep 16" in text
    assert "sweep 4" in kernels(lambda x: x.sum(0), jnp.zeros((100, 1024)))  # of one cache set
    assert "sweep 4" in kernels(lambda x: jnp.exp(x).sum(0), jnp.zeros((100, 1000)))
    assert "sweep" not in kernels(lambda x: x.sum(0), jnp.zeros((10, 1000)))
    assert "sweep" not in kernels(lambda x: x.T.sum(0), jnp.zeros((1000, 100)))


def test_long_columns_are_cut():
    x = jnp.asarray(numbers((2000, 300), "float32"))
    assert kernels(lambda x: x.sum(0), x).count("kernel ") == 2
    np.testing.assert_allclose(jax.jit(lambda x: x.sum(0))(x), np.asarray(x).sum(0), atol=1e-2)
    text = kernels(lambda x: x.var(0), x)  # twice: sums of pieces, then of those; nothing stored
    assert text.count("kernel ") == 4 and "workspace" in text
    np.testing.assert_allclose(jax.jit(lambda x: x.var(0))(x), np.asarray(x).var(0), rtol=1e-4)


@pytest.mark.parametrize("shape, axes", [
    ((40, 100, 200), (0, 2)), ((16, 70, 30, 33), (0, 2, 3)), ((7, 130, 3, 300), (0, 2, 3)),
    ((10, 9, 80, 100), (0, 3)), ((90, 80, 8, 10), (0, 2, 3))])
def test_around_an_axis_that_stays(shape, axes):
    x = numbers(shape, "float32")
    for f in (np.sum, np.max, np.mean):
        got = jax.jit(lambda x, f=f: getattr(jnp, f.__name__)(x, axes))(x)
        np.testing.assert_allclose(got, f(x.astype("float64"), axes), rtol=1e-5, atol=1e-3)


def test_around_an_axis_in_the_order_of_memory():
    x = jnp.asarray(numbers((40, 100, 200), "float32"))
    assert kernels(lambda x: x.sum((0, 2)), x).count("kernel ") == 2


def test_a_share_of_a_loop_is_not_computed_again():
    x = jnp.asarray(numbers((1000, 1000), "float32"))
    text = kernels(lambda x: jnp.exp(x).sum(), x)
    assert text.count("kernel ") == 2  # the powers are summed where they are made


def test_kernels_of_one_name_are_all_shown():
    explained = jax.explain(lambda x: x.sum(0), jnp.zeros((3000, 1000)), rounds=1)
    assert explained.as_text("llvm").count("define void @k(") == 2
    assert explained.as_text("asm").count("# fused_sum_f32") == 2


def test_lanes_lie_where_most_elements_do():
    """A factor for each row does not turn the sums of columns into sums of strided ones."""
    table, factor = numbers((300, 16), "float32"), numbers((300,), "float32", 1)
    weighted = lambda table, factor: (table * factor[:, None]).sum(0)
    assert "lane row" in kernels(weighted, table, factor)
    np.testing.assert_allclose(
        jax.jit(weighted)(table, factor), (table * factor[:, None]).sum(0), rtol=1e-5
    )
    assert "lane stage" in kernels(lambda t, f: (t * f).sum(1), table.T.copy(), factor)


@pytest.mark.parametrize("shape", [(1030, 4099), (600, 10_000)])
def test_wide_rows_from_memory_are_cut_down_the_columns(shape, monkeypatch):
    """Whole rows are read at a time, and the results are those of any number of threads."""
    x = numbers(shape, "float32", 3)
    target = host_target()._replace(far_bytes=CpuTarget().far_bytes)  # whatever caches are here
    monkeypatch.setattr(pipeline, "host_target", lambda: target)
    jax.clear_caches()
    assert " sweep 8" in kernels(lambda x: x.sum(0), x)
    for kind in ("sum", "max", "argmin"):
        results = []
        for threads in (1, 2, 3):
            jax._native.set_num_threads(threads)
            results.append(np.asarray(jax.jit(lambda x, k=kind: getattr(x, k)(0))(x)))
        jax._native.set_num_threads(0)
        np.testing.assert_array_equal(results[0], getattr(x, kind)(0))
        np.testing.assert_array_equal(results[0], results[1])
        np.testing.assert_array_equal(results[0], results[2])
    jax.clear_caches()
