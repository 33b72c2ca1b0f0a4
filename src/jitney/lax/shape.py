"""Operations that move or repeat elements: broadcast, reshape, squeeze, transpose, rev, full, iota.

In: arrays or scalars and static sizes. Out: arrays with the same elements elsewhere.
Invariant: nothing here imports another family (rules that need a sum or a selection ask for the
primitive by name), so every other family may build on this one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney import _native
from jitney.base import dtypes, errors
from jitney.core.avals import Array, ShapedArray, get_aval, numpy_value, to_array
from jitney.core.primitive import Primitive, named
from jitney.lax.out_sharding import check_out_sharding
from jitney.transforms.jvp import Zero, define_linear, define_zero_jvp
from jitney.transforms.transpose import is_undefined_primal
from jitney.transforms.vmap import define_batch, move_dimension

_index = operator.index


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a value; TypeError when it is not data (a list, a string)."""
    try:
        return x.aval.shape
    except AttributeError:
        return get_aval(x).shape


def unchanged(x: Any) -> Any:
    """The result of an operation that has nothing to do: an array or tracer, never a scalar."""
    if hasattr(x, "aval"):
        return x
    if not shape_of(x) and _native.current_trace() is not None:
        return broadcast_in_dim_p.bind(x, shape=(), broadcast_dimensions=(), sharding=None)
    return to_array(x)


def linear(primitive: Primitive, transpose_rule) -> None:
    """`define_linear` for rules that need a cotangent: a symbolic zero stays one."""

    def rule(ct, *operands, **params):
        if type(ct) is Zero:
            return [Zero(x.aval) if is_undefined_primal(x) else None for x in operands]
        return transpose_rule(ct, *operands, **params)

    define_linear(primitive, rule)


def sum_over(x: Any, axes: tuple[int, ...]) -> Any:
    """The sum over some axes (nothing for none)."""
    return named("reduce_sum").bind(x, axes=axes, out_sharding=None) if axes else x


# --- checked sizes ---------------------------------------------------------------------------


def canonical_shape(shape: Any, context: str = "") -> tuple[int, ...]:
    """A shape as a tuple of Python integers; TypeError if it is not made of concrete integers."""
    try:
        return tuple([_index(d) for d in shape])
    except TypeError:
        pass
    where = f" in {context}" if context else ""
    sizes = shape if isinstance(shape, (list, tuple)) else (shape,)
    raise TypeError(
        f"Shapes must be 1D sequences of concrete values of integer type, got {shape}{where}. "
        "If a size comes from an argument of a jitted function, mark it with static_argnums or "
        "static_argnames; if it comes from an array, use x.shape."
        + "".join(f"\n{text}" for text in [errors.origins_of(sizes)] if text))


def canonical_axis(axis: Any, ndim: int) -> int:
    """`axis` counted from the front; ValueError if there is no such axis."""
    axis = _index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis + ndim if axis < 0 else axis


def require_nonnegative(name: str, what: str, values: tuple[int, ...]) -> None:
    for v in values:
        if v < 0:
            raise TypeError(f"{name} {what} must have every element be nonnegative, got {values}.")


def _broadcast_extent(sizes: set[int]) -> int:
    """The common size of dimensions that are equal or 1; -1 if there is none."""
    sizes.discard(1)
    if not sizes:
        return 1
    return sizes.pop() if len(sizes) == 1 else -1


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to, by NumPy's rules.

    >>> broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    if len(shapes) == 1:
        return canonical_shape(shapes[0])
    shapes = [canonical_shape(s) for s in shapes]
    first = shapes[0] if shapes else ()
    if all(s == first for s in shapes):
        return first
    ndim = max(len(s) for s in shapes)
    columns = zip(*[(1,) * (ndim - len(s)) + s for s in shapes], strict=True)
    result = tuple([_broadcast_extent(set(column)) for column in columns])
    if -1 in result:
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={list(shapes)}")
    return result


# --- broadcast -------------------------------------------------------------------------------


def broadcast(operand, sizes: Sequence[int], *, out_sharding=None):
    """Repeat an array along new leading axes of the given sizes."""
    sizes = canonical_shape(sizes)
    if not sizes:
        return unchanged(operand)
    shape = shape_of(operand)
    dims = tuple(range(len(sizes), len(sizes) + len(shape)))
    return broadcast_in_dim(operand, sizes + shape, dims, out_sharding=out_sharding)


