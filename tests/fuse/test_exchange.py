"""Loops whose state changes places, or goes from one buffer to another, while steps count turns."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax
from jitney.backend.host import host_target
from jitney.testing.stages import check_all_stages

COUNTS = (1, 3, 4, 5, 8, 21)


def copies(fun, *arguments) -> int:
    """Copies of large arrays in the body of the loop (a turn or two) and after it."""
    text = jax.explain(fun, *arguments, rounds=1).as_text("kernels")
    return text.count("] copy copy")


def field(seed=0):
    return np.random.default_rng(seed).standard_normal((96, 96)).astype(np.float32)


def around(u):
    return jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u


def wave(u, n, seen=lambda t, new, now, before: new[::30, 5]):
    def step(state, t):
        now, before = state
        new = 2 * now - before + 0.1 * around(now)
        new = new.at[3, 3].add(jnp.cos(0.3 * t))
        return (new, now), seen(t, new, now, before)

    return lax.scan(step, (u, u * 0.9), jnp.arange(n))


SEEN = {
    "new": lambda t, new, now, before: new[::30, 5],
    "now": lambda t, new, now, before: now[::30, 5] + t,
    "lost": lambda t, new, now, before: before[::30, 5] * new[0, 0],
    "all of the lost": lambda t, new, now, before: before,
    "nothing": lambda t, new, now, before: None,
}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("seen", SEEN)
def test_second_order(seen, count):
    u = field()
    got = jax.jit(lambda u: wave(u, count, SEEN[seen]))(u)
    now, before, rows = jnp.asarray(u), jnp.asarray(u) * 0.9, []
    for t in range(count):
        new = (2 * now - before + 0.1 * around(now)).at[3, 3].add(jnp.cos(0.3 * jnp.float32(t)))
        rows.append(SEEN[seen](t, new, now, before))
        now, before = new, now
    expected = (now, before), None if rows[0] is None else jnp.stack(rows)
    for a, b in zip(*map(jax.tree.leaves, (got, expected)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_no_copies_of_what_changes_places():
    u = jnp.asarray(field())
    if not host_target().avx512:  # ends of rows are computed twice, so not in place
        assert copies(lambda u: wave(u, 20), u) <= 3
        return
    assert copies(lambda u: wave(u, 20), u) <= 1  # the state at the beginning
    assert copies(lambda u: wave(u, 21), u) <= 4  # and back, once


@pytest.mark.parametrize("count", COUNTS)
def test_by_turns_though_steps_count(count):
    x = field()
    xs = np.random.default_rng(1).standard_normal((count, 96)).astype(np.float32)

    def cell(h, x):
        h = jnp.tanh(0.2 * h @ h.T + x)
        return h, h[3]

    def program(h, xs):
        return lax.scan(cell, h, xs)

    h, rows = jnp.asarray(x), []
    for row in xs:
        h, seen = cell(h, row)
        rows.append(seen)
    got = jax.jit(program)(x, xs)
    np.testing.assert_allclose(got[0], h, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(got[1], np.stack(rows), rtol=1e-4, atol=1e-4)
    if count == 8:
        assert copies(program, jnp.asarray(x), jnp.asarray(xs)) <= 1


def test_parts_that_cannot_change_places():
    """Both are moved; one is moved to two; what is lost is read when the new value is there."""
    u = field()

    def turn_round(u, v):
        return lax.fori_loop(0, 7, lambda i, s: (s[1], s[0]), (u, v))

    def history(u):
        return lax.fori_loop(0, 9, lambda i, s: (s[0] + around(s[2]), s[0], s[1]), (u, u, u + 1))

    def twice(u):
        return lax.fori_loop(0, 9, lambda i, s: (around(s[0]) * 0.1, s[0], s[0]), (u, u, u))

    def read_late(u):
        def turn(i, s):
            new = s[0] * 0.5 + s[1][::-1]
            return (jnp.sin(new) + jnp.sum(s[1] * new), s[0])

        return lax.fori_loop(0, 9, turn, (u, u * 2))

    for program in (history, twice, read_late):
        check_all_stages(program, u, rtol=1e-4, atol=1e-4)
    check_all_stages(turn_round, u, u + 1)


def test_nested_and_mapped_and_differentiated():
    u = field()

    def nested(u):
        return lax.fori_loop(0, 3, lambda i, u: wave(u * 0.5, 6)[0][0], u)

    np.testing.assert_allclose(jax.jit(nested)(u), nested_by_hand(u), rtol=1e-3, atol=1e-3)
    both = jax.jit(jax.vmap(lambda u: wave(u, 6)[0][0]))(np.stack([u, u + 1]))
    for got, one in zip(both, (u, u + 1), strict=True):
        np.testing.assert_allclose(got, wave(one, 6)[0][0], rtol=1e-4, atol=1e-4)
    loss = lambda u: jnp.sum(wave(u, 6)[0][0] * jnp.cos(jnp.arange(96.0)))
    slope = jax.jit(jax.grad(loss))(u)
    direction = field(3)
    _, tangent = jax.jvp(loss, (u,), (direction,))
    np.testing.assert_allclose(jnp.vdot(slope, direction), tangent, rtol=1e-3)


def nested_by_hand(u):
    for _ in range(3):
        u = wave(jnp.asarray(u) * 0.5, 6)[0][0]
    return u
