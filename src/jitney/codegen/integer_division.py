"""Quotients and remainders of integers; those of short ones in the machine's floating point.

In: integers as `Value`s. Out: the quotient rounded toward zero, -1 where the divisor is 0; the
remainder with the sign of the dividend, which it is where the divisor is 0. The most negative
number divided by -1 is itself. `mod` is the remainder with the sign of a divisor known to be
positive.

[Note: quotients in floats] There are no vectors of integer divisions, so the compiler would divide
one element after another (`unravel_index` of 10^5 places in three axes: 607 us, 87 so). With p
bits in the significand fl(x / y) is rounded to the same integer as x / y, for that lies 1/y from
the next one above it and |x| < 2^p. By a divisor d that is the same in all lanes, (x + 1/2) fl(1/d)
is, too: (x + 1/2) / d lies 1/2d from the integers around it, and the product is off by less than
2^(1 - p) of itself. So 24 bits do for numbers of 16, 53 for those of 32; those of 64 are in
long_division.py.
"""

from ..ir.types import ELEMENT_TYPES, bits_of, kind_of
from . import long_division
from .instructions import Value


def div(e, code: str, a: Value, b: Value) -> Value:
    """See the module's text."""
    by_zero, by_minus_one, safe = _guarded(e, code, a, b)
    found = _quotient(e, code, a, safe)
    if by_minus_one is not None:
        found = e.select(by_minus_one, e.binary("sub", e.like(a, 0), a), found)
    return e.select(by_zero, e.like(found, -1), found)


def rem(e, code: str, a: Value, b: Value) -> Value:
    """See the module's text."""
    by_zero, by_minus_one, safe = _guarded(e, code, a, b)
    found = _rem(e, code, a, safe)
    if by_minus_one is not None:
        found = e.select(by_minus_one, e.like(found, 0), found)
    return e.select(by_zero, a, found)


def mod(e, code: str, a: Value, b: Value, inverse=None, above=None) -> Value:
    """x mod d for the same d > 0 everywhere; `inverse` and `above` (None for 64 bits) are what
    [Note: remainders by multiplications] in graph/moduli.py says."""
    is_signed = kind_of(code) == "i"
    if a.lanes == b.lanes == 1 and inverse is not None:
        u = e.binary("add", (e.sext if is_signed else e.zext)(a, "i64"), above)
        low, wide = e.zext(e.binary("mul", inverse, u), "i128"), e.zext(b, "i128")
        found = e.binary("lshr", e.binary("mul", low, wide), e.like(wide, 64))
        return e.cast("trunc", found, ELEMENT_TYPES[code].llvm)
    if _is_in_floats(code, a, b) and e.target.avx2:  # rounding down is an instruction
        x, part, half = _halfway(e, code, a, b)
        whole = e.overloaded("floor", e.fmul(e.fadd(x, half), part))
        quotient = (e.fptosi if is_signed else e.fptoui)(whole, ELEMENT_TYPES[code].llvm)
        return e.binary("sub", a, e.binary("mul", quotient, b))
    if long_division.goes_by_doubles(e, code, a, b):
        return long_division.rounded_down(e, code, a, b)[1]
    found = _rem(e, code, a, b)
    if not is_signed:
        return found
    return e.select(e.icmp("slt", found, e.like(found, 0)), e.binary("add", found, b), found)


def _rem(e, code: str, a: Value, b: Value) -> Value:
    """The remainder with the sign of the dividend, where b is not 0 and nothing overflows."""
    if _is_in_floats(code, a, b):
        return e.binary("sub", a, e.binary("mul", _quotient(e, code, a, b), b))
    if long_division.goes_by_doubles(e, code, a, b):
        return long_division.toward_zero(e, code, a, b)[1]
    return e.binary("srem" if kind_of(code) == "i" else "urem", a, b)


def _guarded(e, code: str, a: Value, b: Value):
    """Where the divisor is 0, where it is -1 (None for unsigned ones), and it, or 1 there."""
    if _is_known(code, b):
        return e.constant("i1", 0, 1), None, b  # the compiler knows how to divide by it
    every = e.splat(b, a.lanes) if b.lanes == 1 else b
    by_zero, by_minus_one = e.icmp("eq", every, e.like(every, 0)), None
    is_other = e.icmp("eq", b, e.like(b, 0))
    if kind_of(code) == "i":
        by_minus_one = e.icmp("eq", every, e.like(every, -1))
        is_other = e.binary("or", is_other, e.icmp("eq", b, e.like(b, -1)))
    return by_zero, by_minus_one, e.select(is_other, e.like(b, 1), b)


def _is_known(code: str, b: Value) -> bool:
    """Whether a divisor is one known number, neither 0 nor -1 (which is written 255 of bytes)."""
    every = (1 << bits_of(code)) - 1
    return b.is_constant and b.lanes == 1 and int(b.names[0]) & every not in (0, every)


def _is_in_floats(code: str, a: Value, b: Value) -> bool:
    return bits_of(code) <= 32 and max(a.lanes, b.lanes) > 1 and not b.is_constant


def _quotient(e, code: str, a: Value, b: Value) -> Value:
    """a / b, where b is not 0 and nothing overflows."""
    is_signed = kind_of(code) == "i"
    if long_division.goes_by_doubles(e, code, a, b):
        return long_division.toward_zero(e, code, a, b)[0]
    if not _is_in_floats(code, a, b):
        return e.binary("sdiv" if is_signed else "udiv", a, b)
    if b.lanes == len(b.names) == 1:
        x, inverse, half = _halfway(e, code, a, b)
        found = e.fmul(e.fadd(x, e.copysign(half, x) if is_signed else half), inverse)
    else:
        x, y = _as_floats(e, code, a), _as_floats(e, code, b)
        found = e.fdiv(x, y)
    return (e.fptosi if is_signed else e.fptoui)(found, ELEMENT_TYPES[code].llvm)


def _as_floats(e, code: str, a: Value) -> Value:
    """The same numbers in the floating point that divides them exactly."""
    convert = e.sitofp if kind_of(code) == "i" else e.uitofp
    return convert(a, "float" if bits_of(code) <= 16 else "double")


def _halfway(e, code: str, a: Value, b: Value) -> tuple[Value, Value, Value]:
    """(a, 1 / b, 1/2) in floats."""
    x, y = _as_floats(e, code, a), _as_floats(e, code, b)
    return x, e.fdiv(e.like(y, 1.0), y), e.like(x, 0.5)
