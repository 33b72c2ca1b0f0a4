"""Eigenvalues, singular values, QR, and what rests on them: pseudoinverse, least squares, rank.

In: matrices [..., m, n]. Out: named tuples of arrays, or arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.custom_derivatives import custom_jvp
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.core.avals import Array
from jitney.lax import linalg as lax_linalg
from jitney.lax.linalg.common import adjoint, product, swap_last
from jitney.lax.linalg.qr import geqrf
from jitney.numpy.jitted import is_eager, traced_call
from jitney.numpy.linalg_norms import norm
from jitney.numpy.linalg_solve import inexact, inv
from jitney.numpy.promotion import arraylike, shape_of


class EigResult(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    Q: Array
    R: Array


class SVDResult(NamedTuple):
    U: Array
    S: Array
    Vh: Array


# --- eigenvalues -----------------------------------------------------------------------------


def _is_lower(uplo: Any) -> bool:
    if uplo not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {uplo}")
    return uplo != "U"


@traced_call(static_argnames=("UPLO", "symmetrize_input"))
def eigh(a, UPLO=None, symmetrize_input=True):
    """(eigenvalues, eigenvectors) of Hermitian a [..., n, n]: rising, and orthonormal columns.

    `symmetrize_input`: (a + aᴴ)/2 is decomposed; otherwise only the triangle UPLO ("L", "U") is
    read.
    """
    a = inexact("jnp.linalg.eigh", a)
    vectors, values = lax_linalg.eigh(a, lower=_is_lower(UPLO), symmetrize_input=symmetrize_input)
    return EighResult(values, vectors)


@traced_call(static_argnames=("UPLO", "symmetrize_input"))
def eigvalsh(a, UPLO="L", *, symmetrize_input=True):
    """Rising eigenvalues of Hermitian a [..., n, n] (see `eigh`)."""
    return eigh(a, UPLO, symmetrize_input).eigenvalues


def eig(a):
    """(eigenvalues, right eigenvectors) of any a [..., n, n], complex; columns have norm 1."""
    a = inexact("jnp.linalg.eig", a)
    values, vectors = lax_linalg.eig(a, compute_left_eigenvectors=False)
    return EigResult(values, vectors)


@traced_call
def eigvals(a):
    """Complex eigenvalues of any a [..., n, n]."""
    a = inexact("jnp.linalg.eigvals", a)
    return lax_linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


# --- svd -------------------------------------------------------------------------------------


def _hermitian_svd(a: Any, compute_uv: bool, subset: Any) -> Any:
    """Eigenvalues by falling absolute value; their signs go to the right vectors."""
    vectors, values = lax_linalg.eigh(a)
    s = lax.abs(values)
    order = jnp.flip(jnp.argsort(s, axis=-1), axis=-1)
    s = jnp.take_along_axis(s, order, axis=-1)
    if subset is not None:
        s = s[..., subset[0]: subset[1]]
    if not compute_uv:
        return s
    signs = jnp.take_along_axis(jnp.sign(values), order, axis=-1)
    u = jnp.take_along_axis(vectors, order[..., None, :], axis=-1)
    vh = adjoint(u * signs[..., None, :].astype(u.dtype))
    if subset is not None:
        u, vh = u[..., subset[0]: subset[1]], vh[..., subset[0]: subset[1], :]
    return SVDResult(u, s, vh)


@traced_call(static_argnames=("full_matrices", "compute_uv", "hermitian", "subset_by_index"))
def svd(a, full_matrices=True, compute_uv=True, hermitian=False, subset_by_index=None):
    """(U, S, Vh) with a = U diag(S) Vh, or S alone, for a [..., m, n]; S falls.

    `full_matrices`: U is [..., m, m] and Vh [..., n, n] rather than thin. `hermitian`: a is taken
    to be Hermitian, which is quicker.
    """
    a = inexact("jnp.linalg.svd", a)
    if hermitian:
        return _hermitian_svd(a, compute_uv, subset_by_index)
    found = lax_linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv,
                           subset_by_index=subset_by_index)
    return SVDResult(*found) if compute_uv else found


def svdvals(x, /):
    """Falling singular values of x [..., m, n]."""
    return svd(x, compute_uv=False, hermitian=False)


# --- qr --------------------------------------------------------------------------------------


@traced_call(static_argnames=("mode",))
def qr(a, mode="reduced"):
    """(Q, R) with a = Q R for a [..., m, n].

    `mode`: "reduced" (Q [..., m, k]), "complete" (Q [..., m, m]), "r" (R alone), "raw" (transposed
    Householder vectors, factors).
    """
    a = inexact("jnp.linalg.qr", a)
    if mode == "raw":
        packed, taus = geqrf(a)
        return QRResult(swap_last(packed), taus)
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    q, r = lax_linalg.qr(a, pivoting=False, full_matrices=mode in ("full", "complete"))
    return r if mode == "r" else QRResult(q, r)


# --- pseudoinverse, rank, condition ----------------------------------------------------------


def pinv(a, rtol=None, hermitian=False, *, rcond=None):
    """The pseudoinverse of a [..., m, n]; singular values up to rtol * the greatest count as 0.

    `rtol` is 10 max(m, n) eps by default; `rcond` is another name for it.
    """
    if rcond is not None:
        if rtol is not None:
            raise ValueError("pinv: only one of rtol and rcond may be specified.")
        rtol = rcond
    a = inexact("jnp.linalg.pinv", a)
    if len(shape_of(a)) < 2:
        raise ValueError("jnp.linalg.pinv: input array must be at least 2D; got "
                         f"shape {shape_of(a)}.")
    return _pinv(a, rtol, hermitian)


@traced_call(static_argnames=("hermitian",))
def _pinv(a, rtol, hermitian):
    return _pseudoinverse(a, rtol, hermitian)


def _default_rtol(a: Any, factor: int) -> float:
    return factor * max(shape_of(a)[-2:]) * float(dtypes.finfo(a.dtype).eps)


def _pseudoinverse_value(a, rtol, hermitian):
    if a.size == 0:
        return jnp.zeros((*shape_of(a)[:-2], shape_of(a)[-1], shape_of(a)[-2]), a.dtype)
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    share = _default_rtol(a, 10) if rtol is None else jnp.expand_dims(rtol, -1)
    cutoff = share * s[..., :1]
    s = jnp.where(s > cutoff, s, jnp.inf).astype(u.dtype)
    return product(adjoint(vh), adjoint(u) / s[..., None])


_pseudoinverse = custom_jvp(_pseudoinverse_value, nondiff_argnums=(1, 2))


@_pseudoinverse.defjvp
def _pseudoinverse_jvp(rtol, hermitian, primals, tangents):
    # Golub and Pereyra (1973): dP = -P dA P + P Pᴴ dAᴴ (1 - A P) + (1 - P A) dAᴴ Pᴴ P.
    (a,), (t,) = primals, tangents
    p = _pseudoinverse(a, rtol, hermitian)
    if a.size == 0:
        return p, jnp.zeros_like(p)
    ph, th = adjoint(p), adjoint(t)
    first = product(product(p, t), p)
    left = product(product(p, ph), th)
    right = product(th, product(ph, p))
    left = left - product(product(left, a), p)
    right = right - product(p, product(a, right))
    return p, left + right - first


@traced_call(static_argnames=("hermitian",))
def matrix_rank(M, rtol=None, *, hermitian=False, tol=None):
    """The number of singular values above rtol * the greatest (above `tol`, if that is given).

    `rtol` is max(m, n) eps by default. Vectors and scalars have rank 1 unless they are 0.
    """
    if rtol is not None and tol is not None:
        raise ValueError("matrix_rank: only one of tol or rtol may be specified.")
    a = inexact("jnp.linalg.matrix_rank", M)
    if len(shape_of(a)) < 2:
        return (a != 0).any().astype(np.int32)
    s = svd(a, full_matrices=False, compute_uv=False, hermitian=hermitian)
    if tol is None:
        share = _default_rtol(a, 1) if rtol is None else jnp.asarray(rtol, s.dtype)
        tol = s.max(axis=-1, initial=0) * share
    bound = jnp.expand_dims(tol, axis=-1)
    return jnp.sum(s > bound, axis=-1)


@traced_call(static_argnames=("p",))
def cond(x, p=None):
    """The condition number of x [..., m, n]: of singular values (p None, 2, -2), else by norms."""
    x = inexact("jnp.linalg.cond", x)
    shape = shape_of(x)
    if len(shape) < 2:
        raise ValueError(f"jnp.linalg.cond: input array must be at least 2D; got arr.shape={shape}")
    if x.size == 0:
        raise ValueError("jnp.linalg.cond: input array must not be empty; got "
                         f"arr.shape={shape}")
    if p is None or p in (2, -2):
        s = svd(x, compute_uv=False)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    if shape[-2] != shape[-1]:
        raise ValueError(f"jnp.linalg.cond: for {p=}, array must be square; got arr.shape={shape}")
    return norm(x, ord=p, axis=(-2, -1)) * norm(inv(x), ord=p, axis=(-2, -1))


# --- least squares ---------------------------------------------------------------------------


def _least_squares(a: Any, b: Any, rcond: Any, longest: int | None = None) -> Any:
    """`longest`: the longer side of the matrix that counts, if it is not a's."""
    if rcond is None:
        rcond = float(dtypes.finfo(a.dtype).eps) * (longest or max(shape_of(a)))
    else:
        rcond = jnp.where(rcond < 0, float(dtypes.finfo(a.dtype).eps), rcond).astype(a.real.dtype)
    u, s, vt = svd(a, full_matrices=False)
    mask = (s > 0) & (s >= rcond * s[0])
    rank = mask.sum()
    safe = jnp.where(mask, s, 1).astype(a.dtype)
    inverse = jnp.where(mask, 1 / safe, 0)[:, None]
    projected = jnp.matmul(adjoint(u), b, precision=lax.Precision.HIGHEST)
    return jnp.matmul(adjoint(vt), inverse * projected, precision=lax.Precision.HIGHEST), rank, s


