"""Writing with square brackets: `x.at[idx].set(y)` and its relatives.

In: an array, an index, and values. Out: a new array with the update applied; inside a program
the back end updates in place when nobody else needs the old array.
Invariant: updates at positions outside the array are dropped; the result has the dtype of `x`.
Read next: index_plan.py, which turns an index into a scatter.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from jitney import _native, lax
from jitney.base import dtypes, errors
from jitney.core.avals import Array, get_aval
from jitney.core.trace import Tracer
from jitney.lax.out_sharding import check_out_sharding
from jitney.lax.shape import shape_of
from jitney.numpy import arithmetic, ufuncs
from jitney.numpy.dynamic_slices import holds_slice, plain_index
from jitney.numpy.index_parsing import Parsed, is_array_entry, parse
from jitney.numpy.index_plan import make_indexer
from jitney.numpy.indexing import (
    getitem,
    read_eagerly,
    restored,
    rewriting_take,
    separated,
    take_parsed,
)
from jitney.numpy.jitted import inlined
from jitney.numpy.promotion import check_arraylike, convert, unwrapped

_current_trace = _native.current_trace
_PROMISE = lax.GatherScatterMode.PROMISE_IN_BOUNDS

# --- what x.at is ----------------------------------------------------------------------------


class IndexUpdateHelper:
    """`x.at`: give it an index."""

    __slots__ = ("array",)

    def __init__(self, array: Any):
        self.array = array

    def __getitem__(self, index: Any) -> IndexUpdateRef:
        if holds_slice(index):
            index = plain_index(self.array, index)
        return IndexUpdateRef(self.array, index)

    def __repr__(self):
        return f"_IndexUpdateHelper({self.array!r})"


class IndexUpdateRef:
    """`x.at[index]`: a place in an array, and what can be done there.

    Every method takes `indices_are_sorted` and `unique_indices` (promises the caller makes),
    `mode` ("drop" or "fill", "clip", "promise_in_bounds") and `wrap_negative_indices`.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any):
        self.array, self.index = array, index

    def __repr__(self):
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(self, *, indices_are_sorted: bool = False, unique_indices: bool = False, mode=None,
            fill_value=None, out_sharding=None, wrap_negative_indices: bool = True):
        """The elements there; mode "fill" gives `fill_value` (NaN) outside the array."""
        check_out_sharding(".at[].get", out_sharding)
        x, idx = self.array, self.index
        mode = None if mode is None else lax.GatherScatterMode.from_any(mode)
        if mode is None and wrap_negative_indices and not (indices_are_sorted or unique_indices):
            return getitem(x, idx)
        if type(x) is Array and _current_trace() is None:
            return read_eagerly(x, idx, mode, fill_value, bool(unique_indices),
                                bool(indices_are_sorted), bool(wrap_negative_indices))
        return rewriting_take(x, idx, indices_are_sorted, unique_indices, mode, fill_value,
                              wrap_negative_indices)

    def set(self, values, *, indices_are_sorted: bool = False, unique_indices: bool = False,
            mode=None, out_sharding=None, wrap_negative_indices: bool = True):
        """The array with the elements there replaced by `values`."""
        check_out_sharding(".at[].set", out_sharding)
        return _update("set", self, values, mode, unique_indices, indices_are_sorted,
                       wrap_negative_indices)

    def add(self, values, *, indices_are_sorted: bool = False, unique_indices: bool = False,
            mode=None, out_sharding=None, wrap_negative_indices: bool = True):
        """`values` added; positions that occur twice are added to twice."""
        check_out_sharding(".at[].add", out_sharding)
        return _update("add", self, values, mode, unique_indices, indices_are_sorted,
                       wrap_negative_indices)

    def subtract(self, values, *, indices_are_sorted: bool = False, unique_indices: bool = False,
                 mode=None, out_sharding=None, wrap_negative_indices: bool = True):
        """`values` subtracted."""
        check_out_sharding(".at[].subtract", out_sharding)
        return _update("subtract", self, values, mode, unique_indices, indices_are_sorted,
                       wrap_negative_indices)

    def multiply(self, values, *, indices_are_sorted: bool = False, unique_indices: bool = False,
                 mode=None, out_sharding=None, wrap_negative_indices: bool = True):
        """Multiplied by `values`."""
        check_out_sharding(".at[].multiply", out_sharding)
        return _update("multiply", self, values, mode, unique_indices, indices_are_sorted,
                       wrap_negative_indices)

    mul = multiply

    def divide(self, values, *, indices_are_sorted: bool = False, unique_indices: bool = False,
               mode=None, out_sharding=None, wrap_negative_indices: bool = True):
        """Divided by `values`."""
        check_out_sharding(".at[].divide", out_sharding)
        return _update("divide", self, values, mode, unique_indices, indices_are_sorted,
                       wrap_negative_indices)

    def power(self, values, *, indices_are_sorted: bool = False, unique_indices: bool = False,
              mode=None, out_sharding=None, wrap_negative_indices: bool = True):
        """Raised to the power of `values`."""
        check_out_sharding(".at[].power", out_sharding)
        return _update("power", self, values, mode, unique_indices, indices_are_sorted,
                       wrap_negative_indices)

    def min(self, values, *, indices_are_sorted: bool = False, unique_indices: bool = False,
            mode=None, out_sharding=None, wrap_negative_indices: bool = True):
        """The lesser of the elements and `values`."""
        check_out_sharding(".at[].min", out_sharding)
        return _update("min", self, values, mode, unique_indices, indices_are_sorted,
                       wrap_negative_indices)

    def max(self, values, *, indices_are_sorted: bool = False, unique_indices: bool = False,
            mode=None, out_sharding=None, wrap_negative_indices: bool = True):
        """The greater of the elements and `values`."""
        check_out_sharding(".at[].max", out_sharding)
        return _update("max", self, values, mode, unique_indices, indices_are_sorted,
                       wrap_negative_indices)

    def apply(self, func: Callable, *, indices_are_sorted: bool = False,
              unique_indices: bool = False, mode=None, wrap_negative_indices: bool = True):
        """An elementwise function applied, once for each time a position occurs."""
        x = self.array
        options = _options(mode, unique_indices, indices_are_sorted, wrap_negative_indices)
        mask = _lone_mask(x, self.index)
        if mask is not None:
            mask = lax.broadcast_in_dim(mask, shape_of(x), range(mask.ndim))
            return lax.select(mask, _as_before(func(x), get_aval(x)), x)
        parsed = parse(shape_of(x), self.index)
        if unique_indices or not any(map(is_array_entry, parsed.entries)):
            # no position occurs twice: read, apply, write, and derivatives come for free
            here = take_parsed(x, parsed, _PROMISE, None, *options[1:])
            return _scatter("set", x, parsed, func(here), options)
        return _scatter_apply(x, parsed, func, options)