def broadcast_in_dim(operand, shape: Sequence[int], broadcast_dimensions: Sequence[int], *,
                     out_sharding=None):
    """Place operand axis `i` at axis `broadcast_dimensions[i]` of `shape`, repeat along others."""
    check_out_sharding("broadcast_in_dim", out_sharding)
    shape = canonical_shape(shape)
    dims = canonical_shape(broadcast_dimensions)
    operand_shape = shape_of(operand)
    if operand_shape == shape and dims == tuple(range(len(shape))):
        return unchanged(operand)
    return broadcast_in_dim_p.bind(operand, shape=shape, broadcast_dimensions=dims,
                                   sharding=out_sharding)


broadcast_in_dim_p = Primitive("broadcast_in_dim")


@broadcast_in_dim_p.def_abstract
def _broadcast_in_dim_type(operand, *, shape, broadcast_dimensions, sharding):
    source, dims = operand.shape, broadcast_dimensions
    if len(dims) != len(source):
        raise TypeError(
            "broadcast_in_dim broadcast_dimensions must have length equal to operand ndim; got "
            f"broadcast_dimensions {dims} for operand ndim {len(source)}.")
    if len(shape) < len(source):
        raise TypeError(
            "broadcast_in_dim target broadcast shape must have equal or higher rank to the operand "
            f"shape; got operand ndim {len(source)} and target broadcast ndim {len(shape)}.")
    for d in dims:
        if not 0 <= d < len(shape):
            raise TypeError(
                "broadcast_in_dim broadcast_dimensions must be a subset of output dimensions, got "
                f"{dims} for operand ndim {len(source)} and shape {shape}.")
    for size, d in zip(source, dims, strict=True):
        if size not in (1, shape[d]):
            raise TypeError(
                "broadcast_in_dim operand dimension sizes must either be 1, or be equal to their "
                "corresponding dimensions in the target broadcast shape; got operand of shape "
                f"{source}, target broadcast shape {shape}, broadcast_dimensions {dims}")
    if any(a >= b for a, b in zip(dims, dims[1:], strict=False)):
        raise TypeError("broadcast_in_dim broadcast_dimensions must be strictly increasing; got "
                        f"broadcast_dimensions {dims}. Use transpose to reorder axes.")
    require_nonnegative("broadcast_in_dim", "shape", shape)
    return ShapedArray(shape, operand.dtype, operand.weak_type)


@broadcast_in_dim_p.def_reference
def _broadcast_in_dim_reference(operand, *, shape, broadcast_dimensions, sharding):
    spread = [1] * len(shape)
    for size, d in zip(operand.shape, broadcast_dimensions, strict=True):
        spread[d] = size
    return np.broadcast_to(operand.reshape(spread), shape)


def _broadcast_in_dim_transpose(ct, operand, *, shape, broadcast_dimensions, sharding):
    source = operand.aval.shape
    kept = [d for n, d in zip(source, broadcast_dimensions, strict=True) if n == shape[d]]
    ct = sum_over(ct, tuple([d for d in range(len(shape)) if d not in kept]))
    back = tuple([i for i, d in enumerate(broadcast_dimensions) if d in kept])
    return [broadcast_in_dim(ct, source, back)]


def _broadcast_in_dim_batch(args, dims, *, shape, broadcast_dimensions, sharding):
    x = move_dimension(args[0], dims[0], 0)
    return broadcast_in_dim_p.bind(
        x, shape=(shape_of(x)[0], *shape), sharding=sharding,
        broadcast_dimensions=(0, *[d + 1 for d in broadcast_dimensions])), 0


linear(broadcast_in_dim_p, _broadcast_in_dim_transpose)
define_batch(broadcast_in_dim_p, _broadcast_in_dim_batch)


@broadcast_in_dim_p.def_print
def _broadcast_in_dim_print(params, eqn):
    """The result's type shows the shape; what is default is not shown."""
    hidden = {"shape"}
    if params["sharding"] is None:
        hidden.add("sharding")
    if not params["broadcast_dimensions"]:
        hidden.add("broadcast_dimensions")
    return {k: v for k, v in params.items() if k not in hidden}


def broadcast_to_rank(x, rank: int):
    """Add leading axes of size 1 until the array has `rank` axes."""
    ndim = len(shape_of(x))
    if ndim == rank:
        return unchanged(x)
    if ndim > rank:
        raise ValueError(f"broadcast_to_rank: an array of rank {ndim} has more than {rank} axes")
    return expand_dims(x, range(rank - ndim))


