"""Rows whose guesses and sums are folded sixteen at a time: the same bits as one by one."""

import kernel_harness as harness
import numpy as np
import pytest
import scipy.special

import jitney as jax
import jitney.numpy as jnp
from jitney import _native
from jitney.backend.host import host_target
from jitney.fuse import gather_ends

TARGET = host_target()
pytestmark = pytest.mark.skipif(
    not TARGET.avx512 or TARGET.vectors_a_cycle < 4, reason="rows are done one by one there"
)


@pytest.fixture(autouse=True)
def planned_anew(monkeypatch):
    monkeypatch.setenv("JITNEY_CACHE_DIR", "")


def rows(count, width, seed=0):
    return np.random.default_rng(seed).standard_normal((count, width)).astype("float32")


PROGRAMS = {
    "log-sum-exp": lambda x: jax.nn.logsumexp(x, -1),
    "of a part": lambda x: jax.nn.logsumexp(x[:, 1:] * 0.5 - 1, -1),
    "with the row's number": lambda x: jax.nn.logsumexp(x, -1) * jnp.arange(len(x)),
}


def is_in_blocks(fun, x) -> bool:
    return " in blocks" in jax.explain(fun, x, rounds=1).as_text("kernels")


def one_by_one(monkeypatch, fun, x):
    """The results of rows that are in no block."""
    with monkeypatch.context() as patch:
        patch.setattr(gather_ends, "MOST_IN_BLOCKS", 0)
        patch.setattr(gather_ends, "MOST_IN_CACHES", 0)
        jax.clear_caches()
        assert not is_in_blocks(fun, x)
        found = np.asarray(jax.jit(fun)(x))
    jax.clear_caches()
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, monkeypatch):
    x = rows(531, 200)
    x[::7] *= 30
    fun = PROGRAMS[name]
    plain = one_by_one(monkeypatch, fun, x)
    assert is_in_blocks(fun, x)
    assert np.asarray(jax.jit(fun)(x)).tobytes() == plain.tobytes()
    wide = np.asarray(fun(x.astype(float)), float)
    np.testing.assert_allclose(plain, wide, rtol=3e-6, atol=3e-5)


@pytest.mark.parametrize("width", [100, 127, 128, 256, 1000])
@pytest.mark.parametrize("count", [*range(1, 36), 64, 65, 1003])
def test_numbers_of_rows(count, width):
    x = rows(count, width, seed=count + width)
    got = np.asarray(jax.jit(PROGRAMS["log-sum-exp"])(x))
    np.testing.assert_allclose(got, scipy.special.logsumexp(x.astype(float), -1), rtol=1e-6)


def test_rows_that_are_done_again(monkeypatch):
    """Those that guesses are no good for, or that have infinities, among others that stay."""
    x = rows(200, 300)
    x[3, 77], x[4] = 90.0, 1e9
    x[20], x[21, 5], x[22, 6], x[23, ::3] = -np.inf, np.nan, np.inf, -np.inf
    x[40:64] *= 100  # all of a block, and more
    x[199, 299] = 300.0  # the last of all
    fun = PROGRAMS["log-sum-exp"]
    plain = one_by_one(monkeypatch, fun, x)
    got = np.asarray(jax.jit(fun)(x))
    assert got.tobytes() == plain.tobytes()
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(got, scipy.special.logsumexp(x.astype(float), -1), rtol=1e-6)


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_threads_make_no_difference(threads):
    x = rows(3001, 256)
    jitted = jax.jit(PROGRAMS["log-sum-exp"])
    expected = np.asarray(jitted(x)).tobytes()
    try:
        _native.set_num_threads(threads)
        for _ in range(5):
            assert np.asarray(jitted(x)).tobytes() == expected
    finally:
        _native.set_num_threads(0)


def test_long_rows_from_memory_are_done_one_by_one(monkeypatch):
    fun = PROGRAMS["log-sum-exp"]
    assert is_in_blocks(fun, rows(90, 4096)) and not is_in_blocks(fun, rows(90, 4200))
    monkeypatch.setattr(gather_ends, "CACHED", 1 << 18)
    assert not is_in_blocks(fun, rows(91, 1000)) and is_in_blocks(fun, rows(900, 200))


def test_folding_keeps_the_order_of_one_vector():
    """Lane r is what vector r folds to by halves, to the last bit."""
    from jitney.codegen.row_blocks import fold_across

    def folded(e, *vectors):
        return fold_across(e, list(vectors), e.fadd)

    kernel = harness.compile_kernel(
        folded, ("float",) * 17, None, 1, harness.targets()["avx512"]
    )
    vectors = rows(16, 16, seed=3)
    halves = vectors
    while halves.shape[1] > 1:
        middle = halves.shape[1] // 2
        halves = halves[:, :middle] + halves[:, middle:]
    np.testing.assert_array_equal(kernel(*vectors), halves[:, 0])
