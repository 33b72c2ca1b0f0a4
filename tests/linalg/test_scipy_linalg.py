"""jitney.scipy.linalg against SciPy."""

import inspect

import numpy as np
import pytest
import scipy.linalg as reference
from matrices import adjoint, positive, random, same

import jitney as jax
from jitney.scipy import linalg

A, S, X = random((4, 4), "float32"), positive((4, 4), "float32"), random((5, 3), "float32")
C = random((4, 4), "complex64")
W, V = random((5,), "float32"), random((4,), "float32", 1)
NAMES = """block_diag cho_factor cho_solve cholesky circulant companion convolution_matrix det dft
eigh eigh_tridiagonal expm expm_frechet fiedler fiedler_companion funm hadamard hankel helmert
hessenberg hilbert inv invhilbert invpascal leslie lu lu_factor lu_solve pascal polar qr
qr_multiply rsf2csf schur solve solve_sylvester solve_triangular sqrtm svd toeplitz""".split()
CALLS = {
    "block_diag": [(A, X, W)], "circulant": [(W,)], "companion": [(W,)],
    "convolution_matrix": [(W, 3), (W, 7, "same"), (W, 3, "valid")], "det": [(A,)],
    "dft": [(5, "n")],
    "expm": [(A,), (A * 30,), (C,), (A * 0,)], "expm_frechet": [(A, S)], "fiedler": [(W,)],
    "fiedler_companion": [(W,), (V,), (W[:2],)], "hankel": [(W,), (W, W[::-1])],
    "hadamard": [(8,)], "helmert": [(4,), (4, True)], "hilbert": [(4,)], "inv": [(A,)],
    "invhilbert": [(4,)], "invpascal": [(4,), (4, "lower")], "leslie": [(W, W[1:])],
    "lu": [(A,), (X,), (X.T,), (X, True)], "lu_factor": [(A,)],
    "pascal": [(5,), (5, "upper")], "polar": [(A,), (X,), (C,)], "qr": [(X,)],
    "solve": [(A, V), (A, S)], "solve_sylvester": [(S, S + A, X[:4, :0] @ X[:4, :0].T + A)],
    "solve_triangular": [(S, V), (S, V, 1), (S, A, "C", True)], "sqrtm": [(S,), (C,)],
    "toeplitz": [(W,), (W, V), (C[0],)], "cholesky": [(S,), (S, True)],
    "hessenberg": [(A,)],
}


def test_public_names():
    assert sorted(linalg.__all__) == NAMES
    assert all(inspect.getdoc(getattr(linalg, name)) for name in NAMES)


@pytest.mark.parametrize("name,k", [(n, k) for n in CALLS for k in range(len(CALLS[n]))])
def test_values(name, k):
    args = CALLS[name][k]
    want = getattr(reference, name)(*args)
    found = getattr(linalg, name)(*args)
    for a, b in zip(*[x if isinstance(x, tuple) else (x,) for x in (found, want)], strict=True):
        b = np.asarray(b)
        assert np.shape(a) == b.shape
        scale = np.abs(b).max(initial=0)
        np.testing.assert_allclose(a, b, 3e-4, 1e-4 * max(scale, 1e-3))


@pytest.mark.parametrize("dtype", ("float32", "complex64"))
def test_systems(dtype):
    a, s = random((4, 4), dtype), positive((4, 4), dtype)
    for b in (random((4,), dtype, 1), random((4, 2), dtype, 2)):
        for lower in (True, False):
            same(s @ linalg.cho_solve(linalg.cho_factor(s, lower=lower), b), b)
            same(s @ linalg.solve(s, b, lower=lower, assume_a="pos"), b)
        for trans, matrix in enumerate((a, a.T, adjoint(a))):
            same(matrix @ linalg.lu_solve(linalg.lu_factor(a), b, trans=trans), b, 10)
    stacked = np.stack([s, 2 * s])
    same(linalg.cho_solve((linalg.cholesky(stacked), False), np.stack([b, b]))[1], linalg.solve(
        2 * s, b), 10)


