"""Rows of a few dozen elements, turned in registers: as NumPy's, of any length, number and type."""

from functools import partial

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.backend.host import host_target

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
LENGTHS = [9, 10, 15, 16, 17, 31, 33, 63, 64, 65, 96]
ROWS = [2048, 2049, 2079]
DTYPES = ["float32", "float64", "int32", "int8", "uint16", "bfloat16", "float16", "bool", "int64"]
REDUCTIONS = {
    "max": lambda np, x: x.max(1),
    "sum": lambda np, x: x.sum(1),
    "argmax": lambda np, x: x.argmax(1),
    "argmin": lambda np, x: x.argmin(1),
    "range": lambda np, x: x.max(1) - x.min(1),
}
SAME_SHAPE = {
    "softmax": lambda np, x: (e := np.exp(x - x.max(1)[:, None])) / e.sum(1)[:, None],
    "norm": lambda np, x: x / np.sqrt((x * x).sum(1)[:, None]),
    "centred": lambda np, x: (x - x.mean(1)[:, None]) * np.arange(x.shape[1]),
    "of two": lambda np, x: x / (1 + abs(x[:, ::-1]).sum(1))[:, None],
}


def numbers(shape, dtype="float32", seed=0):
    x = np.random.default_rng(seed).integers(-50, 50, shape)
    return jnp.asarray(x > 0 if dtype == "bool" else abs(x) if dtype[0] == "u" else x).astype(dtype)


def text(fun, *arguments) -> str:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dtype):
    if dtype == "bool" and name == "range":
        pytest.skip("booleans have no differences")
    with jax.enable_x64(True):
        for length in LENGTHS:
            for rows in ROWS[: 1 + length % 3]:
                x = numbers((rows, length), dtype)
                found = jax.jit(lambda x: REDUCTIONS[name](jnp, x))(x)
                is_short = dtype in ("bfloat16", "float16")
                plain = np.asarray(x).astype("float64" if is_short else dtype)
                np.testing.assert_allclose(
                    np.asarray(found).astype("float64"),
                    np.asarray(REDUCTIONS[name](np, plain)).astype("float64"),
                    rtol={"bfloat16": 1e-2, "float16": 1e-3}.get(dtype, 1e-12),
                )


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", SAME_SHAPE)
def test_same_shape(name, dtype):
    with jax.enable_x64(True):
        for length in LENGTHS:
            for rows in ROWS[: 1 + length % 3]:
                x = numbers((rows, length), dtype) / 8
                found = jax.jit(lambda x: SAME_SHAPE[name](jnp, x))(x)
                expected = SAME_SHAPE[name](np, np.asarray(x).astype("float64"))
                rtol = {"float32": 1e-4, "float64": 1e-11, "bfloat16": 0.1}[dtype]
                np.testing.assert_allclose(
                    np.asarray(found).astype("float64"), expected, rtol, rtol * 3
                )


@pytest.mark.parametrize("axes", [(1,), (2,), (0, 2)])
@pytest.mark.parametrize("shape", [(70, 33, 20), (20, 300, 12), (3, 2000, 48)])
def test_axes(shape, axes):
    x = numbers(shape)
    for fun in (lambda np, x: x.sum(axes), lambda np, x: x - x.max(axes, keepdims=True)):
        found = jax.jit(partial(fun, jnp))(x)
        np.testing.assert_array_equal(found, fun(np, np.asarray(x)))


def test_views():
    """Rows of parts of arrays, of turned ones, of several."""
    x, y = numbers((1500, 40)), numbers((30, 3000), seed=1)
    for fun in (
        lambda np, x, y: x[:, 3:33].max(1) + y.T[::2].sum(1),
        lambda np, x, y: (x[::-1, :30] * y.T[::2]).sum(1),
        lambda np, x, y: (x[:, :30] + x[:, 10:]).max(1),
        lambda np, x, y: x[3:].sum(1) - x[:-3].sum(1),
    ):
        expected = fun(np, np.asarray(x), np.asarray(y))
        np.testing.assert_array_equal(jax.jit(partial(fun, jnp))(x, y), expected)


@pytest.mark.parametrize("length", [10, 16, 50, 96])
def test_extremes(length):
    x = np.array(numbers((2050, length))) / 16
    x[3, 5], x[4, 7], x[6, 8], x[8], x[2049, -1] = np.inf, -np.inf, np.nan, -np.inf, np.nan
    found = jax.jit(lambda x: (x.max(1), x.argmax(1), jax.nn.logsumexp(x, 1), jax.nn.softmax(x)))(x)
    shifted = np.exp(x - x.max(1, keepdims=True))
    expected = (x.max(1), x.argmax(1), np.logaddexp.reduce(x, 1), shifted / shifted.sum(1)[:, None])
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_donated_and_repeated():
    """An argument that is written over; a loop whose turns are short rows."""
    x = numbers((2049, 20)) / 16
    expected = np.asarray(jax.nn.softmax(x))
    step = lambda x: x / jnp.abs(x).sum(1, keepdims=True)
    looped = jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda _, x: step(x), x))(x)
    plain = np.asarray(x).astype("float64")
    for _ in range(3):
        plain = plain / abs(plain).sum(1, keepdims=True)
    np.testing.assert_allclose(looped, plain, rtol=1e-5)
    found = jax.jit(jax.nn.softmax, donate_argnums=0)(jnp.array(x))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.skipif(not host_target().avx2, reason="squares of masked vectors")
def test_where():
    """Which kernels: not of few or long rows, nor where vectors along rows do as well."""
    of = lambda fun, *shape: " turned" in text(fun, numbers(shape))
    softmax, norm = (lambda x, f=f: f(jnp, x) for f in (SAME_SHAPE["softmax"], SAME_SHAPE["norm"]))
    assert of(softmax, 4000, 16) and of(softmax, 4000, 50) and not of(softmax, 4000, 64)
    assert of(norm, 4000, 16) and not of(norm, 4000, 32)
    assert of(lambda x: x.argmax(1), 4000, 96) and not of(lambda x: x.argmax(1), 4000, 97)
    assert of(lambda x: x.max(1), 4000, 63) and not of(lambda x: x.max(1), 4000, 64)
    assert not of(softmax, 40, 16) and not of(softmax, 4000, 8)
    assert not of(lambda x: x.sum(0), 16, 4000)


@pytest.mark.skipif(not host_target().avx2, reason="squares of masked vectors")
def test_one_kernel_for_lengths():
    """A length between two that were met compiles nothing."""
    fun = jax.jit(lambda x: x.argmax(1))
    one, other = text(fun, numbers((3000, 20))), text(fun, numbers((5000, 41)))
    without_sizes = lambda t: [line for line in t.splitlines() if "sizes" not in line]
    assert without_sizes(one) == without_sizes(other)
