"""Division with remainder, rounding, powers, common divisors.

In and out as in `ufuncs`; these stay calls of their own in a jaxpr (`jit[name=remainder …]`).
Invariant: integer division by zero is defined (remainder 0), never a trap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.lax.nary import constant as same_constant
from jitney.numpy.jitted import inlined, traced_call
from jitney.numpy.promotion import (
    arraylike,
    as_value,
    check_arraylike,
    dtype_of,
    no_out,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
    promote_dtypes,
    promote_dtypes_numeric,
    promote_shapes,
    shape_of,
    strong,
)
from jitney.numpy.ufuncs import by_parts, constant, is_integral, magnitude, strong_constant
from jitney.numpy.where import spread, where_value

# --- rounding ----------------------------------------------------------------------------------


@traced_call
def trunc(x):
    """Rounded towards zero."""
    x = arraylike("trunc", x)
    if is_integral(dtype_of(x)):
        return as_value(x)
    return where_value(lax.lt(x, constant(0, x)), lax.ceil(x), lax.floor(x))


@traced_call
def rint(x, /):
    """Rounded to the nearest integer, ties to even, as a float."""
    x = arraylike("rint", x)
    dtype = dtype_of(x)
    if is_integral(dtype):
        return lax.convert_element_type(x, dtypes.canonicalize_dtype(np.float64))
    if dtypes.is_complex(dtype):
        return lax.complex(rint(lax.real(x)), rint(lax.imag(x)))
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def _rounded(a: Any, decimals: Any) -> Any:
    dtype = dtype_of(a)
    if is_integral(dtype):
        if decimals < 0:
            raise NotImplementedError("integer np.round not implemented for decimals < 0")
        return as_value(a)
    return by_parts(lambda part: _round_float(part, decimals))(a)


def _round_float(x: Any, decimals: int) -> Any:
    even = lax.RoundingMethod.TO_NEAREST_EVEN
    if decimals == 0:
        return lax.round(x, even)
    dtype = dtype_of(x)
    narrow = dtypes.itemsize_bits(dtype) < 32
    if narrow:
        x = lax.convert_element_type(x, np.float32)
    factor = constant(float(10 ** (decimals if decimals > 0 else -decimals)), x)
    if decimals > 0:
        result = lax.div(lax.round(lax.mul(x, factor), even), factor)
    else:
        result = lax.mul(lax.round(lax.div(x, factor), even), factor)
    return lax.convert_element_type(result, dtype) if narrow else result


@traced_call(static_argnames=("decimals",))
def round(a, decimals=0, out=None):
    """Rounded to a number of decimals, ties to even."""
    a = arraylike("round", a)
    no_out("round", out)
    return _rounded(a, decimals)


@traced_call(static_argnames=("decimals",))
def around(a, decimals=0, out=None):
    """Rounded to a number of decimals, ties to even."""
    return round(a, decimals, out)


@traced_call
def modf(x, /, out=None):
    """Fractional and integral part."""
    no_out("modf", out)
    x, = promote_args_inexact("modf", x)
    whole = where_value(lax.ge(x, constant(0, x)), lax.floor(x), lax.ceil(x))
    return lax.sub(x, whole), whole


# --- division ----------------------------------------------------------------------------------


def _nonzero_divisor(x: Any) -> Any:
    return where_value(lax.eq(x, constant(0, x)), lax.full_like(x, 1), x)


@traced_call
def fmod(x1, x2, /):
    """Remainder with the sign of the dividend."""
    x1, x2 = promote_args_numeric("fmod", x1, x2)
    if dtypes.is_integer(dtype_of(x1)):
        x2 = _nonzero_divisor(x2)
    return lax.rem(x1, x2)


@traced_call
def remainder(x1, x2, /):
    """Remainder with the sign of the divisor, as Python's `%`; floats divided by zero give NaN."""
    x1, x2 = promote_args_numeric("remainder", x1, x2)
    if dtypes.is_floating(dtype_of(x1)):
        return _float_remainder(x1, x2)
    x2 = _nonzero_divisor(x2)
    rest = lax.rem(x1, x2)
    zero = constant(0, x1)
    nonzero = lax.ne(rest, zero)
    wrong_side = lax.bitwise_and(lax.ne(lax.lt(rest, zero), lax.lt(x2, zero)), nonzero)
    return lax.select(wrong_side, lax.add(rest, x2), rest)


def _float_remainder(x1: Any, x2: Any) -> Any:
    rest, _, side = _positive_remainder(x1, x2)
    return lax.mul(rest, side)


