"""Quantiles: quantile, percentile, median and their forms that leave NaN out.

In: an array, one or several levels, axes. Out: interpolated order statistics.
Invariant: a NaN among the reduced elements makes the result NaN (the nan* forms skip it).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.lax.out_sharding import check_out_sharding
from jitney.numpy import reductions
from jitney.numpy.jitted import traced_call
from jitney.numpy.manipulation import expand_dims, ravel
from jitney.numpy.promotion import (
    array_arguments,
    canonical_axes,
    canonical_axis,
    check_arraylike,
    convert,
    dtype_of,
    promote_dtypes_inexact,
    shape_of,
)
from jitney.numpy.ufuncs import constant, true_divide
from jitney.numpy.where import where_value

_STATIC = ("axis", "overwrite_input", "keepdims", "method")
_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")
_WEIGHTED = ("inverted_cdf",)


@traced_call(static_argnames=_STATIC)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *,
             weights=None):
    """Values below which the fractions `q` of the elements lie."""
    return _checked("quantile", a, q, axis, out, overwrite_input, method, keepdims, weights, False)


@traced_call(static_argnames=_STATIC)
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False,
                *, weights=None):
    """As `quantile`, NaN left out."""
    return _checked("nanquantile", a, q, axis, out, overwrite_input, method, keepdims, weights,
                    True)


@traced_call(static_argnames=(*_STATIC, "out_sharding"))
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False,
               *, weights=None, out_sharding=None):
    """As `quantile`, levels in percent."""
    check_out_sharding("percentile", out_sharding)
    a, q = array_arguments("percentile", a, q)
    return quantile(a, true_divide(q, 100), axis=axis, out=out, overwrite_input=overwrite_input,
                    method=method, keepdims=keepdims, weights=weights)


@traced_call(static_argnames=_STATIC)
def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear",
                  keepdims=False, *, weights=None):
    """As `percentile`, NaN left out."""
    a, q = array_arguments("nanpercentile", a, q)
    return nanquantile(a, true_divide(q, 100), axis=axis, out=out,
                       overwrite_input=overwrite_input, method=method, keepdims=keepdims,
                       weights=weights)


@traced_call(static_argnames=("axis", "overwrite_input", "keepdims"))
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """Middle element in order, or the mean of the two middle ones."""
    check_arraylike("median", a)
    return quantile(a, 0.5, axis=axis, out=out, overwrite_input=overwrite_input,
                    keepdims=keepdims, method="midpoint")


@traced_call(static_argnames=("axis", "overwrite_input", "keepdims"))
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """As `median`, NaN left out."""
    check_arraylike("nanmedian", a)
    return nanquantile(a, 0.5, axis=axis, out=out, overwrite_input=overwrite_input,
                       keepdims=keepdims, method="midpoint")


def _checked(name: str, a: Any, q: Any, axis: Any, out: Any, overwrite_input: bool, method: str,
             keepdims: bool, weights: Any, squash_nans: bool) -> Any:
    a, q = array_arguments(name, a, q)
    if overwrite_input or out is not None:
        raise ValueError("jax.numpy.quantile does not support overwrite_input=True or out != None")
    if weights is None and method not in _METHODS:
        if method in _WEIGHTED:
            raise ValueError(f"jax.numpy.quantile: method={method!r} requires weights")
        raise ValueError("method can only be 'linear', 'lower', 'higher', 'midpoint', or 'nearest'")
    if weights is not None:
        if method not in _WEIGHTED:
            raise ValueError("Weighted quantile requires method='inverted_cdf'")
        check_arraylike(name, weights)
    return _quantile(a, q, axis, method, keepdims, squash_nans, weights)


def _quantile(a: Any, q: Any, axis: Any, method: str, keepdims: bool, squash_nans: bool,
              weights: Any) -> Any:
    if len(shape_of(q)) > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {shape_of(q)}")
    a, = promote_dtypes_inexact(a)
    if dtypes.is_complex(dtype_of(a)):
        raise ValueError("quantile is not defined for complex values")
    q = convert(q, dtype_of(a)) if dtype_of(q) != dtype_of(a) else q
    rank = len(shape_of(a))
    a, along, kept = _one_axis(a, axis, rank, keepdims)
    if weights is not None:
        result = _weighted(a, q, along, weights)
    elif squash_nans:
        result = _skipping_nan(a, q, along, method)
    else:
        result = _plain(a, q, along, method)
    if keepdims and kept is not None:
        offset = len(shape_of(q))
        result = lax.expand_dims(result, tuple(i + offset for i in kept))
    return result


def _one_axis(a: Any, axis: Any, rank: int, keepdims: bool) -> tuple[Any, int, Any]:
    """(array, its axis to reduce, axes to put back): several axes become one."""
    if axis is None:
        return ravel(a), 0, tuple(range(rank))
    if isinstance(axis, (tuple, list)):
        axes = canonical_axes(axis, rank)
        rest = [i for i in range(rank) if i not in axes]
        moved = lax.transpose(a, (*rest, *axes))
        dims = shape_of(moved)
        merged = lax.reshape(moved, (*dims[:len(rest)], math.prod(dims[len(rest):])))
        return merged, len(rest), axes
    along = canonical_axis(axis, rank)
    return a, along, (along,)


def _nan_where_any(a: Any, axis: int) -> Any:
    spoiled = reductions.any(lax.ne(a, a), axis=axis, keepdims=True)
    return where_value(spoiled, constant(np.nan, a), a)


def _levels(q: Any, count: Any, like: Any) -> tuple[Any, Any, Any, Any]:
    """Positions below and above, and their weights."""
    one = constant(1, like)
    position = lax.mul(q, lax.sub(count, one))
    low, high = lax.floor(position), lax.ceil(position)
    high_weight = lax.sub(position, low)
    return low, high, lax.sub(one, high_weight), high_weight


def _take_positions(a: Any, index: Any, axis: int) -> Any:
    """Slices of `a` at index (rank 0 or 1), the index's axis put in front."""
    rank = len(shape_of(a))
    batch = len(shape_of(index))
    kept = tuple(i + batch for i in range(rank - 1))
    numbers = lax.GatherDimensionNumbers(
        offset_dims=kept, collapsed_slice_dims=(axis,), start_index_map=(axis,))
    sizes = tuple(1 if i == axis else n for i, n in enumerate(shape_of(a)))
    return lax.gather(a, lax.expand_dims(index, (batch,)), dimension_numbers=numbers,
                      slice_sizes=sizes, mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS)


