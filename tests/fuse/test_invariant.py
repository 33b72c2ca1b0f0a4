"""What is the same in every turn of a loop is computed once, and only that."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.fuse import invariant, loops

N, EDGES = 300, 1500


@pytest.fixture
def moved(monkeypatch, tmp_path):
    """The numbers of kernels that left loops, in the order of planning; no plan is on disk."""
    monkeypatch.setenv("JITNEY_CACHE_DIR", str(tmp_path))
    found = []

    def counting(aliases, steps, changing):
        before, rest = invariant.split_invariant(aliases, steps, changing)
        found.append(len(before))
        assert len(before) + len(rest) == len(steps)
        return before, rest

    monkeypatch.setattr(loops, "split_invariant", counting)
    return found


@pytest.fixture
def graph():
    rng = np.random.default_rng(5)
    start, end = rng.integers(-N, N, (2, EDGES)).astype(np.int32)
    return start, end, rng.random(EDGES).astype(np.float32)


def relaxed(start, end, weight, turns):
    distance = np.full(N, np.inf, np.float32)
    distance[0] = 0
    for _ in range(turns):
        after = distance.copy()
        np.minimum.at(after, end, distance[start] + weight)
        distance = after
    return distance


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_indices_are_normalized_once(moved, graph, turns):
    def run(start, end, weight):
        begin = jnp.full(N, jnp.inf).at[0].set(0.0)
        return lax.fori_loop(0, turns, lambda _, d: d.at[end].min(d[start] + weight), begin)

    np.testing.assert_array_equal(jitney.jit(run)(*graph), relaxed(*graph, turns))
    assert turns < 2 or moved == [1]


def test_a_while_loop_that_may_not_run(moved, graph):
    def run(start, end, weight, limit):
        begin = jnp.full(N, jnp.inf).at[0].set(0.0)
        step = lambda s: (s[0] + 1, s[1].at[end].min(s[1][start] + weight))
        return lax.while_loop(lambda s: s[0] < limit, step, (0, begin))[1]

    jitted = jitney.jit(run)
    for limit in (0, 1, 4):
        np.testing.assert_array_equal(jitted(*graph, limit), relaxed(*graph, limit))
    assert moved == [1]


def test_out_of_two_loops(moved, graph):
    def run(start, end, weight):
        begin = jnp.full(N, jnp.inf).at[0].set(0.0)
        step = lambda _, d: d.at[end].min(d[start] + weight)
        return lax.fori_loop(0, 3, lambda _, d: lax.fori_loop(0, 2, step, d) + 0.5, begin)

    want = np.full(N, np.inf, np.float32)
    want[0] = 0
    start, end, weight = graph
    for _ in range(3):
        for _ in range(2):
            after = want.copy()
            np.minimum.at(after, end, want[start] + weight)
            want = after
        want = want + np.float32(0.5)
    np.testing.assert_array_equal(jitney.jit(run)(*graph), want)
    assert moved == [1, 1]


def test_what_the_turn_changes_stays(moved):
    """Indices made from the state, and sums that start at zero in every turn."""
    def run(x, index):
        def turn(k, s):
            total, index = s
            counts = jnp.zeros(N).at[index].add(x)
            return total + counts * k, (index * 3 + 1) % N

        return lax.fori_loop(0, 4, turn, (jnp.zeros(N), index))

    rng = np.random.default_rng(6)
    x, index = rng.random(EDGES).astype(np.float32), rng.integers(0, N, EDGES).astype(np.int32)
    total, at = np.zeros(N), index
    for k in range(4):
        total, at = total + np.bincount(at, x, N) * k, (at * 3 + 1) % N
    got, last = jitney.jit(run)(x, index)
    np.testing.assert_allclose(got, total, rtol=1e-4)
    np.testing.assert_array_equal(last, at)
    assert moved == [0]


def test_a_state_that_becomes_a_constant(moved):
    def run(x, y):
        def turn(_, s):
            a, b, total = s
            return jnp.sort(y), a, total + a + b

        return lax.fori_loop(0, 3, turn, (x, x, jnp.zeros_like(x)))

    x, y = np.random.default_rng(7).normal(size=(2, 5000)).astype(np.float32)
    a, b, total = x, x, np.zeros_like(x)
    for _ in range(3):
        a, b, total = np.sort(y), a, total + a + b
    for got, want in zip(jitney.jit(run)(x, y), (a, b, total), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("turns", [0, 1, 6])
def test_costly_values_leave_the_kernels_they_are_read_in(moved, turns):
    def run(x, table, index):
        def turn(i, a):
            return 0.5 * jnp.roll(a, 1) + jnp.exp(x) * i + table[index] + x

        return lax.fori_loop(0, turns, turn, x)

    rng = np.random.default_rng(8)
    x, table = rng.normal(size=(2, EDGES)).astype(np.float32)
    index = rng.integers(-EDGES, EDGES, EDGES).astype(np.int32)
    want = x
    for i in range(turns):
        want = np.float32(0.5) * np.roll(want, 1) + np.exp(x) * np.float32(i) + table[index] + x
    np.testing.assert_allclose(jitney.jit(run)(x, table, index), want, rtol=1e-5, atol=1e-5)
    assert turns < 2 or moved == [2]  # exponentials, and elements gathered


def test_products_and_sorts_leave_the_loop(moved):
    def run(a, b):
        return lax.fori_loop(0, 5, lambda _, x: x * 0.5 + a @ b + jnp.sort(b, 0), a)

    a, b = np.random.default_rng(9).normal(size=(2, 40, 40)).astype(np.float32)
    want = a
    for _ in range(5):
        want = want * 0.5 + a @ b + np.sort(b, 0)
    np.testing.assert_allclose(jitney.jit(run)(a, b), want, rtol=1e-4, atol=1e-5)
    assert moved[0] >= 2


def test_values_larger_than_what_they_are_made_of_stay(moved):
    """A table of 1024 x 1024 exponentials of sums would be 4 MB read in each turn."""
    def run(x, a):
        return lax.fori_loop(0, 3, lambda _, a: a * jnp.exp(x[:, None] + x[None, :]), a)

    x = np.linspace(-0.1, 0.1, 1024, dtype=np.float32)
    a = np.ones((1024, 1024), np.float32)
    want = a * np.exp(x[:, None] + x[None, :]) ** 3
    np.testing.assert_allclose(jitney.jit(run)(x, a), want, rtol=1e-5)
    assert moved == [0]