at = property(IndexUpdateHelper, doc="`x.at[index]`: updates that return a new array.")


def _options(mode, unique_indices, indices_are_sorted, wrap) -> tuple:
    return (lax.GatherScatterMode.from_any(mode), bool(unique_indices), bool(indices_are_sorted),
            bool(wrap))


# --- one update ------------------------------------------------------------------------------

_SCATTERS = {"set": lax.scatter, "add": lax.scatter_add, "subtract": lax.scatter_sub,
             "multiply": lax.scatter_mul, "min": lax.scatter_min, "max": lax.scatter_max}
_ELEMENTWISE = {"add": lax.add, "subtract": lax.sub, "multiply": lax.mul, "min": lax.min,
                "max": lax.max}
_OF_ONES = {"divide": ufuncs.true_divide, "power": arithmetic.power}


def _update(operation: str, place: IndexUpdateRef, values, mode, unique_indices,
            indices_are_sorted, wrap):
    x = place.array
    values = unwrapped(values)
    check_arraylike(f".at[].{operation}", values)
    options = _options(mode, unique_indices, indices_are_sorted, wrap)
    mask = _lone_mask(x, place.index)
    if mask is not None and _mask_suffices(x, mask, values):
        run = _jitted_masked if _all_concrete(x, mask, values) else _masked
        return run(operation, x, mask, values)
    parsed = parse(shape_of(x), place.index)
    pattern, positions = separated(parsed)
    if _all_concrete(x, values, *positions):
        return _jitted_scatter(operation, pattern, options, x, values, *positions)
    return _scatter(operation, x, parsed, values, options)


def _all_concrete(*values: Any) -> bool:
    return _current_trace() is None and not any(isinstance(v, Tracer) for v in values)


def _scatter_separated(operation, pattern, options, x, values, *positions):
    return _scatter(operation, x, restored(pattern, positions), values, options)


def _scatter(operation: str, x, parsed: Parsed, values, options: tuple):
    """The update as a scatter (divide and power: of ones, then the operation)."""
    if operation in _OF_ONES:
        ones = lax.full_like(x, 1)
        factors = _scatter("multiply", ones, parsed, values, options)
        return _OF_ONES[operation](x, factors)
    mode, unique_indices, indices_are_sorted, wrap = options
    aval = get_aval(x)
    target = lax.expand_dims(x, parsed.mask_axes) if parsed.mask_axes else x
    plan = make_indexer(shape_of(target), parsed.entries, wrap_negative_indices=wrap,
                        unique_indices=unique_indices, indices_are_sorted=indices_are_sorted)
    if 0 in plan.shape:
        _check_fits(values, plan.shape)
        return x
    target, values = _common_type(operation, target, values)
    values = _spread(values, plan.shape)
    if plan.new_axes:
        values = lax.squeeze(values, plan.new_axes)
    if plan.reversed_axes:
        values = lax.rev(values, plan.reversed_axes)
    out = _SCATTERS[operation](
        target, plan.indices, values, lax.ScatterDimensionNumbers(*plan.numbers), mode=mode,
        indices_are_sorted=plan.indices_are_sorted, unique_indices=plan.unique_indices)
    if parsed.mask_axes:
        out = lax.squeeze(out, parsed.mask_axes)
    return _as_before(out, aval)


