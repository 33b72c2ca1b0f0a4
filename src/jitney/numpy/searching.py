"""Finding elements: where, nonzero, argwhere, select, piecewise, searchsorted, digitize, extract.

In: arrays and conditions. Out: positions, or elements chosen by conditions.
Invariant: results whose length depends on values need a concrete input, or a static `size`.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.lax.out_sharding import check_out_sharding
from jitney.lax.sorted_search import precedes, search_by_halving
from jitney.numpy import native_routines, reductions
from jitney.numpy.arithmetic import clip, floor_divide, remainder
from jitney.numpy.creation import asarray, broadcast_value, from_numpy
from jitney.numpy.jitted import is_eager, traced_call
from jitney.numpy.joining import stack
from jitney.numpy.manipulation import atleast_1d, broadcast_arrays, ravel
from jitney.numpy.promotion import (
    array_arguments,
    as_value,
    canonical_axis,
    check_arraylike,
    concrete_or_error,
    convert,
    dtype_of,
    no_out,
    promote_dtypes,
    shape_of,
    static_int,
)
from jitney.numpy.sorting import argsort
from jitney.numpy.ufuncs import constant, truth
from jitney.numpy.where import where_value


def _index_dtype() -> Any:
    return dtypes.canonicalize_dtype(np.int64)


# --- positions of true elements ----------------------------------------------------------------


def where(condition, x=None, y=None, /, *, size=None, fill_value=None):
    """x where the condition holds, else y; with one argument, the positions of true elements."""
    if x is None and y is None:
        check_arraylike("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    if size is not None or fill_value is not None:
        raise ValueError("size and fill_value arguments cannot be used in three-term where "
                         "function.")
    return where_value(condition, x, y)


def nonzero(a, *, size=None, fill_value=None):
    """Positions of the elements other than zero, one array for each axis."""
    a = array_arguments("nonzero", a)
    dims = shape_of(a)
    if not dims:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use "
                         "jnp.atleast_1d(scalar).nonzero() instead.")
    if size is None:
        known = concrete_or_error(
            a, "The size argument of jnp.nonzero must be statically specified to use jnp.nonzero "
            "within JAX transformations.")
        mask = _mask_now(a)
        found = None if mask is None else native_routines.positions(mask, _index_dtype())
        if found is not None:
            return found
        return tuple(from_numpy(i, _index_dtype()) for i in np.nonzero(np.asarray(known)))
    size = static_int(size, "size argument of jnp.nonzero")
    if size == 0 or math.prod(dims) == 0:
        fill = _fills(fill_value, len(dims))
        return tuple(lax.full((size,), convert(f, _index_dtype())) for f in fill)
    return _nonzero_of_size(truth(a), dims, size, fill_value)


def _mask_now(a: Any) -> Any:
    """Which elements are not zero, in an eager call; None under a trace, and for numbers wider than
    there are at present."""
    if not native_routines.can_run(a) or dtypes.canonicalize_dtype(a.dtype) != a.dtype:
        return None
    return truth(a)


def _fills(fill_value: Any, rank: int) -> tuple:
    fill = (0,) * rank if fill_value is None else fill_value
    fill = fill if isinstance(fill, tuple) else (fill,) * rank
    if any(np.ndim(f) for f in fill if not hasattr(f, "aval")):
        raise ValueError(f"fill_value must be a scalar or a tuple of length {rank}; got "
                         f"{fill_value}")
    return fill


def _nonzero_of_size(mask: Any, dims: tuple[int, ...], size: int, fill_value: Any) -> tuple:
    """Count the true elements passed before each, then invert that count."""
    passed = reductions.cumsum(mask)
    flat = reductions.cumsum(bincount(passed, length=size))
    found = []
    for axis, n in enumerate(dims):
        stride = math.prod(dims[axis + 1:])
        found.append(remainder(floor_divide(flat, np.int32(stride)), n))
    if fill_value is not None:
        beyond = lax.iota(_index_dtype(), size) >= reductions.sum(mask)
        found = [where_value(beyond, f, i) for i, f in zip(found, _fills(fill_value, len(dims)))]
    return tuple(convert(i, _index_dtype()) for i in found)


def flatnonzero(a, *, size=None, fill_value=None):
    """Positions of the elements other than zero in the flattened array."""
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a, *, size=None, fill_value=None):
    """Positions of the elements other than zero, one row for each."""
    a = array_arguments("argwhere", a)
    rank = len(shape_of(a))
    result = stack(nonzero(atleast_1d(a), size=size, fill_value=fill_value), axis=1)
    return lax.slice_in_dim(result, 0, 0, axis=1) if rank == 0 else result


def compress(condition, a, axis=None, *, size=None, fill_value=0, out=None):
    """Slices along an axis at which the condition holds."""
    condition, a = array_arguments("compress", condition, a)
    check_arraylike("compress", fill_value)
    no_out("compress", out)
    if len(shape_of(condition)) != 1:
        raise ValueError("condition must be a 1D array")
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, len(shape_of(a)))
    length = shape_of(condition)[0]
    if length > shape_of(a)[axis]:
        if size is None and np.asarray(concrete_or_error(condition))[shape_of(a)[axis]:].any():
            raise ValueError("condition contains entries that are out of bounds")
        condition = lax.slice_in_dim(condition, 0, shape_of(a)[axis], axis=0)
    else:
        a = lax.slice_in_dim(a, 0, length, axis=axis)
    if size is None:
        if is_eager(condition, a):
            mask = _mask_now(condition) if axis == 0 else None
            found = None if mask is None else native_routines.compressed(mask, a)
            if found is not None:
                return found
            kept = np.asarray(condition).astype(bool, copy=False)
            return from_numpy(np.asarray(a).compress(kept, axis), dtype_of(a))
        index: list[Any] = [slice(None)] * len(shape_of(a))
        index[axis] = nonzero(condition)[0]
        return a[tuple(index)]
    condition = truth(condition)
    wide = lax.broadcast_in_dim(condition, shape_of(a), (axis,))
    filled = where_value(wide, a, convert(fill_value, dtype_of(a)))
    order = argsort(condition, descending=True)
    index = [slice(None)] * len(shape_of(a))
    index[axis] = order
    sorted_ = filled[tuple(index)]
    if size <= shape_of(sorted_)[axis]:
        return lax.slice_in_dim(sorted_, 0, size, axis=axis)
    extra = list(shape_of(sorted_))
    extra[axis] = size - extra[axis]
    filling = lax.full(tuple(extra), convert(fill_value, dtype_of(a)))
    return lax.concatenate([sorted_, filling], axis)


def extract(condition, arr, *, size=None, fill_value=0):
    """Elements at which the condition holds."""
    condition, arr = array_arguments("extract", condition, arr)
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


# --- choice ------------------------------------------------------------------------------------


def select(condlist, choicelist, default=0):
    """Elements of the first choice whose condition holds."""
    if len(condlist) != len(choicelist):
        raise ValueError("condlist must have length equal to choicelist "
                         f"({len(condlist)} vs {len(choicelist)})")
    if not len(condlist):
        raise ValueError("condlist must be non-empty")
    check_arraylike("select", *condlist, *choicelist, default)
    condlist = [as_value(c) for c in condlist]
    if any(dtype_of(c) != np.bool_ for c in condlist):
        raise ValueError("condlist entries must be boolean")
    values = broadcast_arrays(*promote_dtypes(default, *choicelist))
    conditions = broadcast_arrays(*condlist)
    shape = np.broadcast_shapes(shape_of(values[0]), shape_of(conditions[0]))
    values = [broadcast_value(as_value(v), shape) for v in values]
    conditions = [broadcast_value(c, shape) for c in conditions]
    nothing = lax.full(shape, False, np.bool_)
    which = reductions.argmax(lax.stack([nothing, *conditions], 0), axis=0)
    return lax.select_n(which, *values)


def piecewise(x, condlist, funclist, *args, **kw):
    """A function given by pieces: values or functions, chosen by conditions."""
    x = array_arguments("piecewise", x)
    if hasattr(condlist, "ndim"):
        conditions = as_value(condlist)
        if len(shape_of(conditions)) == len(shape_of(x)):
            conditions = lax.expand_dims(conditions, (0,))
        conditions = list(lax.unstack(conditions, 0))
    else:
        conditions = [as_value(asarray(c)) for c in (
            condlist if isinstance(condlist, (list, tuple)) else [condlist])]
    count = len(conditions)
    if len(funclist) == count + 1:
        funclist = [*funclist[-1:], *funclist[:-1]]
    elif len(funclist) == count:
        funclist = [0, *funclist]
    else:
        raise ValueError(f"with {count} condition(s), either {count} or {count + 1} functions are "
                         f"expected; got {len(funclist)}")
    result = None
    for value, condition in zip(funclist, [None, *conditions]):
        piece = value(x, *args, **kw) if callable(value) else value
        piece = convert(as_value(asarray(piece)), dtype_of(x))
        piece = broadcast_value(piece, shape_of(x))
        if condition is None:
            result = piece
        else:
            result = where_value(condition, piece, result)
    return result


def choose(a, choices, out=None, mode="raise"):
    """Elements of several arrays, chosen by an array of numbers."""
    no_out("choose", out)
    a = array_arguments("choose", a)
    if not dtypes.is_integer(dtype_of(a)):
        raise ValueError("`a` array must be integer typed")
    options = list(lax.unstack(as_value(choices), 0)) if hasattr(choices, "ndim") else list(choices)
    check_arraylike("choose", *options)
    count = len(options)
    if mode == "raise":
        known = np.asarray(concrete_or_error(
            a, "The error occurred because jnp.choose was jit-compiled with mode='raise'. Use "
            "mode='wrap' or mode='clip' instead."))
        if ((known < 0) | (known >= count)).any():
            raise ValueError("invalid entry in choice array")
    elif mode == "wrap":
        a = remainder(a, count)
    elif mode == "clip":
        a = clip(a, 0, count - 1)
    else:
        raise ValueError(f"mode={mode!r} not understood. Must be 'raise', 'wrap', or 'clip'")
    values = promote_dtypes(*options)
    a, *values = broadcast_arrays(a, *values)
    table = lax.stack(values, 0)
    flat = lax.reshape(table, (count, math.prod(shape_of(a))))
    column = lax.iota(_index_dtype(), math.prod(shape_of(a)))
    return lax.reshape(flat[ravel(a), column], shape_of(a))


def place(arr, mask, vals, *, inplace=True):
    """With values put where the mask holds (returns a new array: pass inplace=False)."""
    arr, mask, vals = array_arguments("place", arr, mask, vals)
    if inplace:
        raise ValueError("jax.numpy.place cannot modify arrays in-place, because JAX arrays are "
                         "immutable. Pass inplace=False to instead return an updated array.")
    if math.prod(shape_of(mask)) != math.prod(shape_of(arr)):
        raise ValueError("place: arr and mask must be the same size")
    vals = ravel(vals)
    if not math.prod(shape_of(arr)):
        return arr
    if not shape_of(vals)[0]:
        raise ValueError("Cannot place values from empty array")
    values, now = convert(vals, dtype_of(arr)), _mask_now(mask)
    placed = None if now is None else native_routines.placed(arr, now, values)
    if placed is not None:
        return placed
    total = math.prod(shape_of(arr))
    index = nonzero(ravel(mask), size=total, fill_value=total)[0]
    times = -(-total // shape_of(vals)[0])
    vals = lax.slice_in_dim(lax.tile(vals, (times,)), 0, total, axis=0)
    placed = ravel(arr).at[index].set(convert(vals, dtype_of(arr)), mode="drop")
    return lax.reshape(placed, shape_of(arr))


# --- sorted arrays -----------------------------------------------------------------------------


def _search_by_sorting(a: Any, v: Any, side: str, dtype: Any) -> Any:
    flat = ravel(v)
    n, m = shape_of(a)[0], shape_of(flat)[0]
    both = lax.concatenate([flat, a] if side == "left" else [a, flat], 0)
    rank_in_all = _ranks(both)
    mine = (0, m) if side == "left" else (n, n + m)
    found = lax.slice_in_dim(rank_in_all, *mine, axis=0) - _ranks(flat)
    return lax.reshape(lax.convert_element_type(found, dtype), shape_of(v))


def _ranks(x: Any) -> Any:
    positions = lax.iota(np.int32, shape_of(x)[0])
    _, order = lax.sort((x, positions), num_keys=1)
    return lax.full_like(positions, 0).at[order].set(positions)


def _search_by_comparing(a: Any, v: Any, side: str, dtype: Any) -> Any:
    wide = (*shape_of(a), *shape_of(v))
    column = lax.broadcast_in_dim(a, wide, (0,))
    row = lax.broadcast_in_dim(v, wide, tuple(range(1, len(wide))))
    before = precedes(column, row, side == "right")
    return reductions.sum(before, axis=0, dtype=dtype)


@traced_call(static_argnames=("side", "method"))
def searchsorted(a, v, side="left", sorter=None, *, method="scan"):
    """Positions at which values would be put into a sorted vector, of the default type of indices,
    as the array API standard says (JAX: int32, also with 64-bit types enabled)."""
    if side not in ("left", "right"):
        raise ValueError(f"{side!r} is an invalid value for keyword 'side'. Expected one of "
                         "['left', 'right'].")
    methods = ("scan", "scan_unrolled", "sort", "compare_all")
    if method not in methods:
        raise ValueError(f"{method!r} is an invalid value for keyword 'method'. Expected one of "
                         f"{list(methods)}.")
    a, v = array_arguments("searchsorted", a, v)
    if sorter is not None:
        a = a[array_arguments("searchsorted", sorter)]
    a, v = promote_dtypes(a, v)
    if len(shape_of(a)) != 1:
        raise ValueError("a should be 1-dimensional")
    # positions have no derivative: nothing to carry through the search
    a, v = (lax.stop_gradient(convert(x, dtype_of(x))) for x in (a, v))
    dtype = _index_dtype()
    if not shape_of(a)[0]:
        return lax.full(shape_of(v), 0, dtype)
    if method in ("scan", "scan_unrolled"):
        found = search_by_halving(a, v, side == "right", method == "scan_unrolled")
        return lax.convert_element_type(found, dtype)
    return (_search_by_sorting if method == "sort" else _search_by_comparing)(a, v, side, dtype)


@traced_call(static_argnames=("right", "method"))
def digitize(x, bins, right=False, *, method=None):
    """The bin each value belongs to; bins may rise or fall."""
    x, bins = array_arguments("digitize", x, bins)
    if len(shape_of(bins)) != 1:
        raise ValueError("digitize: bins must be a 1-dimensional array; got bins="
                         f"{shape_of(bins)}")
    if not shape_of(bins)[0]:
        return lax.full(shape_of(x), 0, np.int32)
    side = "left" if right else "right"
    method = "scan" if method is None else method
    count = shape_of(bins)[0]
    rising = bins[-1] >= bins[0]
    falling = np.int32(count) - searchsorted(lax.rev(bins, (0,)), x, side=side, method=method)
    return where_value(rising, searchsorted(bins, x, side=side, method=method), falling)


# --- counting ----------------------------------------------------------------------------------


def bincount(x, weights=None, minlength=0, *, length=None, out_sharding=None):
    """How often each integer occurs (or the sum of its weights)."""
    check_out_sharding("jnp.bincount", out_sharding)
    x = array_arguments("bincount", x)
    if dtype_of(x) == np.bool_:
        x = lax.convert_element_type(x, np.int32)
    if not dtypes.is_integer(dtype_of(x)):
        raise TypeError(f"x argument to bincount must have an integer type; got {dtype_of(x)}")
    minlength = operator.index(minlength)
    if length is None:
        known = np.asarray(concrete_or_error(
            x, "The error occurred because of argument 'x' of jnp.bincount. To avoid this error, "
            "pass a static `length` argument."))
        length = max(minlength, int(known.max()) + 1 if known.size else 0)
    else:
        length = operator.index(concrete_or_error(length, "The error occurred because of argument "
                                                  "'length' of jnp.bincount."))
    if weights is None:
        weights = np.int32(1)
        result = lax.full((length,), 0, _index_dtype())
    else:
        weights = array_arguments("bincount", weights)
        if shape_of(weights) != shape_of(x):
            raise ValueError("shape of weights must match shape of x.")
        result = lax.full((length,), constant(0, weights))
    return result.at[clip(x, 0)].add(weights, mode="drop")


def mask_indices(n, mask_func, k=0, *, size=None):
    """Indices where `mask_func(ones((n, n)), k)` is not zero."""
    return nonzero(mask_func(lax.full((operator.index(n),) * 2, np.float32(1)), k), size=size)
