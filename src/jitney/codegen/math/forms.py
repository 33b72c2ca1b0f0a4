"""Building blocks of the vector mathematics: polynomials, powers of two, tables, wide registers.

In: an `Emitter` and `Value`s of type float or double. Out: `Value`s. Where AVX-512 has an
instruction for a step (scalef, getmant, getexp, permutes as tables) it is used on registers of 512
bits, a longer value being cut into such registers; otherwise a portable form is written.
Invariant: nothing here calls the C library, on any target.
"""

import functools

from ..constants_text import FLOAT_BITS
from .coefficients import POLYNOMIALS, TABLES

MANTISSA_BITS = {"float": 23, "double": 52}
EXPONENT_BIAS = {"float": 127, "double": 1023}
INTEGER = {"float": "i32", "double": "i64"}
SUFFIX = {"float": "f32", "double": "f64"}
SMALLEST_NORMAL = {"float": 2.0**-126, "double": 2.0**-1022}
INFINITY_BITS = {"float": 0x7F800000, "double": 0x7FF0000000000000}
LARGEST = {"float": (2 - 2.0**-23) * 2.0**127, "double": 1.7976931348623157e308}
LOG2_E = 1.4426950408889634
INF = float("inf")
NAN = float("nan")
HEX = float.fromhex
# log 2 in two parts: high rounded to nearest, or (for logarithms) with a positive low part
LN2_NEAREST = {
    "float": (HEX("0x1.62e430p-1"), HEX("-0x1.05c610p-29")),
    "double": (HEX("0x1.62e42fefa39efp-1"), HEX("0x1.abc9e3b39803fp-56")),
}
LN2_LOW_POSITIVE = {
    "float": (HEX("0x1.62e42ep-1"), HEX("0x1.efa39ep-25")),
    "double": LN2_NEAREST["double"],
}
_PACKED = {"float": "ps", "double": "pd"}
_MASK = {"float": "i16", "double": "i8"}
_DOWN = 8 | 1  # no exceptions; towards -inf


def polynomial(e, x, name):
    """Horner's rule with the fitted coefficients `name`."""
    return horner(e, x, POLYNOMIALS[name])


def horner(e, x, coefficients):
    """sum of coefficients[i] * x^i (numbers or Values, lowest first)."""
    values = [e.like(x, c) if isinstance(c, (int, float)) else c for c in coefficients]
    result = values[-1]
    for c in reversed(values[:-1]):
        result = e.muladd(result, x, c)
    return result


def integer_like(e, bits, number):
    """An integer constant with the type and lanes of `bits`."""
    return e.constant(bits.type, number, bits.lanes)


def has_avx512_form(e, x) -> bool:
    """Whether `x` fills 512-bit registers exactly."""
    return e.target.avx512 and x.lanes > 1 and (x.lanes * FLOAT_BITS[x.type]) % 512 == 0


def in_a_register(*types):
    """For functions that AVX-512 computes in another way: a number by itself is computed as in a
    vector, so that it is the same number there, bit by bit."""

    def decorate(function):
        @functools.wraps(function)
        def wrapped(e, x, *others):
            if x.lanes != 1 or x.type not in types or not e.target.avx512:
                return function(e, x, *others)
            lanes = 512 // FLOAT_BITS[x.type]
            return e.extract(function(e, *[e.splat(v, lanes) for v in (x, *others)]), 0)

        return wrapped

    return decorate


def below_two(e, x):
    """x of float32 with its sign, if it is below 2; some number below 2 of others, and of NaN: an
    exponent without its first bit. Any unit does it (where `bounded` takes one that adds)."""
    mask = e.constant("i32", ~(1 << 30), x.lanes)
    return e.bitcast(x.type, e.and_(e.bits(x), mask))


def by_registers(e, function, x, *others):
    """Apply `function` to each 512-bit register of the arguments and join the results."""
    if x.lanes * FLOAT_BITS[x.type] <= 512:
        return function(x, *others)
    parts = [e.split_halves(v) for v in (x, *others)]
    low, high = (by_registers(e, function, *[p[side] for p in parts]) for side in (0, 1))
    return e.join_halves(low, high)


