"""Sorting and selection of the greatest: sort, sort_key_val, top_k, approx_max_k, approx_min_k.

In: arrays of one shape and an axis. Out: the arrays in the order of the first ones; or the
greatest elements and their positions.
Invariant: order is ascending, NaN last, -0 = +0 (top_k alone puts +0 above -0); sorting is stable.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import ShapedArray
from jitney.core.primitive import Primitive
from jitney.lax.compare import total_order_key
from jitney.lax.gather import GatherDimensionNumbers, GatherScatterMode, gather
from jitney.lax.shape import broadcasted_iota, canonical_axis, expand_dims, shape_of
from jitney.transforms.jvp import Zero, define_jvp, is_zero
from jitney.transforms.vmap import batch_size, broadcast_batch, define_batch, move_dimension

# --- sort ------------------------------------------------------------------------------------


def sort(operand, dimension: int = -1, is_stable: bool = True, num_keys: int = 1):
    """The operand sorted along an axis; several operands by the first `num_keys` of them.

    >>> sort(np.array([3, 1, 2])).tolist()
    [1, 2, 3]
    """
    if not isinstance(operand, (tuple, list)):
        axis = canonical_axis(dimension, len(shape_of(operand)))
        return sort_p.bind(operand, dimension=axis, is_stable=bool(is_stable), num_keys=1)[0]
    if not operand:
        raise TypeError("Sort requires at least one operand")
    if not 1 <= num_keys <= len(operand):
        raise ValueError(f"{num_keys=} must be between 1 and len(operand)={len(operand)}")
    axis = canonical_axis(dimension, len(shape_of(operand[0])))
    return tuple(sort_p.bind(*operand, dimension=axis, is_stable=bool(is_stable),
                             num_keys=operator.index(num_keys)))


def sort_key_val(keys, values, dimension: int = -1, is_stable: bool = True):
    """Keys sorted along an axis, and values in the same order."""
    axis = canonical_axis(dimension, len(shape_of(keys)))
    keys, values = sort_p.bind(keys, values, dimension=axis, is_stable=bool(is_stable), num_keys=1)
    return keys, values


sort_p = Primitive("sort", multiple_results=True, kind="sort")


@sort_p.def_abstract
def _sort_type(*operands, dimension, is_stable, num_keys):
    shape = operands[0].shape
    if any(o.shape != shape for o in operands):
        raise TypeError("Arguments to sort must have equal shapes, got: "
                        f"{' '.join(str(o.shape) for o in operands)}")
    if not 0 <= dimension < len(shape):
        raise ValueError(f"axis {dimension} is out of bounds for array of dimension {len(shape)}")
    for key in operands[:num_keys]:
        if dtypes.is_extended(key.dtype):
            raise TypeError(f"sort does not accept dtype {key.dtype} for a key. Accepted dtypes "
                            "are subtypes of integer, floating, complexfloating, bool.")
    return [ShapedArray(o.shape, o.dtype, o.weak_type) for o in operands]


def _sort_columns(x: np.ndarray) -> list[np.ndarray]:
    """Columns NumPy can compare, most significant first."""
    if dtypes.is_complex(x.dtype):
        return [x.real, x.imag]
    if x.dtype.kind not in "biuf":
        return [x.astype(np.int32 if dtypes.is_integer(x.dtype) else np.float32)]
    return [x]


@sort_p.def_reference
def _sort_reference(*operands, dimension, is_stable, num_keys):
    columns = [c for key in operands[:num_keys] for c in _sort_columns(key)]
    if len(columns) == 1:
        order = np.argsort(columns[0], axis=dimension, kind="stable")
    else:
        order = np.lexsort(columns[::-1], axis=dimension)
    return [np.take_along_axis(o, order, dimension) for o in operands]


def take_along(x: Any, positions: Any, axis: int) -> Any:
    """Elements of `x` at `positions` along an axis; the other axes go together."""
    others = tuple([i for i in range(len(shape_of(x))) if i != axis])
    numbers = GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(axis,), start_index_map=(axis,),
        operand_batching_dims=others, start_indices_batching_dims=others)
    return gather(x, expand_dims(positions, (len(shape_of(positions)),)), numbers,
                  slice_sizes=(1,) * len(shape_of(x)), mode=GatherScatterMode.PROMISE_IN_BOUNDS)


def _sort_jvp(primals, tangents, *, dimension, is_stable, num_keys):
    # The tangents follow their primals: sort positions as well, and gather.
    params = dict(dimension=dimension, is_stable=is_stable, num_keys=num_keys)
    if all(is_zero(t) for t in tangents):
        outs = sort_p.bind(*primals, **params)
        return outs, [Zero.from_primal_value(o) for o in outs]
    shape = shape_of(primals[0])
    index_type = np.uint32 if shape[dimension] < 2**32 else np.uint64
    places = broadcasted_iota(index_type, shape, dimension)
    *outs, order = sort_p.bind(*primals, places, **params)
    return outs, [Zero.from_primal_value(o) if is_zero(t) else take_along(t, order, dimension)
                  for o, t in zip(outs, tangents, strict=True)]


def _sort_batch(args, dims, *, dimension, is_stable, num_keys):
    size = batch_size(args, dims)
    dim = next(d for d in dims if d is not None)
    moved = [broadcast_batch(a, size, dim) if d is None else move_dimension(a, d, dim)
             for a, d in zip(args, dims, strict=True)]
    outs = sort_p.bind(*moved, dimension=dimension + (dimension >= dim), is_stable=is_stable,
                       num_keys=num_keys)
    return outs, [dim] * len(outs)


define_jvp(sort_p, _sort_jvp)
define_batch(sort_p, _sort_batch)

# --- top_k -----------------------------------------------------------------------------------


def top_k(operand, k: int, *, axis: int = -1):
    """The k greatest elements along an axis, greatest first, and their positions (int32).

    NaN counts as greatest; of equal elements the first comes first.
    """
    k = operator.index(k)
    if k < 0:
        raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
    axis = canonical_axis(axis, len(shape_of(operand)))
    return top_k_p.bind(operand, k=k, axis=axis)


top_k_p = Primitive("top_k", multiple_results=True, kind="sort")


@top_k_p.def_abstract
def _top_k_type(operand, *, k, axis):
    shape = operand.shape
    if dtypes.is_extended(operand.dtype) or dtypes.is_complex(operand.dtype):
        kind = "complex" if not dtypes.is_extended(operand.dtype) else str(operand.dtype)
        raise ValueError(f"top_k is not compatible with {kind} inputs.")
    if not shape:
        raise TypeError("top_k operand must have >= 1 dimension, got ()")
    if shape[axis] < k:
        raise ValueError("k argument to top_k must be no larger than size along axis; got "
                         f"{k=} with shape={list(shape)} and {axis=}")
    out = (*shape[:axis], k, *shape[axis + 1:])
    return [ShapedArray(out, operand.dtype, operand.weak_type), ShapedArray(out, np.int32)]


def _greatest(x: np.ndarray, k: int, axis: int) -> list[np.ndarray]:
    key = total_order_key(x)
    if dtypes.is_floating(x.dtype):
        key = np.where(np.isnan(x.astype(np.float64)), np.iinfo(key.dtype).max, key)
    order = np.argsort(~key, axis=axis, kind="stable")      # ~ reverses the order of integers
    order = np.take(order, range(k), axis)
    return [np.take_along_axis(x, order, axis), order.astype(np.int32)]


@top_k_p.def_reference
def _top_k_reference(operand, *, k, axis):
    return _greatest(operand, k, axis)


def _selection_jvp(primitive: Primitive, axis_of):
    def rule(primals, tangents, **params):
        (x,), (t,) = primals, tangents
        values, positions = primitive.bind(x, **params)
        no_tangent = Zero.from_primal_value(positions)
        if is_zero(t):
            return [values, positions], [Zero.from_primal_value(values), no_tangent]
        axis = axis_of(params) % len(shape_of(x))
        return [values, positions], [take_along(t, positions, axis), no_tangent]

    define_jvp(primitive, rule)


def _top_k_batch(args, dims, *, k, axis):
    (x,), (dim,) = args, dims
    return top_k_p.bind(x, k=k, axis=axis + (axis >= dim)), [dim, dim]


_selection_jvp(top_k_p, lambda params: params["axis"])
define_batch(top_k_p, _top_k_batch)

# --- approx_max_k, approx_min_k ----------------------------------------------------------------


def approx_max_k(operand, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True):
    """The k greatest elements and their positions; here always the exact ones."""
    return approx_top_k_p.bind(
        operand, k=operator.index(k), reduction_dimension=operator.index(reduction_dimension),
        recall_target=recall_target, is_max_k=True, aggregate_to_topk=bool(aggregate_to_topk),
        reduction_input_size_override=reduction_input_size_override)


def approx_min_k(operand, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True):
    """The k least elements and their positions; here always the exact ones."""
    return approx_top_k_p.bind(
        operand, k=operator.index(k), reduction_dimension=operator.index(reduction_dimension),
        recall_target=recall_target, is_max_k=False, aggregate_to_topk=bool(aggregate_to_topk),
        reduction_input_size_override=reduction_input_size_override)


approx_top_k_p = Primitive("approx_top_k", multiple_results=True, kind="sort")


@approx_top_k_p.def_abstract
def _approx_top_k_type(operand, *, k, reduction_dimension, recall_target, is_max_k,
                       reduction_input_size_override, aggregate_to_topk):
    shape = list(operand.shape)
    if k <= 0:
        raise ValueError(f"k must be positive, got {k}")
    if not shape:
        raise TypeError(f"approx_top_k operand must have >= 1 dimension, got {tuple(shape)}")
    axis = canonical_axis(reduction_dimension, len(shape))
    if shape[axis] < k:
        raise ValueError("k must be smaller than the size of reduction_dim "
                         f"{shape[axis]}, got {k}")
    if not dtypes.is_floating(operand.dtype):
        raise ValueError(f"operand must be a floating type, got {operand.dtype}")
    if not 0.0 < recall_target <= 1.0:
        raise ValueError(f"recall_target must be in (0, 1], got {recall_target}")
    if aggregate_to_topk:
        shape[axis] = k
    return [ShapedArray(tuple(shape), operand.dtype, operand.weak_type),
            ShapedArray(tuple(shape), np.int32)]


@approx_top_k_p.def_reference
def _approx_top_k_reference(operand, *, k, reduction_dimension, is_max_k, aggregate_to_topk,
                            **params):
    axis = reduction_dimension % operand.ndim
    count = k if aggregate_to_topk else operand.shape[axis]
    signed = operand if is_max_k else -operand
    values, positions = _greatest(signed, count, axis)
    return [values if is_max_k else -values, positions]


def _approx_top_k_batch(args, dims, *, reduction_dimension, **params):
    (x,), (dim,) = args, dims
    axis = reduction_dimension % (len(shape_of(x)) - 1)
    outs = approx_top_k_p.bind(x, reduction_dimension=axis + (axis >= dim), **params)
    return outs, [dim, dim]


_selection_jvp(approx_top_k_p, lambda params: params["reduction_dimension"])
define_batch(approx_top_k_p, _approx_top_k_batch)

__all__ = [
    "approx_max_k", "approx_min_k", "approx_top_k_p", "sort", "sort_key_val", "sort_p", "top_k",
    "top_k_p",
]
