"""The threefry2x32 generator: its primitive, and seeds, splits and bits in terms of it.

In: raw key data, uint32[..., 2]. Out: raw keys or random bits, with the batch axes in front.
The cipher: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
Invariant: with partitionable counters a bit depends on its own index only, not on the shape.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitney.base import config, dtypes
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.primitive import Primitive
from jitney.lax.arithmetic import add, mul
from jitney.lax.bits import bitwise_and, bitwise_or, bitwise_xor, shift_left, shift_right_logical
from jitney.lax.cast import convert
from jitney.lax.joining import concatenate
from jitney.lax.nary import batch_broadcasting, common_shape
from jitney.lax.random_keys import PRNGImpl, register_implementation
from jitney.lax.shape import (
    broadcast_in_dim,
    broadcasted_iota,
    expand_dims,
    full,
    iota,
    reshape,
    shape_of,
)
from jitney.lax.slicing import index_in_dim, slice_in_dim
from jitney.transforms.jvp import define_zero_jvp

_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)

# --- the cipher ------------------------------------------------------------------------------


def threefry2x32(key0, key1, count0, count1):
    """Two words of key and two of counter, all uint32 of one shape (or scalars): two of bits."""
    return threefry2x32_p.bind(key0, key1, count0, count1)


threefry2x32_p = Primitive("threefry2x32", multiple_results=True)


@threefry2x32_p.def_abstract
def _threefry_type(*avals):
    for a in avals:
        if a.dtype != _U32:
            raise TypeError("Arguments to threefry2x32 must have uint32 type, got "
                            f"{[str(x.dtype) for x in avals]}")
    out = ShapedArray(common_shape("threefry2x32", avals), _U32)
    return [out, out]


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


@threefry2x32_p.def_reference
def _threefry_reference(k0, k1, x0, x1):
    keys = [k0, k1, k0 ^ k1 ^ _U32.type(0x1BD11BDA)]
    k0, k1, x0, x1 = np.broadcast_arrays(k0, k1, x0, x1)
    x0, x1 = x0 + keys[0], x1 + keys[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = (x1 << _U32.type(rotation)) | (x1 >> _U32.type(32 - rotation))
            x1 = x0 ^ x1
        x0 = x0 + keys[(group + 1) % 3]
        x1 = x1 + keys[(group + 2) % 3] + _U32.type(group + 1)
    return [x0, x1]


define_zero_jvp(threefry2x32_p)
batch_broadcasting(threefry2x32_p)

# --- keys and counters -----------------------------------------------------------------------


def _words(raw: Any) -> tuple[Any, Any]:
    """The two words of each key."""
    return tuple(index_in_dim(raw, i, -1, keepdims=False) for i in (0, 1))


def _cipher(raw: Any, high: Any, low: Any) -> list:
    """The cipher under each of a batch of keys, on counters of one shape: batch axes first."""
    shape, batch = shape_of(low), shape_of(raw)[:-1]
    keys = _words(raw)
    if not batch:
        return threefry2x32(*keys, high, low)
    whole = (*batch, *shape)
    keys = [broadcast_in_dim(k, whole, range(len(batch))) for k in keys]
    counts = [c if not shape_of(c) else broadcast_in_dim(c, whole, range(len(batch), len(whole)))
              for c in (high, low)]
    return threefry2x32(*keys, *counts)


def _flat_index(shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """At each place of `shape` its row-major index."""
    total, stride = None, 1
    for axis in range(len(shape) - 1, -1, -1):
        part = broadcasted_iota(dtype, shape, axis)
        if stride != 1:
            part = mul(part, dtype.type(stride))
        total = part if total is None else add(total, part)
        stride *= shape[axis]
    return dtype.type(0) if total is None else total


def counters(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The 64-bit row-major index at each place, as two words."""
    if math.prod(shape) < 2**32:
        return _U32.type(0), _flat_index(shape, _U32)
    with config.enable_x64(True):  # else constants would be cut to 32 bits
        index = _flat_index(shape, _U64)
        high = shift_right_logical(index, _U64.type(32))
        return convert(high, _U32, False), convert(index, _U32, False)