def mantissa(e, x):
    """AVX-512: mantissa in [0.75, 1.5), NaN for negative numbers, 1 for zero and infinity."""

    def one(v):
        kind = _PACKED[v.type]
        zero = e.like(v, 0.0)
        return e.intrinsic(
            f"llvm.x86.avx512.mask.getmant.{kind}.512",
            v.type,
            [v, "i32 11", zero, f"{_MASK[v.type]} -1", "i32 4"],
        )

    return by_registers(e, one, x)


def exponent(e, x):
    """AVX-512: floor(log2 |x|) as a float; -inf for 0, inf for inf; denormals are right."""

    def one(v):
        kind = _PACKED[v.type]
        return e.intrinsic(
            f"llvm.x86.avx512.mask.getexp.{kind}.512",
            v.type,
            [v, e.like(v, 0.0), f"{_MASK[v.type]} -1", "i32 4"],
        )

    return by_registers(e, one, x)


def reciprocal_estimate(e, x):
    """1/x: for floats with AVX-512 good to 14 bits, else rounded."""
    if x.type == "double" or not has_avx512_form(e, x):
        return e.fdiv(e.like(x, 1.0), x)

    def one(v):
        return e.intrinsic(
            "llvm.x86.avx512.rcp14.ps.512", "float", [v, e.like(v, 0.0), "i16 -1"]
        )

    return by_registers(e, one, x)


def rsqrt_estimate(e, x):
    """AVX-512, floats: 1/sqrt(x) to 14 bits, infinity for 0."""

    def one(v):
        return e.intrinsic(
            "llvm.x86.avx512.rsqrt14.ps.512", "float", [v, e.like(v, 0.0), "i16 -1"]
        )

    return by_registers(e, one, x)


def extreme(e, op: str, a, b):
    """The larger ("max") or smaller of two: NaN if either is NaN, +0 above -0.

    AVX-512: `vrangeps` knows the order of zeros, and leaves NaN out; a sum puts it in again. Three
    instructions where the general form has six (Intel's manual, volume 2, VRANGEPS: 5 and 4 are
    maximum and minimum with the sign of the result).
    """
    a, b = e.match(a, b)
    if a.is_constant or b.is_constant or not has_avx512_form(e, a):
        return e.maximum(a, b) if op == "max" else e.minimum(a, b)

    def one(v, w):
        kind, which = _PACKED[v.type], "i32 5" if op == "max" else "i32 4"
        return e.intrinsic(
            f"llvm.x86.avx512.mask.range.{kind}.512", v.type,
            [v, w, which, e.like(v, 0.0), f"{_MASK[v.type]} -1", "i32 4"],
        )  # fmt: skip

    return e.select(e.fcmp("uno", a, b), e.fadd(a, b), by_registers(e, one, a, b))


def bounded(e, x, limit):
    """AVX-512: x cut to [-limit, limit]; a NaN becomes one of these.

    One instruction (Intel's manual, volume 2, VRANGEPS: 2 is the smaller magnitude, with the sign
    of the first operand; of a number and a NaN it takes the number).
    """

    def one(v):
        kind = _PACKED[v.type]
        return e.intrinsic(
            f"llvm.x86.avx512.mask.range.{kind}.512", v.type,
            [v, e.like(v, limit), "i32 2", e.like(v, 0.0), f"{_MASK[v.type]} -1", "i32 4"],
        )  # fmt: skip

    return by_registers(e, one, x)


def added_down(e, a, b):
    """AVX-512: a + b, rounded down."""

    def one(v, w):
        return e.intrinsic(
            f"llvm.x86.avx512.add.{_PACKED[v.type]}.512", v.type, [v, w, f"i32 {_DOWN}"]
        )

    return by_registers(e, one, a, b)


def remainder_below(e, x, places):
    """AVX-512: x less x rounded down to so many binary places, at most 15; 0 of an infinite x.

    One instruction (Intel's manual, volume 2, VREDUCEPS).
    """

    def one(v):
        return e.intrinsic(
            f"llvm.x86.avx512.mask.reduce.{_PACKED[v.type]}.512", v.type,
            [v, f"i32 {places << 4 | _DOWN}", e.like(v, 0.0), f"{_MASK[v.type]} -1", "i32 4"],
        )  # fmt: skip

    return by_registers(e, one, x)


