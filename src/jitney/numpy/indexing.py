"""Reading with square brackets: `x[...]`, `x.at[...].get()`, and `take`.

In: an array and anything `index_parsing` understands. Out: the elements, as a slice, a dynamic
slice or a gather, whichever is the least that does it.

Outside any trace the index is split in a static pattern and dynamic positions, and the reading
is a jitted function of both: `x[i]` for a thousand values of `i` compiles once.
Invariant: positions outside the array are clamped, unless the mode is fill.
Read next: index_parsing.py, index_plan.py; array_at.py for writing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jitney import _native, lax
from jitney.base import dtypes
from jitney.core.avals import Array, get_aval, to_array
from jitney.core.trace import Tracer
from jitney.lax.shape import shape_of
from jitney.lax.slicing import wrap_negative
from jitney.numpy import native_routines
from jitney.numpy.dynamic_slices import holds_slice, sliced
from jitney.numpy.index_parsing import (
    Box,
    Parsed,
    box_of,
    is_array_entry,
    is_concrete_mask,
    is_static_int,
    parse,
)
from jitney.numpy.index_plan import convert_index, index_dtype, make_indexer
from jitney.numpy.jitted import inlined, traced_call
from jitney.numpy.promotion import array_arguments, canonical_axis

_current_trace = _native.current_trace
_FILL = lax.GatherScatterMode.FILL_OR_DROP
_CLIP = lax.GatherScatterMode.CLIP
_PATTERN_LIMIT = 8192
_MANY_CHOICES = 1 << 14  # of a mask: NumPy is called sooner than a routine (1000: 3 and 9 us)


# --- the general case ------------------------------------------------------------------------


def rewriting_take(x, idx, indices_are_sorted: bool = False, unique_indices: bool = False,
                   mode=None, fill_value=None, wrap_negative_indices: bool = True):
    """`x[idx]`, recorded with the operations JAX records."""
    parsed = parse(shape_of(x), idx)
    mode = None if mode is None else lax.GatherScatterMode.from_any(mode)
    return take_parsed(x, parsed, mode, fill_value, bool(unique_indices),
                       bool(indices_are_sorted), bool(wrap_negative_indices))


def take_parsed(x, parsed: Parsed, mode, fill_value, unique_indices: bool,
                indices_are_sorted: bool, wrap: bool):
    """The elements a parsed index selects."""
    entries = parsed.entries
    if parsed.mask_axes:
        x = lax.expand_dims(x, parsed.mask_axes)
    if mode is not _FILL and not any(map(is_array_entry, entries)):
        found = _take_box(x, entries, mode, wrap)
        if found is not None:
            return found
    plan = make_indexer(shape_of(x), entries, wrap_negative_indices=wrap,
                        unique_indices=unique_indices, indices_are_sorted=indices_are_sorted)
    if 0 in plan.shape:
        aval = get_aval(x)
        return lax.full_like(aval, 0, shape=plan.shape)
    if fill_value is not None:
        fill_value = _static_scalar(fill_value)
    out = lax.gather(x, plan.indices, plan.numbers, plan.slice_sizes,
                     unique_indices=plan.unique_indices, mode=mode, fill_value=fill_value,
                     indices_are_sorted=plan.indices_are_sorted)
    if plan.reversed_axes:
        out = lax.rev(out, plan.reversed_axes)
    return lax.expand_dims(out, plan.new_axes) if plan.new_axes else out


def _static_scalar(value: Any) -> Any:
    if isinstance(value, Tracer):
        raise ValueError("fill_value must be a concrete scalar: it is part of the program. To fill "
                         "with a traced value, use jnp.where on the result")
    if shape_of(value) != ():
        raise ValueError(f"fill_value must be a scalar, got shape {shape_of(value)}")
    return value


# --- integers and slices ---------------------------------------------------------------------


def _resolved_int(e: int, axis: int, n: int, mode, wrap: bool) -> int | None:
    """A static integer inside the axis, or None when only run time can tell what it reads."""
    if n == 0:
        raise IndexError(f"index is out of bounds for axis {axis} with size 0")
    if e < 0 and not wrap:
        return None
    found = e + n if e < 0 else e
    if 0 <= found < n:
        return found
    return min(max(found, 0), n - 1) if mode is _CLIP else None


def _take_box(x, entries: Sequence[Any], mode, wrap: bool):
    """Reading by integers and slices; None when a gather is needed."""
    shape = shape_of(x)
    boxes: list[Any] = []
    dropped, reversed_axes, new_axes = [], [], []
    static = True
    axis = out_axis = 0
    for e in entries:
        if e is None:
            new_axes.append(out_axis)
            out_axis += 1
            continue
        n = shape[axis]
        if isinstance(e, slice):
            box = box_of(e, n)
            if box.step < 0:
                reversed_axes.append(axis)
            boxes.append(box)
            out_axis += 1
        else:
            dropped.append(axis)
            found = None
            if is_static_int(e):
                found = _resolved_int(int(e), axis, n, mode, wrap)
            static = static and found is not None
            boxes.append(Box(found, 1, 1) if found is not None else e)
        axis += 1
    if static:
        x = _static_box(x, shape, boxes)
    elif any(isinstance(b, Box) and abs(b.step) != 1 for b in boxes):
        return None
    else:
        starts = _starts(shape, entries, boxes, wrap)
        sizes = tuple([b.size if isinstance(b, Box) else 1 for b in boxes])
        x = lax.dynamic_slice_p.bind(x, *starts, slice_sizes=sizes)
    return finished(x, dropped, reversed_axes, new_axes)


def finished(x, dropped: Sequence[int], reversed_axes: Sequence[int], new_axes: Sequence[int]):
    """What remains after the elements are read: reverse, drop axes of integers, insert axes."""
    if reversed_axes:
        x = lax.rev(x, reversed_axes)
    if dropped:
        x = lax.squeeze(x, dropped)
    return lax.expand_dims(x, new_axes) if new_axes else x


def _static_box(x, shape: tuple[int, ...], boxes: Sequence[Box]):
    starts = tuple([b.start for b in boxes])
    strides = tuple([abs(b.step) for b in boxes])
    limits = tuple([_limit(b, n) for b, n in zip(boxes, shape, strict=True)])
    if limits == shape and not any(starts) and all(s == 1 for s in strides):
        return x if hasattr(x, "aval") else to_array(x)
    return lax.slice(x, starts, limits, None if all(s == 1 for s in strides) else strides)


def _limit(box: Box, n: int) -> int:
    """Where the box ends; a stride's last step may reach beyond its last element."""
    if box.size == 0:
        return box.start
    if box.step <= 1:
        return box.start + (box.size - 1) * abs(box.step) + 1
    return min(box.start + box.size * box.step, n)


