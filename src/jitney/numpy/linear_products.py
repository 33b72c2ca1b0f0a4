"""Products of vectors and matrices: dot, matmul, tensordot, inner, outer, kron, cross, trace.

In: two arrays. Out: their product, one `dot_general` where there is something to sum.
Invariant: the operands' common dtype is the result's, unless `preferred_element_type` is given.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.lax.out_sharding import check_out_sharding
from jitney.numpy import reductions
from jitney.numpy.jitted import inlined, one_program, traced_call
from jitney.numpy.manipulation import moveaxis, ravel
from jitney.numpy.promotion import (
    array_arguments,
    arraylike,
    as_value,
    canonical_axis,
    check_arraylike,
    convert,
    dtype_of,
    no_out,
    promote_dtypes,
    requested_dtype,
    shape_of,
)
from jitney.numpy.ranges import diagonal_mask
from jitney.numpy.ufuncs import conj, constant, multiply_values
from jitney.numpy.where import where_value

_STATIC = ("precision", "preferred_element_type", "out_sharding")


def _operands(name: str, a: Any, b: Any) -> tuple[Any, Any]:
    return tuple(promote_dtypes(*arraylike(name, a, b)))


def _result_type(a: Any, preferred: Any, name: str) -> Any:
    return dtype_of(a) if preferred is None else requested_dtype(preferred, name)


def _dot_general(a: Any, b: Any, contracting: Any, batch: Any, precision: Any,
                 dtype: Any, out_sharding: Any = None) -> Any:
    return lax.dot_general(a, b, (contracting, batch), precision=precision,
                           preferred_element_type=dtype, out_sharding=out_sharding)


@inlined(static_argnames=_STATIC)
def dot(a, b, *, precision=None, preferred_element_type=None, out_sharding=None):
    """Sum of products over the last axis of `a` and the last but one of `b`."""
    check_out_sharding("dot", out_sharding)
    a, b = _operands("dot", a, b)
    dtype = _result_type(a, preferred_element_type, "dot")
    rank_a, rank_b = len(shape_of(a)), len(shape_of(b))
    if rank_a == 0 or rank_b == 0:
        contracting: Any = ((), ())
    else:
        contracting = ((rank_a - 1,), (max(rank_b - 2, 0),))
    return _dot_general(a, b, contracting, ((), ()), precision, dtype, out_sharding)


def _matmul_ranks(name: str, a: Any, b: Any) -> None:
    for i, x in enumerate((a, b)):
        if not shape_of(x):
            raise ValueError(f"{name} input operand {i} must have ndim at least 1, but it has "
                             "ndim 0")


@inlined(static_argnames=_STATIC)
def matmul(a, b, *, precision=None, preferred_element_type=None, out_sharding=None):
    """Matrix product; leading axes are broadcast."""
    check_out_sharding("matmul", out_sharding)
    check_arraylike("matmul", a, b)
    _matmul_ranks("matmul", a, b)
    a, b = _operands("matmul", a, b)
    dtype = _result_type(a, preferred_element_type, "matmul")
    return _batched_product(a, b, min(2, len(shape_of(a))), min(2, len(shape_of(b))), precision,
                            dtype)


def _batched_product(a: Any, b: Any, core_a: int, core_b: int, precision: Any,
                     dtype: Any) -> Any:
    """Product over the last axis of `a` and the first core axis of `b`; the rest is batch."""
    batch_a, batch_b = shape_of(a)[:-core_a], shape_of(b)[:-core_b]
    rank = max(len(batch_a), len(batch_b))
    try:
        np.broadcast_shapes(batch_a, batch_b)
    except ValueError:
        raise ValueError(f"jnp.matmul: batch dimensions of shapes {shape_of(a)} and {shape_of(b)} "
                         "cannot be broadcast") from None
    names_a, names_b = _batch_names(batch_a, rank), _batch_names(batch_b, rank)
    sizes_a = {n: s for n, s in zip(names_a, batch_a)}
    sizes_b = {n: s for n, s in zip(names_b, batch_b)}
    drop_a = [n for n in names_a if sizes_a[n] == 1 and sizes_b.get(n, 1) != 1]
    drop_b = [n for n in names_b if sizes_b[n] == 1 and sizes_a.get(n, 1) != 1]
    a, names_a = _drop(a, names_a, drop_a)
    b, names_b = _drop(b, names_b, drop_b)
    shared = [n for n in names_a if n in names_b]
    batch = (tuple(names_a.index(n) for n in shared), tuple(names_b.index(n) for n in shared))
    contracting = ((len(shape_of(a)) - 1,), (len(shape_of(b)) - core_b,))
    result = _dot_general(a, b, contracting, batch, precision, dtype)
    row, column = ["row"] * (core_a - 1), ["column"] * (core_b - 1)
    order = [*shared, *(n for n in names_a if n not in shared), *row,
             *(n for n in names_b if n not in shared), *column]
    wanted = [*range(rank), *row, *column]
    permutation = tuple(order.index(n) for n in wanted)
    return result if permutation == tuple(range(len(order))) else lax.transpose(result, permutation)


def _batch_names(batch: Sequence[int], rank: int) -> list[Any]:
    return list(range(rank - len(batch), rank))


def _drop(x: Any, names: list[Any], gone: list[Any]) -> tuple[Any, list[Any]]:
    if not gone:
        return x, names
    return (lax.squeeze(x, tuple(names.index(n) for n in gone)),
            [n for n in names if n not in gone])


@traced_call
def matvec(x1, x2, /):
    """(Stacks of) matrices times vectors."""
    _needs_rank("matvec", 0, x1, 2)
    _needs_rank("matvec", 1, x2, 1)
    a, b = _operands("matvec", x1, x2)
    return _batched_product(a, b, 2, 1, None, dtype_of(a))


@traced_call
def vecmat(x1, x2, /):
    """Conjugated (stacks of) vectors times matrices."""
    _needs_rank("vecmat", 0, x1, 1)
    _needs_rank("vecmat", 1, x2, 2)
    a, b = _operands("vecmat", x1, x2)
    return _batched_product(conj(a), b, 1, 2, None, dtype_of(a))


def _needs_rank(name: str, position: int, x: Any, rank: int) -> None:
    check_arraylike(name, x)
    if len(shape_of(x)) < rank:
        raise ValueError(f"{name} input {position} must have ndim at least {rank}, but it has "
                         f"shape {shape_of(x)}")


@inlined(static_argnames=("precision", "preferred_element_type"))
def vdot(a, b, *, precision=None, preferred_element_type=None):
    """Sum of conj(a) * b over all elements."""
    a, b = array_arguments("vdot", a, b)
    if dtypes.is_complex(dtype_of(a)):
        a = lax.conj(a)
    return dot(ravel(a), ravel(b), precision=precision,
               preferred_element_type=preferred_element_type)


@one_program(static_argnames=("axis", "precision", "preferred_element_type"))
def vecdot(x1, x2, /, *, axis=-1, precision=None, preferred_element_type=None):
    """Sum of conj(x1) * x2 along an axis, the others broadcast."""
    a, b = array_arguments("vecdot", x1, x2)
    if not shape_of(a) or not shape_of(b):
        raise ValueError("vecdot arguments must have at least one dimension")
    rank = max(len(shape_of(a)), len(shape_of(b)))
    axis = operator.index(axis)
    axis_a = axis if axis < 0 else axis - (rank - len(shape_of(a)))
    axis_b = axis if axis < 0 else axis - (rank - len(shape_of(b)))
    if axis >= 0 and min(len(shape_of(a)), len(shape_of(b))) < rank:
        axis_a, axis_b = (axis if len(shape_of(x)) == rank else -1 for x in (a, b))
    if len(shape_of(a)) > 1:
        a = _to_last(a, axis_a)
    if len(shape_of(b)) > 1:
        b = _to_last(b, axis_b)
    if shape_of(a)[-1] != shape_of(b)[-1]:
        raise ValueError("shapes must match along contraction axis for vecdot; got "
                         f"x1.shape={shape_of(x1)} x2.shape={shape_of(x2)} with axis={axis}")
    a, b = promote_dtypes(conj(a), b)
    dtype = _result_type(a, preferred_element_type, "vecdot")
    return _batched_product(a, b, 1, 1, precision, dtype)


def _to_last(x: Any, axis: int) -> Any:
    axis = canonical_axis(axis, len(shape_of(x)))
    return x if axis == len(shape_of(x)) - 1 else moveaxis(x, axis, -1)


@inlined(static_argnames=("axes", *_STATIC))
def _tensordot(a, b, axes, *, precision=None, preferred_element_type=None, out_sharding=None):
    check_out_sharding("tensordot", out_sharding)
    a, b = _operands("tensordot", a, b)
    dtype = _result_type(a, preferred_element_type, "tensordot")
    rank_a, rank_b = len(shape_of(a)), len(shape_of(b))
    if isinstance(axes, int):
        if axes > min(rank_a, rank_b):
            raise TypeError(f"Number of tensordot axes (axes {axes}) exceeds input ranks "
                            f"({shape_of(a)} and {shape_of(b)})")
        contracting = (tuple(range(rank_a - axes, rank_a)), tuple(range(axes)))
    else:
        one, other = axes
        one = (one,) if isinstance(one, int) else one
        other = (other,) if isinstance(other, int) else other
        if len(one) != len(other):
            raise TypeError("tensordot requires axes lists to have equal length, got "
                            f"{list(one)} and {list(other)}.")
        contracting = (tuple(canonical_axis(i, rank_a) for i in one),
                       tuple(canonical_axis(i, rank_b) for i in other))
    return _dot_general(a, b, contracting, ((), ()), precision, dtype, out_sharding)


def tensordot(a, b, axes=2, *, precision=None, preferred_element_type=None, out_sharding=None):
    """Sum of products over several axes."""
    check_arraylike("tensordot", a, b)
    if isinstance(axes, (tuple, list, np.ndarray)):
        if len(axes) != 2:
            raise TypeError("tensordot axes must be an int, a pair of ints, or a pair of sequences "
                            f"of ints, got {axes}")
        axes = tuple(tuple(operator.index(i) for i in part) if np.ndim(part)
                     else operator.index(part) for part in axes)
    else:
        axes = operator.index(axes)
    return _tensordot(a, b, axes, precision=precision,
                      preferred_element_type=preferred_element_type, out_sharding=out_sharding)


@inlined(static_argnames=("precision", "preferred_element_type"))
def inner(a, b, *, precision=None, preferred_element_type=None):
    """Sum of products over the last axes."""
    a, b = array_arguments("inner", a, b)
    if not shape_of(a) or not shape_of(b):
        dtype = None if preferred_element_type is None else requested_dtype(
            preferred_element_type, "inner")
        product = multiply_values(a, b)
        return product if dtype is None else convert(product, dtype)
    return tensordot(a, b, (-1, -1), precision=precision,
                     preferred_element_type=preferred_element_type)


@inlined
def outer(a, b, out=None):
    """All products of elements of two vectors."""
    no_out("outer", out)
    a, b = array_arguments("outer", a, b)
    a, b = promote_dtypes(a, b)
    return multiply_values(lax.expand_dims(ravel(a), (1,)), lax.expand_dims(ravel(b), (0,)))


@traced_call
def kron(a, b):
    """Kronecker product."""
    a, b = (as_value(x) for x in _operands("kron", a, b))
    rank = max(len(shape_of(a)), len(shape_of(b)))
    a, b = (lax.expand_dims(x, tuple(range(rank - len(shape_of(x))))) if
            len(shape_of(x)) < rank else x for x in (a, b))
    wide_a = lax.expand_dims(a, tuple(range(1, 2 * rank, 2)))
    wide_b = lax.expand_dims(b, tuple(range(0, 2 * rank, 2)))
    sizes = tuple(m * n for m, n in zip(shape_of(a), shape_of(b)))
    return lax.reshape(multiply_values(wide_a, wide_b), sizes)


@traced_call(static_argnames=("axisa", "axisb", "axisc", "axis"))
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """Cross product of (stacks of) vectors of two or three components."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = (as_value(x) for x in _operands("cross", a, b))
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    sizes = (shape_of(a)[-1], shape_of(b)[-1])
    if any(n not in (2, 3) for n in sizes):
        raise ValueError("Dimension must be either 2 or 3 for cross product")
    if sizes == (2, 2):
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    parts_a, parts_b = _three(a), _three(b)
    (a0, a1, a2), (b0, b1, b2) = parts_a, parts_b
    columns = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    wide = np.broadcast_shapes(*(shape_of(c) for c in columns))
    stacked = lax.concatenate([lax.expand_dims(_full(c, wide), (0,)) for c in columns], 0)
    return moveaxis(stacked, 0, axisc)


def _three(x: Any) -> tuple[Any, Any, Any]:
    first, second = x[..., 0], x[..., 1]
    return first, second, (x[..., 2] if shape_of(x)[-1] == 3 else lax.full_like(first, 0))


def _full(x: Any, shape: tuple[int, ...]) -> Any:
    return x if shape_of(x) == shape else lax.broadcast_in_dim(
        x, shape, tuple(range(len(shape) - len(shape_of(x)), len(shape))))


@traced_call(static_argnames=("axis1", "axis2", "dtype"))
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """Sum along a diagonal."""
    a = array_arguments("trace", a)
    no_out("trace", out)
    rank = len(shape_of(a))
    axis1, axis2 = canonical_axis(axis1, rank), canonical_axis(axis2, rank)
    a = moveaxis(a, (axis1, axis2), (-2, -1)) if (axis1, axis2) != (rank - 2, rank - 1) else a
    rows, columns = shape_of(a)[-2:]
    mask = diagonal_mask(rows, columns, convert(offset, np.dtype(np.int32)), lax.eq)
    kept = where_value(mask, a, lax.full_like(a, constant(0, a)))
    return reductions.sum(kept, axis=(-2, -1), dtype=dtype)


