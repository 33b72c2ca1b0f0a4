"""Eager calls of native routines whose results have sizes that only the values tell.

In: arrays that are there (no tracers). Out: arrays, written once, in memory of our own: what NumPy
would return has other integers and lies in fresh pages. Routines: csrc/routines/README.md.
Invariant: results do not depend on the number of threads: pieces are cut by sizes alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney import _native
from jitney.api.placed import any_placed
from jitney.base import config
from jitney.core.avals import Array, ShapedArray
from jitney.numpy.jitted import is_eager

BLOCK = 1 << 14                 # elements of a mask that one piece looks at
PARALLEL = 1 << 16              # fewer elements are not worth a second thread
_SIZES = (1, 2, 4, 8, 16)       # bytes of elements that are moved as one
_MOST_AXES = 64


def can_run(*arrays: Any) -> bool:
    """Whether these are arrays that routines can read now, on no device in particular."""
    return (is_eager(*arrays) and all([type(a) is Array for a in arrays])
            and not any_placed(arrays) and not config.no_execution.value
            and all([isinstance(a.dtype, np.dtype) for a in arrays]))


def run(name: str, arrays: Sequence, results: Sequence, params: tuple, extent: int,
        grain: int = 0) -> list:
    """The results, (shape, dtype) each, of one routine."""
    avals = tuple([ShapedArray(shape, dtype) for shape, dtype in results])
    return _native.run_routine(name, tuple(arrays), avals, params, extent, grain)


# --- masks ----------------------------------------------------------------------------------------


def _starts(mask: Any) -> tuple[int, int, Any]:
    """(blocks, true elements, where the results of each block begin) of a mask."""
    n = mask.size
    blocks = -(-n // BLOCK)
    counts, = run("true_counts", [mask], [((blocks,), np.dtype(np.int64))], (n, BLOCK), blocks,
                  _grain(blocks))
    starts = np.zeros(blocks + 1, np.int64)
    np.cumsum(_native.numpy_view(counts), out=starts[1:])
    return blocks, int(starts[-1]), from_numpy_wide(starts)


def _grain(blocks: int) -> int:
    return blocks if blocks * BLOCK <= PARALLEL else max(1, -(-blocks // 16))


def from_numpy_wide(values: np.ndarray) -> Any:
    """An array of 64-bit integers, whether or not users may have such."""
    return _native.array_from_numpy(values, ShapedArray(values.shape, np.dtype(np.int64)))


def positions(mask: Any, dtype: np.dtype) -> tuple | None:
    """Positions of the true elements of a mask, one array for each axis."""
    dims = mask.shape
    if not can_run(mask) or not 0 < len(dims) <= _MOST_AXES:
        return None
    blocks, count, starts = _starts(mask)
    return tuple(run(f"positions_i{8 * dtype.itemsize}", [mask, starts],
                     [((count,), dtype)] * len(dims), (mask.size, BLOCK, len(dims), *dims),
                     blocks if count else 0, _grain(blocks)))


def compressed(mask: Any, x: Any) -> Any:
    """Rows of x (along its first axis) at which the mask, of that length, holds; or None."""
    if not can_run(mask, x):
        return None
    blocks, count, starts = _starts(mask)
    row = math.prod(x.shape[1:]) * x.dtype.itemsize
    size = row if row in _SIZES else 0
    result, = run(f"compress_b{size}", [mask, starts, x], [((count, *x.shape[1:]), x.dtype)],
                  (mask.size, BLOCK, row), blocks if count and row else 0, _grain(blocks))
    return result


def placed(x: Any, mask: Any, values: Any) -> Any:
    """x with values, repeated, at the true elements of a mask of its size; or None."""
    if not can_run(x, mask, values) or x.dtype.itemsize not in _SIZES or not values.size:
        return None
    blocks, _, starts = _starts(mask)
    result, = run(f"place_b{x.dtype.itemsize}", [x, mask, starts, values], [(x.shape, x.dtype)],
                  (x.size, BLOCK, values.size), blocks, _grain(blocks))
    return result


# --- repetitions ----------------------------------------------------------------------------------


def repeated(x: Any, counts: np.ndarray) -> Any:
    """Rows of x (along its first axis), each as often as its count says; or None."""
    if not can_run(x) or counts.dtype.kind not in "iu" or (counts.size and counts.min() < 0):
        return None
    n = x.shape[0]
    ends, = run("cumsum_i64", [from_numpy_wide(counts.astype(np.int64))],
                [((n,), np.dtype(np.int64))], (n, 1, 0, 1, 0), 1)
    total = int(_native.numpy_view(ends)[-1]) if n else 0
    row = math.prod(x.shape[1:]) * x.dtype.itemsize
    size = row if row in _SIZES else 0
    grain = n if n <= PARALLEL else max(1, -(-n // 16))
    result, = run(f"repeat_b{size}", [x, ends], [((total, *x.shape[1:]), x.dtype)], (n, row),
                  n if total and row else 0, grain)
    return result


# --- bits -----------------------------------------------------------------------------------------


def packed_bits(bits: Any, axis: int, big: bool) -> Any:
    """Elements of one byte (true unless 0) along an axis as bits of bytes; or None."""
    if not can_run(bits):
        return None
    dims = bits.shape
    n, inner = dims[axis], math.prod(dims[axis + 1:])
    shape = (*dims[:axis], -(-n // 8), *dims[axis + 1:])
    return _by_rows("packbits", bits, shape, (n, inner, int(big)), math.prod(shape[:axis + 1]))


def unpacked_bits(data: Any, axis: int, big: bool, length: int) -> Any:
    """The first `length` bits of bytes along an axis, zeros where there are no more; or None."""
    if not can_run(data):
        return None
    dims = data.shape
    n, inner = dims[axis], math.prod(dims[axis + 1:])
    shape = (*dims[:axis], length, *dims[axis + 1:])
    lines = math.prod(dims[:axis]) * (-(-length // 8) if inner == 1 else length)
    return _by_rows("unpackbits", data, shape, (n, inner, int(big), length), lines)


def _by_rows(name: str, x: Any, shape: tuple, params: tuple, extent: int) -> Any:
    size = math.prod(shape)
    grain = extent if x.size + size <= PARALLEL else max(1, -(-extent // 16))
    return run(name, [x], [(shape, np.dtype(np.uint8))], params, extent if size else 0, grain)[0]


# --- triangles ------------------------------------------------------------------------------------


def triangle(n: int, m: int, k: int, upper: bool, dtype: np.dtype) -> tuple:
    """Rows and columns of the elements of a triangle of an [n, m] matrix."""
    diagonal = np.clip(np.arange(n) + (k if upper else k + 1), 0, m)
    count = int((m - diagonal).sum() if upper else diagonal.sum())
    return tuple(run(f"triangle_i{8 * dtype.itemsize}", [], [((count,), dtype)] * 2,
                     (n, m, k, int(upper)), n if count else 0, n if count <= PARALLEL else
                     max(1, -(-n // 16))))