def _starts(shape, entries, boxes, wrap: bool) -> list:
    """Start positions of a dynamic slice, negative ones counted back by recorded operations."""
    dtype = index_dtype(shape)
    written = [e for e in entries if e is not None]
    starts = []
    for e, b in zip(written, boxes, strict=True):
        if is_static_int(e):
            starts.append(dtype.type(e))
        else:
            starts.append(dtype.type(b.start) if isinstance(b, Box) else convert_index(e, dtype))
    if not wrap:
        return starts
    return [wrap_negative(s, n) for s, n in zip(starts, shape, strict=True)]


# --- outside any trace -----------------------------------------------------------------------
# Each of the functions below is compiled once for a pattern; positions are run-time arguments.


def _read_ints(x, *positions):
    """x[i, j, …]: positions along the first axes."""
    shape = x.shape
    if len(positions) > len(shape):
        raise IndexError(f"Too many indices: array is {len(shape)}-dimensional, but "
                         f"{len(positions)} were indexed")
    for axis, n in enumerate(shape[:len(positions)]):
        if n == 0:
            raise IndexError(f"index is out of bounds for axis {axis} with size 0")
    count = len(positions)
    row = lax.dynamic_slice(x, (*positions, *[0] * (len(shape) - count)),
                            (1,) * count + shape[count:])
    return lax.squeeze(row, range(count))


def _read_box(pattern, x, *starts):
    """Boxes of sizes, strides and directions `pattern` states, at run-time positions."""
    dims, new_axes = pattern
    at = iter(starts)
    where, spans, strides = [], [], []
    dropped, reversed_axes = [], []
    for axis, (dim, n) in enumerate(zip(dims, x.shape, strict=True)):
        size, stride, kind = (n, 1, "whole") if dim is None else dim
        where.append(0 if dim is None else next(at))
        spans.append((size - 1) * stride + 1 if size else 0)
        strides.append(stride)
        if kind == "drop":
            dropped.append(axis)
        elif kind == "reverse":
            reversed_axes.append(axis)
    if starts:
        x = lax.dynamic_slice(x, where, spans, allow_negative_indices=False)
    if any(s != 1 for s in strides):
        x = lax.slice(x, (0,) * len(spans), spans, strides)
    return finished(x, dropped, reversed_axes, new_axes)


