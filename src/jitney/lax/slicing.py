"""Static and dynamic slices: reading or replacing a box of an array.

In: arrays, static bounds, or (dynamic) start positions with static sizes. Out: the box, or the
array with the box replaced.
Invariant: a dynamic start is clamped so that the box lies inside the array.
"""

from __future__ import annotations

import builtins
import functools
import operator as op
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney import _native
from jitney.base import dtypes
from jitney.core.avals import Array, ShapedArray, get_aval, is_value
from jitney.core.primitive import Primitive, named
from jitney.lax.joining import pad
from jitney.lax.shape import (
    canonical_axis,
    canonical_shape,
    expand_dims,
    linear,
    shape_of,
    squeeze,
)
from jitney.transforms.jvp import Zero, define_jvp, instantiate_zeros, zeros_of
from jitney.transforms.transpose import define_transpose, is_undefined_primal
from jitney.transforms.vmap import at_front, batch_size, define_batch, move_dimension

_index = op.index

# --- slice -----------------------------------------------------------------------------------


def slice(operand, start_indices: Sequence[int], limit_indices: Sequence[int],
          strides: Sequence[int] | None = None):
    """The box from `start_indices` up to `limit_indices` (exclusive), every `strides`-th element.

    >>> slice(np.arange(5), (1,), (5,), (2,)).tolist()
    [1, 3]
    """
    return slice_p.bind(
        operand, start_indices=canonical_shape(start_indices, "slice start_indices"),
        limit_indices=canonical_shape(limit_indices, "slice limit_indices"),
        strides=None if strides is None else canonical_shape(strides, "slice strides"))


slice_p = Primitive("slice")