def _scalef(e, a, n, least=None):
    def one(v, k):
        kind, mask = _PACKED[v.type], f"{_MASK[v.type]} -1"
        if least is not None and e.target.has_dear_denormals:
            mask = e.mask_bits(e.fcmp("uge", k, e.like(k, least)))
        return e.intrinsic(
            f"llvm.x86.avx512.mask.scalef.{kind}.512", v.type,
            [v, k, e.like(v, 0.0), mask, "i32 4"],
        )  # fmt: skip

    return by_registers(e, one, a, n)


def round_with_magic(e, x, factor, more=0):
    """(n, bits): n = nearest integer of x*factor as a float; the low bits of `bits` hold n + more.

    Adding 1.5*2^mantissa-bits leaves the integer in the last places: no conversion is needed.
    Right for |x*factor| < 2^(mantissa bits - 1).
    """
    magic = e.like(x, 1.5 * 2.0 ** MANTISSA_BITS[x.type] + more)
    shifted = e.muladd(x, e.like(x, factor), magic)
    return e.fsub(shifted, magic), e.bits(shifted)


def power_of_two(e, bits, type_name):
    """2^n for the integer n in the low bits of `bits`; n within the normal exponents."""
    places, bias = MANTISSA_BITS[type_name], EXPONENT_BIAS[type_name]
    moved = e.shl(bits, integer_like(e, bits, places))
    return e.bitcast(type_name, e.add(moved, integer_like(e, bits, bias << places)))


# Less than this times 2 is rounded to 0.
LEAST_POWER = {"float": -150.0, "double": -1075.0}


def scale_by_power(e, a, n, least=None):
    """a * 2^n with right overflow and denormal results, |n| < twice the exponent range.
    `least`: below that n the result is 0, or may be. (A scaling that ends at a denormal, or at a 0
    it has to round to, takes Intel's processors 80 ns; where a mask has left it out, nothing.)"""
    if has_avx512_form(e, a):
        return _scalef(e, a, n, least)
    magic = e.like(n, 1.5 * 2.0 ** MANTISSA_BITS[a.type])
    half = e.fadd(e.fmul(n, e.like(n, 0.5)), magic)
    rest = e.fadd(e.fsub(n, e.fsub(half, magic)), magic)
    first = power_of_two(e, e.bits(half), a.type)
    second = power_of_two(e, e.bits(rest), a.type)
    return e.fmul(e.fmul(a, first), second)


FAR = {"float": 64, "double": 512}  # half the exponents: what `power_in_two` takes or gives


def power_in_two(e, bits, sign):
    """Two factors of 2^n, by which a number near 1 has the right overflow and denormals: the low
    places of `bits` hold n + 2 bias, and `sign` is below 0 where n is: n itself, so that nothing
    else has to be kept (exp of AVX2 takes 87 instructions for four vectors so, 98 with the argument
    for it). n is at most the range of exponents and half of it beyond.

    2^n is 2^(n - f) 2^f with f = +-FAR, so that the first factor is a normal number, and only the
    last product is rounded to what the format can hold.
    """
    far = far_power(e, sign)
    moved = e.shl(bits, integer_like(e, bits, MANTISSA_BITS[sign.type]))
    return e.bitcast(sign.type, e.sub(moved, e.bits(far))), far


def far_power(e, sign):
    """2^-FAR where `sign` is below 0, 2^FAR elsewhere."""
    return e.select(
        e.icmp("slt", e.bits(sign), integer_like(e, e.bits(sign), 0)),
        e.like(sign, 2.0 ** -FAR[sign.type]), e.like(sign, 2.0 ** FAR[sign.type]),
    )  # fmt: skip


def scaled_down(e, fraction, bits, factor=None):
    """(1 + fraction) 2^n for n <= 0 and |fraction| < 1/2, times a factor of moderate size; the low
    places of `bits` hold n + bias + FAR. See `power_in_two`."""
    moved = e.shl(bits, integer_like(e, bits, MANTISSA_BITS[fraction.type]))
    near = e.bitcast(fraction.type, moved)
    if factor is not None:
        near = e.fmul(near, factor)
    far = e.like(fraction, 2.0 ** -FAR[fraction.type])
    return e.fmul(e.muladd(fraction, near, near), far)


def with_sign_of(e, magnitude, x):
    """`magnitude`, which is not negative, with the sign of x: two instructions."""
    bits = e.bits(x)
    sign = e.and_(bits, integer_like(e, bits, -1 << (FLOAT_BITS[x.type] - 1)))
    return e.bitcast(x.type, e.or_(e.bits(magnitude), sign))


