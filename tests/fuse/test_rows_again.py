"""Stencils that do two rows at a time, where the second row reads what the first has read."""

import re

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.backend.host import host_target

WIDE = pytest.mark.skipif(not host_target().avx512, reason="needs 32 vector registers")


def integers(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).integers(-99, 99, shape).astype(dtype)


def five_fixed(np, x):
    inside = x[..., 1:-1, 1:-1] + x[..., :-2, 1:-1] + 2 * x[..., 2:, 1:-1]
    inside = 3 * x[..., 1:-1, :-2] + 4 * x[..., 1:-1, 2:] + inside
    return np.pad(inside, [(0, 0)] * (x.ndim - 2) + [(1, 1), (1, 1)])


def five_periodic(np, x):
    columns = np.roll(x, 1, -1) + 2 * np.roll(x, -1, -1)
    return x + columns + 3 * np.roll(x, 1, -2) + 4 * np.roll(x, -1, -2)


def nine(np, x):
    return sum((3 * a + b + 5) * np.roll(x, (a, b), (-2, -1)) for a in (-1, 0, 1)
               for b in (-1, 0, 1))  # fmt: skip


def farther(np, x):
    along = np.roll(x, 2, -1) + 3 * np.roll(x, -1, -1)
    return along + x - 2 * np.roll(x, 2, -2) + 5 * np.roll(x, -2, -2) + 7 * np.roll(x, 1, -2)


STENCILS = [five_fixed, five_periodic, nine, farther]


def text_of(fun, *arguments) -> str:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


def rows_again(fun, x) -> int:
    return text_of(lambda x: fun(jnp, x), x).count("again ")


# Rows that begin where vectors do and elsewhere; odd and even numbers of them, and few.
@pytest.mark.parametrize("shape", [(40, 1024), (63, 515), (100, 601), (64, 1000), (5, 9000),
                                   (4, 8200), (3, 15000), (2, 20000), (3, 40, 530)])  # fmt: skip
@pytest.mark.parametrize("fun", STENCILS)
def test_against_numpy(fun, shape):
    x = integers(*shape)
    np.testing.assert_array_equal(jax.jit(lambda x: fun(jnp, x))(x), fun(np, x))


@pytest.mark.parametrize("dtype", ["int32", "float64", "int64", "float16", "int8"])
@pytest.mark.parametrize("fun", STENCILS)
def test_dtypes(fun, dtype):
    with jax.enable_x64(True):
        x = (integers(61, 700) % 5).astype(dtype)
        got = jax.jit(lambda x: fun(jnp, x))(x)
        np.testing.assert_array_equal(got, fun(np, x).astype(got.dtype))


@pytest.mark.parametrize("fun", STENCILS)
def test_any_piece_of_rows(fun):
    """Threads get other rows to begin with; what is read of an array that begins anywhere."""
    x = integers(301, 1029)
    for start in range(3):
        part = x[start:, start:]
        np.testing.assert_array_equal(jax.jit(lambda x: fun(jnp, x))(part), fun(np, part))


@WIDE
def test_which_rows_are_joined():
    x = jnp.zeros((200, 1024))
    assert rows_again(five_fixed, x) == 2  # the midst, and what is above it
    assert rows_again(five_periodic, x) == 2
    assert rows_again(nine, x) >= 2
    assert "if e" in text_of(lambda x: five_periodic(jnp, x), x)  # rows choose what they read
    assert rows_again(five_fixed, jnp.zeros((200, 200))) == 0  # short rows
    assert rows_again(lambda np, x: np.roll(x, 1, 1) + x, x) == 0  # no row twice
    assert rows_again(five_fixed, jnp.zeros((4096, 4096))) == 0  # past the caches


@WIDE
def test_a_midst_that_is_not_read_joins_no_rows():
    """Of four points, what one row reads the row before has not loaded."""

    def four_fixed(x):
        inside = x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1]
        return x.at[1:-1, 1:-1].set(inside)

    x = jnp.zeros((200, 1024))
    assert "turn.head" not in jax.explain(four_fixed, x, rounds=1).as_text("llvm")
    five = jax.explain(lambda x: five_fixed(jnp, x), x, rounds=1).as_text("llvm")
    assert "turn.head" in five


@WIDE
def test_a_new_size_has_the_same_text():
    sizes = [(200, 1024), (301, 2000)]
    for fun in STENCILS:
        texts = [text_of(lambda x, fun=fun: fun(jnp, x), jnp.zeros(size)) for size in sizes]
        first, second = (re.sub(r"sizes \[.*", "", text) for text in texts)
        assert first == second


def test_loops_of_such_stencils():
    x = integers(80, 640)
    got = jax.jit(lambda x: jax.lax.fori_loop(0, 7, lambda _, x: five_periodic(jnp, x) % 91, x))(x)
    want = x
    for _ in range(7):
        want = five_periodic(np, want) % 91
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(64, 1024), (63, 700), (200, 1029)])
@pytest.mark.parametrize("mode", ["constant", "edge", "wrap"])
@pytest.mark.parametrize("step", [2, 3])
def test_rows_some_steps_apart(step, mode, shape):
    """Conditions on rows have factors of their own."""

    def stencil(np, x):
        p = np.pad(x, [(step, step), (1, 1)], mode=mode)
        above, below = p[: -2 * step : 2 * step], p[2 * step :: 2 * step]
        above = above[: len(below)]
        rows = [row[:, k : k + x.shape[1]] for row in (above, below) for k in range(3)]
        return sum((k + 1) * row for k, row in enumerate(rows))

    x = integers(*shape)
    np.testing.assert_array_equal(jax.jit(lambda x: stencil(jnp, x))(x), stencil(np, x))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_rows_in_reverse(dtype):
    def stencil(np, x):
        return five_periodic(np, x[::-1]) + five_periodic(np, x)[::-1]

    x = integers(101, 777).astype(dtype)
    np.testing.assert_array_equal(jax.jit(lambda x: stencil(jnp, x))(x), stencil(np, x))


def test_every_second_row_behind_an_offset():
    """The rows behind the array are zeros. Where they begin depends on the rows' factor: none are
    joined, or (were that taken for one) rows that lie behind the array would be."""

    def stencil(np, x):
        p = np.pad(x, [(0, 40), (1, 1)])
        above, below = p[200::2][:67], p[202::2][:67]
        rows = [row[:, k : k + x.shape[1]] for row in (above, below) for k in range(3)]
        return sum((k + 1) * row for k, row in enumerate(rows))

    x = integers(310, 1024)
    assert rows_again(stencil, x) == 0
    np.testing.assert_array_equal(jax.jit(lambda x: stencil(jnp, x))(x), stencil(np, x))
