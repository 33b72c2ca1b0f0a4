"""Cholesky factors, systems of equations, inverses, determinants, products of many matrices.

In: matrices [..., n, n] and right-hand sides. Out: factors, solutions, numbers.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.api.custom_derivatives import custom_jvp
from jitney.core.avals import Array
from jitney.lax import linalg as lax_linalg
from jitney.lax.linalg.common import adjoint, diagonal_of, is_complex, product
from jitney.lax.linalg.lu import lu_solve
from jitney.lax.linalg.qr import geqrf
from jitney.numpy.jitted import traced_call
from jitney.numpy.promotion import arraylike, promote_dtypes_inexact, shape_of


class SlogdetResult(NamedTuple):
    """Sign (or phase) and logarithm of the absolute value of a determinant."""

    sign: Array
    logabsdet: Array


def inexact(name: str, *args: Any) -> Any:
    """The arguments as arrays of one floating or complex dtype."""
    values = arraylike(name, *args)
    values = values if isinstance(values, tuple) else (values,)
    values = tuple(jnp.asarray(x) for x in promote_dtypes_inexact(*values))
    return values[0] if len(values) == 1 else values


# --- cholesky --------------------------------------------------------------------------------


@traced_call(static_argnames=("upper", "symmetrize_input"))
def cholesky(a, *, upper=False, symmetrize_input=True):
    """L with a = L Lᴴ (or U = Lᴴ with `upper`), for Hermitian positive definite a [..., n, n].

    `symmetrize_input`: (a + aᴴ)/2 is factored; otherwise only one triangle is read. NaN if a is not
    positive definite.
    """
    a = inexact("jnp.linalg.cholesky", a)
    factor = lax_linalg.cholesky(a, symmetrize_input=symmetrize_input)
    return adjoint(factor) if upper else factor


# --- solve, inv ------------------------------------------------------------------------------


def _solve_matrices(a: Any, b: Any) -> Any:
    packed, _, permutation = lax_linalg.lu(lax.stop_gradient(a))
    return lu_solve(a, packed, permutation, b)


_solve_batches = jnp.vectorize(_solve_matrices, signature="(m,m),(m,n)->(m,n)")


@traced_call
def solve(a, b):
    """x with a x = b, for a [..., n, n] and b [n] or [..., n, m], by LU with partial pivoting.

    Leading axes are broadcast. A singular matrix gives infinities and NaN. ValueError for shapes
    that do not fit.
    """
    a, b = inexact("jnp.linalg.solve", a, b)
    if len(shape_of(a)) < 2:
        raise ValueError(f"left hand array must be at least two dimensional; got a.shape="
                         f"{shape_of(a)}")
    if len(shape_of(b)) == 0:
        raise ValueError("jnp.linalg.solve: b must have at least one dimension, got a scalar.")
    single = len(shape_of(b)) == 1
    b = lax.expand_dims(b, (1,)) if single else b
    same = shape_of(a)[:-2] == shape_of(b)[:-2] and len({*shape_of(a)[-2:], shape_of(b)[-2]}) == 1
    x = _solve_matrices(a, b) if same else _solve_batches(a, b)
    return lax.squeeze(x, (-1,)) if single else x


@traced_call
def inv(a):
    """The inverse of a [..., n, n]; infinities and NaN if it is singular."""
    a = inexact("jnp.linalg.inv", a)
    shape = shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"Argument to inv must have shape [..., n, n], got {shape}.")
    eye = jnp.broadcast_to(jnp.eye(shape[-1], dtype=a.dtype), shape)
    return solve(a, eye)


@traced_call(static_argnames=("axes",))
def _tensorsolve(a, b, axes):
    if axes is not None:
        axes = tuple(operator.index(i) for i in axes)
        a = jnp.moveaxis(a, axes, tuple(range(a.ndim - len(axes), a.ndim)))
    rest = shape_of(a)[b.ndim:]
    if shape_of(a)[: b.ndim] != shape_of(b):
        raise ValueError("After moving axes to end, leading shape of a must match shape of b. got "
                         f"a.shape={shape_of(a)}, b.shape={shape_of(b)}")
    if b.size != math.prod(rest):
        raise ValueError("Input arrays must have prod(a.shape[:b.ndim]) == prod(a.shape[b.ndim:]); "
                         f"got a.shape={shape_of(a)}, b.ndim={b.ndim}.")
    return solve(a.reshape(b.size, b.size), b.ravel()).reshape(rest)


def tensorsolve(a, b, axes=None):
    """x with tensordot(a, x, x.ndim) = b; `axes` of a are moved to its end first."""
    a, b = inexact("jnp.linalg.tensorsolve", a, b)
    return _tensorsolve(a, b, None if axes is None else tuple(axes))


def tensorinv(a, ind=2):
    """The inverse of tensordot with a over its first `ind` axes."""
    a = inexact("jnp.linalg.tensorinv", a)
    ind = operator.index(ind)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got {ind=}")
    first, rest = shape_of(a)[:ind], shape_of(a)[ind:]
    if math.prod(first) != math.prod(rest):
        raise ValueError("tensorinv is only possible when the product of the first `ind` "
                         "dimensions equals that of the remaining dimensions. got "
                         f"arr.shape={shape_of(a)} with ind={ind}.")
    n = math.prod(first)
    return inv(a.reshape(n, n)).reshape(*rest, *first)


# --- determinants ----------------------------------------------------------------------------


def _parity(pivots: Any, dtype: Any) -> Any:
    """1 or -1 for an even or odd number of exchanges."""
    steps = lax.broadcasted_iota(np.int32, shape_of(pivots), len(shape_of(pivots)) - 1)
    odd = jnp.sum(pivots != steps, axis=-1) % 2
    return lax.sub(lax.full_like(odd, 1, dtype), lax.convert_element_type(2 * odd, dtype))


def _det_small(a: Any) -> Any:
    """Leibniz's formula for n <= 3."""
    n = shape_of(a)[-1]
    if n == 0:
        return lax.full(shape_of(a)[:-2], 1, a.dtype)
    if n == 1:
        return a[..., 0, 0]
    if n == 2:
        return a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]
    return (a[..., 0, 0] * a[..., 1, 1] * a[..., 2, 2] + a[..., 0, 1] * a[..., 1, 2] * a[..., 2, 0]
            + a[..., 0, 2] * a[..., 1, 0] * a[..., 2, 1]
            - a[..., 0, 2] * a[..., 1, 1] * a[..., 2, 0]
            - a[..., 0, 0] * a[..., 1, 2] * a[..., 2, 1]
            - a[..., 0, 1] * a[..., 1, 0] * a[..., 2, 2])


