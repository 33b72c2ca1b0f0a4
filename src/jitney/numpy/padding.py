"""`pad` in all its modes.

In: an array, widths for each axis and side, a mode. Out: a larger array.
Invariant: one axis at a time, so corners are padded values of padded values, as in NumPy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jitney import lax
from jitney.numpy.arithmetic import round as round_
from jitney.numpy.creation import broadcast_value
from jitney.numpy.jitted import traced_call
from jitney.numpy.manipulation import flip
from jitney.numpy.promotion import (
    array_arguments,
    arraylike,
    canonical_axis,
    check_arraylike,
    concrete_or_error,
    convert,
    dtype_of,
    shape_of,
)
from jitney.numpy.quantiles import median
from jitney.numpy.ranges import linspace
from jitney.numpy.reductions import max as max_of
from jitney.numpy.reductions import mean
from jitney.numpy.reductions import min as min_of
from jitney.numpy.ufuncs import is_integral

_OPTIONS = {
    "edge": (), "wrap": (), "empty": (), "constant": ("constant_values",),
    "linear_ramp": ("end_values",), "maximum": ("stat_length",), "mean": ("stat_length",),
    "median": ("stat_length",), "minimum": ("stat_length",), "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
}


def pad(array, pad_width, mode="constant", **kwargs):
    """`array` with values added before and after along each axis."""
    array = array_arguments("pad", array)
    rank = len(shape_of(array))
    widths = _static_pairs(pad_width, rank, "pad_width")
    if any(w < 0 for pair in widths for w in pair):
        raise ValueError("index can't contain negative values")
    if callable(mode):
        return _pad_by_function(array, widths, mode, **kwargs)
    if mode not in _OPTIONS:
        raise NotImplementedError(f"Unimplemented padding mode '{mode}' for np.pad.")
    unknown = set(kwargs) - set(_OPTIONS[mode])
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    stat_length = kwargs.get("stat_length")
    if stat_length is not None:
        stat_length = _static_pairs(stat_length, rank, "stat_length")
        if mode in ("maximum", "minimum") and any(n == 0 for pair in stat_length for n in pair):
            raise ValueError("stat_length of 0 yields no value for padding")
    return _pad(array, widths, mode, kwargs.get("constant_values", 0), stat_length,
                kwargs.get("end_values", 0 if mode == "linear_ramp" else None),
                kwargs.get("reflect_type", "even"))


def _static_pairs(given: Any, rank: int, name: str) -> tuple[tuple[int, int], ...]:
    if isinstance(given, dict):
        pairs = [(0, 0)] * rank
        for axis, value in given.items():
            both = (value, value) if np.ndim(value) == 0 else tuple(value)
            pairs[canonical_axis(axis, rank)] = both
        given = pairs if rank else 0
    known = concrete_or_error(given, f"{name} of jnp.pad")
    value = np.asarray(known)
    if value.dtype.kind not in "iu" and value.size:
        raise TypeError(f"`{name}` must be of integral type.")
    try:
        value = np.broadcast_to(value, (rank, 2))
    except ValueError:
        raise ValueError(f"jnp.pad: {name} with {rank=} has unsupported shape {value.shape}. Valid "
                         f"shapes are ({rank}, 2), (1, 2), (2,), (1,), or ().") from None
    return tuple((operator.index(a), operator.index(b)) for a, b in value)


def _value_pairs(values: Any, rank: int) -> Any:
    """Padding values as an array-like of shape (rank, 2)."""
    if isinstance(values, (list, tuple)):
        flat = [v for row in values for v in (row if isinstance(row, (list, tuple)) else [row])]
        if len(values) == 1 and not isinstance(values[0], (list, tuple)):
            return [(values[0], values[0])] * rank
        if not any(isinstance(row, (list, tuple)) for row in values):
            if len(flat) == 2:
                return [tuple(flat)] * rank
            raise ValueError("jnp.pad: values must be a scalar, a pair, or a pair for each axis")
        rows = [tuple(row) if isinstance(row, (list, tuple)) else (row,) for row in values]
        rows = [row * 2 if len(row) == 1 else row for row in rows]
        return rows * rank if len(rows) == 1 else rows
    if shape_of(values) == ():
        return [(values, values)] * rank
    table = broadcast_value(values, (rank, 2))
    return [(table[i, 0], table[i, 1]) for i in range(rank)]


@traced_call(static_argnums=(1, 2, 4, 6))
def _pad(array, pad_width, mode, constant_values, stat_length, end_values, reflect_type):
    if not shape_of(array):
        return array
    if mode == "constant":
        return _pad_constant(array, pad_width, constant_values)
    if mode == "empty":
        return _pad_constant(array, pad_width, 0)
    if mode == "wrap":
        return _pad_wrap(array, pad_width)
    if mode in ("symmetric", "reflect"):
        return _pad_mirror(array, pad_width, mode, reflect_type)
    if mode == "edge":
        return _pad_axes(array, pad_width, _edge_piece)
    if mode == "linear_ramp":
        return _pad_ramp(array, pad_width, end_values)
    return _pad_statistic(array, pad_width, mode, stat_length)


def _pad_constant(array: Any, widths: Any, values: Any) -> Any:
    rank = len(shape_of(array))
    dtype = dtype_of(array)
    if not isinstance(values, (list, tuple)) and shape_of(values) == ():
        config = tuple((a, b, 0) for a, b in widths)
        return lax.pad(array, convert(arraylike("pad", values), dtype), config)
    pairs = _value_pairs(values, rank)
    for i, ((before, after), (low, high)) in enumerate(zip(widths, pairs)):
        for amounts, value in (((before, 0), low), ((0, after), high)):
            check_arraylike("pad", value)
            config = tuple((*amounts, 0) if j == i else (0, 0, 0) for j in range(rank))
            array = lax.pad(array, convert(value, dtype), config)
    return array


def _slice(array: Any, low: int, high: int, axis: int) -> Any:
    return lax.slice_in_dim(array, low, high, axis=axis)


def _join(pieces: list[Any], axis: int) -> Any:
    pieces = [p for p in pieces if shape_of(p)[axis]]
    return lax.concatenate(pieces, axis) if len(pieces) > 1 else pieces[0]


def _repeated(piece: Any, count: int, axis: int) -> Any:
    """A slice of length one repeated along its axis."""
    dims = shape_of(piece)
    wide = dims[:axis + 1] + (count,) + dims[axis + 1:]
    kept = tuple(i for i in range(len(wide)) if i != axis + 1)
    return lax.reshape(lax.broadcast_in_dim(piece, wide, kept),
                       dims[:axis] + (count,) + dims[axis + 1:])


def _pad_axes(array: Any, widths: Any, piece: Callable) -> Any:
    for axis, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        parts = []
        if before:
            parts.append(piece(array, before, axis, True))
        parts.append(array)
        if after:
            parts.append(piece(array, after, axis, False))
        array = lax.concatenate(parts, axis)
    return array


def _edge_piece(array: Any, count: int, axis: int, first: bool) -> Any:
    length = shape_of(array)[axis]
    if length == 0:
        raise ValueError(f"Cannot apply 'edge' padding to empty axis {axis}")
    at = 0 if first else length - 1
    return _repeated(_slice(array, at, at + 1, axis), count, axis)


def _pad_wrap(array: Any, widths: Any) -> Any:
    for axis, (before, after) in enumerate(widths):
        length = shape_of(array)[axis]
        if not before and not after:
            continue
        if length == 0:
            raise ValueError(f"Cannot apply 'wrap' padding to empty axis {axis}")
        pieces = []
        if before % length:
            pieces.append(_slice(array, length - before % length, length, axis))
        pieces += [array] * (before // length + 1 + after // length)
        if after % length:
            pieces.append(_slice(array, 0, after % length, axis))
        array = _join(pieces, axis)
    return array


def _mirror_once(array: Any, edge: Any, before: int, after: int, axis: int, skip: int,
                 odd: bool) -> tuple[Any, int, int]:
    """Mirror as much as the array is long, first in front, then behind."""
    def mirrored(source: Any, count: int, at_front: bool) -> Any:
        length = shape_of(source)[axis]
        low = skip if at_front else length - skip - count
        piece = flip(_slice(source, low, low + count, axis), axis)
        if odd:
            end = _slice(source, 0, 1, axis) if at_front else _slice(source, length - 1, length,
                                                                    axis)
            piece = convert(2, dtype_of(end)) * end - piece
        return piece

    count = min(before, shape_of(array)[axis] - skip)
    if count:
        array = lax.concatenate([mirrored(array, count, True), array], axis)
        before -= count
    count = min(after, shape_of(array)[axis] - skip)
    if count:
        array = lax.concatenate([array, mirrored(array, count, False)], axis)
        after -= count
    return array, before, after


def _pad_mirror(array: Any, widths: Any, mode: str, reflect_type: str) -> Any:
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"unsupported value {reflect_type!r} for reflect_type")
    for axis, (before, after) in enumerate(widths):
        length = shape_of(array)[axis]
        if not before and not after:
            continue
        if length == 0:
            raise ValueError(f"Cannot apply '{mode}' padding to empty axis {axis}")
        skip = 1 if mode == "reflect" else 0
        if length == 1 and skip:
            array = _pad_axes(array, tuple((before, after) if i == axis else (0, 0)
                                           for i in range(len(widths))), _edge_piece)
            continue
        while before or after:
            array, before, after = _mirror_once(array, None, before, after, axis, skip,
                                                reflect_type == "odd")
    return array


def _pad_ramp(array: Any, widths: Any, end_values: Any) -> Any:
    pairs = _value_pairs(end_values, len(shape_of(array)))
    dtype = dtype_of(array)
    for axis, ((before, after), (low, high)) in enumerate(zip(widths, pairs)):
        if not before and not after:
            continue
        length = shape_of(array)[axis]
        pieces = [array]
        if before:
            edge = lax.squeeze(_slice(array, 0, 1, axis), (axis,))
            pieces.insert(0, linspace(convert(low, dtype), edge, before, endpoint=False,
                                      dtype=dtype, axis=axis))
        if after:
            edge = lax.squeeze(_slice(array, length - 1, length, axis), (axis,))
            ramp = linspace(convert(high, dtype), edge, after, endpoint=False, dtype=dtype,
                            axis=axis)
            pieces.append(flip(ramp, axis))
        array = lax.concatenate(pieces, axis)
    return array


def _median(a: Any, axis: int, keepdims: bool) -> Any:
    return median(a, axis=axis, keepdims=keepdims)


_STATISTICS: dict[str, Callable] = {
    "maximum": lambda a, axis: max_of(a, axis=axis, keepdims=True),
    "minimum": lambda a, axis: min_of(a, axis=axis, keepdims=True),
    "mean": lambda a, axis: mean(a, axis=axis, keepdims=True),
    "median": lambda a, axis: median(a, axis=axis, keepdims=True),
}


def _pad_statistic(array: Any, widths: Any, mode: str, stat_length: Any) -> Any:
    statistic = _STATISTICS[mode]
    dtype = dtype_of(array)
    for axis, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        length = shape_of(array)[axis]
        ends = (length, length) if stat_length is None else tuple(
            min(n, length) for n in stat_length[axis])
        values = [statistic(_slice(array, 0, ends[0], axis), axis),
                  statistic(_slice(array, length - ends[1], length, axis), axis)]
        if is_integral(dtype):
            values = [round_(v) for v in values]
        values = [lax.convert_element_type(v, dtype) for v in values]
        array = _join([_repeated(values[0], before, axis), array,
                       _repeated(values[1], after, axis)], axis)
    return array


def _pad_by_function(array: Any, widths: Any, function: Callable, **kwargs: Any) -> Any:
    """NumPy's callable mode; the function returns the padded vector it was given."""
    padded = _pad(array, widths, "constant", 0, None, None, "even")
    rank = len(shape_of(padded))
    for axis in range(rank):
        moved = lax.transpose(padded, (*[i for i in range(rank) if i != axis], axis))
        dims = shape_of(moved)
        rows = lax.reshape(moved, (int(np.prod(dims[:-1])), dims[-1]))
        done = [function(rows[i], widths[axis], axis, kwargs) for i in range(shape_of(rows)[0])]
        stacked = lax.reshape(lax.stack(done, 0), dims)
        order = list(range(rank - 1))
        order.insert(axis, rank - 1)
        padded = lax.transpose(stacked, tuple(order))
    return padded


