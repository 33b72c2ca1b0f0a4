"""Sets of values: unique and its parts, isin, union, intersection, differences.

In: arrays (flattened unless an axis is given). Out: sorted distinct values.
Invariant: without a static `size` the input must be concrete; positions are then found by NumPy
and values taken by indexing, so gradients still flow.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.numpy import reductions, wide_numbers
from jitney.numpy.creation import from_numpy
from jitney.numpy.jitted import is_eager, traced_call
from jitney.numpy.joining import concatenate
from jitney.numpy.manipulation import moveaxis, ravel
from jitney.numpy.promotion import (
    array_arguments,
    canonical_axis,
    check_flag,
    concrete_or_error,
    convert,
    dtype_of,
    promote_dtypes,
    shape_of,
)
from jitney.numpy.searching import nonzero, searchsorted
from jitney.numpy.ufuncs import constant
from jitney.numpy.where import where_value

LOOKED_UP_FROM = 1 << 22  # comparisons
_TABLED = [np.dtype(t) for t in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")]


def _int(values: Any) -> Any:
    return from_numpy(np.asarray(values), dtypes.canonicalize_dtype(np.int64))


def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *,
           equal_nan=True, size=None, fill_value=None, sorted=True):
    """Distinct values in order, with (on request) first positions, inverse, and counts.

    `sorted=False` allows any order; the values are in order all the same.
    """
    check_flag("jnp.unique", "sorted", sorted)
    ar = array_arguments("unique", ar)
    if size is None:
        concrete_or_error(ar, "The error arose for the first argument of jnp.unique(). To make "
                          "jnp.unique() compatible with JIT and other transforms, you can specify "
                          "a concrete value for the size argument, which will determine the "
                          "output size.")
        if is_eager(ar):
            return _unique_of_values(ar, axis, equal_nan, bool(return_index), bool(return_inverse),
                                     bool(return_counts))
        found = _unique_now(ar, axis, equal_nan)
    else:
        size = operator.index(concrete_or_error(size, "The error arose for the size argument of "
                                                "jnp.unique()"))
        found = _unique_of_size(ar, axis, equal_nan, size, fill_value)
    values, index, inverse, counts = found
    extras = [x for wanted, x in ((return_index, index), (return_inverse, inverse),
                                  (return_counts, counts)) if wanted]
    return (values, *extras) if extras else values


def _rows(ar: Any, axis: Any) -> tuple[Any, int]:
    """(array whose first axis is made unique, the axis)."""
    if axis is None:
        return ravel(ar), 0
    axis = canonical_axis(axis, len(shape_of(ar)))
    return moveaxis(ar, axis, 0), axis


def _unique_of_values(ar: Any, axis: Any, equal_nan: bool, index: bool, inverse: bool,
                      counts: bool) -> Any:
    """What NumPy finds, and no more than is asked for."""
    known = np.asarray(ar)
    if axis is not None:
        axis = canonical_axis(axis, known.ndim)
    found = np.unique(known, return_index=index, return_inverse=inverse, return_counts=counts,
                      axis=axis, equal_nan=equal_nan)
    values, *extras = found if isinstance(found, tuple) else (found,)
    if inverse:
        extras[index] = extras[index].reshape(known.shape if axis is None else -1)
    values = from_numpy(values, dtype_of(ar))
    return (values, *[_int(x) for x in extras]) if extras else values


def _unique_now(ar: Any, axis: Any, equal_nan: bool) -> tuple[Any, Any, Any, Any]:
    known = np.asarray(concrete_or_error(ar))
    if axis is not None:
        axis = canonical_axis(axis, known.ndim)
    _, index, inverse, counts = np.unique(
        known, return_index=True, return_inverse=True, return_counts=True, axis=axis,
        equal_nan=equal_nan)
    if axis is None:
        values = ravel(ar)[_int(index)]
        inverse = inverse.reshape(known.shape)
    else:
        key: list[Any] = [slice(None)] * known.ndim
        key[axis] = _int(index)
        values = ar[tuple(key)]
        inverse = inverse.reshape(-1)
    return values, _int(index), _int(inverse), _int(counts)


def _sorted_rows(rows: Any, equal_nan: bool) -> tuple[Any, Any, Any]:
    """(rows in order, whether a row differs from the one before, their first positions)."""
    count = shape_of(rows)[0]
    width = math.prod(shape_of(rows)[1:])
    flat = lax.reshape(rows, (count, width))
    columns = [lax.squeeze(lax.slice_in_dim(flat, i, i + 1, axis=1), (1,)) for i in range(width)]
    index = lax.iota(dtypes.canonicalize_dtype(np.int64), count)
    order = lax.sort((*columns, index), num_keys=len(columns))[-1] if columns else index
    rows = rows[order]
    if not count:
        return rows, lax.full((0,), False, np.bool_), order
    later, earlier = (lax.slice_in_dim(rows, a, b, axis=0) for a, b in ((1, count), (0, count - 1)))
    differs = lax.ne(later, earlier)
    if equal_nan and dtypes.is_inexact(dtype_of(rows)):
        both_nan = lax.bitwise_and(lax.ne(later, later), lax.ne(earlier, earlier))
        differs = lax.bitwise_and(differs, lax.bitwise_not(both_nan))
    differs = reductions.any(differs, axis=tuple(range(1, len(shape_of(rows)))))
    mask = lax.concatenate([lax.full((1,), True, np.bool_), differs], 0)
    return rows, mask, order


@traced_call(static_argnums=(1, 2))
def _unique_sorted_mask(ar, axis, equal_nan):
    rows, _ = _rows(ar, axis)
    return _sorted_rows(rows, equal_nan)


def _unique_of_size(ar: Any, axis: Any, equal_nan: bool, size: int,
                    fill_value: Any) -> tuple[Any, Any, Any, Any]:
    rows, mask, order = _unique_sorted_mask(ar, axis, equal_nan)
    length = shape_of(mask)[0]
    along = 0 if axis is None else canonical_axis(axis, len(shape_of(ar)))
    if not length:
        dims = (size, *shape_of(rows)[1:])
        if size and fill_value is None:
            raise ValueError("jnp.unique: for zero-sized input with nonzero size argument, "
                             "fill_value must be specified")
        fill = 0 if fill_value is None else fill_value
        empty = lax.full((size,), 0, dtypes.canonicalize_dtype(np.int64))
        values = lax.full(dims, convert(fill, dtype_of(rows)))
        return moveaxis(values, 0, along), empty, lax.slice_in_dim(empty, 0, 0, axis=0), empty
    where = nonzero(mask, size=size)[0]
    values = rows[where]
    if fill_value is not None:
        inside = lax.iota(dtype_of(where), size) < reductions.sum(mask)
        inside = lax.broadcast_in_dim(inside, shape_of(values), (0,))
        values = where_value(inside, values, convert(fill_value, dtype_of(values)))
    index = order[where]
    numbers = reductions.cumsum(mask) - 1
    inverse = lax.full_like(numbers, 0).at[order].set(numbers)
    if axis is None:
        inverse = lax.reshape(inverse, shape_of(ar))
    starts = nonzero(mask, size=size + 1)[0]
    rest = lax.slice_in_dim(starts, 1, size + 1, axis=0)
    rest = where_value(rest, rest, length)
    first = lax.slice_in_dim(starts, 0, 1, axis=0)
    ends = lax.concatenate([first, convert(rest, dtype_of(starts))], 0)
    counts = lax.sub(lax.slice_in_dim(ends, 1, size + 1, axis=0),
                     lax.slice_in_dim(ends, 0, size, axis=0))
    return moveaxis(values, 0, along) if along else values, index, inverse, counts


class _UniqueAllResult(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class _UniqueCountsResult(NamedTuple):
    values: Any
    counts: Any


class _UniqueInverseResult(NamedTuple):
    values: Any
    inverse_indices: Any


def unique_all(x, /, *, size=None, fill_value=None):
    """Distinct values, their first positions, inverse and counts."""
    return _UniqueAllResult(*unique(x, True, True, True, equal_nan=False, size=size,
                                    fill_value=fill_value))


def unique_counts(x, /, *, size=None, fill_value=None):
    """Distinct values and their counts."""
    return _UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False, size=size,
                                       fill_value=fill_value))


def unique_inverse(x, /, *, size=None, fill_value=None):
    """Distinct values and the positions of each element among them."""
    return _UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False, size=size,
                                        fill_value=fill_value))


def unique_values(x, /, *, size=None, fill_value=None):
    """Distinct values."""
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# --- membership --------------------------------------------------------------------------------


@traced_call(static_argnames=("invert", "method"))
def _in1d(ar1, ar2, invert, method="auto"):
    flat, tests = ravel(ar1), ravel(ar2)
    flat, tests = promote_dtypes(flat, tests)
    n, m = shape_of(flat)[0], shape_of(tests)[0]
    if not n or not m:
        return lax.full((n,), invert, np.bool_)
    if method in ("auto", "compare_all") and not (method == "auto" and n * m > 1 << 22):
        left = lax.expand_dims(flat, (1,))
        right = lax.expand_dims(tests, (0,))
        if invert:
            return reductions.all(lax.ne(left, right), axis=1)
        return reductions.any(lax.eq(left, right), axis=1)
    tests = lax.sort(convert(tests, dtype_of(tests)))
    flat = convert(flat, dtype_of(flat))
    index = searchsorted(tests, flat)
    index = lax.min(index, constant(m - 1, index))
    hit = lax.eq(tests[index], flat)
    return lax.bitwise_not(hit) if invert else hit


def _is_looked_up(element: Any, test_elements: Any) -> bool:
    """Whether NumPy answers sooner: many integers, for which it makes a table."""
    n, m = math.prod(shape_of(element)), math.prod(shape_of(test_elements))
    return n * m > LOOKED_UP_FROM and all(
        dtype_of(x) in _TABLED for x in (element, test_elements))


def isin(element, test_elements, assume_unique=False, invert=False, *, method="auto"):
    """Whether each element occurs in `test_elements`."""
    check_flag("jnp.isin", "assume_unique", assume_unique)
    fitting = wide_numbers.fitted((element, test_elements), {})
    element, test_elements = array_arguments("isin", *(fitting or [(element, test_elements)])[0])
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(f"{method=} is not implemented; options are 'compare_all', "
                         "'binary_search', 'sort', and 'auto'")
    if method == "auto" and is_eager(element, test_elements) and _is_looked_up(
            element, test_elements):
        found = np.isin(np.asarray(element), np.asarray(test_elements), invert=bool(invert))
        return from_numpy(found)
    return lax.reshape(_in1d(element, test_elements, invert=invert, method=method),
                       shape_of(element))


# --- set operations ----------------------------------------------------------------------------


def _two(name: str, ar1: Any, ar2: Any) -> tuple[Any, Any]:
    a, b = array_arguments(name, ar1, ar2)
    return tuple(promote_dtypes(ravel(a), ravel(b)))


def _concrete(name: str, *arrays: Any) -> list[np.ndarray]:
    return [np.asarray(concrete_or_error(
        a, f"The error arose in jnp.{name}(); pass a static `size` to use it under jit.")) for a in
        arrays]


def union1d(ar1, ar2, *, size=None, fill_value=None):
    """Values that occur in either array."""
    a, b = _two("union1d", ar1, ar2)
    if size is None:
        _concrete("union1d", a, b)
    return unique(concatenate([a, b]), size=size, fill_value=fill_value)


def setdiff1d(ar1, ar2, assume_unique=False, *, size=None, fill_value=None):
    """Values of the first array that do not occur in the second."""
    a, b = array_arguments("setdiff1d", ar1, ar2)
    a, b = ravel(a), ravel(b)
    if size is None:
        known, other = _concrete("setdiff1d", a, b)
        values = known if assume_unique else np.unique(known)
        kept = values[~np.isin(values, other)]
        return from_numpy(kept, dtype_of(a))
    size = operator.index(size)
    if not shape_of(a)[0]:
        return lax.full((size,), convert(0 if fill_value is None else fill_value, dtype_of(a)))
    if not assume_unique:
        rows, mask, _ = _sorted_rows(a, True)
        kept = lax.bitwise_and(mask, _in1d(rows, b, invert=True))
        values = rows
    else:
        values, kept = a, _in1d(a, b, invert=True)
    return _first_of(values, kept, size, fill_value, constant(0, a))


def _first_of(values: Any, kept: Any, size: int, fill_value: Any, default: Any) -> Any:
    inside = lax.iota(np.int32, size) < reductions.sum(kept)
    chosen = values[nonzero(kept, size=size)[0]]
    fill = default if fill_value is None else convert(fill_value, dtype_of(values))
    return where_value(inside, chosen, fill)


@traced_call(static_argnames=("size", "assume_unique", "return_indices"))
def _intersect1d_size(ar1, ar2, fill_value, assume_unique, size, return_indices):
    """Sort both together (each once); a value followed by itself is common."""
    n, m = shape_of(ar1)[0], shape_of(ar2)[0]
    parts, valid, positions = [], [], []
    for x, length in ((ar1, n), (ar2, m)):
        rows, mask, order = (x, lax.full((length,), True, np.bool_), lax.iota(np.int32, length)) \
            if assume_unique else _sorted_rows(x, True)
        parts.append(rows)
        valid.append(mask)
        positions.append(convert(order, np.dtype(np.int32)))
    values = lax.concatenate(parts, 0)
    invalid = lax.bitwise_not(lax.concatenate(valid, 0))
    origin = lax.concatenate([positions[0], positions[1] + np.int32(n)], 0)
    invalid, values, origin = lax.sort((invalid, values, origin), num_keys=2)
    total = n + m
    later, earlier = values[1:], values[:-1]
    same = lax.bitwise_and(lax.eq(later, earlier), lax.bitwise_not(invalid[1:]))
    count = reductions.sum(same)
    index = nonzero(same, size=size, fill_value=total)[0]
    inside = lax.iota(np.int32, size) < count
    found = values.at[index].get(mode="fill", fill_value=0)
    smallest = reductions.min(where_value(inside, found, reductions.largest_of(dtype_of(found))))
    default = where_value(count > 0, smallest, constant(0, found))
    fill = default if fill_value is None else convert(fill_value, dtype_of(values))
    result = where_value(inside, found, fill)
    if not return_indices:
        return result
    first = where_value(inside, origin.at[index].get(mode="fill", fill_value=0), n)
    second = where_value(inside, origin.at[index + 1].get(mode="fill", fill_value=0) - n, m)
    return result, first, second


def intersect1d(ar1, ar2, assume_unique=False, return_indices=False, *, size=None,
                fill_value=None):
    """Values that occur in both arrays."""
    a, b = _two("intersect1d", ar1, ar2)
    if size is None:
        found = np.intersect1d(*_concrete("intersect1d", a, b), assume_unique=assume_unique,
                               return_indices=True)
        values = ravel(a)[_int(found[1])]
        return (values, _int(found[1]), _int(found[2])) if return_indices else values
    return _intersect1d_size(a, b, fill_value, assume_unique, operator.index(size), return_indices)


@traced_call(static_argnames=("size", "assume_unique"))
def _setxor1d_size(ar1, ar2, fill_value, assume_unique, size):
    parts, valid = [], []
    for x in (ar1, ar2):
        rows, mask = (x, lax.full(shape_of(x), True, np.bool_)) if assume_unique else \
            _sorted_rows(x, True)[:2]
        parts.append(rows)
        valid.append(mask)
    values = lax.concatenate(parts, 0)
    invalid = lax.bitwise_not(lax.concatenate(valid, 0))
    invalid, values = lax.sort((invalid, values), num_keys=2)
    ok = lax.bitwise_not(invalid)
    twin = lax.bitwise_and(lax.eq(values[1:], values[:-1]), lax.bitwise_and(ok[1:], ok[:-1]))
    edge = lax.full((1,), False, np.bool_)
    single = lax.bitwise_not(lax.bitwise_or(lax.concatenate([twin, edge], 0),
                                            lax.concatenate([edge, twin], 0)))
    kept = lax.bitwise_and(ok, single)
    default = where_value(reductions.any(kept), values[nonzero(kept, size=1)[0][0]],
                          constant(0, values))
    return _first_of(values, kept, size, fill_value, default)


def setxor1d(ar1, ar2, assume_unique=False, *, size=None, fill_value=None):
    """Values that occur in exactly one of the arrays."""
    a, b = _two("setxor1d", ar1, ar2)
    if size is None:
        return from_numpy(np.setxor1d(*_concrete("setxor1d", a, b), assume_unique=assume_unique),
                          dtype_of(a))
    return _setxor1d_size(a, b, fill_value, assume_unique, operator.index(size))