def _read_general(pattern, options, x, *values):
    """Any other index: `pattern` with the arrays and integers taken out."""
    return take_parsed(x, restored(pattern, values), *options)


_jitted_ints = inlined(_read_ints)
_jitted_box = inlined(_read_box, static_argnums=(0,))
_jitted_general = inlined(_read_general, static_argnums=(0, 1))


def separated(parsed: Parsed) -> tuple[tuple, list]:
    """A hashable pattern, and the values that are no part of it."""
    codes: list[Any] = []
    values = []
    for e in parsed.entries:
        if e is None:
            codes.append("new")
        elif isinstance(e, slice):
            codes.append((e.start, e.stop, e.step))
        else:
            codes.append("value")
            values.append(int(e) if is_static_int(e) else e)
    return (tuple(codes), parsed.mask_axes), values


def restored(pattern: tuple, values: Sequence[Any]) -> Parsed:
    """The inverse of `separated`."""
    given = iter(values)
    codes, mask_axes = pattern
    entries = [None if c == "new" else next(given) if c == "value" else slice(*c) for c in codes]
    return Parsed(tuple(entries), mask_axes)


def _box_pattern(shape: tuple[int, ...], items: tuple):
    """(pattern, starts) of an index of static integers, slices, None and Ellipsis; else None."""
    used = dots = 0
    for e in items:
        kind = type(e)
        if kind is int or kind is slice or isinstance(e, np.integer):
            used += 1
        elif e is Ellipsis:
            dots += 1
        elif e is not None:
            return None
    if dots > 1 or used > len(shape):
        return None                                  # the general reader says what is wrong
    dims: list[Any] = []
    starts: list[int] = []
    new_axes: list[int] = []
    axis = out_axis = 0
    for e in (items if dots else (*items, Ellipsis)):
        if e is None:
            new_axes.append(out_axis)
            out_axis += 1
        elif e is Ellipsis:
            skipped = len(shape) - used
            dims += [None] * skipped
            axis += skipped
            out_axis += skipped
        elif type(e) is slice:
            start, size, step = box_of(parse_slice(e), shape[axis])
            if size == shape[axis] and step == 1:
                dims.append(None)
            else:
                dims.append((size, abs(step), "reverse" if step < 0 else "keep"))
                starts.append(start)
            axis += 1
            out_axis += 1
        else:
            n, e = shape[axis], int(e)
            if n == 0:
                raise IndexError(f"index is out of bounds for axis {axis} with size 0")
            dims.append((1, 1, "drop"))
            starts.append(min(max(e + n if e < 0 else e, 0), n - 1))
            axis += 1
    return (tuple(dims), tuple(new_axes)), starts


_slice_patterns: dict[tuple, tuple] = {}


def _slice_pattern(shape: tuple[int, ...], s: slice):
    """`_box_pattern` of one slice, remembered: its patterns are few, its uses many."""
    key = (shape, s.start, s.stop, s.step)
    try:
        return _slice_patterns[key]
    except (KeyError, TypeError):
        found = _box_pattern(shape, (s,))
    if found is None:
        raise IndexError("Too many indices: array is 0-dimensional, but 1 were indexed")
    if all(b is None or type(b) is int for b in key[1:]):
        if len(_slice_patterns) >= _PATTERN_LIMIT:
            _slice_patterns.clear()
        _slice_patterns[key] = found
    return found


def parse_slice(s: slice) -> slice:
    """A slice whose bounds are Python integers."""
    try:
        hash((s.start, s.stop, s.step))
        if all(b is None or type(b) is int for b in (s.start, s.stop, s.step)):
            return s
    except TypeError:
        pass
    return parse((0,), s).entries[0]


def _read_mask(x: Array, mask: Any):
    """x[mask]: the size of the answer is a fact about values, so it is read here and now."""
    if mask.size >= _MANY_CHOICES and mask.shape == x.shape:
        found = _chosen(x, mask)
        if found is not None:
            return found
    mask = np.asarray(mask)
    if mask.shape != x.shape[:mask.ndim]:
        parse(x.shape, mask)                         # says what does not fit
    found = _native.numpy_view(x)[mask]
    aval = x.aval
    return to_array(found, type(aval)(found.shape, aval.dtype, aval.weak_type))


