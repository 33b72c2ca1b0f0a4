"""Bits of integers: and, or, xor, not, shifts, population count, leading zeros.

In: integers (booleans for the logical ones) of one dtype. Out: the same dtype.
Invariant: a shift by the width or more gives 0 (or the sign); shift amounts are read as unsigned.
"""

from __future__ import annotations

import numpy as np

from jitney.base import dtypes
from jitney.lax.nary import BITS, INTEGER, binary, unary
from jitney.transforms.jvp import define_zero_jvp


def _as_numpy_ints(function):
    """Compute two- and four-bit integers in eight bits."""

    def reference(*args):
        dtype = args[0].dtype
        if dtype.kind in "biu":
            return function(*args)
        wide = np.int8 if dtypes.issubdtype(dtype, np.signedinteger) else np.uint8
        return np.asarray(function(*[a.astype(wide) for a in args])).astype(dtype)

    return reference


def bitwise_not(x):
    """Every bit turned; logical negation of booleans."""
    return not_p.bind(x)


not_p = unary("not", BITS, _as_numpy_ints(np.invert))
define_zero_jvp(not_p)


def bitwise_and(x, y):
    """The bits set in both."""
    return and_p.bind(x, y)


and_p = binary("and", BITS, _as_numpy_ints(np.bitwise_and))
define_zero_jvp(and_p)


def bitwise_or(x, y):
    """The bits set in either."""
    return or_p.bind(x, y)


or_p = binary("or", BITS, _as_numpy_ints(np.bitwise_or))
define_zero_jvp(or_p)


def bitwise_xor(x, y):
    """The bits set in exactly one."""
    return xor_p.bind(x, y)


xor_p = binary("xor", BITS, _as_numpy_ints(np.bitwise_xor))
define_zero_jvp(xor_p)

# --- shifts ----------------------------------------------------------------------------------


def _unsigned(x: np.ndarray) -> np.ndarray:
    """The same bits as an unsigned 64-bit number."""
    bits = dtypes.itemsize_bits(x.dtype)
    return x.astype(np.int64).view(np.uint64) & np.uint64(2**bits - 1)


def _shift_left_reference(x, y):
    bits, amount = dtypes.itemsize_bits(x.dtype), _unsigned(y)
    shifted = np.left_shift(_unsigned(x), np.minimum(amount, np.uint64(63)))
    return np.where(amount < bits, shifted, np.uint64(0)).astype(x.dtype)


def _shift_right_logical_reference(x, y):
    bits, amount = dtypes.itemsize_bits(x.dtype), _unsigned(y)
    shifted = np.right_shift(_unsigned(x), np.minimum(amount, np.uint64(63)))
    return np.where(amount < bits, shifted, np.uint64(0)).astype(x.dtype)


def _shift_right_arithmetic_reference(x, y):
    # The sign is the top bit, also of unsigned types.
    bits, amount = dtypes.itemsize_bits(x.dtype), np.minimum(_unsigned(y), np.uint64(63))
    top = np.uint64(64 - bits)
    signed = np.left_shift(_unsigned(x), top).view(np.int64) >> top.astype(np.int64)
    return (signed >> amount.astype(np.int64)).astype(x.dtype)


def shift_left(x, y):
    """x · 2ʸ modulo the width."""
    return shift_left_p.bind(x, y)


shift_left_p = binary("shift_left", INTEGER, _shift_left_reference)
define_zero_jvp(shift_left_p)


def shift_right_logical(x, y):
    """x shifted right, zeros coming in."""
    return shift_right_logical_p.bind(x, y)


shift_right_logical_p = binary("shift_right_logical", INTEGER, _shift_right_logical_reference)
define_zero_jvp(shift_right_logical_p)


def shift_right_arithmetic(x, y):
    """x shifted right, copies of the top bit coming in."""
    return shift_right_arithmetic_p.bind(x, y)


shift_right_arithmetic_p = binary("shift_right_arithmetic", INTEGER,
                                  _shift_right_arithmetic_reference)
define_zero_jvp(shift_right_arithmetic_p)

# --- counting --------------------------------------------------------------------------------


def population_count(x):
    """The number of bits set."""
    return population_count_p.bind(x)


population_count_p = unary("population_count", INTEGER,
                           lambda x: np.bitwise_count(_unsigned(x)).astype(x.dtype))
define_zero_jvp(population_count_p)


def clz(x):
    """The number of zero bits above the highest set one."""
    return clz_p.bind(x)


def _clz_reference(x):
    value, bits = _unsigned(x), dtypes.itemsize_bits(x.dtype)
    for shift in (1, 2, 4, 8, 16, 32):                     # smear the top bit downwards
        value = value | np.right_shift(value, np.uint64(shift))
    return (bits - np.bitwise_count(value).astype(np.int64)).astype(x.dtype)


clz_p = unary("clz", INTEGER, _clz_reference)
define_zero_jvp(clz_p)

__all__ = [
    "and_p", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "clz", "clz_p", "not_p",
    "or_p", "population_count", "population_count_p", "shift_left", "shift_left_p",
    "shift_right_arithmetic", "shift_right_arithmetic_p", "shift_right_logical",
    "shift_right_logical_p", "xor_p",
]
