"""QR factors, Householder reflectors and their products.

In: matrices [..., m, n]. Out: orthonormal and triangular factors, or reflectors in LAPACK's form.
"""

from __future__ import annotations

import numpy as np

from jitney.core.avals import ShapedArray
from jitney.core.primitive import Primitive
from jitney.lax.arithmetic import add, mul, sub
from jitney.lax.complex_parts import complex as make_complex
from jitney.lax.complex_parts import imag
from jitney.lax.joining import pad
from jitney.lax.linalg import common
from jitney.lax.linalg.common import (
    adjoint,
    array_type,
    batch_leading,
    matrix_type,
    over_batch,
    product,
    require_rank,
    swap_last,
    take_rows,
    tril,
    triu,
)
from jitney.lax.linalg.triangular import triangular_solve
from jitney.lax.nary import constant, require_same_dtypes
from jitney.lax.shape import shape_of, zeros_like
from jitney.lax.slicing import slice_in_dim
from jitney.transforms.jvp import Zero, define_jvp, is_zero

# --- qr --------------------------------------------------------------------------------------


def qr(x, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None):
    """(Q, R) with x = Q R; with `pivoting` (Q, R, p) with x[:, p] = Q R and falling |R[i, i]|.

    x is [..., m, n]; Q [..., m, k] and R [..., k, n] with k = m if `full_matrices`, else min(m, n);
    p int32 [..., n]. `use_magma` is for other devices.
    """
    found = qr_p.bind(x, pivoting=bool(pivoting), full_matrices=bool(full_matrices),
                      use_magma=use_magma)
    return tuple(found)


qr_p = Primitive("qr", multiple_results=True, kind="linalg")


@qr_p.def_abstract
def _qr_type(x: ShapedArray, *, pivoting, full_matrices, use_magma):
    matrix_type("qr", x, by_lapack=x.size > 0)
    *batch, m, n = x.shape
    k = m if full_matrices else min(m, n)
    out = [array_type((*batch, m, k), x.dtype), array_type((*batch, k, n), x.dtype)]
    return [*out, array_type((*batch, n), np.int32)] if pivoting else out


@qr_p.def_reference
def _qr_reference(x, *, pivoting, full_matrices, use_magma):
    m, n = x.shape[-2:]
    k = m if full_matrices else min(m, n)
    if not pivoting:
        q, r = np.linalg.qr(x, mode="complete" if full_matrices else "reduced")
        return [q.astype(x.dtype), r.astype(x.dtype)]
    import scipy.linalg

    def one(a):
        mode = "full" if full_matrices else "economic"
        return scipy.linalg.qr(a, mode=mode, pivoting=True, check_finite=False)

    return over_batch(one, [x], [2], [((m, k), x.dtype), ((k, n), x.dtype), ((n,), np.int32)])


def _skew(c, width):
    """Ω with Ω = -Ωᴴ whose lower triangle is that of c; imaginary parts of the diagonal as in c."""
    columns = shape_of(c)[-1]
    low = tril(c, -1)
    if columns < width:
        none = [(0, 0, 0)] * (len(shape_of(c)) - 1)
        low = pad(low, constant(low, 0), [*none, (0, width - columns, 0)])
        c = pad(c, constant(c, 0), [*none, (0, width - columns, 0)])
    out = sub(low, adjoint(low))
    if common.is_complex(c):
        turn = imag(c)
        out = add(out, mul(make_complex(zeros_like(turn), turn), common.identity_like(c, width)))
    return out


def _qr_jvp(primals, tangents, **params):
    # Walter and Lehmann (2010/2018), with Ω = Qᴴ dQ skew: for C = Qᴴ dA R⁻¹ the strict lower
    # triangles of Ω and C agree; dR = Qᴴ dA - Ω R; what dA moves out of Q's range adds to dQ.
    (x,), (t,) = primals, tangents
    q, r, *pivots = qr_p.bind(x, **params)
    integers = [Zero.from_primal_value(p) for p in pivots]
    if is_zero(t):
        zeros = [Zero.from_primal_value(q), Zero.from_primal_value(r)]
        return [q, r, *pivots], [*zeros, *integers]
    if pivots:
        t = swap_last(take_rows(swap_last(t), pivots[0]))
    rank = len(shape_of(x))
    (m, n), width = shape_of(x)[-2:], shape_of(q)[-1]
    k = min(m, n)
    square = slice_in_dim(slice_in_dim(r, 0, k, axis=rank - 2), 0, k, axis=rank - 1)
    moved = triangular_solve(square, slice_in_dim(t, 0, k, axis=rank - 1))
    inside = product(adjoint(q), moved)
    omega = _skew(inside, width)
    dq = product(q, omega)
    if width < m:
        dq = add(dq, sub(moved, product(q, inside)))
    dr = triu(sub(product(adjoint(q), t), product(omega, r)))
    return [q, r, *pivots], [dq, dr, *integers]