def _chosen(x: Array, mask: Any):
    """x[mask] of one shape by vectors, which read words of 4 and 8 bytes alone; or None."""
    if x.dtype.itemsize not in (4, 8) or x.aval.weak_type or not native_routines.can_run(x):
        return None
    if type(mask) is not Array:
        mask = to_array(mask)
    return native_routines.compressed(*[lax.reshape(a, (a.size,)) for a in (mask, x)])


def getitem(x, idx):
    """`x[idx]` for arrays and tracers."""
    if type(x) is not Array or _current_trace() is not None:
        return getitem(*sliced(x, idx)) if holds_slice(idx) else rewriting_take(x, idx)
    kind = type(idx)
    if kind is int:
        return _jitted_ints(x, idx)
    if kind is slice:
        pattern, starts = _slice_pattern(x.shape, idx)
        return _jitted_box(pattern, x, *starts) if starts else x
    if kind is tuple or idx is None or idx is Ellipsis:
        items = idx if kind is tuple else (idx,)
        found = _box_pattern(x.shape, items)
        if found is not None:
            pattern, starts = found
            if not starts and not pattern[1]:
                return x
            return _jitted_box(pattern, x, *starts)
    elif is_concrete_mask(idx) and not dtypes.is_extended(x.dtype):
        return _read_mask(x, idx)
    return getitem(*sliced(x, idx)) if holds_slice(idx) else read_eagerly(x, idx)


def read_eagerly(x, idx, mode=None, fill_value=None, unique_indices: bool = False,
                 indices_are_sorted: bool = False, wrap: bool = True):
    """The jitted reader on concrete operands, the recording one when an index is traced."""
    parsed = parse(shape_of(x), idx)
    if fill_value is not None:
        fill_value = _static_scalar(fill_value)
        fill_value = np.asarray(fill_value).item()
        if fill_value != fill_value and dtypes.is_inexact(get_aval(x).dtype):
            fill_value = None                        # NaN is the default, and equals nothing
    options = (mode, fill_value, unique_indices, indices_are_sorted, wrap)
    pattern, values = separated(parsed)
    if isinstance(x, Tracer) or any(isinstance(v, Tracer) for v in values):
        return take_parsed(x, parsed, *options)
    return _jitted_general(pattern, options, x, *values)


def setitem(x, idx, value):
    """Arrays are immutable; say what to write instead."""
    raise TypeError("JAX arrays are immutable and do not support in-place item assignment. Instead "
                    "of x[idx] = y, use x = x.at[idx].set(y) or another .at[] method.")


def iterate(x) -> Iterator:
    """The subarrays along the first axis."""
    shape = shape_of(x)
    if not shape:
        raise TypeError("iteration over a 0-d array")
    if type(x) is Array and _current_trace() is None:
        return iter([_jitted_ints(x, i) for i in range(shape[0])])
    return iter([lax.index_in_dim(x, i, keepdims=False) for i in range(shape[0])])


# --- take ------------------------------------------------------------------------------------


def _wrapped(indices, n: int):
    """Indices modulo the size of the axis."""
    dtype = get_aval(indices).dtype
    size = lax.full_like(indices, n, dtype)
    rest = lax.rem(convert_index(indices, dtype), size)
    return lax.select(lax.lt(rest, lax.full_like(rest, 0)), lax.add(rest, size), rest)


@traced_call(static_argnames=("axis", "mode", "unique_indices", "indices_are_sorted",
                              "fill_value"))
def _take(a, indices, axis=None, mode=None, unique_indices=False, indices_are_sorted=False,
          fill_value=None):
    if axis is None:
        a, axis = lax.reshape(a, (get_aval(a).size,)), 0
    shape, positions = shape_of(a), shape_of(indices)
    axis = canonical_axis(axis, len(shape))
    n = shape[axis]
    if not dtypes.is_integer(get_aval(indices).dtype):
        raise ValueError(f"indices must have an integer type, got {get_aval(indices).dtype}")
    if n == 0 and 0 not in positions:
        raise IndexError("Cannot do a non-empty jnp.take() from an empty axis.")
    gather_mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    if mode == "wrap":
        indices = _wrapped(indices, n)
    elif mode in (None, "fill"):
        gather_mode = _FILL
        if dtypes.issubdtype(get_aval(indices).dtype, np.signedinteger):
            indices = wrap_negative(indices, n)
    else:
        gather_mode = _CLIP
    count = len(positions)
    numbers = lax.GatherDimensionNumbers(
        (*range(axis), *range(axis + count, len(shape) + count - 1)), (axis,), (axis,))
    sizes = (*shape[:axis], 1 if n else 0, *shape[axis + 1:])
    if n == 0:
        return lax.full((*shape[:axis], *positions, *shape[axis + 1:]), 0, get_aval(a).dtype)
    return lax.gather(a, lax.expand_dims(indices, (count,)), numbers, sizes, mode=gather_mode,
                      unique_indices=unique_indices, indices_are_sorted=indices_are_sorted,
                      fill_value=fill_value)


