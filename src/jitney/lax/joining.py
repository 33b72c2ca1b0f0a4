"""Operations that put arrays together or take them apart: pad, concatenate, stack, split, tile.

In: arrays and static sizes. Out: arrays holding the same elements (and a padding value).
Invariant: pad is the only one that introduces an element its operands may not contain.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from jitney.core.avals import ShapedArray, get_aval
from jitney.core.primitive import Primitive, named
from jitney.lax.shape import (
    broadcast_in_dim,
    canonical_axis,
    canonical_shape,
    full,
    linear,
    require_nonnegative,
    reshape,
    shape_of,
    sum_over,
    unchanged,
)
from jitney.transforms.jvp import define_linear, instantiate_zeros
from jitney.transforms.transpose import is_undefined_primal
from jitney.transforms.vmap import at_front, batch_size, define_batch

_index = operator.index

# --- pad -------------------------------------------------------------------------------------


def pad(operand, padding_value, padding_config: Sequence[tuple[int, int, int]]):
    """Surround an array: (low, high, interior) per axis; negative low or high cut elements off."""
    config = tuple([(_index(lo), _index(hi), _index(interior))
                    for lo, hi, interior in padding_config])
    return pad_p.bind(operand, padding_value, padding_config=config)


pad_p = Primitive("pad")


@pad_p.def_abstract
def _pad_type(operand, padding_value, *, padding_config):
    if operand.dtype != padding_value.dtype:
        raise TypeError("pad operand and padding_value must be same dtype: got "
                        f"{operand.dtype} and {padding_value.dtype}.")
    if padding_value.shape != ():
        raise ValueError("padding_value must be a scalar; got "
                         f"np.shape(padding_value)={padding_value.shape}")
    if len(padding_config) != operand.ndim:
        raise ValueError("length of padding_config must equal the number of axes of operand, got "
                         f"padding_config {padding_config} for operand shape {operand.shape}")
    if any(interior < 0 for _, _, interior in padding_config):
        raise ValueError("interior padding in padding_config must be nonnegative, got "
                         f"padding_config {padding_config}")
    shape = tuple([lo + hi + n + max(n - 1, 0) * interior
                   for n, (lo, hi, interior) in zip(operand.shape, padding_config, strict=True)])
    if any(n < 0 for n in shape):
        raise ValueError("Dimension size after padding is not at least 0, got result shape "
                         f"{shape}, for padding_config {padding_config} and operand shape "
                         f"{operand.shape}")
    return ShapedArray(shape, operand.dtype, operand.weak_type and padding_value.weak_type)


@pad_p.def_reference
def _pad_reference(operand, padding_value, *, padding_config):
    # Write the spread elements into a full result; what falls outside is dropped.
    shape, into, taken = [], [], []
    for n, (lo, hi, interior) in zip(operand.shape, padding_config, strict=True):
        step = interior + 1
        size = lo + hi + n + max(n - 1, 0) * interior
        first = max(0, -(lo // step))                 # smallest i with lo + i*step >= 0
        last = min(n, -((lo - size) // step))         # first i with lo + i*step >= size
        shape.append(size)
        taken.append(slice(first, max(first, last)))
        start = lo + first * step
        into.append(slice(start, start + (last - first) * step, step) if last > first
                    else slice(0, 0))
    out = np.full(shape, padding_value, operand.dtype)
    out[tuple(into)] = operand[tuple(taken)]
    return out


def _pad_transpose(ct, operand, padding_value, *, padding_config):
    undone = pad(ct, np.zeros((), get_aval(ct).dtype)[()],
                 [(-lo, -hi, 0) for lo, hi, _ in padding_config])
    if any(interior for _, _, interior in padding_config):
        # without interior padding every element left is one of the operand's
        shape = shape_of(undone)
        undone = named("slice").bind(
            undone, start_indices=(0,) * len(shape), limit_indices=shape,
            strides=tuple([interior + 1 for _, _, interior in padding_config]))
    out = [undone if is_undefined_primal(operand) else None, None]
    if is_undefined_primal(padding_value):
        axes = tuple(range(len(padding_config)))
        out[1] = named("sub").bind(sum_over(ct, axes), sum_over(undone, axes))
    return out


def _pad_batch(args, dims, *, padding_config):
    (operand, value), (dim, value_dim) = args, dims
    if value_dim is None:
        return pad(operand, value, (*padding_config[:dim], (0, 0, 0), *padding_config[dim:])), dim
    # One padding value an example: pad a mask with the same shape and choose.
    if dim is None:
        operand, dim = at_front(operand, None, shape_of(value)[0]), 0
    config = (*padding_config[:dim], (0, 0, 0), *padding_config[dim:])
    dtype = get_aval(operand).dtype
    padded = pad(operand, np.zeros((), dtype)[()], config)
    inside = pad(full(shape_of(operand), True), False, config)
    fill = broadcast_in_dim(value, shape_of(padded), (dim,))
    return named("select_n").bind(inside, fill, padded), dim


linear(pad_p, _pad_transpose)
define_batch(pad_p, _pad_batch)


# --- concatenate, stack, split, unstack, tile ------------------------------------------------


def concatenate(operands, dimension: int):
    """Join arrays of one dtype along an axis."""
    operands = list(operands)
    if not operands:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    if len(operands) == 1:
        return unchanged(operands[0])
    return concatenate_p.bind(*operands, dimension=_index(dimension))


concatenate_p = Primitive("concatenate")


def _shapes_text(operands) -> str:
    return ", ".join(str(o.shape) for o in operands)


def _require_one_dtype(name: str, operands, tip: str = "") -> None:
    first = operands[0].dtype
    if any(o.dtype != first for o in operands):
        names = ", ".join(str(o.dtype) for o in operands)
        raise TypeError(f"{name} requires arguments to have the same dtypes, got {names}.{tip}")


@concatenate_p.def_abstract
def _concatenate_type(*operands, dimension):
    first = operands[0].shape
    ndim = len(first)
    if any(len(o.shape) != ndim for o in operands):
        raise TypeError("Cannot concatenate arrays with different numbers of dimensions: got "
                        f"{_shapes_text(operands)}.")
    if not 0 <= dimension < ndim:
        raise TypeError(f"concatenate dimension out of bounds: dimension {dimension} for shapes "
                        f"{_shapes_text(operands)}.")
    before, after = first[:dimension], first[dimension + 1:]
    total, weak = 0, True
    for o in operands:
        shape = o.shape
        if shape[:dimension] != before or shape[dimension + 1:] != after:
            raise TypeError(
                "Cannot concatenate arrays with shapes that differ in dimensions other than the "
                f"one being concatenated: concatenating along dimension {dimension} for shapes "
                f"{_shapes_text(operands)}.")
        total += shape[dimension]
        weak = weak and o.weak_type
    _require_one_dtype("lax.concatenate", operands, " (Tip: jnp.concatenate is a similar function "
                       "that does automatic type promotion on inputs).")
    return ShapedArray((*before, total, *after), operands[0].dtype, weak)


@concatenate_p.def_reference
def _concatenate_reference(*operands, dimension):
    return np.concatenate(operands, axis=dimension)


def _concatenate_transpose(ct, *operands, dimension):
    sizes = [(o.aval.shape if is_undefined_primal(o) else shape_of(o))[dimension]
             for o in operands]
    parts = split(ct, sizes, dimension)
    return [p if is_undefined_primal(o) else None for p, o in zip(parts, operands, strict=True)]


def _all_at_front(args, dims):
    size = batch_size(args, dims)
    return [at_front(x, d, size) for x, d in zip(args, dims, strict=True)]


def _concatenate_batch(args, dims, *, dimension):
    return concatenate(_all_at_front(args, dims), dimension + 1), 0


linear(concatenate_p, _concatenate_transpose)
define_batch(concatenate_p, _concatenate_batch)


def stack(operands, axis: int = 0):
    """Join arrays of one shape and dtype along a new axis."""
    operands = list(operands)
    if not operands:
        raise ValueError("lax.stack requires a non-empty sequence of arrays")
    axis = canonical_axis(axis, len(shape_of(operands[0])) + 1)
    return stack_p.bind(*operands, axis=axis)


stack_p = Primitive("stack")


@stack_p.def_abstract
def _stack_type(*operands, axis):
    first = operands[0].shape
    if any(len(o.shape) != len(first) for o in operands):
        raise ValueError("Cannot stack arrays with different numbers of dimensions: got "
                         f"{_shapes_text(operands)}.")
    if any(o.shape != first for o in operands):
        raise ValueError("Cannot stack arrays with different shapes: got "
                         f"{_shapes_text(operands)}.")
    _require_one_dtype("lax.stack", operands)
    shape = (*first[:axis], len(operands), *first[axis:])
    return ShapedArray(shape, operands[0].dtype, all(o.weak_type for o in operands))


@stack_p.def_reference
def _stack_reference(*operands, axis):
    return np.stack(operands, axis=axis)


def _stack_transpose(ct, *operands, axis):
    parts = unstack(ct, axis)
    return [p if is_undefined_primal(o) else None for p, o in zip(parts, operands, strict=True)]


linear(stack_p, _stack_transpose)
define_batch(stack_p, lambda args, dims, *, axis: (stack(_all_at_front(args, dims), axis + 1), 0))


def unstack(x, axis: int = 0):
    """The subarrays along an axis, as a tuple."""
    return tuple(unstack_p.bind(x, axis=canonical_axis(axis, len(shape_of(x)))))


unstack_p = Primitive("unstack", multiple_results=True)


@unstack_p.def_abstract
def _unstack_type(x, *, axis):
    shape = x.shape
    part = ShapedArray(shape[:axis] + shape[axis + 1:], x.dtype, x.weak_type)
    return [part] * shape[axis]


@unstack_p.def_reference
def _unstack_reference(x, *, axis):
    return list(np.moveaxis(x, axis, 0))


def _unstack_batch(args, dims, *, axis):
    batch = dims[0]
    outs = unstack(args[0], axis + (batch <= axis))
    return list(outs), [batch - (axis < batch)] * len(outs)


define_linear(unstack_p,
              lambda cts, x, *, axis: [stack([instantiate_zeros(ct) for ct in cts], axis)])
define_batch(unstack_p, _unstack_batch)


def split(operand, sizes: Sequence[int], axis: int = 0):
    """Cut an array along an axis into consecutive pieces of the given sizes."""
    operand_shape = shape_of(operand)
    return split_p.bind(operand, sizes=canonical_shape(sizes),
                        axis=canonical_axis(axis, len(operand_shape)))


split_p = Primitive("split", multiple_results=True)


@split_p.def_abstract
def _split_type(operand, *, sizes, axis):
    shape = operand.shape
    if any(size < 0 for size in sizes):
        raise ValueError(f"Sizes passed to split must be nonnegative, got {list(sizes)}")
    if sum(sizes) != shape[axis]:
        raise ValueError(f"Sum of sizes {sum(sizes)} must be equal to dimension {axis} of the "
                         f"operand shape {list(shape)}")
    return [ShapedArray((*shape[:axis], size, *shape[axis + 1:]), operand.dtype,
                        operand.weak_type) for size in sizes]


@split_p.def_reference
def _split_reference(operand, *, sizes, axis):
    return np.split(operand, np.cumsum(sizes)[:-1], axis=axis)


def _split_batch(args, dims, *, sizes, axis):
    outs = split_p.bind(args[0], sizes=sizes, axis=axis + (dims[0] <= axis))
    return outs, [dims[0]] * len(outs)


define_linear(split_p, lambda cts, x, *, sizes, axis: [
    concatenate([instantiate_zeros(ct) for ct in cts], axis)])
define_batch(split_p, _split_batch)


def tile(operand, reps: Sequence[int]):
    """Repeat the whole array `reps[i]` times along axis `i`."""
    return tile_p.bind(operand, reps=canonical_shape(reps))


tile_p = Primitive("tile")


@tile_p.def_abstract
def _tile_type(operand, *, reps):
    if len(reps) != operand.ndim:
        raise TypeError("reps length must be equal to the ndim of x, got "
                        f"len(reps)={len(reps)} and x.ndim={operand.ndim}.")
    require_nonnegative("tile", "reps", reps)
    shape = tuple([n * r for n, r in zip(operand.shape, reps, strict=True)])
    return ShapedArray(shape, operand.dtype, operand.weak_type)


@tile_p.def_reference
def _tile_reference(operand, *, reps):
    return np.tile(operand, reps)


def _tile_transpose(ct, operand, *, reps):
    apart = [n for pair in zip(reps, operand.aval.shape, strict=True) for n in pair]
    return [sum_over(reshape(ct, apart), tuple(range(0, 2 * len(reps), 2)))]


linear(tile_p, _tile_transpose)
define_batch(tile_p, lambda args, dims, *, reps: (
    tile(args[0], (*reps[:dims[0]], 1, *reps[dims[0]:])), dims[0]))