@traced_call(static_argnames=("numpy_resid",))
def _lstsq(a, b, rcond, *, numpy_resid=False):
    if a.ndim != 2:
        raise TypeError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if b.ndim not in (1, 2):
        raise TypeError(f"{b.ndim}-dimensional array given. Array must be one or two-dimensional")
    (m, n), single = shape_of(a), b.ndim == 1
    if m != shape_of(b)[0]:
        raise ValueError("Leading dimensions of input arrays must match")
    b = b[:, None] if single else b
    if a.size == 0:
        s, rank = jnp.empty(0, a.dtype), jnp.asarray(0, np.int32)
        x = jnp.zeros((n, shape_of(b)[1]), a.dtype)
    else:
        x, rank, s = _least_squares(a, b, rcond)
    if numpy_resid:
        residuals = jnp.empty(0, s.dtype)
    else:
        rest = b - jnp.matmul(a, x, precision=lax.Precision.HIGHEST)
        residuals = norm(rest, axis=0) ** 2
    return (x.ravel() if single else x), residuals, rank, s


@jit
def _lstsq_of_tall(a, b, rcond):
    """The same of the triangle R of a = Q R, and of Q^H b: both are in the triangle of [a, b]. The
    singular values are those of a; no matrix as tall as a is formed."""
    (m, n), columns = shape_of(a), b if b.ndim == 2 else b[:, None]
    triangle = jnp.triu(geqrf(jnp.concatenate([a, columns], 1))[0])
    r, projected = triangle[:n, :n], triangle[:n, n:]
    rest = triangle[n:n + shape_of(columns)[1], n:]
    x, rank, s = _least_squares(r, projected, rcond, m)
    missed = projected - jnp.matmul(r, x, precision=lax.Precision.HIGHEST)
    residuals = norm(missed, axis=0) ** 2 + norm(rest, axis=0) ** 2
    return (x.ravel() if b.ndim == 1 else x), residuals, rank, s


