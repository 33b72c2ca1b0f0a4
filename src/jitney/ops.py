"""Reductions of segments of an array, by the names in `jax.ops`.

In: values, and for each entry of their leading axis the segment it belongs to. Out: one row for
each segment. A scatter into rows of the neutral element; with `bucket_size`, the entries are
reduced in groups of that many first, and the groups' results afterwards.
Invariant: entries whose segment is outside [0, num_segments) do not count, unless `mode` says
otherwise; a segment without entries holds the neutral element.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jitney import numpy as jnp
from jitney.base import dtypes
from jitney.lax.out_sharding import check_out_sharding
from jitney.numpy.promotion import array_arguments, concrete_or_error, dtype_of, shape_of


def segment_sum(data, segment_ids, num_segments: int | None = None,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                bucket_size: int | None = None, mode=None, out_sharding=None):
    """Sums within segments.

    data: array of shape (n, …), or what broadcasts to it, of numbers. segment_ids: n integers.
    num_segments: how many rows the result has; the largest id + 1 when not given, which must then
    be concrete. indices_are_sorted and unique_indices: promises about the ids. bucket_size: how
    many entries are added up by themselves first, which makes long sums more accurate. mode: what
    becomes of ids outside of [0, num_segments), as for `x.at[]`; the default drops them.

    Gives an array of shape (num_segments, …) of the dtype of `data`. ValueError for a negative
    `num_segments`, for a `bucket_size` below 1 and for shapes that do not fit, TypeError for ids
    that are not integers and for sums of booleans, ConcretizationTypeError for traced ids
    without `num_segments`.

    >>> segment_sum(jnp.arange(5), jnp.array([0, 0, 1, 1, 2]))
    Array([1, 5, 4], dtype=int32)
    """
    return _segment("segment_sum", "add", jnp.sum, 0, data, segment_ids, num_segments,
                    indices_are_sorted, unique_indices, bucket_size, mode, out_sharding)


def segment_prod(data, segment_ids, num_segments: int | None = None,
                 indices_are_sorted: bool = False, unique_indices: bool = False,
                 bucket_size: int | None = None, mode=None, out_sharding=None):
    """Products within segments; arguments and errors as for `segment_sum`, 1 where there is
    nothing.

    >>> segment_prod(jnp.arange(1, 6), jnp.array([0, 0, 1, 1, 2]))
    Array([ 2, 12,  5], dtype=int32)
    """
    return _segment("segment_prod", "multiply", jnp.prod, 1, data, segment_ids, num_segments,
                    indices_are_sorted, unique_indices, bucket_size, mode, out_sharding)


def segment_max(data, segment_ids, num_segments: int | None = None,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                bucket_size: int | None = None, mode=None, out_sharding=None):
    """Maxima within segments; arguments and errors as for `segment_sum`, -inf or the least
    integer where there is nothing. NaN is greater than all.

    >>> segment_max(jnp.arange(5), jnp.array([0, 0, 1, 1, 2]))
    Array([1, 3, 4], dtype=int32)
    """
    return _segment("segment_max", "max", jnp.max, _least(data), data, segment_ids, num_segments,
                    indices_are_sorted, unique_indices, bucket_size, mode, out_sharding)


def segment_min(data, segment_ids, num_segments: int | None = None,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                bucket_size: int | None = None, mode=None, out_sharding=None):
    """Minima within segments; arguments and errors as for `segment_sum`, inf or the greatest
    integer where there is nothing. NaN is less than all.

    >>> segment_min(jnp.arange(5), jnp.array([0, 0, 1, 1, 2]))
    Array([0, 2, 4], dtype=int32)
    """
    return _segment("segment_min", "min", jnp.min, _greatest(data), data, segment_ids,
                    num_segments, indices_are_sorted, unique_indices, bucket_size, mode,
                    out_sharding)


# --- pieces ----------------------------------------------------------------------------------


def _segment(name: str, update: str, reduce: Callable, neutral: Any, data: Any, segment_ids: Any,
             num_segments: Any, indices_are_sorted: bool, unique_indices: bool, bucket_size: Any,
             mode: Any, out_sharding: Any) -> Any:
    check_out_sharding(name, out_sharding)
    data, ids = array_arguments(name, data, segment_ids)
    if dtype_of(data) == np.bool_ and update in ("add", "multiply"):
        raise TypeError(f"{name} does not accept dtype bool; convert the data with astype first")
    if not dtypes.is_integer(dtype_of(ids)):
        raise TypeError(f"{name}: segment_ids must have an integer dtype, got {dtype_of(ids)}")
    count = _number_of_segments(name, ids, num_segments)
    options = dict(indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode,
                   wrap_negative_indices=False)
    if bucket_size is None:
        out = jnp.full((count, *shape_of(data)[1:]), neutral, dtype_of(data))
        return getattr(out.at[ids], update)(data, **options)
    length = len(ids)
    buckets = -(-length // _size(name, bucket_size))
    out = jnp.full((buckets, count, *shape_of(data)[1:]), neutral, dtype_of(data))
    bucket = np.arange(length, dtype=np.int32) // bucket_size
    parts = getattr(out.at[bucket, ids], update)(data, **options)
    given = {"initial": np.asarray(neutral).astype(dtype_of(data))} \
        if update in ("max", "min") else {}
    return reduce(parts, axis=0, **given).astype(dtype_of(data))


def _number_of_segments(name: str, ids: Any, num_segments: Any) -> int:
    if num_segments is None:
        found = concrete_or_error(
            ids, f"{name}: give `num_segments`, which is then the length of the result.")
        if 0 in shape_of(found):
            raise ValueError(f"{name}: without any segment_ids, give `num_segments`")
        return max(int(np.max(np.asarray(found))) + 1, 0)
    count = operator.index(concrete_or_error(num_segments, f"{name}: `num_segments`"))
    if count < 0:
        raise ValueError(f"num_segments must be non-negative, got {count}")
    return count


def _size(name: str, bucket_size: Any) -> int:
    size = operator.index(bucket_size)
    if size < 1:
        raise ValueError(f"{name}: bucket_size must be at least 1, got {size}")
    return size


def _least(data: Any) -> Any:
    return _extreme(data, -np.inf, "min", False)


def _greatest(data: Any) -> Any:
    return _extreme(data, np.inf, "max", True)


def _extreme(data: Any, infinity: float, bound: str, of_bool: bool) -> Any:
    """The neutral element of max or min for the dtype of the data."""
    dtype = dtype_of(array_arguments(f"segment_{'max' if bound == 'min' else 'min'}", data))
    if dtype == np.bool_:
        return of_bool
    return int(getattr(dtypes.iinfo(dtype), bound)) if dtypes.is_integer(dtype) else infinity


__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
