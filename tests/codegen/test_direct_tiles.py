"""Squares that are transposed in registers and stored from there."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import _native
from jitney.backend.host import host_target

fast = pytest.mark.skipif(
    not (host_target().avx512 and host_target().vectors_a_cycle >= 4),
    reason="a processor for which tiles have scratch arrays",
)
SHAPES = [(16, 16), (17, 16), (16, 33), (64, 64), (65, 79), (37, 53), (8, 9), (15, 100), (500, 48),
          (31, 1030), (200, 512), (512, 200), (100, 1024), (1024, 100)]  # fmt: skip
DTYPES = "float32 int32 uint32 float64 int64 complex64 int8 bfloat16".split()


def numbers(shape, dtype):
    return (np.random.default_rng(sum(shape)).standard_normal(shape) * 100).astype(dtype)


def kernels(fun, *arguments) -> str:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_element_is_in_its_place(shape, dtype):
    with jax.enable_x64(True):
        x = jnp.asarray(numbers(shape, "float32")).astype(dtype)
        other = jnp.asarray(numbers(shape[::-1], "float32")).astype(dtype)
        expected = np.asarray(x).T + np.asarray(other)
        found = jax.jit(lambda x, y: x.T + y)(x, other)
        np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3)])
@pytest.mark.parametrize("backwards", [False, True])
def test_axes_among_others(axes, backwards):
    x = numbers((3, 20, 17, 33), "float32")
    fun = lambda x: jnp.swapaxes(x, *axes)[:: -1 if backwards else 1] * 2
    expected = np.swapaxes(x, *axes)[:: -1 if backwards else 1] * 2
    np.testing.assert_array_equal(jax.jit(fun)(x), expected)


def test_parts_of_larger_arrays():
    x = numbers((90, 70), "float32")
    fun = lambda x: x[3:80, 5:66].T + 1
    np.testing.assert_array_equal(jax.jit(fun)(x), x[3:80, 5:66].T + 1)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_with_threads(threads):
    x = numbers((700, 1100), "float32")
    _native.set_num_threads(threads)
    try:
        np.testing.assert_array_equal(jax.jit(lambda x: x.T * 3)(x), x.T * 3)
    finally:
        _native.set_num_threads(0)


@fast
def test_where_rows_of_results_share_few_sets_there_is_scratch():
    transposed = lambda x: x.T + 1
    assert " tile v0 16 64x16 direct" in kernels(transposed, numbers((300, 200), "float32"))
    assert " tile v0 16 16 direct" in kernels(transposed, numbers((512, 200), "float32"))
    assert "direct" not in kernels(transposed, numbers((1024, 200), "float32"))
    assert "direct" not in kernels(transposed, numbers((512, 512), "float32"))


@fast
def test_long_bodies_are_written_once():
    x = numbers((300, 200), "float32")
    assert "direct" not in kernels(lambda x: jnp.exp(x.T), x)
    assert "direct" not in kernels(lambda x: 1 / x.T, x)