def _is_tall(a: Any, b: Any) -> bool:
    """Whether an eager call is cheaper by the triangle (and has arguments that fit)."""
    if not is_eager(a, b) or a.ndim != 2 or b.ndim not in (1, 2) or not a.size or not b.size:
        return False
    (m, n), right = shape_of(a), shape_of(b)
    return m == right[0] and m >= 2 * (n + right[-1] if b.ndim == 2 else n + 1)


def lstsq(a, b, rcond=None, *, numpy_resid=False):
    """(x, residuals, rank, singular values) with least |a x - b|, for a [m, n] and b [m] or [m, k].

    Singular values below rcond * the greatest count as 0 (max(m, n) eps by default; eps for a
    negative rcond). Residuals are always given, unless `numpy_resid`: then only for m > n = rank,
    as NumPy does, which cannot be traced.
    """
    arraylike("jnp.linalg.lstsq", a, b)
    a, b = inexact("jnp.linalg.lstsq", a, b)
    solve = _lstsq_of_tall if _is_tall(a, b) else _lstsq
    x, residuals, rank, s = solve(a, b, rcond)
    if numpy_resid:
        m, n = shape_of(a)
        if rank < n or m <= n:
            residuals = jnp.empty(0, s.dtype)
    return x, residuals, rank, s


__all__ = ["cond", "eig", "eigh", "eigvals", "eigvalsh", "lstsq", "matrix_rank",
           "pinv", "qr", "svd", "svdvals"]
