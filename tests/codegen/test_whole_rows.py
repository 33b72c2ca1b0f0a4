"""Stencils whose rows are whole vectors: each read once, its neighbours made of those beside it."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.backend.host import host_target

SHAPES = [(300, 32), (300, 48), (80, 128), (20, 24, 64), (12, 30, 112), (9, 40, 256)]
WAYS = ["roll", "constant", "edge", "reflect"]


def numbers(shape, dtype="float32"):
    return np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(dtype)


def text_of(fun, *arguments):
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


def shifted(np, u, distance, axis, way):
    """`u[i - distance]` along an axis, and what a border makes of it."""
    if way == "roll":
        return np.roll(u, distance, axis)
    widths = [(0, 0)] * u.ndim
    widths[axis] = (abs(distance), abs(distance))
    wide = np.pad(u, widths, mode=way)
    place = [slice(None)] * u.ndim
    place[axis] = slice(abs(distance) - distance, abs(distance) - distance + u.shape[axis])
    return wide[tuple(place)]


def around(np, u, way, distances=(-1, 1)):
    axes = range(u.ndim)
    return sum(shifted(np, u, d, a, way) * (a + 2) for a in axes for d in distances) - 6 * u


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["float32", "int32", "float64", "int64", "float16", "int8"])
def test_every_type(dtype, way, shape):
    with jax.enable_x64(True):
        u = numbers(shape, dtype)
        got = jax.jit(lambda u: around(jnp, u, way))(u)
        np.testing.assert_array_equal(got, around(np, u, way))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("distances", [(1,), (-1,), (2,), (-2, 1), (-1, 0, 2)])
def test_one_side_and_farther(distances, way):
    u = numbers((40, 24, 96))
    got = jax.jit(lambda u: around(jnp, u, way, distances))(u)
    np.testing.assert_array_equal(got, around(np, u, way, distances))


@pytest.mark.parametrize("seed", range(12))
def test_random_sums_of_neighbours(seed):
    """Several ways at each end at once, of one array and of two."""
    rng = np.random.default_rng(seed)
    shape = (*rng.integers(20, 50, rng.integers(1, 3)), 16 * rng.integers(2, 12))
    u, v = numbers(shape), numbers(shape)[::-1].copy()
    terms = [
        (rng.integers(2), rng.choice([-2, -1, 1, 2]), rng.integers(len(shape)), rng.choice(WAYS))
        for _ in range(rng.integers(2, 9))
    ]

    def fun(np, u, v):
        return sum(
            (i + 1) * shifted(np, (u, v)[which], int(d), int(a), str(way))
            for i, (which, d, a, way) in enumerate(terms)
        ) - (u * v if seed % 2 else 0)

    got = jax.jit(lambda u, v: fun(jnp, u, v))(u, v)
    np.testing.assert_array_equal(got, fun(np, u, v))


def test_results_past_the_caches():
    """Their ends are stored as whole lines, too; rows of other lengths have ends within lines."""
    for shape in [(130, 512, 256), (270, 520, 130)]:
        u = numbers(shape, "int32")
        got = jax.jit(lambda u: around(jnp, u, "roll"))(u)
        np.testing.assert_array_equal(got, around(np, u, "roll"))


def test_values_where_nothing_is():
    """NaN and infinities beside the ends of rows stay where they are."""
    u = numbers((70, 64))
    u[::3, 0], u[::3, -1], u[5] = np.nan, np.inf, -np.inf
    for way in WAYS:
        got = jax.jit(lambda u, way=way: around(jnp, u, way))(u)
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(got, around(np, u, way))


def test_which_rows_are_whole():
    if not host_target().avx512:
        pytest.skip("vectors of another length")
    for columns, turns in [(128, 2), (112, 1), (130, 0), (120, 0)]:
        text = text_of(lambda u: around(jnp, u, "roll"), numbers((64, 64, columns)))
        assert ("rows whole" in text) == (turns > 0)
        assert turns == 0 or f"rows whole {turns}" in text


def test_rows_beside_one_that_is_counted_on():
    """Rows above and below in another block of rows, the first and the last one above all."""
    for rows in (15, 16, 17, 31, 33):
        u = numbers((9, rows, 64))
        got = jax.jit(lambda u: around(jnp, u, "roll"))(u)
        np.testing.assert_array_equal(got, around(np, u, "roll"))
