"""Loops whose state has the lanes of vector registers along its last axis."""

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


def counted(s):
    return lax.fori_loop(0, 9, lambda i, s: s * 0.9 + i, s)


def two_states(s):
    def step(i, state):
        x, v = state
        v = v - 0.1 * x / jnp.sqrt((x * x).sum(0))
        return x + 0.1 * v, v

    return lax.fori_loop(0, 6, step, (s, s[::-1]))


def with_a_line(s):
    step = lambda c, _: ((c[0] * 0.5 + c[1], c[1] + 1), c[1])
    return lax.scan(step, (s, s[0]), None, length=5)


def small_matrix(s):
    a = jnp.array([[0.5, 0.2, 0.0], [0.1, 0.3, 0.1], [0.0, 0.2, 0.4]])
    return lax.scan(lambda s, _: (a @ s, a @ s + 1), s, None, length=4)


def gradient(s):
    return jitney.grad(lambda s: last(s).sum())(s)


PROGRAMS = [last, path, counted, two_states, with_a_line, small_matrix, gradient]


@pytest.mark.parametrize("count", [1, 5, 8, 16, 33, 70, 600])
@pytest.mark.parametrize("program", PROGRAMS)
def test_same_as_each_column_alone(program, count):
    s = RNG.normal(size=(3, count)).astype(np.float32)
    found = jitney.tree.leaves(jitney.jit(program)(s))
    for i in sorted({0, count // 2, count - 1}):
        for f, w in zip(found, jitney.tree.leaves(program(s[:, i])), strict=True):
            np.testing.assert_allclose(np.asarray(f)[..., i], w, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("program", [last, path, counted, two_states, with_a_line])
def test_is_one_kernel(program):
    s = RNG.normal(size=(3, 600)).astype(np.float32)
    text = jitney.jit(program).lower(s).compile().as_text()
    assert text.count("] kernel") <= 3 and "] loop" not in text, text


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