def table_lookup(e, index, type_name, values):
    """AVX-512: values[index] for 16 or 32 (float) or 16 (double) entries; low index bits count."""
    per_register = 512 // FLOAT_BITS[type_name]
    if index.lanes > per_register:
        low, high = e.split_halves(index)
        return e.join_halves(
            table_lookup(e, low, type_name, values), table_lookup(e, high, type_name, values)
        )
    first = e.vector_constant(type_name, values[:per_register])
    if len(values) == per_register:
        return e.intrinsic("llvm.x86.avx512.permvar.sf.512", type_name, [first, index])
    second = e.vector_constant(type_name, values[per_register:])
    kind = _PACKED[type_name]
    return e.intrinsic(
        f"llvm.x86.avx512.vpermi2var.{kind}.512", type_name, [first, index, second]
    )


def piecewise(e, a, name, width, top):
    """AVX-512: a function of a >= 0, tabulated on equal intervals (`fit_polynomials.Table`)."""
    clamped = e.fast_min(e.like(a, top), a)
    magic = e.like(a, 1.5 * 2.0 ** MANTISSA_BITS[a.type])
    scaled = e.fma(clamped, e.like(a, 1.0 / width), e.like(a, -0.5))
    shifted = e.fadd(scaled, magic)  # the interval's number, in the low bits
    index = e.bits(shifted)
    middle = e.fma(e.fsub(shifted, magic), e.like(a, -width), e.like(a, -width / 2))
    first = e.icmp("eq", index, e.bits(magic))
    return _on_interval(e, clamped, e.fadd(clamped, middle), index, first, TABLES[name])


def _on_interval(e, a, t, index, first, rows):
    """On the first interval a + a*q(t), elsewhere value + t*q(t), t from the interval's middle: the
    last operation rounds once and what it adds is small."""
    look = [table_lookup(e, index, a.type, row) for row in rows]
    q = horner(e, t, look[1:])
    return e.fma(q, e.select(first, a, t), e.select(first, a, look[0]))


def graded_cell(e, a, offset, places):
    """(index, t): the interval of floats a >= 0 that the last bits of exponent and the first
    `places` of mantissa of a + offset say, and the distance from its middle, which is these bits
    and a half. The intervals grow with a, as is right where a function flattens."""
    bits = e.bits(e.fadd(a, e.like(a, offset)))
    left = MANTISSA_BITS[a.type] - places
    index = e.lshr(bits, integer_like(e, bits, left))
    kept = e.and_(bits, integer_like(e, bits, -1 << left))
    middle = e.bitcast(a.type, e.or_(kept, integer_like(e, bits, 1 << (left - 1))))
    return index, e.fsub(a, e.fsub(middle, e.like(a, offset)))


def graded(e, a, name, places, top):
    """AVX-512, floats: a function tabulated on intervals of a + 1 (see `graded_cell`)."""
    clamped = e.fast_min(e.like(a, top), a)
    index, t = graded_cell(e, clamped, 1.0, places)
    first = e.icmp("eq", index, integer_like(e, index, EXPONENT_BIAS[a.type] << places))
    return _on_interval(e, clamped, t, index, first, TABLES[name])


def within_one(e, x):
    """x cut to [-1, 1] (rounding may have carried it an ulp further)."""

    return e.clamp_fast(-1.0, x, 1.0)


def two_sum(e, a, b):
    """(s, error) with s + error = a + b exactly."""
    s = e.fadd(a, b)
    v = e.fsub(s, a)
    return s, e.fadd(e.fsub(a, e.fsub(s, v)), e.fsub(b, v))


def fast_two_sum(e, a, b):
    """As `two_sum`, for |a| >= |b|."""
    s = e.fadd(a, b)
    return s, e.fsub(b, e.fsub(s, a))


def two_product(e, a, b):
    """(p, error) with p + error = a * b exactly."""
    p = e.fmul(a, b)
    return p, e.fma(a, b, e.fneg(p))


def through_double(function):
    """A float function computed in double and rounded once; double arguments go straight in."""

    def wrapped(e, *values):
        if values[0].type == "double":
            return function(e, *values)
        wide = [e.fpext(v, "double") for v in values]
        return e.fptrunc(function(e, *wide), values[0].type)

    return wrapped
