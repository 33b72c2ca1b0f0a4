"""Constants as MLIR writes them: `dense<[1, 2]>`, `dense<1.000000e+00>`, `dense<"0x…">`.

In: a NumPy array. Out: the text of a dense attribute, without its type.
Invariant: reading the text gives back every bit. A finite float is written in decimal where that
is exact, otherwise its bits are, in hexadecimal; the choices are those of MLIR's own printer, so
that a text parsed and printed again does not change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.stablehlo.types import BOOL, part_dtype

_INLINE_ELEMENTS = 100           # longer constants are written as bytes
_SHORT_DIGITS = 6


def dense_text(value: np.ndarray) -> str:
    """The attribute `dense<…>` of an array."""
    value = np.asarray(value)
    if value.dtype == dtypes.float0:
        value = np.zeros(value.shape, BOOL)
    if value.size == 0:
        return "dense<>"
    flat = np.ascontiguousarray(value).reshape(-1)
    if _is_splat(flat):
        return f"dense<{element_value_text(flat[0], value.dtype)}>"
    if value.size > _INLINE_ELEMENTS:
        return f'dense<"0x{flat.tobytes().hex().upper()}">'
    return f"dense<{_nested(value)}>"


def _is_splat(flat: np.ndarray) -> bool:
    raw = flat.view(np.uint8).reshape(flat.size, -1)
    return bool((raw == raw[0]).all())


def _nested(value: np.ndarray) -> str:
    if value.ndim == 0:
        return element_value_text(value[()], value.dtype)
    return f"[{', '.join(_nested(row) for row in value)}]"


def element_value_text(value: Any, dtype: np.dtype) -> str:
    """One element."""
    if dtype == BOOL:
        return "true" if value else "false"
    if dtypes.is_complex(dtype):
        part = part_dtype(dtype)
        return f"({float_text(value.real, part)},{float_text(value.imag, part)})"
    if dtypes.is_floating(dtype):
        return float_text(value, dtype)
    return str(int(value))


# --- floats ----------------------------------------------------------------------------------


def float_text(value: Any, dtype: np.dtype) -> str:
    """A float as decimal digits that read back exactly, or as the digits of its bits.

    >>> float_text(0.5, np.dtype(np.float32)), float_text(np.inf, np.dtype(np.float32))
    ('5.000000e-01', '0x7F800000')
    """
    stored = np.asarray(value).astype(dtype)
    wide = float(stored)
    if not np.isfinite(wide):
        return _bits_text(stored)
    sign = "-" if np.signbit(wide) else ""
    if wide == 0:
        return f"{sign}0.000000e+00"
    digits, exponent = _digits(abs(wide), _SHORT_DIGITS)
    text = sign + _scientific(digits, exponent)
    if _parsed(text, dtype) == stored:
        return text
    text = sign + _default(*_digits(abs(wide), _full_digits(dtype)), _full_digits(dtype))
    return text if "." in text else _bits_text(stored)


def _parsed(text: str, dtype: np.dtype) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.asarray(float(text)).astype(dtype)


def _bits_text(stored: np.ndarray) -> str:
    size = stored.dtype.itemsize
    return f"0x{int.from_bytes(stored.tobytes(), 'little'):0{2 * size}X}"


def _full_digits(dtype: np.dtype) -> int:
    return 2 + (int(dtypes.finfo(dtype).nmant) + 1) * 59 // 196


def _digits(value: float, count: int) -> tuple[str, int]:
    """At most `count` significant digits of a positive number, and the power of ten of the last.

    First surplus digits are cut off by an estimate from the number of bits, then what is left is
    rounded, halves up: the last digit is not always the nearest one.
    """
    numerator, denominator = value.as_integer_ratio()
    power = denominator.bit_length() - 1
    significand, exponent = numerator * 5**power, -power      # N / 2ᵖ = N · 5ᵖ / 10ᵖ
    surplus = significand.bit_length() - (count * 196 + 58) // 59
    cut = surplus * 59 // 196 if surplus > 0 else 0
    significand, exponent = significand // 10**cut, exponent + cut
    text = str(significand)
    if len(text.rstrip("0")) > count:
        dropped = len(text) - count
        significand, rest = divmod(significand, 10**dropped)
        significand += 2 * rest >= 10**dropped
        text, exponent = str(significand), exponent + dropped
    stripped = text.rstrip("0")
    return stripped, exponent + len(text) - len(stripped)


def _scientific(digits: str, exponent: int) -> str:
    """`d.dddddde±dd`."""
    power = exponent + len(digits) - 1
    return f"{digits[0]}.{digits[1:]:0<6}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _default(digits: str, exponent: int, precision: int) -> str:
    """Plain digits where few zeros are needed, `d.ddE±d` otherwise."""
    leading = exponent + len(digits) - 1
    if exponent >= 0:
        scientific = exponent > 3 or len(digits) + exponent > precision
    else:
        scientific = leading < 0 and -leading > 3
    if scientific:
        sign = "-" if leading < 0 else "+"
        return f"{digits[0]}.{digits[1:] or '0'}E{sign}{abs(leading)}"
    if exponent >= 0:
        return digits + "0" * exponent
    if leading >= 0:
        return f"{digits[:leading + 1]}.{digits[leading + 1:]}"
    return f"0.{'0' * (-leading - 1)}{digits}"