def _common_type(operation: str, x, values) -> tuple[Any, Any]:
    """Both operands in the type they are combined in; a warning when it is not that of `x`."""
    before = get_aval(x)
    given = get_aval(values)
    dtype, weak = dtypes.promote(((before.dtype, before.weak_type),
                                  (given.dtype, given.weak_type)))
    if dtype != before.dtype:
        warnings.warn(
            "scatter inputs have incompatible types: cannot safely cast value from "
            f"dtype={given.dtype} to dtype={before.dtype} with jax_numpy_dtype_promotion=standard. "
            "In future JAX releases this will result in an error. Convert the values with "
            "astype first.", FutureWarning, stacklevel=5)
        if operation == "set":                       # only the values change type
            return x, lax.convert_element_type(values, before.dtype)
        x = convert(x, dtype, weak)
    return x, convert(values, dtype)


def _as_before(out, aval):
    found = get_aval(out)
    if found.dtype == aval.dtype and found.weak_type == aval.weak_type:
        return out
    if found.dtype == aval.dtype and not aval.weak_type:
        return out
    return convert(out, aval.dtype, aval.weak_type)


def _spread(values, shape: tuple[int, ...]):
    """The values broadcast to the shape of the place."""
    have = shape_of(values)
    if have == shape:
        return values
    _check_fits(values, shape)
    return lax.broadcast_in_dim(values, shape, range(len(shape) - len(have), len(shape)))


def _check_fits(values, shape: tuple[int, ...]) -> None:
    have = shape_of(values)
    if len(have) > len(shape):
        raise ValueError(f"Cannot broadcast to shape with fewer dimensions: arr_shape={have} "
                         f"shape={shape}")
    if any(n not in (1, m) for n, m in zip(have[::-1], shape[::-1], strict=False)):
        raise ValueError(
            "Incompatible types for broadcasting: input type="
            f"{get_aval(values).str_short()} and requested type="
            f"{get_aval(values).update(shape=shape).str_short()}: the values do not fit the "
            "place they are written to")


def _scatter_apply(x, parsed: Parsed, func: Callable, options: tuple):
    mode, unique_indices, indices_are_sorted, wrap = options
    target = lax.expand_dims(x, parsed.mask_axes) if parsed.mask_axes else x
    plan = make_indexer(shape_of(target), parsed.entries, wrap_negative_indices=wrap,
                        unique_indices=unique_indices, indices_are_sorted=indices_are_sorted)
    if 0 in plan.shape:
        return x
    window = [n for i, n in enumerate(plan.shape) if i not in plan.new_axes]
    out = lax.scatter_apply(
        target, plan.indices, func, lax.ScatterDimensionNumbers(*plan.numbers),
        update_shape=window, mode=mode, indices_are_sorted=plan.indices_are_sorted,
        unique_indices=plan.unique_indices)
    return lax.squeeze(out, parsed.mask_axes) if parsed.mask_axes else out


# --- masks -----------------------------------------------------------------------------------


def _lone_mask(x, idx):
    """The mask when the index is one boolean array; None for any other index.

    Under a trace only traced masks are taken: concrete ones become positions, as in JAX.
    """
    if type(idx) is tuple and len(idx) == 1:
        idx = idx[0]
    if not isinstance(idx, (np.ndarray, Array, Tracer)) or idx.dtype != np.bool_ or not idx.ndim:
        return None
    if _current_trace() is not None and not isinstance(idx, Tracer):
        return None
    return idx if idx.shape == shape_of(x)[:idx.ndim] else None


def _mask_suffices(x, mask, values) -> bool:
    """Whether every selected place gets the same values, so that where() does it."""
    inner = shape_of(x)[mask.ndim:]
    fits = len(shape_of(values)) <= len(inner)
    if not fits and isinstance(mask, Tracer) and mask._concrete() is None:
        raise errors.NonConcreteBooleanIndexError(mask)
    return fits


def _masked(operation: str, x, mask, values):
    """x where the mask is false, the combination where it is true."""
    aval = get_aval(x)
    if operation in _OF_ONES:
        factors = _masked("multiply", lax.full_like(x, 1), mask, values)
        return _OF_ONES[operation](x, factors)
    target, values = _common_type(operation, x, values)
    values = _spread(values, aval.shape)
    mask = lax.broadcast_in_dim(mask, aval.shape, range(mask.ndim))
    new = values if operation == "set" else _ELEMENTWISE[operation](target, values)
    return _as_before(lax.select(mask, new, target), aval)


_jitted_scatter = inlined(_scatter_separated, static_argnums=(0, 1, 2))
_jitted_masked = inlined(_masked, static_argnums=(0,))
