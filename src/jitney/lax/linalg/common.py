"""What the primitives of linear algebra share: types, batching, and a few functions of matrices.

In: arrays [..., m, n] whose leading axes are a batch of matrices. Out: likewise.
Invariant: every primitive takes leading batch axes itself, so that batching only moves axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.primitive import Primitive
from jitney.lax import compare
from jitney.lax.arithmetic import add
from jitney.lax.complex_parts import conj
from jitney.lax.dot import dot_general
from jitney.lax.gather import GatherDimensionNumbers, GatherScatterMode, gather
from jitney.lax.precision import Precision
from jitney.lax.select import select
from jitney.lax.shape import broadcasted_iota, expand_dims, full, shape_of, transpose
from jitney.transforms.vmap import at_front, batch_size, define_batch

INEXACT_TEXT = "floating, complexfloating"
_COMPUTED = ("float32", "float64", "complex64", "complex128")

# --- types -----------------------------------------------------------------------------------


def require_inexact(name: str, x: ShapedArray, position: int = 0) -> None:
    """TypeError unless the dtype is floating or complex."""
    if not (dtypes.is_floating(x.dtype) or dtypes.is_complex(x.dtype)):
        raise TypeError(f"{name} does not accept dtype {x.dtype} at position {position}. Accepted "
                        f"dtypes at position {position} are subtypes of {INEXACT_TEXT}.")


def require_rank(name: str, x: ShapedArray, rank: int, position: int = 0) -> None:
    if len(x.shape) < rank:
        raise TypeError(f"Input {position} to {name} must have rank at least {rank}, but got "
                        f"shape={x.shape}")


def require_lapack_dtype(name: str, x: ShapedArray) -> None:
    """NotImplementedError for the small floats, in which LAPACK does not compute."""
    if x.dtype.name not in _COMPUTED:
        raise NotImplementedError(f"Unsupported dtype {x.dtype}. {name} computes in "
                                  f"{', '.join(_COMPUTED)}: convert the operand, for example with "
                                  "x.astype('float32').")


def matrix_type(name: str, x: ShapedArray, *, square: bool = False, position: int = 0,
                by_lapack: bool = True) -> None:
    """The checks of an operand that is a batch of matrices."""
    require_inexact(name, x, position)
    require_rank(name, x, 2, position)
    if square and x.shape[-1] != x.shape[-2]:
        which = "input" if position == 0 else f"input {position}"
        raise ValueError(f"The {which} to {name} must be a square matrix. Got shape {x.shape}.")
    if by_lapack:
        require_lapack_dtype(name, x)


def array_type(shape: Sequence[int], dtype: Any) -> ShapedArray:
    return ShapedArray(tuple(shape), np.dtype(dtype))


def real_dtype(dtype: Any) -> np.dtype:
    """The dtype of a complex dtype's parts; any other unchanged."""
    return np.empty(0, dtype).real.dtype


def complex_dtype(dtype: Any) -> np.dtype:
    return np.dtype(np.complex64 if dtype in (np.float32, np.complex64) else np.complex128)


# --- batching --------------------------------------------------------------------------------


def batch_leading(primitive: Primitive) -> None:
    """The new batch axis goes in front of the primitive's own batch axes."""

    def rule(args, dims, **params):
        size = batch_size(args, dims)
        out = primitive.bind(*[at_front(a, d, size) for a, d in zip(args, dims)], **params)
        return out, [0] * len(out) if primitive.multiple_results else 0

    define_batch(primitive, rule)


# --- functions of matrices -------------------------------------------------------------------


def is_complex(x: Any) -> bool:
    return dtypes.is_complex(get_aval(x).dtype)


def swap_last(x: Any) -> Any:
    """The transposed matrices."""
    rank = len(shape_of(x))
    return transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def adjoint(x: Any) -> Any:
    """The conjugate transposes."""
    return swap_last(conj(x) if is_complex(x) else x)


def product(a: Any, b: Any) -> Any:
    """Matrix product of two batches of one shape, in full precision."""
    rank = len(shape_of(a))
    batch = tuple(range(rank - 2))
    return dot_general(a, b, (((rank - 1,), (rank - 2,)), (batch, batch)),
                       precision=Precision.HIGHEST)


