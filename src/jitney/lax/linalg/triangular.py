"""Systems of equations with triangular and tridiagonal matrices.

In: the matrix and right-hand sides [..., n, m]. Out: the solutions. A singular matrix gives
infinities and NaN, as division by zero does.
"""

from __future__ import annotations

import numpy as np

from jitney.core.avals import ShapedArray
from jitney.core.primitive import Primitive
from jitney.lax.arithmetic import add, mul, neg
from jitney.lax.complex_parts import conj
from jitney.lax.joining import pad
from jitney.lax.linalg import common
from jitney.lax.linalg.common import (
    array_type,
    batch_leading,
    over_batch,
    product,
    require_inexact,
    require_lapack_dtype,
    require_rank,
    swap_last,
    tril,
    triu,
)
from jitney.lax.nary import constant, require_same_dtypes
from jitney.lax.shape import broadcast_in_dim, expand_dims, reshape, shape_of, squeeze
from jitney.transforms.jvp import Zero, add_tangents, define_jvp, is_zero
from jitney.transforms.transpose import define_transpose, is_undefined_primal
from jitney.transforms.vmap import at_front as _at_front
from jitney.transforms.vmap import batch_size, define_batch, move_dimension

# --- triangular_solve ------------------------------------------------------------------------


def triangular_solve(a, b, *, left_side: bool = False, lower: bool = False,
                     transpose_a: bool = False, conjugate_a: bool = False,
                     unit_diagonal: bool = False):
    """X with op(A) X = B (`left_side`) or X op(A) = B, for triangular A [..., n, n].

    Only the triangle named by `lower` is read; with `unit_diagonal` the diagonal counts as ones.
    op transposes and conjugates as asked. B is [..., n, m] or [..., m, n]; one axis less means one
    right-hand side. Zeros on the diagonal give infinities and NaN.
    """
    conjugate_a = conjugate_a and common.is_complex(a)
    single = len(shape_of(b)) == len(shape_of(a)) - 1
    if single:
        b = expand_dims(b, (len(shape_of(b)) if left_side else len(shape_of(b)) - 1,))
    out = triangular_solve_p.bind(a, b, left_side=left_side, lower=lower, transpose_a=transpose_a,
                                  conjugate_a=conjugate_a, unit_diagonal=unit_diagonal)
    if single:
        out = squeeze(out, (-1 if left_side else -2,))
    return out


triangular_solve_p = Primitive("triangular_solve", kind="linalg")


@triangular_solve_p.def_abstract
def _triangular_solve_type(a: ShapedArray, b: ShapedArray, *, left_side, lower, transpose_a,
                           conjugate_a, unit_diagonal):
    name = "triangular_solve"
    for position, x in enumerate((a, b)):
        require_inexact(name, x, position)
        require_rank(name, x, 2, position)
    require_same_dtypes(name, (a, b))
    if len(a.shape) != len(b.shape):
        raise TypeError(f"All inputs to {name} must have the same number of batch dimensions, but "
                        f"got {[len(a.shape) - 2, len(b.shape) - 2]} batch dimensions for the "
                        "inputs.")
    if a.shape[-1] != a.shape[-2]:
        raise ValueError(f"The first input to {name} must be a square matrix. Got shape {a.shape}.")
    common_size = b.shape[-2] if left_side else b.shape[-1]
    if a.shape[:-2] != b.shape[:-2] or a.shape[-1] != common_size:
        raise ValueError(f"Incompatible shapes for arguments to {name}: {a.shape} and {b.shape}.")
    return array_type(b.shape, b.dtype)


