"""Positions in a flattened array and positions along each axis: each from the other.

In: integer positions and the shape they are in. Out: positions of the type that went in.
Invariant: what is computed in between has a signed type (or uint64) that can hold it.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.numpy.arithmetic import clip, floor_divide, remainder
from jitney.numpy.jitted import one_program
from jitney.numpy.promotion import (
    array_arguments,
    as_value,
    check_arraylike,
    concrete_or_error,
    convert,
    dtype_of,
)
from jitney.numpy.ufuncs import is_integral
from jitney.numpy.where import where_value


def unravel_index(indices, shape):
    """Positions in an array of the given shape, from positions in the flattened one."""
    indices = array_arguments("unravel_index", indices)
    return _unravelled(indices, tuple(
        operator.index(n) for n in (shape if np.ndim(shape) else (shape,))))


@one_program(static_argnums=(1,))
def _unravelled(indices: Any, dims: tuple[int, ...]) -> Any:
    total, given = math.prod(dims), dtype_of(indices)
    held = _able_to_hold(indices, total)
    widened = held is not indices
    indices = clip(held, -total, max(total - 1, 0))
    indices = where_value(indices < 0, indices + total, indices)
    found = []
    for n in reversed(dims):
        found.append(remainder(indices, max(n, 1)))
        indices = floor_divide(indices, max(n, 1))
    if widened:
        found = [lax.convert_element_type(part, given) for part in found]
    return tuple(reversed(found))


def _able_to_hold(indices: Any, total: int) -> Any:
    """The indices in a signed type that has -total as well; larger ones than total are cut."""
    if dtype_of(indices).kind not in "iu":
        return indices
    limits = dtypes.iinfo(dtype_of(indices))
    if limits.min < 0 and total <= limits.max:
        return indices
    if limits.min == 0:
        indices = clip(indices, 0, min(total, limits.max))
    return lax.convert_element_type(indices, dtypes.canonicalize_dtype(np.int64))


def ravel_multi_index(multi_index, dims, mode="raise", order="C", *, dtype=None):
    """Positions in the flattened array, from positions along each axis.

    They have `dtype`, or the type the indices combine to: ValueError where it cannot hold them.
    """
    sizes = tuple(operator.index(n) for n in dims)
    if len(multi_index) != len(sizes):
        raise ValueError(f"len(multi_index)={len(multi_index)} != len(dims)={len(sizes)}")
    check_arraylike("ravel_multi_index", *multi_index)
    parts = [as_value(i) for i in multi_index]
    wanted = _flat_dtype(parts, sizes, dtype)
    for part in parts:
        if dtype_of(part) == np.bool_ or not is_integral(dtype_of(part)):
            raise TypeError("only int indices permitted")
    if order not in ("C", "F"):
        raise ValueError(f"invalid order={order!r}. Expected 'C' or 'F'")
    # Of 128 elements an int8 has all positions, but not the length itself.
    widest = dtypes.canonicalize_dtype(np.int64)
    computing = widest if wanted.itemsize < widest.itemsize else wanted
    parts = [_inside(part, n, mode, computing) for part, n in zip(parts, sizes, strict=True)]
    result: Any = np.zeros((), computing)[()]
    for i, part in enumerate(parts):
        stride = math.prod(sizes[:i] if order == "F" else sizes[i + 1:])
        result = part * _scalar(stride, computing) + result
    return as_value(convert(result, wanted))


def _flat_dtype(parts: list, sizes: tuple[int, ...], dtype: Any) -> np.dtype:
    """The type of positions in an array of these sizes."""
    if dtype is None:
        dtype = dtypes.result_type(*parts) if parts else np.int64
    wanted = dtypes.canonicalize_dtype(dtype)
    if not is_integral(wanted):
        raise ValueError(f"ravel_multi_index: dtype={wanted!r} is not an integer type.")
    if math.prod(sizes) - 1 > dtypes.iinfo(wanted).max:
        raise ValueError(f"ravel_multi_index: dtype={wanted!r} not large enough to hold flattened "
                         f"index for dims={sizes}. Use the dtype argument to pass a larger one.")
    return wanted


def _inside(part: Any, n: int, mode: str, computing: np.dtype) -> Any:
    """Positions within [0, n), in the computing type."""
    if mode == "raise":
        known = np.asarray(concrete_or_error(
            part, "The error occurred because ravel_multi_index was jit-compiled with "
            "mode='raise'. Use mode='wrap' or mode='clip' instead."))
        if ((known < 0) | (known >= n)).any():
            raise ValueError("invalid entry in coordinates array")
        return convert(part, computing)
    part = convert(part, computing)
    if mode == "clip":
        return clip(part, 0, n - 1)
    if mode == "wrap":
        return remainder(part, n)
    raise ValueError(f"invalid mode={mode!r}. Expected 'raise', 'wrap', or 'clip'")


def _scalar(n: int, dtype: np.dtype) -> Any:
    """A stride, which is beyond the type only where there are no positions."""
    return np.asarray(min(n, dtypes.iinfo(dtype).max), dtype)[()]
