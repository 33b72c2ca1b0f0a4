"""Putting arrays together and taking them apart: concatenate, stack, split, block, insert, delete.

In: sequences of arrays. Out: an array (or a list of them) of the common dtype.
Invariant: a single operand is passed through, not copied.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney import lax
from jitney.api.jit import jit
from jitney.core import avals
from jitney.core.trace import Tracer
from jitney.numpy.creation import from_numpy
from jitney.numpy.jitted import inlined, is_eager, traced_call
from jitney.numpy.manipulation import atleast_1d, atleast_2d, atleast_3d, part, ravel
from jitney.numpy.promotion import (
    array_arguments,
    arraylike,
    as_value,
    canonical_axis,
    check_arraylike,
    concrete_or_error,
    convert,
    dtype_of,
    promote_dtypes,
    requested_dtype,
    shape_of,
    unwrapped,
)

FEW_PIECES = 8  # so many slices are joined; more are gathered


def _is_array(x: Any) -> bool:
    return isinstance(x, (np.ndarray, avals.Array, Tracer))


def _rows(arrays: Any) -> list[Any]:
    """The operands of a joining function; an array stands for its rows."""
    if _is_array(arrays):
        return list(lax.unstack(as_value(arrays), 0)) if shape_of(arrays) else [arrays]
    return [unwrapped(a) for a in arrays]


def concatenate(arrays, axis=0, dtype=None):
    """Arrays joined along an axis they have (flattened first when axis is None)."""
    if not _is_array(arrays) and not hasattr(arrays, "__iter__"):
        raise TypeError(f"Value after * must be an iterable, not {type(arrays).__name__}")
    if dtype is not None:
        dtype = requested_dtype(dtype, "concatenate")
    return _concatenate(_rows(arrays), axis, dtype)


@inlined(static_argnums=(1, 2))
def _concatenate(operands, axis, dtype):
    if not operands:
        raise ValueError("Need at least one array to concatenate.")
    check_arraylike("concatenate", *operands)
    if axis is None:
        return concatenate([ravel(a) for a in operands], axis=0, dtype=dtype)
    if not shape_of(operands[0]):
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    axis = canonical_axis(axis, len(shape_of(operands[0])))
    if dtype is not None:
        operands = [convert(a, dtype) for a in operands]
    else:
        operands = promote_dtypes(*operands)
    return joined([as_value(a) for a in operands], axis)


def joined(operands: Sequence[Any], axis: int) -> Any:
    """Arrays of one dtype joined along an axis."""
    return operands[0] if len(operands) == 1 else lax.concatenate(list(operands), axis)


def concat(arrays, /, *, axis=0):
    """Arrays joined along an axis they have."""
    return concatenate(arrays, axis=axis)


def stack(arrays, axis=0, out=None, dtype=None):
    """Arrays of one shape joined along a new axis."""
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.stack is not supported.")
    if dtype is not None:
        dtype = requested_dtype(dtype, "stack")
    return _stack(_rows(arrays), axis, dtype)


@inlined(static_argnums=(1, 2))
def _stack(operands, axis, dtype):
    if not operands:
        raise ValueError("Need at least one array to stack.")
    check_arraylike("stack", *operands)
    shapes = {shape_of(a) for a in operands}
    if len(shapes) > 1:
        listed = ", ".join(str(shape_of(a)) for a in operands)
        if len({len(s) for s in shapes}) > 1:
            raise ValueError("Cannot stack arrays with different numbers of dimensions: got "
                             f"{listed}.")
        raise ValueError("All input arrays must have the same shape.")
    axis = canonical_axis(axis, len(shape_of(operands[0])) + 1)
    if dtype is not None:
        operands = [convert(a, dtype) for a in operands]
    else:
        operands = promote_dtypes(*operands)
    return lax.stack([as_value(a) for a in operands], axis)


@inlined(static_argnames=("axis",))
def unstack(x, /, *, axis=0):
    """The slices along an axis, as a tuple."""
    x = array_arguments("unstack", x)
    if not shape_of(x):
        raise ValueError("Unstack requires arrays with rank > 0, however a scalar array was "
                         "passed.")
    return tuple(lax.unstack(x, canonical_axis(axis, len(shape_of(x)))))


def _each(function: Any, tup: Any) -> list[Any]:
    return [function(a) for a in _rows(tup)]


def vstack(tup, dtype=None):
    """Joined along the first axis, vectors becoming rows."""
    return concatenate(_each(atleast_2d, _checked_rows("vstack", tup)), axis=0, dtype=dtype)


def hstack(tup, dtype=None):
    """Joined along the second axis (the first of vectors)."""
    arrays = _each(atleast_1d, _checked_rows("hstack", tup))
    return concatenate(arrays, axis=0 if len(shape_of(arrays[0])) == 1 else 1, dtype=dtype)


def dstack(tup, dtype=None):
    """Joined along the third axis."""
    if dtype is not None:
        dtype = requested_dtype(dtype, "dstack")
    return _dstack(_checked_rows("dstack", tup), dtype)


@inlined(static_argnums=(1,))
def _dstack(rows, dtype):
    return concatenate(_each(atleast_3d, rows), axis=2, dtype=dtype)


def _checked_rows(name: str, tup: Any) -> list[Any]:
    rows = _rows(tup)
    check_arraylike(name, *rows)
    return rows


def column_stack(tup):
    """Vectors as the columns of a matrix."""
    return _column_stack(_checked_rows("column_stack", tup))


@inlined
def _column_stack(rows):
    columns = [atleast_2d(a).T if len(shape_of(a)) < 2 else a for a in rows]
    return concatenate(columns, axis=1)


@traced_call(static_argnames=("axis",))
def append(arr, values, axis=None):
    """Two arrays joined, flattened unless an axis is given."""
    arr, values = arraylike("append", arr, values)
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis=axis)


# --- splitting ---------------------------------------------------------------------------------


def _cut(name: str, ary: Any, indices_or_sections: Any, axis: Any) -> list[Any]:
    ary = array_arguments(name, ary)
    axis = canonical_axis(operator.index(concrete_or_error(axis)), len(shape_of(ary)))
    length = shape_of(ary)[axis]
    given = concrete_or_error(indices_or_sections, f"in jnp.{name} argument 1")
    if isinstance(given, (tuple, list)) or np.ndim(given) > 0:
        cuts = [operator.index(concrete_or_error(i, f"in jnp.{name} argument 1")) for i in given]
        bounds = [0, *cuts, length]
        sizes = [b - a for a, b in zip(bounds, bounds[1:], strict=False)]
        if any(s < 0 for s in sizes):
            raise ValueError(f"Sizes passed to split must be nonnegative, got {sizes}")
    else:
        sections = operator.index(given)
        part, rest = divmod(length, sections)
        if rest and name != "array_split":
            raise ValueError("array split does not result in an equal division: rest is "
                             f"{rest}")
        sizes = [part + 1] * rest + [part] * (sections - rest)
    return list(lax.split(ary, tuple(sizes), axis))


def split(ary, indices_or_sections, axis=0):
    """Parts of an array: equal ones, or cut at indices."""
    return _cut("split", ary, indices_or_sections, axis)


def array_split(ary, indices_or_sections, axis=0):
    """Parts of an array, as equal as possible."""
    return _cut("array_split", ary, indices_or_sections, axis)


def vsplit(ary, indices_or_sections):
    """Parts along axis 0."""
    return _cut("vsplit", ary, indices_or_sections, 0)


def hsplit(ary, indices_or_sections):
    """Parts along axis 1 (axis 0 of vectors)."""
    a = array_arguments("hsplit", ary)
    return _cut("hsplit", a, indices_or_sections, 0 if len(shape_of(a)) == 1 else 1)


def dsplit(ary, indices_or_sections):
    """Parts along axis 2."""
    return _cut("dsplit", ary, indices_or_sections, 2)


# --- block, insert, delete ---------------------------------------------------------------------


def _block(blocks: Any) -> tuple[Any, int]:
    if isinstance(blocks, tuple):
        raise ValueError(f"jax.numpy.block does not allow tuples, got {blocks}")
    if isinstance(blocks, list):
        if not blocks:
            raise ValueError("jax.numpy.block does not allow empty list arguments")
        parts, depths = zip(*(_block(b) for b in blocks))
        if any(d != depths[0] for d in depths):
            raise ValueError("Mismatched list depths in jax.numpy.block")
        rank = max(depths[0], *(len(shape_of(p)) for p in parts)) if parts else depths[0]
        parts = [_with_rank(p, rank) for p in parts]
        return concatenate(list(parts), axis=-depths[0]), depths[0] + 1
    return array_arguments("block", blocks), 1


def _with_rank(x: Any, rank: int) -> Any:
    missing = rank - len(shape_of(x))
    return lax.expand_dims(x, tuple(range(missing))) if missing > 0 else x


@traced_call
def block(arrays):
    """A matrix of blocks, given as nested lists."""
    return _block(arrays)[0]


def _static_positions(name: str, obj: Any, length: int) -> np.ndarray | int | slice | None:
    """Positions known now: an integer, an int array, or a slice; None when traced."""
    if isinstance(obj, slice):
        return obj
    if isinstance(obj, Tracer) and obj._concrete() is None:
        return None
    value = np.asarray(obj)
    if value.dtype == np.bool_:
        if value.ndim != 1 or value.shape[0] != length:
            raise ValueError(f"jnp.{name}(arr, obj): for boolean indices, obj must be "
                             "one-dimensional with the length of the axis.")
        return np.flatnonzero(value)
    return value if value.ndim else int(value)


def delete(arr, obj, axis=None, *, assume_unique_indices=False):
    """Without the elements at given positions along an axis."""
    arr = array_arguments("delete", arr)
    if not isinstance(obj, slice):
        check_arraylike("delete", 0, obj)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = canonical_axis(axis, len(shape_of(arr)))
    length = shape_of(arr)[axis]
    positions = _static_positions("delete", obj, length)
    if positions is None:
        if not assume_unique_indices:
            raise ValueError("jnp.delete: the positions must be known now unless "
                             "assume_unique_indices=True")
        return _delete_traced(arr, obj, axis)
    run = _run_of(positions, length)
    if run is not None and is_eager(arr):
        return _without_run(arr, run[0], run[1], axis)
    if isinstance(positions, slice):
        removed = np.arange(length)[positions]
    else:
        removed = np.asarray(positions, dtype=np.int64).reshape(-1)
        if isinstance(positions, int):
            canonical_axis(positions, length)
        outside = (removed < -length) | (removed >= length)
        removed = np.where(removed < 0, removed + length, removed)[~outside]
    kept = np.ones(length, bool)
    kept[removed] = False
    if removed.size > FEW_PIECES and is_eager(arr):
        return from_numpy(np.asarray(arr).compress(kept, axis), dtype_of(arr))
    return _runs(arr, kept, axis)


def _run_of(positions: Any, length: int) -> tuple[int, int] | None:
    """(start, count) of positions side by side."""
    if isinstance(positions, slice):
        start, stop, step = positions.indices(length)
        return (start, max(0, stop - start)) if step == 1 else None
    if isinstance(positions, int) and -length <= positions < length:
        return positions % length, 1
    return None


@jit(static_argnums=(2, 3))
def _without_run(arr: Any, start: Any, count: int, axis: int) -> Any:
    """One program for every start: what comes before, or what comes `count` later."""
    if not count:
        return arr
    length = shape_of(arr)[axis]
    before = part(arr, 0, length - count, axis)
    after = part(arr, count, length, axis)
    place = lax.broadcasted_iota(np.int32, shape_of(before), axis)
    return lax.select(lax.lt(place, lax.full_like(place, start)), before, after)


@jit(static_argnums=(3,))
def _with_value(arr: Any, start: Any, value: Any, axis: int) -> Any:
    """One program for every start: with `value` (extent 1 along the axis) put in there."""
    zero, config = lax.full((), 0, dtype_of(arr)), [(0, 0, 0)] * len(shape_of(arr))
    config[axis] = (0, 1, 0)
    before = lax.pad(arr, zero, config)
    config[axis] = (1, 0, 0)
    after = lax.pad(arr, zero, config)
    place = lax.broadcasted_iota(np.int32, shape_of(before), axis)
    start = lax.full_like(place, start)
    value = lax.broadcast_in_dim(value, shape_of(before), tuple(range(len(shape_of(arr)))))
    return lax.select(lax.lt(place, start), before,
                      lax.select(lax.eq(place, start), value, after))


def _runs(arr: Any, kept: np.ndarray, axis: int) -> Any:
    """The kept positions: a few slices joined, or a gather when they are many."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], kept.astype(np.int8), [0]))))
    if len(edges) > 2 * FEW_PIECES:
        index = [slice(None)] * len(shape_of(arr))
        index[axis] = np.flatnonzero(kept)
        return arr[tuple(index)]
    parts = [part(arr, int(a), int(b), axis)
             for a, b in zip(edges[::2], edges[1::2])]
    return joined(parts, axis) if parts else lax.slice_in_dim(arr, 0, 0, axis=axis)


