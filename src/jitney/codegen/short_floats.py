"""Conversions between float and the 16-bit floats, in integers, for every instruction set.

In: an emitter and a `Value`. Out: the converted `Value`, rounded once, denormals kept, and never by
a call to the C library (LLVM would make one, or flush denormals, on some targets).
"""


def _integer(e, a, number):
    return e.constant(a.type, number, a.lanes)


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


def float_to_bfloat(e, a):
    """Round to nearest even on the bits; NaN made quiet."""
    bits = e.bits(a)
    last = e.and_(e.lshr(bits, _integer(e, bits, 16)), _integer(e, bits, 1))
    rounded = e.add(e.add(bits, _integer(e, bits, 0x7FFF)), last)
    quiet = e.or_(bits, _integer(e, bits, 0x400000))
    chosen = e.select(e.fcmp("uno", a, a), quiet, rounded)
    return upper_half(e, e.bitcast("float", chosen))


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
