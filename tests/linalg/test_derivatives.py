"""Derivatives against central differences in float64; transposition and batching against them."""

import numpy as np
import pytest
from matrices import adjoint, check_derivatives, positive, random

import jitney as jax
import jitney.numpy as jnp
import jitney.scipy.linalg as scipy_linalg
from jitney.lax import linalg

N = 4


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def hermitian(dtype):
    a = random((N, N), dtype)
    return a + adjoint(a)


@pytest.mark.parametrize("dtype", ("float64", "complex128"))
@pytest.mark.parametrize("name", [
    "cholesky", "solve left", "solve right", "lu", "lu wide", "lu tall", "qr", "qr full", "qr wide",
    "qr pivoted", "eigh values", "eigh projector", "eig values", "eig vectors", "svd values", "svd",
    "tridiagonal", "symmetric product"])
def test_primitives(name, dtype):
    a, b = random((N, N), dtype), random((N, 2), dtype, 1)
    tall, wide_ = random((N + 2, N), dtype), random((N - 2, N), dtype)
    d = [random((N,), dtype, k) + 4 * (k == 1) for k in range(3)]
    near = (a / 12 + np.eye(N)).astype(dtype)
    function, *args = {
        "cholesky": (linalg.cholesky, positive((N, N), dtype)),
        "solve left": (lambda x, y: linalg.triangular_solve(
            x, y, left_side=True, lower=True, transpose_a=True, conjugate_a=True), near, b),
        "solve right": (lambda x, y: linalg.triangular_solve(x, y, unit_diagonal=True), near,
                        b.T.copy()),
        "lu": (lambda x: linalg.lu(x)[0], a),
        "lu wide": (lambda x: linalg.lu(x)[0], wide_),
        "lu tall": (lambda x: linalg.lu(x)[0], tall),
        "qr": (lambda x: linalg.qr(x, full_matrices=False), tall),
        "qr full": (lambda x: linalg.qr(x)[1], tall),
        "qr wide": (linalg.qr, wide_),
        "qr pivoted": (lambda x: linalg.qr(x, pivoting=True, full_matrices=False)[:2], tall),
        "eigh values": (lambda x: linalg.eigh(x)[1], hermitian(dtype)),
        "eigh projector": (lambda x: (lambda v: v[:, :2] @ v[:, :2].conj().T)(linalg.eigh(x)[0]),
                           hermitian(dtype)),
        "eig values": (lambda x: jnp.linalg.eigvals(x), a),
        "eig vectors": (lambda x: linalg.eig(x, compute_left_eigenvectors=False,
                                             enable_eigvec_derivs=True)[1], a),
        "svd values": (lambda x: linalg.svd(x, compute_uv=False), tall),
        "svd": (lambda x: (lambda u, s, v: (u[:, :2] @ v[:2], s))(
            *linalg.svd(x, full_matrices=False)), tall),
        "tridiagonal": (linalg.tridiagonal_solve, *d, b),
        "symmetric product": (lambda x, y: linalg.symmetric_product(x, y, alpha=2.0, beta=0.5),
                              b, a),
    }[name]
    check_derivatives(function, *args)


def test_cholesky_update():
    r = np.triu(random((N, N))) + 3 * np.eye(N)
    check_derivatives(linalg.cholesky_update, r, random((N,), seed=3))


@pytest.mark.parametrize("dtype", ("float64", "complex128"))
@pytest.mark.parametrize("name", ["inv", "solve", "solve vector", "det", "det 3", "slogdet",
                                  "slogdet by qr", "pinv", "pinv wide", "lstsq", "matrix power",
                                  "expm", "sqrtm", "norm 2", "lu_solve", "cho_solve"])
def test_functions(name, dtype):
    if dtype == "complex128" and name in ("expm", "lstsq", "sqrtm", "pinv wide", "matrix power"):
        pytest.skip("long to compile; the float64 case takes the same way")
    a, b = random((N, N), dtype), random((N, 2), dtype, 1)
    s = positive((N, N), dtype)
    n = jnp.linalg
    function, *args = {
        "inv": (n.inv, a), "solve": (n.solve, a, b), "solve vector": (n.solve, a, b[:, 0]),
        "det": (n.det, a), "det 3": (n.det, a[:3, :3]), "slogdet": (n.slogdet, a),
        "slogdet by qr": (lambda x: n.slogdet(x, method="qr")[1], a.real.copy()),
        "pinv": (n.pinv, random((N + 2, N), dtype)), "pinv wide": (n.pinv, random((2, N), dtype)),
        "lstsq": (lambda x, y: n.lstsq(x, y)[0], random((N + 2, N), dtype),
                  random((N + 2, 2), dtype)),
        "matrix power": (lambda x: n.matrix_power(x, -3), a),
        "expm": (scipy_linalg.expm, a), "sqrtm": (scipy_linalg.sqrtm, s),
        "norm 2": (lambda x: n.norm(x, 2), a),
        "lu_solve": (lambda x, y: scipy_linalg.lu_solve(scipy_linalg.lu_factor(x), y, trans=1), a,
                     b),
        "cho_solve": (lambda x, y: scipy_linalg.cho_solve(
            scipy_linalg.cho_factor((x + x.conj().T) / 2), y), s, b),
    }[name]
    check_derivatives(function, *args, tolerance=1e-4)


def test_second_derivatives():
    a = positive((N, N))

    def f(x):
        return jnp.linalg.slogdet(x)[1] + jnp.linalg.solve(x, jnp.ones(N)).sum()

    inverse = np.linalg.inv(a)
    t = random((N, N), seed=4)
    twice = jax.jvp(jax.grad(f), (a,), (t,))[1]
    step = 1e-5
    slope = (np.asarray(jax.grad(f)(a + step * t)) - np.asarray(jax.grad(f)(a - step * t)))
    np.testing.assert_allclose(twice, slope / (2 * step), 1e-5, 1e-7)
    np.testing.assert_allclose(jax.grad(lambda x: jnp.linalg.slogdet(x)[1])(a), inverse.T, 1e-8)


def test_determinant_of_a_singular_matrix_has_its_derivative():
    a = random((N, N))
    a[0] = a[1]
    cofactors = np.array([[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1))
                           for j in range(N)] for i in range(N)])
    np.testing.assert_allclose(jax.grad(jnp.linalg.det)(a), cofactors, 1e-8, 1e-10)


def test_what_has_no_derivative_says_so():
    a = random((N, N))
    with pytest.raises(NotImplementedError, match="enable_eigvec_derivs"):
        jax.jvp(jnp.linalg.eig, (a,), (a,))
    with pytest.raises(NotImplementedError, match="full_matrices=False"):
        jax.jvp(linalg.svd, (a[:2],), (a[:2],))


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4)])
def test_singular_values_and_their_gradient_are_one_decomposition(shape):
    a = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    fun = lambda a: jnp.linalg.svd(a, compute_uv=False).sum()
    assert str(jax.make_jaxpr(jax.value_and_grad(fun))(a)).count(" svd[") == 1
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    np.testing.assert_allclose(jax.grad(fun)(a), u @ vh, atol=1e-5)
