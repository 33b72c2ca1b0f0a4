"""gather: reading many windows of an array at positions given by an integer array.

In: an operand, start indices of shape `(*batch, k)`, and `GatherDimensionNumbers` that say which
operand axis each of the k components indexes. Out: one window for each batch position.
Invariant: what happens outside the array is the mode's to say: clamp, fill, or (promised never
to happen, and then) clamp.

    table[rows]  =  gather(table, rows[:, None], offset_dims=(1,), collapsed_slice_dims=(0,),
                           start_index_map=(0,), slice_sizes=(1, table.shape[1]))
Read next: scatter.py, its mirror image.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import Array, ShapedArray, get_aval
from jitney.core.primitive import Primitive, named
from jitney.lax.joining import concatenate
from jitney.lax.shape import broadcast_in_dim, canonical_shape, expand_dims, full, shape_of
from jitney.lax.slicing import batched_box_read, dynamic_slice_p
from jitney.transforms.jvp import Zero, define_jvp
from jitney.transforms.vmap import batch_size, define_batch, move_dimension


class GatherDimensionNumbers(NamedTuple):
    """How operand, indices and result of a gather correspond.

    offset_dims: axes of the result that run inside a window. collapsed_slice_dims: operand axes
    (window size 1) absent from the result. start_index_map: the operand axis each component of
    an index refers to. operand_batching_dims, start_indices_batching_dims: axes of operand and
    indices that advance together.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class GatherScatterMode(enum.Enum):
    """What to do with indices outside the array."""

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    @staticmethod
    def from_any(s: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode a name means; None is FILL_OR_DROP."""
        if isinstance(s, GatherScatterMode):
            return s
        found = _MODES.get(s)
        if found is None:
            raise ValueError(f'Unknown gather mode "{s}"; use "clip", "fill", "drop" or '
                             '"promise_in_bounds"')
        return found


_MODES = {
    None: GatherScatterMode.FILL_OR_DROP, "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP, "clip": GatherScatterMode.CLIP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS, "one_hot": GatherScatterMode.ONE_HOT,
}
_CLIP, _FILL = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP
_PROMISE = GatherScatterMode.PROMISE_IN_BOUNDS


def gather(operand, start_indices, dimension_numbers: GatherDimensionNumbers,
           slice_sizes: Sequence[int], *, unique_indices: bool = False,
           indices_are_sorted: bool = False, mode: str | GatherScatterMode | None = None,
           fill_value=None):
    """Windows of `operand` of size `slice_sizes` at `start_indices`."""
    mode = _PROMISE if mode is None else GatherScatterMode.from_any(mode)
    if mode is not _FILL:
        fill_value = None
    elif fill_value is None:
        fill_value = default_fill(get_aval(operand).dtype)
    elif isinstance(fill_value, (Array, np.generic, np.ndarray)):
        fill_value = np.asarray(fill_value).item()
    return gather_p.bind(
        operand, start_indices, dimension_numbers=canonical_gather(dimension_numbers),
        slice_sizes=canonical_shape(slice_sizes), indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices), mode=mode, fill_value=fill_value)


def canonical_gather(numbers: GatherDimensionNumbers) -> GatherDimensionNumbers:
    """The same numbers with tuples of Python integers, hashable and printable."""
    return GatherDimensionNumbers(*map(canonical_shape, numbers))


def default_fill(dtype: Any) -> Any:
    """What is read outside an array: NaN, the least integer, the greatest unsigned one, True."""
    if dtypes.is_inexact(dtype):
        return np.nan
    if dtype == np.bool_:
        return True
    if not dtypes.is_integer(dtype):
        raise ValueError(f"gather has no default fill value for dtype {dtype}; give fill_value")
    info = dtypes.iinfo(dtype)
    return int(info.min) if dtypes.issubdtype(dtype, np.signedinteger) else int(info.max)


gather_p = Primitive("gather")

# --- type ------------------------------------------------------------------------------------


def check_dims(op: str, name: str, dims: Sequence[int], bound: int, is_sorted: bool = True):
    """Distinct, in range, and (unless said otherwise) increasing."""
    for a, b in zip(dims, dims[1:], strict=False):
        if is_sorted and b < a:
            raise TypeError(f"{name} in {op} op must be sorted; got {tuple(dims)}")
    if len(set(dims)) != len(dims):
        raise TypeError(f"{name} in {op} op must not repeat; got: {tuple(dims)}.")
    for d in dims:
        if not 0 <= d < bound:
            raise TypeError(f"Invalid {name} set in {op} op; valid range is [0, {bound}); got: "
                            f"{d}.")


def check_disjoint(op: str, name_a: str, a: Sequence[int], name_b: str, b: Sequence[int]):
    if set(a) & set(b):
        raise TypeError(f"{name_a} and {name_b} in {op} op must be disjoint; got: {tuple(a)} and "
                        f"{tuple(b)}.")


def check_batching(op: str, operand_shape, indices_shape, operand_dims, indices_dims, names):
    """Batching axes come in pairs of equal size, and never include the index vector's axis."""
    if len(operand_dims) != len(indices_dims):
        raise TypeError(f"{op} op has {len(operand_dims)} {names[0]} and {len(indices_dims)} "
                        f"{names[1]}; they must come in pairs.")
    check_dims(op, names[1], indices_dims, len(indices_shape), is_sorted=False)
    if len(indices_shape) - 1 in indices_dims:
        raise TypeError(f"{names[1]} in {op} op cannot include the index vector dimension "
                        f"{len(indices_shape) - 1}; got {tuple(indices_dims)}.")
    for i, j in zip(operand_dims, indices_dims, strict=True):
        if operand_shape[i] != indices_shape[j]:
            raise TypeError(f"{op} op: batching axis {i} of the operand has size "
                            f"{operand_shape[i]}, axis {j} of the indices {indices_shape[j]}; "
                            "they must be equal.")


def _check_offsets(numbers, slice_sizes, out_ndim: int) -> None:
    offset, collapsed = numbers.offset_dims, numbers.collapsed_slice_dims
    for a, b in zip(offset, offset[1:], strict=False):
        if b < a:
            raise TypeError(f"offset_dims in gather op must be sorted; got {offset}")
    if len(set(offset)) != len(offset):
        raise TypeError(f"offset_dims in gather op must not repeat; got: {offset}.")
    windows = len(slice_sizes) - len(collapsed) - len(numbers.operand_batching_dims)
    for i, d in enumerate(offset):
        if not 0 <= d < out_ndim:
            raise TypeError(f"Offset dimension {i} in gather op is out of bounds; got {d}, but "
                            f"should have been in [0, {out_ndim})")
    if windows != len(offset):
        raise TypeError(
            "All components of the offset index in a gather op must either be a offset dimension "
            f"or explicitly collapsed/batching; got len(slice_sizes)={len(slice_sizes)}, "
            f"output_slice_sizes={offset}, collapsed_slice_dims={collapsed}, "
            f"operand_batching_dims={numbers.operand_batching_dims}.")


def _check_slices(shape, numbers, slice_sizes) -> None:
    if len(slice_sizes) != len(shape):
        raise TypeError("Gather op must have one slice size for every input dimension; got: "
                        f"len(slice_sizes)={len(slice_sizes)}, input_shape.rank={len(shape)}")
    for i, (size, n) in enumerate(zip(slice_sizes, shape, strict=True)):
        if not 0 <= size <= n:
            raise TypeError(f"Slice size at index {i} in gather op is out of range, must be within "
                            f"[0, {n} + 1), got {size}.")
    for kind, dims, most in (("collapse", numbers.collapsed_slice_dims, 1),
                             ("batch", numbers.operand_batching_dims, 1)):
        for position, d in enumerate(dims):
            if slice_sizes[d] > most or (kind == "collapse" and slice_sizes[d] != 1):
                raise TypeError(f"Gather op can only {kind} slice dims with bound 1, but bound is "
                                f"{slice_sizes[d]} for index {d} at position {position}.")


@gather_p.def_abstract
def _gather_type(operand, indices, *, dimension_numbers, slice_sizes, indices_are_sorted,
                 unique_indices, mode, fill_value):
    numbers, ndim = dimension_numbers, operand.ndim
    if not dtypes.is_integer(indices.dtype):
        raise ValueError(f"indices must have an integer type, got {indices.dtype}")
    if indices.ndim == 0:
        raise TypeError("gather indices must have an axis for the components of an index (of size "
                        f"{len(numbers.start_index_map)}, the last one); got a scalar")
    index_size = indices.shape[-1]
    if len(numbers.start_index_map) != index_size:
        raise TypeError(f"Gather op has {len(numbers.start_index_map)} elements in "
                        "start_index_map and the bound of dimension index_vector_dim="
                        f"{indices.ndim - 1} of indices is {index_size}. These two numbers must be "
                        "equal.")
    for i, d in enumerate(numbers.start_index_map):
        if not 0 <= d < ndim:
            raise TypeError(f"Invalid start_index_map; domain is [0, {ndim}), got: {i}->{d}.")
    check_dims("gather", "start_index_map", numbers.start_index_map, ndim, is_sorted=False)
    check_dims("gather", "collapsed_slice_dims", numbers.collapsed_slice_dims, ndim)
    check_dims("gather", "operand_batching_dims", numbers.operand_batching_dims, ndim)
    check_disjoint("gather", "collapsed_slice_dims", numbers.collapsed_slice_dims,
                   "operand_batching_dims", numbers.operand_batching_dims)
    check_disjoint("gather", "start_index_map", numbers.start_index_map,
                   "operand_batching_dims", numbers.operand_batching_dims)
    check_batching("gather", operand.shape, indices.shape, numbers.operand_batching_dims,
                   numbers.start_indices_batching_dims,
                   ("operand_batching_dims", "start_indices_batching_dims"))
    out_ndim = len(numbers.offset_dims) + indices.ndim - 1
    _check_slices(operand.shape, numbers, slice_sizes)
    _check_offsets(numbers, slice_sizes, out_ndim)
    gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    window = iter([size for i, size in enumerate(slice_sizes) if i not in gone])
    batch = iter(indices.shape[:-1])
    shape = tuple([next(window) if i in numbers.offset_dims else next(batch)
                   for i in range(out_ndim)])
    return ShapedArray(shape, operand.dtype, operand.weak_type)


# --- meaning ---------------------------------------------------------------------------------


def window_positions(shape, indices, index_map, window_sizes, window_dims, operand_batching,
                     indices_batching, clamp: bool):
    """For every operand axis the positions touched, broadcastable to (*batch, *window).

    `window_sizes[d]` is the extent of the window along operand axis d; `window_dims` are the
    axes present in the window. Also gives which batch positions lie inside the array.
    """
    batch = indices.shape[:-1]
    nb, nw = len(batch), len(window_dims)
    inside = np.ones(batch, bool)
    positions = []
    for d, n in enumerate(shape):
        position = np.zeros((1,) * nb, np.int64)
        if d in index_map:
            start = indices[..., index_map.index(d)].astype(np.int64)
            last = n - window_sizes[d]
            inside &= (start >= 0) & (start <= last)
            position = np.clip(start, 0, last) if clamp else start
        elif d in operand_batching:
            axis = indices_batching[operand_batching.index(d)]
            position = np.arange(n).reshape([-1 if i == axis else 1 for i in range(nb)])
        position = position.reshape(position.shape + (1,) * nw)
        if d in window_dims:
            column = [1] * (nb + nw)
            column[nb + window_dims.index(d)] = -1
            position = position + np.arange(window_sizes[d]).reshape(column)
        positions.append(position)
    return positions, inside


def _window_axes(ndim: int, *absent: Sequence[int]) -> list[int]:
    gone = {d for dims in absent for d in dims}
    return [d for d in range(ndim) if d not in gone]


@gather_p.def_reference
def _gather_reference(operand, indices, *, dimension_numbers, slice_sizes, indices_are_sorted,
                      unique_indices, mode, fill_value):
    numbers = dimension_numbers
    window = _window_axes(operand.ndim, numbers.collapsed_slice_dims,
                          numbers.operand_batching_dims)
    positions, inside = window_positions(
        operand.shape, indices, numbers.start_index_map, slice_sizes, window,
        numbers.operand_batching_dims, numbers.start_indices_batching_dims, clamp=True)
    batch = indices.shape[:-1]
    nb = len(batch)
    shape = (*batch, *[slice_sizes[d] for d in window])
    if math.prod(shape) == 0:
        found = np.zeros(shape, operand.dtype)
    elif operand.ndim == 0:
        found = np.broadcast_to(operand, shape)
    else:
        found = operand[tuple([np.broadcast_to(p, shape) for p in positions])]
    if mode in (_FILL, GatherScatterMode.ONE_HOT):
        mask = inside.reshape(batch + (1,) * len(window))
        fill = np.asarray(0 if fill_value is None else fill_value).astype(operand.dtype)
        found = np.where(mask, found, fill)
    offset = numbers.offset_dims
    batches = iter(range(nb))
    order = [nb + offset.index(i) if i in offset else next(batches) for i in range(len(shape))]
    return found.transpose(order)


# --- rules -----------------------------------------------------------------------------------


def _gather_jvp(primals, tangents, *, fill_value, **params):
    operand, indices = primals
    out = gather_p.bind(operand, indices, fill_value=fill_value, **params)
    if type(tangents[0]) is Zero:
        return out, Zero.from_primal_value(out)
    fill = 0 if params["mode"] is _FILL else None
    return out, gather_p.bind(tangents[0], indices, fill_value=fill, **params)


define_jvp(gather_p, _gather_jvp)


def shifted(dims: Sequence[int]) -> tuple[int, ...]:
    """The axes after a batch axis has been put in front."""
    return tuple([d + 1 for d in dims])


def _gather_batch(args, dims, *, dimension_numbers, slice_sizes, indices_are_sorted,
                  unique_indices, **params):
    numbers = dimension_numbers
    (operand, indices), (operand_dim, indices_dim) = args, dims
    if operand_dim is not None:
        operand = move_dimension(operand, operand_dim, 0)
    if indices_dim is not None:
        indices = move_dimension(indices, indices_dim, 0)
    offset = shifted(numbers.offset_dims)
    if operand_dim is None:
        numbers = numbers._replace(
            offset_dims=offset,
            start_indices_batching_dims=shifted(numbers.start_indices_batching_dims))
        indices_are_sorted = unique_indices = False
    else:
        numbers = GatherDimensionNumbers(
            offset, shifted(numbers.collapsed_slice_dims), shifted(numbers.start_index_map),
            shifted(numbers.operand_batching_dims), numbers.start_indices_batching_dims)
        if indices_dim is None:
            # the batch axis is one more axis of every window
            numbers = numbers._replace(offset_dims=(0, *offset))
            slice_sizes = (shape_of(operand)[0], *slice_sizes)
        else:
            numbers = numbers._replace(
                operand_batching_dims=(0, *numbers.operand_batching_dims),
                start_indices_batching_dims=(
                    0, *shifted(dimension_numbers.start_indices_batching_dims)))
            slice_sizes = (1 if shape_of(operand)[0] else 0, *slice_sizes)
    return gather_p.bind(operand, indices, dimension_numbers=numbers, slice_sizes=slice_sizes,
                         indices_are_sorted=indices_are_sorted, unique_indices=unique_indices,
                         **params), 0


define_batch(gather_p, _gather_batch)


def index_vectors(starts: Sequence[Any], dims: Sequence[int | None], size: int):
    """Scalars, some batched, as an index array: (size, k) if any is batched, else (k,)."""
    batched = any(d is not None for d in dims)
    shape = (size, 1) if batched else (1,)
    columns = [broadcast_in_dim(s, shape, () if d is None else (0,))
               for s, d in zip(starts, dims, strict=True)]
    return concatenate(columns, len(shape) - 1)


def _dynamic_slice_batch(args, dims, *, slice_sizes):
    """A batch of boxes at different places is a gather that clamps."""
    (operand, *starts), (dim, *start_dims) = args, dims
    if all(d is None for d in start_dims):
        return batched_box_read(args, dims, slice_sizes=slice_sizes)
    indices = index_vectors(starts, start_dims, batch_size(args, dims))
    everything = tuple(range(len(slice_sizes)))
    numbers = GatherDimensionNumbers(everything, (), everything)
    return _gather_batch(
        (operand, indices), (dim, 0), dimension_numbers=numbers, slice_sizes=slice_sizes,
        indices_are_sorted=True, unique_indices=True, mode=_CLIP, fill_value=None)


define_batch(dynamic_slice_p, _dynamic_slice_batch)


def index_take(src, idxs: Sequence[Any], axes: Sequence[int]):
    """Elements of `src` at one-dimensional index arrays along `axes`, wrapping around."""
    shape = shape_of(src)
    axes = canonical_shape(axes)
    columns = [expand_dims(i, (1,)) for i in idxs]
    indices = concatenate(columns, 1)
    aval = get_aval(indices)
    sizes = broadcast_in_dim(np.asarray([shape[a] for a in axes], aval.dtype), aval.shape, (1,))
    rest = named("rem").bind(indices, sizes)
    negative = named("lt").bind(rest, full(aval.shape, 0, aval.dtype))
    indices = named("select_n").bind(negative, rest, named("add").bind(rest, sizes))
    sizes = tuple([1 if i in axes else n for i, n in enumerate(shape)])
    numbers = GatherDimensionNumbers(tuple(range(1, len(shape) - len(axes) + 1)),
                                     tuple(sorted(axes)), axes)
    return gather(src, indices, numbers, sizes, mode=_PROMISE)

