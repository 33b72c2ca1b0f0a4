"""Exponentials of float32 by eighths of log 2, for AVX2: eight powers of two in a register.

In: float32 `Value`s within the bounds that each function says. Out: e^x, its power of two a normal
number or 0. x = (n + j/8) log 2 + r with |r| <= log(2)/16, where three terms of a polynomial do;
halves of log 2 take five, and six to eight multiplications of eleven remain. (In turns with halves,
a Zen 3, two threads, 1024 x 1024: exp .88 of the time, softmax of rows .84.)

The powers are looked up with `vpermd`, of which each lane takes the last three bits of an index: no
mask is needed. Near 1 - e^x, which wants powers that are exact, halves remain (`below_one`).
"""

import functools

import numpy as np

from ...ir.scalar_ops import RAISED
from .coefficients import POLYNOMIALS
from .forms import (
    EXPONENT_BIAS,
    FAR,
    LN2_NEAREST,
    LOG2_E,
    MANTISSA_BITS,
    far_power,
    horner,
    integer_like,
    polynomial,
)

PLACES = 3
_BIAS, _MANTISSA = EXPONENT_BIAS["float"], MANTISSA_BITS["float"]
_LEAST, _MOST = -190.0, 62.0  # of exponents: raised, their power of two is normal


def has(e, x) -> bool:
    """Whether a register holds the table for `x`, and AVX-512 has no better form."""
    target = e.target
    return x.type == "float" and target.avx2 and target.fma and not target.avx512


def exp(e, x):
    """e^x of x whose power of two is 0, or has a place in twice the exponents."""
    n, bits, r = _reduce(e, x, 2 * _BIAS)
    far = far_power(e, n)
    power = e.bitcast("float", e.sub(e.bits(_power(e, bits)), e.bits(far)))
    return e.fmul(e.muladd(_fraction(e, r), power, power), far)


def exp_nonpositive(e, x, of_distance=False):
    """The same of x <= 0. `of_distance`: see `_reduce`."""
    far = FAR["float"]
    return e.fmul(_exp_times(e, x, far, of_distance), e.like(x, 2.0**-far))


def exp_raised(e, x):
    """2^RAISED e^x, x a distance."""
    return _exp_times(e, x, RAISED, True)


def _exp_times(e, x, more, of_distance):
    """2^more e^x."""
    _, bits, r = _reduce(e, x, _BIAS + more, of_distance)
    power = _power(e, bits)
    return e.muladd(_fraction(e, r), power, power)


def raised_factors(e, x):
    """2^RAISED e^x, x a distance, as a product of two."""
    _, bits, r = _reduce(e, x, _BIAS + RAISED, of_distance=True)
    return horner(e, r, (1.0, 1.0, *POLYNOMIALS["exp_eighth_f32"])), _power(e, bits)


def near_factors(e, exponent):
    """2^RAISED 2^exponent as a product of two: 2^126 where that is too large, next to nothing where
    it is too small; NaN of NaN. The remainder is exact."""
    exponent = e.clamp_fast(_LEAST, exponent, _MOST)
    magic = e.like(exponent, _magic(_BIAS + RAISED))
    shifted = e.fadd(exponent, magic)
    r = e.fsub(exponent, e.fsub(shifted, magic))
    factor = horner(e, r, (1.0, *POLYNOMIALS["exp2_eighth_f32"]))
    return factor, _power(e, e.bits(shifted))


def _magic(more: int) -> float:
    """What leaves a number's eighths in the last places of a sum, and `more`."""
    return 1.5 * 2.0 ** (_MANTISSA - PLACES) + more


def _reduce(e, x, more, of_distance=False):
    """(n, bits of n + more, r): x = n log 2 + r, n in eighths. `of_distance`: x is a difference,
    rounded by up to 2^-24 of it; so what float32 has not of log 2, which is 2^-28 of x, is left
    out."""
    magic = e.like(x, _magic(more))
    shifted = e.fma(x, e.like(x, LOG2_E), magic)
    n = e.fsub(shifted, magic)
    high, low = LN2_NEAREST[x.type]
    r = e.fma(n, e.like(x, -high), x)
    return n, e.bits(shifted), r if of_distance else e.fma(n, e.like(x, -low), r)


def _fraction(e, r):
    """e^r - 1."""
    return e.fma(polynomial(e, r, "exp_eighth_f32"), e.fmul(r, r), r)


def _power(e, bits):
    """2^n of float32 by AVX2: `bits` hold 8 (n + bias) in their last places. The last three say
    which eighth of a power of two it is, the others are its exponent; what a line through these
    eighths misses of 2^(j/8) is one of eight numbers in a register."""
    moved = e.shl(bits, integer_like(e, bits, _MANTISSA - PLACES))
    return e.bitcast("float", e.add(moved, _permuted(e, bits, _beside_line())))


@functools.cache
def _beside_line() -> tuple[int, ...]:
    """2^(j/8) as the bits of a float32, without its exponent, and without j in their place."""
    powers = [np.float32(2 ** (j / 8)).view(np.int32) for j in range(8)]
    line = [(_BIAS * 8 + j) << (_MANTISSA - PLACES) for j in range(8)]
    return tuple(int(power) - number for power, number in zip(powers, line, strict=True))


def _permuted(e, index, values):
    """AVX2: values[index] of eight 32-bit integers; the last three bits of the index count."""
    if index.lanes > 8:
        low, high = e.split_halves(index)
        return e.join_halves(_permuted(e, low, values), _permuted(e, high, values))
    if index.lanes == 1:
        return e.extract(_permuted(e, e.splat(index, 8), values), 0)
    if index.lanes < 8:
        return e.split_halves(_permuted(e, e.join_halves(index, index), values))[0]
    table = e.vector_constant("i32", values)
    return e.intrinsic("llvm.x86.avx2.permd", "i32", [table, index])