def _positive_remainder(x1: Any, x2: Any) -> tuple[Any, Any, Any]:
    """The remainder on the positive side of x2, |x2|, and the sign of x2.

    The sum turns -0.0 into 0.0, so a remainder of zero gets the sign of x2 in the end.
    """
    negative = lax.lt(x2, same_constant(x2, 0))
    side = where_value(negative, same_constant(x2, -1), same_constant(x2, 1))
    rest, size = lax.mul(lax.rem(x1, x2), side), lax.mul(x2, side)
    nothing = same_constant(rest, 0)
    return lax.add(rest, where_value(lax.lt(rest, nothing), size, nothing)), size, side


def mod(x1, x2, /):
    """Remainder with the sign of the divisor."""
    return remainder(x1, x2)


@traced_call
def floor_divide(x1, x2, /):
    """Quotient rounded down; where it is infinite, NaN or a signed zero, that of `divide`."""
    x1, x2 = promote_args_numeric("floor_divide", x1, x2)
    dtype = dtype_of(x1)
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return lax.div(x1, x2)
    if dtypes.is_integer(dtype):
        quotient = lax.div(x1, x2)
        signs_differ = lax.ne(lax.sign(x1), lax.sign(x2))
        inexact = lax.ne(lax.rem(x1, x2), constant(0, x1))
        return where_value(lax.bitwise_and(*promote_dtypes(signs_differ, inexact)),
                           lax.sub(quotient, same_constant(quotient, 1)), quotient)
    if dtypes.is_complex(dtype):
        raise TypeError("floor_divide does not support complex-valued inputs")
    return _float_floor_divide(x1, x2)


def _float_floor_divide(x1: Any, x2: Any) -> Any:
    """floor(x1 / x2), less one where a quotient below an integer was rounded up to it.

    The remainder tells where: it is nearly x2 there, and small where the quotient was rounded down.
    """
    ratio = lax.div(x1, x2)
    rest, size, _ = _positive_remainder(x1, x2)
    exact = 2.0 ** (dtypes.finfo(dtype_of(ratio)).nmant + 1)      # above, integers have gaps
    low = lax.floor(ratio)
    rounded_up = lax.gt(rest, lax.mul(size, same_constant(size, 0.5)))
    rounded_up = lax.bitwise_and(rounded_up, lax.eq(low, ratio))
    rounded_up = lax.bitwise_and(rounded_up, lax.lt(lax.abs(low), same_constant(low, exact)))
    one, nothing = same_constant(low, 1), same_constant(low, 0)
    return lax.sub(low, where_value(rounded_up, one, nothing))


def _float_divmod(x1: Any, x2: Any) -> tuple[Any, Any]:
    rest = lax.rem(x1, x2)
    difference = where_value(lax.eq(x2, constant(0, x2)), x1, lax.sub(x1, rest))
    quotient = lax.div(difference, x2)
    adjust = lax.bitwise_and(lax.ne(rest, constant(0, rest)), lax.ne(lax.sign(x2), lax.sign(rest)))
    rest = lax.select(adjust, lax.add(rest, x2), rest)
    quotient = lax.select(adjust, lax.sub(quotient, same_constant(quotient, 1)), quotient)
    return lax.round(quotient, lax.RoundingMethod.AWAY_FROM_ZERO), rest


@traced_call
def divmod(x1, x2, /):
    """Quotient rounded down, and remainder."""
    x1, x2 = promote_args_numeric("divmod", x1, x2)
    if dtypes.is_integer(dtype_of(x1)):
        return floor_divide(x1, x2), remainder(x1, x2)
    return _float_divmod(x1, x2)


# --- powers ------------------------------------------------------------------------------------


def _power(x1: Any, x2: Any) -> Any:
    check_arraylike("power", x1, x2)
    integer_exponent = dtypes.is_integer(dtype_of(x2))
    if dtypes.is_inexact(dtype_of(x1)) and integer_exponent and dtype_of(x2) != np.bool_:
        return lax.pow(*promote_shapes("power", strong(x1), x2))
    x1, x2 = promote_shapes("power", *promote_dtypes_numeric(x1, x2))
    if dtypes.is_inexact(dtype_of(x1)):
        return lax.pow(x1, x2)
    return _integer_power(x1, x2)


