"""Primitives of lax.linalg: native routines against NumPy and their references, on every dtype."""

import numpy as np
import pytest
from matrices import DTYPES, TOLERANCE, adjoint, positive, random, same

import jitney as jax
from jitney import lax

linalg = lax.linalg
SIZES = (0, 1, 3, 4, 9, 33)
BATCHES = ((), (3, 2))


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def shapes(*tail):
    return [(*batch, *tail) for batch in BATCHES]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_cholesky(dtype, n):
    for shape in shapes(n, n):
        a = positive(shape, dtype)
        same(linalg.cholesky(a), np.linalg.cholesky(a))
        upside = np.triu(np.full(shape, 7), 1) + np.tril(a)       # only the lower triangle is read
        same(linalg.cholesky(upside.astype(dtype), symmetrize_input=False), np.linalg.cholesky(a))


def test_cholesky_of_what_is_not_positive_definite():
    for n in (2, 20):
        a = np.stack([np.eye(n), -np.eye(n), np.full((n, n), np.nan)])
        found = np.asarray(linalg.cholesky(a))
        np.testing.assert_array_equal(found[0], np.eye(n))
        assert np.isnan(found[1:][:, np.tri(n, dtype=bool)]).all()
        assert not np.triu(found, 1).any()


@pytest.mark.parametrize("dtype", ("float32", "complex128"))
@pytest.mark.parametrize("n,m", [(0, 2), (1, 1), (3, 1), (4, 5), (11, 3)])
@pytest.mark.parametrize("left", (True, False))
def test_triangular_solve(dtype, n, m, left):
    for shape in shapes(n, n):
        a = (random(shape, dtype) / (3 * n + 1) + np.eye(n)).astype(dtype)
        b = random((*shape[:-2], *((n, m) if left else (m, n))), dtype)
        for code in range(16):
            lower, turned, conjugated, unit = (bool(code & 1 << k) for k in range(4))
            x = linalg.triangular_solve(a, b, left_side=left, lower=lower, transpose_a=turned,
                                        conjugate_a=conjugated, unit_diagonal=unit)
            t = np.tril(a, -unit) if lower else np.triu(a, unit)
            t = t + np.eye(n, dtype=dtype) if unit else t
            t = np.swapaxes(t, -1, -2) if turned else t
            t = t.conj() if conjugated else t
            same(t @ x if left else x @ t, b)


