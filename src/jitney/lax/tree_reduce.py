"""Associative operations on several arrays at once, written with slices: folds and scans.

In: a function combining two tuples of arrays, the arrays, an axis. Out: their fold (the axis
gone) or their running folds. Used by derivative rules, where a value travels with its tangent.
Invariant: depth is logarithmic in the size, and every step is an ordinary primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitney.lax.arithmetic import add
from jitney.lax.joining import concatenate, pad
from jitney.lax.nary import constant
from jitney.lax.shape import full_like, reshape, shape_of
from jitney.lax.slicing import slice_in_dim

Arrays = tuple


def _padded(x, value, axis: int, low: int, high: int, interior: int):
    config = [(0, 0, 0)] * len(shape_of(x))
    config[axis] = (low, high, interior)
    return pad(x, value, config)


def reduce_pairs(combine: Callable[[Arrays, Arrays], Arrays], arrays: Arrays,
                 units: Sequence, axes: Sequence[int]) -> Arrays:
    """Fold along `axes`; `units` are what a fold of no elements gives, as numbers or scalars."""
    arrays = tuple(arrays)
    for axis in axes:
        if shape_of(arrays[0])[axis] == 0:
            arrays = tuple([_units_along(x, u, axis) for x, u in zip(arrays, units, strict=True)])
        else:
            arrays = _fold_axis(combine, arrays, axis)
    shape = shape_of(arrays[0])
    kept = tuple([n for i, n in enumerate(shape) if i not in axes])
    return tuple([reshape(x, kept) for x in arrays])


def _units_along(x, unit, axis: int):
    shape = list(shape_of(x))
    shape[axis] = 1
    return full_like(x, unit, shape=tuple(shape))


def _fold_axis(combine, arrays: Arrays, axis: int) -> Arrays:
    """Fold one axis to size 1 by halving; of an odd number, the last one waits."""
    size = shape_of(arrays[0])[axis]
    while size > 1:
        half = size // 2
        left = tuple([slice_in_dim(x, 0, half, axis=axis) for x in arrays])
        right = tuple([slice_in_dim(x, half, 2 * half, axis=axis) for x in arrays])
        folded = tuple(combine(left, right))
        if size % 2:
            last = [slice_in_dim(x, 2 * half, size, axis=axis) for x in arrays]
            folded = tuple([concatenate([f, x], axis) for f, x in zip(folded, last, strict=True)])
        arrays, size = folded, half + size % 2
    return arrays


def scan_pairs(combine: Callable[[Arrays, Arrays], Arrays], arrays: Arrays, axis: int) -> Arrays:
    """Running folds along an axis: place i holds the fold of elements 0 … i."""
    size = shape_of(arrays[0])[axis]
    if size < 2:
        return tuple(arrays)
    even = tuple([slice_in_dim(x, 0, size - 1, 2, axis) for x in arrays])
    odd = tuple([slice_in_dim(x, 1, size, 2, axis) for x in arrays])
    odd_results = scan_pairs(combine, tuple(combine(even, odd)), axis)
    rest = tuple([slice_in_dim(x, 2, size, 2, axis) for x in arrays])
    before = odd_results
    if size % 2 == 0:
        before = tuple([slice_in_dim(x, 0, shape_of(x)[axis] - 1, 1, axis) for x in odd_results])
    first = tuple([slice_in_dim(x, 0, 1, 1, axis) for x in arrays])
    even_results = first
    if size > 2:
        even_results = tuple([concatenate([f, r], axis) for f, r in
                              zip(first, combine(before, rest), strict=True)])
    return tuple([_interleaved(e, o, axis, size)
                  for e, o in zip(even_results, odd_results, strict=True)])


def _interleaved(even, odd, axis: int, size: int):
    """Elements of `even` and `odd` by turns."""
    zero = constant(even, 0)
    last_is_even = size % 2
    return add(_padded(even, zero, axis, 0, 1 - last_is_even, 1),
               _padded(odd, zero, axis, 1, last_is_even, 1))
