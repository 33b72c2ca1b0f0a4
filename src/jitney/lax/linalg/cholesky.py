"""Cholesky factors, their rank-one update, and symmetric products.

In: Hermitian matrices. Out: triangular factors. A matrix that is not positive definite gives NaN.
"""

from __future__ import annotations

import numpy as np

from jitney.core.avals import ShapedArray
from jitney.core.primitive import Primitive
from jitney.lax.arithmetic import add, div, mul
from jitney.lax.linalg import common
from jitney.lax.linalg.common import (
    adjoint,
    array_type,
    batch_leading,
    matrix_type,
    over_batch,
    product,
    swap_last,
    tril,
    triu,
)
from jitney.lax.linalg.triangular import triangular_solve
from jitney.lax.nary import constant
from jitney.lax.shape import expand_dims, shape_of
from jitney.transforms.jvp import Zero, define_jvp, instantiate_zeros, is_zero

# --- cholesky --------------------------------------------------------------------------------


def symmetrize(x):
    """(x + xᴴ) / 2."""
    return div(add(x, adjoint(x)), constant(x, 2))


def cholesky(x, *, symmetrize_input: bool = True):
    """The lower triangular L with x = L Lᴴ, for Hermitian positive definite x [..., n, n].

    `symmetrize_input`: (x + xᴴ)/2 is factored; otherwise only the lower triangle is read. A matrix
    that is not positive definite gives NaN. TypeError for a rank below 2 or integers.
    """
    if symmetrize_input:
        x = symmetrize(x)
    return tril(cholesky_p.bind(x))


cholesky_p = Primitive("cholesky", kind="linalg")


@cholesky_p.def_abstract
def _cholesky_type(x):
    matrix_type("cholesky", x, square=True)
    return array_type(x.shape, x.dtype)


@cholesky_p.def_reference
def _cholesky_reference(x):
    def one(a):
        low = np.tril(a)
        whole = low + np.tril(a, -1).conj().T
        np.fill_diagonal(whole, np.diagonal(a).real)
        return np.linalg.cholesky(whole)

    out = over_batch(one, [x], [2], [(x.shape[-2:], x.dtype)])[0]
    return np.tril(out)


def factor_tangent(factor, t):
    """dL for L Lᴴ = A and dA = t: L Φ(L⁻¹ dA L⁻ᴴ), Φ the lower triangle with half its diagonal
    (Murray 2016, "Differentiation of the Cholesky decomposition", eq. 8)."""
    inner = triangular_solve(factor, t, left_side=False, transpose_a=True,
                             conjugate_a=common.is_complex(factor), lower=True)
    inner = tril(triangular_solve(factor, inner, left_side=True, lower=True))
    halves = add(common.identity_like(factor, shape_of(factor)[-1]), constant(factor, 1))
    return product(factor, div(inner, halves))


def _cholesky_jvp(primals, tangents):
    factor = tril(cholesky_p.bind(*primals))
    return factor, factor_tangent(factor, instantiate_zeros(tangents[0]))


define_jvp(cholesky_p, _cholesky_jvp)
batch_leading(cholesky_p)

# --- cholesky_update -------------------------------------------------------------------------


def cholesky_update(r_matrix, w_vector):
    """The upper triangular S with Sᵀ S = Rᵀ R + w wᵀ, for real R [n, n] and w [n]."""
    return cholesky_update_p.bind(r_matrix, w_vector)


cholesky_update_p = Primitive("cholesky_update", kind="linalg")


@cholesky_update_p.def_abstract
def _cholesky_update_type(r, w):
    matrix_type("cholesky_update", r, square=True)
    if r.dtype.kind != "f" or w.dtype != r.dtype:
        raise TypeError("cholesky_update takes real arguments of one dtype, got "
                        f"{r.dtype} and {w.dtype}.")
    if len(w.shape) != len(r.shape) - 1:
        raise TypeError(f"Input 1 to cholesky_update must have a rank of exactly "
                        f"{len(r.shape) - 1}, but got shape={w.shape}")
    if w.shape != r.shape[:-1]:
        raise ValueError("cholesky_update expects a square matrix of shape (n, n) and a vector of "
                         f"shape (n,). Got shapes {r.shape} and {w.shape}.")
    return array_type(r.shape, r.dtype)


