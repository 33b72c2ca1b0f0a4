"""jitney.numpy.linalg against NumPy: values, options, names, errors."""

import inspect

import numpy as np
import pytest
from matrices import positive, random, same

import jitney as jax
import jitney.numpy as jnp
from jitney.numpy import linalg

A, X = positive((4, 4), "float32"), random((5, 3), "float32")
NAMES = """cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm
matrix_power matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve svd svdvals
tensordot tensorinv tensorsolve trace vecdot vector_norm""".split()
CALLS = {
    "cond": [(A,), (A, "fro"), (A, 1), (A, -2), (X,)],
    "cross": [(X, X + 1)],
    "det": [(A,), (A[:3, :3],), (A[:1, :1],), (A[:0, :0],), (positive((2, 5, 5), "float32"),)],
    "diagonal": [(random((2, 3, 4), "float32"),)],
    "inv": [(A,), (positive((2, 3, 3), "float32"),)],
    "matmul": [(X, X.T)],
    "matrix_norm": [(random((2, 3, 4), "float32"),)],
    "matrix_power": [(A, 3), (A, 0), (A, -2), (A, 11)],
    "matrix_rank": [(np.diag(np.float32([1, 2, 0])),), (X,), (X * 0,), (X[0],)],
    "matrix_transpose": [(random((2, 3, 4), "float32"),)],
    "norm": [(X,), (X, "nuc"), (X, 2), (X, -2), (X, 1), (X, -1), (X, np.inf), (X, -np.inf),
             (X[0], 3), (X[0], 0), (X[0], np.inf), (X, None, 0), (X, 1, 1), (X, "fro", None, True),
             (np.arange(3),), (np.zeros((0, 3), np.float32),)],
    "outer": [(X[0], X[1])],
    "pinv": [(X,), (X.T,), (np.ones((2, 2), np.float32),)],
    "slogdet": [(A,), (-A[:3, :3],), (A * 0,)],
    "solve": [(A, A[0]), (A, A[:, :2]), (positive((3, 4, 4), "float32"), A[0])],
    "svdvals": [(X,)], "eigvalsh": [(A,), (A, "U")], "tensordot": [(A, A)], "trace": [(A,)],
    "tensorinv": [(A.reshape(4, 2, 2), 1)], "tensorsolve": [(A.reshape(2, 2, 4), A[:2, :2])],
    "vecdot": [(X, X)], "vector_norm": [(X,)],
    "multi_dot": [([X, A[:3, :3], X[0]],), ([X.T, X, X.T, X],)],
}


def test_public_names():
    assert sorted(linalg.__all__) == NAMES
    assert all(inspect.getdoc(getattr(linalg, name)) for name in NAMES)


@pytest.mark.parametrize("name,k", [(n, k) for n in CALLS for k in range(len(CALLS[n]))])
def test_values(name, k):
    args = CALLS[name][k]
    want = getattr(np.linalg, name)(*args)
    found = getattr(linalg, name)(*args)
    for a, b in zip(*[x if isinstance(x, tuple) else (x,) for x in (found, want)], strict=True):
        np.testing.assert_allclose(a, b, 3e-4, 3e-5)
        assert np.shape(a) == np.shape(b)


def test_named_results():
    assert linalg.svd(X)._fields == ("U", "S", "Vh")
    assert linalg.eigh(A)._fields == linalg.eig(A)._fields == ("eigenvalues", "eigenvectors")
    assert linalg.qr(X)._fields == ("Q", "R") and linalg.slogdet(A)._fields == ("sign", "logabsdet")


def test_modes_of_qr():
    q, r = linalg.qr(X, mode="complete")
    assert q.shape == (5, 5) and r.shape == (5, 3)
    same(linalg.qr(X, mode="r"), np.linalg.qr(X, "r"))
    h, taus = linalg.qr(X, mode="raw")
    for found, want in zip((h, taus), np.linalg.qr(X, "raw"), strict=True):
        same(found, want)


def test_slogdet_by_qr():
    for a in (A, -A[:3, :3], random((5, 5), "float32"), random((2, 4, 4), "float32")):
        for found, want in zip(linalg.slogdet(a, method="qr"), np.linalg.slogdet(a), strict=True):
            np.testing.assert_allclose(found, want, 1e-4, 1e-5)


def test_hermitian_options():
    s = A - 5 * np.eye(4, dtype=np.float32)
    u, values, vh = linalg.svd(s, hermitian=True)
    same((u * values) @ vh, s)
    same(values, np.linalg.svd(s)[1])
    same(linalg.pinv(s, hermitian=True), np.linalg.pinv(s), 10)
    assert int(linalg.matrix_rank(s, hermitian=True)) == 4
    same(linalg.eigvalsh(np.triu(A), "U", symmetrize_input=False), np.linalg.eigvalsh(A))


def test_lstsq():
    x, residuals, rank, s = linalg.lstsq(X, X[:, 0] + 1)
    want = np.linalg.lstsq(X, X[:, 0] + 1, rcond=None)
    for a, b in zip((x, residuals, rank, s), want, strict=True):
        np.testing.assert_allclose(a, b, 1e-4, 1e-5)
    assert linalg.lstsq(X.T, X[0], numpy_resid=True)[1].shape == (0,)
    assert linalg.lstsq(np.zeros((0, 3)), np.zeros(0))[0].shape == (3,)
    low = np.float32([[1, 1], [1, 1]])
    same(linalg.lstsq(low, low[0])[0], np.linalg.lstsq(low, low[0], rcond=None)[0])


