"""Logarithms.

In: float or double `Value`s. Out: results within 2 ulp; 0, negative numbers, infinity, NaN and
denormals as in C. x = 2^k (1 + f) with f in [-1/4, 1/2), so that log 1 is exact and nothing
cancels near it.
"""

from .forms import (
    EXPONENT_BIAS,
    HEX,
    INF,
    INFINITY_BITS,
    LN2_LOW_POSITIVE,
    MANTISSA_BITS,
    NAN,
    exponent,
    has_avx512_form,
    in_a_register,
    integer_like,
    mantissa,
    polynomial,
    two_product,
)

_LOWEST_MANTISSA = {"float": 0x3F400000, "double": 0x3FE8000000000000}  # 0.75
_LN2 = HEX("0x1.62e42fefa39efp-1")


def _small_integer_to_float(e, bits, type_name):
    """A signed integer of few bits as a float of its width, without 64-bit conversions."""
    if type_name == "float" or e.target.avx512:
        return e.sitofp(bits, type_name)
    moved = e.add(bits, integer_like(e, bits, 0x4338000000000000))
    return e.fsub(e.bitcast("double", moved), e.constant("double", 1.5 * 2.0**52, bits.lanes))


def split_portably(e, x):
    """(m, k, k as an integer) for a positive normal x = m 2^k, m in [0.75, 1.5)."""
    bits = e.bits(x)
    moved = e.sub(bits, integer_like(e, bits, _LOWEST_MANTISSA[x.type]))
    places = integer_like(e, bits, MANTISSA_BITS[x.type])
    if x.type == "double" and not e.target.avx512:  # no 64-bit arithmetic shift before AVX-512
        sign_bit = integer_like(e, bits, 0x800)
        k = e.sub(e.xor(e.lshr(moved, places), sign_bit), sign_bit)
        kept = e.and_(moved, integer_like(e, bits, 0xFFF << 52))
    else:
        k = e.ashr(moved, places)
        kept = e.shl(k, places)
    m = e.bitcast(x.type, e.sub(bits, kept))
    return m, _small_integer_to_float(e, k, x.type), k


def split(e, x):
    """(f, k): x = 2^k (1 + f), for positive normal x (any x when AVX-512 forms apply)."""
    if has_avx512_form(e, x):
        m = mantissa(e, x)
        k = e.fsub(exponent(e, x), exponent(e, m))
    else:
        m, k, _ = split_portably(e, x)
    return e.fsub(m, e.like(x, 1.0)), k


def _log_tail(e, f):
    """log(1 + f) - f."""
    square = e.fmul(f, f)
    if f.type == "float":
        return e.fmul(square, e.muladd(f, polynomial(e, f, "log_f32"), e.like(f, -0.5)))
    s = e.fdiv(f, e.fadd(f, e.like(f, 2.0)))
    z = e.fmul(s, s)
    half = e.fmul(square, e.like(f, 0.5))
    return e.fsub(e.fmul(s, e.muladd(z, polynomial(e, z, "log_f64"), half)), half)


def log_of_parts(e, f, k, low=None):
    """log(2^k (1 + f + low)); `low` is a correction much smaller than f."""
    high_ln2, low_ln2 = (e.like(f, c) for c in LN2_LOW_POSITIVE[f.type])
    square = e.fmul(f, f)
    if f.type == "float":
        tail = e.muladd(f, polynomial(e, f, "log_f32"), e.like(f, -0.5))
        tail = e.fma(k, low_ln2, e.fmul(square, tail))
        half = None
    else:
        s = e.fdiv(f, e.fadd(f, e.like(f, 2.0)))
        z = e.fmul(s, s)
        half = e.fmul(square, e.like(f, 0.5))
        tail = e.muladd(z, polynomial(e, z, "log_f64"), half)
        tail = e.muladd(s, tail, e.fmul(k, low_ln2))
    if low is not None:
        tail = e.fadd(tail, low)
    if half is not None:
        tail = e.fsub(tail, half)
    return e.fma(k, high_ln2, e.fadd(tail, f))


def _with_specials(e, x, compute):
    """`compute(v, more)` = log(2^more v) for normal v > 0; other arguments on a rare branch."""
    if has_avx512_form(e, x):  # the instructions have given every special result already
        return compute(x, 0.0)
    bits = e.bits(x)
    low = integer_like(e, bits, 1 << MANTISSA_BITS[x.type])
    span = INFINITY_BITS[x.type] - (1 << MANTISSA_BITS[x.type])
    unusual = e.icmp("uge", e.sub(bits, low), integer_like(e, bits, span))

    def special():
        places = MANTISSA_BITS[x.type] + 1
        result = compute(e.fmul(x, e.like(x, 2.0**places)), -float(places))
        zero = e.like(x, 0.0)
        result = e.select(e.fcmp("oeq", x, zero), e.like(x, -INF), result)
        result = e.select(e.fcmp("olt", x, zero), e.like(x, NAN), result)
        return e.select(e.fcmp("ult", x, e.like(x, INF)), result, e.fadd(x, x))

    def special_or_nan():
        return e.select(e.fcmp("uno", x, x), x, special())

    return e.rare_path(unusual, compute(x, 0.0), special_or_nan)