def broadcast_like(arr, like_arr):
    """Repeat `arr` to the shape of `like_arr` (NumPy's alignment from the right)."""
    source, target = shape_of(arr), shape_of(like_arr)
    first = len(target) - len(source)
    return broadcast_in_dim(arr, target, range(first, len(target)))


def expand_dims(array, dimensions: Sequence[int]):
    """Insert axes of size 1 at these positions of the result."""
    positions = tuple(dimensions)
    shape = shape_of(array)
    ndim = len(shape) + len(positions)
    new = {canonical_axis(i, ndim) for i in positions}
    if len(new) != len(positions):
        raise ValueError(f"repeated axis in lax.expand_dims: {positions}")
    kept = tuple([i for i in range(ndim) if i not in new])
    sizes = [1] * ndim
    for i, size in zip(kept, shape, strict=True):
        sizes[i] = size
    return broadcast_in_dim(array, tuple(sizes), kept)


# --- reshape, squeeze, collapse --------------------------------------------------------------


def reshape(operand, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, *,
            out_sharding=None):
    """The elements in row-major order (or with axes first permuted by `dimensions`), reshaped."""
    check_out_sharding("reshape", out_sharding)
    new_sizes = canonical_shape(new_sizes)
    shape = shape_of(operand)
    if dimensions is not None:
        dimensions = canonical_shape(dimensions)
        if dimensions == tuple(range(len(shape))):
            dimensions = None
    if shape == new_sizes and dimensions is None:
        return unchanged(operand)
    return reshape_p.bind(operand, new_sizes=new_sizes, dimensions=dimensions,
                          sharding=out_sharding)


reshape_p = Primitive("reshape")


@reshape_p.def_abstract
def _reshape_type(operand, *, new_sizes, dimensions, sharding):
    for size in new_sizes:
        if size < 0:
            raise TypeError(f"reshape new_sizes must all be positive, got {new_sizes}. "
                            "Only jax.numpy.reshape accepts -1 for a size to be inferred.")
    if math.prod(new_sizes) != operand.size:
        raise TypeError(
            f"cannot reshape array of shape {operand.shape} (size {operand.size}) into shape "
            f"{new_sizes} (size {math.prod(new_sizes)})")
    if dimensions is not None and sorted(dimensions) != list(range(operand.ndim)):
        raise TypeError("reshape dimensions must be a permutation of operand dimensions, got "
                        f"dimensions {dimensions} for shape {operand.shape}.")
    return ShapedArray(new_sizes, operand.dtype, operand.weak_type)


@reshape_p.def_reference
def _reshape_reference(operand, *, new_sizes, dimensions, sharding):
    if dimensions is not None:
        operand = operand.transpose(dimensions)
    return operand.reshape(new_sizes)


def _reshape_transpose(ct, operand, *, new_sizes, dimensions, sharding):
    shape = operand.aval.shape
    if dimensions is None:
        return [reshape(ct, shape)]
    permuted = reshape(ct, [shape[d] for d in dimensions])
    return [transpose(permuted, inverse_permutation(dimensions))]


def _reshape_batch(args, dims, *, new_sizes, dimensions, sharding):
    x = move_dimension(args[0], dims[0], 0)
    if dimensions is not None:
        dimensions = (0, *[d + 1 for d in dimensions])
    return reshape(x, (shape_of(x)[0], *new_sizes), dimensions), 0


linear(reshape_p, _reshape_transpose)
define_batch(reshape_p, _reshape_batch)


def squeeze(array, dimensions: Sequence[int]):
    """Remove axes of size 1."""
    shape = shape_of(array)
    dims = tuple([canonical_axis(i, len(shape)) for i in dimensions])
    if not dims:
        return unchanged(array)
    return squeeze_p.bind(array, dimensions=dims)


squeeze_p = Primitive("squeeze")


@squeeze_p.def_abstract
def _squeeze_type(array, *, dimensions):
    shape, dims = array.shape, set(dimensions)
    if len(dims) != len(dimensions):
        raise ValueError(f"dimensions are not unique: {dimensions}")
    if any(not 0 <= d < len(shape) for d in dimensions):
        raise ValueError(f"squeeze dimensions {dimensions} out of range for shape {shape}")
    if any(shape[d] != 1 for d in dimensions):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one, "
                         f"got shape={shape} and dimensions={dimensions}")
    kept = tuple([size for i, size in enumerate(shape) if i not in dims])
    return ShapedArray(kept, array.dtype, array.weak_type)


@squeeze_p.def_reference
def _squeeze_reference(array, *, dimensions):
    return np.squeeze(array, dimensions)


