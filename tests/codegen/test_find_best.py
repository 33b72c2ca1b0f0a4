"""Places of greatest and least elements found by blocks of vectors: which of equal ones, NaN,
infinities, ends of rows, rows in pieces."""

import ml_dtypes
import numpy as np
import pytest
from narrower_machines import run_tests

import jitney as jax
import jitney.numpy as jnp
from jitney.backend.host import host_target
from jitney.testing.stages import check_all_stages

SHAPES = [(7, 1000), (3, 256), (2, 257), (1, 383), (3, 2, 700), (20_000,), (100_003,),
          (50, 63), (50, 64), (50, 65), (40, 100), (40, 127), (30, 130)]  # fmt: skip
DTYPES = ["float32", "float64", "float16", "bfloat16", "int16", "int32", "uint32", "int64"]


def kernels(f, *arguments) -> str:
    return jax.explain(f, *arguments, rounds=1).as_text("kernels")


def compare(x: np.ndarray, like=None) -> None:
    """With NumPy's places, along rows and of all; and of what is computed of x."""
    like = x if like is None else like
    for name in ("argmax", "argmin"):
        for axis in (-1, None):
            found = jax.jit(lambda a, n=name, d=axis: getattr(jnp, n)(a, axis=d))(x)
            np.testing.assert_array_equal(found, getattr(np, name)(like, axis=axis))
        found = jax.jit(lambda a, n=name: getattr(jnp, n)(a + a, axis=-1))(x)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(found, getattr(np, name)(like + like, axis=-1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_first_of_equals(dtype, shape):
    """Few values, so that each row has its best one many times."""
    drawn = np.random.default_rng(len(dtype)).integers(0, 5, shape)
    with jax.enable_x64(True):
        compare(drawn.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype), drawn)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_all_different(dtype, shape):
    with jax.enable_x64(True):
        compare(np.random.default_rng(1).permutation(np.prod(shape)).reshape(shape).astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint32"])
@pytest.mark.parametrize("place", [0, 1, 63, 64, 300, 512, 999])
def test_one_that_is_better_than_the_worst_there_is(dtype, place):
    is_float = dtype[0] == "f"
    for name in ("argmax", "argmin"):
        low, high = (-np.inf, np.inf) if is_float else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        worst = low if name == "argmax" else high
        x = np.full((3, 1000), worst, dtype)
        x[1, place] = 5
        with jax.enable_x64(True):
            found = jax.jit(lambda a, n=name: getattr(jnp, n)(a, axis=1))(x)
        np.testing.assert_array_equal(found, [0, place, 0])


@pytest.mark.parametrize("places", [[0], [999], [64], [100, 700], [3, 4, 5], [998, 2]])
def test_the_first_nan(places):
    x = np.random.default_rng(2).normal(size=(4, 1000)).astype("float32")
    x[1, places], x[2, places], x[3, :] = np.nan, -np.nan, np.nan
    x[2, 50], x[1, 0] = np.inf, -np.inf
    if 0 in places:
        x[1, 0] = np.nan
    compare(x)


def test_zeros_are_equal():
    x = np.zeros((2, 600), "float32")
    x[0, ::2], x[1, 1::2] = -0.0, -0.0
    compare(x)


@pytest.mark.skipif(not host_target().avx512, reason="where masks are dear rows are too short")
def test_where_blocks_are_used():
    x = np.ones((20, 1000), "float32")
    assert " blocks" in kernels(lambda x: x.argmax(1), x)
    assert " blocks" in kernels(lambda x: jnp.abs(x).argmin(1) + 1, x)
    assert " blocks" in kernels(lambda x: x.argmax(1), x.reshape(-1, 100))
    assert " blocks" not in kernels(lambda x: x.argmax(1), x[:, :63]), "short rows"
    assert " blocks" not in kernels(lambda x: x.argmax(0), x), "columns"
    assert " blocks" not in kernels(lambda x: x.argmax(1), x.astype("int32")), "no NaN to look for"


def test_all_stages_agree():
    x = np.random.default_rng(3).normal(size=(5, 300)).astype("float32")
    x[2, 100], x[3] = np.nan, -np.inf
    check_all_stages(lambda x: (jnp.argmax(x, 1), jnp.argmin(x * 2, 1)), x)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64"])
def test_narrower_machines(target):
    run_tests(__file__, target)
