"""sin, cos and tan for every argument.

In: float or double `Value`s. Out: results within 2 ulp (sin and cos of floats within 0.51, by way
of double); infinities give NaN, sin(-0) = -0.
Usual arguments: x - n pi in three parts with fused multiply-adds, sign folded into the remainder,
one odd polynomial on [-pi/2, pi/2]. Larger ones take a rare branch to `reduction.reduce_huge`.
"""

from .forms import (
    HEX,
    MANTISSA_BITS,
    SUFFIX,
    fast_two_sum,
    integer_like,
    polynomial,
    reciprocal_estimate,
    round_with_magic,
    two_product,
    within_one,
)
from .reduction import reduce_huge

_PI = (
    HEX("0x1.921fb54442d18p+1"), HEX("0x1.1a62633145c07p-53"), HEX("-0x1.f1976b7ed8fbcp-109"),
)  # fmt: skip
_USUAL = 2.0**26
_INVERSE_PI = HEX("0x1.45f306dc9c883p-2")
_HALF_PI_FLOAT = (HEX("0x1.921fb4p+0"), HEX("0x1.4442dp-24"), HEX("0x1.846988p-48"))
_SHORT = 2.0**17


def _two_part_angle(e, x, n, parts):
    """(r, low): r + low = x - n pi, good to far below an ulp of r, near the zeros as well."""
    first, second, third = (e.like(x, -part) for part in parts)
    r0 = e.fma(n, first, x)  # exact
    p, p_low = two_product(e, n, second)
    r, low = fast_two_sum(e, r0, p)  # |r0| >= |p|, or they nearly cancel and the sum is exact
    return r, e.fma(n, third, e.fadd(low, p_low))


def _angle(e, x, cosine):
    """y in about [-pi/2, pi/2] with sin(y) = sin(x), or = cos(x)."""
    if cosine:
        magic = e.like(x, 1.5 * 2.0 ** MANTISSA_BITS[x.type])
        turns = e.muladd(x, e.like(x, _INVERSE_PI), e.like(x, 0.5))
        shifted = e.fadd(turns, magic)
        n, bits = e.fsub(e.fsub(shifted, magic), e.like(x, 0.5)), e.bits(shifted)
    else:
        n, bits = round_with_magic(e, x, _INVERSE_PI)
    r = x
    for part in _PI:  # the first step is exact, each later one rounds a smaller term
        r = e.fma(n, e.like(x, -part), r)
    top = integer_like(e, bits, 63)
    y = e.bitcast(x.type, e.xor(e.bits(r), e.shl(bits, top)))
    huge = e.fcmp("ogt", e.fabs(x), e.like(x, _USUAL))
    return e.rare_path(huge, y, lambda: reduce_huge(e, x, "cos" if cosine else "sin"))


def _sine_of_angle(e, y, name):
    # one rounding at the end; a correction for what rounding y lost would add a second one
    z = e.fmul(y, y)
    return within_one(e, e.fma(e.fmul(z, y), polynomial(e, z, name), y))


def _through_double(e, x, cosine):
    """float32 by way of double, rounded once: 0.51 ulp, the numbers other libraries print too."""
    wide = e.fpext(x, "double")
    return e.fptrunc(_sine_of_angle(e, _angle(e, wide, cosine), "sin_wide"), "float")


def sin(e, x):
    """Sine."""
    if x.type == "float":
        result = _through_double(e, x, False)
    else:
        result = _sine_of_angle(e, _angle(e, x, False), "sin_f64")
    return e.select(e.fcmp("oeq", x, e.like(x, 0.0)), x, result)


def cos(e, x):
    """Cosine."""
    if x.type == "float":
        return _through_double(e, x, True)
    return _sine_of_angle(e, _angle(e, x, True), "sin_f64")


def tan(e, x):
    """Tangent, by way of an angle in [-pi/4, pi/4]; in the odd quadrants -1 over its tangent."""
    n, bits = round_with_magic(e, x, 2 * _INVERSE_PI)
    if x.type == "float":
        usual = (*_short_angle(e, x, n), bits)
        usual = e.rare_path(_is_above(e, x, _SHORT), usual, lambda: _long_angle(e, x))
        return _tangent_of_angle(e, *usual)
    usual = (*_two_part_angle(e, x, n, [part / 2 for part in _PI]), bits)

    def exactly():
        angle, parity = reduce_huge(e, x, "tan")
        return angle, e.like(x, 0.0), parity

    usual = e.rare_path(_is_above(e, x, _USUAL), usual, exactly)
    return e.select(e.fcmp("oeq", x, e.like(x, 0.0)), x, _tangent_of_angle(e, *usual))


def _is_above(e, x, limit):
    return e.fcmp("ogt", e.fabs(x), e.like(x, limit))


def _short_angle(e, x, n):
    """(r, low): r + low = x - n pi/2 for floats up to `_SHORT`, good to 2^-28 beside its zeros."""
    first, second, third = (e.like(x, part) for part in _HALF_PI_FLOAT)
    exact = e.fma(e.fneg(n), first, x)
    p, p_low = two_product(e, n, second)
    r = e.fsub(exact, p)
    # the negative of the low part, which is +0 for x = -0: so r, and the result, stay -0
    low = e.fma(n, third, e.fadd(e.fadd(e.fsub(r, exact), p), p_low))
    return r, e.fneg(low)


def _long_angle(e, x):
    """(r, low, parity) of any float, by way of double."""
    wide = e.fpext(x, "double")
    n, bits = round_with_magic(e, wide, 2 * _INVERSE_PI)
    r = wide
    for part in _PI[:2]:  # no float is so near to a zero of the result that a third part counts
        r = e.fma(n, e.like(wide, -part / 2), r)
    huge = _is_above(e, wide, _USUAL)
    r, parity = e.rare_path(huge, (r, bits), lambda: reduce_huge(e, wide, "tan"))
    high = e.fptrunc(r, "float")
    low = e.fptrunc(e.fsub(r, e.fpext(high, "double")), "float")
    return high, low, e.trunc_int(parity, "i32")


def _tangent_of_angle(e, r, low, parity):
    """tan(r + low), or -1/tan if odd; the sum's rounding error is carried to the quotient."""
    z = e.fmul(r, r)
    tail = e.fma(e.fmul(r, z), polynomial(e, z, f"tan_{SUFFIX[r.type]}"), low)
    t = e.fadd(r, tail)
    t_low = e.fadd(e.fsub(r, t), tail)
    inverse = reciprocal_estimate(e, t)
    residual = e.fma(e.fneg(t), inverse, e.like(r, 1.0))
    residual = e.fma(e.fneg(t_low), inverse, residual)
    minus = e.fneg(inverse)
    one = integer_like(e, parity, 1)
    odd = e.icmp("ne", e.and_(parity, one), integer_like(e, parity, 0))
    return e.select(odd, e.fma(minus, residual, minus), t)
