"""Scans that their caller wants unrolled are written out, one step after the other."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax

RNG = np.random.default_rng(0)
X = RNG.standard_normal(40).astype("float32")
ROWS = RNG.standard_normal((5, 40)).astype("float32")


def scanned(unroll, reverse=False):
    def step(carry, row):
        carry = carry * 0.5 + row
        return carry, (jnp.sin(carry), row > 0)

    return lambda x, rows: lax.scan(step, x, rows, reverse=reverse, unroll=unroll)


PROGRAMS = {
    "forwards": lambda unroll: scanned(unroll),
    "backwards": lambda unroll: scanned(unroll, reverse=True),
    "complex": lambda unroll: lambda x, rows: scanned(unroll)(x + 1j, rows * 1j),
    "integers": lambda unroll: lambda x, rows: lax.scan(
        lambda c, i: (c + i, c), jnp.int32(0), jnp.arange(5), unroll=unroll),
    "no rows": lambda unroll: lambda x, rows: lax.scan(
        lambda c, _: (jnp.cos(c), None), x, None, length=4, unroll=unroll),
    "counted": lambda unroll: lambda x, rows: lax.fori_loop(
        0, 4, lambda i, c: c + i * rows[i], x, unroll=unroll),
    "one step": lambda unroll: lambda x, rows: scanned(unroll)(x, rows[:1]),
    "keys": lambda unroll: lambda x, rows: lax.scan(
        lambda k, _: tuple(jax.random.split(k)), jax.random.key(0), None, length=3,
        unroll=unroll)[1],
    "polynomial": lambda unroll: lambda x, rows: jnp.polyval(rows[:, 0], x, unroll=unroll),
}  # fmt: skip


def plain(x):
    return np.asarray(jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x)


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_the_loop(name):
    found = jax.jit(PROGRAMS[name](8))(X, ROWS)
    want = jax.jit(PROGRAMS[name](1))(X, ROWS)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(want), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(plain(a), plain(b), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["forwards", "backwards", "polynomial"])
def test_gradients(name):
    def total(unroll):
        fun = PROGRAMS[name](unroll)
        return lambda x, rows: sum(leaf.sum() for leaf in jax.tree.leaves(fun(x, rows)))

    found = jax.jit(jax.grad(total(8), (0, 1)))(X, ROWS)
    want = jax.jit(jax.grad(total(1), (0, 1)))(X, ROWS)
    for a, b in zip(found, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def is_loop(fun, *arguments):
    return "'loop'" in jax.explain(fun, *arguments, rounds=1).as_text("graph")


def test_what_is_written_out():
    step = lambda c, _: (jnp.cos(c), None)
    of = lambda length, unroll: lambda x: lax.scan(step, x, None, length=length, unroll=unroll)[0]
    assert not is_loop(of(10, 10), X) and not is_loop(of(10, True), X) and not is_loop(of(1, 1), X)
    assert is_loop(of(11, 10), X) and is_loop(of(1000, True), X)
    assert not is_loop(lambda c, x: jnp.polyval(c, x), ROWS[:, 0], X)


def test_many_steps_without_equations_stay_a_loop():
    copy = lambda x: lax.scan(lambda c, r: (r, c), x[0], x, unroll=True)
    x = np.arange(500, dtype="float32")
    assert is_loop(copy, x)
    last, before = jax.jit(copy)(x)
    assert last == x[-1]
    np.testing.assert_array_equal(before, [0, *x[:-1]])
