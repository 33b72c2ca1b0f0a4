"""What may stand in square brackets, in one normal form.

In: the shape of an array and anything a user wrote between brackets. Out: one entry for each
axis (an int, a slice of ints, an integer array or traced scalar) with None for each new axis.
Ellipsis is expanded, boolean masks have become positions.
Invariant: entries that are not None correspond, in order, to the axes of the array.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jitney import lax
from jitney.base import dtypes, errors
from jitney.core.avals import Array, get_aval, is_value
from jitney.core.trace import Tracer

_STATIC_INT = (int, np.integer)


class Parsed(NamedTuple):
    """`entries` index the array after axes of size 1 were inserted at `mask_axes`.

    Each such axis stands for a boolean scalar, which NumPy counts as a mask of no axes.
    """

    entries: tuple
    mask_axes: tuple[int, ...]


class Box(NamedTuple):
    """The elements one slice selects: `size` of them, `|step|` apart, from the lowest up."""

    start: int
    size: int
    step: int


def box_of(s: slice, n: int) -> Box:
    """The elements of an axis of size `n` that a slice selects.

    >>> box_of(slice(None, None, -2), 3)
    Box(start=0, size=2, step=-2)
    """
    start, stop, step = s.indices(n)
    size = len(range(start, stop, step))
    if step < 0:
        if size == 0:
            return Box(0, 0, 1)
        start += (size - 1) * step
    return Box(start, size, step)


# --- refusing what is no index ---------------------------------------------------------------


def split_items(idx: Any) -> tuple:
    """The index as a tuple; lists and strings are refused as NumPy and JAX refuse them."""
    if type(idx) is tuple:
        return idx
    if isinstance(idx, str):
        raise TypeError(f"JAX does not support string indexing; got idx={idx!r}")
    if isinstance(idx, Sequence) and not isinstance(idx, tuple) and not is_value(idx):
        parts = any(e is None or e is Ellipsis or isinstance(e, slice) for e in idx)
        how = "tuple" if parts else "array"
        raise TypeError(
            "Using a non-tuple sequence for multidimensional indexing is not allowed; use "
            f"`arr[{how}(seq)]` instead of `arr[seq]`.")
    return tuple(idx) if isinstance(idx, tuple) else (idx,)


def _static_bound(bound: Any, whole: slice, position: int) -> int | None:
    if bound is None:
        return None
    if isinstance(bound, Tracer) and bound._concrete() is None:
        raise IndexError(
            f"Slice entries must be static integers. Got {whole} at position {position}. The size "
            "of a slice must be known while tracing: for a traced start and a fixed size write "
            "lax.dynamic_slice_in_dim(x, start, size); for a traced stop, mask instead of slicing: "
            "jnp.where(jnp.arange(n) < stop, x, 0)")
    return operator.index(bound)


def _static_slice(s: slice, position: int) -> slice:
    if s.step is not None and not isinstance(s.step, Tracer) and operator.index(s.step) == 0:
        raise ValueError("slice step cannot be zero")
    return slice(*[_static_bound(b, s, position) for b in (s.start, s.stop, s.step)])


def _from_sequence(seq: Any) -> Any:
    """A list inside the tuple, as an array (traced elements are stacked)."""
    leaves = seq if not isinstance(seq, (list, tuple)) else list(seq)
    if any(isinstance(e, (Tracer, list, tuple)) and _has_tracer(e) for e in leaves):
        return lax.stack([e if is_value(e) and get_aval(e).shape else
                          lax.broadcast(e, ()) if is_value(e) else _from_sequence(e)
                          for e in leaves])
    found = np.asarray(seq)
    if found.dtype == object:
        raise IndexError(_WHAT_IS_VALID + f" Got {seq}")
    return found.astype(np.int32) if found.size == 0 and found.dtype != np.bool_ else found


def _has_tracer(x: Any) -> bool:
    return isinstance(x, Tracer) or (isinstance(x, (list, tuple)) and any(map(_has_tracer, x)))


_WHAT_IS_VALID = ("only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or "
                  "boolean arrays are valid indices.")


def _as_array(e: Any) -> Any:
    if isinstance(e, (list, tuple)):
        e = _from_sequence(e)
    elif hasattr(e, "__jax_array__") and not is_value(e):
        e = e.__jax_array__()
    elif isinstance(e, str):
        raise TypeError(f"JAX does not support string indexing; got idx={e!r}")
    elif isinstance(e, (float, complex)):
        raise TypeError("Indexer must have integer or boolean type, got indexer with type "
                        f"{np.asarray(e).dtype}. Convert it with int(...)")
    elif not is_value(e):
        index = getattr(e, "__index__", None)
        if index is None:
            raise IndexError(f"{_WHAT_IS_VALID} Got {e}")
        return index()
    dtype = e.dtype
    if dtype != np.bool_ and not dtypes.is_integer(dtype):
        raise TypeError("Indexer must have integer or boolean type, got indexer with type "
                        f"{dtype}. Convert it with x.astype(int)")
    return e


# --- masks -----------------------------------------------------------------------------------


def concrete_mask(mask: Any) -> np.ndarray:
    """A boolean mask as a NumPy array; NonConcreteBooleanIndexError while it is traced."""
    if isinstance(mask, Tracer):
        value = mask._concrete()
        if value is None:
            raise errors.NonConcreteBooleanIndexError(mask)
        mask = value
    return np.asarray(mask)


def _positions(mask: Any, shape: Sequence[int], first_axis: int, position: int) -> list:
    """A mask as one integer array an axis it covers; axes of length 0 go with any length."""
    covered = list(shape[first_axis:first_axis + mask.ndim])
    for have, want in zip(mask.shape, covered, strict=False):
        if have not in (want, 0):
            raise IndexError("boolean index did not match shape of indexed array in index "
                             f"{position}: got {tuple(mask.shape)}, expected {covered}")
    return list(concrete_mask(mask).nonzero())


# --- the normal form -------------------------------------------------------------------------


def _is_mask(e: Any) -> bool:
    return not isinstance(e, _STATIC_INT) and e is not None and e is not Ellipsis \
        and not isinstance(e, slice) and e.dtype == np.bool_


def _classify(items: tuple) -> list:
    """Each item as None, Ellipsis, a static slice, a Python int, or an array."""
    out = []
    for position, e in enumerate(items):
        if e is None or e is Ellipsis:
            out.append(e)
        elif isinstance(e, slice):
            out.append(_static_slice(e, position))
        elif isinstance(e, (bool, np.bool_)):
            out.append(np.asarray(e))
        elif isinstance(e, _STATIC_INT):
            out.append(e)
        else:
            out.append(_as_array(e))
    return out


def _axes_used(e: Any) -> int:
    if e is None or e is Ellipsis:
        return 0
    return e.ndim if _is_mask(e) else 1


def parse(shape: Sequence[int], idx: Any) -> Parsed:
    """Anything between brackets in normal form, for an array of this shape."""
    items = _classify(split_items(idx))
    used = sum(map(_axes_used, items))
    if used > len(shape):
        raise IndexError(f"Too many indices: array is {len(shape)}-dimensional, but {used} were "
                         "indexed")
    dots = [i for i, e in enumerate(items) if e is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    where = dots[0] if dots else len(items)
    rest = [slice(None)] * (len(shape) - used)
    items[where:where + len(dots)] = rest
    entries: list[Any] = []
    mask_axes: list[int] = []
    axis = 0                                     # of the original array
    for position, e in enumerate(items):
        if not (e is None or isinstance(e, slice)) and _is_mask(e):
            if e.ndim == 0:
                mask_axes.append(axis + len(mask_axes))
                entries.append(np.arange(int(bool(concrete_mask(e)))))
            else:
                entries += _positions(e, shape, axis, position)
                axis += e.ndim
        else:
            entries.append(e)
            axis += e is not None
    return Parsed(tuple(entries), tuple(mask_axes))


def is_static_int(e: Any) -> bool:
    return isinstance(e, _STATIC_INT)


def is_array_entry(e: Any) -> bool:
    """An integer array of one or more axes (advanced indexing)."""
    return not (e is None or isinstance(e, (slice, int, np.integer))) and e.ndim > 0


def is_concrete_mask(idx: Any) -> bool:
    """A boolean array that is here now, alone between the brackets."""
    return isinstance(idx, (np.ndarray, Array)) and idx.dtype == np.bool_ and idx.ndim > 0
