"""Norms of vectors and matrices, and products under their array-API names.

In: arrays of numbers. Out: real norms; products.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from jitney import lax
from jitney import numpy as jnp
from jitney.base import dtypes
from jitney.lax import linalg as lax_linalg
from jitney.numpy.jitted import traced_call
from jitney.numpy.promotion import arraylike, promote_dtypes_inexact, shape_of

# --- norms -----------------------------------------------------------------------------------


def _singular_values(x: Any) -> Any:
    return lax_linalg.svd(x, full_matrices=False, compute_uv=False)


def _canonical(axis: int, ndim: int) -> int:
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def _squares(x: Any) -> Any:
    return jnp.real(x * jnp.conj(x))


def _vector_norm(x: Any, order: Any, axis: int, keepdims: bool) -> Any:
    if order is None or order == 2:
        return jnp.sqrt(jnp.sum(_squares(x), axis=axis, keepdims=keepdims))
    if isinstance(order, str):
        raise ValueError(f"Invalid order '{order}' for vector norm.")
    if order == np.inf:
        return jnp.max(jnp.abs(x), axis=axis, keepdims=keepdims, initial=0)
    if order == -np.inf:
        return jnp.min(jnp.abs(x), axis=axis, keepdims=keepdims)
    if order == 0:
        return jnp.sum(x != 0, axis=axis, keepdims=keepdims, dtype=dtypes.finfo(x.dtype).dtype)
    if order == 1:
        return jnp.sum(jnp.abs(x), axis=axis, keepdims=keepdims)
    size = jnp.abs(x)
    order = lax.convert_element_type(order, size.dtype)
    return jnp.power(jnp.sum(size ** order, axis=axis, keepdims=keepdims), 1 / order)


def _matrix_norm(x: Any, order: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    row, column = axes
    if order is None or order in ("f", "fro"):
        return jnp.sqrt(jnp.sum(_squares(x), axis=axes, keepdims=keepdims))
    if order in (1, -1, np.inf, -np.inf):
        along, other = (row, column) if abs(order) == 1 else (column, row)
        if not keepdims and other > along:
            other -= 1
        sums = jnp.sum(jnp.abs(x), axis=along, keepdims=keepdims)
        if order > 0:
            return jnp.max(sums, axis=other, keepdims=keepdims, initial=0)
        return jnp.min(sums, axis=other, keepdims=keepdims)
    if order not in (2, -2, "nuc"):
        raise ValueError(f"Invalid order '{order}' for matrix norm.")
    s = _singular_values(jnp.moveaxis(x, axes, (-2, -1)))
    if order == "nuc":
        out = jnp.sum(s, axis=-1)
    else:
        out = jnp.max(s, axis=-1, initial=0) if order == 2 else jnp.min(s, axis=-1)
    return jnp.expand_dims(out, axes) if keepdims else out


@traced_call(static_argnames=("ord", "axis", "keepdims"))
def norm(x, ord=None, axis=None, keepdims=False):
    """The norm of x over one axis (of vectors), two (of matrices), or all of x (axis None).

    Vectors: 2 (None), inf, -inf, 0 (number of elements that are not 0), 1, or any p. Matrices:
    "fro" (None), "nuc", inf, -inf, 1, -1, 2, -2. Without axis and ord x may have any rank.
    ValueError for other orders and for more than two axes.
    """
    x = arraylike("jnp.linalg.norm", x)
    x = jnp.asarray(promote_dtypes_inexact(x)[0])
    ndim = len(shape_of(x))
    if axis is None:
        if ord is None:
            return jnp.sqrt(jnp.sum(_squares(x), keepdims=keepdims))
        axes = tuple(range(ndim))
    elif isinstance(axis, tuple):
        axes = tuple(_canonical(a, ndim) for a in axis)
    else:
        axes = (_canonical(axis, ndim),)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes[0], keepdims)
    if len(axes) == 2:
        if axes[0] == axes[1]:
            raise TypeError(f"jnp.linalg.norm: duplicate axes given: {axis}")
        return _matrix_norm(x, ord, (axes[0], axes[1]), keepdims)
    raise ValueError(f"Improper number of axes for norm: {axis=}. Pass one axis to compute a "
                     "vector-norm, or two axes to compute a matrix-norm."
                     .replace("axis=None", f"axis={axes}"))


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """The norm of matrices x [..., m, n] (see `norm`)."""
    return norm(x, ord=ord, keepdims=keepdims, axis=(-2, -1))


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The norm of vectors along one or several axes; of all elements for axis None."""
    x = jnp.asarray(arraylike("jnp.linalg.vector_norm", x))
    of_integers = x.dtype.kind in "biu" and ord in (1, np.inf, -np.inf)  # these stay integers
    compute = _integer_norm if of_integers else norm
    if axis is None or isinstance(axis, tuple):
        axes = tuple(range(x.ndim)) if axis is None else tuple(_canonical(a, x.ndim) for a in axis)
        rest = tuple(a for a in range(x.ndim) if a not in axes)
        size = math.prod(x.shape[a] for a in axes)
        flat = lax.transpose(x, (*rest, *axes)).reshape(*[x.shape[a] for a in rest], size)
        out = compute(flat, axis=-1, ord=ord)
        return jnp.expand_dims(out, axes) if keepdims else out
    return compute(x, axis=axis, keepdims=keepdims, ord=ord)


