"""Arrays computed from a few numbers: arange, linspace, logspace, geomspace, eye, tri and grids.

In: static numbers (and, for linspace and its kin, arrays of end points). Out: arrays.
Invariant: element i of a range is start + i * step in the result's dtype, as one would write it.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.numpy.creation import (
    array,
    broadcast_value,
    from_numpy,
    may_make_directly,
    placed,
)
from jitney.numpy.jitted import one_program, traced_call
from jitney.numpy.promotion import (
    array_arguments,
    arraylike,
    canonical_axis,
    check_arraylike,
    concrete_or_error,
    convert,
    dtype_of,
    promote_dtypes_inexact,
    requested_dtype,
    shape_of,
)
from jitney.numpy.ufuncs import constant, is_integral
from jitney.numpy.where import spread, where_value

# --- arange ------------------------------------------------------------------------------------


def _range_argument(name: str, x: Any) -> Any:
    x = concrete_or_error(x, f"It arose in the jnp.arange argument '{name}'")
    if x is not None:
        check_arraylike("arange", x)
        if np.shape(x) != ():
            raise ValueError(f"jax.numpy.arange: arguments must be scalars; got {name}={x}")
        if dtypes.is_complex(dtype_of(x)):
            raise ValueError("Passing complex start/stop/step to jnp.arange is no longer "
                             "supported starting in JAX v0.10.0.")
    return x


def _number(x: Any) -> Any:
    """A Python number of the value."""
    return x if type(x) in (int, float) else np.asarray(x).item()


def arange(start, stop=None, step=None, dtype=None, *, device=None, out_sharding=None):
    """start, start + step, … below stop (0, 1, … below start when stop is not given)."""
    return placed("jnp.arange", _arange(start, stop, step, dtype), device, out_sharding)


def _arange(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    if stop is None and step is None and dtype is None and type(start) is int:
        return _iota(dtypes.python_scalar_dtype(int), max(start, 0))
    if start is None:
        raise TypeError("must be real number, not NoneType")
    start, stop, step = (_range_argument(n, x) for n, x in (
        ("stop" if stop is None and step is None else "start", start), ("stop", stop),
        ("step", step)))
    if stop is None:
        start, stop = 0 if type(start) in (int, float, bool) else np.zeros_like(start), start
        has_start = False
    else:
        has_start = True
    given = [x for x in ((start, stop, step) if has_start else (stop, step)) if x is not None]
    if dtype is None:
        dtype = dtypes.result_type(*given)
    else:
        dtype = requested_dtype(dtype, "arange")
    length = _range_length(_number(start), _number(stop), 1 if step is None else _number(step))
    if not has_start and step is None:
        return _iota(dtype, length)
    return _affine_range(start, step, dtype, length)


def _range_length(start: Any, stop: Any, step: Any) -> int:
    if step == 0:
        raise ZeroDivisionError("division by zero")
    if all(isinstance(x, int) for x in (start, stop, step)):
        return len(range(int(start), int(stop), int(step)))
    return max(0, math.ceil((stop - start) / step))


def _iota(dtype: Any, length: int) -> Any:
    if may_make_directly(length) and dtype != np.bool_:
        return from_numpy(np.arange(length).astype(dtype), dtype)
    return lax.iota(dtype, length)


def _affine_range(start: Any, step: Any, dtype: Any, length: int) -> Any:
    first = np.asarray(start).astype(dtype)[()]
    if may_make_directly(length) and dtype != np.bool_:
        with np.errstate(all="ignore"):
            values = np.arange(length).astype(dtype)
            if step is not None:
                values = np.asarray(step).astype(dtype) * values
            return from_numpy(np.asarray(first + values), dtype)
    values = lax.iota(dtype, length)
    if step is not None:
        values = lax.mul(np.asarray(step).astype(dtype)[()], values)
    return lax.add(first, values)


# --- linspace and its kin ----------------------------------------------------------------------


def _sample_count(num: Any, name: str) -> int:
    num = operator.index(concrete_or_error(num, f"It arose in the 'num' argument of {name}"))
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    return num


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *,
             device=None):
    """`num` evenly spaced values from start to stop, inclusive unless `endpoint` is false."""
    num = _sample_count(num, "jnp.linspace")
    axis = operator.index(axis)
    if dtype is not None:
        dtype = requested_dtype(dtype, "linspace")
    found = _linspace(start, stop, num, endpoint, retstep, dtype, axis)
    return placed("jnp.linspace", found, device)


@traced_call(static_argnames=("num", "endpoint", "retstep", "dtype", "axis"))
def _linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    start, stop = arraylike("linspace", start, stop)
    if dtype is None:
        dtype = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(dtypes.result_type(start, stop)))
    computed = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(
        dtypes.promote_types(dtypes.result_type(start, stop), dtype)))
    start, stop = convert(start, computed), convert(stop, computed)
    shape = np.broadcast_shapes(shape_of(start), shape_of(stop))
    start, stop = spread(start, shape), spread(stop, shape)
    axis = canonical_axis(axis, len(shape) + 1)
    intervals = num - 1 if endpoint else num
    if num > 1:
        step = lax.div(lax.sub(stop, start), constant(intervals, stop))
        values = _interpolated(start, stop, num, intervals, endpoint, axis)
    elif num == 1:
        step = lax.sub(stop, start) if not endpoint else lax.full(
            shape, constant(np.nan, stop))
        values = _with_axis(start, axis)
    else:
        step = lax.full(shape, constant(np.nan, stop)) if endpoint else lax.sub(stop, start)
        values = lax.full(shape[:axis] + (0,) + shape[axis:], 0, computed)
    if dtypes.is_integer(dtype) and not dtypes.is_integer(computed):
        values = lax.floor(values)
    values = lax.convert_element_type(values, dtype)
    return (values, step) if retstep else values


def _with_axis(x: Any, axis: int) -> Any:
    shape = shape_of(x)
    return lax.reshape(x, shape[:axis] + (1,) + shape[axis:])


def _interpolated(start: Any, stop: Any, num: int, intervals: int, endpoint: bool,
                  axis: int) -> Any:
    rank = len(shape_of(start)) + 1
    real = dtypes.to_floating_dtype(dtype_of(start))
    fraction = lax.iota(real, intervals)
    if rank > 1:
        fraction = lax.reshape(fraction, (1,) * axis + (intervals,) + (1,) * (rank - axis - 1))
    fraction = lax.div(fraction, constant(intervals, fraction))
    fraction = convert(fraction, dtype_of(start))
    left = lax.mul(_with_axis(start, axis), lax.sub(constant(1, fraction), fraction))
    values = lax.add(left, lax.mul(_with_axis(stop, axis), fraction))
    return lax.concatenate([values, lax.expand_dims(stop, (axis,))], axis) if endpoint else values


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """base ** linspace(start, stop)."""
    num = _sample_count(num, "jnp.logspace")
    if dtype is not None:
        dtype = requested_dtype(dtype, "logspace")
    return _logspace(start, stop, num, endpoint, base, dtype, operator.index(axis))


@traced_call(static_argnames=("num", "endpoint", "dtype", "axis"))
def _logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    start, stop = arraylike("logspace", start, stop)
    if dtype is None:
        dtype = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(dtypes.result_type(start, stop)))
    computed = dtypes.to_inexact_dtype(dtype)
    start, stop = convert(start, computed), convert(stop, computed)
    exponents = linspace(start, stop, num=num, endpoint=endpoint, retstep=False, dtype=None,
                         axis=axis)
    base = convert(base, dtype_of(exponents))
    if shape_of(base) != ():
        base = lax.expand_dims(base, (axis,))
        rank = max(len(shape_of(base)), len(shape_of(exponents)))
        base, exponents = lax.broadcast_to_rank(base, rank), lax.broadcast_to_rank(exponents, rank)
    return convert(lax.pow(base, exponents), dtype)


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """`num` values in geometric progression from start to stop."""
    num = _sample_count(num, "jnp.geomspace")
    if dtype is not None:
        dtype = requested_dtype(dtype, "geomspace")
    return _geomspace(start, stop, num, endpoint, dtype, operator.index(axis))


def _log10(x: Any) -> Any:
    y = lax.log(x)
    if dtypes.is_complex(dtype_of(y)):
        scale = 1 / np.log(10)
        re, im = lax.real(y), lax.imag(y)
        return lax.complex(lax.mul(re, constant(scale, re)), lax.mul(im, constant(scale, im)))
    return lax.mul(y, constant(1 / np.log(10), y))


@traced_call(static_argnames=("num", "endpoint", "dtype", "axis"))
def _geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    start, stop = arraylike("geomspace", start, stop)
    if dtype is None:
        dtype = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(dtypes.result_type(start, stop)))
    computed = dtypes.to_inexact_dtype(dtype)
    start, stop = convert(start, computed), convert(stop, computed)
    shape = np.broadcast_shapes(shape_of(start), shape_of(stop))
    sign = lax.sign(spread(start, shape))
    if dtypes.is_complex(computed):
        both_negative = lax.bitwise_and(lax.lt(lax.real(start), constant(0, lax.real(start))),
                                        lax.lt(lax.real(stop), constant(0, lax.real(stop))))
        sign = where_value(both_negative, constant(-1, start), constant(1, start))
    exponents = (_log10(lax.div(start, sign)), _log10(lax.div(stop, sign)))
    values = logspace(*exponents, num=num, endpoint=endpoint, base=10.0, dtype=computed, axis=0)
    result = lax.mul(sign, values) if not shape else lax.mul(
        lax.expand_dims(sign, (0,)), values)
    if axis:
        axis = canonical_axis(axis, len(shape) + 1)
        order = list(range(1, len(shape) + 1))
        order.insert(axis, 0)
        result = lax.transpose(result, tuple(order))
    return convert(result, dtype)


# --- matrices of zeros and ones ----------------------------------------------------------------


def eye(N, M=None, k=0, dtype=None, *, device=None):
    """Ones on a diagonal."""
    return placed("jnp.eye", _eye(N, M, k, dtype), device)


def _eye(N: Any, M: Any, k: Any, dtype: Any) -> Any:
    wanted = dtypes.canonicalize_dtype(float) if dtype is None else requested_dtype(dtype, "eye")
    rows = operator.index(concrete_or_error(N, "argument 'N' of jnp.eye"))
    columns = rows if M is None else operator.index(concrete_or_error(M, "argument 'M' of eye"))
    if rows < 0 or columns < 0:
        raise ValueError(f"negative dimensions are not allowed, got {N} and {M}")
    if isinstance(k, (int, np.integer)):
        if may_make_directly(rows * columns):
            return from_numpy(np.eye(rows, columns, int(k)), wanted)
        return _ones_on_diagonal(rows, columns, int(k), wanted)
    else:
        if not is_integral(dtype_of(k)):
            raise TypeError(f"k must be an integer, got {dtype_of(k)}")
        offset = convert(k, np.dtype(np.int32))
    return lax.convert_element_type(diagonal_mask(rows, columns, offset, lax.eq), wanted)


@one_program(static_argnums=(0, 1, 2, 3))
def _ones_on_diagonal(rows: int, columns: int, k: int, dtype: Any) -> Any:
    return lax.convert_element_type(diagonal_mask(rows, columns, np.int32(k), lax.eq), dtype)


def diagonal_mask(rows: int, columns: int, offset: Any, compare: Any) -> Any:
    """Booleans: compare(row + offset, column)."""
    row = lax.broadcasted_iota(np.int32, (rows, columns), 0)
    column = lax.broadcasted_iota(np.int32, (rows, columns), 1)
    return compare(lax.add(row, offset), column)


def identity(n, dtype=None):
    """The identity matrix."""
    return eye(n, dtype=dtype)


def lower_mask(rows: int, columns: int, k: int) -> Any:
    """Booleans: true on and below the k-th diagonal."""
    row = lax.broadcasted_iota(np.int32, (rows, columns), 0)
    shifted = lax.add(row, np.int32(k))
    return lax.ge(shifted, lax.broadcasted_iota(np.int32, (rows, columns), 1))


def tri(N, M=None, k=0, dtype=None):
    """Ones on and below a diagonal."""
    wanted = np.dtype(np.float32) if dtype is None else requested_dtype(dtype, "tri")
    rows, columns = operator.index(N), operator.index(N if M is None else M)
    if may_make_directly(rows * columns):
        return from_numpy(np.tri(rows, columns, k), wanted)
    return _ones_below_diagonal(rows, columns, operator.index(k), wanted)


@one_program(static_argnums=(0, 1, 2, 3))
def _ones_below_diagonal(rows: int, columns: int, k: int, dtype: Any) -> Any:
    return lax.convert_element_type(lower_mask(rows, columns, k), dtype)


@traced_call(static_argnames=("k",))
def tril(m, k=0):
    """Lower triangle of (stacks of) matrices; zeros above the k-th diagonal."""
    return _triangle("tril", m, k, True)


@traced_call(static_argnames=("k",))
def triu(m, k=0):
    """Upper triangle of (stacks of) matrices; zeros below the k-th diagonal."""
    return _triangle("triu", m, k, False)


def _triangle(name: str, m: Any, k: Any, lower: bool) -> Any:
    m = arraylike(name, m)
    shape = shape_of(m)
    if len(shape) < 2:
        raise ValueError(f"Argument to jax.numpy.{name} must be at least 2D")
    mask = spread(lower_mask(shape[-2], shape[-1], operator.index(k) if lower else
                             operator.index(k) - 1), shape)
    zero = lax.full(shape, 0, dtype_of(m))
    return lax.select(mask, m, zero) if lower else lax.select(mask, zero, m)


# --- grids -------------------------------------------------------------------------------------


def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """Coordinate arrays of a grid, from its coordinate vectors."""
    args = [array_arguments("meshgrid", x) for x in xi]
    if not copy:
        raise ValueError("jax.numpy.meshgrid only supports copy=True")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    if any(len(shape_of(x)) != 1 for x in args):
        raise ValueError("Arguments to jax.numpy.meshgrid must be 1D, got shapes "
                         f"{[shape_of(x) for x in args]}")
    swapped = indexing == "xy" and len(args) >= 2
    if swapped:
        args[0], args[1] = args[1], args[0]
    lengths = tuple(shape_of(x)[0] for x in args)
    rank = len(args)
    grids = []
    for i, x in enumerate(args):
        shape = tuple(n if j == i or not sparse else 1 for j, n in enumerate(lengths))
        grids.append(lax.broadcast_in_dim(x, shape, (i,)) if rank > 1 else x)
    if swapped:
        grids[0], grids[1] = grids[1], grids[0]
    return grids


def indices(dimensions, dtype=None, sparse=False):
    """Index arrays of a grid of the given shape."""
    wanted = dtypes.canonicalize_dtype(np.int64) if dtype is None else requested_dtype(
        dtype, "indices")
    return _indices(tuple(operator.index(n) for n in dimensions), wanted, bool(sparse))


@one_program(static_argnums=(0, 1, 2))
def _indices(shape: tuple[int, ...], wanted: Any, sparse: bool) -> Any:
    rank = len(shape)
    grids = []
    for i, n in enumerate(shape):
        target = tuple(m if j == i or not sparse else 1 for j, m in enumerate(shape))
        grids.append(lax.broadcast_in_dim(_iota(wanted, n), target, (i,)) if rank > 1 or sparse
                     else _iota(wanted, n))
    if sparse:
        return tuple(grids)
    return lax.stack(grids, 0) if grids else array([], dtype=wanted)


class _Grid:
    """Base of `mgrid` and `ogrid`: indexing with slices makes coordinate arrays."""

    _sparse = False
    _name = "mgrid"

    def __getitem__(self, key):
        if isinstance(key, slice):
            return _slice_to_range(key, self._name)
        ranges = [_slice_to_range(k, self._name) for k in key]
        if ranges:
            dtype = dtypes.result_type(*ranges)
            ranges = [convert(r, dtype) for r in ranges]
        grids = meshgrid(*ranges, indexing="ij", sparse=self._sparse)
        if self._sparse:
            return grids
        return lax.stack(grids, 0) if grids else array([])

    def __repr__(self):
        return f"<{self._name}>"


class _MGrid(_Grid):
    """`jnp.mgrid[a:b, c:d]`: dense coordinate arrays, stacked."""


class _OGrid(_Grid):
    """`jnp.ogrid[a:b, c:d]`: open coordinate arrays, one for each axis."""

    _sparse = True
    _name = "ogrid"


def _slice_to_range(key: slice, name: str) -> Any:
    start, stop, step = (concrete_or_error(x, f"slice of jnp.{name}")
                         for x in (key.start, key.stop, key.step))
    start, step = (0 if start is None else start), (1 if step is None else step)
    if isinstance(step, complex) or np.iscomplexobj(step):
        found = linspace(start, stop, int(abs(step)))
        return found
    return arange(start, stop, step)


mgrid, ogrid = _MGrid(), _OGrid()


def vander_exponents(count: int, increasing: bool, dtype: Any) -> Any:
    """0, 1, …, count-1, or downwards."""
    powers = lax.iota(dtype, count)
    return powers if increasing else lax.sub(constant(count - 1, powers), powers)


@traced_call(static_argnames=("N", "increasing"))
def vander(x, N=None, increasing=False):
    """Matrix of the powers of a vector."""
    x = arraylike("vander", x)
    if len(shape_of(x)) != 1:
        raise ValueError("x must be a one-dimensional array")
    count = shape_of(x)[0] if N is None else operator.index(concrete_or_error(N, "'N' of vander"))
    if count < 0:
        raise ValueError("N must be nonnegative")
    exponents = vander_exponents(count, increasing, dtype_of(x))
    base = lax.broadcast_in_dim(x, (shape_of(x)[0], 1), (0,))
    exponents = lax.broadcast_in_dim(exponents, (1, count), (1,))
    if dtypes.is_inexact(dtype_of(x)):
        return lax.pow(base, exponents)
    full_shape = (shape_of(x)[0], count)
    return _integer_vander(spread(base, full_shape), spread(exponents, full_shape))


def _integer_vander(base: Any, exponents: Any) -> Any:
    result = lax.full_like(base, 1)
    one = constant(1, exponents)
    for _ in range(6):
        odd = lax.bitwise_and(exponents, one)
        result = where_value(odd, lax.mul(result, base), result)
        base, exponents = lax.mul(base, base), lax.shift_right_logical(exponents, one)
    return result


__all__ = ["arange", "linspace", "logspace", "geomspace", "eye", "identity", "tri", "tril", "triu",
           "meshgrid", "indices", "mgrid", "ogrid", "vander", "broadcast_value",
           "promote_dtypes_inexact"]
