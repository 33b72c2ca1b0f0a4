"""Last axes of a few elements: functions of coordinates are as NumPy's, for any type and size."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

ROWS = [1, 63, 64, 100, 1025, 4099]
DTYPES = ["float32", "float64", "int32", "int8", "uint16", "bfloat16", "bool", "complex64"]
PROGRAMS = {
    "flip": lambda np, x: x[:, ::-1],
    "roll": lambda np, x: np.roll(x, 1, 1),
    "join": lambda np, x: np.concatenate([x, x[::-1]], 1),
    "outer": lambda np, x: x[:, :, None] * x[:, None, :],
    "repeat": lambda np, x: np.repeat(x, 2, 1),
    "scale": lambda np, x: x * x[:, :1],
    "columns": lambda np, x: np.stack([x[:, -1], x[:, 0]], -1),
}


def numbers(shape, dtype):
    x = np.random.default_rng(sum(shape)).integers(-4, 5, shape)
    if dtype == "bool":
        return x > 0
    return jnp.asarray(abs(x) if dtype[0] == "u" else x).astype(dtype)


def text(fun, *arguments) -> str:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [2, 3, 4, 5, 8, 9, 16])
def test_elementwise(name, dtype, width):
    with jax.enable_x64(True):
        for rows in ROWS:
            x = numbers((rows, width), dtype)
            found = jax.jit(lambda x: PROGRAMS[name](jnp, x))(x)
            plain = np.asarray(x).astype("complex64" if dtype == "complex64" else "float64")
            expected = PROGRAMS[name](np, plain)
            np.testing.assert_array_equal(np.asarray(found).astype(expected.dtype), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint16", "bfloat16", "int8"])
@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 9, 15, 16])
def test_reductions_and_running_ones(dtype, width):
    with jax.enable_x64(True):
        for rows in ROWS:
            x = numbers((rows, width), dtype)
            plain = np.asarray(x).astype("float64")
            for found, expected in (
                (jax.jit(lambda x: jnp.cumsum(x, 1))(x), np.cumsum(plain, 1)),
                (jax.jit(lambda x: jax.lax.cummax(x, 1))(x), np.maximum.accumulate(plain, 1)),
                (jax.jit(lambda x: jax.lax.cummin(x, 1, reverse=True))(x),
                 np.minimum.accumulate(plain[:, ::-1], 1)[:, ::-1]),
                (jax.jit(lambda x: jax.lax.cumsum(x[..., None], 1, reverse=True))(x)[..., 0],
                 np.cumsum(plain[:, ::-1], 1)[:, ::-1]),
                (jax.jit(lambda x: x.argmax(1))(x), plain.argmax(1)),
                (jax.jit(lambda x: x.argmin(1))(x), plain.argmin(1)),
                (jax.jit(lambda x: x.max(1))(x), plain.max(1)),
            ):
                np.testing.assert_array_equal(np.asarray(found).astype("float64"), expected)


@pytest.mark.parametrize("width", [2, 3, 8])
def test_what_is_no_number(width):
    x = np.random.default_rng(0).standard_normal((500, width)).astype("float32")
    x[::7, 0], x[::5, -1], x[3] = np.nan, np.inf, np.nan
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(jax.jit(lambda x: jnp.cumsum(x, 1))(x), np.cumsum(x, 1), 1e-6)
    np.testing.assert_array_equal(
        jax.jit(lambda x: jax.lax.cummax(x, 1))(x), np.maximum.accumulate(x, 1))
    np.testing.assert_array_equal(jax.jit(lambda x: x.argmax(1))(x), x.argmax(1))
    np.testing.assert_array_equal(jax.jit(lambda x: x.argmin(1))(x), x.argmin(1))


def test_points_are_one_kernel_of_whole_vectors():
    x = jnp.ones((20_000, 3))
    for fun in (lambda x: jnp.cumsum(x, 1), lambda x: jnp.cross(x, x[::-1]),
                lambda x: jnp.concatenate([x, x], 1), lambda x: x[:, ::-1] * 2):
        found = text(fun, x)
        assert found.count("] kernel ") == 1 and found.count(" routine ") == 0
    assert text(lambda x: jnp.cross(x, x[::-1]), x).count("\n    b1[3*v0") == 3


def test_pairs_far_away():
    """Forces between points: lanes along the sum, not along three coordinates."""
    x = np.random.default_rng(0).standard_normal((300, 3)).astype("float32")
    def forces(x):
        apart = x[None] - x[:, None]
        return (apart * ((apart**2).sum(-1) + 0.1)[..., None]).sum(1)
    assert "lane stage" in text(forces, jnp.asarray(x))
    np.testing.assert_allclose(jax.jit(forces)(x), forces(x.astype("f8")), rtol=2e-4, atol=1e-2)


def test_none_and_empty():
    for shape in ((0, 3), (64, 1), (100, 0)):
        x = jnp.zeros(shape)
        assert jax.jit(lambda x: jnp.cumsum(x, 1))(x).shape == shape
        assert jax.jit(lambda x: x[:, ::-1] * 2)(x).shape == shape


CLOUDS = {
    "sum": lambda np, x: x.sum(1),
    "least and greatest": lambda np, x: x.max(1) - x.min(1),
    "centred": lambda np, x: x - x.mean(1, keepdims=True),
    "positions": lambda np, x: x.argmax(1),
    "farthest": lambda np, x: (x * x).sum(2).max(1),
    "two": lambda np, x: (x * x[..., ::-1]).sum(1) + x.max(1),
}


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8", "bfloat16"])
@pytest.mark.parametrize("width", [2, 3, 4, 7, 8])
def test_points_of_clouds(name, dtype, width):
    with jax.enable_x64(True):
        for count, length in ((70, 64), (33, 65), (5, 300), (1, 5000)):
            x = numbers((count, length, width), dtype)
            found = np.asarray(jax.jit(lambda x: CLOUDS[name](jnp, x))(x))
            plain = np.asarray(x).astype("float64" if dtype[-1] != "8" else "int32")
            if name != "two" or dtype != "int8":  # which wraps
                expected = CLOUDS[name](np, plain)
                rtol = 0.02 if dtype == "bfloat16" else 1e-5
                np.testing.assert_allclose(found.astype("float64"), expected, rtol, 30 * rtol)


def test_each_vector_of_a_cloud_is_read_once():
    x = numbers((500, 64, 3), "float32")
    sums = text(lambda x: x.sum(1), x)
    assert "rows v0<s0 lane stage" in sums and sums.count("stage 0 sum") == 3, sums


def test_forces_are_not_stored():
    """What else a stage reads, distances made of it, would be computed for every coordinate anew,
    and so stored: n x n x 3 numbers."""
    def forces(x):
        d = x[None] - x[:, None]
        return (d / (jnp.sum(d * d, -1, keepdims=True) + 1e-3) ** 1.5).sum(1)

    assert "rows v0<s0 v1<s1 v2<s2" not in text(forces, numbers((1024, 3), "float32"))


@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16"])
@pytest.mark.parametrize("block", [(4, 4), (8, 4), (5, 3), (2, 8), (8, 8)])
@pytest.mark.parametrize("name", ["sum", "max"])
def test_blocks(name, block, dtype):
    (a, b), rows, columns = block, 20, 50
    x = numbers((rows * a, columns * b), dtype)
    fun = lambda np, x: getattr(np, name)(x.reshape(rows, a, columns, b), axis=(1, 3))
    want = fun(np, np.asarray(x).astype("float64"))
    np.testing.assert_array_equal(jax.jit(lambda x: fun(jnp, x))(x).astype("float64"), want)


def test_elements_of_blocks_are_written_out():
    blocks = lambda x: x.reshape(64, 4, 64, 4).mean((1, 3))
    found = text(blocks, np.ones((256, 256), "float32"))
    assert found.count("load") == 16 and "stage" not in found, found
