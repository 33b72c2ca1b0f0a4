"""Axes that are shifted, rolled and padded are merged with the short ones after them."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import pipeline
from jitney.backend.host import host_target


def text_of(fun, *arguments) -> str:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


def integers(shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).integers(-99, 99, shape).astype(dtype)


def programs(axis):
    """Functions of NumPy or jitney and an array with at least three places along the axis."""

    def cut(x, start, stop):
        return x[(slice(None),) * axis + (slice(start, stop),)]

    def padded(np, x, low, high):
        return np.pad(x, [(low, high) if k == axis else (0, 0) for k in range(x.ndim)])

    def where(np, x):
        places = np.arange(x.shape[axis]).reshape([-1] + [1] * (x.ndim - axis - 1))
        return np.where((places < 2) | (places == x.shape[axis] - 1), 0 * x, x)

    return [
        lambda np, x: np.roll(x, 1, axis) + x,
        lambda np, x: np.roll(x, -2, axis) - np.roll(x, 1, axis) * 2,
        lambda np, x: padded(np, x, 2, 1)[::-1],
        lambda np, x: cut(padded(np, x, 1, 0), 0, -1) + x,
        lambda np, x: padded(np, cut(x, 2, None), 1, 1) * x,
        lambda np, x: cut(x, 1, None) - cut(x, None, -1),
        lambda np, x: np.diff(x, axis=axis, prepend=0),
        lambda np, x: np.concatenate([cut(x, 1, None), x, cut(x, 0, 2) * 3], axis),
        lambda np, x: np.stack([np.roll(x, 1, axis), x], axis),
        where,
    ]


SHAPES = [((300, 7, 3), 1), ((40, 60, 2), 1), ((33, 50, 5), 0), ((6, 20, 30, 4), 2),
          ((6, 20, 5, 3), 1), ((2, 9, 40, 100), 2), ((2, 9, 40, 140), 2), ((700, 3, 1), 1),
          ((5, 4, 3, 2, 11), 2), ((1, 900, 3), 1), ((3, 800), 0)]  # fmt: skip


@pytest.mark.parametrize("shape, axis", SHAPES)
@pytest.mark.parametrize("number", range(10))
def test_against_numpy(shape, axis, number):
    fun, x = programs(axis)[number], integers(shape)
    np.testing.assert_array_equal(jax.jit(lambda x: fun(jnp, x))(x), fun(np, x))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "float64", "complex64", "bool"])
def test_dtypes(dtype):
    with jax.enable_x64(True):
        x = integers((50, 40, 3)).astype(dtype)
        f = lambda np, x: np.where(np.roll(x, 1, 1) == x, x, np.roll(x, -1, 1))
        got = jax.jit(lambda x: f(jnp, x))(x)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, f(np, x))


def test_vectors_run_along_rows_of_pixels():
    x = jnp.ones((256, 300, 3))
    text = text_of(lambda x: jnp.roll(x, 1, 1) + jnp.roll(x, -1, 0) + x, x)
    assert "rows v0<s0 v1<s1 lane row" in text and text.count("load") == 4
    assert text.count("border") == 2 and "sided" in text


def test_what_is_no_condition_keeps_axes_apart():
    """Numbers of places are wanted, or a place is read that does not follow."""
    x = integers((90, 30, 3))
    for f in (lambda np, x: x * np.arange(30, dtype=np.float32)[:, None],
              lambda np, x: np.pad(x, ((0, 0), (1, 1), (0, 0)), mode="edge"),
              lambda np, x: np.roll(x, 1, 1)[..., ::-1],
              lambda np, x: np.roll(x, 1, 1) * np.float32([1, 2, 3])):  # fmt: skip
        np.testing.assert_array_equal(jax.jit(lambda x, f=f: f(jnp, x))(x), f(np, x))


def test_a_new_size_has_the_same_text(monkeypatch):
    """Where the third cache is near (else lines of large results are asked for)."""
    target = host_target()._replace(l2_bytes=1 << 20)
    monkeypatch.setattr(pipeline, "host_target", lambda: target)
    jax.clear_caches()
    f = lambda x: jnp.roll(x, 1, 1) + jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1]
    texts = {text_of(f, jnp.ones(s)).split("sizes")[0] for s in ((80, 300, 3), (157, 411, 3))}
    jax.clear_caches()
    assert len(texts) == 1


def test_loops_of_such_stencils():
    x = integers((40, 50, 3)) / 128
    step = lambda np, x: 0.25 * (np.roll(x, 1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1)) + 0.1 * x
    want = x
    for _ in range(5):
        want = step(np, want)
    got = jax.jit(lambda x: jax.lax.fori_loop(0, 5, lambda _, x: step(jnp, x), x))(x)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n", [20, 24, 31, 33, 48, 63])
def test_cubes_whose_rows_are_short(n):
    """Borders, strides and components along rows of few vectors, as in longer ones."""
    x = integers((n, n, 50 if n < 30 else n))
    f = lambda np, x: sum(np.roll(x, s, a) * (a + 2) for a in range(3) for s in (-1, 1)) - x
    np.testing.assert_array_equal(jax.jit(lambda x: f(jnp, x))(x), f(np, x))
    v = integers((n, n, n, 3))
    for g in (lambda np, v: v[..., ::-1] * v[:, :1], lambda np, v: np.transpose(v, (2, 1, 0, 3)),
              lambda np, v: np.stack([np.roll(v[..., 2], -1, 1), v[..., 0] - v[..., 1]], -1),
              lambda np, v: np.pad(v, [(0, 0), (1, 1), (1, 1), (0, 0)], mode="edge"),
              lambda np, v: v[:, ::-1, ::-1]):  # fmt: skip
        np.testing.assert_array_equal(jax.jit(lambda v, g=g: g(jnp, v))(v), g(np, v))
