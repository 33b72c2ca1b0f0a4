"""exp, exp2, expm1, the hyperbolic functions and the logistic function.

In: float or double `Value`s. Out: results within 2 ulp, denormals kept, infinities and NaN right.
All reduce x = n log 2 + r with |r| <= log(2)/2 and evaluate a polynomial in r.
"""

import math

from ...ir.scalar_ops import RAISED
from ..instructions import Value
from . import eighths
from .coefficients import POLYNOMIALS, TABLES
from .forms import (
    EXPONENT_BIAS,
    FAR,
    LEAST_POWER,
    LN2_NEAREST,
    LOG2_E,
    MANTISSA_BITS,
    SUFFIX,
    added_down,
    below_two,
    bounded,
    fast_two_sum,
    graded,
    has_avx512_form,
    horner,
    in_a_register,
    integer_like,
    polynomial,
    power_in_two,
    power_of_two,
    remainder_below,
    round_with_magic,
    scale_by_power,
    scaled_down,
    table_lookup,
    with_sign_of,
)

# Below, results are 0. There n + bias + FAR is 0, and so is the power of two that is scaled down: a
# product that is too small for the format takes processors longer (in turns, a Zen 3, two threads:
# softmax of 1024 x 1024 of which half is masked 433 us with -110, where 2^-94 is scaled by 2^-64
# for x = -inf, and 278 so).
_LEAST_POWER = {kind: -float(EXPONENT_BIAS[kind] + FAR[kind]) for kind in FAR}
_EXP_RANGE = {
    "float": (_LEAST_POWER["float"] / LOG2_E, 100.0),
    "double": (_LEAST_POWER["double"] / LOG2_E, 720.0),
}
_RAISED_LEAST, _RAISED_MOST = -131.0, 40.0  # of float32: raised, its exponential is normal
_NEAR_BOUND = 189.0  # the same for powers of two: 2^(64 - 189) is normal, 2^(64 + 189) infinite
_SIXTEENTHS, _THIRTYSECONDS = 4, 5  # places of a table's index
_EXPM1_RANGE = {"float": (-20.0, 89.0), "double": (-40.0, 710.0)}


def reduce_exponent(e, x, more=0):
    """(n, bits of n + more, r): x = n log 2 + r."""
    n, bits = round_with_magic(e, x, LOG2_E, more)
    high, low = LN2_NEAREST[x.type]
    r = e.fma(n, e.like(x, -high), x)
    return n, bits, e.fma(n, e.like(x, -low), r)


def exp_fraction(e, r, name="exp"):
    """exp(r) - 1 for |r| <= log(2)/2, good to an ulp of exp(r)."""
    q = polynomial(e, r, f"{name}_{SUFFIX[r.type]}")
    return e.fma(q, e.fmul(r, r), r)


def _round_to_places(e, x, places):
    """(n, bits): n = x log2(e), rounded to so many binary places, which are the last of `bits`."""
    magic = e.like(x, 1.5 * 2.0 ** (MANTISSA_BITS[x.type] - places))
    shifted = e.fma(x, e.like(x, LOG2_E), magic)
    return e.fsub(shifted, magic), e.bits(shifted)


def _exp_by_table(e, x, limit=None):
    """e^x of float32 by AVX-512: x = (n + j/16) log 2 + r, and 2^(j/16) is one of 16 in a register.
    Seven multiplications where halves of log 2 take nine. `limit`: r is kept within, so that any x
    will do: n, which is infinite or NaN if x is, decides."""
    n, bits = _round_to_places(e, x, _SIXTEENTHS)
    high, low = LN2_NEAREST[x.type]
    r = e.fma(n, e.like(x, -low), e.fma(n, e.like(x, -high), x))
    r = r if limit is None else bounded(e, r, limit)
    power = table_lookup(e, bits, x.type, TABLES["exp_table_f32"][0])
    fraction = exp_fraction(e, r, "exp_sixteenth")
    # which takes floor(n)
    return scale_by_power(e, e.fma(fraction, power, power), n, LEAST_POWER[x.type])


@in_a_register("float")
def exp(e, x):
    """e^x. AVX-512 keeps the remainder within bounds, not x: an instruction less."""
    if _has_table(e, x):
        return _exp_by_table(e, x, limit=1.0)
    if has_avx512_form(e, x):
        n, _, r = reduce_exponent(e, x)
        return _scaled(e, bounded(e, r, 1.0), n)
    x = e.clamp_fast(_EXP_RANGE[x.type][0], x, _EXP_RANGE[x.type][1])
    return eighths.exp(e, x) if eighths.has(e, x) else _exp_by_halves(e, x)


