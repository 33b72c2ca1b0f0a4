"""Arithmetic: neg, add, sub, mul, div, rem, square, integer_pow, and the sum of cotangents.

In: numbers of one dtype (arrays, scalars, tracers). Out: the same dtype, integers modulo 2ⁿ.
Invariant: integer division never traps: x/0 is -1 (all ones), x rem 0 is x, min/-1 is min.
"""

from __future__ import annotations

import builtins
import operator
from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import ShapedArray
from jitney.core.primitive import Primitive, named
from jitney.lax.nary import (
    NUMBER,
    REAL,
    binary,
    broadcast_to,
    constant,
    hide_none,
    small_as_wide,
    transpose_each,
    unary,
    widened,
)
from jitney.lax.shape import linear, shape_of
from jitney.transforms.jvp import (
    Zero,
    define_jvp,
    define_jvp_each,
    define_linear,
    define_zero_jvp,
)
from jitney.transforms.vmap import define_batch_elementwise

# --- neg -------------------------------------------------------------------------------------


def neg(x):
    """-x."""
    return neg_p.bind(x)


neg_p = unary("neg", NUMBER, small_as_wide(np.negative))
linear(neg_p, lambda ct, x: [neg(ct)])

# --- add, sub, add_any -----------------------------------------------------------------------


def add(x, y):
    """x + y."""
    return add_p.bind(x, y)


add_p = binary("add", NUMBER, small_as_wide(np.add))


def _add_jvp(primals, tangents):
    x, y = primals
    t, u = tangents
    out = add_p.bind(x, y)
    if type(t) is Zero:
        return out, Zero.from_primal_value(out) if type(u) is Zero else broadcast_to(u, out.shape)
    if type(u) is Zero:
        return out, broadcast_to(t, out.shape)
    return out, add_p.bind(t, u)


define_jvp(add_p, _add_jvp)
transpose_each(add_p, lambda ct, x, y: ct, lambda ct, x, y: ct)


def sub(x, y):
    """x - y."""
    return sub_p.bind(x, y)


sub_p = binary("sub", NUMBER, small_as_wide(np.subtract))


def _sub_jvp(primals, tangents):
    x, y = primals
    t, u = tangents
    out = sub_p.bind(x, y)
    if type(t) is Zero:
        return out, (Zero.from_primal_value(out) if type(u) is Zero
                     else broadcast_to(neg(u), out.shape))
    if type(u) is Zero:
        return out, broadcast_to(t, out.shape)
    return out, sub_p.bind(t, u)


define_jvp(sub_p, _sub_jvp)
transpose_each(sub_p, lambda ct, x, y: ct, lambda ct, x, y: neg(ct))


def add_any(x, y):
    """The sum of two tangents or cotangents of one type."""
    return add_any_p.bind(x, y)


add_any_p = Primitive("add_any", kind="elementwise")


@add_any_p.def_abstract
def _add_any_type(x, y):
    if x.shape != y.shape or x.dtype != y.dtype:
        raise TypeError(f"add_any adds values of one type, got {x} and {y}.")
    return x if not x.weak_type else y


@add_any_p.def_reference
def _add_any_reference(x, y):
    return x if x.dtype == dtypes.float0 else add_p.reference_rule(x, y)


define_linear(add_any_p)
transpose_each(add_any_p, lambda ct, x, y: ct, lambda ct, x, y: ct)
define_batch_elementwise(add_any_p)

# --- mul -------------------------------------------------------------------------------------


def mul(x, y, *, out_dtype=None):
    """x · y, computed and given in `out_dtype` when one is stated."""
    if out_dtype is not None:
        out_dtype = dtypes.canonicalize_dtype(out_dtype)
    return mul_p.bind(x, y, out_dtype=out_dtype)


def _mul_reference(x, y, *, out_dtype=None):
    if out_dtype is not None:
        x, y = x.astype(out_dtype), y.astype(out_dtype)
    return small_as_wide(np.multiply)(x, y)


mul_p = binary("mul", NUMBER, _mul_reference)
hide_none(mul_p, "out_dtype")
_plain_mul_type = mul_p.abstract_rule


@mul_p.def_abstract
def _mul_type(x, y, *, out_dtype=None):
    aval = _plain_mul_type(x, y)
    return aval if out_dtype is None else ShapedArray(aval.shape, out_dtype)


def _mul_cotangent(ct: Any, other: Any, linear_in: Any, out_dtype: Any) -> Any:
    if out_dtype is None:
        return mul(ct, other)
    convert = named("convert_element_type").bind
    product = mul(ct, convert(other, new_dtype=out_dtype, weak_type=False, sharding=None))
    return convert(product, new_dtype=linear_in.aval.dtype, weak_type=False, sharding=None)


def _mul_transpose_left(ct, x, y, *, out_dtype=None):
    return _mul_cotangent(ct, y, x, out_dtype)


def _mul_transpose_right(ct, x, y, *, out_dtype=None):
    if out_dtype is None:
        return mul(x, ct)
    return _mul_cotangent(ct, x, y, out_dtype)


define_jvp_each(mul_p,                                                     # d(xy) = dx y + x dy
                lambda t, x, y, out_dtype=None: mul_p.bind(t, y, out_dtype=out_dtype),
                lambda t, x, y, out_dtype=None: mul_p.bind(x, t, out_dtype=out_dtype))
transpose_each(mul_p, _mul_transpose_left, _mul_transpose_right)

# --- div, rem --------------------------------------------------------------------------------


def div(x, y):
    """x / y; integers truncate towards zero, and x / 0 is -1."""
    return div_p.bind(x, y)


