"""asinh, acosh and atanh.

In: float or double `Value`s. Out: results within 2 ulp; infinities, NaN, denormals and the signs of
zeros as in C.
Floats: the result is v + 2 atanh(s), where v = k log 2 is near it and s = tanh((result - v) / 2) is
a quotient of sums in which nothing is lost: one division, one short odd polynomial. Doubles: log1p
of an argument in two parts.
"""

from .forms import (
    INF,
    INFINITY_BITS,
    LN2_LOW_POSITIVE,
    NAN,
    exponent,
    has_avx512_form,
    integer_like,
    polynomial,
    rsqrt_estimate,
    two_product,
    two_sum,
)
from .logarithm import log1p_with_low

_ONE_BITS = 0x3F800000
_EXPONENT_MASK = 0x7F800000
_EIGHTH_OF_INVERSE = (127 + 127 - 5) << 23  # less the bits of 2^(k-2): those of 2^-k / 8
# of log2 w, which the bits give but for 0.09, so that w / 2^k is in [0.87, 1.99]
_ROUNDING = round(0.1 * 2**23)
_LN2 = LN2_LOW_POSITIVE["float"]


# ---- floats ---------------------------------------------------------------------------------


def _binade(e, w):
    """(sinh v, cosh v, k) over 4, for v = k log 2, k = floor(log2(4 w)), of a normal float w."""
    bits = e.bits(w)
    kept = e.and_(bits, integer_like(e, bits, _EXPONENT_MASK))
    rest = e.sub(integer_like(e, bits, _EIGHTH_OF_INVERSE), kept)
    rest = e.select(e.icmp("sgt", rest, integer_like(e, bits, 0)), rest, integer_like(e, bits, 0))
    rest = e.bitcast("float", rest)
    half = e.fmul(e.bitcast("float", kept), e.like(w, 0.5))
    if has_avx512_form(e, w):
        k = e.fadd(exponent(e, w), e.like(w, 2.0))
    else:
        number = e.sub(e.lshr(bits, integer_like(e, bits, 23)), integer_like(e, bits, 125))
        k = e.sitofp(number, "float")
    return e.fsub(half, rest), e.fadd(half, rest), k


def _root(e, v):
    """(r, low): r + low/4 = sqrt(v), r correct but for the last bit. NaN for infinity."""
    if has_avx512_form(e, v):  # without the square root and the division, which take 9 cycles and 5
        y = rsqrt_estimate(e, v)
        r = e.fmul(v, y)
        r = e.fma(e.fmul(y, e.like(v, 0.5)), e.fma(e.fneg(r), r, v), r)
        twice = e.fadd(y, y)
    else:
        r = e.sqrt(v)
        twice = e.fdiv(e.like(v, 2.0), r)
    return r, e.fmul(e.fma(e.fneg(r), r, v), twice)


def _angle_of_quotient(e, s, k, sine, sine_low):
    """k log 2 + 2 atanh(s), s at most 1/3; `sine`: the hyperbolic sine of the result.

    Where k = 0, 2s = sine (1 - s^2): the sine comes first, and errors of s hardly count.
    """
    z = e.fmul(s, s)
    twice, rest = e.fadd(s, s), e.fmul(z, polynomial(e, z, "atanh_f32"))
    small = e.fcmp("oeq", k, e.like(k, 0.0))
    high, low = (e.like(k, c) for c in _LN2)
    tail = e.select(small, e.fma(e.fneg(sine), z, sine_low), e.fma(k, low, twice))
    tail = e.fma(twice, rest, tail)
    return e.fma(e.select(small, sine, k), e.select(small, e.like(k, 1.0), high), tail)


def _asinh_float(e, x):
    """tanh((u - v)/2) = (sinh u - sinh v) / (cosh u + cosh v); quarters, lest a sum overflow."""
    a = e.fabs(x)
    sine = e.fmul(a, e.like(a, 0.25))
    cosine, _ = _root(e, e.fma(sine, sine, e.like(a, 0.0625)))
    cosine = e.fast_min(cosine, e.fadd(sine, e.like(a, 0.25)))  # a large square overflows
    sine_v, cosine_v, k = _binade(e, e.fadd(sine, cosine))
    s = e.fdiv(e.fsub(sine, sine_v), e.fadd(cosine, cosine_v))
    result = _angle_of_quotient(e, s, k, a, e.like(a, -0.0))
    result = e.select(e.fcmp("oeq", a, e.like(a, INF)), a, result)
    return e.copysign(result, x)


def _acosh_float(e, x):
    """tanh((u - v)/2) = (cosh u - cosh v) / (sinh u + sinh v), in quarters, too."""
    cosine = e.fmul(x, e.like(x, 0.25))
    above_one = e.fmul(e.fsub(x, e.like(x, 1.0)), e.like(x, 0.0625))
    sine, low = _root(e, e.fma(above_one, x, above_one))
    sine = e.fast_min(sine, cosine)
    sine_v, cosine_v, k = _binade(e, e.fadd(sine, cosine))
    s = e.fdiv(e.fsub(cosine, cosine_v), e.fadd(sine, sine_v))
    result = _angle_of_quotient(e, s, k, e.fmul(sine, e.like(sine, 4.0)), low)
    bits = e.bits(x)
    first = integer_like(e, bits, _ONE_BITS + 1)
    span = integer_like(e, bits, INFINITY_BITS["float"] - _ONE_BITS - 1)

    def special():
        one = e.fcmp("oeq", x, e.like(x, 1.0))
        end = e.select(e.fcmp("oeq", x, e.like(x, INF)), x, e.like(x, NAN))
        return e.select(one, e.like(x, 0.0), end)

    return e.rare_path(e.icmp("uge", e.sub(bits, first), span), result, special)