@in_a_register("float")
def exp_nonpositive(e, x):
    """e^x of x <= 0 or NaN."""
    x = e.fast_max(e.like(x, _EXP_RANGE[x.type][0]), x)
    if eighths.has(e, x):
        return eighths.exp_nonpositive(e, x)
    return _exp_by_table(e, x) if _has_table(e, x) else _exp_by_halves(e, x, falls=True)


@in_a_register("float")
def exp_distance(e, x):
    """e^x of x <= 0 or NaN, in float32 a difference that has been rounded: that has moved its
    exponential by up to |x| 2^-24 of it. AVX-512 leaves out what float32 has not of log2(e),
    which moves it by |x| 2^-26, for two multiplications less, and takes any x, as `exp` does; AVX2
    what it has not of log(2)."""
    if eighths.has(e, x):
        least = e.fast_max(e.like(x, _EXP_RANGE[x.type][0]), x)
        return eighths.exp_nonpositive(e, least, of_distance=True)
    if not _has_table(e, x):
        return exp_nonpositive(e, x)
    n, bits = _round_to_places(e, x, _THIRTYSECONDS)
    r = below_two(e, e.fma(x, e.like(x, LOG2_E), e.fneg(n)))
    power = table_lookup(e, bits, x.type, TABLES["exp2_table_f32"][0])
    slope = polynomial(e, r, "exp2_32nd_f32")
    return scale_by_power(e, e.fma(slope, e.fmul(r, power), power), n, LEAST_POWER[x.type])


@in_a_register("float")
def exp_distance_any(e, x):
    """As `exp_distance`, of any x: above 40 a number as great as that of 40."""
    if not eighths.has(e, x):
        return exp_distance(e, x) if _has_table(e, x) else exp(e, x)
    x = e.clamp_fast(_EXP_RANGE[x.type][0], x, _RAISED_MOST)
    return eighths.exp_nonpositive(e, x, of_distance=True)


class Factored(Value):
    """A product that is only added, by a multiply-add: `first`, whose `names` these are, times
    `second`."""

    __slots__ = ("second",)

    def __init__(self, first, second):
        super().__init__(first.names, first.type, first.lanes)
        self.second = second


@in_a_register("float")
def exp_raised(e, x):
    """2^RAISED e^x of float32 x <= 0 or NaN, for sums that take it back: of x > -131 no result is a
    denormal, below it is next to nothing, or 0. As `exp_distance` AVX-512 takes log2(e) for a
    float32, AVX2 log(2)."""
    return _raised(e, x, falls=True)


@in_a_register("float")
def exp_raised_any(e, x):
    """As `exp_raised`, of any x: some number, or infinity, where it is above 40."""
    return _raised(e, x)


@in_a_register("float")
def exp_raised_kept(e, x):
    """As `exp_raised`, as good as `exp_distance`."""
    return _kept(e, x, falls=True)


@in_a_register("float")
def exp_raised_kept_any(e, x):
    """As `exp_raised_kept`, of any x: above 40 a number as great as that of 40."""
    return _kept(e, x)


@in_a_register("float")
def exp_raised_kept_near(e, x, m):
    """As `exp_raised_kept_any` of x - m, whose rounding is m's: the same for all x (see
    `near_factors`)."""
    found = near_factors(e, x, e.fmul(m, e.like(m, LOG2_E)))
    return e.fmul(found, found.second)


def _kept(e, x, falls=False):
    """0 far away, since products of it are quick then (see `_LEAST_POWER`)."""
    least = _EXP_RANGE[x.type][0]
    if falls:
        x = e.fast_max(e.like(x, least), x)
    else:
        x = e.clamp_fast(least, x, _RAISED_MOST)
    return eighths.exp_raised(e, x) if eighths.has(e, x) else _raised_by_halves(e, x)


def _raised(e, x, falls=False):
    found = raised_factors(e, x, falls)
    if found is None:
        return _raised_by_halves(e, _in_range_of_raised(e, x, falls))
    return e.fmul(found, found.second)


