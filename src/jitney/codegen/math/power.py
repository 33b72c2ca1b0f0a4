"""pow with every special case of C, and small integer powers.

In: float or double `Value`s. Out: pow within about 1 ulp.
pow: exp(y log x), the logarithm in a high and a low part (doubles: about 62 good bits) or, for
floats without AVX-512, in double. Zeros, negative bases, infinities and NaN go to a rare branch.
"""

from ..constants_text import FLOAT_BITS
from . import cells
from .exponential import exp_of_any_sum
from .forms import (
    HEX,
    INF,
    INFINITY_BITS,
    LEAST_POWER,
    NAN,
    exponent,
    fast_two_sum,
    has_avx512_form,
    integer_like,
    mantissa,
    polynomial,
    power_of_two,
    round_with_magic,
    scale_by_power,
    two_product,
    two_sum,
)
from .logarithm import split_portably


def _unusual(e, x, y):
    """Where x is not a finite number above 0, or y is not finite: two integer comparisons."""
    inf, sign = INFINITY_BITS[x.type], 1 << (FLOAT_BITS[x.type] - 1)
    x, y = e.bits(x), e.bits(y)
    one = integer_like(e, x, 1)
    base = e.icmp("uge", e.sub(x, one), integer_like(e, x, inf - 1))
    size = e.and_(y, integer_like(e, y, sign - 1))
    return e.or_(base, e.icmp("uge", size, integer_like(e, y, inf)))


def _split_positive(e, x, may_be_denormal):
    """(m, k) with x = m 2^k, m in [0.75, 1.5), for x > 0 finite."""
    if has_avx512_form(e, x):
        m = mantissa(e, x)
        return m, e.fsub(exponent(e, x), exponent(e, m))
    if not may_be_denormal:
        m, k, _ = split_portably(e, x)
        return m, k
    small = e.fcmp("olt", x, e.like(x, 2.0**-1022))
    m, k, _ = split_portably(e, e.select(small, e.fmul(x, e.like(x, 2.0**54)), x))
    return m, e.fadd(k, e.select(small, e.like(x, -54.0), e.like(x, 0.0)))


def _power_float(e, x, y):
    """x^y for floats x > 0 and finite y."""
    if has_avx512_form(e, x):
        return _power_float_by_cells(e, x, y)
    x, y = e.fpext(x, "double"), e.fpext(y, "double")
    m, k = _split_positive(e, x, may_be_denormal=False)
    f = e.fsub(m, e.like(x, 1.0))
    log2_x = e.muladd(f, polynomial(e, f, "log2_wide"), k)
    t = e.clamp_fast(-300.0, e.fmul(log2_x, y), 300.0)
    n, bits = round_with_magic(e, t, 1.0)
    r = e.fsub(t, n)
    p = e.muladd(polynomial(e, r, "exp2_wide"), r, e.like(x, 1.0))
    return e.fptrunc(e.fmul(p, power_of_two(e, bits, "double")), "float")


def _power_float_by_cells(e, x, y):
    """2^(y log2 x), the logarithm in two floats."""
    high, low = cells.log2_two_parts(e, x)
    t, t_low = two_product(e, high, y)
    t_low = e.fma(low, y, t_low)
    n = e.roundeven(t)
    r = e.fadd(e.fsub(t, n), t_low)
    # beyond the range r is anything, or NaN, and only n counts
    one = e.like(r, 1.0)
    r = e.fast_min(e.fast_max(r, e.like(r, -1.0)), one)
    power = e.fma(polynomial(e, r, "exp2_f32"), r, one)
    return scale_by_power(e, power, n, LEAST_POWER[x.type])


def log_two_parts(e, x):
    """(high, low): log x with about 65 good bits, for x > 0 finite."""
    m, k = _split_positive(e, x, may_be_denormal=True)
    one = e.like(x, 1.0)
    # s + s_low = (m-1)/(m+1)
    f, g = e.fsub(m, one), e.fadd(m, one)
    g_low = e.fsub(m, e.fsub(g, one))
    reciprocal = e.fdiv(one, g)
    s = e.fmul(f, reciprocal)
    minus_s = e.fneg(s)
    s_low = e.fmul(e.fma(minus_s, g_low, e.fma(minus_s, g, f)), reciprocal)
    z, z_low = two_product(e, s, s)
    z_low = e.fma(e.fadd(s, s), s_low, z_low)
    # log m = 2 s + s z (2/3 + z (2/5 + …)): the bracket in two parts
    third, third_low = HEX("0x1.5555555555555p-1"), HEX("0x1.5555555555555p-55")
    t = e.fmul(z, polynomial(e, z, "log_tail_f64"))
    h, h_low = fast_two_sum(e, e.like(x, third), t)
    h_low = e.fadd(h_low, e.like(x, third_low))
    p, p_low = two_product(e, h, z)
    p_low = e.fma(h_low, z, e.fma(h, z_low, p_low))
    u, u_low = two_product(e, p, s)
    u_low = e.fma(p_low, s, e.fma(p, s_low, u_low))
    # k log 2 (its high part has zeros to spare, so that the product is exact) + 2 s + u
    exact = e.fmul(k, e.like(x, HEX("0x1.62e42fefa3800p-1")))
    total, total_low = two_sum(e, exact, e.fadd(s, s))
    total, error = fast_two_sum(e, total, u)
    low = e.fma(k, e.like(x, HEX("0x1.ef35793c76730p-45")), u_low)
    low = e.fadd(low, e.fadd(s_low, s_low))
    low = e.fadd(e.fadd(low, total_low), error)
    return fast_two_sum(e, total, low)