def _integer_power(x: Any, exponent: Any) -> Any:
    """Integers to integer powers by repeated squaring (exponents below 64; larger ones wrap)."""
    zero, one = constant(0, x), constant(1, x)
    vanishes = lax.bitwise_and(lax.eq(x, zero), lax.ne(exponent, zero))
    result = where_value(vanishes, strong_constant(0, x), strong_constant(1, x))
    for step in range(6):
        if step:
            x = lax.mul(x, x)
            exponent = lax.shift_right_logical(exponent, one)
        odd = lax.bitwise_and(exponent, one)
        result = where_value(odd, lax.mul(result, x), result)
    return result


@inlined
def _power_of_values(x1, x2, /):
    """x1 ** x2, both being data."""
    return _power(x1, x2)


def _power_of_integer(x, y):
    """x ** y for an integer y known now."""
    return lax.integer_pow(*promote_args_numeric("power", x), y)


power_of_integer = inlined(_power_of_integer, static_argnums=(1,))
power_of_values = _power_of_values


def static_exponent(x: Any) -> int | None:
    """The exponent, when it is an integer known now; else None."""
    if type(x) is int or type(x) is bool:
        return int(x)
    if isinstance(x, (np.integer, np.bool_)) or (
            isinstance(x, np.ndarray) and not x.ndim and x.dtype.kind in "iub"):
        return int(x)
    return None


def power(x1, x2, /):
    """x1 ** x2; an integer exponent known now gives repeated multiplication."""
    exponent = static_exponent(x2)
    if exponent is None:
        return power_of_values(x1, x2)
    check_arraylike("power", x1, x2)
    return power_of_integer(x1, exponent)


def pow(x1, x2, /):
    """x1 ** x2; an integer exponent known now gives repeated multiplication."""
    return power(x1, x2)


# --- integers ----------------------------------------------------------------------------------


def _any_nonzero(pair):
    return lax.reduce_or(lax.ne(pair[1], constant(0, pair[1])), tuple(range(pair[1].ndim)))


def _euclid_step(pair):
    a, b = pair
    zero = constant(0, b)
    a, b = (where_value(lax.ne(b, zero), b, a),
            where_value(lax.ne(b, zero), lax.rem(a, b), zero))
    return (where_value(lax.lt(a, b), b, a), where_value(lax.lt(a, b), a, b))


def _integers_only(name: str, x1: Any, x2: Any) -> tuple[Any, Any]:
    x1, x2 = promote_args(name, x1, x2)
    if not dtypes.is_integer(dtype_of(x1)):
        raise ValueError(f"Arguments to jax.numpy.{name} must be integers.")
    shape = np.broadcast_shapes(shape_of(x1), shape_of(x2))
    return spread(x1, shape), spread(x2, shape)


@traced_call
def gcd(x1, x2):
    """Greatest common divisor of integers."""
    x1, x2 = _integers_only("gcd", x1, x2)
    return lax.while_loop(_any_nonzero, _euclid_step, (magnitude(x1), magnitude(x2)))[0]


@traced_call
def lcm(x1, x2):
    """Least common multiple of integers."""
    x1, x2 = _integers_only("lcm", x1, x2)
    x1, x2 = magnitude(x1), magnitude(x2)
    divisor = gcd(x1, x2)
    product = lax.mul(x1, floor_divide(x2, divisor))
    return where_value(lax.eq(divisor, constant(0, divisor)), constant(0, product), product)


@traced_call
def bitwise_count(x, /):
    """Number of one bits of |x|."""
    x, = promote_args_numeric("bitwise_count", x)
    return lax.convert_element_type(lax.population_count(magnitude(x)), np.uint8)


def _bound(x: Any, limit: Any, name: str) -> Any:
    if dtypes.is_complex(dtype_of(limit)):
        raise ValueError(
            "Clip received a complex value either through the input or the min/max keywords. "
            "Complex values have no ordering and cannot be clipped. Please convert to a real "
            "value or array by taking the real or imaginary components via jax.numpy.real/imag "
            "respectively.")
    limit, x = promote_args("clip", limit, x)
    return lax.max(limit, x) if name == "min" else lax.min(limit, x)


@traced_call
def clip(arr=None, /, min=None, max=None):
    """Values limited to [min, max]; either bound may be missing."""
    if arr is None:
        raise ValueError("At most one of a and x may be None: no input was provided to the clip "
                         "function.")
    arr = arraylike("clip", arr)
    for value in (arr, min, max):
        if value is not None:
            check_arraylike("clip", value)
            if dtypes.is_complex(dtype_of(value)):
                _bound(arr, value, "min")
    if min is not None:
        arr = _bound(arr, min, "min")
    if max is not None:
        arr = _bound(arr, max, "max")
    return as_value(arr)