def raised_factors(e, x, falls=False) -> Factored | None:
    """`exp_raised` (of any x, unless it `falls`) as a product of two, where there is a table: the
    sum they belong to adds with the multiply-add that would have made their product."""
    if eighths.has(e, x):
        return Factored(*eighths.raised_factors(e, _in_range_of_raised(e, x, falls)))
    if not _has_table(e, x):
        return None
    if falls or e.target.has_dear_denormals:
        x = e.fast_max(e.like(x, _RAISED_LEAST), x)
    n, bits = _round_to_places(e, x, _THIRTYSECONDS)
    r = e.fma(x, e.like(x, LOG2_E), e.fneg(n))
    r = r if falls else bounded(e, r, 1.0)
    power = scale_by_power(e, table_lookup(e, bits, x.type, _RAISED_TABLE), n)
    return Factored(horner(e, r, (1.0, *POLYNOMIALS["exp2_32nd_f32"])), power)


def _in_range_of_raised(e, x, falls):
    """x within what has a power of two that integers put into the exponent."""
    if falls:
        return e.fast_max(e.like(x, _RAISED_LEAST), x)
    return e.clamp_fast(_RAISED_LEAST, x, _RAISED_MOST)


def nearness(e, m):
    """(h, u) of a number m near those that `near_factors` takes exponentials of: h is m times what
    float32 has of log2(e), rounded; u is 2^(h - m log2(e)), which undoes the rounding of a sum of
    them, by Taylor's series: good to 10^-7 where |m| is up to 4 x 10^6, whose places are 1/2
    apart."""
    log2_e = e.like(m, LOG2_E)
    h = e.fmul(m, log2_e)
    rounded = e.fmul(e.fma(m, log2_e, e.fneg(h)), e.like(m, -math.log(2)))
    return h, horner(e, rounded, [1 / math.factorial(k) for k in range(6)])


def near_factors(e, x, h) -> Factored:
    """With a table: 2^RAISED 2^(x log2(e) - h) of float32 as a product of two; h: see `nearness`.
    The exponent is rounded once, n is what is left of it without the last places, and the remainder
    is exact: of ten steps, four are multiplications and six additions, which a Zen 4 does at the
    same time (of a distance from m six and six: 7.1 cycles a vector, 6.4 so). Infinite where it
    overflows, and where h is no number, or x; next to nothing of x = -inf: no power of two is a
    denormal. With AVX2 2^126 where it overflows."""
    scaled = e.fma(x, e.like(x, LOG2_E), e.fneg(h))
    if eighths.has(e, x):
        return Factored(*eighths.near_factors(e, scaled))
    magic = e.like(x, 1.5 * 2.0 ** (MANTISSA_BITS[x.type] - _THIRTYSECONDS))
    if e.target.vectors_a_cycle >= 4:
        return _near_from_below(e, scaled, magic)
    scaled = bounded(e, scaled, _NEAR_BOUND)
    shifted = e.fadd(scaled, magic)
    n = e.fsub(shifted, magic)
    r = e.fsub(scaled, n)
    power = scale_by_power(e, table_lookup(e, e.bits(shifted), x.type, _RAISED_TABLE), n)
    return Factored(horner(e, r, (1.0, *POLYNOMIALS["exp2_32nd_f32"])), power)


def _near_from_below(e, scaled, magic) -> Factored:
    """2^RAISED 2^scaled as a product of two, of eight steps: 32nds are rounded down, so that a
    scaling by `scaled` itself takes its whole part, and what is left of any number, of an infinite
    one, too, lies within a 32nd. (A Zen 5 does scalings and such remainders once a cycle, as two
    additions each. One thread and two, by turns, with lines asked for sooner: log-sum-exp of 1024 x
    1024 .87 and .84 of the time, of 256 x 4096 .86 and .86.)
    """
    index = e.bits(added_down(e, scaled, magic))
    power = scale_by_power(e, table_lookup(e, index, scaled.type, _RAISED_TABLE), scaled)
    r = remainder_below(e, scaled, _THIRTYSECONDS)
    return Factored(horner(e, r, (1.0, *POLYNOMIALS["exp2_in_32nd_f32"])), power)


def _raised_by_halves(e, x):
    _, bits, r = reduce_exponent(e, x, EXPONENT_BIAS["float"] + RAISED)
    power = e.bitcast(x.type, e.shl(bits, integer_like(e, bits, MANTISSA_BITS["float"])))
    return e.muladd(exp_fraction(e, r), power, power)


_RAISED_TABLE = tuple([power * 2.0**RAISED for power in TABLES["exp2_table_f32"][0]])


def _has_table(e, x):
    return x.type == "float" and has_avx512_form(e, x)


