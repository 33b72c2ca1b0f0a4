"""LU factors with partial pivoting, their permutations, and systems solved by them.

In: matrices [..., m, n]. Out: packed factors, exchanges of rows, permutations; solutions.
"""

from __future__ import annotations

import operator

import numpy as np

from jitney.core.avals import ShapedArray
from jitney.core.primitive import Primitive
from jitney.lax.arithmetic import add, neg
from jitney.lax.joining import pad
from jitney.lax.linalg import common
from jitney.lax.linalg.common import (
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
from jitney.lax.linalg.triangular import triangular_solve, triangular_solve_p
from jitney.lax.nary import constant, require_same_dtypes
from jitney.lax.shape import reshape, shape_of
from jitney.lax.slicing import slice_in_dim
from jitney.transforms.jvp import Zero, add_tangents, define_jvp, define_zero_jvp, is_zero
from jitney.transforms.transpose import define_transpose, is_undefined_primal
from jitney.transforms.vmap import at_front, batch_size, define_batch, move_dimension

# --- lu --------------------------------------------------------------------------------------


def lu(x):
    """[LU, pivots, permutation] with x[permutation] = L U, for x [..., m, n].

    L (unit diagonal, below it) and U share one matrix. At step i rows i and pivots[i] changed
    places; pivots int32 [..., min(m, n)], permutation int32 [..., m].
    """
    return list(lu_p.bind(x))


lu_p = Primitive("lu", multiple_results=True, kind="linalg")


@lu_p.def_abstract
def _lu_type(x: ShapedArray):
    matrix_type("lu", x)
    *batch, m, n = x.shape
    return [array_type(x.shape, x.dtype), array_type((*batch, min(m, n)), np.int32),
            array_type((*batch, m), np.int32)]


@lu_p.def_reference
def _lu_reference(x):
    m, n = x.shape[-2:]
    k = min(m, n)

    def one(a):
        a, pivots, permutation = a.copy(), np.zeros(k, np.int32), np.arange(m)
        for i in range(k):
            column = np.abs(a[i:, i].real) + np.abs(a[i:, i].imag)
            p = i + int(np.argmax(np.where(np.isnan(column), -1, column)))
            p = i if np.isnan(column[0]) else p
            pivots[i] = p
            a[[i, p]], permutation[[i, p]] = a[[p, i]], permutation[[p, i]]
            if a[i, i] != 0:
                a[i + 1:, i] /= a[i, i]
                a[i + 1:, i + 1:] -= np.outer(a[i + 1:, i], a[i, i + 1:])
        return a, pivots, permutation

    with np.errstate(all="ignore"):
        return over_batch(one, [x], [2], [((m, n), x.dtype), ((k,), np.int32), ((m,), np.int32)])


def _lu_jvp(primals, tangents):
    # P dA = dL U + L dU, so with F = L⁻¹ P dA U⁻¹: dL = L tril(F, -1), dU = triu(F) U.
    (x,), (t,) = primals, tangents
    packed, pivots, permutation = lu_p.bind(x)
    integers = [Zero.from_primal_value(pivots), Zero.from_primal_value(permutation)]
    if is_zero(t):
        return [packed, pivots, permutation], [Zero.from_primal_value(packed), *integers]
    m, n = shape_of(x)[-2:]
    lower, upper = _padded_factors(packed, m, n)
    f = triangular_solve(lower, take_rows(t, permutation), left_side=True, lower=True,
                         unit_diagonal=True)
    f = triangular_solve(upper, f, left_side=False, lower=False)
    dot = add(product(lower, tril(f, -1)), product(triu(f), upper))
    return [packed, pivots, permutation], [dot, *integers]


def _padded_factors(packed, m, n):
    """L [m, m] and U [n, n], filled up with the identity."""
    rank, k = len(shape_of(packed)), min(m, n)
    zero, none = constant(packed, 0), [(0, 0, 0)] * (rank - 2)
    lower = tril(slice_in_dim(packed, 0, k, axis=rank - 1), -1)
    lower = pad(lower, zero, [*none, (0, 0, 0), (0, m - k, 0)])
    lower = add(lower, common.identity_like(packed, m))
    upper = triu(slice_in_dim(packed, 0, k, axis=rank - 2))
    upper = pad(upper, zero, [*none, (0, n - k, 0), (0, 0, 0)])
    if n > k:
        rest = pad(common.identity_like(packed, n - k), zero, [*none, (k, 0, 0), (k, 0, 0)])
        upper = add(upper, rest)
    return lower, upper


define_jvp(lu_p, _lu_jvp)
batch_leading(lu_p)

# --- lu_pivots_to_permutation ----------------------------------------------------------------


def lu_pivots_to_permutation(pivots, permutation_size: int):
    """The permutation that the exchanges of rows `pivots` [..., k] amount to; int32 [..., size]."""
    return lu_pivots_to_permutation_p.bind(pivots,
                                           permutation_size=operator.index(permutation_size))


lu_pivots_to_permutation_p = Primitive("lu_pivots_to_permutation", kind="linalg")


@lu_pivots_to_permutation_p.def_abstract
def _pivots_type(pivots, *, permutation_size):
    if pivots.dtype != np.int32:
        raise TypeError(f"lu_pivots_to_permutation does not accept dtype {pivots.dtype} at "
                        "position 0. Accepted dtypes at position 0 are subtypes of int32.")
    require_rank("lu_pivots_to_permutation", pivots, 1)
    if permutation_size < pivots.shape[-1]:
        raise ValueError(f"Output permutation size {permutation_size} has to exceed the trailing "
                         f"dimension of the pivots. Got pivots size {pivots.shape[-1]}")
    return array_type((*pivots.shape[:-1], permutation_size), np.int32)


@lu_pivots_to_permutation_p.def_reference
def _pivots_reference(pivots, *, permutation_size):
    def one(pivots):
        out = np.arange(permutation_size, dtype=np.int32)
        for i, p in enumerate(pivots):
            out[[i, p]] = out[[p, i]]
        return out

    return over_batch(one, [pivots], [1], [((permutation_size,), np.int32)])[0]


define_zero_jvp(lu_pivots_to_permutation_p)
batch_leading(lu_pivots_to_permutation_p)

# --- lu_solve --------------------------------------------------------------------------------


def lu_solve(a, packed, permutation, b, *, transpose_a: bool = False):
    """X with A X = B (or Aᵀ X = B), by the factors `packed` of A[permutation].

    A itself [..., n, n] serves for the derivative: d(A⁻¹B) = A⁻¹(dB - dA X); no derivative is
    taken of the factors. B is [..., n, m].
    """
    return lu_solve_p.bind(a, packed, permutation, b, transpose_a=transpose_a)


lu_solve_p = Primitive("lu_solve", kind="linalg")


@lu_solve_p.def_abstract
def _lu_solve_type(a, packed, permutation, b, *, transpose_a):
    matrix_type("lu_solve", a, square=True)
    matrix_type("lu_solve", b, position=3)
    require_same_dtypes("lu_solve", (a, packed, b))
    if packed.shape != a.shape or permutation.shape != a.shape[:-1]:
        raise ValueError(f"lu_solve: factors {packed.shape} and permutation {permutation.shape} do "
                         f"not belong to a matrix of shape {a.shape}.")
    if b.shape[:-1] != a.shape[:-1]:
        raise ValueError(f"lu_solve: Incompatible shapes {a.shape} and {b.shape}.")
    return array_type(b.shape, b.dtype)


@lu_solve_p.def_reference
def _lu_solve_reference(a, packed, permutation, b, *, transpose_a):
    solve = _solve_reference
    if transpose_a:
        x = solve(packed, b, lower=False, transpose_a=True, unit_diagonal=False)
        x = solve(packed, x, lower=True, transpose_a=True, unit_diagonal=True)
        out = np.empty_like(x)
        np.put_along_axis(out, permutation[..., None].astype(np.int64), x, -2)
        return out
    x = np.take_along_axis(b, permutation[..., None].astype(np.int64), -2)
    x = solve(packed, x, lower=True, transpose_a=False, unit_diagonal=True)
    return solve(packed, x, lower=False, transpose_a=False, unit_diagonal=False)


def _solve_reference(a, b, **params):
    rule = triangular_solve_p.reference_rule
    assert rule is not None
    return rule(a, b, left_side=True, conjugate_a=False, **params)


def _lu_solve_jvp(primals, tangents, *, transpose_a):
    a, packed, permutation, b = primals
    da, _, _, db = tangents
    out = lu_solve_p.bind(*primals, transpose_a=transpose_a)
    right = None if is_zero(db) else db
    if not is_zero(da):
        da = swap_last(da) if transpose_a else da
        part = neg(product(da, out))
        right = part if right is None else add_tangents(right, part)
    if right is None:
        return out, Zero.from_primal_value(out)
    return out, lu_solve_p.bind(a, packed, permutation, right, transpose_a=transpose_a)


def _lu_solve_transpose(ct, a, packed, permutation, b, *, transpose_a):
    if not is_undefined_primal(b):
        raise NotImplementedError("lu_solve is linear in its right-hand side only")
    if type(ct) is Zero:
        return [None, None, None, Zero(b.aval)]
    out = lu_solve_p.bind(a, packed, permutation, ct, transpose_a=not transpose_a)
    return [None, None, None, out]


def _lu_solve_batch(args, dims, *, transpose_a):
    *matrix, b = args
    if all(d is None for d in dims[:3]) and len(shape_of(matrix[0])) == 2:
        b = move_dimension(b, dims[3], 2)
        n, m, size = shape_of(b)
        out = lu_solve_p.bind(*matrix, reshape(b, (n, m * size)), transpose_a=transpose_a)
        return reshape(out, (n, m, size)), 2
    size = batch_size(args, dims)
    moved = [at_front(x, d, size) for x, d in zip(args, dims)]
    return lu_solve_p.bind(*moved, transpose_a=transpose_a), 0


define_jvp(lu_solve_p, _lu_solve_jvp)
define_transpose(lu_solve_p, _lu_solve_transpose)
define_batch(lu_solve_p, _lu_solve_batch)

__all__ = ["lu", "lu_p", "lu_pivots_to_permutation", "lu_pivots_to_permutation_p", "lu_solve",
           "lu_solve_p"]