def _combine(method: str, low: Any, high: Any, low_weight: Any, high_weight: Any) -> Any:
    if method == "linear":
        return lax.add(lax.mul(low, low_weight), lax.mul(high, high_weight))
    if method == "lower":
        return low
    if method == "higher":
        return high
    if method == "nearest":
        near_low = lax.le(high_weight, constant(0.5, high_weight))
        if shape_of(near_low) and shape_of(near_low) != shape_of(low):
            near_low = lax.broadcast_in_dim(near_low, shape_of(low),
                                            tuple(range(len(shape_of(near_low)))))
        return lax.select(near_low, low, high)
    return lax.mul(lax.add(low, high), constant(0.5, low))


def _plain(a: Any, q: Any, axis: int, method: str) -> Any:
    extent = shape_of(a)[axis]
    count = constant(extent, a)
    a = lax.sort(a, dimension=axis)
    low, high, low_weight, high_weight = _levels(q, count, a)
    last = lax.sub(count, constant(1, a))
    index = [lax.convert_element_type(lax.clamp(constant(0, a), p, last), np.int32)
             for p in (low, high)]
    low_value, high_value = (_take_positions(a, i, axis) for i in index)
    if shape_of(q):
        spread = shape_of(low_value)
        low_weight, high_weight = (lax.broadcast_in_dim(w, spread, (0,))
                                   for w in (low_weight, high_weight))
    result = _combine(method, low_value, high_value, low_weight, high_weight)
    return result if not extent else _nan_if_last_is(a, axis, result)


def _nan_if_last_is(a: Any, axis: int, result: Any) -> Any:
    """The results, NaN where a sorted row ends with one (no row is gone through for that)."""
    extent, rank = shape_of(a)[axis], len(shape_of(a))
    last = lax.squeeze(lax.slice_in_dim(a, extent - 1, extent, axis=axis), (axis,))
    places = tuple(range(len(shape_of(result)) - rank + 1, len(shape_of(result))))
    is_nan = lax.broadcast_in_dim(lax.ne(last, last), shape_of(result), places)
    return where_value(is_nan, constant(np.nan, result), result)


