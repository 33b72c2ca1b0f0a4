"""NumPy's in-place writers as functions of values: put, put_along_axis.

In: an array, positions and values. Out: a new array (`inplace=False` must be given).
Invariant: nothing is modified.
"""

from __future__ import annotations

import math
import operator

from jitney import lax
from jitney.numpy.arithmetic import clip, remainder
from jitney.numpy.jitted import traced_call
from jitney.numpy.manipulation import ravel
from jitney.numpy.promotion import (
    array_arguments,
    canonical_axis,
    convert,
    dtype_of,
    shape_of,
)


def put(a, ind, v, mode=None, *, inplace=True):
    """With values at positions of the flattened array."""
    if inplace:
        raise ValueError("jax.numpy.put cannot modify arrays in-place, because JAX arrays are "
                         "immutable. Pass inplace=False to instead return an updated array.")
    a, ind, v = array_arguments("put", a, ind, v)
    total = math.prod(shape_of(a))
    index, values = ravel(ind), ravel(v)
    if not total or not shape_of(index)[0] or not shape_of(values)[0]:
        return a
    count = shape_of(index)[0]
    values = lax.slice_in_dim(lax.tile(values, (-(-count // shape_of(values)[0]),)), 0, count,
                              axis=0)
    if mode is None or mode == "clip":
        index = clip(index, -total, total - 1)
    elif mode == "wrap":
        index = remainder(index, total)
    else:
        raise ValueError(f"mode should be one of 'wrap' or 'clip'; got {mode=}")
    placed = ravel(a).at[index].set(convert(values, dtype_of(a)))
    return lax.reshape(placed, shape_of(a))


@traced_call(static_argnames=("axis", "inplace", "mode"))
def put_along_axis(arr, indices, values, axis, inplace=True, *, mode=None):
    """With values at positions along an axis."""
    if inplace:
        raise ValueError("jax.numpy.put_along_axis cannot modify arrays in-place, because JAX "
                         "arrays are immutable. Pass inplace=False to instead return an updated "
                         "array.")
    arr, indices, values = array_arguments("put_along_axis", arr, indices, values)
    whole = shape_of(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = canonical_axis(operator.index(axis), len(shape_of(arr)))
    if len(shape_of(indices)) != len(shape_of(arr)):
        raise ValueError(f"put_along_axis arguments 'arr' and 'indices' must have same ndim. Got "
                         f"{len(shape_of(arr))} and {len(shape_of(indices))}.")
    shape = shape_of(arr)
    key = tuple(indices if i == axis else lax.broadcasted_iota(
        "int32", tuple(n if j == i else 1 for j, n in enumerate(shape)), i)
        for i in range(len(shape)))
    return lax.reshape(arr.at[key].set(convert(values, dtype_of(arr)), mode=mode), whole)