@slice_p.def_abstract
def _slice_type(operand, *, start_indices, limit_indices, strides):
    shape = operand.shape
    if len(start_indices) != len(shape):
        raise TypeError("slice start_indices must have length equal to the number of dimensions "
                        f"of the operand, got indices {start_indices} for operand shape {shape}.")
    if len(limit_indices) != len(start_indices):
        raise TypeError("slice limit_indices must have the same length as start_indices, got "
                        f"start_indices {start_indices} and limit_indices {limit_indices}.")
    for start, limit, n in zip(start_indices, limit_indices, shape, strict=True):
        if start < 0:
            raise TypeError("slice start_indices must have every element be nonnegative, got "
                            f"{start_indices}.")
        if limit > n:
            raise TypeError("slice limit_indices must be less than or equal to operand shape, got "
                            f"limit_indices {limit_indices} for operand shape {shape}.")
        if limit < start:
            raise TypeError(
                "slice limit_indices must be greater than or equal to start_indices, got "
                f"start_indices {start_indices} and limit_indices {limit_indices}.")
    if strides is None:
        sizes = [b - a for a, b in zip(start_indices, limit_indices, strict=True)]
        return ShapedArray(tuple(sizes), operand.dtype, operand.weak_type)
    if len(strides) != len(shape):
        raise TypeError("slice strides must have length equal to the number of dimensions of the "
                        f"operand, got strides {strides} for operand shape {shape}.")
    if any(s <= 0 for s in strides):
        raise TypeError(f"slice strides must be positive, got {strides}")
    sizes = [-(-(b - a) // s)
             for a, b, s in zip(start_indices, limit_indices, strides, strict=True)]
    return ShapedArray(tuple(sizes), operand.dtype, operand.weak_type)


@slice_p.def_reference
def _slice_reference(operand, *, start_indices, limit_indices, strides):
    strides = strides or (1,) * operand.ndim
    return operand[tuple(map(builtins.slice, start_indices, limit_indices, strides))]


def _slice_transpose(ct, operand, *, start_indices, limit_indices, strides):
    shape, sizes = operand.aval.shape, shape_of(ct)
    strides = strides or (1,) * len(shape)
    config = []
    for start, stride, size, n in zip(start_indices, strides, sizes, shape, strict=True):
        covered = (size - 1) * stride + 1 if size else 0
        config.append((start, n - start - covered, stride - 1))
    return [pad(ct, np.zeros((), get_aval(ct).dtype)[()], config)]


def _slice_batch(args, dims, *, start_indices, limit_indices, strides):
    dim = dims[0]

    def insert(values, value):
        return (*values[:dim], value, *values[dim:])

    return slice(args[0], insert(start_indices, 0),
                 insert(limit_indices, shape_of(args[0])[dim]),
                 None if strides is None else insert(strides, 1)), dim


linear(slice_p, _slice_transpose)
define_batch(slice_p, _slice_batch)


def slice_in_dim(operand, start_index: int | None, limit_index: int | None, stride: int = 1,
                 axis: int = 0):
    """`operand[start_index:limit_index:stride]` along one axis (negative bounds count back)."""
    shape = shape_of(operand)
    axis = canonical_axis(axis, len(shape))
    n = shape[axis]
    bounds = []
    for bound, default in ((start_index, 0), (limit_index, n)):
        bound = default if bound is None else _index(bound)
        bounds.append(bound + n if bound < 0 else bound)
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = bounds[0], bounds[1], _index(stride)
    return slice(operand, starts, limits, strides)


def index_in_dim(operand, index: int, axis: int = 0, keepdims: bool = True):
    """`operand[index]` along one axis; `keepdims` keeps that axis with size 1."""
    index, shape = _index(index), shape_of(operand)
    axis = canonical_axis(axis, len(shape))
    n = shape[axis]
    wrapped = index + n if index < 0 else index
    if not 0 <= wrapped < n:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {n}")
    found = slice_in_dim(operand, wrapped, wrapped + 1, 1, axis)
    return found if keepdims else squeeze(found, (axis,))


# --- start positions -------------------------------------------------------------------------


def wrap_negative(index: Any, size: int) -> Any:
    """`index + size` where the index is negative; literal sizes take the index's dtype."""
    dtype = get_aval(index).dtype
    scalar = dtype.type
    negative = named("lt").bind(index, scalar(0))
    wrapped = named("add").bind(index, scalar(size))
    return named("select_n").bind(negative, index, wrapped)


def _separate(start_indices: Any, ndim: int) -> list:
    """One start an axis, from a sequence of scalars or a one-dimensional array."""
    if not isinstance(start_indices, (tuple, list)) and is_value(start_indices):
        if len(shape_of(start_indices)) == 0:
            raise TypeError("start_indices must be a sequence of scalars or a 1-dimensional "
                            f"array, one index an axis; got a scalar {start_indices}")
        if not isinstance(start_indices, np.ndarray):
            start_indices = [index_in_dim(start_indices, i, 0, False)
                             for i in range(shape_of(start_indices)[0])]
    starts = list(start_indices)
    if len(starts) != ndim:
        raise ValueError("Length of slice indices must match number of operand dimensions "
                         f"({len(starts)} vs {ndim})")
    return starts


@functools.lru_cache(maxsize=64)
def integer_limits(dtype: np.dtype) -> tuple[int, int]:
    """Least and greatest value of an integer dtype."""
    info = dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


def _is_static(index: Any) -> bool:
    """Known now, so that negative values are resolved without an equation."""
    if isinstance(index, (int, np.integer)):
        return True
    return type(index) is Array and index.ndim == 0 and dtypes.is_integer(index.dtype) \
        and _native.current_trace() is None


def start_scalars(shape: tuple[int, ...], start_indices: Any, allow_negative: Any) -> list:
    """Start positions ready to be operands: one integer dtype, negative ones counted back."""
    starts = _separate(start_indices, len(shape))
    if isinstance(allow_negative, bool):
        allow_negative = (allow_negative,) * len(shape)
    elif len(allow_negative) != len(shape):
        raise ValueError("allow_negative_indices must be a bool or one bool an axis, got "
                         f"{len(allow_negative)} for {len(shape)} axes")
    dynamic = [get_aval(i).dtype for i in starts if not _is_static(i)]
    dtype = dynamic[0] if dynamic else dtypes.canonicalize_dtype(np.int64)
    if not dtypes.is_integer(dtype):
        return starts                                # the type rule names what is wrong
    least, greatest = integer_limits(dtype)
    if max(shape, default=0) > greatest:
        dtype = np.dtype(np.int32)                   # int8 positions in an axis of 300
        least, greatest = integer_limits(dtype)
        starts = [s if _is_static(s) else named("convert_element_type").bind(
            s, new_dtype=dtype, weak_type=False, sharding=None) for s in starts]
    out = []
    for start, n, wrap in zip(starts, shape, allow_negative, strict=True):
        if _is_static(start):
            start = _index(start)
            start = start + n if wrap and start < 0 else start
            # Beyond the dtype's range means beyond the array: the box is clamped all the same.
            start = dtype.type(min(max(start, least), greatest))
        elif wrap and get_aval(start).shape == () \
                and dtypes.issubdtype(get_aval(start).dtype, np.signedinteger):
            start = wrap_negative(start, n)
        out.append(start)
    return out


def _check_starts(name: str, starts: tuple) -> None:
    first = starts[0].dtype if starts else None
    if starts and not (dtypes.is_integer(first) and all(i.dtype == first for i in starts)):
        names = ", ".join(str(i.dtype) for i in starts)
        raise TypeError(f"index arguments to {name} must be integers of the same type, got: "
                        f"{names}")
    if any(i.shape for i in starts):
        raise TypeError(f"start_indices arguments to {name} must be scalars, got indices "
                        f"{tuple(starts)}")


def _clamped(starts, shape, sizes) -> tuple:
    return tuple([builtins.slice(lo, lo + size) for lo, size in (
        (min(max(int(i), 0), n - size), size)
        for i, n, size in zip(starts, shape, sizes, strict=True))])


# --- dynamic_slice ---------------------------------------------------------------------------


def dynamic_slice(operand, start_indices, slice_sizes: Sequence[int], *,
                  allow_negative_indices: bool | Sequence[bool] = True):
    """The box of size `slice_sizes` at a start position that may be traced.

    A start that would put the box outside the array is clamped.
    """
    starts = start_scalars(shape_of(operand), start_indices, allow_negative_indices)
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=canonical_shape(slice_sizes))