def _split_scaled(e, v, more):
    f, k = split(e, v)
    return f, (e.fadd(k, e.like(k, more)) if more else k)


@in_a_register("float")
def log(e, x):
    """Natural logarithm."""
    return _with_specials(e, x, lambda v, more: log_of_parts(e, *_split_scaled(e, v, more)))


def _log_of_base(constants):
    """A logarithm as k*step + log(1+f)*slope, both constants in two parts."""

    def function(e, x):
        step_high, step_low, slope_high, slope_low = constants[x.type]

        def compute(v, more):
            f, k = _split_scaled(e, v, more)
            slope = e.like(f, slope_high)
            product, low = two_product(e, f, slope)  # the error of f*slope counts near 1
            low = e.muladd(f, e.like(f, slope_low), low)
            low = e.muladd(_log_tail(e, f), slope, low)
            if step_low:
                low = e.muladd(k, e.like(k, step_low), low)
            return e.fma(k, e.like(k, step_high), e.fadd(product, low))

        return _with_specials(e, x, compute)

    return function


log2 = _log_of_base(
    {
        "float": (1.0, 0.0, HEX("0x1.715476p+0"), HEX("0x1.4ae0cp-26")),
        "double": (1.0, 0.0, HEX("0x1.71547652b82fep+0"), HEX("0x1.777d0ffda0d24p-56")),
    }
)

log10 = _log_of_base(
    {
        "float": (
            HEX("0x1.344134p-2"), HEX("0x1.09f7a00000000p-26"),
            HEX("0x1.bcb7b2p-2"), HEX("-0x1.5b235ep-27"),
        ),
        "double": (
            HEX("0x1.34413509f79fep-2"), HEX("0x1.e623e2566b02ep-55"),
            HEX("0x1.bcb7b1526e50ep-2"), HEX("0x1.95355baaafad3p-57"),
        ),
    }
)


def log_wide(e, x, name="log_wide"):
    """log of a double, good to 2^-40: for results that are rounded to float."""

    def compute(v, more):
        f, k = _split_scaled(e, v, more)
        step = e.like(k, 1.0 if name == "log2_wide" else _LN2)
        return e.muladd(k, step, e.fmul(f, polynomial(e, f, name)))

    return _with_specials(e, x, compute)


def log1p_with_low(e, x, low=None, doublings=None):
    """log((1 + x + low) 2^doublings) for x > -1; `low` is far below an ulp of 1 + x."""
    one = e.like(x, 1.0)
    places = MANTISSA_BITS[x.type]
    u = e.fadd(x, one)
    if has_avx512_form(e, x):
        m = mantissa(e, u)
        k = e.fsub(exponent(e, u), exponent(e, m))
        whole = e.bits(e.fadd(k, e.like(k, 1.5 * 2.0**places)))
    else:
        m, k, whole = split_portably(e, u)
    bias = integer_like(e, whole, EXPONENT_BIAS[x.type] << places)
    scale = e.bitcast(x.type, e.sub(bias, e.shl(whole, integer_like(e, whole, places))))
    f = e.fma(x, scale, e.fsub(scale, one))  # exact but for one rounding
    f = e.select(e.fcmp("ogt", x, e.like(x, 2.0 ** (places + 3))), e.fsub(m, one), f)
    if low is not None:
        low = e.fmul(low, scale)
    if doublings is not None:
        k = e.fadd(k, doublings)
    result = log_of_parts(e, f, k, low)
    if has_avx512_form(e, x):
        return result
    bits = e.bits(u)
    span = integer_like(e, bits, INFINITY_BITS[x.type] - 1)
    unusual = e.icmp("uge", e.sub(bits, integer_like(e, bits, 1)), span)

    def special():
        r = e.select(e.fcmp("oeq", u, e.like(x, 0.0)), e.like(x, -INF), e.like(x, NAN))
        return e.select(e.fcmp("oeq", u, e.like(x, INF)), u, r)

    return e.rare_path(unusual, result, special)


def log1p(e, x):
    """log(1 + x), also for tiny x; the result has the sign of x."""
    return e.copysign(log1p_with_low(e, x), x)