def _skipping_nan(a: Any, q: Any, axis: int, method: str) -> Any:
    if not shape_of(a)[axis]:
        raise IndexError(f"index is out of bounds for axis {axis} with size 0")
    is_nan = lax.ne(a, a)
    a = lax.sort(where_value(is_nan, constant(np.nan, a), a), dimension=axis)
    valid = lax.convert_element_type(lax.bitwise_not(lax.ne(a, a)), np.int32)
    counts = reductions.sum(valid, axis=axis, dtype=dtype_of(a))
    batch = len(shape_of(q))
    wide = shape_of(q) + shape_of(counts)
    level = lax.broadcast_in_dim(q, wide, tuple(range(batch)))
    counts = lax.broadcast_in_dim(counts, wide, tuple(range(batch, len(wide))))
    low, high, low_weight, high_weight = _levels(level, counts, a)
    last = lax.sub(counts, constant(1, a))
    index = [lax.convert_element_type(lax.max(constant(0, a), lax.min(p, last)), np.int32)
             for p in (low, high)]
    low_value, high_value = (_along_axis(a, i, axis, batch) for i in index)
    return _combine(method, low_value, high_value, low_weight, high_weight)


def _along_axis(a: Any, index: Any, axis: int, batch: int) -> Any:
    """a[..., index, ...] for an index of shape (levels…, rest of a's axes)."""
    last = len(shape_of(index))
    parts, at = [], 0
    for i in range(len(shape_of(a))):
        if i == axis:
            parts.append(lax.expand_dims(index, (last,)))
            continue
        iota = lax.broadcasted_iota(np.int32, shape_of(index), batch + at)
        parts.append(lax.expand_dims(iota, (last,)))
        at += 1
    rank = len(shape_of(a))
    starts = lax.concatenate(parts, len(shape_of(index))) if len(parts) > 1 else parts[0]
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=tuple(range(rank)),
        start_index_map=tuple(range(rank)))
    return lax.gather(a, starts, dimension_numbers=numbers, slice_sizes=(1,) * rank,
                      mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS)


def _weighted(a: Any, q: Any, axis: int, weights: Any) -> Any:
    """The least element at which the cumulated weight reaches the fraction q."""
    weights = array_arguments("quantile", weights)
    if shape_of(weights) != shape_of(a):
        if len(shape_of(weights)) != 1 or shape_of(weights)[0] != shape_of(a)[axis]:
            raise ValueError("Weights must have the shape of the array, or be one-dimensional with "
                             "the length of the axis.")
        weights = lax.broadcast_in_dim(weights, shape_of(a), (axis,))
    weights = convert(weights, dtype_of(a))
    a, weights = lax.sort((_nan_where_any(a, axis), weights), dimension=axis, num_keys=1)
    zero = lax.full_like(weights, 0)
    bad = lax.bitwise_or(lax.lt(weights, zero), lax.ne(weights, weights))
    weights = lax.select(lax.bitwise_or(bad, lax.ne(a, a)), zero, weights)
    total = lax.cumsum(weights, axis=axis)
    length = shape_of(a)[axis]
    whole = lax.slice_in_dim(total, length - 1, length, axis=axis)
    any_nan = reductions.any(lax.ne(a, a), axis=axis)
    spoiled = lax.bitwise_or(reductions.any(bad, axis=axis), any_nan)

    def at_level(level):
        threshold = lax.mul(level, whole)
        below = lax.lt(total, lax.broadcast_in_dim(threshold, shape_of(total),
                                                   tuple(range(len(shape_of(total))))))
        index = reductions.sum(lax.convert_element_type(below, np.int32), axis=axis)
        index = lax.max(np.int32(0), lax.min(index, np.int32(length - 1)))
        found = _along_axis(a, index, axis, 0)
        return where_value(spoiled, constant(np.nan, a), found)

    if not shape_of(q):
        return at_level(q)
    levels = [at_level(lax.squeeze(lax.slice_in_dim(q, i, i + 1, axis=0), (0,)))
              for i in range(shape_of(q)[0])]
    return lax.concatenate([expand_dims(v, 0) for v in levels], 0)
