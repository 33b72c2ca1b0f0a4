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


@pytest.fixture
def near_third_cache(monkeypatch):
    target = host_target()._replace(l1_bytes=48 << 10, l2_bytes=1 << 20, far_bytes=32 << 20)
    monkeypatch.setattr(pipeline, "host_target", lambda: target)
    jax.clear_caches()
    yield
    jax.clear_caches()


def loops(fun, shape) -> list[int]:
    """How often each loop over rows is gone through."""
    text = text_of(lambda u: fun(jnp, u), numbers(shape))
    sizes = [int(n) for n in text.split("sizes [")[1].split("]")[0].split(", ")]
    line = text.split("rows")[1].split("\n")[0]
    return [sizes[int(word.split("<s")[1])] for word in line.split() if "<s" in word]


def test_blocks_are_made_where_planes_are_large(near_third_cache):
    assert loops(periodic, (16, 256, 256)) == [32, 16, 8, 256]
    assert loops(periodic, (128, 128, 128)) == [2, 8, 64, 16, 128]  # threads have their own planes
    assert loops(periodic, (64, 16, 48)) == [64, 16, 48]  # all of it is in a first cache
    assert loops(periodic, (16, 251, 256)) == [16, 251, 256]  # a prime
    assert loops(lambda np, u: u[::-1] + u * 2, (64, 64, 128)) == [64, 64 * 128]


def second_differences(np, u):
    return u[2:] - 2 * u[1:-1] + u[:-2]


def rolled(np, u):
    return np.roll(u, 1, 0) + np.roll(u, -2, 0) - 2 * u


def fifth(np, u):
    return 3 * u[4:] + 16 * u[3:-1] - 30 * u[2:-2] + 16 * u[1:-3] - u[:-4]


ACROSS = [second_differences, rolled, fifth, lambda np, u: np.diff(u, axis=0)]


def test_runs_are_cut_across_planes(near_third_cache):
    assert loops(second_differences, (66, 128, 256)) == [2, 16, 32, 2048]
    assert loops(rolled, (64, 128, 256)) == [2, 32, 32, 1024]
    assert loops(fifth, (41, 300, 200)) == [50, 37, 1200]  # a prime number of planes
    assert loops(rolled, (64, 251, 257)) == [64, 251 * 257]  # no parts
    assert loops(rolled, (64, 64, 64)) == [64, 64 * 64]  # all of it is in second caches
    assert loops(rolled, (40, 512, 512)) == [40, 512 * 512]  # it comes from memory
    assert loops(second_differences, (402, 10, 500)) == [400 * 5000]  # planes are small
    numbered = lambda np, u: rolled(np, u.reshape(64, -1)) * np.arange(128 * 256)
    assert loops(numbered, (64, 128, 256)) == [64, 128 * 256]


@pytest.mark.parametrize("shape", [(66, 128, 256), (41, 300, 200), (30, 251, 257), (19, 32, 4096)])
@pytest.mark.parametrize("fun", ACROSS)
@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_across_planes_is_what_numpy_says(near_third_cache, fun, shape, dtype):
    u = numbers(shape, dtype)
    np.testing.assert_array_equal(jax.jit(lambda u: fun(jnp, u))(u), fun(np, u))


def test_across_planes_in_place(near_third_cache):
    u = numbers((64, 128, 256), "int32")
    fun = lambda np, u, v: u * 3 + rolled(np, v)
    donated = jax.jit(lambda u, v: fun(jnp, u, v), donate_argnums=0)
    np.testing.assert_array_equal(donated(jnp.asarray(u), u), fun(np, u, u))
    step = lambda _, u: u.at[1:-1].set(second_differences(jnp, u))
    wanted = u.copy()
    for _ in range(3):
        wanted[1:-1] = second_differences(np, wanted)
    found = jax.jit(lambda u: jax.lax.fori_loop(0, 3, step, u))(u)
    np.testing.assert_array_equal(found, wanted)


def test_ends_are_whole_vectors():
    text = text_of(lambda u: periodic(jnp, u), numbers((64, 64, 128)))
    assert "ends whole" in text
    wide = text_of(lambda u: jnp.roll(u, 2, -1) - u + jnp.roll(u, 1, 0), numbers((64, 64, 128)))
    assert "ends whole" not in wide
