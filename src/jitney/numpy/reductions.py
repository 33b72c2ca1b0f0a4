"""Reductions along axes: sum, prod, max, min, all, any, and what is counted with them.

In: an array, axes (None: all), and optional dtype, initial value and mask. Out: an array without
these axes (or with axes of length one).
Invariant: small integers are summed in the default integer width, 16-bit floats in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.numpy.jitted import along_axes, named, traced_call
from jitney.numpy.promotion import (
    arraylike,
    as_value,
    canonical_axes,
    canonical_axis,
    check_arraylike,
    convert,
    dtype_of,
    no_out,
    requested_dtype,
    shape_of,
)
from jitney.numpy.ufuncs import constant, not_equal
from jitney.numpy.where import spread, where_value

STATIC = ("axis", "dtype", "keepdims", "promote_integers")


def smallest_of(dtype: Any) -> Any:
    """The identity of max: -inf, the least integer, or False."""
    if dtype == np.bool_:
        return False
    if dtypes.is_integer(dtype):
        return dtypes.iinfo(dtype).min
    return -np.inf


def largest_of(dtype: Any) -> Any:
    """The identity of min: inf, the greatest integer, or True."""
    if dtype == np.bool_:
        return True
    if dtypes.is_integer(dtype):
        return dtypes.iinfo(dtype).max
    return np.inf


def promoted_integer(dtype: Any) -> Any:
    """The type integers of this type are summed in: at least the default width."""
    if dtype == np.bool_:
        return dtypes.canonicalize_dtype(np.int64)
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        default = dtypes.canonicalize_dtype(np.uint64)
    elif dtypes.issubdtype(dtype, np.integer):
        default = dtypes.canonicalize_dtype(np.int64)
    else:
        return dtype
    return default if dtypes.itemsize_bits(dtype) < dtypes.itemsize_bits(default) else dtype


def _is_narrow_float(dtype: Any) -> bool:
    return dtypes.is_floating(dtype) and dtypes.itemsize_bits(dtype) <= 16


def computing_dtype(dtype: Any) -> Any:
    """The type sums of this type are computed in: float32 for 16-bit floats."""
    return np.dtype(np.float32) if _is_narrow_float(dtype) else dtype


def split_axes(name: str, axis: Any, rank: int, named: bool) -> tuple[tuple, tuple]:
    """(axes by position, names of mapped axes); NotImplementedError unless `named` are allowed."""
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    names = tuple(a for a in given if isinstance(a, str))
    if not names:
        return canonical_axes(axis, rank), ()
    if not named:
        raise NotImplementedError(f"Named reductions not implemented for jnp.{name}(); "
                                  "use collectives of jax.lax")
    return canonical_axes(tuple(a for a in given if not isinstance(a, str)), rank), names


def with_axes(result: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Put reduced axes back with length one."""
    return lax.expand_dims(result, axes) if keepdims else result


def _masked(a: Any, where: Any, identity: Any) -> Any:
    check_arraylike("where", where)
    return where_value(where, a, convert(identity, dtype_of(a)))


def _sum_like(name: str, a: Any, reduce: Callable, combine: Callable, identity: int, axis: Any,
              dtype: Any, out: Any, keepdims: bool, initial: Any, where: Any,
              promote_integers: bool) -> Any:
    a = arraylike(name, a)
    no_out(name, out)
    axes, names = split_axes(name, axis, len(shape_of(a)), name == "sum")
    source = dtype_of(a)
    if dtype is not None:
        result_dtype = computed = requested_dtype(dtype, name)
    else:
        small = promote_integers or source == np.bool_
        result_dtype = promoted_integer(source) if small else source
        computed = computing_dtype(result_dtype)
    a = convert(a, computed)
    if where is not None:
        a = _masked(a, where, identity)
    result = reduce(a, axes)
    if names:
        result = lax.psum(result, names)
    if initial is not None:
        check_arraylike(name, initial)
        if np.shape(initial) != ():
            raise ValueError(f"jax.numpy.{name}: initial must be a scalar, got an array")
        result = combine(convert(initial, computed), result)
    result = with_axes(result, axes, keepdims)
    return result if computed == result_dtype else lax.convert_element_type(result, result_dtype)


@along_axes(inline=True, static_argnames=STATIC)
def sum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None,
        promote_integers=True):
    """Sum of elements along axes."""
    return _sum_like("sum", a, lax.reduce_sum, lax.add, 0, axis, dtype, out, keepdims, initial,
                     where, promote_integers)


@along_axes(inline=True, static_argnames=STATIC)
def prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None,
         promote_integers=True):
    """Product of elements along axes."""
    return _sum_like("prod", a, lax.reduce_prod, lax.mul, 1, axis, dtype, out, keepdims, initial,
                     where, promote_integers)


