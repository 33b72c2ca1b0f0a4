"""sin, cos and tan for every argument.

In: float or double `Value`s. Out: results within 2 ulp (float within 0.51, by way of double);
infinities give NaN, sin(-0) = -0.
Usual arguments: x - n pi in three parts with fused multiply-adds, sign folded into the remainder,
one odd polynomial on [-pi/2, pi/2]. Larger ones take a rare branch to `reduction.reduce_huge`.
"""

from .forms import (
    HEX,
    MANTISSA_BITS,
    fast_two_sum,
    integer_like,
    polynomial,
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
    """Tangent: a polynomial on [-pi/4, pi/4], and -1/t in the odd quadrants."""
    wide = e.fpext(x, "double")
    n, bits = round_with_magic(e, wide, 2 * _INVERSE_PI)
    r, low = _two_part_angle(e, wide, n, [part / 2 for part in _PI])
    huge = e.fcmp("ogt", e.fabs(wide), e.like(wide, _USUAL))

    def exactly():
        angle, parity = reduce_huge(e, wide, "tan")
        return angle, e.like(wide, 0.0), parity

    r, low, parity = e.rare_path(huge, (r, low, bits), exactly)
    odd = e.icmp("ne", e.and_(parity, integer_like(e, parity, 1)), integer_like(e, parity, 0))
    result = _tangent_of_angle(e, r, low, odd, "tan_wide" if x.type == "float" else "tan_f64")
    result = e.select(e.fcmp("oeq", wide, e.like(wide, 0.0)), wide, result)
    return e.fptrunc(result, x.type)


def _tangent_of_angle(e, r, low, odd, name):
    """tan(r + low), or -1/tan where `odd`; the sum's rounding error is carried to the quotient."""
    z = e.fmul(r, r)
    tail = e.fma(e.fmul(r, z), polynomial(e, z, name), low)
    t = e.fadd(r, tail)
    inverted = e.fdiv(e.like(r, -1.0), t)
    if name == "tan_f64":
        t_low = e.fadd(e.fsub(r, t), tail)
        residual = e.fma(inverted, t_low, e.fma(inverted, t, e.like(r, 1.0)))
        inverted = e.fma(inverted, residual, inverted)
    return e.select(odd, inverted, t)
