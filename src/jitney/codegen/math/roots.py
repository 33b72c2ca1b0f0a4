"""Cube root and reciprocal square root.

In: float or double `Value`s. Out: cbrt within 1 ulp, rsqrt within 1.5 ulp; zeros,
infinities, NaN and denormals as in C.
cbrt: x = m 2^(3n + rest), rest one of -1, 0, 1. Floats: a polynomial of m times a root of 2 in two
parts. Doubles: y, a short number near v^(-1/3), makes v y^2 nearly the root and v y^3 nearly one;
y has so few bits that its powers are exact, and a series in 1 - v y^3 gives the rest. No division.
"""

from .forms import (
    HEX,
    INF,
    MANTISSA_BITS,
    SMALLEST_NORMAL,
    exponent,
    has_avx512_form,
    horner,
    integer_like,
    mantissa,
    polynomial,
    power_of_two,
    round_with_magic,
    rsqrt_estimate,
    scale_by_power,
    table_lookup,
    two_product,
)
from .logarithm import split_portably

# 2^(rest/3) in two parts, and 2^(-rest/3), for rest = 0, 1, -1
_ROOTS = (1.0, HEX("0x1.428a30p+0"), HEX("0x1.965feap-1"))
_ROOTS_LOW = (0.0, HEX("-0x1.9ca35ep-26"), HEX("0x1.4f5b90p-27"))
_INVERSE_ROOTS = (1.0, HEX("0x1.965fea53d6e3dp-1"), HEX("0x1.428a2f98d728bp+0"))
_KEPT = {"double": -(1 << 36)}  # of the bits of y: the sign, the exponent and 16 bits
_LIFTED = {"float": 24, "double": 54}  # places that bring a denormal up; a multiple of 3


def rsqrt(e, x):
    """1 / sqrt(x)."""
    if x.type == "double" or not has_avx512_form(e, x):
        return e.fdiv(e.like(x, 1.0), e.sqrt(x))
    y = rsqrt_estimate(e, x)
    t = e.fmul(x, y)
    residual = e.fma(e.fneg(t), y, e.like(x, 1.0))
    better = e.fma(e.fmul(y, e.like(x, 0.5)), residual, y)
    # 0 and infinity make the residual NaN; the estimate itself is exact there
    return e.select(e.fcmp("uno", better, better), y, better)


def cbrt(e, x):
    """Cube root."""
    size = e.fabs(x)
    root = _root_float if x.type == "float" else _root_double
    if has_avx512_form(e, x):  # the instructions give every special result
        m = mantissa(e, size)
        return e.copysign(root(e, m, e.fsub(exponent(e, size), exponent(e, m))), x)
    lifted = _LIFTED[x.type]
    tiny = e.fcmp("olt", size, e.like(x, SMALLEST_NORMAL[x.type]))
    m, k, _ = split_portably(e, e.select(tiny, e.fmul(size, e.like(x, 2.0**lifted)), size))
    k = e.fadd(k, e.select(tiny, e.like(x, -lifted), e.like(x, 0.0)))
    zero, inf = e.like(x, 0.0), e.like(x, INF)
    usual = e.and_(e.fcmp("ogt", size, zero), e.fcmp("olt", size, inf))
    return e.copysign(e.select(usual, root(e, m, k), e.fadd(x, x)), x)


def _thirds(e, k):
    """(n, bits of n, bits of rest, rest): k = 3n + rest."""
    n, bits = round_with_magic(e, k, 1.0 / 3.0)
    rest = e.fsub(k, e.fmul(n, e.like(k, 3.0)))
    magic = e.like(k, 1.5 * 2.0 ** MANTISSA_BITS[k.type])
    return n, bits, e.bits(e.fadd(rest, magic)), rest


def _by_rest(e, bits, rest, numbers):
    """numbers[rest]."""
    if has_avx512_form(e, rest):
        table = (*numbers[:2], *[numbers[0]] * 13, numbers[2])
        return table_lookup(e, bits, rest.type, table)
    zero = e.like(rest, 0.0)
    middle, up, down = (e.like(rest, number) for number in numbers)
    low = e.select(e.fcmp("olt", rest, zero), down, middle)
    return e.select(e.fcmp("ogt", rest, zero), up, low)


def _scaled(e, value, n, bits):
    """value * 2^n, a normal number."""
    if has_avx512_form(e, value):
        return scale_by_power(e, value, n)
    return e.fmul(value, power_of_two(e, bits, value.type))


def _root_float(e, m, k):
    """(m 2^k)^(1/3) for m in [3/4, 3/2)."""
    n, bits, rest_bits, rest = _thirds(e, k)
    high = _by_rest(e, rest_bits, rest, _ROOTS)
    low = _by_rest(e, rest_bits, rest, _ROOTS_LOW)
    f = e.fsub(m, e.like(m, 1.0))
    tail = e.muladd(e.fmul(high, f), polynomial(e, f, "cbrt_f32"), low)
    return _scaled(e, e.fadd(high, tail), n, bits)


def _root_double(e, m, k):
    """(m 2^k)^(1/3) for m in [3/4, 3/2)."""
    n, bits, rest_bits, rest = _thirds(e, k)
    one = e.like(m, 1.0)
    places = integer_like(e, rest_bits, MANTISSA_BITS["double"])
    v = e.bitcast("double", e.add(e.bits(m), e.shl(rest_bits, places)))  # m 2^rest
    y = polynomial(e, e.fsub(m, one), "inverse_cbrt_f64")
    y = e.fmul(y, _by_rest(e, rest_bits, rest, _INVERSE_ROOTS))
    kept = integer_like(e, rest_bits, _KEPT["double"])
    y = e.bitcast("double", e.and_(e.bits(y), kept))
    square = e.fmul(y, y)  # exact, as is the cube
    short = e.fma(e.fneg(v), e.fmul(square, y), one)
    near, low = two_product(e, v, square)  # the root is near * (1 - short)^(-2/3)
    series = horner(e, short, [2 / 3, 5 / 9, 40 / 81])
    tail = e.muladd(e.fmul(near, short), series, low)
    return _scaled(e, e.fadd(near, tail), n, bits)