def _squeeze_batch(args, dims, *, dimensions):
    x = move_dimension(args[0], dims[0], 0)
    return squeeze(x, [d + 1 for d in dimensions]), 0


linear(squeeze_p, lambda ct, x, *, dimensions: [expand_dims(ct, dimensions)])
define_batch(squeeze_p, _squeeze_batch)


def collapse(operand, start_dimension: int, stop_dimension: int | None = None):
    """Merge the axes from `start_dimension` up to `stop_dimension` (exclusive) into one."""
    shape = shape_of(operand)
    lo, hi, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if hi < lo:
        raise ValueError(f"Invalid dimension range passed to collapse: {shape}"
                         f"[{start_dimension}:{stop_dimension}]")
    return reshape(operand, (*shape[:lo], math.prod(shape[lo:hi]), *shape[hi:]))


# --- transpose, rev --------------------------------------------------------------------------


def transpose(operand, permutation: Sequence[int]):
    """Reorder axes: axis `i` of the result is axis `permutation[i]` of the operand."""
    permutation = canonical_shape(permutation)
    if permutation == tuple(range(len(shape_of(operand)))):
        return unchanged(operand)
    return transpose_p.bind(operand, permutation=permutation)


transpose_p = Primitive("transpose")


@transpose_p.def_abstract
def _transpose_type(operand, *, permutation):
    shape = operand.shape
    if len(permutation) != len(shape) or sorted(permutation) != list(range(len(shape))):
        raise TypeError("transpose permutation isn't a permutation of operand dimensions, got "
                        f"permutation {permutation} for operand shape {shape}.")
    return ShapedArray(tuple([shape[i] for i in permutation]), operand.dtype, operand.weak_type)


@transpose_p.def_reference
def _transpose_reference(operand, *, permutation):
    return operand.transpose(permutation)


