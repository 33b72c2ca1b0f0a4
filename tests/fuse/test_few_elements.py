"""A few elements that are far apart, or under conditions, are computed one after the other."""

import numpy as np
import pytest
from narrower_machines import run_tests

import jitney as jax
import jitney.numpy as jnp
from jitney.backend.host import host_target

RNG = np.random.default_rng(0)
DTYPES = ["float32", "float64", "bfloat16", "int8", "int64", "uint16", "bool", "complex64"]
SIZES = [0, 1, 2, 3, 5, 8, 20, 33, 100, 255, 257, 300]
MOVES = {
    "every third": lambda np, x: x[::3],
    "reversed by twos": lambda np, x: x[::-2],
    "pairs exchanged": lambda np, x: np.stack([x[1::2], x[: len(x) // 2 * 2 : 2]], 1).ravel(),
    "woven": lambda np, x: np.stack([x, x[::-1]], 1).ravel(),
    "parts": lambda np, x: np.concatenate([x[:1], x[2:], x[::2], x[:0]]),
    "padded": lambda np, x: np.pad(x[::2], (3, 2)),
    "turned": lambda np, x: np.pad(x[: len(x) // 4 * 4].reshape(-1, 4), ((0, 0), (1, 0)))[:, ::-1],
}  # fmt: skip
takes_turns = pytest.mark.skipif(
    not host_target().has_dear_masks, reason="masks are cheap, or there are none"
)


def values(n, dtype):
    x = RNG.integers(0, 2 if dtype == "bool" else 100, n)
    return x.astype(jnp.dtype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MOVES)
def test_moves(name, dtype):
    with jax.enable_x64(True):
        for n in SIZES:
            x = values(n, dtype)
            got = jax.jit(lambda x: MOVES[name](jnp, x))(x)
            want = MOVES[name](np, x)
            assert got.shape == want.shape and got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("n", [1, 2, 7, 20, 100])
def test_sums_and_products_that_run(n):
    x = RNG.uniform(0.5, 1.5, n)
    with jax.enable_x64(True):
        pairs = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])
        found = jax.jit(lambda x: jax.lax.associative_scan(pairs, (x, x))[1])(x)
        want, last = [], 0.0
        for v in x:
            want.append(last := last * v + v)
        np.testing.assert_allclose(found, want, rtol=1e-12)
        slope = jax.jit(jax.grad(lambda x: (jnp.cumprod(x) ** 2).sum()))(x)
        products = np.cumprod(x)
        want = [2 * (products[i:] ** 2).sum() / x[i] for i in range(n)]
        np.testing.assert_allclose(slope, want, rtol=1e-11)


def test_second_derivatives_of_products():
    x = RNG.uniform(0.5, 1.5, 9)
    with jax.enable_x64(True):
        found = jax.jit(jax.hessian(lambda x: x.prod()))(x)
    want = np.array([[0 if i == j else x.prod() / x[i] / x[j] for j in range(9)] for i in range(9)])
    np.testing.assert_allclose(found, want, rtol=1e-11)


def largest(fun, *arguments) -> int:
    """Expressions of the longest kernel."""
    text = jax.explain(fun, *arguments, rounds=1).as_text("kernels")
    return max(kernel.count("\n    e") for kernel in text.split("\n["))


def test_what_many_conditions_guard_is_stored():
    x = jnp.ones(20)
    assert largest(jax.hessian(lambda x: (jnp.sin(x) ** 2).sum() * x.prod()), x) < 100
    assert largest(jax.grad(lambda x: (jnp.cumprod(x) ** 2).sum()), x) < 160


@takes_turns
def test_which_take_turns():
    lane = lambda f, n: jax.explain(f, jnp.ones(n), rounds=1).as_text("kernels").count("lane none")
    assert lane(lambda x: x[::2] + 1, 512) and not lane(lambda x: x[::2] + 1, 514)
    assert lane(lambda x: jnp.concatenate([x, x]) * 2, 16)
    assert not lane(lambda x: jnp.concatenate([x, x]) * 2, 17)
    assert not lane(lambda x: jnp.exp(x[::2]), 64) and not lane(lambda x: x[::-1] + 1, 20)
    assert not lane(lambda x: x + 1, 20) and not lane(lambda x: x.sum(), 20)


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3"])
def test_narrower_machines(target):
    run_tests(__file__, target)
