"""What is made of rows' results is made of a vector of rows at a time: the same."""

import numpy as np
import pytest
import scipy.special

import jitney as jax
import jitney.numpy as jnp
from jitney.backend.host import host_target
from jitney.fuse import write_kernel

TARGET = host_target()
pytestmark = pytest.mark.skipif(not TARGET.avx2, reason="ends stay with rows")
WIDTH = 500 if TARGET.avx512 else 1000  # longer rows may go in pairs with AVX-512


def of_sums(x):
    return jax.nn.logsumexp(x, -1)


def of_labels(x):
    rows = jnp.arange(x.shape[0])
    return of_sums(x) - x[rows, (rows * 7) % 5]


GATHERED = {
    "log-sum-exp": of_sums,
    "two results": lambda x: (of_sums(x), jnp.log1p(of_sums(x) ** 2)),
    "with the row's number": lambda x: of_sums(x) * jnp.arange(x.shape[0]),
    "with a number": lambda x: of_sums(x) * x[0, 0] - 3.0,
    "with a label's element": of_labels,
    "with a column": lambda x: of_sums(x) - x[:, 3],
    "with a reversed column": lambda x: of_sums(x) - x[::-1, 3],
    "every second place": lambda x: jnp.stack([of_sums(x), of_sums(x) + 1], 1),
    "of reversed rows": lambda x: of_sums(x[::-1]),
    "of a part": lambda x: of_sums(x[1:, 3:-4]),
    "converted": lambda x: of_sums(x).astype(jnp.float64),
    "to integers": lambda x: jnp.round(of_sums(x) * 100).astype(jnp.int32),
    "compared": lambda x: jnp.where(of_sums(x) > 7.4, of_sums(x), -1.0),
}
NOT_GATHERED = {
    "bytes": lambda x: of_sums(x) > 7.4,
    "short floats": lambda x: of_sums(x).astype(jnp.bfloat16),
    "a sum": lambda x: jnp.exp(x - x.max(-1, keepdims=True)).sum(-1),
    "three stages": lambda x: jax.nn.log_softmax(x, -1),
    "rows that are not one after the other": lambda x: of_sums(x.reshape(8, -1, WIDTH)[:, 1:]),
}


def rows(count=80, width=WIDTH, dtype="float32"):
    return np.random.default_rng(count).standard_normal((count, width)).astype(dtype)


def is_gathered(fun, x) -> bool:
    return " gathered" in jax.explain(fun, x, rounds=1).as_text("kernels")


@pytest.fixture
def one_by_one(monkeypatch):
    """Calls a program whose ends are those of one row each; nothing is kept of it."""

    def call(fun, x):
        with monkeypatch.context() as patch:
            patch.setenv("JITNEY_CACHE_DIR", "")
            patch.setattr(write_kernel, "gather_ends", lambda *_: None)
            jax.clear_caches()
            program = lambda x: fun(x)  # noqa: PLW0108 - a function of its own, which nothing knows
            assert not is_gathered(program, x)
            result = jax.jit(program)(x)
        jax.clear_caches()
        return result

    return call


@pytest.mark.parametrize("name", GATHERED)
@pytest.mark.parametrize("count", [80, 1000])
def test_every_bit(name, count, one_by_one):
    fun, x = GATHERED[name], rows(count)
    assert is_gathered(fun, x)
    got, want = jax.jit(fun)(x), one_by_one(fun, x)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_array_equal(a, b)


def test_long_rows():
    """They go in pairs where fewer than four vectors begin in a cycle of AVX-512."""
    wanted = not TARGET.avx512 or TARGET.vectors_a_cycle >= 4
    assert is_gathered(of_sums, rows(80, 2000)) == wanted


@pytest.mark.parametrize("name", NOT_GATHERED)
def test_others(name):
    assert not is_gathered(NOT_GATHERED[name], rows())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [40, 64, 100, 128, 300, 1000])
def test_any_number_of_rows(dtype, width):
    """Of the last vector of rows, and of the only one, some lanes are no rows."""
    with jax.enable_x64(True):
        program = jax.jit(of_sums)
        for count in (*range(1, 19), 31, 64, 65, 301):
            x = rows(count, width, dtype)
            tolerance = 1e-13 if dtype == "float64" else 1e-6
            want = scipy.special.logsumexp(x.astype("float64"), -1)
            np.testing.assert_allclose(program(x), want, rtol=tolerance)


def test_numbers_that_are_none():
    """They stay in their rows."""
    x = rows(70)
    x[3], x[9, 5], x[20, 7], x[33, 8] = -np.inf, np.nan, np.inf, -np.inf
    want = scipy.special.logsumexp(x.astype("float64"), -1)
    np.testing.assert_allclose(jax.jit(of_sums)(x), want, rtol=1e-6)


def test_nothing_is_written_beyond_the_rows():
    """Of results that lie in a larger one, beside what is not theirs."""
    x = rows(75)
    program = jax.jit(lambda x, out: out.at[4:-5].set(of_sums(x)), donate_argnums=1)
    got = np.asarray(program(x, jnp.full(84, 7.0)))
    np.testing.assert_array_equal(got[:4], 7)
    np.testing.assert_array_equal(got[-5:], 7)
    np.testing.assert_array_equal(got[4:-5], jax.jit(of_sums)(x))


def test_gradient_and_batches():
    x = rows(24, 700)
    got = jax.jit(jax.vmap(of_sums))(x.reshape(4, 6, 700))
    np.testing.assert_array_equal(got.reshape(-1), jax.jit(of_sums)(x))
    gradient = jax.jit(jax.grad(lambda x: of_sums(x).sum()))(x)
    np.testing.assert_allclose(gradient, scipy.special.softmax(x, -1), rtol=2e-5, atol=1e-7)
