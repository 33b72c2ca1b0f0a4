"""Eigenvalues and eigenvectors: eigh of Hermitian matrices, eig of any square ones.

In: matrices [..., n, n]. Out: eigenvalues, and eigenvectors as columns of norm 1. A matrix with an
element that is infinite or NaN gives NaN.
"""

from __future__ import annotations

import enum

import numpy as np

from jitney.core.avals import ShapedArray, get_aval
from jitney.core.primitive import Primitive
from jitney.lax import compare
from jitney.lax.arithmetic import add, div, mul, neg, sub
from jitney.lax.cast import convert_element_type
from jitney.lax.complex_parts import abs as magnitude
from jitney.lax.complex_parts import complex as make_complex
from jitney.lax.complex_parts import imag, real
from jitney.lax.linalg import common
from jitney.lax.linalg.cholesky import symmetrize
from jitney.lax.linalg.common import (
    adjoint,
    array_type,
    batch_leading,
    complex_dtype,
    diagonal_of,
    identity_like,
    matrix_type,
    over_batch,
    product,
    real_dtype,
)
from jitney.lax.linalg.lu import lu, lu_solve
from jitney.lax.nary import filled
from jitney.lax.reduce import argmax, reduce_sum
from jitney.lax.select import select
from jitney.lax.shape import broadcast_in_dim, broadcasted_iota, expand_dims, shape_of, zeros_like
from jitney.transforms.jvp import Zero, define_jvp, is_zero


class EighImplementation(enum.Enum):
    """How eigh computes, as in JAX. On the CPU each is LAPACK's divide and conquer."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class EigImplementation(enum.Enum):
    """How eig computes; only LAPACK serves on the CPU."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


def _rows(w, rank):
    """w[..., None, :]."""
    return expand_dims(w, (rank - 2,))


def _columns(w, rank):
    """w[..., :, None]."""
    return expand_dims(w, (rank - 1,))


def _spread(x, shape, axis):
    """[..., n] over [..., n, n], constant along `axis` (-1 or -2)."""
    rank = len(shape)
    dims = [i for i in range(rank) if i != rank + axis]
    return broadcast_in_dim(x, shape, dims)


# --- eigh ------------------------------------------------------------------------------------


def eigh(x, *, lower: bool = True, symmetrize_input: bool = True, sort_eigenvalues: bool = True,
         subset_by_index: tuple[int, int] | None = None,
         implementation: EighImplementation | None = None):
    """(V, w): orthonormal eigenvectors and rising eigenvalues of Hermitian x [..., n, n].

    V [..., n, n], w real [..., n]. `symmetrize_input`: (x + xᴴ)/2 is decomposed; otherwise only the
    triangle named by `lower` is read. `subset_by_index` (first, end): only these eigenvalues.
    """
    if symmetrize_input:
        x = symmetrize(x)
    v, w = eigh_p.bind(x, lower=bool(lower), sort_eigenvalues=bool(sort_eigenvalues),
                       subset_by_index=subset_by_index, algorithm=implementation)
    return v, w


eigh_p = Primitive("eigh", multiple_results=True, kind="linalg")


@eigh_p.def_abstract
def _eigh_type(x: ShapedArray, *, lower, sort_eigenvalues, subset_by_index, algorithm):
    if len(x.shape) >= 2 and x.shape[-1] != x.shape[-2]:
        raise ValueError("Argument to symmetric eigendecomposition must have shape [..., n, n], "
                         f"got shape {x.shape}")
    matrix_type("eigh", x)
    *batch, n, _ = x.shape
    first, end = subset_by_index or (0, n)
    if subset_by_index is not None and subset_by_index != (0, n):
        raise NotImplementedError("eigh: subset_by_index is not supported; take slices of the "
                                  "results.")
    return [array_type((*batch, n, end - first), x.dtype),
            array_type((*batch, end - first), real_dtype(x.dtype))]


@eigh_p.def_reference
def _eigh_reference(x, *, lower, sort_eigenvalues, subset_by_index, algorithm):
    n = x.shape[-1]

    def one(a):
        if not np.isfinite(a).all():
            raise ValueError("not finite")
        w, v = np.linalg.eigh(a, UPLO="L" if lower else "U")
        return v, w

    return over_batch(one, [x], [2], [((n, n), x.dtype), ((n,), real_dtype(x.dtype))])


def _gaps(w, shape):
    """1 / (w[j] - w[i]), and 0 on the diagonal."""
    eye = identity_like(zeros_like(_spread(w, shape, -1)), shape[-1])
    one = add(eye, sub(_spread(w, shape, -2), _spread(w, shape, -1)))
    return sub(div(filled(one, 1), one), eye)


def _eigh_jvp(primals, tangents, **params):
    # dw = diag(Vᴴ dA V), dV = V (F ∘ Vᴴ dA V), F[i, j] = 1/(w[j] - w[i]) (Giles 2008, 3.1).
    (x,), (t,) = primals, tangents
    v, w = eigh_p.bind(x, **params)
    if is_zero(t):
        return [v, w], [Zero.from_primal_value(v), Zero.from_primal_value(w)]
    inside = product(adjoint(v), product(t, v))
    gaps = convert_element_type(_gaps(w, shape_of(v)), get_aval(v).dtype)
    dv = product(v, mul(gaps, inside))
    return [v, w], [dv, _real(diagonal_of(inside))]


def _real(x):
    return real(x) if common.is_complex(x) else x


define_jvp(eigh_p, _eigh_jvp)
batch_leading(eigh_p)

