"""Functions about the parts and the special values of floating-point numbers.

In and out as in `ufuncs`. Out: exact results on zeros, infinities and NaN.
Invariant: where a derivative would pass through a division by zero, the division is guarded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney import lax
from jitney.api.custom_derivatives import custom_jvp
from jitney.base import dtypes
from jitney.numpy.jitted import inlined, named, traced_call
from jitney.numpy.promotion import (
    arraylike,
    as_value,
    convert,
    dtype_of,
    no_out,
    promote_args_inexact,
    promote_dtypes_inexact,
    promote_shapes,
    shape_of,
    strong,
)
from jitney.numpy.ufuncs import (
    constant,
    greater,
    imag,
    is_integral,
    isnan,
    less,
    nextafter,
    rad2deg,
    real,
    strong_constant,
)
from jitney.numpy.where import where_value

# --- tests -------------------------------------------------------------------------------------


@traced_call
def isinf(x, /):
    """Whether elements are infinite."""
    x = arraylike("isinf", x)
    dtype = dtype_of(x)
    if dtypes.is_floating(dtype):
        return lax.eq(lax.abs(x), strong_constant(np.inf, x))
    if dtypes.is_complex(dtype):
        re, im = lax.real(x), lax.imag(x)
        return lax.bitwise_or(lax.eq(lax.abs(re), strong_constant(np.inf, re)),
                              lax.eq(lax.abs(im), strong_constant(np.inf, im)))
    return lax.full(shape_of(x), False, np.bool_)


def _is_signed_infinity(name: str, infinity: float, x: Any, out: Any) -> Any:
    no_out(name, out)
    x = arraylike(name, x)
    dtype = dtype_of(x)
    if dtypes.is_floating(dtype):
        return lax.eq(x, strong_constant(infinity, x))
    if dtypes.is_complex(dtype):
        raise ValueError(f"{name} is not well defined for complex dtypes")
    return lax.full(shape_of(x), False, np.bool_)


def isposinf(x, /, out=None):
    """Whether elements are +inf."""
    return _is_signed_infinity("isposinf", np.inf, x, out)


def isneginf(x, /, out=None):
    """Whether elements are -inf."""
    return _is_signed_infinity("isneginf", -np.inf, x, out)


@traced_call
def iscomplex(x):
    """Whether elements have an imaginary part other than zero."""
    part = imag(x)
    return lax.ne(part, constant(0, part))


@traced_call
def isreal(x):
    """Whether elements have no imaginary part."""
    part = imag(x)
    return lax.eq(part, constant(0, part))


@traced_call
def signbit(x, /):
    """Whether the sign bit is set (true of -0.0)."""
    x = arraylike("signbit", x)
    dtype = dtype_of(x)
    if dtypes.is_integer(dtype):
        return lax.lt(x, strong_constant(0, x))
    if dtype == np.bool_:
        return lax.full_like(x, False)
    if not dtypes.is_floating(dtype):
        raise ValueError(f"jax.numpy.signbit is not well defined for {dtype}")
    bits = lax.bitcast_convert_type(x, np.dtype(f"int{dtypes.itemsize_bits(dtype)}"))
    last = lax.shift_right_arithmetic(bits, constant(dtypes.itemsize_bits(dtype) - 1, bits))
    return lax.convert_element_type(last, np.bool_)


@traced_call
def copysign(x1, x2, /):
    """|x1| with the sign of x2."""
    x1, x2 = promote_args_inexact("copysign", x1, x2)
    if dtypes.is_complex(dtype_of(x1)):
        raise TypeError("copysign does not support complex-valued inputs")
    return where_value(signbit(x2), lax.neg(lax.abs(x1)), lax.abs(x1))


@traced_call
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """NaN and infinities replaced by numbers."""
    x = arraylike("nan_to_num", x)
    dtype = dtype_of(x)
    if not dtypes.is_inexact(dtype):
        return as_value(x)
    if dtypes.is_complex(dtype):
        return lax.complex(nan_to_num(lax.real(x), nan=nan, posinf=posinf, neginf=neginf),
                           nan_to_num(lax.imag(x), nan=nan, posinf=posinf, neginf=neginf))
    limits = dtypes.finfo(dtype)
    posinf = convert(limits.max if posinf is None else posinf, dtype)
    neginf = convert(limits.min if neginf is None else neginf, dtype)
    x = where_value(lax.ne(x, x), convert(nan, dtype), x)
    x = where_value(lax.eq(x, constant(np.inf, x)), posinf, x)
    return where_value(lax.eq(x, constant(-np.inf, x)), neginf, x)


# --- parts -------------------------------------------------------------------------------------

_FORMATS = {2: (5, 10), 4: (8, 23), 8: (11, 52)}


def _exponent_and_mantissa_bits(dtype: Any) -> tuple[int, int]:
    if dtype == dtypes.bfloat16:
        return 8, 7
    return _FORMATS[np.dtype(dtype).itemsize]


@custom_jvp
def _frexp(x):
    dtype = dtype_of(x)
    exponent_bits, mantissa_bits = _exponent_and_mantissa_bits(dtype)
    bias = 2 ** (exponent_bits - 1) - 1
    integer = np.dtype(f"int{dtypes.itemsize_bits(dtype)}")
    tiny = lax.lt(lax.abs(x), constant(dtypes.finfo(dtype).tiny, x))
    scaled = where_value(tiny, lax.mul(x, constant(2.0 ** mantissa_bits, x)), x)
    shift = where_value(tiny, np.int32(-mantissa_bits), np.int32(0))
    bits = lax.bitcast_convert_type(scaled, integer)
    field = lax.bitwise_and(lax.shift_right_arithmetic(bits, constant(mantissa_bits, bits)),
                            constant(2 ** exponent_bits - 1, bits))
    exponent = lax.add(lax.sub(lax.convert_element_type(field, np.int32), np.int32(bias)),
                       np.int32(1))
    exponent = lax.add(shift, exponent)
    kept = constant(~((2 ** exponent_bits - 1) << mantissa_bits), bits)
    half = constant((bias - 1) << mantissa_bits, bits)
    mantissa = lax.bitcast_convert_type(lax.bitwise_or(lax.bitwise_and(bits, kept), half), dtype)
    special = lax.bitwise_or(lax.bitwise_or(isinf(x), lax.ne(x, x)), lax.eq(x, constant(0, x)))
    return (where_value(special, x, mantissa),
            where_value(special, lax.full(shape_of(x), np.int32(0)), exponent))


@_frexp.defjvp
def _frexp_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    mantissa, exponent = _frexp(x)
    scale = lax.exp2(lax.neg(lax.convert_element_type(exponent, dtype_of(x))))
    zero = np.zeros(shape_of(exponent), dtypes.float0)
    return (mantissa, exponent), (lax.mul(t, scale), zero)


@traced_call
def frexp(x, /):
    """Mantissa in [0.5, 1) and exponent: x = mantissa * 2**exponent."""
    x, = promote_dtypes_inexact(arraylike("frexp", x))
    if dtypes.is_complex(dtype_of(x)):
        raise TypeError("frexp does not support complex-valued inputs")
    x = convert(x, dtype_of(x))
    return _frexp(as_value(x))


@traced_call
def ldexp(x1, x2, /):
    """x1 * 2**x2, without overflow in between."""
    x1, x2 = arraylike("ldexp", x1, x2)
    if dtypes.is_complex(dtype_of(x1)):
        raise ValueError("ldexp not implemented for complex inputs")
    if not is_integral(dtype_of(x2)):
        raise ValueError(f"ldexp not defined for x2 of dtype {dtype_of(x2)}")
    x1, = promote_args_inexact("ldexp", x1)            # the exponent does not widen the result
    x1, x2 = promote_args_inexact("ldexp", x1, x2)
    mantissa, exponent = frexp(x1)
    total = lax.add(lax.convert_element_type(exponent, dtype_of(x1)), x2)
    positive = lax.gt(total, constant(0, total))
    mantissa = where_value(positive, lax.mul(mantissa, constant(2, mantissa)), mantissa)
    total = where_value(positive, lax.sub(total, constant(1, total)), total)
    result = lax.mul(mantissa, lax.pow(constant(2, total), total))
    untouched = lax.bitwise_or(isinf(x1), lax.eq(x1, constant(0, x1)))
    return where_value(untouched, x1, result)


@inlined
def spacing(x, /):
    """Distance to the adjacent float away from zero, with the sign of x."""
    x, = promote_args_inexact("spacing", x)
    if dtypes.is_complex(dtype_of(x)):
        raise ValueError("spacing is not defined for complex inputs")
    dtype = dtype_of(x)
    if np.dtype(dtype).itemsize < 4:
        return lax.sub(nextafter(x, strong_constant(np.inf, x)), x)
    gap = lax.sub(nextafter(x, copysign(strong_constant(np.inf, x), x)), x)
    no_gap = lax.eq(gap, strong_constant(0, gap))
    smallest = copysign(strong_constant(dtypes.finfo(dtype).smallest_subnormal, x), x)
    return where_value(no_gap, smallest, gap)


@traced_call(static_argnames=("deg",))
def angle(z, deg=False):
    """Argument of complex numbers, in radians or degrees."""
    z = arraylike("angle", z)
    re, im = real(z), imag(z)
    if not dtypes.is_inexact(dtype_of(re)):
        default = dtypes.canonicalize_dtype(float)
        re, im = convert(re, default), convert(im, default)
    if not dtypes.is_complex(dtype_of(z)):
        re, im = strong(re), strong(im)
    result = lax.atan2(im, re)
    return rad2deg(result) if deg else result


# --- special functions -------------------------------------------------------------------------


@traced_call
def arccosh(x, /):
    """Inverse hyperbolic cosine."""
    x, = promote_args_inexact("arccosh", x)
    result = lax.acosh(x)
    if dtypes.is_complex(dtype_of(x)):
        negative = lax.lt(lax.real(result), constant(0, lax.real(result)))
        result = where_value(negative, lax.neg(result), result)
    return result


acosh = arccosh


@traced_call
def heaviside(x1, x2, /):
    """0 below zero, 1 above, x2 at zero."""
    x1, x2 = promote_args_inexact("heaviside", x1, x2)
    if dtypes.is_complex(dtype_of(x1)):
        raise TypeError("heaviside does not support complex-valued inputs")
    zero = constant(0, x1)
    negative, positive = lax.lt(x1, zero), lax.gt(x1, zero)
    at_zero = where_value(lax.ne(x1, x1), x1, x2)
    return where_value(negative, zero, where_value(positive, constant(1, x1), at_zero))


@traced_call
def hypot(x1, x2, /):
    """sqrt(x1**2 + x2**2) without overflow."""
    x1, x2 = promote_args_inexact("hypot", x1, x2)
    if dtypes.is_complex(dtype_of(x1)):
        raise ValueError("jnp.hypot is not well defined for complex-valued inputs. Please convert "
                         "to real values first, such as by using abs(x)")
    x1, x2 = lax.abs(x1), lax.abs(x2)
    infinity, zero, one = constant(np.inf, x1), constant(0, x1), constant(1, x1)
    infinite = lax.bitwise_or(lax.eq(x1, infinity), lax.eq(x2, infinity))
    larger, smaller = lax.max(x1, x2), lax.min(x1, x2)
    is_zero = lax.eq(larger, zero)
    divisor = where_value(lax.eq(larger, zero), lax.full(shape_of(larger), one), larger)
    ratio = lax.div(smaller, divisor)
    result = lax.mul(larger, lax.sqrt(lax.add(one, lax.square(ratio))))
    return where_value(infinite, constant(np.inf, larger), where_value(is_zero, larger, result))


def _polynomial_at_zero(k: int, x: Any) -> Any:
    """The k-th derivative of sinc at zero, written so that it can be differentiated again."""
    value = [0.0, 1.0][k % 2 == 0] if k == 0 else (
        0.0 if k % 2 else (-1.0) ** (k // 2) / (k + 1))
    return lax.add(lax.mul(x, constant(0, x)), constant(value, x))


def _make_sinc_derivative(k: int) -> Any:
    def body(x):
        return _polynomial_at_zero(k, x)

    derivative = custom_jvp(named(body, "_sinc_maclaurin", "A derivative of sinc at zero."))

    @derivative.defjvp
    def _sinc_maclaurin_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return derivative(x), lax.mul(_sinc_derivative(k + 1)(x), t)

    return derivative


_sinc_derivatives: dict[int, Any] = {}


def _sinc_derivative(k: int) -> Any:
    if k not in _sinc_derivatives:
        _sinc_derivatives[k] = _make_sinc_derivative(k)
    return _sinc_derivatives[k]


@traced_call
def sinc(x, /):
    """sin(pi x) / (pi x), 1 at zero; differentiable there."""
    x, = promote_args_inexact("sinc", x)
    is_zero = lax.eq(x, constant(0, x))
    pi_x = lax.mul(constant(np.pi, x), x)
    safe = where_value(is_zero, constant(1, x), pi_x)
    return where_value(is_zero, _sinc_derivative(0)(as_value(pi_x)), lax.div(lax.sin(safe), safe))


@custom_jvp
def _i0(x):
    magnitude = lax.abs(x)
    return lax.mul(lax.exp(magnitude), lax.bessel_i0e(magnitude))


@_i0.defjvp
def _i0_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    magnitude = lax.abs(x)
    slope = lax.mul(lax.exp(magnitude), lax.bessel_i1e(x))
    return _i0(x), lax.mul(slope, t)


@traced_call
def i0(x):
    """Modified Bessel function of the first kind, order zero."""
    x, = promote_args_inexact("i0", x)
    if not dtypes.is_floating(dtype_of(x)):
        raise ValueError(f"Unsupported input type to jax.numpy.i0: {dtype_of(x)}")
    return _i0(as_value(x))


def _preferring_numbers(name: str, better: Any, x1: Any, x2: Any) -> Any:
    wins = lax.convert_element_type(better(x1, x2), np.bool_)
    is_nan = lax.convert_element_type(isnan(x2), np.bool_)
    return where_value(lax.bitwise_or(*promote_shapes(name, wins, is_nan)), x1, x2)


@traced_call
def fmax(x1, x2):
    """Larger value; a NaN loses against a number."""
    return _preferring_numbers("fmax", greater, *arraylike("fmax", x1, x2))


@traced_call
def fmin(x1, x2):
    """Smaller value; a NaN loses against a number."""
    return _preferring_numbers("fmin", less, *arraylike("fmin", x1, x2))
