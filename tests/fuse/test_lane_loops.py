"""Loops that run side by side in the lanes of vector registers."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax

RNG = np.random.default_rng(3)


def lorenz(s):
    x, y, z = s
    return s + 0.01 * jnp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8 / 3 * z])


def last(s):
    return lax.scan(lambda s, _: (lorenz(s), None), s, None, length=20)[0]


def path(s):
    return lax.scan(lambda s, _: (lorenz(s), (s, s[0] * 2)), s, None, length=7)


def backwards(s):
    xs = jnp.arange(5.0)
    return lax.scan(lambda s, x: (s * 0.5 + x, s.sum()), s, xs, reverse=True)


def counted(s):
    return lax.fori_loop(0, 9, lambda i, s: s * 0.9 + i, s)


def mixed(s):
    def step(carry, _):
        a, flag, n = carry
        return (jnp.where(flag, a + 1, a * 0.5), ~flag, n + 3), a.astype(jnp.int32)

    return lax.scan(step, (s, s[0] > 0, jnp.int32(2)), None, length=6)


def small_matrix(s):
    a = jnp.array([[0.5, 0.2, 0.0], [0.1, 0.3, 0.1], [0.0, 0.2, 0.4]])
    return lax.scan(lambda s, _: (a @ s, a @ s + 1), s, None, length=4)


def stacked_in_place(s):
    def body(i, state):
        rows, s = state
        return rows.at[i + 1].set(s), s * 1.1

    return lax.fori_loop(0, 4, body, (jnp.zeros((6, 3)), s))


def gradient(s):
    return jitney.grad(lambda s: last(s).sum())(s)


PROGRAMS = [last, path, backwards, counted, mixed, small_matrix, stacked_in_place, gradient]


@pytest.mark.parametrize("count", [1, 5, 8, 16, 33, 70, 600])
@pytest.mark.parametrize("program", PROGRAMS)
def test_same_as_one_after_the_other(program, count):
    s = RNG.normal(size=(count, 3)).astype(np.float32)
    found = jitney.tree.leaves(jitney.jit(jitney.vmap(program))(s))
    some = sorted({0, count // 2, count - 1})
    for i in some:
        for f, w in zip(found, jitney.tree.leaves(program(s[i])), strict=True):
            assert f.dtype == w.dtype
            np.testing.assert_allclose(f[i], w, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("program", [last, path, backwards, counted, mixed, small_matrix])
def test_they_are_one_kernel(program):
    s = RNG.normal(size=(64, 3)).astype(np.float32)
    traced = jitney.jit(jitney.vmap(program)).lower(s).compile()
    assert traced.as_text().count("carry 0") >= 1 and "while" not in traced.as_text()


def test_double_precision():
    with jitney.enable_x64(True):
        s = RNG.normal(size=(20, 3))
        found = jitney.jit(jitney.vmap(last))(s)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found[7], last(s[7]), rtol=1e-13)


def test_neighbours_that_need_one_another_stay_outside():
    """A stencil has a first axis, too, but its places depend on one another."""
    x = RNG.normal(size=32).astype(np.float32)

    def smooth(x):
        return lax.scan(lambda x, _: ((x + jnp.roll(x, 1)) / 2, x.max()), x, None, length=5)

    found, tops = jitney.jit(smooth)(x)
    want = x
    for i in range(5):
        assert np.isclose(tops[i], want.max())
        want = (want + np.roll(want, 1)) / 2
    np.testing.assert_allclose(found, want, rtol=1e-5)


def test_threads_give_the_same_bits():
    s = RNG.normal(size=(10_000, 3)).astype(np.float32)
    f = jitney.jit(jitney.vmap(last))
    many = np.asarray(f(s))
    before = jitney._native.num_threads()
    jitney._native.set_num_threads(1)
    try:
        assert np.array_equal(many, np.asarray(f(s)))
    finally:
        jitney._native.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "uint32", "complex64"])
def test_other_types(dtype):
    s = jnp.asarray(RNG.integers(0, 5, (40, 2))).astype(dtype)

    def program(s):
        return lax.scan(lambda s, x: (s * x + 1, s), s, jnp.arange(3).astype(dtype))

    found = jitney.tree.leaves(jitney.jit(jitney.vmap(program))(s))
    for f, w in zip(found, jitney.tree.leaves(program(s[11])), strict=True):
        assert f.dtype == w.dtype and np.array_equal(f[11], w)


# ---------------------------------------------------------------------- lanes along the last axis
def two_states(s):
    def step(i, state):
        x, v = state
        v = v - 0.1 * x / jnp.sqrt((x * x).sum(0))
        return x + 0.1 * v, v

    return lax.fori_loop(0, 6, step, (s, s[::-1]))


def with_a_line(s):
    step = lambda c, _: ((c[0] * 0.5 + c[1], c[1] + 1), c[1])
    return lax.scan(step, (s, s[0]), None, length=5)


def rows_turned(s):
    return lax.scan(lambda s, _: (s[::-1] * 0.5 + 1, s * 2), s, None, length=5)


COLUMNS = [last, path, counted, two_states, with_a_line, small_matrix, gradient, rows_turned]


@pytest.mark.parametrize("count", [1, 5, 8, 16, 33, 70, 600])
@pytest.mark.parametrize("program", COLUMNS)
def test_same_as_each_column_alone(program, count):
    s = RNG.normal(size=(3, count)).astype(np.float32)
    found = jitney.tree.leaves(jitney.jit(program)(s))
    for i in sorted({0, count // 2, count - 1}):
        for f, w in zip(found, jitney.tree.leaves(program(s[:, i])), strict=True):
            np.testing.assert_allclose(np.asarray(f)[..., i], w, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("program", [last, path, counted, two_states, with_a_line])
def test_columns_are_one_kernel(program):
    s = RNG.normal(size=(3, 600)).astype(np.float32)
    text = jitney.jit(program).lower(s).compile().as_text()
    assert text.count("carry b") and text.count("] kernel") <= 3, text  # beside a counter's two


def test_lanes_of_a_square_state_are_found():
    s = RNG.normal(size=(8, 8)).astype(np.float32)
    assert "carry b" in jitney.jit(rows_turned).lower(s).compile().as_text()
    found = jitney.jit(rows_turned)(s)
    for f, w in zip(found, rows_turned(s[:, 5]), strict=True):
        np.testing.assert_allclose(np.asarray(f)[..., 5], w, rtol=1e-6)


@pytest.mark.parametrize("program", [
    lambda s: lax.fori_loop(0, 5, lambda i, s: jnp.roll(s, 1, 1) + s, s),
    lambda s: lax.fori_loop(0, 5, lambda i, s: s + s.sum(1, keepdims=True), s),
    lambda s: lax.fori_loop(0, 5, lambda i, s: jnp.sort(s, 1), s),
    lambda s: lax.fori_loop(0, 5, lambda i, s: s[:, ::-1] + s, s),
    lambda s: lax.fori_loop(0, 5, lambda i, s: s.at[0, 3].add(1.0), s),
    lambda s: lax.scan(lambda s, _: (s + 1, s[0, 0]), s, None, length=5),
], ids=["rolled", "summed", "sorted", "reversed", "one element", "one number"])  # fmt: skip
def test_columns_that_need_each_other(program):
    s = RNG.normal(size=(3, 40)).astype(np.float32)
    found = jitney.tree.leaves(jitney.jit(program)(s))
    with jitney.disable_jit():
        want = jitney.tree.leaves(program(jnp.asarray(s)))
    for f, w in zip(found, want, strict=True):
        np.testing.assert_allclose(f, w, rtol=1e-5, atol=1e-6)
