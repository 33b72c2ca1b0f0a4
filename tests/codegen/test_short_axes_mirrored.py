"""Arrays with a short last axis, transposed, mirrored and moved; strides that go back."""

import itertools

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp


def integers(shape, dtype=np.float32):
    return np.random.default_rng(len(shape)).integers(0, 99, shape).astype(dtype)


@pytest.mark.parametrize("step", [-1, -2, -3, -5, -8, -9, -16, -17])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "bool", "float16"])
@pytest.mark.parametrize("size", [15, 16, 17, 160, 5003])
def test_strides_that_go_back(step, dtype, size):
    with jax.enable_x64(True):
        x = integers((size,), dtype)
        for f in (lambda x: x[::step], lambda x: x[-2::step], lambda x: x[: size // 3 : step]):
            np.testing.assert_array_equal(jax.jit(f)(x), f(x))
        y = integers((40, size), dtype)
        g = lambda x: x[::-1, ::step] == x[:, ::step]
        np.testing.assert_array_equal(jax.jit(g)(y), g(y))


@pytest.mark.parametrize("mode", ["edge", "constant"])
def test_strides_that_go_back_under_masks(mode):
    x = integers((60, 301))
    f = lambda np, x: np.pad(x[:, ::-3], ((0, 0), (2, 1)), mode=mode) + 1
    np.testing.assert_array_equal(jax.jit(lambda x: f(jnp, x))(x), f(np, x))


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 7, 8, 9])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "complex64"])
def test_axes_in_any_order(channels, dtype):
    x = integers((40, channels, 70), dtype)
    for order in itertools.permutations(range(3)):
        f = lambda np, x, order=order: np.transpose(x, order) + np.ones((), dtype)
        np.testing.assert_array_equal(jax.jit(lambda x, f=f: f(jnp, x))(x), f(np, x))
    flipped = lambda np, x: np.flip(np.swapaxes(x, 1, 2), 1)
    np.testing.assert_array_equal(jax.jit(lambda x: flipped(jnp, x))(x), flipped(np, x))


@pytest.mark.parametrize("channels", [2, 3, 4])
@pytest.mark.parametrize("shape", [(90, 100), (300, 70), (64, 65), (5, 200), (200, 5), (33, 31)])
def test_pictures(channels, shape):
    x = integers((*shape, channels))
    for f in (lambda np, x: np.flip(x, 1) * 2, lambda np, x: np.rot90(x) + 1,
              lambda np, x: np.roll(x, 1, 1) + x, lambda np, x: np.swapaxes(x, 0, 1) + 1,
              lambda np, x: np.flip(x, (0, 1, 2)) - x, lambda np, x: np.pad(x, 1, mode="edge"),
              lambda np, x: x[:, None, :, :] * x[0, :, :][None, None]):  # fmt: skip
        np.testing.assert_array_equal(jax.jit(lambda x, f=f: f(jnp, x))(x), f(np, x))


def test_rows_of_pixels_are_woven_and_not_scattered():
    """Vectors run along the axis before the channels, not along one that is as long."""
    x = jnp.ones((512, 3, 512))
    text = jax.explain(lambda x: jnp.transpose(x, (0, 2, 1)), x, rounds=1).as_text("kernels")
    assert "tile" not in text and text.count("=e") == 3
