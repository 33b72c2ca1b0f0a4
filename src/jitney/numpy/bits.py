"""Booleans packed into bytes: packbits, unpackbits.

In: arrays of booleans (or bytes). Out: bytes (or bits as uint8).
Invariant: missing bits of the last byte are zeros.
"""

from __future__ import annotations

import operator

import numpy as np

from jitney import lax
from jitney.numpy import native_routines, reductions
from jitney.numpy.jitted import known_as, traced_call
from jitney.numpy.manipulation import moveaxis, ravel
from jitney.numpy.promotion import array_arguments, canonical_axis, dtype_of, shape_of
from jitney.numpy.ufuncs import is_integral, truth


def _check_order(bitorder: str) -> None:
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")


def packbits(a, axis=None, bitorder="big"):
    """Bits along an axis as bytes."""
    a = array_arguments("packbits", a)
    _check_order(bitorder)
    if native_routines.can_run(a) and is_integral(dtype_of(a)):
        a = a if dtype_of(a).itemsize == 1 else truth(a)
        bits = ravel(a) if axis is None else a
        along = canonical_axis(0 if axis is None else axis, len(shape_of(bits)))
        return native_routines.packed_bits(bits, along, bitorder == "big")
    return _packbits(a, axis, bitorder)


@traced_call(static_argnums=(1, 2))
@known_as("packbits")
def _packbits(a, axis, bitorder):
    a = array_arguments("packbits", a)
    if not is_integral(dtype_of(a)):
        raise TypeError("Expected an input array of integer or boolean data type")
    bits = lax.convert_element_type(truth(a), np.uint8)
    if axis is None:
        bits, axis = ravel(bits), 0
    axis = canonical_axis(axis, len(shape_of(bits)))
    bits = moveaxis(bits, axis, -1)
    places = lax.iota(np.uint8, 8)
    if bitorder == "big":
        places = lax.rev(places, (0,))
    rank = len(shape_of(bits))
    missing = -shape_of(bits)[-1] % 8
    if missing:
        config = ((0, 0, 0),) * (rank - 1) + ((0, missing, 0),)
        bits = lax.pad(bits, np.uint8(0), config)
    grouped = lax.reshape(bits, (*shape_of(bits)[:-1], shape_of(bits)[-1] // 8, 8))
    shifted = lax.shift_left(grouped, lax.broadcast_to_rank(places, rank + 1))
    packed = reductions.sum(shifted, axis=-1)
    return moveaxis(lax.convert_element_type(packed, np.uint8), -1, axis)


def unpackbits(a, axis=None, count=None, bitorder="big"):
    """The bits of bytes along an axis."""
    a = array_arguments("unpackbits", a)
    _check_order(bitorder)
    if native_routines.can_run(a) and dtype_of(a) == np.uint8:
        a = ravel(a) if axis is None else a
        along = canonical_axis(0 if axis is None else axis, len(shape_of(a)))
        length = 8 * shape_of(a)[along]
        if count is not None:
            length = max(operator.index(count) + (length if count < 0 else 0), 0)
        return native_routines.unpacked_bits(a, along, bitorder == "big", length)
    return _unpackbits(a, axis, count, bitorder)


@traced_call(static_argnums=(1, 2, 3))
@known_as("unpackbits")
def _unpackbits(a, axis, count, bitorder):
    a = array_arguments("unpackbits", a)
    if dtype_of(a) != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    masks = lax.shift_left(np.uint8(1), lax.iota(np.uint8, 8))
    if bitorder == "big":
        masks = lax.rev(masks, (0,))
    if axis is None:
        a, axis = ravel(a), 0
    rank = len(shape_of(a))
    axis = canonical_axis(axis, rank)
    a = moveaxis(a, axis, -1)
    chosen = lax.bitwise_and(lax.expand_dims(a, (rank,)), lax.broadcast_to_rank(masks, rank + 1))
    bits = lax.convert_element_type(lax.gt(chosen, np.uint8(0)), np.uint8)
    bits = lax.reshape(bits, (*shape_of(a)[:-1], shape_of(a)[-1] * 8))
    if count is not None:
        length = shape_of(bits)[-1]
        end = count if count >= 0 else length + count
        if end > length:
            config = ((0, 0, 0),) * (rank - 1) + ((0, end - length, 0),)
            bits = lax.pad(bits, np.uint8(0), config)
        else:
            bits = lax.slice_in_dim(bits, 0, max(end, 0), axis=-1)
    return moveaxis(bits, -1, axis)
