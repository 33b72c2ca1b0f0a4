"""Python numbers as LLVM constant text.

In: an element type name ('float', 'double', 'half', 'bfloat', 'i1' … 'i64') and a number.
Out: the operand text, exact to the last bit (floating point in hexadecimal, so that infinities,
NaNs and -0.0 survive). Equal text means equal bits and the other way round, so constants can be
compared as text.
"""

import struct

import ml_dtypes
import numpy as np

FLOAT_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
INTEGER_BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128}
INTEGER_OF_FLOAT = {"half": "i16", "bfloat": "i16", "float": "i32", "double": "i64"}
FLOAT_OF_WIDTH = {32: "float", 64: "double"}


def bits_of_type(type_name: str) -> int:
    """Width in bits of an element type.

    >>> bits_of_type("bfloat")
    16
    """
    return FLOAT_BITS.get(type_name) or INTEGER_BITS[type_name]


def is_float(type_name: str) -> bool:
    """Whether an element type is a floating-point one."""
    return type_name in FLOAT_BITS


def float_text(type_name: str, value) -> str:
    """Text of a floating-point constant, rounded to `type_name` first.

    >>> float_text("float", 1.0), float_text("half", -0.0)
    ('0x3FF0000000000000', '0xH8000')
    """
    with np.errstate(over="ignore"):
        if type_name == "double":
            return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        if type_name == "float":  # written as the double of the same value
            wide = float(np.float32(value))
            return f"0x{struct.unpack('<Q', struct.pack('<d', wide))[0]:016X}"
        if type_name == "half":
            return f"0xH{int(np.float16(value).view(np.uint16)):04X}"
        return str(int(np.asarray(value, ml_dtypes.bfloat16).view(np.int16)))


def integer_text(type_name: str, value) -> str:
    """Text of an integer constant, wrapped to the signed range of its type.

    >>> integer_text("i8", 255), integer_text("i1", 3)
    ('-1', 'true')
    """
    if type_name == "i1":
        return "true" if int(value) & 1 else "false"
    bits = INTEGER_BITS[type_name]
    wrapped = int(value) & ((1 << bits) - 1)
    return str(wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped)


def scalar_text(type_name: str, value) -> str:
    """Text of a constant of any element type."""
    if type_name in FLOAT_BITS:
        return float_text(type_name, value)
    return integer_text(type_name, value)


def splat_text(type_name: str, scalar: str) -> str:
    """Text of the vector whose lanes all hold the constant `scalar`."""
    return f"splat ({type_text(type_name, 1)} {scalar})"


def vector_text(type_name: str, values) -> str:
    """Text of a vector constant with one value for each lane."""
    lanes = ", ".join(f"{type_text(type_name, 1)} {scalar_text(type_name, v)}" for v in values)
    return f"<{lanes}>"


def type_text(type_name: str, lanes: int) -> str:
    """LLVM type of a value. A bfloat is written as the integer of its bits: LLVM calls the C
    library for bfloats that are selected or live across blocks where there are no instructions.

    >>> type_text("float", 8), type_text("i1", 1)
    ('<8 x float>', 'i1')
    """
    written = "i16" if type_name == "bfloat" else type_name
    return written if lanes == 1 else f"<{lanes} x {written}>"
