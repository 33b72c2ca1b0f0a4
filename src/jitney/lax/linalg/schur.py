"""Schur, Hessenberg and tridiagonal forms. They run as steps in Python, by SciPy's LAPACK.

In: square matrices [..., n, n]. Out: the reduced form and what leads to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitney.core.avals import ShapedArray
from jitney.core.primitive import Primitive
from jitney.lax.linalg.common import array_type, batch_leading, matrix_type, over_batch, real_dtype

# --- schur -----------------------------------------------------------------------------------


def schur(x, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False,
          select_callable: Callable[..., Any] | None = None):
    """[T, Z] with x = Z T Zᴴ: T (quasi-)triangular, Z unitary; or [T] alone.

    Real matrices keep a real T with blocks of two for pairs of complex eigenvalues.
    """
    if sort_eig_vals:
        raise NotImplementedError("The sort feature of LAPACK's gees routine is not implemented.")
    return list(schur_p.bind(x, compute_schur_vectors=bool(compute_schur_vectors),
                              sort_eig_vals=bool(sort_eig_vals), select_callable=select_callable))


schur_p = Primitive("schur", multiple_results=True, kind="linalg")


@schur_p.def_abstract
def _schur_type(x: ShapedArray, *, compute_schur_vectors, sort_eig_vals, select_callable):
    matrix_type("schur", x, square=True)
    return [array_type(x.shape, x.dtype)] * (1 + compute_schur_vectors)


@schur_p.def_reference
def _schur_reference(x, *, compute_schur_vectors, sort_eig_vals, select_callable):
    import scipy.linalg

    def one(a):
        if a.size == 0:
            return (a, a)[: 1 + compute_schur_vectors]
        return scipy.linalg.schur(a)[: 1 + compute_schur_vectors]

    shape = (x.shape[-2:], x.dtype)
    return over_batch(one, [x], [2], [shape] * (1 + compute_schur_vectors))


batch_leading(schur_p)

# --- hessenberg ------------------------------------------------------------------------------


def hessenberg(a):
    """[h, taus]: the Hessenberg form of a, reflectors below it, and their factors [..., n-1]."""
    return list(hessenberg_p.bind(a))


hessenberg_p = Primitive("hessenberg", multiple_results=True, kind="linalg")


@hessenberg_p.def_abstract
def _hessenberg_type(a: ShapedArray):
    if len(a.shape) >= 2 and a.shape[-1] != a.shape[-2]:
        raise ValueError("Argument to Hessenberg reduction must have shape [..., n, n], got shape "
                         f"{a.shape}")
    matrix_type("hessenberg", a)
    n = a.shape[-1]
    return [array_type(a.shape, a.dtype), array_type((*a.shape[:-2], max(n - 1, 0)), a.dtype)]


@hessenberg_p.def_reference
def _hessenberg_reference(a):
    import scipy.linalg

    n = a.shape[-1]
    (reduce,) = scipy.linalg.get_lapack_funcs(("gehrd",), (a,))

    def one(a):
        if n < 2:
            return a, np.zeros(max(n - 1, 0), a.dtype)
        h, taus, _ = reduce(a)
        return h, taus

    return over_batch(one, [a], [2], [((n, n), a.dtype), ((max(n - 1, 0),), a.dtype)])


batch_leading(hessenberg_p)

# --- tridiagonal -----------------------------------------------------------------------------


def tridiagonal(a, *, lower: bool = True):
    """[h, d, e, taus]: Hermitian a [..., n, n] reduced to real tridiagonal form.

    d [..., n] is its diagonal, e [..., n-1] the diagonal beside it; h holds both and, beyond them
    in the triangle named by `lower`, the reflectors whose factors are taus [..., n-1].
    """
    return list(tridiagonal_p.bind(a, lower=bool(lower)))


tridiagonal_p = Primitive("tridiagonal", multiple_results=True, kind="linalg")


@tridiagonal_p.def_abstract
def _tridiagonal_type(a: ShapedArray, *, lower):
    matrix_type("tridiagonal", a, square=True)
    *batch, n, _ = a.shape
    real = real_dtype(a.dtype)
    if n == 0:
        raise ValueError(f"tridiagonal does not take empty matrices, got shape {a.shape}.")
    return [array_type(a.shape, a.dtype), array_type((*batch, n), real),
            array_type((*batch, n - 1), real), array_type((*batch, n - 1), a.dtype)]


@tridiagonal_p.def_reference
def _tridiagonal_reference(a, *, lower):
    import scipy.linalg

    n, real = a.shape[-1], real_dtype(a.dtype)
    names = ("hetrd",) if a.dtype.kind == "c" else ("sytrd",)
    (reduce,) = scipy.linalg.get_lapack_funcs(names, (a,))

    def one(a):
        if n == 1:
            return a, a.real[0], np.zeros(0, real), np.zeros(0, a.dtype)
        h, d, e, taus, _ = reduce(a, lower=int(lower))
        return h, d, e, taus

    return over_batch(one, [a], [2], [((n, n), a.dtype), ((n,), real), ((n - 1,), real),
                                      ((n - 1,), a.dtype)])


batch_leading(tridiagonal_p)

__all__ = ["hessenberg", "hessenberg_p", "schur", "schur_p", "tridiagonal", "tridiagonal_p"]