def _scaled(e, r, n):
    """2^n e^r."""
    power = e.fadd(exp_fraction(e, r), e.like(r, 1.0))
    return scale_by_power(e, power, n, LEAST_POWER[r.type])


def _exp_by_halves(e, x, falls=False):
    """e^x with the whole part of the logarithm as the exponent: near 1 the error is smallest. Where
    it `falls`, x is known to be at most 0."""
    if has_avx512_form(e, x):
        n, _, r = reduce_exponent(e, x)
        return _scaled(e, r, n)
    bias = EXPONENT_BIAS[x.type]
    if falls:
        _, bits, r = reduce_exponent(e, x, bias + FAR[x.type])
        return scaled_down(e, exp_fraction(e, r), bits)
    n, bits, r = reduce_exponent(e, x, 2 * bias)
    near, far = power_in_two(e, bits, n)
    return e.fmul(e.muladd(exp_fraction(e, r), near, near), far)


def exp_normal(e, x):
    """e^x where the result is known to be a normal number."""
    _, bits, r = reduce_exponent(e, x)
    scale = power_of_two(e, bits, x.type)
    return e.fma(exp_fraction(e, r), scale, scale)


def exp2(e, x):
    """2^x."""
    x = e.clamp_fast(_LEAST_POWER[x.type], x, {"float": 130.0, "double": 1030.0}[x.type])
    n, bits = round_with_magic(e, x, 1.0, 2 * EXPONENT_BIAS[x.type])
    r = e.fsub(x, n)
    p = e.fma(polynomial(e, r, f"exp2_{SUFFIX[x.type]}"), r, e.like(x, 1.0))
    if has_avx512_form(e, x):
        return scale_by_power(e, p, n, LEAST_POWER[x.type])
    near, far = power_in_two(e, bits, n)
    return e.fmul(e.fmul(p, near), far)


def expm1(e, x):
    """e^x - 1, also for tiny x."""
    low, high = _EXPM1_RANGE[x.type]
    _, bits, r = reduce_exponent(e, e.clamp_fast(low, x, high))
    p = exp_fraction(e, r, "expm1")
    # 2 * (2^(n-1) p + (2^(n-1) - 1/2)): n-1 so that the largest results do not overflow early
    scale = power_of_two(e, e.sub(bits, integer_like(e, bits, 1)), x.type)
    half = e.fma(p, scale, e.fsub(scale, e.like(x, 0.5)))
    result = e.fadd(half, half)
    return e.select(e.fcmp("oeq", x, e.like(x, 0.0)), x, result)


def _half_exp_parts(e, a):
    """(h, l): h + l = exp(a)/2 nearly, a >= 0; h overflows where exp(a)/2 does."""
    top = {"float": 95.0, "double": 715.0}[a.type]
    n, _, r = reduce_exponent(e, e.fast_min(e.like(a, top), a))
    q = e.fmul(polynomial(e, r, f"expm1_{SUFFIX[a.type]}"), e.fmul(r, r))
    high, low = fast_two_sum(e, e.like(a, 1.0), r)
    p = e.fadd(high, e.fadd(q, low))
    error = e.fadd(e.fsub(high, p), e.fadd(q, low))
    n = e.fsub(n, e.like(a, 1.0))
    return scale_by_power(e, p, n), scale_by_power(e, error, n)


def cosh(e, x):
    """Hyperbolic cosine."""
    h, low = _half_exp_parts(e, e.fabs(x))
    return e.fadd(h, e.fadd(low, e.fdiv(e.like(x, 0.25), h)))


def sinh(e, x):
    """Hyperbolic sine: an odd polynomial below 1, exponentials above."""
    a = e.fabs(x)
    z = e.fmul(x, x)
    name = "sinh_f64" if x.type == "double" else "sinh_f32"
    small = e.fma(e.fmul(x, z), polynomial(e, z, name), x)
    h, low = _half_exp_parts(e, a)
    large = e.fadd(h, e.fsub(low, e.fdiv(e.like(x, 0.25), h)))
    below = e.fcmp("ult", a, e.like(x, 1.0))
    return e.select(below, small, e.copysign(large, x))


@in_a_register("float")
def tanh(e, x):
    """Hyperbolic tangent."""
    if x.type == "double" or not has_avx512_form(e, x):
        return _tanh_by_exponential(e, x)
    return e.copysign(graded(e, e.fabs(x), "tanh_table_f32", 3, 9.1249), x)


