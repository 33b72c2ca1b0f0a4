"""Factors of matrices and systems solved by them: Cholesky, LU, QR, Schur, eigenvalues, SVD.

In: matrices. Out: tuples of factors in SciPy's conventions (upper triangles by default).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.lax import linalg as lax_linalg
from jitney.lax.linalg.common import adjoint, product, take_rows, tril, triu
from jitney.numpy.linalg_solve import inexact


def hints(**given: Any) -> None:
    """Refuses values of arguments without effect that are not numbers (None is fine)."""
    for name, value in given.items():
        if value is not None and not isinstance(value, (bool, int, float, np.generic)):
            raise TypeError(f"{name} must be a bool or a number, got {value!r} of type "
                            f"{type(value).__name__}")


# --- Cholesky --------------------------------------------------------------------------------


@jit(static_argnames=("lower",), inline=False)
def _cholesky(a, lower):
    a = inexact("jax.scipy.linalg.cholesky", a)
    factor = lax_linalg.cholesky(a if lower else adjoint(a), symmetrize_input=False)
    return factor if lower else adjoint(factor)


def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    """U with a = Uᴴ U (or L with a = L Lᴴ, `lower`); only that triangle of a [..., n, n] is read.

    NaN if a is not positive definite.
    """
    hints(overwrite_a=overwrite_a, check_finite=check_finite)
    return _cholesky(a, bool(lower))


def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    """(Cholesky factor, lower), to be passed to `cho_solve`."""
    hints(overwrite_a=overwrite_a, check_finite=check_finite)
    return cholesky(a, lower=lower), lower


def _columns(a: Any, b: Any) -> tuple[Any, Any, bool]:
    """a and b with one batch shape, b as columns; whether b was a vector."""
    vector = b.ndim == a.ndim - 1 or b.ndim == 1
    b = b[..., None] if vector else b
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return (jnp.broadcast_to(a, (*batch, *a.shape[-2:])),
            jnp.broadcast_to(b, (*batch, *b.shape[-2:])), vector)


def _require_system(name: str, a: Any, b: Any) -> None:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"{name}: expected a square matrix, got shape {a.shape}")
    if b.ndim == 0 or b.shape[-1 if b.ndim in (1, a.ndim - 1) else -2] != a.shape[-1]:
        raise ValueError(f"{name}: incompatible shapes {a.shape} and {b.shape}")


@jit(static_argnames=("lower",))
def _cho_solve(c, b, lower):
    c, b = inexact("jax.scipy.linalg.cho_solve", c, b)
    _require_system("cho_solve", c, b)
    c, b, vector = _columns(c, b)
    first, second = (dict(transpose_a=t, conjugate_a=t) for t in (not lower, lower))
    x = lax_linalg.triangular_solve(c, b, left_side=True, lower=lower, **first)
    x = lax_linalg.triangular_solve(c, x, left_side=True, lower=lower, **second)
    return x[..., 0] if vector else x


def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    """x with a x = b, from `cho_factor(a)`."""
    hints(overwrite_b=overwrite_b, check_finite=check_finite)
    c, lower = c_and_lower
    return _cho_solve(c, b, bool(lower))


# --- LU --------------------------------------------------------------------------------------


@jit(static_argnames=("permute_l",))
def _lu(a, permute_l):
    a = inexact("jax.scipy.linalg.lu", a)
    packed, _, permutation = lax_linalg.lu(a)
    m, n = a.shape[-2:]
    k = min(m, n)
    real = jnp.finfo(a.dtype).dtype
    p = (jnp.arange(m, dtype=np.int32)[:, None] == permutation[..., None, :]).astype(real)
    low = tril(packed, -1)[..., :, :k] + jnp.eye(m, k, dtype=a.dtype)
    up = triu(packed)[..., :k, :]
    if permute_l:
        return product(p.astype(a.dtype), low), up
    return p, low, up


def lu(a, permute_l=False, overwrite_a=False, check_finite=True):
    """(P, L, U) with a = P L U, or (P L, U) with `permute_l`, for a [..., m, n]."""
    hints(overwrite_a=overwrite_a, check_finite=check_finite)
    return _lu(a, bool(permute_l))


@jit
def _lu_factor(a):
    packed, pivots, _ = lax_linalg.lu(inexact("jax.scipy.linalg.lu_factor", a))
    return packed, pivots


def lu_factor(a, overwrite_a=False, check_finite=True):
    """(packed factors, pivots) of a [..., m, n], for `lu_solve`."""
    hints(overwrite_a=overwrite_a, check_finite=check_finite)
    return _lu_factor(a)


@jit(static_argnames=("trans",))
def _lu_solve(packed, pivots, b, trans):
    packed, b = inexact("jax.scipy.linalg.lu_solve", packed, b)
    _require_system("lu_solve", packed, b)
    packed, b, vector = _columns(packed, b)
    order = lax_linalg.lu_pivots_to_permutation(jnp.asarray(pivots, np.int32), packed.shape[-1])
    order = jnp.broadcast_to(order, b.shape[:-1])
    lower = dict(left_side=True, lower=True, unit_diagonal=True)
    upper = dict(left_side=True, lower=False)
    if trans == 0:
        x = lax_linalg.triangular_solve(packed, take_rows(b, order), **lower)
        x = lax_linalg.triangular_solve(packed, x, **upper)
    else:
        turned = dict(transpose_a=True, conjugate_a=trans == 2)
        x = lax_linalg.triangular_solve(packed, b, **upper, **turned)
        x = lax_linalg.triangular_solve(packed, x, **lower, **turned)
        x = take_rows(x, jnp.argsort(order, axis=-1))
    return x[..., 0] if vector else x


def lu_solve(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    """x with a x = b (trans 0), aᵀ x = b (1) or aᴴ x = b (2), from `lu_factor(a)`."""
    hints(overwrite_b=overwrite_b, check_finite=check_finite)
    packed, pivots = lu_and_piv
    if trans not in (0, 1, 2):
        raise ValueError(f"'trans' value must be 0, 1, or 2, got {trans}")
    return _lu_solve(packed, pivots, b, int(trans))


# --- systems ---------------------------------------------------------------------------------


@jit(static_argnames=("trans", "lower", "unit_diagonal"))
def _solve_triangular(a, b, trans, lower, unit_diagonal):
    a, b = inexact("jax.scipy.linalg.solve_triangular", a, b)
    _require_system("solve_triangular", a, b)
    a, b, vector = _columns(a, b)
    x = lax_linalg.triangular_solve(
        a, b, left_side=True, lower=lower, transpose_a=trans > 0, conjugate_a=trans == 2,
        unit_diagonal=unit_diagonal)
    return x[..., 0] if vector else x


def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False,
                     debug=None, check_finite=True):
    """x with op(a) x = b for triangular a; `trans` 0 "N", 1 "T" (transpose), 2 "C" (adjoint)."""
    hints(overwrite_b=overwrite_b, debug=debug, check_finite=check_finite)
    names = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}
    if trans not in names:
        raise ValueError(f"Invalid 'trans' value {trans}")
    return _solve_triangular(a, b, names[trans], bool(lower), bool(unit_diagonal))


@jit(static_argnames=("lower",))
def _solve_positive(a, b, lower):
    return cho_solve(cho_factor(a, lower=lower), b)


def solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, debug=False, check_finite=True,
          assume_a="gen"):
    """x with a x = b; assume_a "gen", "sym", "her" (all by LU) or "pos" (by Cholesky).

    `lower` names the triangle that "pos" reads.
    """
    hints(overwrite_a=overwrite_a, overwrite_b=overwrite_b, debug=debug, check_finite=check_finite)
    kinds = ["gen", "sym", "her", "pos"]
    if assume_a not in kinds:
        raise ValueError(f"Expected assume_a to be one of {kinds}; got '{assume_a}'")
    return _solve_positive(a, b, bool(lower)) if assume_a == "pos" else jnp.linalg.solve(a, b)


def inv(a, overwrite_a=False, check_finite=True):
    """The inverse of a [..., n, n]."""
    hints(overwrite_a=overwrite_a, check_finite=check_finite)
    return jnp.linalg.inv(a)


def det(a, overwrite_a=False, check_finite=True):
    """The determinant of a [..., n, n]."""
    hints(overwrite_a=overwrite_a, check_finite=check_finite)
    return jnp.linalg.det(a)


# --- QR --------------------------------------------------------------------------------------


@jit(static_argnames=("mode", "pivoting"))
def _qr(a, mode, pivoting):
    a = inexact("jax.scipy.linalg.qr", a)
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    q, *rest = lax_linalg.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return tuple(rest) if mode == "r" else (q, *rest)


def qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    """(Q, R), with `pivoting` (Q, R, p) and a[:, p] = Q R.

    `mode`: "full" (Q [..., m, m]), "economic" (Q [..., m, k]), "r" (without Q).
    """
    hints(overwrite_a=overwrite_a, lwork=lwork, check_finite=check_finite)
    return _qr(a, mode, bool(pivoting))


@jit(static_argnames=("mode", "pivoting", "conjugate"))
def _qr_multiply(a, c, mode, pivoting, conjugate):
    a, c = inexact("jax.scipy.linalg.qr_multiply", a, c)
    if mode not in ("right", "left"):
        raise ValueError(f"mode must be 'right' or 'left', got '{mode}'")
    q, *rest = _qr(a, "economic", pivoting)
    q = jnp.conj(q) if conjugate else q
    inner = q.shape[-1] if mode == "left" else q.shape[-2]
    found = c.shape[0 if mode == "left" else -1]
    if inner != found:
        which, what = ("Q @ c", "columns") if mode == "left" else ("c @ Q", "rows")
        raise ValueError(f"Array shapes are not compatible for {which} operation: a has shape "
                         f"{a.shape} so Q has {inner} {what}, but c has {found} "
                         f"{'rows' if mode == 'left' else 'columns'} (expected {inner}).")
    exact = lax.Precision.HIGHEST
    out = jnp.matmul(*((q, c) if mode == "left" else (c, q)), precision=exact)
    return (out, *rest)


def qr_multiply(a, c, mode="right", pivoting=False, conjugate=False, overwrite_a=False,
                overwrite_c=False):
    """(c Q or Q c, R[, p]) for a = Q R with Q [m, k]; `conjugate`: with the conjugate of Q."""
    hints(overwrite_a=overwrite_a, overwrite_c=overwrite_c)
    return _qr_multiply(a, c, mode, bool(pivoting), bool(conjugate))


# --- Schur, Hessenberg -----------------------------------------------------------------------


def schur(a, output="real"):
    """[T, Z] with a = Z T Zᴴ, Z unitary; output "complex" gives a triangular T for real a too."""
    if output not in ("real", "complex"):
        raise ValueError("Expected 'output' to be either 'real' or 'complex', got "
                         f"output='{output}'.")
    return _schur(a, output)


@jit(static_argnames=("output",))
def _schur(a, output):
    a = inexact("jax.scipy.linalg.schur", a)
    if output == "complex":
        a = a.astype(jnp.result_type(a.dtype, np.complex64))
    return list(lax_linalg.schur(a))


def hessenberg(a, *, calc_q=False, overwrite_a=False, check_finite=True):
    """H, or (H, Q) with a = Q H Qᴴ (`calc_q`): zeros below the first subdiagonal."""
    hints(overwrite_a=overwrite_a, check_finite=check_finite)
    return _hessenberg(a, bool(calc_q))


@jit(static_argnames=("calc_q",))
def _hessenberg(a, calc_q):
    a = inexact("jax.scipy.linalg.hessenberg", a)
    packed, taus = lax_linalg.hessenberg(a)
    h = triu(packed, -1)
    if not calc_q:
        return h
    n = a.shape[-1]
    if n < 2:
        return h, jnp.broadcast_to(jnp.eye(n, dtype=a.dtype), a.shape)
    inner = lax_linalg.householder_product(packed[..., 1:, :-1], taus)
    pads = [(0, 0)] * (a.ndim - 2) + [(1, 0), (1, 0)]
    return h, jnp.pad(inner, pads).at[..., 0, 0].set(1)


def rsf2csf(T, Z, check_finite=True):
    """Complex (T, Z) of a real Schur form: its blocks of two are made triangular by rotations."""
    hints(check_finite=check_finite)
    return _rsf2csf(T, Z)


def _rotate(k: Any, state: Any, n: int) -> Any:
    """Makes element (m, m-1) zero, m = n - 1 - k, by a rotation of rows and columns m-1, m."""
    t, z = state
    m = n - 1 - k
    block = lax.dynamic_slice(t, (m - 1, m - 1), (2, 2))
    low = block[1, 0]
    half = (block[0, 0] - block[1, 1]) / 2
    mu = half + jnp.sqrt(half * half + block[0, 1] * low)    # an eigenvalue less block[1, 1]
    size = jnp.sqrt(jnp.abs(mu) ** 2 + jnp.abs(low) ** 2)
    tiny = jnp.finfo(t.dtype).eps * (jnp.abs(block[0, 0]) + jnp.abs(block[1, 1]))
    needed = jnp.abs(low) > tiny
    safe = jnp.where(needed, size, 1).astype(t.dtype)
    c, s = jnp.where(needed, mu / safe, 1), jnp.where(needed, low / safe, 0)
    g = jnp.stack([jnp.stack([jnp.conj(c), s]), jnp.stack([-s, c])])
    rows = lax.dynamic_slice(t, (m - 1, 0), (2, n))
    t = lax.dynamic_update_slice(t, product(g, rows), (m - 1, 0))
    columns = lax.dynamic_slice(t, (0, m - 1), (n, 2))
    t = lax.dynamic_update_slice(t, product(columns, adjoint(g)), (0, m - 1))
    columns = lax.dynamic_slice(z, (0, m - 1), (n, 2))
    z = lax.dynamic_update_slice(z, product(columns, adjoint(g)), (0, m - 1))
    return t.at[m, m - 1].set(0), z


@jit
def _rsf2csf(t, z):
    t, z = inexact("jax.scipy.linalg.rsf2csf", t, z)
    for name, x in (("T", t), ("Z", z)):
        if x.ndim != 2 or x.shape[0] != x.shape[1]:
            raise ValueError(f"Input '{name}' must be square.")
    if t.shape != z.shape:
        raise ValueError(f"Input array shapes must match: Z: {z.shape} vs. T: {t.shape}")
    dtype = jnp.result_type(t.dtype, np.complex64)
    t, z, n = t.astype(dtype), z.astype(dtype), t.shape[0]
    if n < 2:
        return t, z
    t, z = lax.fori_loop(0, n - 1, lambda k, state: _rotate(k, state, n), (t, z))
    return jnp.triu(t), z


# --- eigenvalues, singular values ------------------------------------------------------------


@jit(static_argnames=("lower", "eigvals_only"))
def _eigh(a, lower, eigvals_only):
    a = inexact("jax.scipy.linalg.eigh", a)
    vectors, values = lax_linalg.eigh(a, lower=lower)
    return values if eigvals_only else (values, vectors)


def eigh(a, b=None, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False,
         turbo=True, eigvals=None, type=1, check_finite=True):
    """Eigenvalues (and vectors) of Hermitian a [..., n, n]. Generalised problems are not done."""
    hints(overwrite_a=overwrite_a, overwrite_b=overwrite_b, turbo=turbo, check_finite=check_finite)
    if b is not None:
        raise NotImplementedError("Only the b=None case of eigh is implemented")
    if type != 1:
        raise NotImplementedError("Only the type=1 case of eigh is implemented.")
    if eigvals is not None:
        raise NotImplementedError("Only the eigvals=None case of eigh is implemented.")
    return _eigh(a, bool(lower), bool(eigvals_only))


@jit(static_argnames=("eigvals_only", "select", "select_range"))
def _eigh_tridiagonal(d, e, eigvals_only, select, select_range):
    d, e = inexact("jax.scipy.linalg.eigh_tridiagonal", d, e)
    if d.dtype.itemsize == 2:
        raise TypeError("Only float32 and float64 inputs are supported as inputs to "
                        f"jax.scipy.linalg.eigh_tridiagonal, got {d.dtype} and {e.dtype}")
    if d.ndim != 1 or e.shape != (max(d.shape[0] - 1, 0),):
        raise TypeError("eigh_tridiagonal takes a diagonal of shape (n,) and one beside it of "
                        f"shape (n - 1,), got {d.shape} and {e.shape}")
    matrix = jnp.diag(d) + jnp.diag(e, -1) + jnp.diag(jnp.conj(e), 1)
    vectors, values = lax_linalg.eigh(matrix, symmetrize_input=False)
    if select == "i":
        chosen = slice(select_range[0], select_range[1] + 1)
        values, vectors = values[chosen], vectors[:, chosen]
    return values if eigvals_only else (values, vectors)


def eigh_tridiagonal(d, e, *, eigvals_only=False, select="a", select_range=None, tol=None,
                     key=None):
    """Eigenvalues (and vectors) of the Hermitian tridiagonal matrix with diagonals d [n], e [n-1].

    `select` "a": all; "i": those numbered select_range[0] … select_range[1]. They are computed
    directly, so `tol` and `key` (of iterative methods) have nothing to decide.
    """
    hints(tol=tol)
    if key is not None:
        jnp.shape(key)                                      # a PRNG key is an array
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal(..., select='v') is not implemented")
    if select not in ("a", "i"):
        raise ValueError("'select must have a value in {'a', 'i', 'v'}.")
    if select == "i":
        if select_range is None or select_range[0] > select_range[1]:
            raise ValueError("For select='i', select_range must be two rising indices, got "
                             f"{select_range}.")
        select_range = tuple(int(i) for i in select_range)
    return _eigh_tridiagonal(d, e, bool(eigvals_only), select, select_range)


@jit(static_argnames=("full_matrices", "compute_uv", "driver"))
def _svd(a, full_matrices, compute_uv, driver):
    a = inexact("jax.scipy.linalg.svd", a)
    algorithm = lax_linalg.SvdAlgorithm.QR if driver == "gesvd" else None
    return lax_linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv,
                          algorithm=algorithm)


def svd(a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True,
        lapack_driver="gesdd"):
    """(U, s, Vᴴ) with a = U diag(s) Vᴴ, or s alone; `lapack_driver` "gesdd" or "gesvd"."""
    hints(overwrite_a=overwrite_a, check_finite=check_finite)
    if lapack_driver not in ("gesdd", "gesvd"):
        raise ValueError(f"lapack_driver must be 'gesdd' or 'gesvd', got {lapack_driver!r}")
    return _svd(a, bool(full_matrices), bool(compute_uv), lapack_driver)


__all__ = ["cho_factor", "cho_solve", "cholesky", "det", "eigh", "eigh_tridiagonal", "hessenberg",
           "inv", "lu", "lu_factor", "lu_solve", "qr", "qr_multiply", "rsf2csf",
           "schur", "solve", "solve_triangular", "svd"]
