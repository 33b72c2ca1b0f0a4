"""pow with every special case of C, small integer powers, cube root and reciprocal square root.

In: float or double `Value`s. Out: pow and cbrt within 1 ulp, rsqrt within 1 ulp (2 for doubles).
pow: exp(y log x). For floats in double precision; for doubles the logarithm has about 65 good bits
(a high and a low part). Zeros, negative bases, infinities and NaN go to a rare branch.
"""

from .exponential import exp_of_sum
from .forms import (
    HEX,
    INF,
    NAN,
    by_registers,
    exponent,
    fast_two_sum,
    has_avx512_form,
    horner,
    mantissa,
    polynomial,
    power_of_two,
    round_with_magic,
    scale_by_power,
    two_product,
    two_sum,
)
from .logarithm import split_portably

# bits of llvm.is.fpclass
_NAN_OR_INFINITE = 0b1000000111
_NOT_POSITIVE_FINITE = 0b1001111111


def _is_class(e, x, mask):
    r = e.intrinsic(
        f"llvm.is.fpclass.{'' if x.lanes == 1 else f'v{x.lanes}'}"
        f"{'f32' if x.type == 'float' else 'f64'}",
        "i1",
        [x, f"i32 {mask}"],
        x.lanes,
    )
    return r


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
    """x^y in double for floats x > 0 and finite y, as a float."""
    x, y = e.fpext(x, "double"), e.fpext(y, "double")
    m, k = _split_positive(e, x, may_be_denormal=False)
    f = e.fsub(m, e.like(x, 1.0))
    log2_x = e.muladd(f, polynomial(e, f, "log2_wide"), k)
    t = e.clamp_fast(-300.0, e.fmul(log2_x, y), 300.0)
    n, bits = round_with_magic(e, t, 1.0)
    r = e.fsub(t, n)
    p = e.muladd(polynomial(e, r, "exp2_wide"), r, e.like(x, 1.0))
    if has_avx512_form(e, x):
        scaled = scale_by_power(e, p, n)
    else:
        scaled = e.fmul(p, power_of_two(e, bits, "double"))
    return e.fptrunc(scaled, "float")


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
    high, low = log_two_parts(e, x)
    y = e.clamp_fast(-(2.0**64), y, 2.0**64)
    p, p_low = two_product(e, high, y)
    p_low = e.fma(low, y, p_low)
    inside = e.fcmp("olt", e.fabs(p), e.like(p, 800.0))
    p = e.clamp_fast(-800.0, p, 800.0)
    p_low = e.select(inside, p_low, e.like(p, 0.0))
    return exp_of_sum(e, p, p_low)


def pow(e, x, y):  # noqa: A001 (the name of the operation)
    """x to the power y."""
    x, y = e.match(x, y)
    size = e.fabs(x)
    power = _power_float if x.type == "float" else _power_double
    unusual = e.or_(_is_class(e, x, _NOT_POSITIVE_FINITE), _is_class(e, y, _NAN_OR_INFINITE))
    usual = power(e, size, y)
    return e.rare_path(unusual, usual, lambda: _special_power(e, x, y, size, usual))


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


def rsqrt(e, x):
    """1 / sqrt(x)."""
    if x.type == "double" or not has_avx512_form(e, x):
        return e.fdiv(e.like(x, 1.0), e.sqrt(x))

    def estimate(v):
        return e.intrinsic(
            "llvm.x86.avx512.rsqrt14.ps.512", "float", [v, e.like(v, 0.0), "i16 -1"]
        )

    y = by_registers(e, estimate, x)
    t = e.fmul(x, y)
    residual = e.fma(e.fneg(t), y, e.like(x, 1.0))
    better = e.fma(e.fmul(y, e.like(x, 0.5)), residual, y)
    # 0 and infinity make the residual NaN; the estimate itself is exact there
    return e.select(e.fcmp("uno", better, better), y, better)


_THIRD_ROOTS = (1.0, 2.0 ** (1 / 3), 2.0 ** (2 / 3))


def cbrt(e, x):
    """Cube root."""
    if x.type == "float":
        return e.fptrunc(_cbrt(e, e.fpext(x, "double"), steps=1, scaled=False), "float")
    return _cbrt(e, x, steps=2, scaled=True)


def _cbrt(e, x, steps, scaled):
    """m^(1/3) 2^(k/3) from a polynomial, made better by Halley's iteration."""
    size = e.fabs(x)
    one = e.like(x, 1.0)
    if scaled:  # keep away from the ends of the range, where cubes leave it
        tiny = e.fcmp("olt", size, e.like(x, 2.0**-900))
        vast = e.fcmp("ogt", size, e.like(x, 2.0**900))
        factor = e.select(tiny, e.like(x, 2.0**300), e.select(vast, e.like(x, 2.0**-300), one))
        back = e.select(tiny, e.like(x, 2.0**-100), e.select(vast, e.like(x, 2.0**100), one))
        size = e.fmul(size, factor)
    m, k, _ = split_portably(e, size)
    third, bits = round_with_magic(e, k, 1.0 / 3.0)
    rest = e.fsub(k, e.fmul(third, e.like(x, 3.0)))  # -1, 0 or 1
    estimate = horner(e, e.fsub(m, one), [1.0, 1 / 3, -0.105, 0.045])
    factor_of_rest = e.select(
        e.fcmp("ogt", rest, e.like(x, 0.0)),
        e.like(x, _THIRD_ROOTS[1]),
        e.select(e.fcmp("olt", rest, e.like(x, 0.0)), e.like(x, _THIRD_ROOTS[2] / 2), one),
    )
    v = e.fmul(m, power_of_two(e, e.bits(e.fadd(rest, e.like(x, 1.5 * 2.0**52))), "double"))
    r = e.fmul(estimate, factor_of_rest)
    for step in range(steps):
        r = _halley_step(e, r, v, last=step == steps - 1)
    r = e.fmul(r, power_of_two(e, bits, "double"))
    if scaled:
        r = e.fmul(r, back)
    usual = e.and_(
        e.fcmp("ogt", size, e.like(x, 0.0)), e.fcmp("olt", size, e.like(x, INF))
    )
    return e.copysign(e.select(usual, r, e.fadd(x, x)), x)


def _halley_step(e, r, v, last):
    """r + r (v - r^3) / (2 r^3 + v): cubic convergence; the last step with an exact residual."""
    square = e.fmul(r, r)
    cube = e.fmul(square, r)
    if last:
        square_low = e.fma(r, r, e.fneg(square))
        cube_low = e.fma(square_low, r, e.fma(square, r, e.fneg(cube)))
        difference = e.fsub(e.fsub(v, cube), cube_low)
    else:
        difference = e.fsub(v, cube)
    slope = e.fadd(e.fadd(cube, cube), v)
    return e.fma(r, e.fdiv(difference, slope), r)