def _delete_traced(arr: Any, obj: Any, axis: int) -> Any:
    length = shape_of(arr)[axis]
    positions = ravel(as_value(obj))
    positions = convert(positions, dtype_of(positions))
    count = shape_of(positions)[0]
    wrapped = lax.select(positions < 0, positions + length, positions)
    wrapped = lax.sort(wrapped) - lax.iota(dtype_of(wrapped), count)
    index = lax.iota(dtype_of(wrapped), length - count)
    shifts = (lax.expand_dims(index, (1,)) >= lax.expand_dims(wrapped, (0,))).sum(axis=1)
    key = [slice(None)] * len(shape_of(arr))
    key[axis] = index + convert(shifts, dtype_of(index))
    return arr[tuple(key)]


def insert(arr, obj, values, axis=None):
    """With values put in before given positions along an axis."""
    arr, values = array_arguments("insert", arr, values)
    if axis is None:
        arr, axis = ravel(arr), 0
    rank = len(shape_of(arr))
    axis = canonical_axis(axis, rank)
    length = shape_of(arr)[axis]
    values = convert(values, dtype_of(arr))
    positions = _static_positions("insert", obj, length)
    if positions is None:
        raise_traced = concrete_or_error(obj, "the positions of jnp.insert must be known now")
        positions = np.asarray(raise_traced)
    if isinstance(positions, slice):
        positions = np.arange(length)[positions]
    scalar = isinstance(positions, int)
    index = np.atleast_1d(np.asarray(positions, dtype=np.int64))
    if index.ndim != 1:
        raise ValueError("jnp.insert(): obj must be a slice, a one-dimensional array, or a scalar; "
                         f"got {obj}")
    if ((index < -length) | (index > length)).any():
        index = np.clip(index, -length, length)
    index = np.where(index < 0, index + length, index)
    values = _insert_shape(values, rank)
    if index.size == 1:
        if scalar:
            values = _move_first_to(values, axis)
        index = np.repeat(index, shape_of(values)[axis])
    count = index.size
    target = list(shape_of(arr))
    target[axis] = count
    values = lax.broadcast_in_dim(values, tuple(target), tuple(range(rank)))
    if count == 1 and length and is_eager(arr, values):
        return _with_value(arr, int(index[0]), values, axis)
    return _interleave(arr, values, index, axis)


