"""Diagonals of matrices: diagonal, diag, diagflat, and index arrays of triangles.

In: arrays. Out: their diagonals, or matrices with given diagonals.
Invariant: index arrays are made now, they depend on shapes alone.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.core.avals import Array
from jitney.numpy import native_routines
from jitney.numpy.creation import from_numpy
from jitney.numpy.jitted import one_program, traced_call
from jitney.numpy.manipulation import moveaxis, ravel
from jitney.numpy.promotion import array_arguments, check_arraylike, dtype_of, shape_of
from jitney.numpy.ranges import diagonal_mask
from jitney.numpy.ufuncs import constant
from jitney.numpy.where import where_value


@traced_call(static_argnames=("offset", "axis1", "axis2"))
def diagonal(a, offset=0, axis1=0, axis2=1):
    """The diagonal of two axes, as the last axis."""
    a = array_arguments("diagonal", a)
    rank = len(shape_of(a))
    if rank < 2:
        raise ValueError("diagonal requires an array of at least two dimensions.")
    offset = operator.index(offset)
    a = moveaxis(a, (axis1, axis2), (-2, -1)) if rank > 2 or (axis1 % rank, axis2 % rank) != (
        0, 1) else a
    rows, columns = shape_of(a)[-2:]
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    i = lax.iota(np.int32, length)
    j = lax.add(np.int32(abs(offset)), i) if offset else i
    return a[..., i, j] if offset >= 0 else a[..., j, i]


@traced_call(static_argnames=("k",))
def _diag(v, k):
    dims = shape_of(v)
    if len(dims) == 1:
        config = ((max(0, -k), max(0, k), 0),)
        padded = lax.pad(v, constant(0, v), config)
        n = shape_of(padded)[0]
        mask = diagonal_mask(n, n, np.int32(k), lax.eq)
        return where_value(mask, lax.expand_dims(padded, (1,)), constant(0, v))
    if len(dims) == 2:
        return diagonal(v, offset=k)
    raise ValueError("diag input must be 1d or 2d")


def diag(v, k=0):
    """A matrix with the given diagonal, or the diagonal of a matrix."""
    if type(v) is Array and type(k) is int:         # a microsecond's work: no further calls
        return _diag(v, k)
    return _diag(array_arguments("diag", v), operator.index(k))


def diagflat(v, k=0):
    """A matrix with the elements of `v` on a diagonal."""
    v = ravel(array_arguments("diagflat", v))
    count = shape_of(v)[0]
    k = operator.index(k)
    return _on_diagonal(v, count, k)


@one_program(static_argnums=(1, 2))
def _on_diagonal(v: Any, count: int, k: int) -> Any:
    n = count + abs(k)
    zeros = lax.full((n * n,), 0, dtype_of(v))
    if not count:
        return lax.reshape(zeros, (n, n))
    first = k if k >= 0 else -k * n
    step = lax.iota(np.int32, count)
    positions = lax.add(lax.mul(step, np.int32(n + 1)), np.int32(first))
    return lax.reshape(zeros.at[positions].set(v), (n, n))


# --- indices of diagonals and triangles --------------------------------------------------------


def _index(values: Any) -> Any:
    return from_numpy(np.asarray(values), dtypes.canonicalize_dtype(np.int64))


def diag_indices(n, ndim=2):
    """Indices of the main diagonal of an array of `ndim` axes of length n."""
    n, ndim = operator.index(n), operator.index(ndim)
    if n < 0:
        raise ValueError(f"n argument to diag_indices must be nonnegative, got {n}")
    if ndim < 0:
        raise ValueError(f"ndim argument to diag_indices must be nonnegative, got {ndim}")
    return (lax.iota(dtypes.canonicalize_dtype(np.int64), n),) * ndim


def diag_indices_from(arr):
    """Indices of the main diagonal of an array."""
    check_arraylike("diag_indices_from", arr)
    dims = shape_of(arr)
    if len(dims) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(dims)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(dims[0], ndim=len(dims))


def tril_indices(n, k=0, m=None):
    """Indices of the lower triangle of an (n, m) matrix."""
    return _triangle(n, k, m, False)


def triu_indices(n, k=0, m=None):
    """Indices of the upper triangle of an (n, m) matrix."""
    return _triangle(n, k, m, True)


def _triangle(n: Any, k: Any, m: Any, upper: bool) -> tuple:
    width = n if m is None else m
    if all(isinstance(i, (int, np.integer)) for i in (n, k, width)) and n >= 0 and width >= 0:
        return native_routines.triangle(int(n), int(width), int(k), upper,
                                        dtypes.canonicalize_dtype(np.int64))
    return tuple(_index(i) for i in (np.triu_indices if upper else np.tril_indices)(n, k, m))


def _matrix_shape(name: str, arr: Any) -> tuple[int, int]:
    dims = arr.shape if hasattr(arr, "shape") else shape_of(arr)
    if len(dims) != 2:
        raise ValueError("Only 2-D inputs are accepted")
    return dims


def tril_indices_from(arr, k=0):
    """Indices of the lower triangle of a matrix."""
    rows, columns = _matrix_shape("tril_indices_from", arr)
    return tril_indices(rows, k=k, m=columns)


def triu_indices_from(arr, k=0):
    """Indices of the upper triangle of a matrix."""
    rows, columns = _matrix_shape("triu_indices_from", arr)
    return triu_indices(rows, k=k, m=columns)