def _integer_norm(x: Any, ord: Any, axis: int, keepdims: bool = False) -> Any:
    return _vector_norm(x, ord, _canonical(axis, x.ndim), keepdims)


# --- products --------------------------------------------------------------------------------


def cross(x1, x2, /, *, axis=-1):
    """The cross product of vectors of three elements along an axis."""
    x1, x2 = (jnp.asarray(x) for x in arraylike("jnp.linalg.cross", x1, x2))
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors, but they "
                         f"have x1.shape[axis]={x1.shape[axis]} and "
                         f"x2.shape[axis]={x2.shape[axis]}")
    return jnp.cross(x1, x2, axis=axis)


def outer(x1, x2, /):
    """The outer product of two vectors."""
    x1, x2 = (jnp.asarray(x) for x in arraylike("jnp.linalg.outer", x1, x2))
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError("Input arrays must be one-dimensional, but they are "
                         f"x1.ndim={x1.ndim} x2.ndim={x2.ndim}")
    return x1[:, None] * x2[None, :]


def matmul(x1, x2, /, *, precision=None, preferred_element_type=None):
    """Matrix product; leading axes are broadcast."""
    return jnp.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


def vecdot(x1, x2, /, *, axis=-1, precision=None, preferred_element_type=None):
    """Inner products of (conjugated) x1 and x2 along an axis."""
    return jnp.vecdot(x1, x2, axis=axis, precision=precision,
                      preferred_element_type=preferred_element_type)


def tensordot(x1, x2, /, *, axes=2, precision=None, preferred_element_type=None,
              out_sharding=None):
    """Sum of products over `axes` of both operands."""
    return jnp.tensordot(x1, x2, axes=axes, precision=precision,
                         preferred_element_type=preferred_element_type, out_sharding=out_sharding)


def matrix_transpose(x, /):
    """The transposed matrices."""
    x = jnp.asarray(arraylike("jnp.linalg.matrix_transpose", x))
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose requires at least 2 dimensions; got ndim={x.ndim}")
    return jnp.swapaxes(x, -1, -2)


def diagonal(x, /, *, offset=0):
    """The diagonals of matrices x [..., m, n]."""
    return jnp.diagonal(arraylike("jnp.linalg.diagonal", x), axis1=-2, axis2=-1, offset=offset)


def trace(x, /, *, offset=0, dtype=None):
    """The sums of the diagonals of matrices x [..., m, n]."""
    x = arraylike("jnp.linalg.trace", x)
    if isinstance(offset, int) and offset == 0:  # known: only the diagonal is read
        return jnp.trace(x, axis1=-2, axis2=-1, dtype=dtype)
    return jnp.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


__all__ = ["cross", "diagonal", "matmul", "matrix_norm", "matrix_transpose", "norm", "outer",
           "tensordot", "trace", "vecdot", "vector_norm"]
