"""Loops and branches: one answer at every stage, state in registers or in place."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.testing.stages import check_all_stages

X = np.random.default_rng(0).random(30).astype(np.float32)
M = np.random.default_rng(1).normal(size=(3, 3)).astype(np.float32)


def collatz(n):
    def step(s):
        return jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1

    return lax.while_loop(lambda s: s[0] != 1, step, (n, 0))


PROGRAMS = {
    "sum": (lambda x: lax.scan(lambda c, y: (c * 0.5 + y, c * y), 0.0, x), X),
    "reverse": (lambda x: lax.scan(lambda c, y: (c + y, c), 0.0, x, reverse=True), X),
    "masked": (
        lambda x: lax.fori_loop(0, 30, lambda i, a: jnp.where(x[i] > 0.5, a + x[i], a), 0.0), X,
    ),
    "fibonacci": (
        lambda n: lax.scan(lambda c, _: ((c[1], c[0] + c[1]), c[0]), (n, n + 1), None, length=20),
        np.int32(0),
    ),
    "collatz": (collatz, np.int32(27)),
    "power": (
        lambda a: lax.fori_loop(
            0, 20, lambda i, v: (a @ v) / jnp.sqrt(((a @ v) ** 2).sum()), jnp.ones(3)
        ),
        M,
    ),
    "swap": (lambda x: lax.fori_loop(0, 3, lambda i, c: (c[1], c[0] + 1), (x, x * 2)), X),
    "in place": (lambda x: lax.fori_loop(1, 30, lambda i, a: a.at[i].set(a[i - 1] * 0.9), x), X),
    "stencil": (
        lambda x: lax.fori_loop(
            0, 5, lambda i, a: a.at[1:-1].set(0.5 * (a[:-2] + a[2:])), x
        ),
        X,
    ),
    "nested": (
        lambda x: lax.scan(
            lambda c, y: (lax.fori_loop(0, 3, lambda i, s: s * 0.5 + y, c), c), x[:4], x[:5]
        ),
        X,
    ),
    "branch in loop": (
        lambda x: lax.scan(
            lambda c, y: (lax.cond(y > 0.5, lambda v: v + y, lambda v: v - y, c), c), 0.0, x
        ),
        X,
    ),
    "switch": (
        lambda i: lax.switch(i, [lambda v: v, lambda v: v * 2, lambda v: v - 5], jnp.arange(4)),
        np.int32(2),
    ),
    "no turns": (lambda x: lax.scan(lambda c, y: (c + y, y), 0.0, x[:0]), X),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_answer_at_every_stage(name):
    check_all_stages(*PROGRAMS[name])


def test_small_state_is_one_kernel():
    compiled = jitney.jit(PROGRAMS["sum"][0]).lower(X).compile()
    assert "carry" in compiled.as_text() and compiled.as_text().count("stage 0 while") == 0


def test_a_stencil_is_computed_once_beside_and_copied():
    def step(_, a):
        return a.at[1:-1].set(0.5 * (a[:-2] + a[2:]) + a[1:-1])

    stencil = jitney.jit(lambda a: lax.fori_loop(0, 5, step, a))
    want = np.arange(40.0, dtype=np.float32) ** 2
    text = stencil.lower(want).compile().as_text()
    assert text.count("] kernel") == 2, text
    got = stencil(want)
    for _ in range(5):
        want[1:-1] = 0.5 * (want[:-2] + want[2:]) + want[1:-1]
    np.testing.assert_allclose(got, want, rtol=1e-6)


def jacobi(a):
    return a.at[1:-1, 1:-1].set(0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]))


def heat(a):
    return a + 0.1 * (jnp.roll(a, 1, 0) + jnp.roll(a, -1, 1) - 2 * a)


def pair(s):
    return heat(s[0]) + s[1], jacobi(s[1])


def corners(a):
    return jacobi(a).at[0, 0].set(a[3, 3])


@pytest.mark.parametrize("turns", (3, 4, 5, 8, 9))
@pytest.mark.parametrize("step", (jacobi, heat, pair, corners))
def test_large_states_are_in_two_buffers_by_turns(step, turns):
    x = jnp.asarray(np.random.default_rng(2).normal(size=(70, 81)).astype(np.float32))
    start = (x, x + 1) if step is pair else x
    want = start
    for _ in range(turns):
        want = jitney.jit(step)(want)
    looped = jitney.jit(lambda s: lax.fori_loop(0, turns, lambda _, s: step(s), s))
    kept = jitney.tree.map(np.array, start)
    for _ in range(2):  # the second call finds what the first left in the workspace
        got = looped(start)
        for g, w in zip(jitney.tree.leaves(got), jitney.tree.leaves(want), strict=True):
            np.testing.assert_array_equal(g, w)
    for g, w in zip(jitney.tree.leaves(start), jitney.tree.leaves(kept), strict=True):
        np.testing.assert_array_equal(g, w)
    outer = jitney.jit(lambda s: lax.fori_loop(0, 2, lambda _, s: looped(s), s))
    for g, w in zip(jitney.tree.leaves(outer(start)), jitney.tree.leaves(looped(looped(start))),
                    strict=True):  # fmt: skip
        np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("turns", (0, 1, 2, 3, 8))
@pytest.mark.parametrize("step", (jacobi, heat, pair, corners))
def test_loops_with_a_test_end_in_either_buffer(step, turns):
    x = jnp.asarray(np.random.default_rng(2).normal(size=(70, 81)).astype(np.float32))
    start = (x, x + 1) if step is pair else x
    want = start
    for _ in range(turns):
        want = jitney.jit(step)(want)

    def looped(s, n):
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, step(c[1])), (0, s))

    compiled = jitney.jit(looped)
    for _ in range(2):
        count, got = compiled(start, turns)
        assert count == turns
        for g, w in zip(jitney.tree.leaves(got), jitney.tree.leaves(want), strict=True):
            np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("limit", (1e9, 3000.0, 2500.0, 2200.0, 1800.0))
def test_a_test_of_the_large_state_reads_the_right_buffer(limit):
    x = jnp.asarray(np.random.default_rng(3).normal(size=(70, 81)).astype(np.float32))
    want, turns = x, 0
    while (want * want).sum() > limit:
        want, turns = jitney.jit(heat)(want), turns + 1

    def looped(a):
        return lax.while_loop(lambda a: (a * a).sum() > limit, heat, a)

    np.testing.assert_array_equal(jitney.jit(looped)(x), want)
    assert (turns == 0) == (limit == 1e9)


def test_a_large_stencil_with_a_test_copies_only_at_its_end():
    def looped(a, n):
        return lax.while_loop(
            lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + jnp.roll(s[1], 1, 0)), (0, a)
        )

    text = jitney.jit(looped).lower(jnp.ones((100, 100)), 3).compile().as_text()
    assert text.count("] copy") == 2, text  # where the state begins, and after an odd turn


def test_a_counter_that_is_read_counts_every_turn():
    x = jnp.ones((70, 81))
    looped = jitney.jit(lambda a: lax.fori_loop(0, 6, lambda i, a: heat(a) + i, a))
    want = x
    for i in range(6):
        want = heat(want) + i
    np.testing.assert_allclose(looped(x), want, rtol=1e-6)


def test_a_large_stencil_copies_no_state():
    looped = jitney.jit(lambda a: lax.fori_loop(0, 8, lambda _, a: jacobi(a), a))
    text = looped.lower(jnp.ones((100, 100))).compile().as_text()
    assert text.count("] copy") == 1, text  # where the state begins; its four sides are kernels


def exchange(a, k):
    """Rows k and 2 k mod n exchanged, then a rank-one update: elimination with pivots."""
    other = 2 * k % a.shape[0]
    a = a.at[k].set(a[other]).at[other].set(jnp.where(other == k, a[other], a[k]))
    return a - 0.1 * jnp.outer(a[:, k], a[k])


def column(a, k):
    unit = a[:, k] / jnp.linalg.norm(a[:, k])
    return (a - unit[:, None] * (unit @ a)[None, :]).at[:, k].set(unit)


def sums(a, k):
    return a.at[k].add(a[k - 1]).at[0].set(a.sum(0) * 0.01).at[:, 1].multiply(0.5)


@pytest.mark.parametrize("step", (exchange, column, sums))
@pytest.mark.parametrize("n", (7, 64, 65))
def test_updates_amid_a_turn_happen_in_place(step, n):
    x = jnp.asarray(np.random.default_rng(4).normal(size=(n, n)) + 3 * np.eye(n))
    want = x
    for k in range(min(n, 9)):
        want = step(want, k)
    looped = jitney.jit(lambda a: lax.fori_loop(0, min(n, 9), lambda k, a: step(a, k), a))
    np.testing.assert_allclose(looped(x), want, rtol=2e-4, atol=1e-4)
    np.testing.assert_array_equal(looped(x), looped(x))


def test_elimination_copies_no_matrix():
    looped = jitney.jit(lambda a: lax.fori_loop(0, 60, lambda k, a: exchange(a, k), a))
    text = looped.lower(jnp.ones((64, 64))).compile().as_text()
    assert text.count("] copy") == 1, text  # where the state begins


@pytest.mark.parametrize("place", (
    np.s_[1:-1, 1:-1], np.s_[:, 2:], np.s_[3:, :], np.s_[:-1, :-4], np.s_[:, :], np.s_[4:5, :]))
@pytest.mark.parametrize("shape", ((9, 12), (40, 50), (1, 6)))
def test_a_window_that_reads_its_neighbours(place, shape):
    x = np.random.default_rng(3).normal(size=shape).astype(np.float32)

    def shifted(module, a):
        return module.roll(a, 1, 0)[place] + module.roll(a, -1, 1)[place]

    want = x.copy()
    want[place] = shifted(np, x)
    got = jitney.jit(lambda a: a.at[place].set(shifted(jnp, a)))(x)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_updates_in_a_loop_cost_what_they_touch():
    def fill(x):
        return lax.fori_loop(0, x.shape[0], lambda i, a: a.at[i].set(a[i] + i), x)

    filled = jitney.jit(fill)

    def seconds(n):
        x = jnp.zeros(n)
        filled(x)
        best = []
        for _ in range(3):
            begin = time.perf_counter()
            filled(x)
            best.append(time.perf_counter() - begin)
        return min(best) / n

    assert seconds(200_000) < 20 * seconds(2_000) + 1e-7
    np.testing.assert_array_equal(np.asarray(filled(jnp.zeros(1000))), np.arange(1000))


def test_an_endless_loop_can_be_interrupted():
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    endless = jitney.jit(lambda x: lax.while_loop(lambda c: c >= 0, lambda c: (c + 1) % 1000, x))
    with pytest.raises(KeyboardInterrupt):
        endless(0)


def steps_of_collatz(n):
    return lax.while_loop(lambda s: s[0] != 1, lambda s: (
        jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0))[1]


def longest_below(limit):
    def body(s):
        n, best, total = s
        steps = steps_of_collatz(n)
        inner = lax.while_loop(lambda k: k * k < steps, lambda k: k + 1, 0)
        return n + 1, jnp.maximum(best, steps), total + inner

    return lax.while_loop(lambda s: s[0] < limit, body, (1, 0, 0))[1:]


def test_loops_in_loops_give_the_same_every_time():
    """Three nested loops whose numbers of turns depend on one another."""
    def plain(limit):
        best = total = 0
        for n in range(1, limit):
            steps = 0
            while n != 1:
                n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
            best, total = max(best, steps), total + int(np.ceil(np.sqrt(steps)))
        return best, total

    found = jitney.jit(longest_below)
    for limit in (1, 2, 3, 10, 97, 500):
        want = plain(limit)
        for _ in range(20):
            best, total = found(limit)
            assert (int(best), int(total)) == want
    limits = np.array([3, 500, 1, 97, 10, 2], np.int32)
    best, total = jitney.jit(jitney.vmap(longest_below))(limits)
    assert list(zip(best.tolist(), total.tolist())) == [plain(int(k)) for k in limits]
