"""asin, acos, atan and atan2.

In: float or double `Value`s. Out: results within 2 ulp; the special cases of atan2 as in C.
atan: the argument is brought to |t| <= tan(pi/8) by atan(u) = c + atan((u - tan c)/(1 + u tan c)).
"""

from .forms import HEX, INF, SUFFIX, fast_two_sum, integer_like, polynomial

_PI = HEX("0x1.921fb54442d18p+1")
# pi/2 and pi/4 in two parts
_HALF_PI = {
    "float": (HEX("0x1.921fb6p+0"), HEX("-0x1.777a5cp-25")),
    "double": (HEX("0x1.921fb54442d18p+0"), HEX("0x1.1a62633145c07p-54")),
}


def _atan_tail(e, t):
    """atan(t) - t for |t| <= tan(pi/8)."""
    z = e.fmul(t, t)
    return e.fmul(e.fmul(t, z), polynomial(e, z, f"atan_{SUFFIX[t.type]}"))


def _atan_ratio(e, num, den):
    """atan(num/den) for 0 <= num, 0 < den (or inf), in [0, pi/2]."""
    one_side = e.fmul(den, e.like(den, 2.414213562373095))
    middle_from = e.fmul(den, e.like(den, 0.41421356237309503))
    steep = e.fcmp("ogt", num, one_side)
    middle = e.fcmp("ogt", num, middle_from)
    top = e.select(steep, e.fneg(den), e.select(middle, e.fsub(num, den), num))
    bottom = e.select(steep, num, e.select(middle, e.fadd(num, den), den))
    return _finish_ratio(e, e.fdiv(top, bottom), steep, middle)


def _finish_ratio(e, t, steep, middle):
    zero = e.like(t, 0.0)
    high, low = _HALF_PI[t.type]
    base = e.select(steep, e.like(t, high), e.select(middle, e.like(t, high / 2), zero))
    rest = e.select(steep, e.like(t, low), e.select(middle, e.like(t, low / 2), zero))
    return e.fadd(base, e.fadd(t, e.fadd(_atan_tail(e, t), rest)))


def atan(e, x):
    """Inverse tangent."""
    a = e.fabs(x)
    return e.copysign(_atan_ratio(e, a, e.like(a, 1.0)), x)


def atan2(e, y, x):
    """The angle of the point (x, y), in [-pi, pi]."""
    ax, ay = e.fabs(x), e.fabs(y)
    one, inf = e.like(x, 1.0), e.like(x, INF)
    # tiny: scale both up so that neither the products nor the quotient lose bits; huge: down
    large = e.fast_max(ax, ay)
    down = e.fcmp("oge", large, e.like(x, 2.0**64 if x.type == "float" else 2.0**512))
    up = e.fcmp("olt", large, e.like(x, 2.0**-64 if x.type == "float" else 2.0**-512))
    factor = e.select(
        down,
        e.like(x, 2.0**-30 if x.type == "float" else 2.0**-200),
        e.select(up, e.like(x, 2.0**62 if x.type == "float" else 2.0**500), one),
    )
    num, den = e.fmul(ay, factor), e.fmul(ax, factor)
    both_infinite = e.fcmp("oeq", e.fast_min(ax, ay), inf)
    num, den = e.select(both_infinite, one, num), e.select(both_infinite, one, den)
    both_zero = e.fcmp("oeq", large, e.like(x, 0.0))
    angle = _atan_ratio(e, num, e.select(both_zero, one, den))
    bits = e.bits(x)
    left = e.icmp("slt", bits, integer_like(e, bits, 0))
    high, low = (2 * c for c in _HALF_PI[x.type])
    mirrored = e.fadd(e.fsub(e.like(x, high), angle), e.like(x, low))
    result = e.copysign(e.select(left, mirrored, angle), y)
    unordered = e.fcmp("uno", x, y)
    return e.select(unordered, e.fadd(x, y), result)


def _asin_parts(e, x):
    """(large?, s, tail): asin(s) = s + tail, s = |x|, or sqrt((1-|x|)/2) for |x| > 1/2."""
    a = e.fabs(x)
    half = e.like(x, 0.5)
    large = e.fcmp("ogt", a, half)
    z = e.select(large, e.fmul(e.fsub(e.like(x, 1.0), a), half), e.fmul(a, a))
    s = e.select(large, e.sqrt(z), a)
    tail = e.fmul(e.fmul(s, z), polynomial(e, z, f"asin_{SUFFIX[x.type]}"))
    return large, s, tail


def asin(e, x):
    """Inverse sine; NaN outside [-1, 1]."""
    large, s, tail = _asin_parts(e, x)
    high, low = _HALF_PI[x.type]
    two = e.like(x, 2.0)
    difference, error = fast_two_sum(e, e.like(x, high), e.fmul(e.like(x, -2.0), s))
    rest = e.fsub(e.muladd(two, tail, e.like(x, -low)), error)
    near_one = e.fsub(difference, rest)
    return e.copysign(e.select(large, near_one, e.fadd(s, tail)), x)


def acos(e, x):
    """Inverse cosine; NaN outside [-1, 1]."""
    large, s, tail = _asin_parts(e, x)
    high, low = _HALF_PI[x.type]
    near_end = e.fmul(e.like(x, 2.0), e.fadd(s, tail))
    negative = e.fcmp("olt", x, e.like(x, 0.0))
    mirrored = e.fadd(e.fsub(e.like(x, 2 * high), near_end), e.like(x, 2 * low))
    outer = e.select(negative, mirrored, near_end)
    signed = e.copysign(s, x)
    signed_tail = e.copysign(tail, x)
    inner = e.fsub(e.like(x, high), e.fadd(signed, e.fsub(signed_tail, e.like(x, low))))
    return e.select(large, outer, inner)
