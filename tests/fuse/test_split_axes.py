"""Merged axes of arrays that do not follow one another: read where they are, in finer loops."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp


def softmax(np, x):
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


def without_means(np, x):
    return x - x.reshape(3, 20, 7, 33).mean(-1).sum(-1)[..., None]


PROGRAMS = {
    "heads merged": lambda np, x: x.transpose(0, 2, 1, 3).reshape(3, 20, 7 * 33) * 2,
    "first axes": lambda np, x: x.transpose(1, 0, 2, 3).reshape(21, 20, 33) + 1,
    "all": lambda np, x: x.transpose(3, 1, 0, 2).reshape(-1) - 3,
    "a part": lambda np, x: (x[:, 1:6].reshape(3, 100, 33) * 2)[:, 1:],
    "of a merged axis": lambda np, x: (x.transpose(0, 2, 1, 3).reshape(3, 20, 231) * 2)[:, :, 5:],
    "pixels": lambda np, x: (x.reshape(3, 7, 5, 4, 33).transpose(0, 2, 1, 3, 4)
                             .reshape(15, 28, 33) + 1),
    "twice": lambda np, x: (x.transpose(0, 2, 1, 3).reshape(60, 231).T.reshape(33 * 7, 3, 20)
                            .transpose(1, 0, 2).reshape(3, -1) + 1),
    "repeated": lambda np, x: (np.broadcast_to(x[:, :, None], (3, 7, 4, 20, 33))
                               .reshape(3, 28, -1) * 2),
    "mirrored": lambda np, x: x[:, ::-1].reshape(3, 140, 33) + x[:, :, ::-1].reshape(3, 140, 33),
    "two splits": lambda np, x: (x.transpose(0, 2, 1, 3).reshape(3, 20, 231)
                                 + x.transpose(0, 1, 3, 2).reshape(3, 20, 231)),
    "softmax": lambda np, x: softmax(np, x.transpose(0, 2, 1, 3).reshape(60, 231) / 9),
    "sums of heads": lambda np, x: without_means(
        np, x.transpose(0, 2, 1, 3).reshape(3, 20, 231)),
    "padded": lambda np, x: np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0))).reshape(21, 22 * 33) * 2,
    "scaled": lambda np, x: x.transpose(0, 2, 1, 3).reshape(60, 231) * x.reshape(-1)[:231],
    "short last axes": lambda np, x: (x[..., :4].transpose(3, 0, 1, 2).reshape(4, -1)
                                      .T.reshape(-1) + 1),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
def test_as_numpy(name, dtype):
    with jax.enable_x64(True):
        x = np.random.default_rng(0).integers(-9, 10, (3, 7, 20, 33)).astype(dtype)
        found = jax.jit(lambda x: PROGRAMS[name](jnp, x))(x)
        expected = PROGRAMS[name](np, x)
        np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


@pytest.mark.parametrize("name", ["heads merged", "first axes", "all", "pixels", "twice",
                                  "repeated", "mirrored", "padded", "scaled"])  # fmt: skip
def test_one_kernel(name):
    """Nothing is copied first."""
    x = np.ones((3, 7, 20, 33), np.float32)
    text = jax.explain(lambda x: PROGRAMS[name](jnp, x), x, rounds=1).as_text("kernels")
    assert text.count("] kernel") == 1 and "workspace 0 bytes" in text


def test_results_that_share_what_they_read():
    def both(np, x):
        y = x.transpose(0, 2, 1, 3).reshape(60, 231)
        return np.sqrt(y), y + y[::-1], y.sum()

    x = np.random.default_rng(0).random((3, 7, 20, 33), np.float32)
    for found, expected in zip(jax.jit(lambda x: both(jnp, x))(x), both(np, x), strict=True):
        np.testing.assert_allclose(found, expected, 1e-5)


def test_gradients():
    x = np.random.default_rng(0).random((3, 7, 20, 33), np.float32)
    w = np.random.default_rng(1).random((231,), np.float32)
    f = lambda x: (jnp.tanh(x.transpose(0, 2, 1, 3).reshape(3, 20, 231)) * w).sum()
    expected = (1 - np.tanh(x) ** 2) * w.reshape(7, 33)[:, None]
    np.testing.assert_allclose(jax.jit(jax.grad(f))(x), expected, 1e-4, 1e-6)
