"""Sorting: sort, argsort, lexsort, partition, argpartition, sort_complex.

In: an array and an axis. Out: elements (or their positions) in order, NaN last.
Invariant: sorts are stable unless asked otherwise; descending order keeps ties in order too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney import lax
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.lax import partition as divide
from jitney.numpy.jitted import is_eager, known_as, traced_call
from jitney.numpy.manipulation import ravel
from jitney.numpy.promotion import (
    array_arguments,
    as_value,
    canonical_axis,
    check_arraylike,
    dtype_of,
    requested_dtype,
    shape_of,
)

DIVIDED_FROM = 256  # elements of a row; shorter ones are sorted as fast as divided


def _axis_of(a: Any, axis: Any) -> tuple[Any, int]:
    if axis is None:
        return ravel(a), 0
    return a, canonical_axis(axis, len(shape_of(a)))


def _no_kind(name: str, kind: Any, order: Any) -> None:
    if kind is not None:
        raise TypeError(f"'kind' argument to {name} is not supported. Use stable=True or "
                        "stable=False to specify sort stability.")
    if order is not None:
        raise TypeError(f"'order' argument to {name} is not supported.")


@traced_call(static_argnames=("axis", "kind", "order", "stable", "descending"))
def sort(a, axis=-1, *, kind=None, order=None, stable=True, descending=False):
    """Elements in order along an axis."""
    a = array_arguments("sort", a)
    _no_kind("sort", kind, order)
    a, dimension = _axis_of(a, axis)
    result = lax.sort(a, dimension=dimension, is_stable=stable)
    return lax.rev(result, (dimension,)) if descending else result


@traced_call(static_argnames=("axis", "kind", "order", "stable", "descending", "dtype"))
def argsort(a, axis=-1, *, kind=None, order=None, stable=True, descending=False, dtype=None):
    """Positions of the elements in order along an axis."""
    a = array_arguments("argsort", a)
    _no_kind("argsort", kind, order)
    a, dimension = _axis_of(a, axis)
    wanted = dtypes.canonicalize_dtype(np.int64) if dtype is None else requested_dtype(
        dtype, "argsort")
    index = lax.broadcasted_iota(wanted, shape_of(a), dimension)
    if descending:
        a, index = lax.rev(a, (dimension,)), lax.rev(index, (dimension,))
    _, found = lax.sort((a, index), dimension=dimension, is_stable=stable, num_keys=1)
    return lax.rev(found, (dimension,)) if descending else found


@traced_call(static_argnames=("axis",))
def lexsort(keys, axis=-1):
    """Positions in order of several keys, the last one first."""
    keys = tuple(keys)
    if not keys:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    check_arraylike("lexsort", *keys)
    keys = tuple(as_value(k) for k in keys)
    if len({shape_of(k) for k in keys}) > 1:
        raise ValueError("all keys need to be the same shape")
    index_dtype = dtypes.canonicalize_dtype(np.int64)
    if not shape_of(keys[0]):
        return lax.full((), 0, index_dtype)
    dimension = canonical_axis(axis, len(shape_of(keys[0])))
    index = lax.broadcasted_iota(index_dtype, shape_of(keys[0]), dimension)
    return lax.sort((*keys[::-1], index), dimension=dimension, num_keys=len(keys))[-1]


@traced_call
def sort_complex(a):
    """Elements in order, as complex numbers."""
    a = array_arguments("sort_complex", a)
    a = sort(a)
    return lax.convert_element_type(a, dtypes.canonicalize_dtype(
        dtypes.to_complex_dtype(dtype_of(a))))


def _kth(kth: Any, length: int) -> int:
    if not -length <= kth < length:
        raise ValueError(f"kth(={kth}) out of bounds ({length})")
    return kth % length if length else 0


def partition(a, kth, axis=-1):
    """Elements such that the kth is in its place, smaller ones before it.

    Raises ValueError for a `kth` outside the axis, NotImplementedError for complex numbers.
    """
    return _divided(_partition_now, _partition, a, kth, axis)


def _divided(now: Any, traced: Any, a: Any, kth: Any, axis: Any) -> Any:
    """Eager calls divide rows that are long; else the program is that of JAX, which sorts."""
    if isinstance(kth, int) and isinstance(axis, int) and is_eager(a):
        dims = np.shape(a)
        if -len(dims) <= axis < len(dims) and dims[axis] >= DIVIDED_FROM:
            return now(a, kth, axis)
    return traced(a, kth, axis)


@jit(static_argnums=(1, 2))
def _partition_now(a, kth, axis):
    a, kth, dimension = _rank_arguments("partition", a, kth, axis)
    return divide.partition(a, kth, dimension)


@jit(static_argnums=(1, 2))
def _argpartition_now(a, kth, axis):
    a, kth, dimension = _rank_arguments("argpartition", a, kth, axis)
    return divide.argpartition(a, kth, dimension)


def _rank_arguments(name: str, a: Any, kth: int, axis: int) -> tuple[Any, int, int]:
    a = array_arguments(name, a)
    if dtypes.is_complex(dtype_of(a)):
        raise NotImplementedError(f"jnp.{name} for complex dtype is not implemented.")
    dimension = canonical_axis(axis, len(shape_of(a)))
    return a, _kth(kth, shape_of(a)[dimension]), dimension


@traced_call(static_argnums=(1, 2))
@known_as("partition")
def _partition(a, kth, axis):
    a = array_arguments("partition", a)
    if dtypes.is_complex(dtype_of(a)):
        raise NotImplementedError("jnp.partition for complex dtype is not implemented.")
    dimension = canonical_axis(axis, len(shape_of(a)))
    length = shape_of(a)[dimension]
    kth = _kth(kth, length)
    flipped = _order_reversed(a)
    bottom = _order_reversed(lax.top_k(flipped, kth + 1, axis=dimension)[0])
    top = lax.top_k(a, length - kth - 1, axis=dimension)[0]
    return lax.concatenate([bottom, top], dimension)


def _order_reversed(a: Any) -> Any:
    """A map of the elements that reverses their order, and is its own inverse."""
    dtype = dtype_of(a)
    if dtype == np.bool_ or dtypes.is_integer(dtype):
        return lax.bitwise_not(a)
    return lax.neg(a)


def argpartition(a, kth, axis=-1):
    """Positions of the elements of a partition, int32; errors as there."""
    return _divided(_argpartition_now, _argpartition, a, kth, axis)


@traced_call(static_argnums=(1, 2))
@known_as("argpartition")
def _argpartition(a, kth, axis):
    a = array_arguments("argpartition", a)
    if dtypes.is_complex(dtype_of(a)):
        raise NotImplementedError("jnp.argpartition for complex dtype is not implemented.")
    dimension = canonical_axis(axis, len(shape_of(a)))
    length = shape_of(a)[dimension]
    kth = _kth(kth, length)
    order = argsort(a, axis=dimension)
    first = lax.slice_in_dim(order, 0, kth + 1, axis=dimension)
    rest = lax.slice_in_dim(order, kth + 1, length, axis=dimension)
    both = lax.concatenate([first, lax.sort(rest, dimension=dimension)], dimension)
    return lax.convert_element_type(both, np.int32)
