"""Variances that read memory once: as NumPy's of any data, axes and types."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

CASES = [
    ((1 << 17,), None), ((200, 1000), None), ((64, 32, 64), None), ((3, 1 << 16), 1),
    ((2, 5, 1 << 15), (1, 2)), ((2, 3, 1 << 16), -1), ((16, 64, 32, 32), (0, 2, 3)),
    ((20, 3, 10_000), (0, 2)), ((100, 70_000), 1), ((16, 16, 64, 64), (0, 2, 3)),
]  # fmt: skip


def numbers(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def explained(fun, *arguments) -> str:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


def is_by_blocks(fun, *arguments) -> bool:
    return " part\n" in explained(fun, *arguments)


@pytest.mark.parametrize("shape, axis", CASES)
@pytest.mark.parametrize("ddof", [0, 1])
def test_as_numpy(shape, axis, ddof):
    x = numbers(shape).astype("float32") * 3 + 1
    fun = lambda x: (x.mean(axis), x.var(axis, ddof=ddof))
    assert is_by_blocks(fun, x)
    mean, variance = jax.jit(fun)(x)
    np.testing.assert_allclose(mean, x.mean(axis, dtype="f8"), rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(variance, x.var(axis, ddof=ddof, dtype="f8"), rtol=2e-6)


DATA = {
    "far from zero": lambda x: x + 1000,
    "a trend": lambda x: x + np.linspace(0, 3000, x.size),
    "zeros first": lambda x: np.where(np.arange(x.size) < 100_000, 0, x + 500),
    "blocks begin with zeros": lambda x: np.where(np.arange(x.size) % 8192 < 1024, 0, x + 500),
    "the first of a block is far": lambda x: np.where(np.arange(x.size) % 8192 == 0, 1e5, x),
    "steps": lambda x: x + 100 * np.floor(np.arange(x.size) / 3000),
    "constant": lambda x: np.full_like(x, 3.7),
    "ones and zeros": lambda x: (x > 0).astype(float),
}


@pytest.mark.parametrize("name", DATA)
def test_no_data_loses_digits(name):
    """No worse than squares about the mean in the same type, which a sum in float64 checks."""
    x = DATA[name](numbers(1 << 19)).astype("float32")
    found = float(jax.jit(jnp.var)(x))
    mean = np.float32(x.mean(dtype="f8"))
    expected = ((x.astype("f8") - mean) ** 2).mean()
    plain = float(jax.jit(lambda x: ((x - mean) ** 2).sum())(x)) / x.size
    allowed = 3e-6 * expected + 4 * (np.finfo("f4").eps * float(mean)) ** 2
    assert abs(found - expected) <= max(allowed, abs(plain - expected))


def test_sums_of_whole_numbers_are_exact():
    x = np.random.default_rng(1).integers(-8, 8, 1 << 18).astype("float32")
    mean, variance = jax.jit(lambda x: (x.mean(), x.var()))(x)
    assert float(mean) == np.float32(x.mean(dtype="f8"))
    np.testing.assert_allclose(variance, x.var(dtype="f8"), rtol=1e-6)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("place", [0, 5000, -1])
def test_what_is_not_finite(bad, place):
    x = numbers(1 << 18).astype("float32")
    x[place] = bad
    mean, variance = jax.jit(lambda x: (x.mean(), x.var()))(x)
    assert np.isnan(variance)
    np.testing.assert_array_equal(mean, bad)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_other_types(dtype):
    with jax.enable_x64(True):
        x = jnp.asarray(numbers(1 << 18)).astype(dtype)
        wide = np.asarray(x).astype("float64")
        rtol = {"float64": 1e-13, "float16": 1e-3, "bfloat16": 1e-2}[dtype]
        np.testing.assert_allclose(jax.jit(jnp.var)(x).astype("float64"), wide.var(), rtol=rtol)


def test_squares_written_by_hand():
    x = numbers(1 << 18).astype("float32")
    for fun in (
        lambda x: ((x - x.mean()) ** 2).sum(),
        lambda x: jnp.square(x.mean() - x).sum(),
        lambda x: jnp.sum((x - jnp.sum(x) / x.size) * (x - jnp.sum(x) / x.size)),
        lambda x: jnp.sum((x - (0.9 * x.mean() + 0.1)) ** 2),  # about any number
    ):
        assert is_by_blocks(fun, x)
        np.testing.assert_allclose(jax.jit(fun)(x), fun(x.astype("f8")), rtol=1e-5)


def test_where_it_stays():
    """Short arrays, rows of kernels of rows, and runs that no block divides."""
    for shape, axis in [((100, 100), None), ((1000, 1000), 1), ((1_000_003,), None)]:
        assert not is_by_blocks(lambda x: x.var(axis), jnp.asarray(numbers(shape)))  # noqa: B023
    x = numbers(1_000_003).astype("float32")
    np.testing.assert_allclose(jax.jit(jnp.var)(x), x.var(dtype="f8"), rtol=1e-5)


def test_the_mean_is_used_elsewhere():
    x = numbers((16, 64, 32, 32)).astype("float32") * 2 + 3
    def normed(x):
        mean, variance = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5)
    found = np.asarray(jax.jit(normed)(x))
    wide = x.astype("f8")
    expected = (wide - wide.mean((0, 2, 3), keepdims=True)) / np.sqrt(
        wide.var((0, 2, 3), keepdims=True) + 1e-5)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_gradients_and_batches():
    x = numbers((4, 1 << 16)).astype("float32")
    slope = jax.jit(jax.grad(lambda x: x.var()))(x[0])
    np.testing.assert_allclose(slope, 2 * (x[0] - x[0].mean(dtype="f8")) / x[0].size, atol=1e-9)
    np.testing.assert_allclose(jax.jit(jax.vmap(jnp.var))(x), x.var(1, dtype="f8"), rtol=1e-5)


def test_two_variances_of_one_array():
    x = numbers((64, 64, 64)).astype("float32")
    found = jax.jit(lambda x: (x.var(), x.std(), x.var(ddof=1), x.mean()))(x)
    for a, b in zip(found, (x.var(), x.std(), x.var(ddof=1), x.mean()), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_memory_is_read_once():
    text = explained(lambda x: x.var(), jnp.asarray(numbers((1000, 1000))))
    assert text.count("] kernel ") == 2