def test_integers_are_computed_as_floats():
    m = np.array([[2, 1], [1, 3]])
    assert linalg.det(m).dtype == jnp.float32 and float(linalg.det(m)) == 5
    np.testing.assert_allclose(linalg.solve(m, np.array([3, 4])), [1, 1], 1e-6)
    assert linalg.matrix_power(m, 2).dtype == jnp.int32
    assert linalg.vector_norm(m, ord=1).dtype == jnp.int32


def test_singular_matrices_give_infinities_and_nan():
    zero = np.zeros((3, 3), np.float32)
    assert not np.isfinite(np.asarray(linalg.inv(zero))).all()
    assert float(linalg.det(zero)) == 0 and np.isneginf(linalg.slogdet(zero).logabsdet)
    assert np.isnan(np.asarray(linalg.cholesky(-A))).any()
    bad = A.copy()
    bad[0, 0] = np.nan
    assert np.isnan(np.asarray(linalg.svd(bad).S)).all()
    assert np.isnan(np.asarray(linalg.eigvals(bad))).all()


@pytest.mark.parametrize("call,error,text", [
    (lambda: linalg.solve(A, X), ValueError, "inconsistent size for core dimension"),
    (lambda: linalg.solve(A[0], A[0]), ValueError, "at least two dimensional"),
    (lambda: linalg.inv(X), ValueError, r"must have shape \[..., n, n\], got \(5, 3\)"),
    (lambda: linalg.det(X), ValueError, r"must have shape \[..., n, n\]"),
    (lambda: linalg.slogdet(A, method="x"), ValueError, "Unknown slogdet method 'x'"),
    (lambda: linalg.eigh(A, "x"), ValueError, "UPLO must be one of"),
    (lambda: linalg.qr(A, "x"), ValueError, "Unsupported QR decomposition mode 'x'"),
    (lambda: linalg.norm(A, "x"), ValueError, "Invalid order 'x' for matrix norm"),
    (lambda: linalg.norm(A[0], "x"), ValueError, "Invalid order 'x' for vector norm"),
    (lambda: linalg.norm(A, axis=(0, 1, 2)), ValueError, "axis 2 is out of bounds"),
    (lambda: linalg.cond(X, 1), ValueError, "must be square"),
    (lambda: linalg.pinv(A, 0.1, rcond=0.1), ValueError, "only one of rtol and rcond"),
    (lambda: linalg.matrix_rank(A, 0.1, tol=0.1), ValueError, "only one of tol or rtol"),
    (lambda: linalg.matrix_power(A, 1.5), TypeError, "exponent must be an integer"),
    (lambda: linalg.multi_dot([A]), ValueError, "at least two arrays"),
    (lambda: linalg.multi_dot([A, X]), ValueError, "must match first dimension"),
    (lambda: linalg.lstsq(A, X), ValueError, "Leading dimensions"),
    (lambda: linalg.tensorinv(A, 0), ValueError, "ind must be a positive integer"),
    (lambda: linalg.outer(A, A), ValueError, "must be one-dimensional"),
    (lambda: linalg.cross(A, A), ValueError, "3-dimensional vectors"),
    (lambda: linalg.solve([[1.0]], [1.0]), TypeError, "requires ndarray or scalar arguments"),
    (lambda: linalg.cholesky(A.astype(np.float16)), NotImplementedError, "Unsupported dtype"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_users_of_linear_algebra():
    key = jax.random.key(0)
    q = np.asarray(jax.random.orthogonal(key, 4))
    np.testing.assert_allclose(q @ q.T, np.eye(4), atol=1e-5)
    for method in ("cholesky", "eigh", "svd"):
        sample = jax.random.multivariate_normal(key, jnp.zeros(3), 2 * jnp.eye(3), (4000,),
                                                method=method)
        np.testing.assert_allclose(np.cov(np.asarray(sample).T), 2 * np.eye(3), atol=0.25)
    x = np.linspace(0, 1, 9, dtype=np.float32)
    np.testing.assert_allclose(jnp.polyfit(x, 3 * x**2 - x + 2, 2), [3, -1, 2], atol=1e-3)
    np.testing.assert_allclose(np.sort(jnp.roots(jnp.array([1.0, -3.0, 2.0])).real), [1, 2], 1e-4)
    np.testing.assert_allclose(jnp.poly(np.float32([[1, 0], [0, 2]])), [1, -3, 2], atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("m, n, k", [(40, 5, None), (40, 5, 3), (2000, 30, 2), (9, 1, 1),
                                     (12, 5, 1), (11, 5, 1)])
def test_lstsq_of_tall_matrices(m, n, k, dtype):
    """Solved by a triangle when called eagerly: as NumPy, of full and of lesser rank."""
    with jax.enable_x64(True):
        rng = np.random.default_rng(m + n)
        a = (rng.normal(size=(m, n)) + 1j * rng.normal(size=(m, n))).astype("complex128")
        b = (rng.normal(size=(m, k) if k else m) + 1j).astype("complex128")
        a, b = (x.astype(dtype) if dtype[0] == "c" else x.real.astype(dtype) for x in (a, b))
        near = 1e-3 if dtype in ("float32", "complex64") else 1e-10
        for matrix in (a, np.repeat(a[:, :1], n, 1)):
            want = np.linalg.lstsq(matrix, b, rcond=None)
            for solve in (linalg.lstsq, jax.jit(linalg.lstsq)):
                x, residuals, rank, s = solve(matrix, b)
                assert x.dtype == dtype and s.dtype == matrix.real.dtype
                assert residuals.shape == ((k,) if k else (1,)) and rank == want[2]
                np.testing.assert_allclose(x, want[0], rtol=near, atol=near)
                np.testing.assert_allclose(s, want[3], rtol=near, atol=near * want[3][0])
                rest = (abs((b - matrix @ want[0]).reshape(m, -1)) ** 2).sum(0)
                np.testing.assert_allclose(residuals, rest, rtol=near, atol=near)