define_jvp(qr_p, _qr_jvp)
batch_leading(qr_p)

# --- geqrf -----------------------------------------------------------------------------------


def geqrf(x):
    """(a, taus): R on and above the diagonal of a, Householder vectors below it (LAPACK's form)."""
    a, taus = geqrf_p.bind(x)
    return a, taus


geqrf_p = Primitive("geqrf", multiple_results=True, kind="linalg")


@geqrf_p.def_abstract
def _geqrf_type(x):
    matrix_type("geqrf", x)
    return [array_type(x.shape, x.dtype), array_type((*x.shape[:-2], min(x.shape[-2:])), x.dtype)]


@geqrf_p.def_reference
def _geqrf_reference(x):
    if x.size == 0:
        return [x, np.zeros((*x.shape[:-2], min(x.shape[-2:])), x.dtype)]
    h, taus = np.linalg.qr(x, mode="raw")
    return [np.swapaxes(h, -1, -2).astype(x.dtype), taus.astype(x.dtype)]


batch_leading(geqrf_p)

# --- householder_product, ormqr --------------------------------------------------------------


def householder_product(a, taus):
    """The product of the reflectors 1 - taus[i] vᵢ vᵢᴴ, whose vᵢ stand below a's diagonal.

    a is [..., m, n] with m >= n, taus [..., k] with k <= n; the result has a's shape.
    """
    return householder_product_p.bind(a, taus)


householder_product_p = Primitive("householder_product", kind="linalg")


@householder_product_p.def_abstract
def _householder_product_type(a, taus):
    name = "householder_product"
    matrix_type(name, a)
    require_rank(name, taus, 1, 1)
    require_same_dtypes(name, (a, taus))
    if a.shape[:-2] != taus.shape[:-1]:
        raise TypeError(f"{name}: batch dimensions of {a.shape} and {taus.shape} differ.")
    if a.shape[-2] < a.shape[-1]:
        raise ValueError(f"The first argument to {name} must have at least as many rows as "
                         f"columns, got shape {a.shape}")
    if taus.shape[-1] > a.shape[-1]:
        raise ValueError(f"The second argument to {name} must not have more rows than the minimum "
                         "of the first argument's rows and columns.")
    return array_type(a.shape, a.dtype)


@householder_product_p.def_reference
def _householder_product_reference(a, taus):
    def one(a, taus):
        return _reflect(a, taus, np.eye(*a.shape, dtype=a.dtype), range(len(taus) - 1, -1, -1))

    return over_batch(one, [a, taus], [2, 1], [(a.shape[-2:], a.dtype)])[0]


def _reflect(a, taus, x, order, adjoint=False):
    """Reflectors applied to the columns of x, in the given order."""
    for i in order:
        v = a[:, i].copy()
        v[:i], v[i] = 0, 1
        tau = np.conj(taus[i]) if adjoint else taus[i]
        x = x - tau * np.outer(v, v.conj() @ x)
    return x


batch_leading(householder_product_p)


def ormqr(a, taus, c, *, left: bool = True, transpose: bool = False):
    """Q C, Qᴴ C (`transpose`), C Q or C Qᴴ (not `left`), for the Q of reflectors a, taus."""
    return ormqr_p.bind(a, taus, c, left=bool(left), transpose=bool(transpose))


ormqr_p = Primitive("ormqr", kind="linalg")


@ormqr_p.def_abstract
def _ormqr_type(a, taus, c, *, left, transpose):
    matrix_type("ormqr", a)
    require_rank("ormqr", taus, 1, 1)
    matrix_type("ormqr", c, position=2)
    require_same_dtypes("ormqr", (a, taus, c))
    if not a.shape[:-2] == taus.shape[:-1] == c.shape[:-2]:
        raise TypeError(f"ormqr: batch dimensions of {a.shape}, {taus.shape}, {c.shape} differ.")
    if c.shape[-2 if left else -1] != a.shape[-2] or taus.shape[-1] > min(a.shape[-2:]):
        raise ValueError(f"Incompatible shapes for arguments to ormqr: {a.shape}, {taus.shape} and "
                         f"{c.shape}.")
    return array_type(c.shape, c.dtype)


@ormqr_p.def_reference
def _ormqr_reference(a, taus, c, *, left, transpose):
    def one(a, taus, c):
        k = len(taus)
        if left:
            order = range(k) if transpose else range(k - 1, -1, -1)
            return _reflect(a, taus, c, order, transpose)
        flipped = not transpose
        order = range(k) if flipped else range(k - 1, -1, -1)
        return _reflect(a, taus, c.conj().T, order, flipped).conj().T

    return over_batch(one, [a, taus, c], [2, 1, 2], [(c.shape[-2:], c.dtype)])[0]


batch_leading(ormqr_p)

__all__ = ["geqrf", "geqrf_p", "householder_product", "householder_product_p", "ormqr", "ormqr_p",
           "qr", "qr_p"]
