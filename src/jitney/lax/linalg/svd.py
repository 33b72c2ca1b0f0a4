"""Singular values and vectors, and the polar decomposition by qdwh.

In: matrices [..., m, n]. Out: falling singular values, and vectors. A matrix with an element that
is infinite or NaN gives NaN.
"""

from __future__ import annotations

import enum

import numpy as np

from jitney.core.avals import ShapedArray, get_aval
from jitney.core.primitive import Primitive
from jitney.lax.arithmetic import add, div, mul, sub
from jitney.lax.cast import convert_element_type
from jitney.lax.complex_parts import real
from jitney.lax.linalg import common
from jitney.lax.linalg.common import (
    adjoint,
    array_type,
    batch_leading,
    diagonal_of,
    identity_like,
    matrix_type,
    over_batch,
    product,
    real_dtype,
)
from jitney.lax.nary import constant, filled
from jitney.lax.shape import broadcast_in_dim, full, shape_of
from jitney.transforms.jvp import Zero, define_jvp, is_zero


class SvdAlgorithm(enum.Enum):
    """How svd computes: QR is LAPACK's gesvd, the default gesdd (divide and conquer)."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def svd(x, *, full_matrices: bool = True, compute_uv: bool = True,
        subset_by_index: tuple[int, int] | None = None, algorithm: SvdAlgorithm | None = None):
    """(U, s, Vᴴ) with x = U diag(s) Vᴴ, or s alone (not `compute_uv`), for x [..., m, n].

    s real [..., k], k = min(m, n), falling; U [..., m, k] and Vᴴ [..., k, n], or [..., m, m] and
    [..., n, n] with `full_matrices`.
    """
    found = svd_p.bind(x, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv),
                       subset_by_index=subset_by_index, algorithm=algorithm)
    if compute_uv:
        s, u, vh = found
        return u, s, vh
    return found[0]


svd_p = Primitive("svd", multiple_results=True, kind="linalg")


@svd_p.def_abstract
def _svd_type(x: ShapedArray, *, full_matrices, compute_uv, subset_by_index, algorithm):
    matrix_type("svd", x, by_lapack=False)
    *batch, m, n = x.shape
    k = min(m, n)
    if subset_by_index is not None:
        if full_matrices and tuple(subset_by_index) != (0, k):
            raise ValueError("full_matrices and subset_by_index cannot both be set")
        if tuple(subset_by_index) != (0, k):
            raise NotImplementedError("svd: subset_by_index is not supported; take slices of the "
                                      "results.")
    if algorithm in (SvdAlgorithm.JACOBI, SvdAlgorithm.POLAR):
        raise NotImplementedError("The SVD Jacobi and Polar algorithms are not implemented on CPU.")
    if x.size:
        common.require_lapack_dtype("svd", x)
    s = array_type((*batch, k), real_dtype(x.dtype))
    if not compute_uv:
        return [s]
    left, right = (m, n) if full_matrices else (k, k)
    return [s, array_type((*batch, m, left), x.dtype), array_type((*batch, right, n), x.dtype)]


@svd_p.def_reference
def _svd_reference(x, *, full_matrices, compute_uv, subset_by_index, algorithm):
    m, n = x.shape[-2:]
    k = min(m, n)
    left, right = (m, n) if full_matrices else (k, k)

    def one(a):
        if not np.isfinite(a).all():
            raise ValueError("not finite")
        if not compute_uv:
            return np.linalg.svd(a, compute_uv=False)
        u, s, vh = np.linalg.svd(a, full_matrices=full_matrices)
        return s, u, vh

    results = [((k,), real_dtype(x.dtype)), ((m, left), x.dtype), ((right, n), x.dtype)]
    return over_batch(one, [x], [2], results if compute_uv else results[:1])


def _svd_jvp(primals, tangents, *, full_matrices, compute_uv, subset_by_index, algorithm):
    (x,), (t,) = primals, tangents
    others = dict(subset_by_index=subset_by_index, algorithm=algorithm)
    if is_zero(t):
        out = svd_p.bind(x, full_matrices=full_matrices, compute_uv=compute_uv, **others)
        return out, [Zero.from_primal_value(o) for o in out]
    m, n = shape_of(x)[-2:]
    if compute_uv and full_matrices and m != n:
        raise NotImplementedError("Singular value decomposition JVP not implemented for full "
                                  "matrices: pass full_matrices=False.")
    full = compute_uv and full_matrices  # of a square matrix
    out = svd_p.bind(x, full_matrices=full, compute_uv=True, **others)
    s, u, vh = out
    inside = product(adjoint(u), product(t, adjoint(vh)))
    diagonal = diagonal_of(inside)
    ds = real(diagonal) if common.is_complex(x) else diagonal
    if not compute_uv:
        return [s], [ds]
    du, dv = _vector_tangents(s, u, vh, t, inside)
    return out, [ds, du, adjoint(dv)]


def _over(s, shape, axis):
    """s along the last axis (constant along -2), or along the last but one (constant along -1)."""
    rank = len(shape)
    return broadcast_in_dim(s, shape, [i for i in range(rank) if i != rank + axis])


def _vector_tangents(s, u, vh, t, p):
    """dU, dV of the thin decomposition, p = Uᴴ dA V (Townsend 2016, "Differentiating the SVD").

    dU = U (F ∘ (p S + S pᴴ)) + (1 - U Uᴴ) dA V S⁻¹, dV likewise, F[i, j] = 1/(s[j]² - s[i]²); for
    complex matrices the imaginary part of diag(p)/s turns U.
    """
    v, dtype = adjoint(vh), get_aval(u).dtype
    k = shape_of(s)[-1]
    shape = (*shape_of(s), k)
    rows, columns = _over(s, shape, -2), _over(s, shape, -1)
    eye = identity_like(rows, k)
    gaps = add(mul(add(rows, columns), sub(rows, columns)), eye)
    f = convert_element_type(sub(div(filled(gaps, 1), gaps), eye), dtype)
    rows, columns = (convert_element_type(x, dtype) for x in (rows, columns))
    scaled_right, scaled_left = mul(p, rows), mul(columns, p)
    inner_u = mul(f, add(scaled_right, adjoint(scaled_right)))
    inner_v = mul(f, add(scaled_left, adjoint(scaled_left)))
    if common.is_complex(u):
        turn = mul(convert_element_type(eye, dtype), div(sub(p, adjoint(p)), add(rows, rows)))
        inner_u = add(inner_u, turn)
    du, dv = product(u, inner_u), product(v, inner_v)
    m, n = shape_of(u)[-2], shape_of(v)[-2]
    if m > k:
        du = add(du, _outside(u, product(t, v), s))
    if n > k:
        dv = add(dv, _outside(v, product(adjoint(t), u), s))
    return du, dv


def _outside(q, x, s):
    """(1 - q qᴴ) x S⁻¹."""
    rest = sub(x, product(q, product(adjoint(q), x)))
    scale = convert_element_type(_over(s, shape_of(rest), -2), get_aval(rest).dtype)
    return div(rest, scale)


define_jvp(svd_p, _svd_jvp)
batch_leading(svd_p)

# --- polar decomposition ---------------------------------------------------------------------


def qdwh(x, *, is_hermitian: bool = False, max_iterations: int | None = None,
         eps: float | None = None, dynamic_shape: tuple[int, int] | None = None):
    """(u, h, number of iterations, whether converged) with x = u h: u orthonormal, h Hermitian.

    x is [m, n] with m >= n, of full rank. The factor is a product of singular vectors here; the
    iteration JAX runs gives the same, so 1 iteration is reported. `dynamic_shape`: only the first
    rows and columns of x count.
    """
    m, n = shape_of(x)[-2:]
    if m < n:
        raise ValueError(f"The input matrix of shape M x N must have M >= N, got {shape_of(x)}.")
    left, s, vh = svd(x, full_matrices=False)
    if dynamic_shape is not None:
        kept = common.compare.gt(s, filled(s, float(np.finfo(get_aval(s).dtype).tiny)))
        zero = full(shape_of(vh), 0, get_aval(vh).dtype)
        vh = common.select(broadcast_in_dim(kept, shape_of(vh), range(len(shape_of(vh)) - 1)),
                           vh, zero)
    u = product(left, vh)
    h = product(adjoint(u), x)
    h = div(add(h, adjoint(h)), constant(h, 2))
    return u, h, full((), 1, np.int32), full((), True, np.bool_)


__all__ = ["SvdAlgorithm", "qdwh", "svd", "svd_p"]
