"""Systems that share a matrix are solved by one call."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax

RNG = np.random.default_rng(0)


def matrices(*shape, dtype):
    a = RNG.normal(size=shape) + 4 * np.eye(shape[-1])
    if np.dtype(dtype).kind == "c":
        a = a + 1j * RNG.normal(size=shape)
    return a.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose, conjugate", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("n", [3, 12])
def test_triangular(n, transpose, conjugate, left, dtype):
    with jitney.enable_x64():
        one, two = (np.tril(matrices(*s, n, n, dtype=dtype)) for s in ((), (2, 1, 1)))
        b = RNG.normal(size=(2, 5, 4, *((n, 3) if left else (3, n)))).astype(dtype)

        def solve(a, b):
            return lax.linalg.triangular_solve(
                a, b, left_side=left, lower=True, transpose_a=transpose, conjugate_a=conjugate
            )

        def product(a, x):
            a = np.conj(a) if conjugate else a
            a = a.swapaxes(-1, -2) if transpose else a
            return a @ x if left else x @ a

        mapped = solve
        for _ in range(3):
            mapped = jitney.vmap(mapped, (None, 0))
        spread = lambda a, b: solve(jnp.broadcast_to(a, (2, 5, 4, n, n)), b)
        for fun, a in ((mapped, one), (spread, one), (spread, two)):
            x = np.asarray(jitney.jit(fun)(a, b))
            np.testing.assert_allclose(product(a, x), b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("n", [3, 12])
def test_any_matrix(n):
    a, b = matrices(n, n, dtype="float32"), RNG.normal(size=(50, n)).astype(np.float32)
    x = jitney.jit(jitney.vmap(jnp.linalg.solve, (None, 0)))(a, b)
    np.testing.assert_allclose(np.asarray(x) @ a.T, b, rtol=1e-3, atol=1e-3)


def test_one_call_and_no_copies():
    cov = np.eye(10, dtype=np.float32) + 0.1
    x = RNG.normal(size=(10_000, 10)).astype(np.float32)
    log = jitney.scipy.stats.multivariate_normal.logpdf
    fun = jitney.jit(lambda x, cov: log(x, jnp.zeros(10), cov))
    text = fun.lower(x, cov).compile().as_text()
    workspace = int(text.split("workspace ")[1].split()[0])
    assert workspace < 4 * x.nbytes
    distance = np.einsum("ni,ij,nj->n", x, np.linalg.inv(cov), x)
    want = -0.5 * distance - 5 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(cov)[1]
    np.testing.assert_allclose(fun(x, cov), want, rtol=1e-3, atol=1e-3)


def test_different_matrices_stay_apart():
    a = np.tril(matrices(6, 12, 12, dtype="float32"))
    b = RNG.normal(size=(6, 12, 2)).astype(np.float32)
    solve = jitney.jit(lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True))
    np.testing.assert_allclose(a @ np.asarray(solve(a, b)), b, rtol=1e-3, atol=1e-3)