def _atanh_of_quotient(e, above, below, k):
    """k (log 2)/2 + atanh(above/below), the quotient at most 1/3."""
    high, low = (e.like(k, c / 2) for c in _LN2)
    s = e.fdiv(above, below)
    z = e.fmul(s, s)
    tail = e.fmul(e.fmul(s, z), polynomial(e, z, "atanh_f32"))
    return e.fma(k, high, e.fadd(s, e.fma(k, low, tail)))


def _atanh_float(e, x):
    """w = (1+a)/(1-a), k from the difference of the logarithms that the bits are roughly."""
    a = e.fabs(x)
    one = e.like(a, 1.0)
    up, down = e.fadd(one, a), e.fsub(one, a)
    bits = e.bits(up)
    rounded = e.add(e.sub(bits, e.bits(down)), integer_like(e, bits, _ROUNDING))
    k = e.sitofp(e.ashr(rounded, integer_like(e, bits, 23)), "float")
    kept = e.and_(rounded, integer_like(e, bits, -(1 << 23)))
    scale = e.bitcast("float", e.add(kept, integer_like(e, bits, _ONE_BITS)))
    # exact but for one rounding each as long as 1 + 2^k is exact
    above = e.fma(a, e.fadd(one, scale), e.fsub(one, scale))
    below = e.fma(a, e.fsub(one, scale), e.fadd(one, scale))
    result = _atanh_of_quotient(e, above, below, k)

    def special():
        inverse = e.fdiv(one, scale)
        moved = e.fmul(inverse, up)
        beside = _atanh_of_quotient(e, e.fsub(moved, down), e.fadd(moved, down), k)
        end = e.select(e.fcmp("oeq", a, one), e.like(a, INF), e.like(a, NAN))
        return e.select(e.fcmp("olt", a, one), beside, end)

    unusual = e.fcmp("uge", a, e.like(a, 1.0 - 2.0**-22))
    return e.copysign(e.rare_path(unusual, result, special), x)


# ---- doubles --------------------------------------------------------------------------------


def _halved(e, a, big):
    """a / 2 and two doublings where a is big: the logarithm of 2a, whose parts cannot overflow."""
    two, none = e.like(a, 2.0), e.like(a, 0.0)
    return e.fmul(a, e.like(a, 0.5)), e.select(big, two, none)


def _asinh_double(e, x):
    """log1p(a + a^2 / (1 + sqrt(1 + a^2)))."""
    a = e.fabs(x)
    big = e.fcmp("ogt", a, e.like(a, 2.0**60))
    square = e.fmul(a, a)
    one = e.like(a, 1.0)
    excess = e.fdiv(square, e.fadd(one, e.sqrt(e.fadd(square, one))))
    w, low = two_sum(e, a, excess)
    half, doublings = _halved(e, a, big)
    w, low = e.select(big, half, w), e.select(big, e.like(a, 0.0), low)
    return e.copysign(log1p_with_low(e, w, low, doublings), x)


def _acosh_double(e, x):
    """log1p(t + sqrt(t (t + 2))), t = x - 1."""
    one = e.like(x, 1.0)
    t = e.fsub(x, one)
    big = e.fcmp("ogt", x, e.like(x, 2.0**60))
    sum_high, sum_low = two_sum(e, t, e.like(x, 2.0))
    q, q_low = two_product(e, t, sum_high)
    q_low = e.muladd(t, sum_low, q_low)
    root = e.sqrt(q)
    residual = e.fadd(e.fma(e.fneg(root), root, q), q_low)
    root_low = e.fdiv(residual, e.fadd(root, root))
    w, low = two_sum(e, root, t)
    plain = e.fcmp("ogt", t, e.like(x, 0.0))
    low = e.select(plain, e.fadd(low, root_low), e.like(x, 0.0))
    half, doublings = _halved(e, x, big)
    w, low = e.select(big, half, w), e.select(big, e.like(x, 0.0), low)
    r = log1p_with_low(e, w, low, doublings)
    return e.select(e.fcmp("ult", x, one), e.like(x, NAN), r)


def _atanh_double(e, x):
    """log1p(2a / (1 - a)) / 2."""
    a = e.fabs(x)
    one = e.like(a, 1.0)
    d = e.fsub(one, a)
    d_low = e.fsub(e.fsub(one, d), a)
    reciprocal = e.fdiv(one, d)
    twice = e.fadd(a, a)
    w = e.fmul(twice, reciprocal)
    residual = e.fma(e.fneg(w), d, twice)
    residual = e.fma(e.fneg(w), d_low, residual)
    r = e.fmul(log1p_with_low(e, w, e.fmul(residual, reciprocal)), e.like(a, 0.5))
    r = e.select(e.fcmp("oeq", a, one), e.like(a, INF), r)
    return e.copysign(r, x)


def asinh(e, x):
    """Inverse hyperbolic sine."""
    return _asinh_float(e, x) if x.type == "float" else _asinh_double(e, x)


def acosh(e, x):
    """Inverse hyperbolic cosine; NaN below 1."""
    return _acosh_float(e, x) if x.type == "float" else _acosh_double(e, x)


def atanh(e, x):
    """Inverse hyperbolic tangent; NaN outside [-1, 1]."""
    return _atanh_float(e, x) if x.type == "float" else _atanh_double(e, x)