@triangular_solve_p.def_reference
def _triangular_solve_reference(a, b, *, left_side, lower, transpose_a, conjugate_a,
                                unit_diagonal):
    wide = np.complex128 if a.dtype.kind == "c" else np.float64

    eye = np.eye(a.shape[-1], dtype=wide)
    kept = (np.tril if lower else np.triu)(np.ones(a.shape[-2:]), -1 if lower else 1)
    diagonal = eye if unit_diagonal else np.where(eye == 1, a.astype(wide), 0)
    matrix = np.where(kept == 1, a.astype(wide), 0) + diagonal
    matrix = matrix.conj() if conjugate_a else matrix
    matrix = np.swapaxes(matrix, -1, -2) if transpose_a else matrix
    rhs = b.astype(wide)
    is_low = lower != transpose_a
    if not left_side:
        matrix, rhs, is_low = np.swapaxes(matrix, -1, -2), np.swapaxes(rhs, -1, -2), not is_low
    out = _substitute(matrix, rhs, is_low)
    return (out if left_side else np.swapaxes(out, -1, -2)).astype(b.dtype)


def _substitute(a: np.ndarray, b: np.ndarray, lower: bool) -> np.ndarray:
    """Forward or backward substitution, one row of the solution after the other."""
    out = b.copy()
    n = a.shape[-1]
    for step in range(n):
        i = step if lower else n - 1 - step
        done = slice(0, i) if lower else slice(i + 1, n)
        out[..., i, :] -= np.einsum("...j,...jm->...m", a[..., i, done], out[..., done, :])
        out[..., i, :] /= a[..., i, i, None]
    return out


def _triangular_solve_jvp(primals, tangents, **params):
    # d(A⁻¹B) = A⁻¹(dB - dA X) (Giles 2008, 2.3.1); dA counts where A is read.
    (a, b), (da, db) = primals, tangents
    out = triangular_solve_p.bind(a, b, **params)
    if is_zero(da) and is_zero(db):
        return out, Zero.from_primal_value(out)
    dot = None if is_zero(db) else triangular_solve_p.bind(a, db, **params)
    if is_zero(da):
        return out, dot
    strict = int(params["unit_diagonal"])
    da = neg(tril(da, -strict) if params["lower"] else triu(da, strict))
    da = swap_last(da) if params["transpose_a"] else da
    da = conj(da) if params["conjugate_a"] else da
    if params["left_side"]:
        part = triangular_solve_p.bind(a, product(da, out), **params)
    else:
        part = triangular_solve_p.bind(a, product(out, da), **params)
    return out, part if dot is None else add_tangents(dot, part)


def _triangular_solve_transpose(ct, a, b, *, transpose_a, **params):
    if not is_undefined_primal(b) or is_undefined_primal(a):
        raise NotImplementedError("triangular_solve is linear in its right-hand side only")
    if type(ct) is Zero:
        return [None, Zero(b.aval)]
    return [None, triangular_solve_p.bind(a, ct, transpose_a=not transpose_a, **params)]


def _triangular_solve_batch(args, dims, **params):
    (a, b), (da, db) = args, dims
    if da is None and len(shape_of(a)) == 2:               # more right-hand sides of one matrix
        return _batch_of_columns(a, b, db, params)
    size = batch_size(args, dims)
    return triangular_solve_p.bind(_at_front(a, da, size), _at_front(b, db, size), **params), 0


def _batch_of_columns(a, b, dim, params):
    """The batch joins the axis of right-hand sides."""
    b = move_dimension(b, dim, 2 if params["left_side"] else 0)
    p, q, r = shape_of(b)
    if params["left_side"]:
        out = triangular_solve_p.bind(a, reshape(b, (p, q * r)), **params)
        return reshape(out, (p, q, r)), 2
    out = triangular_solve_p.bind(a, reshape(b, (p * q, r)), **params)
    return reshape(out, (p, q, r)), 0


define_jvp(triangular_solve_p, _triangular_solve_jvp)
define_transpose(triangular_solve_p, _triangular_solve_transpose)
define_batch(triangular_solve_p, _triangular_solve_batch)

# --- tridiagonal_solve -----------------------------------------------------------------------