@custom_jvp
def _det_lu(a):
    packed, pivots, _ = lax_linalg.lu(a)
    return jnp.prod(diagonal_of(packed), axis=-1) * _parity(pivots, a.dtype)


@_det_lu.defjvp
def _det_lu_jvp(primals, tangents):
    # d det A = tr(adj(A) dA), where adj(A) dA is computed without dividing by the last pivot, so
    # that it is right for matrices of rank n - 1 too.
    (a,), (t,) = primals, tangents
    return _det_lu(a), jnp.trace(_adjugate_times(a, t), axis1=-1, axis2=-2)


def _adjugate_times(a: Any, b: Any) -> Any:
    """adj(a) b. With U = [[U₁, c], [0, u]] and y = L⁻¹ P b, adj(U) y is
    det U₁ [U₁⁻¹(u y₁ - c yₙ); yₙ].
    """
    packed, pivots, permutation = lax_linalg.lu(a)
    y = lax_linalg.triangular_solve(packed, jnp.take_along_axis(b, permutation[..., None], axis=-2),
                                    left_side=True, lower=True, unit_diagonal=True)
    inner, last = packed[..., :-1, :-1], packed[..., -1:, -1:]
    column, first, lowest = packed[..., :-1, -1:], y[..., :-1, :], y[..., -1:, :]
    upper = lax_linalg.triangular_solve(inner, last * first - product(column, lowest),
                                        left_side=True, lower=False)
    scale = jnp.prod(diagonal_of(inner), axis=-1) * _parity(pivots, a.dtype)
    return scale[..., None, None] * jnp.concatenate([upper, lowest], axis=-2)


@traced_call
def det(a):
    """The determinant of a [..., n, n]; its derivative also holds where a has rank n - 1."""
    a = inexact("jnp.linalg.det", a)
    shape = shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"Argument to _det() must have shape [..., n, n], got {shape}")
    return _det_small(a) if shape[-1] <= 3 else _det_lu(a)


def _log_parts(diagonal: Any, parity: Any) -> SlogdetResult:
    """Sign and logarithm from the factors of a determinant."""
    size = lax.abs(diagonal)
    is_zero = jnp.any(diagonal == 0, axis=-1)
    unit = diagonal / size.astype(diagonal.dtype) if is_complex(diagonal) else jnp.sign(diagonal)
    if not is_complex(diagonal):                          # the sign of NaN counts as positive
        unit = jnp.where(jnp.isnan(diagonal), 1, unit)
    sign = jnp.where(is_zero, jnp.zeros((), diagonal.dtype), parity * jnp.prod(unit, axis=-1))
    logs = jnp.where(is_zero, -jnp.inf, jnp.sum(jnp.log(size), axis=-1))
    return SlogdetResult(sign, logs)


def _slogdet_value(a, by_qr):
    if by_qr:
        return _slogdet_qr(a)
    packed, pivots, _ = lax_linalg.lu(a)
    return _log_parts(diagonal_of(packed), _parity(pivots, a.dtype))


