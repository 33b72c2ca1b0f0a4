"""Elements a short step apart: woven together, gathered under masks, in code that stays short."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.backend.host import host_target


def text_of(fun, *args, stage="kernels") -> str:
    return jitney.jit(fun).lower(*args).compile().as_text(stage)


def uniforms(*shape, dtype="float32"):
    return (100 * np.random.default_rng(0).random(shape)).astype(dtype)


def twice(x):
    return jnp.concatenate([jnp.diff(x, axis=1)] * 2, 0)


def exchanged(x):
    return jnp.diff(jnp.swapaxes(jnp.concatenate([x, x + x], 1), 3, 0), axis=1)


def turned_products(x):
    x = jnp.roll(x, -2, 0)
    return x[:, :, None] * x[:, None, :]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "complex64"])
@pytest.mark.parametrize("count", [2, 3, 4, 5, 7, 8, 9, 16])
def test_values(count, dtype):
    with jitney.enable_x64():
        x, y = uniforms(4000, count, dtype=dtype), uniforms(2, 3, 100, count, dtype=dtype)
        found = jitney.jit(twice)(x)
        assert np.array_equal(found, np.concatenate([np.diff(x, axis=1)] * 2, 0))
        joined = np.swapaxes(np.concatenate([y, y + y], 1), 3, 0)
        assert np.array_equal(jitney.jit(exchanged)(y), np.diff(joined, axis=1))
        rolled = np.roll(x, -2, 0)
        found = jitney.jit(turned_products)(x)
        assert np.allclose(found, rolled[:, :, None] * rolled[:, None, :], rtol=1e-6)


def test_what_is_written_twice_is_woven_twice():
    """The second half lies at a distance that is a parameter, its columns beside one another."""
    text = text_of(twice, jnp.zeros((12800, 7)))
    stores = [line for line in text.splitlines() if line.strip().startswith("b1[")]
    assert len(stores) == 12
    assert sum("+s" in line for line in stores) == 6
    assert sum("+s" in line and "]" in line and line.count("+") == 2 for line in stores) == 5


@pytest.mark.skipif(not host_target().avx512, reason="counts of wide vectors")
def test_no_column_is_written_by_itself():
    text = text_of(twice, jnp.zeros((12800, 7)), stage="llvm")
    assert text.count("llvm.masked.store") <= 2 * 6 + 1  # twice six vectors of a tail


@pytest.mark.skipif(not host_target().avx512, reason="counts lines of wide vectors")
@pytest.mark.parametrize(
    "fun,shape,most",
    [
        (twice, (12800, 7), 1000),  # 1900 with four vectors side by side
        (exchanged, (2, 3, 100, 16), 800),  # 2200 if picked from whole vectors
        (turned_products, (40000, 5), 2000),  # 2900 with two of them
    ],
)
def test_the_code_is_short(fun, shape, most):
    """Columns that are picked and woven one by one are not repeated four times over."""
    lines = text_of(fun, jnp.zeros(shape), stage="llvm").count("\n")
    assert lines < most, lines


@pytest.mark.skipif(not host_target().avx512, reason="gathers of wide vectors")
@pytest.mark.parametrize("count", [5, 8, 16])
def test_long_steps_under_masks_are_gathered(count):
    assert "masked.gather" in text_of(exchanged, jnp.zeros((2, 3, 100, count)), stage="llvm")