def _power_double(e, x, y):
    """x^y for doubles x > 0 and finite y."""
    by_table = has_avx512_form(e, x)
    high, low = (cells.log_two_parts if by_table else log_two_parts)(e, x)
    p, p_low = two_product(e, high, y)
    return exp_of_any_sum(e, p, e.fma(low, y, p_low))


def pow(e, x, y):  # noqa: A001 (the name of the operation)
    """x to the power y."""
    x, y = e.match(x, y)
    if e.target.avx512 and x.lanes < 512 // FLOAT_BITS[x.type]:
        return _in_a_whole_register(e, x, y)
    size = e.fabs(x)
    power = _power_float if x.type == "float" else _power_double
    usual = power(e, size, y)
    return e.rare_path(_unusual(e, x, y), usual, lambda: _special_power(e, x, y, size, usual))


def _in_a_whole_register(e, x, y):
    """pow of a scalar or a short vector, with the bits that the whole register's formula gives."""
    lanes = [i % x.lanes for i in range(512 // FLOAT_BITS[x.type])]

    def repeated(v):
        return e.splat(v, len(lanes)) if v.lanes == 1 else e.shuffle(v, None, lanes)

    result = pow(e, repeated(x), repeated(y))
    if x.lanes == 1:
        return e.extract(result, 0)
    return e.shuffle(result, None, range(x.lanes))


def _special_power(e, x, y, size, usual):
    """Zeros, negative bases, infinities and NaN, given |x|^y where |x| and y are finite."""
    zero, one, inf, nan = (e.like(x, v) for v in (0.0, 1.0, INF, NAN))
    whole = e.fcmp("oeq", e.trunc(y), y)
    half = e.fmul(y, e.like(y, 0.5))
    odd = e.and_(whole, e.fcmp("une", e.trunc(half), half))
    odd = e.and_(odd, e.fcmp("olt", e.fabs(y), inf))
    rising = e.fcmp("ogt", y, zero)
    at_zero = e.select(rising, zero, inf)
    at_infinity = e.select(rising, inf, zero)
    r = e.select(e.fcmp("oeq", size, zero), at_zero, usual)
    r = e.select(e.fcmp("oeq", size, inf), at_infinity, r)
    growing = e.xor(e.fcmp("ogt", size, one), e.fcmp("olt", y, zero))
    limit = e.select(e.fcmp("oeq", size, one), one, e.select(growing, inf, zero))
    r = e.select(e.fcmp("oeq", e.fabs(y), inf), limit, r)
    # a negative finite base needs a whole exponent; odd ones give its sign
    root = e.and_(e.fcmp("olt", x, zero), e.fcmp("ogt", x, e.like(x, -INF)))
    bad = e.and_(root, e.not_(e.or_(whole, e.fcmp("oeq", e.fabs(y), inf))))
    r = e.select(bad, nan, r)
    r = e.select(odd, e.copysign(r, x), r)
    r = e.select(e.fcmp("uno", x, y), nan, r)
    return e.select(e.or_(e.fcmp("oeq", y, zero), e.fcmp("oeq", x, one)), one, r)


def integer_pow(e, x, exponent=1):
    """x to a fixed integer power by repeated squaring; floats and integers."""
    is_float = x.type in ("float", "double")
    multiply = e.fmul if is_float else e.mul
    if exponent == 0:
        return e.like(x, 1)
    result, square, n = None, x, abs(exponent)
    while n:
        if n & 1:
            result = square if result is None else multiply(result, square)
        n >>= 1
        if n:
            square = multiply(square, square)
    if exponent < 0:
        if not is_float:
            raise NotImplementedError("integer_pow of an integer to a negative power")
        result = e.fdiv(e.like(x, 1.0), result)
    return result
