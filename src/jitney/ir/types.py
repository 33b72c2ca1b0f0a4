"""Element types of the graph and kernel languages: their codes, sizes and kinds.

In: NumPy dtypes of avals. Out: short codes (`f32`, `i64`, `b1`, …) that every later stage uses.
Invariant: no complex and no extended dtype exists below this line; `physical_type` says how such an
array is stored (a complex array is a float array with a trailing axis of 2, a PRNG key array a
uint32 array with a trailing axis of 2).
"""

from typing import NamedTuple

import ml_dtypes
import numpy as np


class ElementType(NamedTuple):
    """One element type: its code, size in bytes in memory, and kind (f, i, u or b)."""

    code: str
    nbytes: int
    kind: str
    llvm: str


ELEMENT_TYPES = {
    t.code: t
    for t in (
        ElementType("f64", 8, "f", "double"),
        ElementType("f32", 4, "f", "float"),
        ElementType("f16", 2, "f", "half"),
        ElementType("bf16", 2, "f", "bfloat"),
        ElementType("i64", 8, "i", "i64"),
        ElementType("i32", 4, "i", "i32"),
        ElementType("i16", 2, "i", "i16"),
        ElementType("i8", 1, "i", "i8"),
        ElementType("u64", 8, "u", "i64"),
        ElementType("u32", 4, "u", "i32"),
        ElementType("u16", 2, "u", "i16"),
        ElementType("u8", 1, "u", "i8"),
        ElementType("b1", 1, "b", "i1"),
    )
}

_CODE_OF_DTYPE = {
    np.dtype(np.float64): "f64",
    np.dtype(np.float32): "f32",
    np.dtype(np.float16): "f16",
    np.dtype(ml_dtypes.bfloat16): "bf16",
    np.dtype(np.int64): "i64",
    np.dtype(np.int32): "i32",
    np.dtype(np.int16): "i16",
    np.dtype(np.int8): "i8",
    np.dtype(np.uint64): "u64",
    np.dtype(np.uint32): "u32",
    np.dtype(np.uint16): "u16",
    np.dtype(np.uint8): "u8",
    np.dtype(np.bool_): "b1",
}
DTYPE_OF_CODE = {code: dtype for dtype, code in _CODE_OF_DTYPE.items()}

# Formats that are values of a wider type here and bytes in memory (lower/small_types.py)
_SMALL_FLOATS = frozenset(
    np.dtype(getattr(ml_dtypes, name))
    for name in (
        "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
        "float8_e5m2", "float8_e5m2fnuz",
    )
)  # fmt: skip
_SMALL = {
    **{dtype: "f32" for dtype in _SMALL_FLOATS},
    np.dtype(ml_dtypes.int2): "i8",
    np.dtype(ml_dtypes.int4): "i8",
    np.dtype(ml_dtypes.uint2): "u8",
    np.dtype(ml_dtypes.uint4): "u8",
}

_PHYSICAL = {np.dtype(np.complex64): "f32", np.dtype(np.complex128): "f64"}


class UnsupportedElementType(NotImplementedError):
    """The compiler has no machine representation for this dtype yet."""


def code_of(dtype) -> str:
    """The code of the values of a real dtype.

    >>> code_of(np.dtype(np.float32)), code_of(np.dtype(ml_dtypes.float8_e5m2))
    ('f32', 'f32')
    """
    try:
        return _CODE_OF_DTYPE.get(dtype) or _SMALL[dtype]
    except (KeyError, TypeError):
        raise UnsupportedElementType(f"the compiler cannot compute with dtype {dtype}") from None


def is_complex(dtype) -> bool:
    """Whether an aval's dtype is one of the complex ones."""
    return dtype in _PHYSICAL


def is_small(dtype) -> bool:
    """Whether an element is a byte that holds a value of a wider type."""
    return dtype in _SMALL


def is_small_float(dtype) -> bool:
    """Whether an element is an 8-bit float that machine code can compute with."""
    return dtype in _SMALL_FLOATS


def is_key(dtype) -> bool:
    """Whether an aval's dtype is an extended (PRNG key) dtype."""
    return getattr(dtype, "_is_extended_dtype", False)


def physical_type(shape: tuple[int, ...], dtype) -> tuple[tuple[int, ...], str]:
    """Shape and code of the plain array that stores an array of `shape` and `dtype`."""
    if is_key(dtype):
        return shape + (dtype.itemsize // 4,), "u32"
    if dtype in _PHYSICAL:
        return shape + (2,), _PHYSICAL[dtype]
    if dtype in _SMALL_FLOATS:
        return shape, "u8"
    return shape, code_of(dtype)


def part_code(dtype) -> str:
    """The code of the values of a dtype, of the parts of a complex one, of the words of a key."""
    if is_key(dtype):
        return "u32"
    return _PHYSICAL.get(dtype) or code_of(dtype)


def nbytes_of(code: str) -> int:
    """Bytes of one element in memory."""
    return ELEMENT_TYPES[code].nbytes


def kind_of(code: str) -> str:
    """'f', 'i', 'u' or 'b'."""
    return ELEMENT_TYPES[code].kind


def bits_of(code: str) -> int:
    """Bits of one element as a value (1 for booleans)."""
    return 1 if code == "b1" else 8 * ELEMENT_TYPES[code].nbytes