def test_triangular_solve_of_small_floats_vectors_and_singular_matrices():
    a = np.eye(3, dtype=np.float16) * 2
    found = linalg.triangular_solve(a, np.ones((3, 1), np.float16), left_side=True)
    assert found.dtype == np.float16 and (np.asarray(found) == 0.5).all()
    assert linalg.triangular_solve(a, np.ones(3, np.float16), left_side=True).shape == (3,)
    x = np.asarray(linalg.triangular_solve(np.zeros((2, 2)), np.ones((2, 1)), left_side=True))
    assert np.isnan(x[0, 0]) and np.isinf(x[1, 0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m,n", [(0, 3), (1, 1), (3, 3), (4, 6), (7, 4), (12, 12), (20, 11)])
def test_lu(dtype, m, n):
    k = min(m, n)
    for shape in shapes(m, n):
        a = random(shape, dtype)
        packed, pivots, permutation = (np.asarray(x) for x in linalg.lu(a))
        low = np.tril(packed, -1)[..., :k] + np.eye(m, k, dtype=dtype)
        same(low @ np.triu(packed)[..., :k, :], np.take_along_axis(a, permutation[..., None], -2))
        same(linalg.lu_pivots_to_permutation(pivots, m), permutation)
        assert np.abs(low).max(initial=0) <= np.sqrt(2) + 1e-6
    if m == n:
        from jitney.lax.linalg.lu import lu_solve

        b = random((m, 3), dtype)
        for turned in (False, True):
            x = lu_solve(a[0, 0], packed[0, 0], permutation[0, 0], b, transpose_a=turned)
            same((a[0, 0].T if turned else a[0, 0]) @ x, b, 100)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m,n", [(1, 1), (3, 3), (4, 7), (7, 4), (34, 20)])
@pytest.mark.parametrize("full", (True, False))
def test_qr_and_householder(dtype, m, n, full):
    for shape in shapes(m, n):
        a = random(shape, dtype)
        q, r = linalg.qr(a, full_matrices=full)
        for found, want in zip((q, r), np.linalg.qr(a, "complete" if full else "reduced"),
                               strict=True):
            same(found, want)
        q, r, p = linalg.qr(a, full_matrices=full, pivoting=True)
        same(q @ r, np.take_along_axis(a, np.asarray(p)[..., None, :], -1))
        size = np.abs(np.diagonal(np.asarray(r), axis1=-2, axis2=-1))
        assert (np.diff(size) <= 1e-5).all()
    packed, taus = jax.numpy.linalg.qr(a, mode="raw")
    packed = np.swapaxes(packed, -1, -2)
    q = np.linalg.qr(a, "complete")[0]
    c = random((*shape[:-2], m, 2), dtype)
    same(linalg.ormqr(packed, taus, c), q @ c)
    same(linalg.ormqr(packed, taus, c, transpose=True), adjoint(q) @ c)
    same(linalg.ormqr(packed, taus, adjoint(c), left=False), adjoint(c) @ q)
    if m >= n:
        same(linalg.householder_product(packed, taus), np.linalg.qr(a)[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m,n", [(1, 1), (3, 3), (4, 7), (7, 4), (33, 20)])
def test_svd(dtype, m, n):
    k = min(m, n)
    for shape in shapes(m, n):
        a = random(shape, dtype)
        for full in (True, False):
            for algorithm in (None, linalg.SvdAlgorithm.QR):
                u, s, vh = (np.asarray(x) for x in linalg.svd(a, full_matrices=full,
                                                               algorithm=algorithm))
                same((u[..., :k] * s[..., None, :]).astype(dtype) @ vh[..., :k, :], a)
                for x in (u, adjoint(vh)):
                    eye = np.broadcast_to(np.eye(x.shape[-1]), (*shape[:-2], *[x.shape[-1]] * 2))
                    same(adjoint(x) @ x, eye.astype(dtype))
        same(linalg.svd(a, compute_uv=False), np.linalg.svd(a, compute_uv=False))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_eigh(dtype, n):
    for shape in shapes(n, n):
        a = positive(shape, dtype)
        v, w = (np.asarray(x) for x in linalg.eigh(a))
        same((v * w[..., None, :]).astype(dtype) @ adjoint(v), a)
        same(w, np.linalg.eigvalsh(a) if n else w)
        lower = np.tril(a) if n else a
        same(linalg.eigh(lower, symmetrize_input=False)[1], w)
        same(linalg.eigh(adjoint(lower), lower=False, symmetrize_input=False)[1], w)
        same(jax.jit(lambda x: linalg.eigh(x)[1])(a), w)           # no vectors are computed


@pytest.mark.parametrize("dtype", DTYPES)
def test_forms_of_any_square_matrix(dtype):
    for n in (1, 2, 5):
        for shape in shapes(n, n):
            a = random(shape, dtype)
            w, left, right = (np.asarray(x) for x in linalg.eig(a))
            same(a.astype(w.dtype) @ right, right * w[..., None, :])
            same(adjoint(left) @ a.astype(w.dtype), w[..., :, None] * adjoint(left))
            t, z = (np.asarray(x) for x in linalg.schur(a))
            same(z @ t @ adjoint(z), a)
            h, taus = linalg.hessenberg(a)
            assert h.shape == shape and taus.shape == (*shape[:-2], n - 1)
            same(np.trace(np.asarray(h), axis1=-2, axis2=-1), np.trace(a, axis1=-2, axis2=-1))
            s = positive(shape, dtype)
            _, d, e, _ = (np.asarray(x) for x in linalg.tridiagonal(s))
            for place in np.ndindex(*shape[:-2]):
                t = np.diag(d[place]) + np.diag(e[place], -1) + np.diag(e[place], 1)
                same(np.linalg.eigvalsh(t), np.linalg.eigvalsh(s[place]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", (1, 2, 3, 9))
def test_tridiagonal_solve(dtype, n):
    for shape in shapes(n):
        dl, d, du = (random(shape, dtype, k) for k in range(3))
        b = random((*shape, 2), dtype)
        matrix = np.zeros((*shape, n), dtype)
        place = np.arange(n)
        matrix[..., place, place] = d
        matrix[..., place[1:], place[:-1]] = dl[..., 1:]
        matrix[..., place[:-1], place[1:]] = du[..., :-1]
        same(matrix @ linalg.tridiagonal_solve(dl, d, du, b), b, 100)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sides", (1, 3))
@pytest.mark.parametrize("n", (1, 2, 3, 40))
@pytest.mark.parametrize("scale", (1.0, 1e-33, 1e33))
def test_tridiagonal_solve_of_any_size(scale, n, sides, dtype):
    """One right side is a way of its own; rows change places; inverses of pivots so small or large
    would not be ordinary numbers of float32."""
    dl, d, du = (random((n,), dtype, k) for k in range(3))
    d[1::3] *= 1e-3  # pivots below what is below them
    b = random((n, sides), dtype, 5)
    matrix = np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)
    scaled = [(v * scale).astype(dtype) for v in (dl, d, du, b)]
    want = np.linalg.solve(matrix.astype(np.result_type(dtype, np.float64)), b)
    found = np.asarray(linalg.tridiagonal_solve(*scaled))
    most = 50 * np.finfo(dtype).eps * np.linalg.cond(matrix) * np.abs(want).max()
    assert found.dtype == dtype and np.abs(found - want).max() <= most


def test_tridiagonal_solve_of_a_singular_matrix():
    d = np.array([0.0, 1.0, 1.0])
    zero = np.zeros(3)
    plain = linalg.tridiagonal_solve(zero, d, zero, np.ones((3, 1)))
    assert np.isinf(np.asarray(plain)[0, 0])
    found = linalg.tridiagonal_solve(zero, d, zero, np.ones((3, 1)), perturb_singular=True)
    assert np.isfinite(np.asarray(found)).all()


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_updates_and_products(dtype):
    for shape in shapes(5, 5):
        r, w, a = np.triu(random(shape, dtype)), random(shape[:-1], dtype, 1), random(shape, dtype)
        s = linalg.cholesky_update(r, w)
        same(adjoint(s) @ np.asarray(s), adjoint(r) @ r + w[..., :, None] * w[..., None, :])
        c = positive(shape, dtype)
        found = linalg.symmetric_product(a, c, alpha=2.0, beta=0.5, symmetrize_output=True)
        same(found, (2 * a @ adjoint(a) + c / 2).astype(dtype))


@pytest.mark.parametrize("n", (3, 12))
def test_infinite_and_nan_elements_give_nan(n):
    a = random((n, n))
    a[1, 2] = np.nan
    for found in (linalg.eigh(a), linalg.svd(a), linalg.eig(a), linalg.schur(a)):
        assert all(np.isnan(np.asarray(x)).all() for x in found)


def test_empty_matrices():
    assert [x.shape for x in linalg.svd(np.ones((2, 0, 3)))] == [(2, 0, 0), (2, 0), (2, 3, 3)]
    np.testing.assert_array_equal(linalg.svd(np.ones((2, 0, 3)))[2][1], np.eye(3))
    q, r = linalg.qr(np.ones((3, 0)))
    np.testing.assert_array_equal(q, np.eye(3))
    assert r.shape == (3, 0)
    assert linalg.eigh(np.ones((0, 3, 3)))[0].shape == (0, 3, 3)
    assert linalg.lu(np.ones((0, 3)))[2].shape == (0,)


@pytest.mark.parametrize("name", ["cholesky", "lu", "qr", "svd", "eigh", "eig", "schur"])
def test_small_floats_and_integers_are_refused(name):
    with pytest.raises(NotImplementedError, match="Unsupported dtype float16.*astype"):
        getattr(linalg, name)(np.eye(3, dtype=np.float16))
    with pytest.raises(TypeError, match="rank at least 2|permutation"):
        getattr(linalg, name)(np.ones(3, np.float32))
    if name not in ("cholesky", "eigh"):
        with pytest.raises(TypeError, match=f"{name} does not accept dtype int32"):
            getattr(linalg, name)(np.eye(3, dtype=np.int32))


def test_shapes_that_do_not_fit():
    a, b = np.eye(3), np.ones((2, 3))
    with pytest.raises(ValueError, match="Incompatible shapes for arguments to triangular_solve"):
        linalg.triangular_solve(a, b, left_side=True)
    with pytest.raises(TypeError, match="same number of batch dimensions"):
        linalg.triangular_solve(a, b[None])
    with pytest.raises(ValueError, match="must be a square matrix"):
        linalg.eig(b)
    with pytest.raises(ValueError, match="as many rows as columns"):
        linalg.householder_product(b, np.ones(2))
    with pytest.raises(ValueError, match="permutation size 1"):
        linalg.lu_pivots_to_permutation(np.zeros(2, np.int32), 1)


def test_results_are_the_same_for_any_number_of_threads_and_in_any_batch():
    a = random((500, 3, 3)).astype(np.float32)
    whole = np.asarray(linalg.lu(a)[0])
    np.testing.assert_array_equal(whole[123:124], linalg.lu(a[123:124])[0])


def test_tolerances_are_stated_for_every_dtype():
    assert set(TOLERANCE) == set(DTYPES)
