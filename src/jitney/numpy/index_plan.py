"""From a parsed index to the operands of a gather or scatter.

In: a shape and the entries `index_parsing` made. Out: an `Indexer`: the integer array of start
positions (computed by recorded operations where entries are traced), the dimension numbers, and
what remains to be done to the result (reverse axes, insert axes).

Arrays among the entries ("advanced" indices) are broadcast together, and take the place of the
first one if they stand side by side, the front otherwise: NumPy's rule.
Invariant: the gather's result has the axes of the answer, in order, but for `new_axes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.core.avals import get_aval
from jitney.lax.shape import shape_of
from jitney.lax.slicing import integer_limits, wrap_negative
from jitney.numpy.index_parsing import box_of, is_array_entry, is_static_int

_INT32 = np.dtype(np.int32)
_INT32_MAX = 2**31 - 1


class Indexer(NamedTuple):
    """Operands of a gather, and how its result becomes the answer."""

    shape: tuple[int, ...]                      # of the answer, new axes included
    indices: Any
    numbers: lax.GatherDimensionNumbers
    slice_sizes: tuple[int, ...]
    new_axes: tuple[int, ...]                   # positions in the answer
    reversed_axes: tuple[int, ...]              # positions in the gather's result
    unique_indices: bool
    indices_are_sorted: bool


def index_dtype(shape: Sequence[int]) -> np.dtype:
    """int32 unless an axis is too long for it."""
    if max(shape, default=0) <= _INT32_MAX:
        return _INT32
    return dtypes.canonicalize_dtype(np.int64)


def convert_index(i: Any, dtype: np.dtype) -> Any:
    """An index array or scalar, strongly typed in this dtype."""
    aval = get_aval(i)
    if aval.dtype == dtype and not aval.weak_type:
        return i
    return lax.convert_element_type_p.bind(i, new_dtype=dtype, weak_type=False, sharding=None)


def _is_signed(e: Any) -> bool:
    return dtypes.issubdtype(get_aval(e).dtype, np.signedinteger)


def _resolve(e: Any, n: int, wrap: bool) -> Any:
    """An integer entry with negative positions counted back from the end."""
    if is_static_int(e):
        if not wrap or e >= 0:
            return e
        return type(e)(e + n)
    if not wrap or not _is_signed(e):
        return e
    dtype = get_aval(e).dtype
    if n > integer_limits(dtype)[1]:
        e = convert_index(e, index_dtype((n,)))
        dtype = get_aval(e).dtype
    if isinstance(e, np.ndarray):               # known now: compare now
        e = e.astype(dtype)
        negative = e < 0
        return lax.select_n(negative, e, lax.add(e, dtype.type(n)))
    return wrap_negative(e, n)


def _broadcast_together(values: list, dtype: np.dtype) -> list:
    """The advanced indices with one shape and dtype."""
    shape = lax.broadcast_shapes(*[shape_of(v) for v in values])
    spread = []
    for v in values:
        have = shape_of(v)
        dims = range(len(shape) - len(have), len(shape))
        spread.append(v if have == shape else lax.broadcast_in_dim(v, shape, dims))
    return [convert_index(v, dtype) for v in spread]


class _Builder:
    """Collects, axis by axis, the parts of an `Indexer`."""

    def __init__(self, dtype: np.dtype):
        self.dtype = dtype
        self.shape: list[int] = []
        self.columns: list[tuple[Any, int]] = []    # positions, and their first batch axis
        self.batch: list[int] = []                  # shape of the batch of gathered windows
        self.offset: list[int] = []
        self.collapsed: list[int] = []
        self.index_map: list[int] = []
        self.sizes: list[int] = []
        self.new_axes: list[int] = []
        self.reversed: list[int] = []

    def place(self) -> int:
        """The next axis of the gather's result."""
        return len(self.shape) - len(self.new_axes)

    def add_advanced(self, values: list, axes: list[int]) -> None:
        for value, axis in zip(values, axes, strict=True):
            self.columns.append((value, len(self.batch)))
            self.index_map.append(axis)
        shape = shape_of(values[0])
        self.batch += shape
        self.shape += shape

    def add_new_axis(self) -> None:
        self.new_axes.append(len(self.shape))
        self.shape.append(1)

    def add_scalar(self, value: Any, axis: int) -> None:
        value = self.dtype.type(value) if is_static_int(value) else convert_index(value, self.dtype)
        self.columns.append((value, len(self.batch)))
        self.index_map.append(axis)
        self.collapsed.append(axis)

    def add_slice(self, s: slice, n: int, axis: int) -> None:
        start, size, step = box_of(s, n)
        if step == 1:
            if size != n:
                self.columns.append((self.dtype.type(start), len(self.batch)))
                self.index_map.append(axis)
            self.offset.append(self.place())
            self.sizes[axis] = size
        else:
            self.columns.append((self._strided(start, size, step), len(self.batch)))
            self.index_map.append(axis)
            self.collapsed.append(axis)
            self.batch.append(size)
            if step < 0:
                self.reversed.append(self.place())
        self.shape.append(size)

    def _strided(self, start: int, size: int, step: int) -> Any:
        first = start if step > 0 else start - (size - 1) * step
        scalar = self.dtype.type
        places = lax.add(scalar(first), lax.mul(scalar(step), lax.iota(self.dtype, size)))
        return lax.rev(places, (0,)) if step < 0 else places

    def index_array(self) -> Any:
        """The columns side by side on a last axis."""
        batch = tuple(self.batch)
        if not self.columns:
            return np.zeros((*batch, 0), self.dtype)
        whole = (*batch, 1)
        parts = [lax.broadcast_in_dim(v, whole, range(first, first + len(shape_of(v))))
                 for v, first in self.columns]
        return lax.concatenate(parts, len(batch)) if len(parts) > 1 else parts[0]


def make_indexer(shape: Sequence[int], entries: Sequence[Any], *, wrap_negative_indices: bool,
                 unique_indices: bool, indices_are_sorted: bool) -> Indexer:
    """The gather (or scatter) that does what these entries say."""
    dtype = index_dtype(shape)
    advanced = any(map(is_array_entry, entries))
    resolved, axis_of, axis = [], [], 0
    for e in entries:
        axis_of.append(axis)
        if not (e is None or isinstance(e, slice)):
            e = _resolve(e, shape[axis], wrap_negative_indices)
        resolved.append(e)
        axis += e is not None
    places = [p for p, e in enumerate(resolved)
              if advanced and not (e is None or isinstance(e, slice))]
    build = _Builder(dtype)
    build.sizes = [1] * len(shape)
    values = _broadcast_together([resolved[p] for p in places], dtype) if places else []
    axes = [axis_of[p] for p in places]
    side_by_side = bool(places) and places[-1] - places[0] + 1 == len(places)
    if places and not side_by_side:
        build.add_advanced(values, axes)
    for p, e in enumerate(resolved):
        if p in places:
            if side_by_side and p == places[0]:
                build.add_advanced(values, axes)
        elif e is None:
            build.add_new_axis()
        elif isinstance(e, slice):
            build.add_slice(e, shape[axis_of[p]], axis_of[p])
        else:
            build.add_scalar(e, axis_of[p])
    numbers = lax.GatherDimensionNumbers(
        tuple(build.offset), tuple(sorted(build.collapsed + axes)), tuple(build.index_map))
    return Indexer(
        tuple(build.shape), build.index_array(), numbers, tuple(build.sizes),
        tuple(build.new_axes), tuple(build.reversed), unique_indices or not advanced,
        indices_are_sorted or not advanced)
