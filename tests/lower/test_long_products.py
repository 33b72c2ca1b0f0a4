"""Products over a long axis with few results: in parts, or as plain sums."""

import itertools

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

SIZES = [(1, 5, 40_000), (7, 1, 20_000), (1, 16, 9000), (1, 17, 9000), (1, 300, 8192),
         (3, 3, 99_991), (10, 10, 30_000), (100, 40, 5003), (64, 256, 4096), (256, 256, 2048),
         (200, 3, 12_345), (257, 2, 9000), (1, 1, 70_000), (2000, 1, 30), (1, 900, 50),
         (4, 4, 512), (3, 700, 2000), (6, 133, 1300)]  # fmt: skip


def plan(fun, *arguments) -> str:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


def operand(rng, shape, is_turned, dtype):
    x = rng.integers(-8, 9, shape[::-1] if is_turned else shape).astype(dtype)
    return x, (lambda x: x.T) if is_turned else (lambda x: x)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_layout(size, dtype):
    m, n, k = size
    rng = np.random.default_rng(k)
    with jax.enable_x64(True):
        for turned in itertools.product((False, True), repeat=2):
            a, left = operand(rng, (m, k), turned[0], dtype)
            b, right = operand(rng, (k, n), turned[1], dtype)
            got = jax.jit(lambda a, b, f=left, g=right: f(a) @ g(b))(a, b)
            assert got.dtype == dtype and got.shape == (m, n)
            np.testing.assert_array_equal(got, left(a) @ right(b))  # sums of integers: exact


def test_vectors():
    rng = np.random.default_rng(1)
    for rows, columns in ((3000, 5), (5, 3000), (1000, 50), (50, 20_000), (700, 63), (700, 64)):
        x = rng.integers(-8, 9, (rows, columns)).astype(np.float32)
        w, y = [rng.integers(-8, 9, n).astype(np.float32) for n in (columns, rows)]
        np.testing.assert_array_equal(jax.jit(lambda x, w: x @ w)(x, w), x @ w)
        np.testing.assert_array_equal(jax.jit(lambda x, y: x.T @ y)(x, y), x.T @ y)
        np.testing.assert_array_equal(jax.jit(lambda x, y: y @ x)(x, y), y @ x)


def test_axes_in_the_middle():
    x = np.random.default_rng(2).integers(-8, 9, (4, 5000, 6)).astype(np.float32)
    f = lambda np, x: np.einsum("ikj,lkm->ijlm", x, x)
    np.testing.assert_array_equal(jax.jit(lambda x: f(jnp, x))(x), f(np, x))


@pytest.mark.parametrize("axes", ["btd,bte->de", "bdt,bet->de", "dbt,tbe->ed", "tbd,bet->de"])
@pytest.mark.parametrize("sizes", [(32, 128, 60, 70), (3, 5000, 20, 1), (37, 211, 33, 48)])
def test_several_axes(sizes, axes):
    """Gradients of weights: sums over the examples and their tokens."""
    extents = dict(zip("btde", sizes, strict=True))
    left, right = axes.split("->")[0].split(",")
    rng = np.random.default_rng(6)
    a, b = (rng.integers(-8, 9, [extents[n] for n in v]).astype(np.float32) for v in (left, right))
    got = jax.jit(lambda a, b: jnp.einsum(axes, a, b))(a, b)
    np.testing.assert_array_equal(got, np.einsum(axes, a, b))


def test_parts_and_what_follows_are_two_kernels():
    x, bias = jnp.ones((10_000, 100)), jnp.ones(100)
    text = plan(lambda x, b: jax.nn.relu(x.T @ x + b), x, bias)
    assert "2 fused steps" in text and text.count("contraction") == 1


def test_a_remainder_is_a_product_of_its_own():
    x = jnp.ones((9973, 100))
    assert plan(lambda x: x.T @ x, x).count("contraction") == 2


def test_short_and_large_ones_stay_whole():
    for m, k, n in ((100, 1000, 100), (300, 8192, 300), (64, 64, 64), (1024, 1024, 1024)):
        text = plan(jnp.matmul, jnp.ones((m, k)), jnp.ones((k, n)))
        assert "1 fused steps" in text and text.count("contraction") == 1


def test_infinities_and_nan():
    x = np.zeros((20_000, 8), np.float32)
    x[77, 1], x[19_999, 2], x[5, 3] = np.inf, -np.inf, np.nan
    with np.errstate(invalid="ignore"):
        want = x.T @ np.ones((20_000, 9), np.float32)
    got = jax.jit(lambda x: x.T @ jnp.ones((20_000, 9)))(x)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("size", [(0, 5, 50_000), (5, 0, 50_000), (0, 1, 50_000), (3, 4, 0)])
def test_nothing_to_sum_or_to_give(size):
    m, n, k = size
    a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    np.testing.assert_array_equal(jax.jit(jnp.matmul)(a, b), a @ b)
    np.testing.assert_array_equal(jax.jit(lambda a, b: a.T @ b)(a.T.copy(), b), a @ b)


def test_gradients():
    rng = np.random.default_rng(3)
    w, x = rng.normal(size=(60, 40)) * 0.1, rng.normal(size=(6000, 60))
    with jax.enable_x64(True):
        found = jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w) ** 2))(w)
        y = np.tanh(x @ w)
        np.testing.assert_allclose(found, x.T @ (2 * y * (1 - y * y)), rtol=1e-9, atol=1e-9)


def test_sums_of_parts_are_more_exact():
    x = np.random.default_rng(4).random((400_000, 3), np.float32)
    exact = x.astype(np.float64).T @ x.astype(np.float64)
    got = np.asarray(jax.jit(lambda x: x.T @ x)(x))
    assert np.abs(got / exact - 1).max() < 1e-5  # one chain: 8e-5


@pytest.mark.parametrize("k", [1000, 3000, 8000])
@pytest.mark.parametrize("m, n", [(8, 8), (32, 32), (100, 100), (20, 3000), (1, 1500), (4, 200),
                                  (7, 67)])
def test_errors_are_those_of_short_sums(m, n, k):
    """Of 8000 positive numbers one chain is off by 3e-6, of 1000 by 1.5e-6."""
    rng = np.random.default_rng(k)
    a, b = rng.random((m, k), np.float32), rng.random((k, n), np.float32)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    products = [(lambda a, b: a @ b, a, b), (lambda a, b: a.T @ b, a.T.copy(), b)]
    products.append((lambda a, b: a @ b.T, a, b.T.copy()))
    for fun, *arguments in products:
        got = np.asarray(jax.jit(fun)(*arguments))
        assert np.abs(got / exact - 1).max() < 1.2e-6


def test_threads_change_no_bits():
    x = np.random.default_rng(5).normal(size=(20_011, 90)).astype(np.float32)
    results = []
    for threads in (1, 2, 3):
        jax._native.set_num_threads(threads)
        found = jax.jit(lambda x: (x.T @ x, x.T @ x[:, 0], x[:, :7] @ x[0, :7]))(x)
        results.append(np.concatenate([np.ravel(v) for v in found]))
    jax._native.set_num_threads(0)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
