"""8-bit floats, 2- and 4-bit integers in machine code: wider values, rounded after each operation.

In: equations with operands or results of such a dtype. Out: values in f32 (for floats), i8 or u8
(for integers), which always are values of the format. In memory an element is a byte: `decode` and
`encode` stand where arrays enter and leave a program.
Invariant: an operation is computed in the wider type and rounded once, which is what the formats
mean elsewhere (ml_dtypes computes in float32, too); contractions and sums accumulate in f32.
"""

from typing import NamedTuple

import ml_dtypes
import numpy as np

from ..base import dtypes
from ..ir.types import is_small, is_small_float

# Bits are moved, or the result is a value of the format whenever the operands are
MOVES = frozenset("""
    jit pjit closed_call core_call remat checkpoint remat2 custom_vmap_call composite
    custom_jvp_call custom_vjp_call custom_vjp_call_jaxpr custom_linear_solve while scan cond
    reshape transpose broadcast_in_dim squeeze expand_dims slice dynamic_slice dynamic_update_slice
    concatenate rev select_n sort copy optimization_barrier stop_gradient split pad gather
    scatter reduce_max reduce_min reduce_and reduce_or argmax argmin max min clamp eq ne lt le gt ge
    is_finite iota full
""".split())  # fmt: skip
# One operation in the wider type, then rounding
ROUNDED = frozenset("""
    convert_element_type add sub mul div neg abs sign square integer_pow and or xor not add_any
    dot_general reduce_sum reduce_prod
""".split())  # fmt: skip
ROUNDED_FLOATS = frozenset("""
    rem sqrt rsqrt cbrt exp exp2 expm1 log log1p sin cos tan tanh logistic floor ceil round pow
    atan2 erf erfc sinh cosh asin acos atan asinh acosh atanh
""".split())  # fmt: skip


class Format(NamedTuple):
    """A float format: mantissa bits, exponent bias, greatest value and what is special."""

    mantissa: int
    bias: int
    greatest: float
    nan: int
    infinity: int | None  # the code of infinity, if there is one
    signed_zero: bool


def _format(name: str) -> Format:
    dtype = np.dtype(getattr(ml_dtypes, name))
    info = ml_dtypes.finfo(dtype)
    with np.errstate(all="ignore"):
        code = lambda value: int(np.asarray(value, np.float32).astype(dtype).view(np.uint8))
        infinity = code(np.inf) if np.isinf(np.asarray(np.inf).astype(dtype)) else None
    bias = 1 - int(info.minexp)
    return Format(int(info.nmant), bias, float(info.max), code(np.nan) & 0xFF, infinity,
                  "fnuz" not in name)  # fmt: skip


_FORMATS = {
    np.dtype(getattr(ml_dtypes, name)): _format(name)
    for name in ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
                 "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
}  # fmt: skip


def can_run(eqn) -> bool:
    """Whether the rule of the primitive may be used on wider values."""
    name = eqn.primitive.name
    if name == "gather":
        return "FILL" not in str(eqn.params["mode"]).upper()
    if name == "convert_element_type":
        return eqn.invars[0].aval.dtype not in (np.float64, np.complex128)
    if name in MOVES or name in ROUNDED:
        return True
    return name in ROUNDED_FLOATS and all(
        is_small_float(v.aval.dtype) for v in eqn.outvars)  # fmt: skip


def settle(g, eqn, values: list) -> list:
    """The results of a rule as values of their formats."""
    if eqn.primitive.name in MOVES:
        return values
    return [rounded(g, x, v.aval.dtype) if is_small(v.aval.dtype) else x
            for x, v in zip(values, eqn.outvars, strict=True)]  # fmt: skip


def clipped(g, x, dtype):
    """A float that is to become a small integer: within its bounds (the conversion truncates)."""
    info = dtypes.iinfo(dtype)
    low, high = (g.full(float(n), x.shape, x.dtype) for n in (info.min, info.max))
    inside = g.select(g.compare("lt", x, low), low, x)
    return g.select(g.compare("gt", inside, high), high, inside)


# --- rounding ----------------------------------------------------------------------------------