@cholesky_update_p.def_reference
def _cholesky_update_reference(r, w):
    def one(r, w):
        r, w = np.triu(r).astype(np.float64), w.astype(np.float64)
        for k in range(len(w)):
            length = np.hypot(r[k, k], w[k])
            c, s = (r[k, k] / length, w[k] / length) if length else (1.0, 0.0)
            r[k], w = c * r[k] + s * w, c * w - s * r[k]
        return np.triu(r)

    return over_batch(one, [r, w], [2, 1], [(r.shape[-2:], r.dtype)])[0]


def _cholesky_update_jvp(primals, tangents):
    # As for cholesky, with d(RᵀR + wwᵀ) = dRᵀR + RᵀdR + dw wᵀ + w dwᵀ.
    r, w = primals
    out = cholesky_update_p.bind(r, w)
    if all(map(is_zero, tangents)):
        return out, Zero.from_primal_value(out)
    dr, dw = map(instantiate_zeros, tangents)
    place = (len(shape_of(r)) - 2,)
    half = add(product(swap_last(triu(dr)), triu(r)),
               product(swap_last(expand_dims(dw, place)), expand_dims(w, place)))
    return out, swap_last(factor_tangent(swap_last(out), add(half, swap_last(half))))


define_jvp(cholesky_update_p, _cholesky_update_jvp)
batch_leading(cholesky_update_p)

# --- symmetric_product -----------------------------------------------------------------------


def symmetric_product(a_matrix, c_matrix, *, alpha: float = 1.0, beta: float = 0.0,
                      symmetrize_output: bool = False):
    """alpha A Aᵀ + beta C, for A [..., m, n] and symmetric C [..., m, m].

    `symmetrize_output`: the upper triangle is made the mirror image of the lower one.
    """
    out = symmetric_product_p.bind(a_matrix, c_matrix, alpha=alpha, beta=beta)
    if symmetrize_output:
        out = add(tril(out), swap_last(tril(out, -1)))
    return out




def symmetric_product_formula(a, c, *, alpha, beta):
    """The product written with other primitives (what is compiled)."""
    out = mul(constant(a, alpha), product(a, swap_last(a)))
    return out if beta == 0 else add(out, mul(constant(c, beta), c))


symmetric_product_p = Primitive("symmetric_product", kind="linalg",
                                formula=symmetric_product_formula)


@symmetric_product_p.def_abstract
def _symmetric_product_type(a: ShapedArray, c: ShapedArray, *, alpha, beta):
    matrix_type("symmetric_product", a, by_lapack=False)
    matrix_type("symmetric_product", c, position=1, by_lapack=False)
    if a.dtype != c.dtype:
        raise TypeError("lax.symmetric_product requires arguments to have the same dtypes, got "
                        f"{a.dtype}, {c.dtype}.")
    if c.shape != (*a.shape[:-1], a.shape[-2]):
        raise ValueError("symmetric_update expects a rectangular matrix of shape (m, n) and a "
                         "square matrix of shape (n, n). Got shapes "
                         f"{a.shape} and {c.shape}.")
    return array_type(c.shape, c.dtype)


@symmetric_product_p.def_reference
def _symmetric_product_reference(a, c, *, alpha, beta):
    return (alpha * (a @ np.swapaxes(a, -1, -2)) + beta * c).astype(c.dtype)


def _symmetric_product_jvp(primals, tangents, *, alpha, beta):
    a, c = primals
    out = symmetric_product_p.bind(a, c, alpha=alpha, beta=beta)
    da, dc = map(instantiate_zeros, tangents)
    half = product(da, swap_last(a))
    dot = add(mul(constant(a, alpha), add(half, swap_last(half))), mul(constant(c, beta), dc))
    return out, dot


define_jvp(symmetric_product_p, _symmetric_product_jvp)
batch_leading(symmetric_product_p)

__all__ = ["cholesky", "cholesky_p", "cholesky_update", "cholesky_update_p", "symmetric_product",
           "symmetric_product_p", "symmetrize"]
