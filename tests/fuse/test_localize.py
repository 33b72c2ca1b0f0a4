"""Loops over small arrays that one thread goes through: the others leave them to it."""

import numpy as np
import pytest

import jitney
from jitney import _native, lax


@pytest.fixture
def two_threads():
    _native.set_num_threads(2)
    yield
    _native.set_num_threads(0)


def regions(fun, *arguments) -> int:
    """How often a call of the compiled function offers work to other threads."""
    jitted = jitney.jit(fun)
    jitney.block_until_ready(jitted(*arguments))
    before = _native.counters()["parallel_regions"]
    jitney.block_until_ready(jitted(*arguments))
    return _native.counters()["parallel_regions"] - before


def deflate(a, v):
    """A product with a vector, then a rank-one update of the matrix."""
    return lax.fori_loop(0, 9, lambda _, a: a - 1e-3 * v[:, None] * (v @ a)[None, :], a)


def matrix(n):
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, n)).astype(np.float32), rng.normal(size=n).astype(np.float32)


def test_a_matrix_in_the_cache_of_one_core_stays_there(two_threads):
    a, v = matrix(400)
    assert regions(deflate, a, v) == 0
    want = a.astype(np.float64)
    for _ in range(9):
        want = want - 1e-3 * v[:, None] * (v @ want)[None, :]
    np.testing.assert_allclose(jitney.jit(deflate)(a, v), want, rtol=1e-3, atol=1e-4)


def test_a_larger_matrix_is_shared(two_threads):
    assert regions(deflate, *matrix(1200)) >= 9


def test_work_that_all_threads_do_alike_is_shared(two_threads):
    def smooth(a):
        return lax.fori_loop(
            0, 9, lambda _, a: a.at[1:-1].set(0.25 * (a[:-2] + a[2:]) + 0.5 * a[1:-1]), a
        )

    assert regions(smooth, matrix(400)[0]) >= 9


def test_outside_of_loops_nothing_is_left_to_one_thread(two_threads):
    def once(a, v):
        return a - 1e-3 * v[:, None] * (v @ a)[None, :]

    assert regions(once, *matrix(400)) == 1
