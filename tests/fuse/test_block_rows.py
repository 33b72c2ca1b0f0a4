"""Stencils of three axes: blocks of rows, and ends of rows that are whole vectors."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import pipeline
from jitney.backend.host import host_target

SHAPES = [(16, 64, 128), (9, 60, 100), (5, 126, 130), (40, 33, 48), (3, 16, 510), (2, 3, 24, 200)]


def numbers(shape, dtype="float32"):
    return np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(dtype)


def text_of(fun, *args):
    return jax.explain(fun, *args, rounds=1).as_text("kernels")


def periodic(np, u):
    axes = range(u.ndim - 3, u.ndim)
    return sum(np.roll(u, s, a) for a in axes for s in (-1, 1)) - 6 * u


def clamped(np, u):
    n, m, k = (np.arange(n) for n in u.shape[-3:])
    low, high = (lambda i: np.maximum(i - 1, 0)), (lambda i: np.minimum(i + 1, len(i) - 1))
    u = u.reshape(-1, *u.shape[-3:])
    return (u[:, low(n)] + u[:, high(n)] + u[:, :, low(m)] + u[:, :, high(m)]
            + u[..., low(k)] + u[..., high(k)] - 6 * u)  # fmt: skip


def padded(np, u):
    p = np.pad(u, [(0, 0)] * (u.ndim - 3) + [(1, 1)] * 3)
    c = slice(1, -1)
    return (p[..., 2:, c, c] + p[..., :-2, c, c] + p[..., c, 2:, c] + p[..., c, :-2, c]
            + p[..., c, c, 2:] + p[..., c, c, :-2] - 6 * u)  # fmt: skip


def inside(np, u):
    c = slice(1, -1)
    return (u[..., 2:, c, c] + u[..., :-2, c, c] + u[..., c, 2:, c] + u[..., c, :-2, c]
            + u[..., c, c, 2:] + u[..., c, c, :-2] - 6 * u[..., c, c, c])  # fmt: skip


def one_sided(np, u):
    c = np.roll(u, 1, -3) - u
    return np.roll(c, 1, -1) * 2 + c


def corners(np, u):
    steps = [(i, j, k) for i in (-2, 1) for j in (0, 2) for k in (-1, 3)]
    return sum(np.roll(u, step, (-3, -2, -1)) for step in steps)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fun", [periodic, clamped, padded, inside, one_sided, corners])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8", "float16"])
def test_stencils_are_what_numpy_says(fun, shape, dtype):
    if dtype == "float64":
        with jax.enable_x64(True):
            u = numbers(shape, dtype)
            np.testing.assert_array_equal(jax.jit(lambda u: fun(jnp, u))(u), fun(np, u))
    else:
        u = numbers(shape, dtype)
        np.testing.assert_array_equal(jax.jit(lambda u: fun(jnp, u))(u), fun(np, u))


def test_bordered():
    """Values at the border stay; in a loop, in turns between two arrays."""
    def step(np, put, u):
        c = (slice(1, -1),) * 3
        return put(u, c, u[c] + inside(np, u))

    def set_at(u, c, new):
        u = u.copy()
        u[c] = new
        return u

    u = wanted = numbers((12, 64, 128), "int32")
    for _ in range(3):
        wanted = step(np, set_at, wanted)
    body = lambda _, u: step(jnp, lambda u, c, new: u.at[c].set(new), u)
    found = jax.jit(lambda u: jax.lax.fori_loop(0, 3, body, u))(u)
    np.testing.assert_array_equal(found, wanted)


def test_what_is_updated_in_place():
    """Each end of a row is stored once, though its vector overlaps the middle's."""
    u, v = numbers((12, 64, 100), "int32"), numbers((12, 64, 100), "int32")[::-1].copy()
    fun = lambda np, u, v: u * 3 + periodic(np, v)
    wanted = u
    for _ in range(3):
        wanted = fun(np, wanted, v)
    body = lambda _, u: fun(jnp, u, v)
    found = jax.jit(lambda u: jax.lax.fori_loop(0, 3, body, u))(u)
    np.testing.assert_array_equal(found, wanted)
    donated = jax.jit(lambda u, v: fun(jnp, u, v), donate_argnums=0)
    np.testing.assert_array_equal(donated(jnp.asarray(u), v), fun(np, u, v))


def test_blocks_are_made_where_planes_are_large(monkeypatch):
    target = host_target()._replace(l2_bytes=1 << 20)  # behind it the third cache is near
    monkeypatch.setattr(pipeline, "host_target", lambda: target)
    jax.clear_caches()
    rows = lambda fun, shape: text_of(lambda u: fun(jnp, u), numbers(shape)).split("rows")[1]
    assert "v3<s3" in rows(periodic, (16, 256, 256)).split("\n")[0]
    assert "v3" not in rows(periodic, (64, 16, 48)).split("\n")[0]  # all of it is in a first cache
    assert "v3" not in rows(periodic, (16, 251, 256)).split("\n")[0]  # a prime
    alone = text_of(lambda u: u[::-1] + u * 2, numbers((64, 64, 128)))
    assert "v3" not in alone.split("rows")[1].split("\n")[0]
    jax.clear_caches()


def test_ends_are_whole_vectors():
    text = text_of(lambda u: periodic(jnp, u), numbers((64, 64, 128)))
    assert "ends whole" in text
    wide = text_of(lambda u: jnp.roll(u, 2, -1) - u + jnp.roll(u, 1, 0), numbers((64, 64, 128)))
    assert "ends whole" not in wide