def _extremum(name: str, a: Any, reduce: Callable, combine: Callable, identity: Callable,
              axis: Any, out: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    a = arraylike(name, a)
    no_out(name, out)
    shape, dtype = shape_of(a), dtype_of(a)
    axes, names = split_axes(name, axis, len(shape), True)
    if initial is None:
        if where is not None:
            raise ValueError(f"reduction operation {name} does not have an identity, so to use a "
                             "where mask one has to specify 'initial'")
        if any_zero(shape, axes):
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    if where is not None:
        a = _masked(a, where, identity(dtype))
    result = reduce(convert(a, dtype), axes)
    if names:
        result = (lax.pmax if name == "max" else lax.pmin)(result, names)
    if initial is not None:
        check_arraylike(name, initial)
        result = combine(convert(initial, dtype), result)
    return with_axes(result, axes, keepdims)


def any_zero(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    return any_of(shape[i] == 0 for i in axes)


any_of, all_of_iterable = any, all


@along_axes(inline=True, static_argnames=("axis", "keepdims"))
def max(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """Largest element along axes; NaN wins."""
    return _extremum("max", a, lax.reduce_max, lax.max, smallest_of, axis, out, keepdims, initial,
                     where)


@along_axes(inline=True, static_argnames=("axis", "keepdims"))
def min(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """Smallest element along axes; NaN wins."""
    return _extremum("min", a, lax.reduce_min, lax.min, largest_of, axis, out, keepdims, initial,
                     where)


def amax(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """Largest element along axes; NaN wins."""
    return max(a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)


def amin(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """Smallest element along axes; NaN wins."""
    return min(a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)


def _logical(name: str, a: Any, reduce: Callable, identity: bool, axis: Any, out: Any,
             keepdims: bool, where: Any) -> Any:
    a = arraylike(name, a)
    no_out(name, out)
    axes, _ = split_axes(name, axis, len(shape_of(a)), False)
    if np.issubdtype(dtype_of(a), np.complexfloating):
        a = not_equal(a, constant(0, a))               # a conversion would drop imaginary parts
    a = lax.convert_element_type(a, np.bool_)          # also a weak boolean becomes a strong one
    if where is not None:
        a = _masked(a, where, identity)
    return with_axes(reduce(a, axes), axes, keepdims)


@along_axes(inline=True, static_argnames=("axis", "keepdims"))
def all(a, axis=None, out=None, keepdims=False, *, where=None):
    """Whether all elements along axes are true."""
    return _logical("all", a, lax.reduce_and, True, axis, out, keepdims, where)


@along_axes(inline=True, static_argnames=("axis", "keepdims"))
def any(a, axis=None, out=None, keepdims=False, *, where=None):
    """Whether any element along axes is true."""
    return _logical("any", a, lax.reduce_or, False, axis, out, keepdims, where)


@along_axes(static_argnames=("axis", "keepdims"))
def count_nonzero(a, axis=None, keepdims=False):
    """Number of elements other than zero along axes."""
    a = arraylike("count_nonzero", a)
    counted = not_equal(a, constant(0, a)) if dtype_of(a) != np.bool_ else lax.ne(a, False)
    return sum(counted, axis=axis, dtype=dtypes.canonicalize_dtype(np.int64), keepdims=keepdims)


# --- mean --------------------------------------------------------------------------------------


def count_along(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod(shape[i] for i in axes)


def mean_dtypes(a: Any, dtype: Any, name: str) -> tuple[Any, Any]:
    """(dtype to compute in, dtype of the result) of a mean."""
    if dtype is None:
        result = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(dtype_of(a)))
        return computing_dtype(result), result
    result = requested_dtype(dtype, name)
    return computing_dtype(result), result


def mean_along(a: Any, axis: Any, dtype: Any, keepdims: bool, where: Any) -> Any:
    """Mean of a checked array; the work of `mean` and of `var`."""
    computed, result_dtype = mean_dtypes(a, dtype, "mean")
    axes, names = split_axes("mean", axis, len(shape_of(a)), where is None)
    if where is None:
        count = float(count_along(shape_of(a), axes)) * math.prod(map(lax.axis_size, names))
        count = convert(count, computed)
    else:
        check_arraylike("mean", where)
        mask = spread(where, np.broadcast_shapes(shape_of(where), shape_of(a)))
        count = sum(mask, axis=axes, dtype=computed, keepdims=keepdims) \
            if dtype_of(mask) != np.bool_ else _count_true(mask, axes, computed, keepdims)
    total = sum(a, axis=axes + names, dtype=computed, keepdims=keepdims, where=where)
    result = lax.div(total, count)
    return convert(result, result_dtype)


def _count_true(mask: Any, axes: tuple[int, ...], dtype: Any, keepdims: bool) -> Any:
    as_int = lax.convert_element_type(mask, dtypes.canonicalize_dtype(np.int64))
    return sum(as_int, axis=axes, dtype=dtype, keepdims=keepdims)


@along_axes(inline=True, static_argnames=("axis", "dtype", "keepdims"))
def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=None):
    """Mean of elements along axes."""
    a = arraylike("mean", a)
    no_out("mean", out)
    if dtype is None and dtypes.is_integer(dtype_of(a)):
        dtype = dtypes.canonicalize_dtype(np.float64)   # the array API's default, not JAX's
    return mean_along(a, axis, dtype, keepdims, where)


# --- positions ---------------------------------------------------------------------------------


def _position(name: str, a: Any, find: Callable, axis: Any, out: Any, keepdims: Any) -> Any:
    a = arraylike(name, a)
    no_out(name, out)
    rank = len(shape_of(a))
    index_dtype = dtypes.canonicalize_dtype(np.int64)
    if axis is None:
        flat, along = (lax.reshape(a, (math.prod(shape_of(a)),)) if rank != 1 else a), 0
        axes = tuple(range(rank))
    else:
        along = canonical_axis(axis, rank)
        flat, axes = a, (along,)
    if shape_of(flat)[along] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    return with_axes(find(flat, along, index_dtype), axes, bool(keepdims))


@along_axes(inline=True, static_argnames=("axis", "keepdims"))
def argmax(a, axis=None, out=None, keepdims=None):
    """Index of the first largest element; of the first NaN, if there is one."""
    return _position("argmax", a, lax.argmax, axis, out, keepdims)


@along_axes(inline=True, static_argnames=("axis", "keepdims"))
def argmin(a, axis=None, out=None, keepdims=None):
    """Index of the first smallest element; of the first NaN, if there is one."""
    return _position("argmin", a, lax.argmin, axis, out, keepdims)


@along_axes(static_argnames=("axis", "keepdims"))
def _ptp(a, axis=None, keepdims=False):
    return lax.sub(max(a, axis=axis, keepdims=keepdims), min(a, axis=axis, keepdims=keepdims))


def ptp(a, axis=None, out=None, keepdims=False):
    """Largest minus smallest element along axes."""
    a = arraylike("ptp", a)
    no_out("ptp", out)
    return _ptp(a, axis=axis, keepdims=keepdims)


# --- scans along an axis -----------------------------------------------------------------------


def _cumulative(name: str, a: Any, scan: Callable, fill_nan: Any, axis: Any, dtype: Any, out: Any,
                promote_integers: bool) -> Any:
    a = arraylike(name, a)
    no_out(name, out)
    if axis is None:
        a = lax.reshape(a, (math.prod(shape_of(a)),)) if len(shape_of(a)) != 1 else as_value(a)
        axis = 0
    axis = canonical_axis(axis, len(shape_of(a)))
    if fill_nan is not None:
        a = where_value(lax.ne(a, a), constant(fill_nan, a), a)
    source = dtype_of(a)
    if dtype is not None:
        wanted = requested_dtype(dtype, name)
    elif source == np.bool_ or promote_integers:
        wanted = promoted_integer(source)
    else:
        wanted = source
    return scan(convert(a, wanted), axis)


def _cumulative_function(name: str, scan: Callable, fill_nan: Any, doc: str,
                         promote: bool = False) -> Any:
    def function(a, axis=None, dtype=None, out=None):
        return _cumulative(name, a, scan, fill_nan, axis, dtype, out, promote)
    return traced_call(named(function, name, doc), static_argnames=("axis", "dtype"))


def _scan_sum(a: Any, axis: int) -> Any:
    return lax.cumsum(a, axis=axis)


def _scan_product(a: Any, axis: int) -> Any:
    return lax.cumprod(a, axis=axis)


cumsum = _cumulative_function("cumsum", _scan_sum, None, "Running sums along an axis.")
cumprod = _cumulative_function("cumprod", _scan_product, None, "Running products along an axis.")
nancumsum = _cumulative_function("nancumsum", _scan_sum, 0, "Running sums, NaN counting as 0.")
nancumprod = _cumulative_function("nancumprod", _scan_product, 1,
                                  "Running products, NaN counting as 1.")
_cumsum_with_promotion = _cumulative_function(
    "_cumsum_with_promotion", _scan_sum, None, "Running sums in full width.", promote=True)
_cumprod_with_promotion = _cumulative_function(
    "_cumprod_with_promotion", _scan_product, None, "Running products in full width.",
    promote=True)


def _array_api_scan(name: str, scan: Any, identity: int, x: Any, axis: Any, dtype: Any,
                    include_initial: bool) -> Any:
    x = arraylike(name, x)
    rank = len(shape_of(x))
    if rank == 0:
        raise ValueError("The input must be non-scalar to take a cumulative sum, however a scalar "
                         "value or scalar array was given.")
    if axis is None:
        if rank > 1:
            raise ValueError("The input array has rank > 1, so axis must be specified.")
        axis = 0
    axis = canonical_axis(axis, rank)
    result = scan(x, axis=axis, dtype=dtype)
    if include_initial:
        first = shape_of(x)[:axis] + (1,) + shape_of(x)[axis + 1:]
        result = lax.concatenate([lax.full(first, constant(identity, result)), result], axis)
    return result


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running sums along an axis, optionally starting with 0."""
    return _array_api_scan("cumulative_sum", _cumsum_with_promotion, 0, x, axis, dtype,
                           include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running products along an axis, optionally starting with 1."""
    return _array_api_scan("cumulative_prod", _cumprod_with_promotion, 1, x, axis, dtype,
                           include_initial)