def inverse_permutation(permutation: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes this one."""
    inverse = [0] * len(permutation)
    for i, p in enumerate(permutation):
        inverse[p] = i
    return tuple(inverse)


def _transpose_batch(args, dims, *, permutation):
    batch = dims[0]
    rest = [d + (d >= batch) for d in permutation]
    return transpose(args[0], (batch, *rest)), 0


linear(transpose_p,
       lambda ct, x, *, permutation: [transpose(ct, inverse_permutation(permutation))])
define_batch(transpose_p, _transpose_batch)


def rev(operand, dimensions: Sequence[int]):
    """Reverse the order of elements along these axes."""
    return rev_p.bind(operand, dimensions=canonical_shape(dimensions))


rev_p = Primitive("rev")


@rev_p.def_abstract
def _rev_type(operand, *, dimensions):
    if len(set(dimensions)) != len(dimensions):
        raise TypeError(f"rev dimensions must be unique, got {dimensions}.")
    require_nonnegative("rev", "dimensions", dimensions)
    if dimensions and max(dimensions) >= operand.ndim:
        raise TypeError("rev dimensions must all be less than operand ndim, got dimensions "
                        f"{dimensions} for operand ndim {operand.ndim}.")
    return operand


@rev_p.def_reference
def _rev_reference(operand, *, dimensions):
    return np.flip(operand, dimensions)


def _rev_batch(args, dims, *, dimensions):
    return rev(args[0], [d + (d >= dims[0]) for d in dimensions]), dims[0]


linear(rev_p, lambda ct, x, *, dimensions: [rev(ct, dimensions)])
define_batch(rev_p, _rev_batch)


# --- filling: full, iota, empty --------------------------------------------------------------


def _scalar_of(value: Any, dtype: Any, weak: bool) -> Any:
    """A scalar as this type; concrete values are converted here and now, tracers by an equation."""
    aval = get_aval(value)
    if aval.dtype == dtype and aval.weak_type == weak:
        return value
    if isinstance(value, (Array, np.generic, np.ndarray, bool, int, float, complex)):
        if weak:
            kind = dtypes.scalar_type_of(dtype)
            if dtypes.python_scalar_dtype(kind) == dtype:
                return kind(numpy_value(value)[()].item())
        else:
            return _numpy_scalar(value, dtype)
    return named("convert_element_type").bind(value, new_dtype=dtype, weak_type=weak,
                                              sharding=None)


def _numpy_scalar(value: Any, dtype: Any) -> np.generic:
    if type(value) is complex and not dtypes.is_complex(dtype):
        raise TypeError(f"the complex fill value {value} is no {dtype}; write its real part")
    value = numpy_value(value) if isinstance(value, Array) else np.asarray(value)
    if dtypes.is_complex(value.dtype) and not dtypes.is_complex(dtype):
        value = value.real
    with np.errstate(all="ignore"):
        if dtypes.is_integer(dtype) and dtypes.is_inexact(value.dtype):
            value = np.nan_to_num(value.astype(np.float64), posinf=np.inf, neginf=-np.inf)
            info = dtypes.iinfo(dtype)
            value = np.clip(value, float(info.min), float(info.max))
        return value.astype(dtype)[()]


def full(shape: Sequence[int], fill_value, dtype=None, *, sharding=None):
    """An array of this shape, every element `fill_value`.

    >>> full((2,), 1).dtype
    dtype('int32')
    """
    shape = canonical_shape(shape)
    aval = get_aval(fill_value)
    if aval.shape:
        raise TypeError("full must be called with scalar fill_value, got fill_value.shape "
                        f"{aval.shape}.")
    weak = dtype is None and aval.weak_type
    dtype = aval.dtype if dtype is None else \
        dtypes.canonicalize_dtype(dtype, allow_extended_dtype=True)
    return broadcast(_scalar_of(fill_value, dtype, weak), shape, out_sharding=sharding)


def full_like(x, fill_value, dtype=None, shape: Sequence[int] | None = None, sharding=None):
    """Like `full`, with the shape and type of `x` (also its weak type) where none is given."""
    aval = x if hasattr(x, "shape") and hasattr(x, "dtype") else get_aval(x)
    shape = tuple(aval.shape) if shape is None else canonical_shape(shape)
    weak = dtype is None and getattr(aval, "weak_type", False)
    dtype = dtypes.canonicalize_dtype(aval.dtype if dtype is None else dtype,
                                      allow_extended_dtype=True)
    if shape_of(fill_value):
        raise TypeError("full must be called with scalar fill_value, got fill_value.shape "
                        f"{shape_of(fill_value)}.")
    return broadcast(_scalar_of(fill_value, dtype, weak), shape, out_sharding=sharding)


def zeros_like(x):
    """Zeros of the shape and type of `x`."""
    return full_like(x, 0)


def ones_like(x):
    """Ones of the shape and type of `x`."""
    return full_like(x, 1)


def iota(dtype, size: int):
    """The integers 0 … size-1, as an array of this dtype."""
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype, shape: Sequence[int], dimension: int, *, out_sharding=None):
    """An array holding at each place its index along axis `dimension`."""
    check_out_sharding("broadcasted_iota", out_sharding)
    return iota_p.bind(dtype=dtypes.canonicalize_dtype(dtype), shape=canonical_shape(shape),
                       dimension=_index(dimension), sharding=out_sharding)


iota_p = Primitive("iota")


@iota_p.def_abstract
def _iota_type(*, dtype, shape, dimension, sharding):
    require_nonnegative("iota", "shape", shape)
    if dtype == np.bool_:
        raise TypeError("iota does not accept dtype bool. Accepted dtypes are subtypes of "
                        "integer, floating, complexfloating.")
    if not 0 <= dimension < len(shape):
        raise ValueError("iota dimension must be between 0 and len(shape), got "
                         f"dimension={dimension} for shape={shape}")
    return ShapedArray(shape, dtype)


@iota_p.def_reference
def _iota_reference(*, dtype, shape, dimension, sharding):
    column = [-1 if i == dimension else 1 for i in range(len(shape))]
    return np.broadcast_to(np.arange(shape[dimension]).astype(dtype).reshape(column), shape)


define_zero_jvp(iota_p)


def empty(shape: Sequence[int], dtype, *, out_sharding=None):
    """An array whose elements have no promised value."""
    check_out_sharding("empty", out_sharding)
    return empty_p.bind(shape=canonical_shape(shape), out_sharding=out_sharding,
                        dtype=dtypes.canonicalize_dtype(dtype, allow_extended_dtype=True))


empty_p = Primitive("empty")


@empty_p.def_abstract
def _empty_type(*, shape, dtype, out_sharding):
    require_nonnegative("empty", "shape", shape)
    return ShapedArray(shape, dtype)


@empty_p.def_reference
def _empty_reference(*, shape, dtype, out_sharding):
    return np.zeros(shape, dtype)


define_zero_jvp(empty_p)


def shape_as_value(shape: Sequence[int]):
    """A shape as a one-dimensional int32 array."""
    shape = canonical_shape(shape)
    return to_array(np.asarray(shape, dtypes.canonicalize_dtype("int64")).reshape(len(shape)))
