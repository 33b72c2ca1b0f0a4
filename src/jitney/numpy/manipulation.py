"""Views of arrays: shapes, axes, order of elements, repetition.

In: an array. Out: the same elements in another arrangement.
Invariant: these are data movement only; no element is computed with.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney import _native, lax
from jitney.core import avals
from jitney.core.trace import Tracer
from jitney.lax.out_sharding import check_out_sharding
from jitney.numpy import indexing, native_routines
from jitney.numpy.creation import asarray, broadcast_value
from jitney.numpy.jitted import inlined, traced_call
from jitney.numpy.promotion import (
    array_arguments,
    as_value,
    canonical_axes,
    canonical_axis,
    canonical_shape,
    check_arraylike,
    concrete_or_error,
    convert,
    dtype_of,
    is_concrete,
    shape_of,
    static_axis,
    static_shape,
)
from jitney.numpy.reductions import cumsum
from jitney.numpy.ufuncs import constant

# --- questions ---------------------------------------------------------------------------------


def shape(a):
    """The shape of an array."""
    if hasattr(a, "shape"):
        return a.shape
    return np.shape(a)


def ndim(a):
    """The number of axes of an array."""
    if hasattr(a, "ndim"):
        return a.ndim
    return np.ndim(a)


def size(a, axis=None):
    """The number of elements of an array, or along axes."""
    dims = shape_of(a)
    if axis is None:
        return math.prod(dims)
    return math.prod(dims[i] for i in canonical_axes(axis, len(dims)))


def isscalar(element):
    """Whether the value is a number, or an array without axes."""
    if np.isscalar(element):
        return True
    if isinstance(element, (np.ndarray, avals.Array)) or hasattr(element, "aval"):
        return np.ndim(element) == 0 if isinstance(element, np.ndarray) else element.ndim == 0
    return hasattr(element, "__jax_array__") and element.__jax_array__().ndim == 0


def iterable(y):
    """Whether the value can be iterated over."""
    return np.iterable(y)


def broadcast_shapes(*shapes):
    """The shape that shapes broadcast to."""
    given = [canonical_shape(s) for s in shapes]
    try:
        return np.broadcast_shapes(*given)
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={given}") from None


def part(x: Any, low: int, high: int, axis: int = 0) -> Any:
    """The slices low, low + 1, …, high - 1 along an axis."""
    dims = shape_of(x)
    starts = [0] * len(dims)
    limits = list(dims)
    starts[axis], limits[axis] = low, high
    return lax.slice(x, starts, limits)


# --- shapes ------------------------------------------------------------------------------------


def reshape(a, shape, order="C", *, copy=None, out_sharding=None):
    """The elements of `a` in another shape; one length may be -1.

    Arrays share their memory with the result if `copy` is False, and do not if it is True;
    ValueError where sharing is impossible (of NumPy values, and in Fortran order).
    """
    check_out_sharding("reshape", out_sharding)
    if copy is False:
        return _reshape_without_copy(a, shape, order)
    if copy and type(a) is avals.Array:
        a = lax.copy_p.bind(a)
    if order == "C" and is_large(a):
        return viewed(a, completed_shape(a, shape))
    return reshape_static(a, static_shape(shape), order)


def _reshape_without_copy(a: Any, shape: Any, order: str) -> Any:
    if isinstance(a, Tracer):
        return reshape_static(a, static_shape(shape), order)
    if type(a) is not avals.Array or order == "F":
        raise ValueError(f"reshape: {type(a)} in order {order!r} has to be copied. However "
                         "copy=False. Set copy=True or copy=None to perform the operation.")
    return viewed(a, completed_shape(a, shape))


_LARGE = 1 << 13                     # elements; from here on a view is worth looking for


def is_large(a: Any) -> bool:
    """Whether `a` is a large concrete array, of which a view is better than a copy."""
    return type(a) is avals.Array and a.size > _LARGE and _native.current_trace() is None


def viewed(a: Any, shape: tuple[int, ...]) -> Any:
    """The memory of a concrete array under another shape of the same size."""
    return _native.array_view(a, _native.ShapedArray(shape, a.dtype, a.weak_type))


@inlined(static_argnums=(1, 2))
def reshape_static(a, shape, order):
    """`reshape` with a hashable shape."""
    return reshaped(array_arguments("reshape", a), shape, order)


def reshaped(a: Any, shape: Any, order: str = "C") -> Any:
    """`reshape` of an array or tracer."""
    new = completed_shape(a, shape)
    if order == "C":
        return lax.reshape(a, new) if new != shape_of(a) else a
    if order == "F":
        dims = tuple(range(len(shape_of(a))))[::-1]
        flat = lax.reshape(a, new[::-1], dims)
        return lax.transpose(flat, tuple(range(len(new)))[::-1])
    if order == "A":
        raise NotImplementedError("np.reshape order=A is not implemented.")
    raise ValueError(f"Unexpected value for 'order' argument: {order}.")


def completed_shape(a: Any, shape: Any) -> tuple[int, ...]:
    """The shape asked for, -1 worked out; TypeError when the sizes differ."""
    given = canonical_shape(shape)
    have = shape_of(a)
    total = math.prod(have)
    if given.count(-1) > 1:
        raise TypeError(f"can only specify one unknown axis size with a `-1` value, got {given}")
    if -1 in given:
        rest = math.prod(n for n in given if n != -1)
        if rest == 0 or total % rest:
            raise TypeError(f"cannot reshape array of shape {have} (size {total}) into shape "
                            f"{given} because the product of specified axis sizes ({rest}) does "
                            f"not evenly divide {total}")
        given = tuple(total // rest if n == -1 else n for n in given)
    if math.prod(given) != total or any(n < 0 for n in given):
        shown = shape if isinstance(shape, int) else given
        raise TypeError(f"cannot reshape array of shape {have} (size {total}) into shape {shown} "
                        f"(size {math.prod(given)})")
    return given


def ravel(a, order="C", *, out_sharding=None):
    """The elements in one axis."""
    check_out_sharding("ravel", out_sharding)
    if order == "C" and is_large(a):
        return viewed(a, (a.size,))
    return _ravel(a, order)


@inlined(static_argnums=(1,))
def _ravel(a, order):
    a = array_arguments("ravel", a)
    if order == "K":
        raise NotImplementedError("Ravel not implemented for order='K'.")
    return reshaped(a, (math.prod(shape_of(a)),), order)


def squeeze(a, axis=None):
    """Without axes of length one."""
    if axis is None and is_large(a):
        return viewed(a, tuple(n for n in a.shape if n != 1))
    return squeeze_static(a, static_axis(axis))


@inlined(static_argnums=(1,))
def squeeze_static(a, axis):
    """`squeeze` with a hashable axis."""
    a = array_arguments("squeeze", a)
    dims = shape_of(a)
    if axis is None:
        axes = tuple(i for i, n in enumerate(dims) if n == 1)
    else:
        axes = canonical_axes(axis, len(dims))
        if builtins.any(dims[i] != 1 for i in axes):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to "
                             f"one, got shape={dims} and dimensions={axes}")
    return lax.squeeze(a, axes) if axes else a


def expand_dims(a, axis):
    """With axes of length one put in at the given positions of the result."""
    return _expand_dims(a, static_axis(axis))


@inlined(static_argnums=(1,))
def _expand_dims(a, axis):
    a = array_arguments("expand_dims", a)
    given = axis if isinstance(axis, tuple) else (axis,)
    rank = len(shape_of(a)) + len(given)
    axes = tuple(canonical_axis(i, rank) for i in given)
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in lax.expand_dims: {given}")
    return lax.expand_dims(a, axes) if axes else a


def broadcast_to(array, shape, *, out_sharding=None):
    """`array` repeated along new or length-one axes to have `shape`."""
    check_out_sharding("broadcast_to", out_sharding)
    return _broadcast_to(array, static_shape(shape))


@inlined(static_argnums=(1,))
def _broadcast_to(array, shape):
    return broadcast_value(array_arguments("broadcast_to", array), canonical_shape(shape))


def broadcast_arrays(*args):
    """Arrays broadcast to their common shape."""
    values = [array_arguments("broadcast_arrays", a) for a in args]
    if not values:
        return []
    target = broadcast_shapes(*(shape_of(v) for v in values))
    return [broadcast_value(v, target) for v in values]


@traced_call
def atleast_1d(*arys):
    """With at least one axis."""
    if len(arys) == 1:
        a = array_arguments("atleast_1d", arys[0])
        return a if shape_of(a) else lax.reshape(a, (1,))
    check_arraylike("atleast_1d", *arys)
    return [_rank_1(as_value(a)) for a in arys]


def _rank_1(a: Any) -> Any:
    return a if shape_of(a) else lax.reshape(a, (1,))


def _rank_2(a: Any) -> Any:
    rank = len(shape_of(a))
    return a if rank >= 2 else lax.expand_dims(a, tuple(range(2 - rank)))


def _rank_3(a: Any) -> Any:
    rank = len(shape_of(a))
    if rank == 0:
        return lax.expand_dims(a, (0, 1, 2))
    if rank == 1:
        return lax.expand_dims(a, (0, 2))
    return lax.expand_dims(a, (2,)) if rank == 2 else a


@traced_call
def atleast_2d(*arys):
    """With at least two axes, new ones in front."""
    if len(arys) == 1:
        return _rank_2(array_arguments("atleast_2d", arys[0]))
    check_arraylike("atleast_2d", *arys)
    return [_rank_2(as_value(a)) for a in arys]


@traced_call
def atleast_3d(*arys):
    """With at least three axes."""
    if len(arys) == 1:
        return _rank_3(array_arguments("atleast_3d", arys[0]))
    check_arraylike("atleast_3d", *arys)
    return [atleast_3d(a) for a in arys]


# --- axes --------------------------------------------------------------------------------------


def transpose(a, axes=None):
    """Axes in another order; reversed when none is given."""
    return transpose_static(a, static_axis(axes))


@inlined(static_argnums=(1,))
def transpose_static(a, axes=None):
    """`transpose` with hashable axes."""
    a = array_arguments("transpose", a)
    rank = len(shape_of(a))
    if axes is None:
        order = tuple(range(rank))[::-1]
    else:
        order = tuple(canonical_axis(i, rank) for i in axes)
    if len(order) == rank and order == tuple(range(rank)):
        return a
    return lax.transpose(a, order)


def permute_dims(a, /, axes):
    """Axes in another order."""
    return transpose(a, axes)


@inlined
def matrix_transpose(x, /):
    """The last two axes exchanged."""
    x = array_arguments("matrix_transpose", x)
    rank = len(shape_of(x))
    if rank < 2:
        raise ValueError("x must be at least two-dimensional for matrix_transpose; got "
                         f"ndim={rank}")
    return lax.transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def moveaxis(a, source, destination):
    """Axes moved to other positions."""
    return _moveaxis(a, static_axis(source), static_axis(destination))


@inlined(static_argnums=(1, 2))
def _moveaxis(a, source, destination):
    a = array_arguments("moveaxis", a)
    rank = len(shape_of(a))
    from_ = canonical_axes(source, rank, "source")
    to = canonical_axes(destination, rank, "destination")
    if len(from_) != len(to):
        raise ValueError(f"Inconsistent number of elements: {len(from_)} vs {len(to)}")
    return lax.transpose(a, moved_order(rank, from_, to))


def moved_order(rank: int, source: Sequence[int], destination: Sequence[int]) -> tuple[int, ...]:
    """The permutation that moves axes `source` to positions `destination`."""
    order = [i for i in range(rank) if i not in source]
    for position, axis in sorted(zip(destination, source)):
        order.insert(position, axis)
    return tuple(order)


@inlined(static_argnames=("axis1", "axis2"))
def swapaxes(a, axis1, axis2):
    """Two axes exchanged."""
    a = array_arguments("swapaxes", a)
    rank = len(shape_of(a))
    order = list(range(rank))
    try:
        i, j = canonical_axis(axis1, rank), canonical_axis(axis2, rank)
    except ValueError as error:
        raise IndexError(str(error)) from None          # the class JAX raises here
    order[i], order[j] = order[j], order[i]
    return lax.transpose(a, tuple(order))


@traced_call(static_argnames=("axis", "start"))
def rollaxis(a, axis, start=0):
    """An axis moved in front of another one."""
    a = array_arguments("rollaxis", a)
    rank = len(shape_of(a))
    axis = canonical_axis(axis, rank)
    start = operator.index(start)
    if not -rank <= start <= rank:
        raise ValueError(f"start={start} must satisfy {-rank}<=start<={rank}")
    if start < 0:
        start += rank
    if start > axis:
        start -= 1
    return moveaxis(a, axis, start)


# --- order of elements -------------------------------------------------------------------------


@traced_call(static_argnames=("axis",))
def _flip(m, axis=None):
    m = array_arguments("flip", m)
    rank = len(shape_of(m))
    return lax.rev(m, canonical_axes(axis, rank))


def flip(m, axis=None):
    """Order reversed along axes (all when none is given)."""
    return _flip(m, axis=static_axis(axis))


def fliplr(m):
    """Order reversed along axis 1."""
    check_arraylike("fliplr", m)
    return flip(m, 1)


def flipud(m):
    """Order reversed along axis 0."""
    check_arraylike("flipud", m)
    return flip(m, 0)


@traced_call(static_argnames=("k", "axes"))
def rot90(m, k=1, axes=(0, 1)):
    """Turned by k quarter turns in the plane of two axes."""
    m = array_arguments("rot90", m)
    rank = len(shape_of(m))
    if rank < 2:
        raise ValueError("rot90 requires its first argument to have ndim at least two, but got "
                         f"first argument of shape {shape_of(m)}, ndim {rank}")
    i, j = (canonical_axis(a, rank) for a in axes)
    if i == j:
        raise ValueError("Axes must be different")
    turns = k % 4
    if turns == 0:
        return m
    if turns == 2:
        return flip(flip(m, i), j)
    order = list(range(rank))
    order[i], order[j] = order[j], order[i]
    if turns == 1:
        return lax.transpose(flip(m, j), tuple(order))
    return flip(lax.transpose(m, tuple(order)), j)


def roll(a, shift, axis=None):
    """Elements shifted along axes, those that fall off coming back at the other end."""
    a = array_arguments("roll", a)
    if isinstance(shift, (list, tuple)):
        shift = tuple(shift) if builtins.all(is_concrete(s) for s in shift) else asarray(shift)
    else:
        check_arraylike("roll", shift)
    if axis is None:
        return lax.reshape(roll(ravel(a), shift, 0), shape_of(a))
    axis = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    static = _static_shifts(shift)
    if static is not None:
        return _roll_static(a, static, axis)
    return _roll_dynamic(a, shift, axis)


def _static_shifts(shift: Any) -> Any:
    if isinstance(shift, tuple):
        parts = [_static_shifts(s) for s in shift]
        return None if builtins.any(p is None for p in parts) else tuple(parts)
    if isinstance(shift, (int, np.integer)):
        return int(shift)
    if isinstance(shift, np.ndarray) and np.issubdtype(shift.dtype, np.integer):
        return int(shift) if not shift.ndim else tuple(int(s) for s in shift)
    return None


def _paired(shift: Any, axis: Any, rank: int) -> list[tuple[Any, int]]:
    shifts = shift if isinstance(shift, tuple) else (shift,)
    axes = axis if isinstance(axis, tuple) else (axis,)
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    if len(axes) == 1:
        axes = axes * len(shifts)
    if len(shifts) != len(axes):
        raise ValueError("shape mismatch: 'shift' and 'axis' cannot be broadcast together")
    return [(s, canonical_axis(i, rank)) for s, i in zip(shifts, axes)]


@traced_call(static_argnames=("shift", "axis"))
def _roll_static(a, shift, axis):
    dims = shape_of(a)
    for amount, i in _paired(shift, axis, len(dims)):
        amount = amount % dims[i] if dims[i] else 0
        if amount:
            cut = dims[i] - amount
            a = lax.concatenate([lax.slice_in_dim(a, cut, dims[i], axis=i),
                                 lax.slice_in_dim(a, 0, cut, axis=i)], i)
    return a


@traced_call(static_argnames=("axis",))
def _roll_dynamic(a, shift, axis):
    dims = shape_of(a)
    axes = canonical_axes(axis, len(dims)) if isinstance(axis, tuple) else (
        canonical_axis(axis, len(dims)),)
    shift = convert(shift, np.dtype(np.int32)) if dtype_of(shift) != np.int32 else shift
    count = builtins.max(len(axes), shape_of(shift)[0] if shape_of(shift) else 1)
    shifts = broadcast_value(as_value(shift), (count,))
    for k in range(count):
        i = axes[k % len(axes)]
        if not dims[i]:
            continue
        amount = lax.squeeze(lax.slice_in_dim(shifts, k, k + 1, axis=0), (0,))
        amount = amount % builtins.max(dims[i], 1)
        twice = lax.concatenate([a, a], i)
        a = lax.dynamic_slice_in_dim(twice, dims[i] - amount, dims[i], axis=i)
    return a


# --- repetition --------------------------------------------------------------------------------


def tile(A, reps):
    """The whole array repeated along axes."""
    return _tile(A, static_shape(reps))


@inlined(static_argnums=(1,))
def _tile(A, reps):
    A = array_arguments("tile", A)
    given = canonical_shape(reps)
    rank = builtins.max(len(given), len(shape_of(A)))
    given = (1,) * (rank - len(given)) + given
    if len(shape_of(A)) < rank:
        A = lax.reshape(A, (1,) * (rank - len(shape_of(A))) + shape_of(A))
    return lax.tile(A, given)


def repeat(a, repeats, axis=None, *, total_repeat_length=None, out_sharding=None):
    """Each element repeated along an axis."""
    check_out_sharding("repeat", out_sharding)
    a = array_arguments("repeat", a)
    check_arraylike("repeat", 0, repeats)
    if axis is None:
        a, axis = ravel(a), 0
    elif not shape_of(a):
        a = lax.reshape(a, (1,))
    axis = canonical_axis(axis, len(shape_of(a)))
    if total_repeat_length is None:
        repeats = np.asarray(concrete_or_error(
            repeats, "When jit-compiling jnp.repeat, the total number of repeats must be static. "
            "To fix this, either specify a static value for `repeats`, or pass a static value to "
            "`total_repeat_length`."))
        if repeats.size == 1:
            return _repeat_each(a, int(repeats.reshape(())), axis)
        if repeats.ndim != 1 or (repeats.size != shape_of(a)[axis] and shape_of(a)[axis] != 1):
            raise ValueError(f"repeat: repeats.shape={repeats.shape} does not match the length of "
                             f"axis {axis} of an array of shape {shape_of(a)}")
        if repeats.dtype.kind == "u":                  # np.repeat refuses uint64 counts
            repeats = repeats.astype(np.int64)
        if axis == 0 and repeats.size == shape_of(a)[0]:
            found = native_routines.repeated(a, repeats)
            if found is not None:
                return found
        index = np.repeat(np.arange(repeats.size) % builtins.max(shape_of(a)[axis], 1), repeats)
        return indexing.take(a, index, axis=axis)
    return _repeat_to_length(a, repeats, axis, operator.index(total_repeat_length))


def _repeat_each(a: Any, count: int, axis: int) -> Any:
    dims = shape_of(a)
    if count < 0:
        raise ValueError("repeats may not contain negative values")
    wide = dims[:axis + 1] + (count,) + dims[axis + 1:]
    kept = tuple(i for i in range(len(dims) + 1) if i != axis + 1)
    spread = lax.broadcast_in_dim(a, wide, kept)
    return lax.reshape(spread, dims[:axis] + (dims[axis] * count,) + dims[axis + 1:])


def _repeat_to_length(a: Any, repeats: Any, axis: int, total: int) -> Any:
    repeats = as_value(asarray(repeats))
    dims = shape_of(a)
    repeats = ravel(repeats)
    if shape_of(repeats)[0] == 1 and dims[axis] != 1:
        repeats = broadcast_value(repeats, (dims[axis],))
    if not shape_of(repeats)[0] or not total:
        return lax.slice_in_dim(a, 0, 0, axis=axis) if not total else a
    starts = _roll_static(repeats, 1, 0).at[0].set(0)
    positions = cumsum(starts)
    marks = lax.full((total,), constant(0, positions)).at[positions].add(1)
    return indexing.take(a, cumsum(marks) - 1, axis=axis)


@traced_call(static_argnames=("new_shape",))
def resize(a, new_shape):
    """The elements repeated (or cut) to fill a shape."""
    a = array_arguments("resize", a)
    new = canonical_shape(new_shape)
    if builtins.any(n < 0 for n in new):
        raise ValueError("all elements of `new_shape` must be non-negative")
    a = ravel(a)
    total = math.prod(new)
    if shape_of(a)[0] == 0 or total == 0:
        return lax.full(new, 0, dtype_of(a))
    times = -(-total // shape_of(a)[0])
    return lax.reshape(part(lax.tile(a, (times,)), 0, total), new)


def trim_zeros(filt, trim="fb", axis=None):
    """Without leading and trailing zeros."""
    filt = array_arguments("trim_zeros", filt)
    known = np.asarray(concrete_or_error(
        filt, "Error arose in the `filt` argument of trim_zeros()"))
    trim = trim.lower()
    axes = canonical_axes(axis, known.ndim)
    nonzero = np.argwhere(known != 0)
    window = []
    for i in range(known.ndim):
        if i not in axes:
            window.append(builtins.slice(None))
            continue
        if not nonzero.size:
            window.append(builtins.slice(0, 0))
            continue
        first, last = int(nonzero[:, i].min()), int(nonzero[:, i].max()) + 1
        window.append(builtins.slice(first if "f" in trim else 0,
                                     last if "b" in trim else known.shape[i]))
    return filt[tuple(window)]