dynamic_slice_p = Primitive("dynamic_slice")


@dynamic_slice_p.def_abstract
def _dynamic_slice_type(operand, *starts, slice_sizes):
    shape = operand.shape
    if len(starts) != len(shape):
        raise TypeError("dynamic_slice start_indices must have length equal to the number of "
                        f"dimensions of the operand, got indices {starts} for operand shape "
                        f"{shape}.")
    if len(slice_sizes) != len(shape):
        raise TypeError("slice slice_sizes must have the same length as start_indices, got "
                        f"start_indices length {len(starts)} and slice_sizes {slice_sizes}.")
    for n, size in zip(shape, slice_sizes, strict=True):
        if size > n:
            raise TypeError("slice slice_sizes must be less than or equal to operand shape, got "
                            f"slice_sizes {slice_sizes} for operand shape {shape}.")
        if size < 0:
            raise TypeError("slice slice_sizes must be greater than or equal to zero, got "
                            f"slice_sizes of {slice_sizes}.")
    _check_starts("dynamic_slice", starts)
    return ShapedArray(slice_sizes, operand.dtype, operand.weak_type)


@dynamic_slice_p.def_reference
def _dynamic_slice_reference(operand, *starts, slice_sizes):
    return operand[_clamped(starts, operand.shape, slice_sizes)]


def _dynamic_slice_jvp(primals, tangents, *, slice_sizes):
    operand, *starts = primals
    out = dynamic_slice_p.bind(operand, *starts, slice_sizes=slice_sizes)
    if type(tangents[0]) is Zero:
        return out, Zero.from_primal_value(out)
    return out, dynamic_slice_p.bind(tangents[0], *starts, slice_sizes=slice_sizes)


def _dynamic_slice_transpose(ct, operand, *starts, slice_sizes):
    nothing = [None] * len(starts)
    if type(ct) is Zero:
        return [Zero(operand.aval), *nothing]
    zeros = zeros_of(operand.aval)
    return [dynamic_update_slice_p.bind(zeros, ct, *starts), *nothing]


define_jvp(dynamic_slice_p, _dynamic_slice_jvp)
define_transpose(dynamic_slice_p, _dynamic_slice_transpose)


def _zero_start(starts) -> Any:
    """A start of 0 for a batch axis, in the dtype of the others."""
    return get_aval(starts[0]).dtype.type(0) if starts else np.int32(0)


def batched_box_read(args, dims, *, slice_sizes):
    """Batching of dynamic_slice when no start is batched: a box with the whole batch axis."""
    (operand, *starts), dim = args, dims[0]
    starts = [*starts[:dim], _zero_start(starts), *starts[dim:]]
    sizes = (*slice_sizes[:dim], shape_of(operand)[dim], *slice_sizes[dim:])
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=sizes), dim


# --- dynamic_update_slice --------------------------------------------------------------------


def dynamic_update_slice(operand, update, start_indices, *,
                         allow_negative_indices: bool | Sequence[bool] = True):
    """`operand` with the box of `update`'s shape at `start_indices` replaced by `update`."""
    starts = start_scalars(shape_of(operand), start_indices, allow_negative_indices)
    return dynamic_update_slice_p.bind(operand, update, *starts)


dynamic_update_slice_p = Primitive("dynamic_update_slice")


@dynamic_update_slice_p.def_abstract
def _dynamic_update_slice_type(operand, update, *starts):
    shape = operand.shape
    if operand.ndim != update.ndim:
        raise TypeError("dynamic_update_slice update must have the same rank as operand, got "
                        f"update shape {update.shape} for operand shape {shape}.")
    if len(starts) != len(shape):
        raise TypeError("dynamic_update_slice start_indices must have length equal to the rank of "
                        f"operand, got indices {starts} for operand shape {shape}.")
    if any(m > n for m, n in zip(update.shape, shape, strict=True)):
        raise TypeError("dynamic_update_slice update shape must be smaller than operand shape, "
                        f"got update shape {update.shape} for operand shape {shape}.")
    if operand.dtype != update.dtype:
        raise TypeError("lax.dynamic_update_slice requires arguments to have the same dtypes, got "
                        f"{operand.dtype}, {update.dtype}.")
    _check_starts("dynamic_update_slice", starts)
    return ShapedArray(shape, operand.dtype)


