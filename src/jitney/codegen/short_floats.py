"""Conversions between float and the 16-bit floats, in integers, for every instruction set.

In: an emitter and a `Value`. Out: the converted `Value`, rounded once, denormals kept, and never by
a call to the C library (LLVM would make one, or flush denormals, on some targets). `by_bits` does
what needs no conversion at all.
"""

import re

_SIGN, _SIZE = 0x8000, 0x7FFF
_INFINITY = {"half": 0x7C00, "bfloat": 0x7F80}
_NUMBER = re.compile(r"(?:splat \(\w+ )?(0xH)?(-?[0-9A-F]+)\)?")


def _integer(e, a, number):
    return e.constant(a.type, number, a.lanes)


def by_bits(e, op, args):
    """neg, abs, max and min on the bits of 16-bit floats; None for anything else."""
    if op in ("neg", "abs"):
        bits = e.bits(args[0])
        change = e.xor if op == "neg" else e.and_
        number = _integer(e, bits, _SIGN if op == "neg" else _SIZE)
        return e.bitcast(args[0].type, change(bits, number))
    if op not in ("max", "min"):
        return None
    a, b = args if args[1].is_constant else args[::-1]
    limit = _constant_bits(b)
    if limit is None or limit > _INFINITY[a.type]:  # a sign, or a NaN
        return _extreme(e, op, *args)
    return _extreme_with_size(e, op, a, limit)


def _extreme_with_size(e, op, a, limit):
    """max or min with a constant that is not negative (relu): numbers without a sign are in the
    order of their bits, and those with one come before, as signed integers; a NaN is above or below
    all of them."""
    bits, infinity = e.bits(a), _INFINITY[a.type]
    bound = _integer(e, bits, limit)
    if op == "max":
        best = e.select(e.icmp("sgt", bits, bound), bits, bound)
        lost = e.icmp("ugt", bits, _integer(e, bits, infinity | _SIGN))
    else:
        best = e.select(e.icmp("slt", bits, bound), bits, bound)
        lost = e.icmp("sgt", bits, _integer(e, bits, infinity))
    return e.bitcast(a.type, e.select(lost, bits, best))


def _extreme(e, op, a, b):
    """max or min of any two: integers in the order of the numbers decide, -0 before 0."""
    x, y = e.bits(a), e.bits(b)
    first = e.icmp("sgt" if op == "max" else "slt", _ordered(e, x), _ordered(e, y))
    best = e.select(first, x, y)
    for bits in (y, x):
        size = e.and_(bits, _integer(e, bits, _SIZE))
        best = e.select(e.icmp("ugt", size, _integer(e, bits, _INFINITY[a.type])), bits, best)
    return e.bitcast(a.type, best)


def _ordered(e, bits):
    below = e.ashr(bits, _integer(e, bits, 15))
    return e.xor(bits, e.and_(below, _integer(e, bits, _SIZE)))


def _constant_bits(value) -> int | None:
    """The bits of a constant that is the same in all lanes."""
    found = _NUMBER.fullmatch(value.names[0]) if value.is_constant else None
    return int(found[2], 16 if found[1] else 10) & 0xFFFF if found else None


def bfloat_to_float(e, a):
    """A bfloat is the upper half of the float of the same value."""
    wide = e.zext(e.bits(a), "i32")
    return e.bitcast("float", e.shl(wide, _integer(e, wide, 16)))


def round_to_odd(e, a):
    """double -> float such that a second rounding to 16 bits is the right one."""
    near = e.cast("fptrunc", a, "float")
    back = e.cast("fpext", near, "double")
    bits = e.bits(near)
    above = e.fcmp("ogt", e.fabs(back), e.fabs(a))
    toward_zero = e.select(above, e.sub(bits, _integer(e, bits, 1)), bits)
    odd = e.or_(toward_zero, _integer(e, bits, 1))
    return e.bitcast("float", e.select(e.fcmp("one", back, a), odd, toward_zero))


def float_to_bfloat(e, a, of_bfloats=False):
    """Round to nearest even on the bits; NaN made quiet. `of_bfloats`: `a` is computed from
    bfloats, and a NaN in it is quiet, with a lower half of zeros as theirs, from which no rounding
    carries: two instructions less of six."""
    bits = e.bits(a)
    rounded = _rounded_up_or_even(e, bits)
    if not of_bfloats:
        quiet = e.or_(bits, _integer(e, bits, 0x400000))
        rounded = e.select(e.fcmp("uno", a, a), quiet, rounded)
    return upper_half(e, e.bitcast("float", rounded))


def _rounded_up_or_even(e, bits):
    """Bits whose upper half is rounded to nearest even: half of its last place is added, and the
    last place is cleared where nothing is left below it, which was a tie. `keeps` has that place
    where the lower half carries into it. No shift and no mask: such instructions go on two of a
    Zen 5's units, these on all four."""
    above = e.add(bits, _integer(e, bits, 0x8000))
    left = e.and_(above, _integer(e, bits, 0xFFFF))
    keeps = e.add(left, _integer(e, bits, 0xFFFEFFFF - (1 << 32)))
    return e.and_(above, keeps)


def upper_half(e, a):
    """A float whose lower half is zero, as the bfloat of the same value."""
    bits = e.bits(a)
    high = e.trunc_int(e.lshr(bits, _integer(e, bits, 16)), "i16")
    return e.bitcast("bfloat", high)


def half_to_float(e, a):
    """Shift the fields into place and multiply by 2^112; infinities and NaN apart."""
    bits = e.zext(e.bits(a), "i32")
    sign = e.shl(e.and_(bits, _integer(e, bits, 0x8000)), _integer(e, bits, 16))
    fields = e.shl(e.and_(bits, _integer(e, bits, 0x7FFF)), _integer(e, bits, 13))
    size = e.fmul(e.bitcast("float", fields), e.constant("float", 2.0**112, a.lanes))
    special = e.icmp("uge", fields, _integer(e, bits, 0x7C00 << 13))
    size_bits = e.select(
        special, e.or_(fields, _integer(e, bits, 0x7F800000)), e.bits(size)
    )
    return e.bitcast("float", e.or_(size_bits, sign))


def float_to_half(e, a):
    """Round in integers; denormal results by adding a power of two whose last place fits."""
    bits = e.bits(a)
    sign = e.and_(e.lshr(bits, _integer(e, bits, 16)), _integer(e, bits, 0x8000))
    size = e.and_(bits, _integer(e, bits, 0x7FFFFFFF))
    last = e.and_(e.lshr(size, _integer(e, bits, 13)), _integer(e, bits, 1))
    bias = _integer(e, bits, 0xFFF - (112 << 23))
    normal = e.lshr(e.add(e.add(size, bias), last), _integer(e, bits, 13))
    shifted = e.fadd(e.bitcast("float", size), e.constant("float", 0.5, a.lanes))
    denormal = e.sub(e.bits(shifted), _integer(e, bits, 0x3F000000))
    r = e.select(
        e.icmp("ult", size, _integer(e, bits, 113 << 23)), denormal, normal
    )
    r = e.select(
        e.icmp("uge", size, _integer(e, bits, 143 << 23)),
        _integer(e, bits, 0x7C00),
        r,
    )
    r = e.select(
        e.icmp("ugt", size, _integer(e, bits, 255 << 23)),
        _integer(e, bits, 0x7E00),
        r,
    )
    return e.bitcast("half", e.trunc_int(e.or_(r, sign), "i16"))
