"""Stencils of stencils: each is a kernel, and what is cheap or read once is none."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp


def around(np, u):
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u


def smoothed(np, u, turns):
    for _ in range(turns):
        u = u + 0.125 * around(np, u)
    return u


def padded(np, u, turns):
    for _ in range(turns):
        u = np.pad(0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]) / 3, 1)
    return u


def reacting(np, u, turns):
    v = u[::-1]
    for _ in range(turns):
        both = u * v * v
        u, v = u + 0.1 * around(np, u) - both, v + 0.05 * around(np, v) + both
    return u - v


def runge_kutta(np, u, turns):
    for _ in range(turns):
        k1 = around(np, u)
        k2 = around(np, u + 0.05 * k1)
        k3 = around(np, u + 0.05 * k2)
        k4 = around(np, u + 0.1 * k3)
        u = u + 0.01 * (k1 + 2 * k2 + 2 * k3 + k4)
    return u


def kernels(fun, *arguments) -> int:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels").count("] kernel")


@pytest.mark.parametrize("program", [smoothed, padded, reacting, runge_kutta])
@pytest.mark.parametrize("shape", [(5, 7), (64, 80), (130, 131)])
@pytest.mark.parametrize("turns", [1, 3])
def test_as_numpy(program, shape, turns):
    with jax.enable_x64(True):
        u = np.random.default_rng(turns).random(shape)
        found = jax.jit(lambda u: program(jnp, u, turns))(u)
        np.testing.assert_allclose(found, program(np, u, turns), 1e-12, 1e-12)
        looped = jax.jit(lambda u: jax.lax.fori_loop(0, 2, lambda _, u: program(jnp, u, turns), u))
        expected = program(np, program(np, u, turns), turns)
        np.testing.assert_allclose(looped(u), expected, 1e-11, 1e-11)


@pytest.mark.parametrize("turns", [1, 2, 5, 9])
def test_a_kernel_each(turns):
    u = np.ones((300, 300), np.float32)
    assert kernels(lambda u: smoothed(jnp, u, turns), u) == turns
    assert kernels(lambda u: padded(jnp, u, turns), u) == turns
    # also of few elements: by turns, two of 20 x 20 take .3 of the time of one kernel for both
    assert kernels(lambda u: smoothed(jnp, u, turns), u[:20, :20]) == turns


def test_gradients_of_stencils():
    u = np.random.default_rng(0).random((200, 200), np.float32)
    loss = lambda np, u: (smoothed(np, u, 3) ** 2).sum()
    found = jax.jit(jax.grad(lambda u: loss(jnp, u)))(u)
    expected = smoothed(np, 2 * smoothed(np, u.astype(np.float64), 3), 3)  # it is symmetric
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)
    assert kernels(jax.grad(lambda u: loss(jnp, u)), u) < 12


def test_what_is_read_once_or_cheap_is_not_stored():
    x = np.ones((500, 400), np.float32)
    gated = lambda x: (lambda y: y[:, :200] * jax.nn.sigmoid(y[:, 200:]))(jnp.tanh(x) * 2)
    every_second = lambda x: (lambda y: y[:, ::2] - y[:, 1::2])(jnp.exp(x) + jnp.sin(x))
    cheap = lambda x: (lambda y: y[:, 1:] - y[:, :-1])(x * 2 + 1)
    for program in (gated, every_second, cheap):
        assert kernels(program, x) == 1


def test_concatenations_within_concatenations():
    def corners(np, x):
        n = x.shape[0] // 2
        if n < 2:
            return np.exp(x)
        top = np.concatenate([corners(np, x[:n, :n]), 2 * x[:n, n:]], 1)
        return np.concatenate([top, x[n:] + 1], 0)

    x = np.random.default_rng(0).random((256, 256), np.float32)
    np.testing.assert_allclose(jax.jit(lambda x: corners(jnp, x))(x), corners(np, x), 1e-6)
    both = jax.jit(lambda x: (corners(jnp, x), corners(jnp, x).T * 2, corners(jnp, x).sum()))(x)
    expected = corners(np, x)
    for f, e in zip(both, (expected, expected.T * 2, expected.sum()), strict=True):
        np.testing.assert_allclose(f, e, 1e-5)