@dynamic_update_slice_p.def_reference
def _dynamic_update_slice_reference(operand, update, *starts):
    out = np.array(operand)
    out[_clamped(starts, operand.shape, update.shape)] = update
    return out


def _dynamic_update_slice_jvp(primals, tangents):
    operand, update, *starts = primals
    out = dynamic_update_slice_p.bind(*primals)
    t_operand, t_update = tangents[:2]
    if type(t_operand) is Zero and type(t_update) is Zero:
        return out, Zero.from_primal_value(out)
    return out, dynamic_update_slice_p.bind(instantiate_zeros(t_operand),
                                            instantiate_zeros(t_update), *starts)


def _dynamic_update_slice_transpose(ct, operand, update, *starts):
    nothing = [None] * len(starts)
    linear_operand, linear_update = is_undefined_primal(operand), is_undefined_primal(update)
    if type(ct) is Zero:
        return [Zero(operand.aval) if linear_operand else None,
                Zero(update.aval) if linear_update else None, *nothing]
    update_aval = update.aval if linear_update else get_aval(update)
    ct_operand = ct_update = None
    if linear_operand:
        ct_operand = dynamic_update_slice_p.bind(ct, zeros_of(update_aval), *starts)
    if linear_update:
        ct_update = dynamic_slice_p.bind(ct, *starts, slice_sizes=update_aval.shape)
    return [ct_operand, ct_update, *nothing]


define_jvp(dynamic_update_slice_p, _dynamic_update_slice_jvp)
define_transpose(dynamic_update_slice_p, _dynamic_update_slice_transpose)


def batched_box_write(args, dims):
    """Batching of dynamic_update_slice when no start is batched."""
    size = batch_size(args, dims)
    operand, update, *starts = args
    dim = dims[0] if dims[0] is not None else 0
    operand = operand if dims[0] is not None else at_front(operand, None, size)
    update = move_dimension(update, dims[1], dim) if dims[1] is not None else \
        _repeat_at(update, size, dim)
    starts = [*starts[:dim], _zero_start(starts), *starts[dim:]]
    return dynamic_update_slice_p.bind(operand, update, *starts), dim


def _repeat_at(x, size: int, dim: int):
    shape = shape_of(x)
    kept = tuple([i for i in range(len(shape) + 1) if i != dim])
    return named("broadcast_in_dim").bind(
        x, shape=(*shape[:dim], size, *shape[dim:]), broadcast_dimensions=kept, sharding=None)


# --- one axis --------------------------------------------------------------------------------


def dynamic_slice_in_dim(operand, start_index, slice_size: int, axis: int = 0, *,
                         allow_negative_indices: bool = True):
    """`dynamic_slice` along one axis, the others whole."""
    shape = shape_of(operand)
    axis = canonical_axis(axis, len(shape))
    starts: list[Any] = [0] * len(shape)
    starts[axis] = start_index
    sizes = list(shape)
    sizes[axis] = slice_size
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(operand, index, axis: int = 0, keepdims: bool = True, *,
                         allow_negative_indices: bool = True):
    """The subarray at a (traced) position along one axis."""
    axis = canonical_axis(axis, len(shape_of(operand)))
    found = dynamic_slice_in_dim(operand, index, 1, axis,
                                 allow_negative_indices=allow_negative_indices)
    return found if keepdims else squeeze(found, (axis,))


def dynamic_update_slice_in_dim(operand, update, start_index, axis: int, *,
                                allow_negative_indices: bool = True):
    """`dynamic_update_slice` along one axis."""
    ndim = len(shape_of(operand))
    axis = canonical_axis(axis, ndim)
    starts: list[Any] = [0] * ndim
    starts[axis] = start_index
    return dynamic_update_slice(operand, update, starts,
                                allow_negative_indices=allow_negative_indices)


def dynamic_update_index_in_dim(operand, update, index, axis: int, *,
                                allow_negative_indices: bool = True):
    """Replace the subarray at a (traced) position along one axis."""
    ndim, update_ndim = len(shape_of(operand)), len(shape_of(update))
    axis = canonical_axis(axis, ndim)
    if update_ndim != ndim:
        if update_ndim + 1 != ndim:
            raise ValueError("dynamic_update_index_in_dim: update must have the rank of operand "
                             f"or one less; got shapes {shape_of(update)} and {shape_of(operand)}")
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(operand, update, index, axis,
                                       allow_negative_indices=allow_negative_indices)