def below_one(e, y):
    """(1 - e^y, 1 + e^y) for -30 < y <= 0 (double: -40), the first good to an ulp of itself also
    near 0: 2^n (1 + p) keeps p apart. What log 2 has beyond its float counts for nothing here,
    since n of it is multiplied by 2^n (beyond its double for .3 ulp)."""
    n, bits = round_with_magic(e, y, LOG2_E, EXPONENT_BIAS[y.type])
    high, low = LN2_NEAREST[y.type]
    r = e.fma(n, e.like(y, -high), y)
    p = exp_fraction(e, r if y.type == "float" else e.fma(n, e.like(y, -low), r))
    moved = e.shl(bits, integer_like(e, bits, MANTISSA_BITS[y.type]))
    scale, one = e.bitcast(y.type, moved), e.like(y, 1.0)
    less = e.muladd(e.fneg(p), scale, e.fsub(one, scale))
    return less, e.muladd(p, scale, e.fadd(one, scale))


def _tanh_by_exponential(e, x):
    """(1 - e^-2a) / (1 + e^-2a) with the sign of x: one formula for all arguments."""
    least = e.like(x, -18.1 if x.type == "float" else -39.0)
    less, more = below_one(e, e.fast_max(least, e.fneg(e.fabs(e.fadd(x, x)))))
    return with_sign_of(e, e.fdiv(less, more), x)


def logistic(e, x):
    """1 / (1 + e^-x), keeping denormal results for very negative x."""
    exponent = e.fast_max(e.like(x, _EXP_RANGE[x.type][0]), e.fneg(e.fabs(x)))
    power = _exp_by_halves(e, exponent, falls=True)
    one = e.like(x, 1.0)
    above = e.select(e.fcmp("olt", x, e.like(x, 0.0)), power, one)
    below = e.fadd(power, one)
    quotient = e.fdiv(above, below)
    # take back what rounding added to 1 + power; 1/below is nearly enough 1 - power/2
    error = e.fsub(power, e.fsub(below, one))
    reciprocal = e.muladd(power, e.like(x, -0.5), one)
    return e.fma(e.fneg(e.fmul(quotient, error)), reciprocal, quotient)


def _exp_fraction_of_sum(e, high, low):
    """(n, r, tail): exp(high + low) = 2^n (1 + r + tail), `low` at most an ulp of `high`."""
    n, _, r = reduce_exponent(e, high)
    return n, *_with_low_part(e, r, low)


def _with_low_part(e, r, low):
    r, low = fast_two_sum(e, r, low)
    q = polynomial(e, r, f"exp_{SUFFIX[r.type]}")
    return r, e.fma(q, e.fmul(r, r), low)


def exp_of_sum(e, high, low, factor=None):
    """exp(high + low) (times a factor of moderate size), `low` at most an ulp of `high`."""
    n, r, tail = _exp_fraction_of_sum(e, high, low)
    p = e.fadd(e.fadd(r, tail), e.like(r, 1.0))
    if factor is not None:
        p = e.fmul(p, factor)
    return scale_by_power(e, p, n)


def exp_of_sum_times(e, high, low, factor):
    """As `exp_of_sum`, the factor in two parts: good to little more than half an ulp."""
    n, r, tail = _exp_fraction_of_sum(e, high, low)
    p, error = fast_two_sum(e, e.like(r, 1.0), r)
    p, p_low = fast_two_sum(e, p, e.fadd(error, tail))
    low = e.muladd(p, factor[1], e.fmul(p_low, factor[0]))
    return scale_by_power(e, e.fma(p, factor[0], low), n)


def exp_of_any_sum(e, high, low):
    """As `exp_of_sum` for any `high` but NaN, also infinite or with a `low` that is not a number.

    AVX-512: beyond the range n alone decides, and the rest is anything, brought near 1.
    """
    if not has_avx512_form(e, high):
        inside = e.fcmp("olt", e.fabs(high), e.like(high, 800.0))
        low = e.select(inside, low, e.like(high, 0.0))
        return exp_of_sum(e, e.clamp_fast(-800.0, high, 800.0), low)
    n = e.roundeven(e.fmul(high, e.like(high, LOG2_E)))
    r = high
    for part in LN2_NEAREST[high.type]:
        r = e.fma(n, e.like(n, -part), r)
    r, tail = _with_low_part(e, r, low)
    p = e.fadd(e.fadd(r, tail), e.like(r, 1.0))
    p = e.fast_min(e.fast_max(p, e.like(p, 0.5)), e.like(p, 2.0))
    return scale_by_power(e, p, n, LEAST_POWER[p.type])