_slogdet = custom_jvp(_slogdet_value, nondiff_argnums=(1,))


@_slogdet.defjvp
def _slogdet_jvp(by_qr, primals, tangents):
    # d log|det A| = Re tr(A⁻¹ dA); the phase turns by the imaginary part (Giles 2008, 2.2.4).
    (a,), (t,) = primals, tangents
    sign, logs = _slogdet(a, by_qr)
    change = jnp.trace(solve(a, t), axis1=-1, axis2=-2)
    if not is_complex(a):
        return SlogdetResult(sign, logs), SlogdetResult(jnp.zeros_like(sign), change)
    turn = lax.complex(jnp.zeros_like(logs), jnp.imag(change))
    return SlogdetResult(sign, logs), SlogdetResult(sign * turn, jnp.real(change))


def _slogdet_qr(a: Any) -> SlogdetResult:
    """By Householder reflectors: each has determinant -1 unless its factor is 0."""
    if is_complex(a):
        raise NotImplementedError("slogdet method='qr' not implemented for complex inputs.")
    from_qr, taus = geqrf(a)
    parity = jnp.where(jnp.sum(taus != 0, axis=-1) % 2 == 1, -1, 1).astype(a.dtype)
    return _log_parts(diagonal_of(from_qr), parity)


@traced_call(static_argnames=("method",))
def slogdet(a, *, method=None):
    """(sign, log |det a|) of a [..., n, n]; `method` "lu" (None) or "qr"."""
    a = inexact("jnp.linalg.slogdet", a)
    shape = shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"Argument to slogdet() must have shape [..., n, n], got {shape}")
    if method in (None, "lu", "qr"):
        return SlogdetResult(*_slogdet(a, method == "qr"))
    raise ValueError(f"Unknown slogdet method '{method}'. Supported methods are 'lu' (`None`), and "
                     "'qr'.")


# --- products of many matrices ---------------------------------------------------------------


@traced_call(static_argnames=("n",))
def matrix_power(a, n):
    """The n-th power of a [..., m, m], by repeated squaring; of the inverse for negative n."""
    a = jnp.asarray(arraylike("jnp.linalg.matrix_power", a))
    if a.ndim < 2:
        raise TypeError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if a.shape[-2] != a.shape[-1]:
        raise TypeError("Last 2 dimensions of the array must be square")
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError(f"exponent must be an integer, got {n}") from error
    if n == 0:
        return jnp.broadcast_to(jnp.eye(a.shape[-2], dtype=a.dtype), a.shape)
    if n < 0:
        a, n = inv(a), -n
    if n <= 3:
        return reduce(jnp.matmul, [a] * n)
    result = None
    while True:
        if n & 1:
            result = a if result is None else jnp.matmul(result, a)
        n >>= 1
        if not n:
            return result
        a = jnp.matmul(a, a)


def _best_order(sizes: Sequence[int]) -> list[list[int]]:
    """split[i][j]: where the product of matrices i…j is best cut (Cormen et al., 15.2)."""
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = [(cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                       for k in range(i, j)]
            cost[i][j], split[i][j] = min(options)
    return split


def multi_dot(arrays, *, precision=None):
    """The product of two or more matrices, in the order that needs the fewest multiplications.

    The first and the last may be vectors. ValueError for shapes that do not fit.
    """
    values = [jnp.asarray(x) for x in arrays] if len(arrays) else []
    if len(values) < 2:
        raise ValueError(f"multi_dot requires at least two arrays; got len(arrays)={len(values)}")
    shapes = [shape_of(x) for x in values]
    ends = (0, len(values) - 1)
    if any(len(s) != 2 and not (k in ends and len(s) == 1) for k, s in enumerate(shapes)):
        raise ValueError("multi_dot: input arrays must all be two-dimensional, except for the "
                         "first and last array which may be 1 or 2 dimensional. Got array shapes "
                         f"{shapes}")
    if any(a[-1] != b[0] for a, b in zip(shapes[:-1], shapes[1:])):
        raise ValueError("multi_dot: last dimension of each array must match first dimension of "
                         f"following array. Got array shapes {shapes}")
    if len(shapes[0]) == 1:
        values[0] = values[0][None]
    if len(shapes[-1]) == 1:
        values[-1] = values[-1][:, None]
    split = _best_order([v.shape[0] for v in values] + [values[-1].shape[1]])

    def chain(i: int, j: int) -> Any:
        if i == j:
            return values[i]
        k = split[i][j]
        return jnp.matmul(chain(i, k), chain(k + 1, j), precision=precision)

    out = chain(*ends)
    out = out[0] if len(shapes[0]) == 1 else out
    return out[..., 0] if len(shapes[-1]) == 1 else out


__all__ = ["cholesky", "det", "inexact", "inv", "matrix_power", "multi_dot", "slogdet", "solve",
           "tensorinv", "tensorsolve"]