def _insert_shape(values: Any, rank: int) -> Any:
    missing = rank - len(shape_of(values))
    return lax.expand_dims(values, tuple(range(missing))) if missing > 0 else values


def _move_first_to(values: Any, axis: int) -> Any:
    rank = len(shape_of(values))
    order = [i for i in range(1, rank)]
    order.insert(axis, 0)
    return lax.transpose(values, tuple(order)) if axis else values


def _interleave(arr: Any, values: Any, index: np.ndarray, axis: int) -> Any:
    """Old and new elements in order, as pieces joined."""
    order = np.argsort(index, kind="stable")
    pieces, start = [], 0
    for k in order:
        here = int(index[k])
        if here > start:
            pieces.append(lax.slice_in_dim(arr, start, here, axis=axis))
            start = here
        pieces.append(lax.slice_in_dim(values, int(k), int(k) + 1, axis=axis))
    if start < shape_of(arr)[axis]:
        pieces.append(lax.slice_in_dim(arr, start, shape_of(arr)[axis], axis=axis))
    return joined(pieces, axis) if pieces else arr


def fill_diagonal(a, val, wrap=False, *, inplace=True):
    """With values on the main diagonal (returns a new array: pass inplace=False)."""
    if inplace:
        raise NotImplementedError("jnp.fill_diagonal cannot modify arrays in-place, because JAX "
                                  "arrays are immutable. Consider setting inplace=False.")
    if wrap:
        raise NotImplementedError("wrap=True is not implemented, must use wrap=False")
    a, val = array_arguments("fill_diagonal", a, val)
    dims = shape_of(a)
    if len(dims) < 2:
        raise ValueError("array must be at least 2-d")
    if len(dims) > 2 and len(set(dims)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    n = min(dims)
    diagonal = lax.iota(np.int32, n)
    val = ravel(val) if len(shape_of(val)) > 1 else val
    if shape_of(val):
        times = -(-n // max(shape_of(val)[0], 1))
        val = lax.slice_in_dim(lax.tile(val, (times,)), 0, n, axis=0)
    return a.at[tuple(diagonal for _ in dims)].set(val)