# --- eig -------------------------------------------------------------------------------------


def eig(x, *, compute_left_eigenvectors: bool = True, compute_right_eigenvectors: bool = True,
        enable_eigvec_derivs: bool = False, implementation: EigImplementation | None = None,
        use_magma: bool | None = None):
    """[w, left, right] (as asked): complex eigenvalues and eigenvectors of x [..., n, n].

    x v = w v for right and uᴴ x = w uᴴ for left vectors, columns of norm 1 whose greatest component
    is real. Derivatives of vectors need `enable_eigvec_derivs`: they are right if eigenvalues are
    distinct.
    """
    if implementation not in (None, EigImplementation.LAPACK):
        raise ValueError("Only the lapack implementation is supported on CPU.")
    return list(eig_p.bind(x, compute_left_eigenvectors=bool(compute_left_eigenvectors),
                           compute_right_eigenvectors=bool(compute_right_eigenvectors),
                           enable_eigvec_derivs=bool(enable_eigvec_derivs),
                           implementation=implementation))


eig_p = Primitive("eig", multiple_results=True, kind="linalg")


@eig_p.def_abstract
def _eig_type(x: ShapedArray, *, compute_left_eigenvectors, compute_right_eigenvectors,
              enable_eigvec_derivs, implementation):
    matrix_type("eig", x, square=True)
    dtype = complex_dtype(x.dtype)
    vectors = [array_type(x.shape, dtype)] * (compute_left_eigenvectors
                                              + compute_right_eigenvectors)
    return [array_type(x.shape[:-1], dtype), *vectors]


@eig_p.def_reference
def _eig_reference(x, *, compute_left_eigenvectors, compute_right_eigenvectors,
                   enable_eigvec_derivs, implementation):
    n, dtype = x.shape[-1], complex_dtype(x.dtype)
    wanted = (compute_left_eigenvectors, compute_right_eigenvectors)

    def one(a):
        if compute_left_eigenvectors and n:
            import scipy.linalg

            return scipy.linalg.eig(a, left=True, right=compute_right_eigenvectors)
        if not np.isfinite(a).all():
            raise ValueError("not finite")
        w, v = np.linalg.eig(a) if any(wanted) else (np.linalg.eigvals(a), None)
        return (w, v, v)[: 1 + sum(wanted)]

    with np.errstate(all="ignore"):
        out = over_batch(one, [x], [2], [((n,), dtype)] + [((n, n), dtype)] * sum(wanted))
    for o in out:                                          # NaN in both parts
        o[np.isnan(o)] = complex(np.nan, np.nan)
    return out


_NO_VECTOR_DERIVATIVE = (
    "Derivatives of non-symmetric eigenvectors are only valid under assumptions on the input that "
    "cannot be checked: distinct eigenvalues. Pass enable_eigvec_derivs=True to lax.linalg.eig to "
    "opt in, or use eigenvalues only.")


def _eig_jvp(primals, tangents, *, compute_left_eigenvectors, compute_right_eigenvectors,
             enable_eigvec_derivs, implementation):
    # dw = diag(V⁻¹ dA V); V⁻¹ dV = F ∘ (V⁻¹ dA V) up to the scale of each column (Giles 2008, 3.1).
    (x,), (t,) = primals, tangents
    asked = dict(compute_left_eigenvectors=compute_left_eigenvectors,
                 compute_right_eigenvectors=compute_right_eigenvectors,
                 enable_eigvec_derivs=enable_eigvec_derivs, implementation=implementation)
    out = eig_p.bind(x, **asked)
    if is_zero(t):
        return out, [Zero.from_primal_value(o) for o in out]
    if len(out) > 1 and not enable_eigvec_derivs:
        raise NotImplementedError(_NO_VECTOR_DERIVATIVE)
    if compute_left_eigenvectors:
        raise NotImplementedError("Derivatives of left eigenvectors are not implemented; take the "
                                  "right eigenvectors of the adjoint matrix.")
    w, v = out if len(out) > 1 else eig_p.bind(
        x, **{**asked, "compute_right_eigenvectors": True})
    moved = product(convert_element_type(t, get_aval(w).dtype), v)
    packed, _, permutation = lu(v)
    inside = lu_solve(v, packed, permutation, moved)
    dots = [diagonal_of(inside)]
    if compute_right_eigenvectors:
        dots.append(_normalized(v, product(v, mul(_gaps(w, shape_of(v)), inside))))
    return out, dots


def _normalized(v, dv):
    """dv without what changes a column's norm or the phase of its greatest component."""
    shape, rank = shape_of(v), len(shape_of(v))
    overlap = _real(reduce_sum(mul(adjoint_elements(v), dv), (rank - 2,)))
    top = argmax(magnitude(v), rank - 2, np.int32)
    row = broadcasted_iota(np.int32, shape, rank - 2)
    chosen = compare.eq(row, _spread(top, shape, -2))
    ratio = select(chosen, div(dv, select(chosen, v, filled(v, 1))), filled(v, 0))
    phase = imag(reduce_sum(ratio, (rank - 2,)))
    # after the norm is kept, the phase that is left is that of the greatest component
    along = make_complex(overlap, phase)
    return add(dv, neg(mul(v, _spread(along, shape, -2))))


def adjoint_elements(v):
    return common.conj(v) if common.is_complex(v) else v


define_jvp(eig_p, _eig_jvp)
batch_leading(eig_p)

__all__ = ["EigImplementation", "EighImplementation", "eig", "eig_p", "eigh", "eigh_p"]
