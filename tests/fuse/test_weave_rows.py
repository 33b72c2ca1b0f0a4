"""Short rows whose elements are computed alike: lanes are neighbours in them, not rows."""

import ml_dtypes
import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import nn
from jitney.backend.host import host_target

WITH_MASKS = pytest.mark.skipif(not host_target().avx512, reason="needs cheap masks")
DTYPES = ["float32", "float64", "int32", "uint8", "int16", "int64", "bfloat16", "float16", "bool"]
PROGRAMS = {  # of rows of a few numbers
    "greater of two ends": lambda np, x: np.maximum(x, x[:, ::-1]),
    "of rows turned": lambda np, x: np.maximum(x, x[::-1]),
    "all pairs": lambda np, x: x[:, :, None] * x[:, None, :],
    "pairs of two rows": lambda np, x: np.minimum(x[:, :, None], x[::-1][:, None, ::-1]),
    "rolled and added": lambda np, x: np.roll(x, 1, 1) + np.roll(x, -1, 1) + x,
    "differences": lambda np, x: np.abs(x[:, 1:] + x[:, :-1]),
    "every row its number": lambda np, x: x * x[:, :1],
    "a number for each column": lambda np, x: x + np.arange(x.shape[1]).astype(x.dtype),
    "one for each element": lambda np, x: x * np.arange(x.size).reshape(x.shape).astype(x.dtype),
    "with a border": lambda np, x: np.pad(x + x, ((0, 0), (1, 2)), constant_values=1),
    "a border beside others": lambda np, x: np.pad(x[:, 1:], ((0, 0), (1, 0))) + x,
    "the end of a border": lambda np, x: np.pad(x[:, -1:], ((0, 0), (2, 0))) + x[:, :1],
    "below the diagonal": lambda np, x: np.tril(x[:, :, None] * x[:, None, :]),
    "compared": lambda np, x: np.where(x > x[:, ::-1], x, x[:, :1]),
    "the same twice": lambda np, x: np.repeat(x + x, 2, 1),
    "a wider type": lambda np, x: x[:, ::-1].astype("float32") * 0.5,
    "a column of two": lambda np, x: x[:, :2][:, ::-1] + x[:, 1:2],
}


def numbers(shape, dtype):
    x = np.random.default_rng(sum(shape)).integers(0, 5, shape)
    return x.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def rows_of(fun, *args) -> list[str]:
    text = jitney.jit(fun).lower(*args).compile().as_text()
    return [line.strip() for line in text.splitlines() if line.strip().startswith("rows")]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [2, 3, 4, 5, 7, 8])
@pytest.mark.parametrize("rows", [1, 5, 17, 1000, 10_007])
def test_values(rows, count, dtype):
    with jitney.enable_x64(), np.errstate(all="ignore"):
        x = numbers((rows, count), dtype)
        names = [n for n in PROGRAMS if dtype != "bool" or n != "a number for each column"]
        found = jitney.jit(lambda x: {name: PROGRAMS[name](jnp, x) for name in names})(x)
        for name in names:
            expected = PROGRAMS[name](np, x)
            np.testing.assert_array_equal(np.asarray(found[name]), expected, name)


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
@pytest.mark.parametrize("shape", [(3, 200, 5), (40, 30, 7), (9, 9, 9, 3), (2, 3001, 2)])
def test_inner_rows(shape, dtype):
    with jitney.enable_x64():
        x = numbers(shape, dtype)
        for fun in (
            lambda np, x: np.maximum(x, np.flip(x, 1)),
            lambda np, x: np.flip(x, (0, -1)) + x,
            lambda np, x: x + np.swapaxes(x, 0, 0)[..., ::-1] * x[..., :1],
        ):
            found = jitney.jit(lambda x, fun=fun: fun(jnp, x))(x)
            np.testing.assert_array_equal(np.asarray(found), fun(np, x))


@WITH_MASKS
@pytest.mark.parametrize(
    "name,count,rows",
    [("all pairs", 3, 5), ("all pairs", 8, 1), ("greater of two ends", 7, 16),
     ("every row its number", 3, 16), ("every row its number", 5, 16)],
)  # fmt: skip
def test_vectors_are_full(name, count, rows):
    """9 elements are a little more than a half of a vector, 45 are almost three."""
    (found,) = rows_of(lambda x: PROGRAMS[name](jnp, x), jnp.ones((10_000, count)))
    expected = f"blocks {rows} alike" if rows > 1 else "blocks alike"
    assert found.endswith(expected), found


@WITH_MASKS
def test_what_rows_have_in_common_is_not_computed_for_each_element():
    for fun in (
        lambda x: x / jnp.sqrt((x * x).sum(1, keepdims=True)),
        lambda x: nn.softmax(x, 1),
        lambda x: x - x.mean(1, keepdims=True),
    ):
        assert not any("alike" in rows for rows in rows_of(fun, jnp.ones((10_000, 5))))


@WITH_MASKS
@pytest.mark.parametrize("count", [5, 8])
def test_costly_functions_are_written_out(count):
    """They are many expressions, but one pattern: no function is called for each vector."""

    def near(x):
        return jnp.exp(-((x[:, :, None] - x[:, None, :]) ** 2))

    compiled = jitney.jit(near).lower(jnp.ones((10_000, count))).compile()
    assert "alike" in compiled.as_text() and "fastcc" not in compiled.as_text("llvm")


@WITH_MASKS
def test_other_sizes_have_the_same_code():
    for fun in (lambda x: jnp.maximum(x, x[::-1]), lambda x: x[:, :, None] * x[:, None, :]):
        texts = {
            jitney.jit(fun).lower(jnp.ones((rows, 7))).compile().as_text("llvm")
            for rows in (10_000, 12_345, 50_001)
        }
        assert len(texts) == 1