@pytest.mark.parametrize("dtype", ("float32", "complex64"))
def test_forms(dtype):
    a = random((5, 5), dtype)
    t, z = (np.asarray(x) for x in linalg.schur(a))
    same(z @ t @ adjoint(z), a)
    t, z = (np.asarray(x) for x in linalg.rsf2csf(t, z))
    assert not np.tril(t, -1).any()
    same(z @ t @ adjoint(z), a.astype(z.dtype))
    t, z = (np.asarray(x) for x in linalg.schur(a, output="complex"))
    assert t.dtype == np.complex64 and not np.tril(t, -1).any()
    h, q = (np.asarray(x) for x in linalg.hessenberg(a, calc_q=True))
    same(q @ h @ adjoint(q), a)
    assert not np.tril(h, -2).any()
    q, r, p = linalg.qr(a, pivoting=True)
    same(q @ r, a[:, np.asarray(p)])
    cq, r = linalg.qr_multiply(a, a)
    same(cq, a @ np.linalg.qr(a)[0])
    u, p = linalg.polar(a, side="left", method="svd")
    same(p @ u, a)


def test_functions_of_matrices():
    root = np.asarray(linalg.sqrtm(A))
    same(root @ root, A.astype(np.complex64), 10)
    found, error = linalg.funm(S / 9, jax.numpy.exp, disp=False)
    np.testing.assert_allclose(found, reference.expm(S / 9), 2e-3, 2e-3)
    assert float(error) < 0.1
    batch = np.stack([A, A.T])
    np.testing.assert_allclose(linalg.expm(batch)[1], linalg.expm(A.T), 1e-4, 1e-4)
    assert np.isnan(np.asarray(linalg.expm(A * 1e7))).all()
    upper = np.triu(A)
    np.testing.assert_allclose(linalg.expm(upper, upper_triangular=True), reference.expm(upper),
                               1e-4, 1e-4)
    for method in ("schur", "eigen"):
        x = linalg.solve_sylvester(S, S, A, method=method)
        np.testing.assert_allclose(S @ x + x @ S, A, atol=1e-3)
    assert np.isnan(np.asarray(linalg.solve_sylvester(S, -S, A, tol=1e-3))).all()


def test_tridiagonal_eigenvalues():
    want = reference.eigh_tridiagonal(W, V, eigvals_only=True)
    np.testing.assert_allclose(linalg.eigh_tridiagonal(W, V, eigvals_only=True), want, 1e-4, 1e-5)
    w, v = (np.asarray(x) for x in linalg.eigh_tridiagonal(W, V, select="i", select_range=(1, 2)))
    matrix = np.diag(W) + np.diag(V, 1) + np.diag(V, -1)
    np.testing.assert_allclose(matrix @ v, v * w, atol=1e-4)


def test_svd_drivers_and_empty_products():
    for driver in ("gesdd", "gesvd"):
        same(linalg.svd(X, compute_uv=False, lapack_driver=driver), reference.svdvals(X))
    assert linalg.block_diag().shape == (1, 0)
    assert linalg.expm(np.zeros((0, 0), np.float32)).shape == (0, 0)
    assert linalg.toeplitz(np.float32(2)).shape == (1, 1)


@pytest.mark.parametrize("call,error,text", [
    (lambda: linalg.solve(S, V, assume_a="x"), ValueError, "Expected assume_a to be one of"),
    (lambda: linalg.solve_triangular(S, V, trans="x"), ValueError, "Invalid 'trans' value x"),
    (lambda: linalg.lu_solve(linalg.lu_factor(S), V, trans=3), ValueError, "must be 0, 1, or 2"),
    (lambda: linalg.cho_solve((S, True), W), ValueError, "incompatible shapes"),
    (lambda: linalg.qr(S, mode="x"), ValueError, "Unsupported QR decomposition mode"),
    (lambda: linalg.schur(S, output="x"), ValueError, "Expected 'output' to be"),
    (lambda: linalg.eigh(S, S), NotImplementedError, "b=None"),
    (lambda: linalg.polar(X.T), NotImplementedError, "only supports"),
    (lambda: linalg.expm(X), ValueError, "square matrix"),
    (lambda: linalg.hadamard(3), ValueError, "power of 2"),
    (lambda: linalg.pascal(3, "x"), ValueError, "kind"),
    (lambda: linalg.dft(3, "x"), ValueError, "scale must be"),
    (lambda: linalg.svd(S, lapack_driver="x"), ValueError, "gesdd"),
    (lambda: linalg.inv(S, check_finite="yes"), TypeError, "check_finite must be a bool"),
    (lambda: linalg.eigh_tridiagonal(W, W), TypeError, "one beside it"),
    (lambda: linalg.block_diag(np.ones((1, 1, 1))), ValueError, "at most 2 dimensions"),
    (lambda: linalg.sqrtm(S, blocksize=2), NotImplementedError, "Blocked version"),
    (lambda: linalg.solve_sylvester(S, S, X), ValueError, "Incompatible shapes"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()