def rounded(g, x, dtype):
    """A wider value to the nearest value of the format (integers wrap around)."""
    if not is_small_float(dtype):
        return _wrapped(g, x, dtype)
    f = _FORMATS[dtype]
    full = lambda value, code="f32": g.full(value, x.shape, code)
    bits = g.bitcast(x, "u32")
    size_bits = g.ew("and", bits, full(0x7FFFFFFF, "u32"))
    size = g.bitcast(size_bits, "f32")
    shift = 23 - f.mantissa
    last = g.ew("and", _right(g, size_bits, shift), full(1, "u32"))
    near = g.add(g.add(size_bits, full((1 << shift - 1) - 1, "u32")), last)
    near = g.bitcast(g.ew("and", near, full(0xFFFFFFFF << shift & 0xFFFFFFFF, "u32")), "f32")
    # below the least normal number the last place is fixed: it is that of this sum
    step = full(2.0 ** (23 + 1 - f.bias - f.mantissa))
    small = g.sub(g.add(size, step), step)
    near = g.select(g.compare("lt", size, full(2.0 ** (1 - f.bias))), small, near)
    beyond = full(float("inf") if f.infinity is not None else float("nan"))
    near = g.select(g.compare("gt", near, full(f.greatest)), beyond, near)
    near = g.select(g.compare("ne", x, x), full(float("nan")), near)
    sign = g.ew("and", bits, full(0x80000000, "u32"))
    if not f.signed_zero:
        sign = g.select(g.compare("eq", near, full(0.0)), full(0, "u32"), sign)
    return g.bitcast(g.ew("or", g.bitcast(near, "u32"), sign), "f32")


def _wrapped(g, x, dtype):
    bits = dtypes.itemsize_bits(dtype)
    if x.dtype == "u8":
        return g.ew("and", x, g.full((1 << bits) - 1, x.shape, "u8"))
    places = g.full(8 - bits, x.shape, "i8")
    return g.ew("shift_right_arithmetic", g.ew("shift_left", x, places), places)


def _right(g, x, places: int):
    return g.ew("shift_right_logical", x, g.full(places, x.shape, x.dtype))


# --- bytes -------------------------------------------------------------------------------------


def decode(g, x, dtype):
    """Bytes as values. A float's fields are moved into place and scaled by a power of two."""
    if not is_small_float(dtype):
        return _wrapped(g, x, dtype)
    f = _FORMATS[dtype]
    full = lambda value, code="u32": g.full(value, x.shape, code)
    bits = g.convert(x, "u32")
    size_bits = g.ew("and", bits, full(0x7F))
    fields = g.ew("shift_left", size_bits, full(23 - f.mantissa))
    value = g.mul(g.bitcast(fields, "f32"), full(2.0 ** (127 - f.bias), "f32"))
    if f.infinity is not None:
        value = g.select(g.compare("ge", size_bits, full(f.infinity)),
                         full(float("nan"), "f32"), value)  # fmt: skip
        value = g.select(g.compare("eq", size_bits, full(f.infinity)),
                         full(float("inf"), "f32"), value)  # fmt: skip
    sign = g.ew("shift_left", g.ew("and", bits, full(0x80)), full(24))
    value = g.bitcast(g.ew("or", g.bitcast(value, "u32"), sign), "f32")
    if f.infinity is None:
        known = bits if not f.signed_zero else size_bits
        value = g.select(g.compare("eq", known, full(f.nan if not f.signed_zero else f.nan & 0x7F)),
                         full(float("nan"), "f32"), value)  # fmt: skip
    return value


def encode(g, x, dtype):
    """Values of the format as bytes."""
    if not is_small_float(dtype):
        return x
    f = _FORMATS[dtype]
    full = lambda value, code="u32": g.full(value, x.shape, code)
    bits = g.bitcast(x, "u32")
    size = g.bitcast(g.ew("and", bits, full(0x7FFFFFFF)), "f32")
    scaled = g.mul(size, full(2.0 ** (f.bias - 127), "f32"))
    code = _right(g, g.bitcast(scaled, "u32"), 23 - f.mantissa)
    if f.infinity is not None:
        code = g.select(g.compare("eq", size, full(float("inf"), "f32")), full(f.infinity), code)
    sign = g.ew("and", _right(g, bits, 24), full(0x80))
    if not f.signed_zero:
        sign = g.select(g.compare("eq", x, full(0.0, "f32")), full(0), sign)
    code = g.ew("or", code, sign)
    code = g.select(g.compare("ne", x, x), full(f.nan), code)
    return g.convert(code, "u8")
