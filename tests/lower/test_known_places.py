"""Gathers and scatters at places that follow from `arange` mean slices, and nothing else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jitney as jax
import jitney.numpy as jnp
from jitney.lower.known_places import MOST_RUNS, runs_of

N = 12
PLACES = {
    "ring": lambda i: (i + 1) % N,
    "ring back": lambda i: (i - 1) % N,
    "ring twice": lambda i: (i + 5) % N,
    "clipped": lambda i: jnp.clip(i + 2, 0, N - 1),
    "clipped low": lambda i: jnp.maximum(i - 3, 0),
    "mirrored": lambda i: jnp.abs(i - 4),
    "back": lambda i: N - 1 - i,
    "every second": lambda i: (i * 2) % N,
    "halves": lambda i: i // 2,
    "tiled": lambda i: i % 4,
    "tiled ring": lambda i: (i + 1) % 3,
    "negative": lambda i: i - N,
    "cut": lambda i: jnp.where(i < 5, i, i - 3),
    "constant": lambda i: i * 0 + 7,
    "scattered": lambda i: (i * 5) % N,
    "squares": lambda i: (i * i) % N,
}
DTYPES = ["float32", "float16", "int8", "uint32", "bool", "complex64"]


def values(shape, dtype="float32"):
    found = np.random.default_rng(len(shape)).integers(-40, 40, shape)
    return (found > 0) if dtype == "bool" else found.astype(dtype)


def indices(name):
    return np.asarray(PLACES[name](np.arange(N)))


def graph_of(fun, *arguments):
    return jax.explain(fun, *arguments, rounds=1).as_text("graph")


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_gathers_are_what_numpy_says(name, dtype):
    x, i = values((N, N, N), dtype), indices(name)
    place = lambda: PLACES[name](jnp.arange(N))
    for axis in range(3):
        found = jax.jit(lambda x, axis=axis: jnp.take(x, place(), axis))(x)
        np.testing.assert_array_equal(found, np.take(x, i, axis))


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("other", ["ring", "clipped", "halves", "squares"])
def test_gathers_along_two_axes(name, other):
    x, i, j = values((N, 3, N)), indices(name), indices(other)
    p, q = (lambda: PLACES[name](jnp.arange(N))), (lambda: PLACES[other](jnp.arange(N)))
    for wanted, found in (
        (x[i[:, None], :, j], lambda x: x[p()[:, None], :, q()]),
        (x[i, :, j[:, None]], lambda x: x[p(), :, q()[:, None]]),
        (x[i, 1:, j], lambda x: x[p(), 1:, q()]),
        (x[i[:, None], 1, j[None, :5]], lambda x: x[p()[:, None], 1, q()[None, :5]]),
        (x[np.ix_(i, [0, 2], j)], lambda x: x[jnp.ix_(p(), jnp.array([0, 2]), q())]),
        (x[7, :, j], lambda x: x[jnp.arange(8)[-1], :, q()]),
        (x[i[:, None] * np.ones((1, 4), int)], lambda x: x[p()[:, None] * jnp.ones((1, 4), int)]),
    ):
        np.testing.assert_array_equal(jax.jit(found)(x), wanted)


KINDS = ["set", "add", "multiply", "min", "max"]
DEFINED = [(kind, dtype) for kind in KINDS for dtype in ("float32", "int16")] + [
    ("set", "complex64"), ("add", "complex64"), ("set", "bool"),
]  # fmt: skip


def update(kind, x, i, u):
    """What `x.at[i].kind(u)` means, in place."""
    if kind == "set":
        x[i] = u
    else:
        getattr(np, {"min": "minimum", "max": "maximum"}.get(kind, kind)).at(x, i, u)


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize(("kind", "dtype"), DEFINED)
def test_updates_are_what_numpy_says(name, kind, dtype):
    i = indices(name)
    for axis, shape in ((0, (N, 3)), (1, (3, N)), (1, (2, N, 3))):
        x, u = values(shape, dtype), values(shape, dtype)[::-1].copy()
        lead = (slice(None),) * axis
        wanted, nothing = x.copy(), np.zeros(shape, dtype)
        for base in (wanted, nothing):
            update(kind, base, (*lead, i), u)
        put = lambda x, u, lead=lead: getattr(x.at[(*lead, PLACES[name](jnp.arange(N)))], kind)(u)
        np.testing.assert_array_equal(jax.jit(put)(x, u), wanted)
        zeros = lambda u, put=put, shape=shape: put(jnp.zeros(shape, dtype), u)
        np.testing.assert_array_equal(jax.jit(zeros)(u), nothing)


@pytest.mark.parametrize("mode", ["fill", "drop", "clip"])
@pytest.mark.parametrize("low", [-20, -5, 0, 3, 8, 30])
def test_places_outside(mode, low):
    x, u = values((N, 3)), values((2 * N, 3))
    i = low + np.arange(2 * N)
    i = np.where(i < 0, i + N, i)
    inside = (i >= 0) & (i < N)
    kept = np.clip(i, 0, N - 1)
    at = lambda x: x.at[low + jnp.arange(2 * N)]
    found = jax.jit(lambda x: at(x).get(mode=mode))(x)
    filled = x[kept] if mode == "clip" else np.where(inside[:, None], x[kept], np.nan)
    np.testing.assert_array_equal(found, filled)
    where = slice(None) if mode == "clip" else inside
    update("add", x, kept[where], u[where])
    found = jax.jit(lambda x, u: at(x).add(u, mode=mode))(values((N, 3)), u)
    np.testing.assert_array_equal(found, x)


def test_gradients_and_batches():
    def fun(x):
        i = jnp.arange(N)
        return x[jnp.clip(i + 1, 0, N - 1)] * x[:, (i - 1) % N] + x[i // 2]

    x, t = values((N, N)), values((N, N))
    _, pullback = jax.vjp(jax.jit(fun), x)
    with jax.disable_jit():
        _, other = jax.vjp(fun, x)
        np.testing.assert_array_equal(jax.jit(lambda t: pullback(t)[0])(t), other(t)[0])
    cube = values((4, N, N))
    np.testing.assert_array_equal(jax.jit(jax.vmap(fun))(cube), np.stack([fun(x) for x in cube]))
    np.testing.assert_array_equal(jax.jit(jax.grad(lambda x: fun(x).sum()))(x),
                                  jax.grad(lambda x: fun(x).sum())(x))  # fmt: skip


@given(st.lists(st.integers(0, 6), min_size=1, max_size=14))
@settings(max_examples=300, deadline=None)
def test_runs_say_the_same(numbers):
    runs = runs_of(np.array(numbers))
    if runs is None:
        return
    assert len(runs) <= MOST_RUNS
    found = [run.first + k * run.step for run in runs for k in range(run.count)]
    assert found == numbers
    assert [run.entry for run in runs] == list(np.cumsum([0] + [r.count for r in runs[:-1]]))


@pytest.mark.parametrize("name", sorted(set(PLACES) - {"scattered", "squares"}))
def test_nothing_is_looked_up(name):
    x = values((N, N))
    place = lambda: PLACES[name](jnp.arange(N))
    text = graph_of(lambda x: x[:, place()], x)
    assert "gather" not in text and "mod" not in text
    if name not in ("halves", "tiled", "tiled ring", "every second"):
        assert "scatter" not in graph_of(lambda x: x.at[place()].add(x), x)


def test_few_elements_of_many_are_put_in():
    x, u = values((1000, 8)), values((10, 8))
    text = graph_of(lambda x, u: x.at[(jnp.arange(10) - 3) % 1000].set(u), x, u)
    assert "scatter" not in text and text.count("dynamic_update_slice") == 2


def test_windows_are_loads():
    """Places that are affine in two axes of the index need no arithmetic."""
    x = values((5000,))
    frames = lambda x: x[jnp.arange(0, 4000, 100)[:, None] + jnp.arange(300)]
    np.testing.assert_array_equal(jax.jit(frames)(x), frames(jnp.asarray(x)))
    text = jax.explain(frames, x, rounds=1).as_text("kernels")
    assert "select" not in text.split("\n", 2)[2] and "max" not in text
