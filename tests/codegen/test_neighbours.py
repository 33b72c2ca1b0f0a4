"""Stencils whose neighbours along the vector loop are made in registers, at every distance."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

SHAPES = [(9, 131), (20, 200), (5, 1024), (33, 65)]


def text_of(f, *arguments):
    return jax.explain(f, *arguments, rounds=1).as_text("kernels")


def window(x, i, j, border):
    rows, columns = x.shape
    return x[border + i : rows - border + i, border + j : columns - border + j]


def star(x, border, reach):
    total = 2 * window(x, 0, 0, border)
    for d in reach:
        total = total + (window(x, 0, d, border) - 3 * window(x, 0, -d, border))
        total = total + window(x, d, 0, border)
    return total


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "int8", "float16"])
def test_every_type(dtype, shape):
    with jax.enable_x64(True):
        x = np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)
        got = jax.jit(lambda x: star(x, 1, (1,)))(x)
        np.testing.assert_array_equal(got, star(x, 1, (1,)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reach", [(1,), (2,), (1, 2), (3,), (4,), (1, 2, 3, 4)])
def test_every_distance(reach, shape):
    x = np.random.default_rng(1).integers(-99, 99, shape).astype(np.float32)
    border = max(reach)
    if min(shape) <= 2 * border:
        pytest.skip("nothing inside")
    got = jax.jit(lambda x: star(x, border, reach))(x)
    np.testing.assert_array_equal(got, star(x, border, reach))


@pytest.mark.parametrize("shift", [(-1, 1), (-2, -1), (1, 2), (0, 3), (-4, 4), (-1, 0)])
def test_neighbours_without_a_midst(shift):
    x = np.random.default_rng(2).integers(-99, 99, (12, 300)).astype(np.float32)
    f = lambda x: window(x, 0, shift[0], 4) * window(x, 0, shift[1], 4)
    np.testing.assert_array_equal(jax.jit(f)(x), f(x))


@pytest.mark.parametrize("columns", [35, 130, 1024, 1030])
@pytest.mark.parametrize("reach", [1, 2, 3])
def test_neighbours_of_points_that_are_not_read(columns, reach):
    """Vectors between those that are read are read instead, if both sides are."""
    x = np.random.default_rng(4).integers(-99, 99, (40, columns)).astype(np.float32)

    def inner(x, sides):
        return sum(window(x, *((0, d) if a else (d, 0)), reach) for a in (0, 1) for d in sides)

    for sides in ((-reach, reach), (reach,), (-reach,)):
        put = lambda x, sides: x.at[reach:-reach, reach:-reach].set(inner(x, sides))
        got = jax.jit(put, static_argnums=1)(x, sides)
        want = x.copy()
        want[reach:-reach, reach:-reach] = inner(x, sides)
        np.testing.assert_array_equal(got, want)
    rolled = jax.jit(lambda x: jnp.roll(x, reach, 1) + jnp.roll(x, -reach, 1))(x)
    np.testing.assert_array_equal(rolled, np.roll(x, reach, 1) + np.roll(x, -reach, 1))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_two_buffers_and_rolled_axes(axis):
    rng = np.random.default_rng(3)
    u, v = [rng.integers(-99, 99, (8, 10, 130)).astype(np.float32) for _ in range(2)]

    def f(np, u, v):
        near = np.roll(u, 1, axis) + np.roll(u, -1, axis) + np.roll(v, 2, 2) - np.roll(v, -1, 2)
        return near * u + v

    np.testing.assert_array_equal(jax.jit(lambda u, v: f(jnp, u, v))(u, v), f(np, u, v))


def test_a_row_begins_anywhere_in_memory():
    memory = np.arange(40 * 200 + 1, dtype=np.float32)
    for start in range(0, 20, 3):
        x = memory[start : start + 39 * 200].reshape(39, 200)
        got = jax.jit(lambda x: star(x, 1, (1,)))(x)
        np.testing.assert_array_equal(got, star(x, 1, (1,)))


def test_loops_in_place():
    def step(x):
        inner = star(x, 2, (1, 2)) * 0.0625
        return x.at[2:-2, 2:-2].set(inner)

    x = np.random.default_rng(4).integers(-9, 9, (40, 136)).astype(np.float32)
    got = jax.jit(lambda x: jax.lax.fori_loop(0, 6, lambda i, x: step(x), x))(x)
    expected = x.copy()
    for _ in range(6):
        expected[2:-2, 2:-2] = star(expected, 2, (1, 2)) * np.float32(0.0625)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-3)


def test_distances_are_part_of_the_text():
    x = jnp.zeros((40, 200))
    text = text_of(lambda x: star(x, 1, (1,)), x)
    assert "-1]" in text and "+1]" in text
    other = text_of(lambda x: star(x, 1, (1,)), jnp.zeros((50, 300)))
    assert text.partition("sizes")[0] == other.partition("sizes")[0]


def test_shifted_vectors_are_made_in_registers():
    assembly = jax.explain(lambda x: star(x, 1, (1,)), jnp.zeros((40, 200)), rounds=1)
    text = assembly.as_text("llvm")
    found = text.count("<i32 1, i32 2, i32 3,") + text.count("<i32 15, i32 16, i32 17,")
    if "<16 x float>" not in assembly.as_text("llvm"):
        pytest.skip("vectors of 64 bytes only")
    assert found >= 6