def take(a, indices, axis: int | None = None, out=None, mode: str | None = None,
         unique_indices: bool = False, indices_are_sorted: bool = False, fill_value=None):
    """Elements of `a` at `indices` along an axis (of the flattened array by default).

    Indices outside give NaN (or `fill_value`); mode "clip" clamps them, "wrap" wraps them round.
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.take is not supported.")
    if mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.take is not supported. Use mode='fill', "
                                  "'clip' or 'wrap'.")
    if mode not in (None, "fill", "clip", "wrap"):
        raise ValueError(f"Invalid mode '{mode}' for np.take; use 'fill', 'clip' or 'wrap'")
    a = array_arguments("take", a)
    if isinstance(indices, (list, tuple)):
        indices = np.asarray(indices)
    indices = array_arguments("take", indices)
    return _take(a, indices, axis=axis, mode=mode, unique_indices=unique_indices,
                 indices_are_sorted=indices_are_sorted, fill_value=fill_value)


@traced_call(static_argnames=("axis", "mode", "fill_value", "wrap_negative_indices"))
def take_along_axis(arr, indices, axis: int | None = -1, mode=None, fill_value=None, *,
                    wrap_negative_indices: bool | None = None):
    """`out[..., i, ...] = arr[..., indices[..., i, ...], ...]` along one axis.

    The other axes of `arr` and `indices` are broadcast together.
    """
    arr, indices = array_arguments("take_along_axis", arr, indices)
    dtype = get_aval(indices).dtype
    if not dtypes.is_integer(dtype):
        raise TypeError(f"take_along_axis indices must be of integer type, got {dtype}")
    if axis is None:
        if len(shape_of(indices)) != 1:
            raise ValueError("take_along_axis indices must be 1D if axis=None, got shape "
                             f"{shape_of(indices)}")
        arr, axis = lax.reshape(arr, (get_aval(arr).size,)), 0
    shape, positions = shape_of(arr), shape_of(indices)
    if len(shape) != len(positions):
        raise ValueError("indices and arr must have the same number of dimensions; "
                         f"{len(positions)} vs. {len(shape)}")
    axis = canonical_axis(axis, len(shape))
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        indices = lax.convert_element_type(indices, index_dtype(shape))
    if wrap_negative_indices is not False:
        indices = wrap_negative(indices, shape[axis])
    return _take_along(arr, indices, axis, mode, fill_value)


def _take_along(arr, indices, axis: int, mode, fill_value):
    """A gather in which the other axes advance together, or run inside the window."""
    shape, positions = list(shape_of(arr)), list(shape_of(indices))
    kept = [d for d in range(len(shape)) if d == axis or shape[d] == positions[d]
            or 1 in (shape[d], positions[d])]
    if len(kept) != len(shape):
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={[tuple(positions)]} and "
                         f"{tuple(shape)} must agree but for axis {axis}")
    window = [d for d in range(len(shape))               # only arr extends along these
              if d != axis and positions[d] == 1 and shape[d] != 1]
    dropped = [d for d in range(len(shape)) if d != axis and shape[d] == 1]
    if dropped:
        arr = lax.squeeze(arr, dropped)
    batch = [d for d in range(len(shape)) if d not in window]        # axes of the index array
    indices = lax.reshape(indices, (*[positions[d] for d in batch], 1))
    place = {d: i for i, d in enumerate([d for d in range(len(shape)) if d not in dropped])}
    paired = [d for d in batch if d != axis and d not in dropped]
    numbers = lax.GatherDimensionNumbers(
        tuple(window), (place[axis],), (place[axis],),
        tuple([place[d] for d in paired]), tuple([batch.index(d) for d in paired]))
    sizes = [shape[d] if d in window else 1 for d in range(len(shape)) if d not in dropped]
    if 0 in shape and shape[axis] == 0 or any(shape[d] == 0 for d in paired):
        out = [shape[d] if d in window else positions[d] for d in range(len(shape))]
        return lax.full_like(arr, 0, shape=out)
    return lax.gather(arr, indices, numbers, sizes,
                      mode="fill" if mode is None else mode, fill_value=fill_value)
