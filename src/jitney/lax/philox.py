"""Counter-based generators with an explicit state: Philox 4x32-10, threefry, and the rbg keys.

In: a state uint32[4] (or uint64[2]): two words of key, two of counter. Out: the advanced state
and random bits. Philox: Salmon, Moraes, Dror, Shaw (SC 2011).
Invariant: the counter advances by the number of blocks used, so consecutive calls never overlap.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitney.core.avals import get_aval
from jitney.lax.arithmetic import add, mul, mulhi
from jitney.lax.bits import bitwise_or, bitwise_xor, shift_left
from jitney.lax.cast import bitcast_convert_type, convert
from jitney.lax.compare import lt
from jitney.lax.joining import concatenate
from jitney.lax.random_keys import PRNGImpl, register_implementation
from jitney.lax.shape import broadcast, expand_dims, iota, reshape, shape_of
from jitney.lax.slicing import index_in_dim, slice_in_dim
from jitney.lax.threefry import (
    threefry2x32,
    threefry_fold_in,
    threefry_seed,
    threefry_split,
)

_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)
_MULTIPLIERS = (_U32.type(0xD2511F53), _U32.type(0xCD9E8D57))
_WEYL = (_U32.type(0x9E3779B9), _U32.type(0xBB67AE85))


def _philox(key: list, counter: list) -> list:
    """Ten rounds: four words of counter, two of key, to four words of bits."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        high0, low0 = mulhi(c0, _MULTIPLIERS[0]), mul(c0, _MULTIPLIERS[0])
        high1, low1 = mulhi(c2, _MULTIPLIERS[1]), mul(c2, _MULTIPLIERS[1])
        c0, c1 = bitwise_xor(bitwise_xor(high1, c1), k0), low1
        c2, c3 = bitwise_xor(bitwise_xor(high0, c3), k1), low0
        k0, k1 = add(k0, _WEYL[0]), add(k1, _WEYL[1])
    return [c0, c1, c2, c3]


def _words_of(state: Any) -> list:
    """The four words of a state."""
    if get_aval(state).dtype == _U64:
        state = reshape(bitcast_convert_type(state, _U32), (4,))
    return [index_in_dim(state, i, 0, keepdims=False) for i in range(4)]


def _state_like(state: Any, words: list) -> Any:
    joined = concatenate([expand_dims(w, (0,)) for w in words], 0)
    if get_aval(state).dtype == _U64:
        return bitcast_convert_type(reshape(joined, (2, 2)), _U64)
    return joined


def _advanced(low: Any, high: Any, by: Any) -> tuple[Any, Any]:
    """A 64-bit counter increased, word by word."""
    total = add(low, by)
    return total, add(high, convert(lt(total, low), _U32, False))


def _shaped(words: Any, count: int, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Bits of a dtype from 32-bit words: one word each, two for 64 bits (low word first)."""
    if dtype == _U64:
        pairs = reshape(words, (words.shape[0] // 2, 2))
        low, high = (convert(index_in_dim(pairs, i, 1, keepdims=False), _U64, False)
                     for i in (0, 1))
        words = bitwise_or(shift_left(high, _U64.type(32)), low)
    words = slice_in_dim(words, 0, count)
    return reshape(words if dtype in (_U32, _U64) else convert(words, dtype, False), shape)


def _scalar(x: Any, size: int) -> Any:
    return broadcast(x, (size,))


def philox_generator(state, shape: tuple[int, ...], dtype: np.dtype) -> list:
    """(new state, bits) of Philox 4x32-10."""
    k0, k1, low, high = _words_of(state)
    count = math.prod(shape)
    blocks = -(-count * (2 if dtype == _U64 else 1) // 4)
    c0, c1 = _advanced(_scalar(low, blocks), _scalar(high, blocks), iota(_U32, blocks))
    words = _philox([k0, k1], [c0, c1, _scalar(k0, blocks), _scalar(k1, blocks)])
    joined = concatenate([expand_dims(w, (1,)) for w in words], 1)
    bits = _shaped(reshape(joined, (4 * blocks,)), count, shape, dtype)
    after = _advanced(low, high, _U32.type(blocks))
    return [_state_like(state, [k0, k1, *after]), bits]


def threefry_generator(state, shape: tuple[int, ...], dtype: np.dtype) -> list:
    """(new state, bits) of threefry2x32 on a 64-bit counter."""
    k0, k1, low, high = _words_of(state)
    count = math.prod(shape)
    blocks = -(-count * (2 if dtype == _U64 else 1) // 2)
    c0, c1 = _advanced(_scalar(low, blocks), _scalar(high, blocks), iota(_U32, blocks))
    words = threefry2x32(k0, k1, c0, c1)
    joined = concatenate([expand_dims(w, (1,)) for w in words], 1)
    bits = _shaped(reshape(joined, (2 * blocks,)), count, shape, dtype)
    after = _advanced(low, high, _U32.type(blocks))
    return [_state_like(state, [k0, k1, *after]), bits]


# --- keys made of a generator's state ----------------------------------------------------------


def _halves(raw: Any) -> Any:
    return reshape(raw, (*shape_of(raw)[:-1], 2, 2))


def _rbg_seed(seeds) -> Any:
    half = threefry_seed(seeds)
    return concatenate([half, half], len(shape_of(half)) - 1)


def _rbg_split(raw, shape: tuple[int, ...]) -> Any:
    """Each half is split as a threefry key."""
    parts = [threefry_split(index_in_dim(_halves(raw), i, -2, keepdims=False), shape)
             for i in (0, 1)]
    return concatenate(parts, len(shape_of(parts[0])) - 1)


def _rbg_fold_in(raw, data) -> Any:
    parts = [threefry_fold_in(index_in_dim(_halves(raw), i, -2, keepdims=False), data)
             for i in (0, 1)]
    return concatenate(parts, len(shape_of(parts[0])) - 1)


def _single_state(raw: Any) -> Any:
    if len(shape_of(raw)) != 1:
        raise NotImplementedError(
            "rbg keys generate bits one key at a time; under vmap use threefry2x32 keys")
    return raw


def _rbg_bits(raw, bit_width: int, shape: tuple[int, ...]) -> Any:
    return philox_generator(_single_state(raw), shape, np.dtype(f"uint{bit_width}"))[1]


def _unsafe_rbg_split(raw, shape: tuple[int, ...]) -> Any:
    count = math.prod(shape)
    bits = philox_generator(_single_state(raw), (10 * count, 4), _U32)[1]
    return reshape(slice_in_dim(bits, 0, 10 * count, 10), (*shape, 4))


def _unsafe_rbg_fold_in(raw, data) -> Any:
    bits = philox_generator(_rbg_seed(data), (10, 4), _U32)[1]
    return bitwise_xor(raw, index_in_dim(bits, 9, 0, keepdims=False))


rbg_prng_impl = register_implementation(PRNGImpl(
    key_shape=(4,), seed=_rbg_seed, split=_rbg_split, random_bits=_rbg_bits, fold_in=_rbg_fold_in,
    name="rbg", tag="rbg"))
unsafe_rbg_prng_impl = register_implementation(PRNGImpl(
    key_shape=(4,), seed=_rbg_seed, split=_unsafe_rbg_split, random_bits=_rbg_bits,
    fold_in=_unsafe_rbg_fold_in, name="unsafe_rbg", tag="urbg"))