def _integer_quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    safe = np.where(y == 0, np.ones_like(y), y)
    quotient = x // safe                                   # rounds down; min // -1 wraps to min
    if x.dtype.kind == "i":
        quotient = quotient + ((x - quotient * safe != 0) & ((x < 0) != (safe < 0))
                               ).astype(x.dtype)
    return np.where(y == 0, np.array(-1).astype(x.dtype), quotient)


def _div_reference(x, y):
    if not dtypes.is_integer(x.dtype):
        return small_as_wide(np.divide)(x, y)
    x, y = np.broadcast_arrays(x, y)
    return small_as_wide(_integer_quotient)(x, y)


div_p = binary("div", NUMBER, _div_reference)
define_jvp_each(div_p,                                          # d(x/y) = dx/y - dy x y⁻²
                lambda t, x, y: div(t, y),
                lambda t, x, y: mul(mul(neg(t), x), integer_pow(y, -2)))
transpose_each(div_p, lambda ct, x, y: div(ct, y), None)


def rem(x, y):
    """The remainder of division towards zero: it has the sign of x; x rem 0 is x for integers."""
    return rem_p.bind(x, y)


def _integer_remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    safe = np.where(y == 0, np.ones_like(y), y)
    return np.where(y == 0, x, np.fmod(x, np.where(safe == np.array(-1).astype(x.dtype), 1, safe)
                                       if x.dtype.kind == "i" else safe)).astype(x.dtype)


def _rem_reference(x, y):
    if not dtypes.is_integer(x.dtype):
        return widened(np.fmod)(x, y)
    x, y = np.broadcast_arrays(x, y)
    return small_as_wide(_integer_remainder)(x, y)


rem_p = binary("rem", REAL, _rem_reference)


def _rem_jvp_right(t, x, y):
    # x rem y = x - y trunc(x/y), and trunc is flat.
    sign, absolute, floor = (named(n).bind for n in ("sign", "abs", "floor"))
    return mul(neg(t), mul(sign(div(x, y)), floor(absolute(div(x, y)))))


define_jvp_each(rem_p, lambda t, x, y: broadcast_to(t, common_shape_of(x, y)), _rem_jvp_right)


def common_shape_of(x: Any, y: Any) -> tuple[int, ...]:
    """The shape two values of a binary function combine to."""
    a, b = shape_of(x), shape_of(y)
    if a == b or not b:
        return a
    if not a:
        return b
    return tuple(m if n == 1 else n for n, m in zip(a, b, strict=True))


# --- square, integer_pow, reciprocal ---------------------------------------------------------


def square(x):
    """x²."""
    return square_p.bind(x)


square_p = unary("square", NUMBER, small_as_wide(np.square))
define_jvp_each(square_p, lambda t, x: mul(t, mul(constant(x, 2), x)))


def integer_pow(x, y: int):
    """xʸ for an integer y known when tracing.

    >>> integer_pow(2.0, -1).item()
    0.5
    """
    return integer_pow_p.bind(x, y=operator.index(y))


def _power_by_squaring(x: np.ndarray, y: int) -> np.ndarray:
    result = np.ones_like(x)
    while y:
        if y & 1:
            result = result * x
        x, y = x * x, y >> 1
    return result


def _integer_pow_reference(x, *, y):
    if dtypes.is_integer(x.dtype):
        return small_as_wide(lambda a: _power_by_squaring(a, y))(x)
    if dtypes.is_complex(x.dtype):
        power = widened(lambda a: _power_by_squaring(a, builtins.abs(y)))(x)
        return power if y >= 0 else np.divide(1, power, dtype=x.dtype)
    return widened(lambda a: np.power(a, y))(x)


integer_pow_p = unary("integer_pow", NUMBER, _integer_pow_reference)
_plain_integer_pow_type = integer_pow_p.abstract_rule


@integer_pow_p.def_abstract
def _integer_pow_type(x, *, y):
    aval = _plain_integer_pow_type(x)
    if y < 0 and dtypes.is_integer(x.dtype):
        raise TypeError("Integers cannot be raised to negative powers, got "
                        f"integer_pow({x}, {y}). Convert x to a floating type first.")
    return aval


def _integer_pow_jvp(primals, tangents, *, y):
    (x,), (t,) = primals, tangents
    out = integer_pow_p.bind(x, y=y)
    if type(t) is Zero or y == 0:
        return out, Zero.from_primal_value(out)
    if y == 1:
        return out, t
    power = x if y == 2 else integer_pow_p.bind(x, y=y - 1)
    return out, mul(t, mul(constant(x, y), power))


define_jvp(integer_pow_p, _integer_pow_jvp)


def reciprocal(x):
    """1 / x."""
    return integer_pow_p.bind(x, y=-1)


# --- mulhi -----------------------------------------------------------------------------------


def mulhi(x, y, /):
    """The high half of the double-width product of two integers."""
    return mulhi_p.bind(x, y)


def _mulhi_reference(x, y):
    bits = dtypes.itemsize_bits(x.dtype)
    if bits < 64:
        wide = np.int64 if dtypes.issubdtype(x.dtype, np.signedinteger) else np.uint64
        return ((x.astype(wide) * y.astype(wide)) >> wide(bits)).astype(x.dtype)
    product = np.asarray(x.astype(object) * y.astype(object))      # exact Python integers
    high = np.asarray(product // 2**64)
    return high.astype(x.dtype)


mulhi_p = binary("mulhi", (np.integer,), _mulhi_reference)
define_zero_jvp(mulhi_p)

__all__ = [
    "add", "add_any", "add_any_p", "add_p", "div", "div_p", "integer_pow", "integer_pow_p", "mul",
    "mul_p", "mulhi", "mulhi_p", "neg", "neg_p", "reciprocal", "rem", "rem_p", "square",
    "square_p", "sub", "sub_p",
]
