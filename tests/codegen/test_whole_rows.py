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
    for columns, are_whole in [(128, True), (112, True), (130, False), (120, False)]:
        text = text_of(lambda u: around(jnp, u, "roll"), numbers((64, 64, columns)))
        assert ("rows whole" in text) == are_whole


def test_each_vector_is_read_once():
    """Of seven points: a vector of the row itself and four of those around, in a turn and at each
    end; of what is around the ends one element each."""
    if not host_target().avx512:
        pytest.skip("vectors of another length")
    u = numbers((64, 64, 128))
    text = jax.explain(lambda u: around(jnp, u, "roll"), u, rounds=1).as_text("llvm")
    assert text.count("= load <16 x float>") == 3 * (4 + 1)
    assert text.count("= call <16 x float> @llvm.masked.load") == 2
    assert "@llvm.masked.store" not in text


def test_rows_that_are_all_border():
    """What is computed in a row with a middle is not taken for known in one that has none."""
    for shape in [(20, 20, 64), (70, 128), (12, 40, 112)]:
        u, inside = numbers(shape), (slice(1, -1),) * len(shape)
        want = u.copy()
        want[inside] += around(np, u, "roll")[inside]
        got = jax.jit(lambda u, at=inside: u.at[at].add(around(jnp, u, "roll")[at]))(u)
        np.testing.assert_array_equal(got, want)


def test_rows_beside_one_that_is_counted_on():
    """Rows above and below in another block of rows, the first and the last one above all."""
    for rows in (15, 16, 17, 31, 33):
        u = numbers((9, rows, 64))
        got = jax.jit(lambda u: around(jnp, u, "roll"))(u)
        np.testing.assert_array_equal(got, around(np, u, "roll"))