def tridiagonal_solve(dl, d, du, b, *, perturb_singular: bool = False):
    """X with A X = B [..., n, m], for tridiagonal A given by its diagonals dl, d, du [..., n].

    dl[i] = A[i, i-1] (dl[0] is not read), du[i] = A[i, i+1] (du[n-1] is not read). Elimination
    exchanges neighbouring rows. `perturb_singular`: tiny pivots become eps · max |U| so that the
    result is finite.
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=perturb_singular)


tridiagonal_solve_p = Primitive("tridiagonal_solve", kind="linalg")


@tridiagonal_solve_p.def_abstract
def _tridiagonal_solve_type(dl, d, du, b, *, perturb_singular):
    name = "tridiagonal_solve"
    for position, x in enumerate((dl, d, du, b)):
        require_inexact(name, x, position)
        require_rank(name, x, 2 if position == 3 else 1, position)
    require_same_dtypes(name, (dl, d, du, b))
    if not dl.shape == d.shape == du.shape:
        raise TypeError(f"{name} requires that all diagonal arguments have the same shape.")
    if b.shape[:-1] != d.shape:
        raise TypeError(f"{name} requires that the leading ndim-1 dimensions of b equal the "
                        "dimensions of the diagonal arguments.")
    require_lapack_dtype(name, b)
    return array_type(b.shape, b.dtype)


@tridiagonal_solve_p.def_reference
def _tridiagonal_solve_reference(dl, d, du, b, *, perturb_singular):
    def one(dl, d, du, b):
        matrix = np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)
        if perturb_singular and np.linalg.matrix_rank(matrix) < len(d):
            matrix = matrix + np.finfo(b.dtype).eps * np.abs(matrix).max(initial=1) * np.eye(len(d))
        return np.linalg.solve(matrix, b)

    return over_batch(one, [dl, d, du, b], [1, 1, 1, 2], [(b.shape[-2:], b.dtype)])[0]


def _shifted(x, step):
    """x[i - step] along the last axis, zeros where there is nothing."""
    rank = len(shape_of(x))
    return pad(x, constant(x, 0), [(0, 0, 0)] * (rank - 1) + [(step, -step, 0)])


def _shifted_rows(x, step):
    rank = len(shape_of(x))
    return pad(x, constant(x, 0), [(0, 0, 0)] * (rank - 2) + [(step, -step, 0), (0, 0, 0)])


def _times_rows(d, x):
    shape = shape_of(x)
    return mul(broadcast_in_dim(d, shape, range(len(shape) - 1)), x)


def _tridiagonal_solve_jvp(primals, tangents, *, perturb_singular):
    # d(A⁻¹B) = A⁻¹(dB - dA X); dA X from the three diagonals.
    *diagonals, b = primals
    out = tridiagonal_solve_p.bind(*primals, perturb_singular=perturb_singular)
    parts = [] if is_zero(tangents[3]) else [tangents[3]]
    for t, step in zip(tangents[:3], (1, 0, -1)):
        if not is_zero(t):
            moved = _shifted_rows(out, step) if step else out
            parts.append(neg(_times_rows(t, moved)))
    if not parts:
        return out, Zero.from_primal_value(out)
    total = parts[0]
    for part in parts[1:]:
        total = add(total, part)
    dot = tridiagonal_solve_p.bind(*diagonals, total, perturb_singular=perturb_singular)
    return out, dot


def _tridiagonal_solve_transpose(ct, dl, d, du, b, *, perturb_singular):
    if type(ct) is Zero:
        return [None, None, None, Zero(b.aval)]
    out = tridiagonal_solve_p.bind(_shifted(du, 1), d, _shifted(dl, -1), ct,
                                   perturb_singular=perturb_singular)
    return [None, None, None, out]


define_jvp(tridiagonal_solve_p, _tridiagonal_solve_jvp)
define_transpose(tridiagonal_solve_p, _tridiagonal_solve_transpose)
batch_leading(tridiagonal_solve_p)

__all__ = ["triangular_solve", "triangular_solve_p", "tridiagonal_solve", "tridiagonal_solve_p"]
