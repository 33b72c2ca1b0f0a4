"""Elementwise functions of one and two arguments that are one primitive (or two).

In: arrays, tracers, NumPy values or Python numbers. Out: arrays of the promoted dtype.
Each is a jitted function that is inlined under a trace, so an eager call goes straight through
the native dispatcher.
Invariant: functions check and promote inside, so what is traced is what is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.core.avals import get_aval
from jitney.lax.nary import constant as same_constant
from jitney.numpy.jitted import inlined, named
from jitney.numpy.promotion import (
    arraylike,
    as_value,
    convert,
    dtype_of,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
    shape_of,
)
from jitney.numpy.replay import elementwise
from jitney.numpy.where import spread

_SAME, _INEXACT, _NUMERIC = promote_args, promote_args_inexact, promote_args_numeric


def unary(name: str, operation: Callable, promote: Callable, doc: str) -> Any:
    """A jitted, inlined function of one argument."""
    def function(x, /):
        return operation(*promote(name, x))
    return elementwise(named(function, name, doc))


def binary(name: str, operation: Callable, promote: Callable, doc: str,
           first: str = "x1") -> Any:
    """A jitted, inlined function of two arguments, named (x1, x2) or (x, y)."""
    if first == "x":
        def function(x, y, /):
            return operation(*promote(name, x, y))
    else:
        def function(x1, x2, /):
            return operation(*promote(name, x1, x2))
    return elementwise(named(function, name, doc))


def constant(value: Any, like: Any) -> Any:
    """A scalar of the dtype of `like`, weak if that is a weak scalar."""
    aval = get_aval(like)
    if isinstance(value, np.generic):
        value = value.item()
    return convert(value, aval.dtype, aval.weak_type and not aval.shape)


def strong_constant(value: Any, like: Any) -> Any:
    """A scalar of the dtype of `like`, not weak."""
    return convert(value, dtype_of(like))


def truth(x: Any) -> Any:
    """Elementwise `x != 0`; booleans as they are."""
    return x if dtype_of(x) == np.bool_ else lax.ne(x, constant(0, x))


def is_integral(dtype: Any) -> bool:
    """Integers and booleans."""
    return dtypes.is_integer(dtype) or dtype == np.bool_


def multiply_values(x: Any, y: Any) -> Any:
    """x * y of promoted operands; booleans by `and`."""
    x, y = promote_args("multiply", x, y)
    return lax.bitwise_and(x, y) if dtype_of(x) == np.bool_ else lax.mul(x, y)


def by_parts(operation: Callable) -> Callable:
    """A real operation; on complex numbers applied to real and imaginary part alike."""
    def apply(x):
        if dtypes.is_complex(dtype_of(x)):
            return lax.complex(operation(lax.real(x)), operation(lax.imag(x)))
        return operation(x)
    return apply


# --- one argument ------------------------------------------------------------------------------


def magnitude(x):
    """|x|; what has no sign stays as it is."""
    dtype = dtype_of(x)
    unsigned = dtype == np.bool_ or dtypes.issubdtype(dtype, np.unsignedinteger)
    return as_value(x) if unsigned else lax.abs(x)


def _real_magnitude(x):
    if dtypes.is_complex(dtype_of(x)):
        raise TypeError("ufunc 'fabs' does not support complex dtypes")
    return lax.abs(x)


def _sign(x):
    """`lax.sign` keeps the sign of zero; adding 0.0 drops it."""
    found = lax.sign(x)
    return lax.add(found, same_constant(found, 0)) if dtypes.is_inexact(dtype_of(x)) else found


abs = unary("abs", magnitude, _SAME, "Absolute value.")
absolute = unary("absolute", magnitude, _SAME, "Absolute value.")
fabs = unary("fabs", _real_magnitude, _INEXACT, "Absolute value of real numbers, as floats.")
invert = unary("invert", lax.bitwise_not, _SAME, "Bitwise (or logical) not.")
bitwise_invert = unary("bitwise_invert", lax.bitwise_not, _SAME, "Bitwise (or logical) not.")
bitwise_not = unary("bitwise_not", lax.bitwise_not, _SAME, "Bitwise (or logical) not.")
exp = unary("exp", lax.exp, _INEXACT, "e to the power x.")
exp2 = unary("exp2", lax.exp2, _INEXACT, "2 to the power x.")
expm1 = unary("expm1", lax.expm1, _INEXACT, "exp(x) - 1, exact near zero.")
log = unary("log", lax.log, _INEXACT, "Natural logarithm.")
log1p = unary("log1p", lax.log1p, _INEXACT, "log(1 + x), exact near zero.")
sin = unary("sin", lax.sin, _INEXACT, "Sine of an angle in radians.")
cos = unary("cos", lax.cos, _INEXACT, "Cosine of an angle in radians.")
tan = unary("tan", lax.tan, _INEXACT, "Tangent of an angle in radians.")
arcsin = unary("arcsin", lax.asin, _INEXACT, "Inverse sine.")
arccos = unary("arccos", lax.acos, _INEXACT, "Inverse cosine.")
arctan = unary("arctan", lax.atan, _INEXACT, "Inverse tangent.")
asin = unary("asin", lax.asin, _INEXACT, "Inverse sine.")
acos = unary("acos", lax.acos, _INEXACT, "Inverse cosine.")
atan = unary("atan", lax.atan, _INEXACT, "Inverse tangent.")
sinh = unary("sinh", lax.sinh, _INEXACT, "Hyperbolic sine.")
cosh = unary("cosh", lax.cosh, _INEXACT, "Hyperbolic cosine.")
tanh = unary("tanh", lax.tanh, _INEXACT, "Hyperbolic tangent.")
arcsinh = unary("arcsinh", lax.asinh, _INEXACT, "Inverse hyperbolic sine.")
arctanh = unary("arctanh", lax.atanh, _INEXACT, "Inverse hyperbolic tangent.")
asinh = unary("asinh", lax.asinh, _INEXACT, "Inverse hyperbolic sine.")
atanh = unary("atanh", lax.atanh, _INEXACT, "Inverse hyperbolic tangent.")
sqrt = unary("sqrt", lax.sqrt, _INEXACT, "Non-negative square root.")
cbrt = unary("cbrt", lax.cbrt, _INEXACT, "Cube root.")
square = unary("square", lax.square, _NUMERIC, "x * x.")
sign = unary("sign", _sign, _SAME, "-1, 0 or 1; x / |x| for complex x.")
positive = unary("positive", as_value, _SAME, "x itself.")
reciprocal = unary("reciprocal", lambda x: lax.integer_pow(x, -1), _INEXACT, "1 / x.")
isnan = unary("isnan", lambda x: lax.ne(x, x), _SAME, "Whether elements are NaN.")
logical_not = unary("logical_not", lambda x: lax.bitwise_not(truth(x)), _SAME, "Not x.")
deg2rad = unary("deg2rad", lambda x: lax.mul(x, constant(np.pi / 180, x)), _INEXACT,
                "Degrees to radians.")
rad2deg = unary("rad2deg", lambda x: lax.mul(x, constant(180 / np.pi, x)), _INEXACT,
                "Radians to degrees.")
_over_log_2 = by_parts(lambda y: lax.div(y, lax.log(strong_constant(2, y))))
_over_log_10 = by_parts(lambda y: lax.mul(y, strong_constant(1 / np.log(10), y)))
log2 = unary("log2", lambda x: _over_log_2(lax.log(x)), _INEXACT, "Base 2 logarithm.")
log10 = unary("log10", lambda x: _over_log_10(lax.log(x)), _INEXACT, "Base 10 logarithm.")


def radians(x, /):
    """Degrees to radians."""
    return deg2rad(x)


def degrees(x, /):
    """Radians to degrees."""
    return rad2deg(x)


def _ceil(x):
    return as_value(x) if is_integral(dtype_of(x)) else lax.ceil(x)


def _floor(x):
    return as_value(x) if is_integral(dtype_of(x)) else lax.floor(x)


ceil = unary("ceil", _ceil, _SAME, "Least integer not below x.")
floor = unary("floor", _floor, _SAME, "Greatest integer not above x.")


def _is_finite(x):
    if dtypes.is_floating(dtype_of(x)):
        return lax.is_finite(x)
    if dtypes.is_complex(dtype_of(x)):
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return lax.full(shape_of(x), True, np.bool_)


isfinite = unary("isfinite", _is_finite, _SAME, "Whether elements are finite.")


@inlined
def conjugate(x, /):
    """Complex conjugate; real values stay as they are."""
    x = arraylike("conjugate", x)
    return lax.conj(x) if dtypes.is_complex(dtype_of(x)) else as_value(x)


def conj(x, /):
    """Complex conjugate; real values stay as they are."""
    return conjugate(x)


@inlined
def real(val, /):
    """Real part."""
    val = arraylike("real", val)
    return lax.real(val) if dtypes.is_complex(dtype_of(val)) else as_value(val)


@inlined
def imag(val, /):
    """Imaginary part; zeros for real values."""
    val = arraylike("imag", val)
    return lax.imag(val) if dtypes.is_complex(dtype_of(val)) else lax.full_like(val, 0)


# --- two arguments -----------------------------------------------------------------------------

equal = binary("equal", lax.eq, _SAME, "x == y, elementwise.", "x")
not_equal = binary("not_equal", lax.ne, _SAME, "x != y, elementwise.", "x")
arctan2 = binary("arctan2", lax.atan2, _INEXACT, "Angle of the point (x2, x1).")
atan2 = binary("atan2", lax.atan2, _INEXACT, "Angle of the point (x2, x1).")
nextafter = binary("nextafter", lax.nextafter, _INEXACT, "Next float after x towards y.", "x")
true_divide = binary("true_divide", lax.div, _INEXACT, "x1 / x2, as floats.")
left_shift = binary("left_shift", lax.shift_left, _NUMERIC, "x << y.", "x")
bitwise_left_shift = binary("bitwise_left_shift", lax.shift_left, _NUMERIC, "x << y.", "x")
float_power = binary("float_power", lax.pow, _INEXACT, "x ** y, as floats.", "x")


def divide(x1, x2, /):
    """x1 / x2, as floats."""
    return true_divide(x1, x2)


def _shift_right(x1, x2):
    unsigned = dtypes.issubdtype(dtype_of(x1), np.unsignedinteger)
    return (lax.shift_right_logical if unsigned else lax.shift_right_arithmetic)(x1, x2)


right_shift = binary("right_shift", _shift_right, _NUMERIC, "x1 >> x2, keeping the sign.")
bitwise_right_shift = binary("bitwise_right_shift", _shift_right, _NUMERIC,
                             "x1 >> x2, keeping the sign.")


def _ordered(compare: Callable, strict: Callable) -> Callable:
    """Comparison of reals; of complex numbers by real part, then by imaginary part."""
    def apply(x, y):
        if not dtypes.is_complex(dtype_of(x)):
            return compare(x, y)
        shape = np.broadcast_shapes(shape_of(x), shape_of(y))
        x, y = spread(x, shape), spread(y, shape)
        by_imag = compare(lax.imag(x), lax.imag(y))
        return lax.select(lax.eq(lax.real(x), lax.real(y)), by_imag,
                          strict(lax.real(x), lax.real(y)))
    return apply


greater = binary("greater", _ordered(lax.gt, lax.gt), _SAME, "x > y, elementwise.", "x")
greater_equal = binary("greater_equal", _ordered(lax.ge, lax.gt), _SAME, "x >= y.", "x")
less = binary("less", _ordered(lax.lt, lax.lt), _SAME, "x < y, elementwise.", "x")
less_equal = binary("less_equal", _ordered(lax.le, lax.lt), _SAME, "x <= y.", "x")