def _index_dtype() -> Any:
    return dtypes.canonicalize_dtype(np.int64)


def triangle_mask(shape: Sequence[int], k: int = 0) -> Any:
    """True on and below diagonal k of matrices of this shape."""
    row = broadcasted_iota(_index_dtype(), shape, len(shape) - 2)
    moved = add(row, np.dtype(_index_dtype()).type(k))
    return compare.ge(moved, broadcasted_iota(_index_dtype(), shape, len(shape) - 1))


def tril(x: Any, k: int = 0) -> Any:
    """Zeros above diagonal k."""
    shape = shape_of(x)
    mask = triangle_mask(shape, k)
    return select(mask, x, full(shape, 0, get_aval(x).dtype))


def triu(x: Any, k: int = 0) -> Any:
    """Zeros below diagonal k."""
    shape = shape_of(x)
    mask = triangle_mask(shape, k - 1)
    return select(mask, full(shape, 0, get_aval(x).dtype), x)


def diagonal_of(x: Any) -> Any:
    """[..., m, n] -> [..., min(m, n)]."""
    shape = shape_of(x)
    rank, n = len(shape), min(shape[-2:])
    if 0 in shape:
        return full((*shape[:-2], n), 0, get_aval(x).dtype)
    position = broadcasted_iota(_index_dtype(), (*shape[:-2], n), rank - 2)
    numbers = GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(rank - 1,), start_index_map=(rank - 1,),
        operand_batching_dims=tuple(range(rank - 1)),
        start_indices_batching_dims=tuple(range(rank - 1)))
    return gather(x, expand_dims(position, (rank - 1,)), numbers, (1,) * rank,
                  mode=GatherScatterMode.PROMISE_IN_BOUNDS)


def take_rows(x: Any, rows: Any) -> Any:
    """out[..., i, :] = x[..., rows[..., i], :]."""
    shape = shape_of(x)
    rank = len(shape)
    batch = tuple(range(rank - 2))
    numbers = GatherDimensionNumbers(
        offset_dims=(rank - 1,), collapsed_slice_dims=(rank - 2,), start_index_map=(rank - 2,),
        operand_batching_dims=batch, start_indices_batching_dims=batch)
    sizes = (*(1,) * (rank - 1), shape[-1])
    return gather(x, expand_dims(rows, (rank - 1,)), numbers, sizes,
                  mode=GatherScatterMode.PROMISE_IN_BOUNDS)


def identity_like(x: Any, rows: int, columns: int | None = None) -> Any:
    """Identity matrices of the batch shape and dtype of x."""
    columns = rows if columns is None else columns
    shape = (*shape_of(x)[:-2], rows, columns)
    dtype = get_aval(x).dtype
    row = broadcasted_iota(np.int32, shape, len(shape) - 2)
    column = broadcasted_iota(np.int32, shape, len(shape) - 1)
    return select(compare.eq(row, column), full(shape, 1, dtype), full(shape, 0, dtype))


# --- references ------------------------------------------------------------------------------


def over_batch(function: Callable, operands: Sequence[np.ndarray], ranks: Sequence[int],
               results: Sequence[tuple[tuple[int, ...], Any]]) -> list[np.ndarray]:
    """`function` of each batch element's arrays; the last `ranks[i]` axes of operand i are its own.

    `results` are the shapes (without batch) and dtypes. An element for which NumPy or SciPy finds
    no solution becomes NaN.
    """
    first, rank = operands[0], ranks[0]
    batch = first.shape[: first.ndim - rank]
    out = [np.empty(batch + shape, dtype) for shape, dtype in results]
    for place in np.ndindex(*batch):
        try:
            values = function(*[x[place] for x in operands])
            values = values if isinstance(values, (tuple, list)) else (values,)
        except (np.linalg.LinAlgError, ValueError):
            values = [np.nan if o.dtype.kind in "fc" else 0 for o in out]
        for whole, value in zip(out, values, strict=True):
            whole[place] = value
    return out
