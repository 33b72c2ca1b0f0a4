"""Functions of two variables that are not plain arithmetic: pow, max, min, atan2, nextafter.

In: numbers of one dtype (for pow the exponent may be an integer). Out: the same dtype.
Invariant: max and min pass on NaN, and +0 is above -0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import ShapedArray, get_aval
from jitney.lax import compare
from jitney.lax.arithmetic import add, common_shape_of, div, mul, neg, square, sub
from jitney.lax.cast import convert
from jitney.lax.elementwise_unary import log
from jitney.lax.nary import (
    ANY,
    FLOATING,
    INEXACT,
    INTEGER,
    binary,
    broadcast_to,
    constant,
    filled,
    nary,
    small_as_wide,
    widened,
)
from jitney.lax.select import select
from jitney.lax.shape import full_like, shape_of
from jitney.transforms.jvp import define_jvp_each, define_jvp_from_answer, define_zero_jvp

# --- pow -------------------------------------------------------------------------------------


def pow(x, y):
    """xʸ; the exponent has the type of x, or an integer type."""
    return pow_p.bind(x, y)


def _pow_reference(x, y):
    if dtypes.is_integer(y.dtype):
        y = y.astype(np.complex128 if dtypes.is_complex(x.dtype) else np.float64)
    if x.dtype.kind == "c":
        return _complex_power(x.astype(np.complex128), y).astype(x.dtype)
    return np.power(x.astype(np.float64), y.astype(np.float64)).astype(x.dtype)


def _complex_power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    power = np.exp(y * np.log(np.where(x == 0, 1, x)))
    at_zero = np.where(y == 0, 1.0, np.where(np.real(y) > 0, 0.0, np.inf))
    return np.where(x == 0, at_zero, power)


pow_p = nary("pow", (INEXACT, INEXACT + INTEGER), _pow_reference)
_same_type_pow = pow_p.abstract_rule


@pow_p.def_abstract
def _pow_type(x, y):
    if dtypes.is_integer(y.dtype) and dtypes.is_inexact(x.dtype):
        y = ShapedArray(y.shape, x.dtype, y.weak_type)
        weak = x.weak_type
        aval = _same_type_pow(x, y)
        return ShapedArray(aval.shape, aval.dtype, weak)
    return _same_type_pow(x, y)


def _pow_jvp_base(t, ans, x, y):
    # d xʸ = y xʸ⁻¹ dx, without 0·∞ at y = 0.
    if not dtypes.is_integer(get_aval(y).dtype):
        return mul(t, mul(y, pow(x, sub(y, filled(y, 1)))))
    y = convert(y, get_aval(x).dtype, False)
    zero = compare.eq(y, constant(y, 0))
    shape = common_shape_of(x, y)
    safe = select(zero, filled(y, 1), y)
    factor = mul(safe, pow(x, sub(y, filled(y, 1))))
    return mul(t, select(broadcast_to(zero, shape), full_like(factor, 0, shape=shape), factor))


def _pow_jvp_exponent(t, ans, x, y):
    # d xʸ = log(x) xʸ dy; at x = 0 the logarithm counts as 0.
    zero = compare.eq(x, constant(x, 0))
    return mul(t, mul(log(select(zero, filled(x, 1), x)), ans))


define_jvp_from_answer(pow_p, _pow_jvp_base, _pow_jvp_exponent)

# --- max, min --------------------------------------------------------------------------------


def max(x, y):
    """The greater one; NaN if either is."""
    return max_p.bind(x, y)


def min(x, y):
    """The smaller one; NaN if either is."""
    return min_p.bind(x, y)


def _signed_zeros(function, at_zeros):
    """NumPy leaves open which zero it returns; here +0 is above -0."""

    def compute(x, y):
        out = function(x, y)
        if out.dtype.kind != "f":
            return out
        return np.where((x == 0) & (y == 0), at_zeros(x, y), out)

    return small_as_wide(compute)


def _extreme(name: str, function, at_zeros):
    compute = _signed_zeros(function, at_zeros)
    primitive = binary(name, ANY, compute)
    plain_type = primitive.abstract_rule

    @primitive.def_abstract
    def _extreme_type(x, y):
        if dtypes.is_extended(x.dtype):
            raise TypeError(f"{name} does not accept dtype {x.dtype} at position 0.")
        return plain_type(x, y)

    return primitive


max_p = _extreme("max", np.maximum, lambda x, y: x + y)
min_p = _extreme("min", np.minimum, lambda x, y: -(-x - y))


def _share(x: Any, y: Any, ans: Any) -> Any:
    """1 where x is the answer alone, ½ where y is as well, 0 elsewhere."""
    shape = shape_of(ans)
    is_x = broadcast_to(compare.eq(x, ans), shape)
    wins = select(is_x, filled(ans, 1), filled(ans, 0))
    is_y = broadcast_to(compare.eq(y, ans), shape)
    return div(wins, select(is_y, filled(ans, 2), filled(ans, 1)))


for _p in (max_p, min_p):
    define_jvp_from_answer(_p, lambda t, ans, x, y: mul(t, _share(x, y, ans)),
                           lambda t, ans, x, y: mul(t, _share(y, x, ans)))

# --- atan2 -----------------------------------------------------------------------------------


def atan2(x, y):
    """The angle of the point (y, x): atan(x/y) in the right quadrant."""
    return atan2_p.bind(x, y)


def _atan2(x, y):
    if x.dtype.kind == "c":
        return -1j * np.log((y + 1j * x) / np.sqrt(x * x + y * y))
    return np.arctan2(x, y)


atan2_p = binary("atan2", INEXACT, widened(_atan2))
define_jvp_each(atan2_p,
                lambda t, x, y: mul(t, div(y, add(square(x), square(y)))),
                lambda t, x, y: mul(t, div(neg(x), add(square(x), square(y)))))

# --- nextafter -------------------------------------------------------------------------------


def nextafter(x1, x2):
    """The next number after x1 in the direction of x2."""
    return nextafter_p.bind(x1, x2)


def _nextafter_reference(x, y):
    if x.dtype.kind == "f":
        return np.nextafter(x, y)
    key = f"u{x.dtype.itemsize}"                            # step the bits of narrow types
    x, y = np.broadcast_arrays(x, y)
    wide_x, wide_y = x.astype(np.float32), y.astype(np.float32)
    bits = np.ascontiguousarray(x).view(key)
    one = bits.dtype.type(1)
    outward = np.where(wide_y > wide_x, wide_x > 0, wide_x < 0)
    stepped = np.where(outward, bits + one, bits - one).astype(key)
    top = bits.dtype.type(1 << (8 * x.dtype.itemsize - 1))
    tiny = np.where(wide_y > 0, one, top | one).astype(key)
    out = np.where(wide_x == 0, tiny, stepped).view(x.dtype)
    out = np.where(wide_x == wide_y, y, out)
    return np.where(np.isnan(wide_x) | np.isnan(wide_y), x + y, out).astype(x.dtype)


nextafter_p = binary("nextafter", FLOATING, _nextafter_reference)
define_zero_jvp(nextafter_p)

__all__ = [
    "atan2", "atan2_p", "max", "max_p", "min", "min_p", "nextafter", "nextafter_p", "pow", "pow_p",
]