def _hash(raw: Any, count: int) -> Any:
    """The older layout: counters 0 … count-1, the first half in word 0, the second in word 1."""
    if count >= 2**32:
        raise NotImplementedError("more than 2³² random words in one call need "
                                  "jax_threefry_partitionable=True")
    half = (count + 1) // 2
    low = iota(_U32, half)
    high = add(low, _U32.type(half))
    if count % 2:                                          # padded with a counter 0
        high = concatenate([slice_in_dim(high, 0, half - 1), full((1,), _U32.type(0))], 0)
    words = _cipher(raw, low, high)
    joined = concatenate(words, len(shape_of(words[0])) - 1)
    return slice_in_dim(joined, 0, count, 1, -1) if count % 2 else joined


# --- the generator ---------------------------------------------------------------------------


def threefry_seed(seeds) -> Any:
    """Raw keys of integer seeds."""
    dtype = get_aval(seeds).dtype
    low = convert(seeds, _U32, False)
    if dtypes.itemsize_bits(dtype) == 64:
        wide = convert(seeds, _U64, False)
        high = convert(shift_right_logical(wide, _U64.type(32)), _U32, False)
    else:
        high = full(shape_of(seeds), _U32.type(0))
    return _joined_words(high, low)


def _joined_words(high: Any, low: Any) -> Any:
    axis = len(shape_of(low))
    return concatenate([expand_dims(high, (axis,)), expand_dims(low, (axis,))], axis)


def threefry_split(raw, shape: tuple[int, ...]) -> Any:
    """Raw keys of the given shape, from each key."""
    if config.threefry_partitionable.value:
        high, low = counters(shape)
        return _joined_words(*_cipher(raw, high, low))
    bits = _hash(raw, 2 * math.prod(shape))
    return reshape(bits, (*shape_of(raw)[:-1], *shape, 2))


def threefry_fold_in(raw, data) -> Any:
    """Each key mixed with a 32-bit number (one for all keys, or one for each)."""
    batch = shape_of(raw)[:-1]
    keys = _words(raw)
    if not batch or not shape_of(data) or batch == shape_of(data):
        return _joined_words(*threefry2x32(*keys, _U32.type(0), data))
    raise TypeError(f"fold_in: keys of shape {batch} with data of shape {shape_of(data)}")


def threefry_random_bits(raw, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Random bits of a width, of the given shape for each key."""
    if bit_width not in (8, 16, 32, 64):
        raise TypeError(f"requires 8-, 16-, 32- or 64-bit field width, got {bit_width}")
    if config.threefry_partitionable.value:
        return _bits_by_index(raw, bit_width, shape)
    return _bits_by_size(raw, bit_width, shape)


def _bits_by_index(raw, bit_width: int, shape: tuple[int, ...]) -> Any:
    first, second = _cipher(raw, *counters(shape))
    if bit_width == 64:
        return _wide(first, second)
    bits = bitwise_xor(first, second)
    return bits if bit_width == 32 else convert(bits, np.dtype(f"uint{bit_width}"), False)


def _wide(high: Any, low: Any) -> Any:
    return bitwise_or(shift_left(convert(high, _U64, False), _U64.type(32)),
                      convert(low, _U64, False))


def _bits_by_size(raw, bit_width: int, shape: tuple[int, ...]) -> Any:
    size, batch = math.prod(shape), shape_of(raw)[:-1]
    count = -(-bit_width * size // 32)
    bits, axis = _hash(raw, count), len(batch)
    if bit_width == 64:
        bits = _wide(slice_in_dim(bits, 0, size, 1, -1), slice_in_dim(bits, size, count, 1, -1))
    elif bit_width < 32:
        pieces = 32 // bit_width                           # least significant first
        wide = expand_dims(bits, (axis + 1,))
        shifts = mul(broadcasted_iota(_U32, (1,) * (axis + 1) + (pieces,), axis + 1),
                     _U32.type(bit_width))
        parts = bitwise_and(shift_right_logical(wide, shifts), _U32.type(2**bit_width - 1))
        bits = slice_in_dim(reshape(parts, (*batch, count * pieces)), 0, size, 1, -1)
        bits = convert(bits, np.dtype(f"uint{bit_width}"), False)
    return reshape(bits, (*batch, *shape))


threefry_prng_impl = register_implementation(PRNGImpl(
    key_shape=(2,), seed=threefry_seed, split=threefry_split, random_bits=threefry_random_bits,
    fold_in=threefry_fold_in, name="threefry2x32", tag="fry"))

