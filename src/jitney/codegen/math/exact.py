"""Functions whose results are exact: signs, rounding, neighbours, remainders, classes, bit counts,
powers of two as factors.

In: float or double `Value`s, or integers where said. Out: the exact result, on every target without
a call to the C library.
"""

from ..constants_text import FLOAT_BITS
from ..instructions import Value
from .forms import (
    INF,
    MANTISSA_BITS,
    NAN,
    SMALLEST_NORMAL,
    has_avx512_form,
    integer_like,
    power_of_two,
    scale_by_power,
)
from .logarithm import split_portably


def sign(e, x):
    """-1, 0 or 1; NaN and the sign of zero are kept. Integers are signed."""
    if x.type not in FLOAT_BITS:
        zero, one = e.like(x, 0), e.like(x, 1)
        positive = e.select(e.icmp("sgt", x, zero), one, zero)
        return e.select(e.icmp("slt", x, zero), e.like(x, -1), positive)
    unit = e.copysign(e.like(x, 1.0), x)
    return e.select(e.fcmp("one", x, e.like(x, 0.0)), unit, x)


def absolute(e, x):
    """|x|, of a float or a signed integer."""
    if x.type in FLOAT_BITS:
        return e.fabs(x)
    return e.select(e.icmp("slt", x, e.like(x, 0)), e.sub(e.like(x, 0), x), x)


def floor(e, x):
    """Largest integer not above x."""
    return e.floor(x)


def ceil(e, x):
    """Smallest integer not below x."""
    return e.ceil(x)


def trunc(e, x):
    """The integer part."""
    return e.trunc(x)


def round_half_even(e, x):
    """Nearest integer, ties to even."""
    return e.roundeven(x)


def round_half_away(e, x):
    """Nearest integer, ties away from zero."""
    size = e.fabs(x)
    whole = e.trunc(size)
    up = e.fcmp("oge", e.fsub(size, whole), e.like(x, 0.5))
    r = e.select(up, e.fadd(whole, e.like(x, 1.0)), whole)
    return e.copysign(r, x)


def is_finite(e, x):
    """i1: neither infinite nor NaN."""
    return e.fcmp("one", e.fabs(x), e.like(x, INF))


def nextafter(e, x, y):
    """The neighbour of x in the direction of y; y itself when they are equal."""
    x, y = e.match(x, y)
    short = x.type in ("half", "bfloat")  # compared as floats, stepped in their own bits
    xs, ys = (e.fpext(x, "float"), e.fpext(y, "float")) if short else (x, y)
    bits, ybits = e.bits(x), e.bits(y)
    up = e.xor(e.fcmp("olt", xs, ys), e.icmp("slt", bits, integer_like(e, bits, 0)))
    step = e.select(up, integer_like(e, bits, 1), integer_like(e, bits, -1))
    width = FLOAT_BITS[x.type]
    y_sign = e.and_(ybits, integer_like(e, bits, 1 << (width - 1)))
    least = e.or_(y_sign, integer_like(e, bits, 1))
    moved = e.select(e.fcmp("oeq", xs, e.like(xs, 0.0)), least, e.add(bits, step))
    r = e.bitcast(x.type, e.select(e.fcmp("oeq", xs, ys), ybits, moved))
    return e.select(e.fcmp("uno", xs, ys), e.like(x, NAN), r)


def population_count(e, x):
    """Number of set bits, in the integer type of x."""
    return e.overloaded("ctpop", x)


def count_leading_zeros(e, x):
    """Number of leading zero bits; the width for 0."""
    name = x.type if x.lanes == 1 else f"v{x.lanes}{x.type}"
    return e.intrinsic(f"llvm.ctlz.{name}", x.type, [x, "i1 false"], x.lanes)


def count_trailing_zeros(e, x):
    """Number of trailing zero bits; the width for 0."""
    name = x.type if x.lanes == 1 else f"v{x.lanes}{x.type}"
    return e.intrinsic(f"llvm.cttz.{name}", x.type, [x, "i1 false"], x.lanes)


def remainder(e, x, y):
    """x - y * trunc(x / y), exactly: C's fmod. The result has the sign of x."""
    x, y = e.match(x, y)
    ax, ay = e.fabs(x), e.fabs(y)
    places = MANTISSA_BITS[x.type] + 1 if e.target.fma or x.type == "float" else 26
    quotient = e.trunc(e.fdiv(ax, ay))
    rest = e.fma(e.fneg(quotient), ay, ax)  # exact; below 0 where the quotient was rounded up
    rest = e.select(e.fcmp("olt", rest, e.like(x, 0.0)), e.fadd(rest, ay), rest)
    rest = e.select(e.fcmp("oeq", ay, e.like(x, INF)), ax, rest)
    usual = e.fcmp("olt", quotient, e.like(x, 2.0**places))
    usual = e.and_(usual, e.fcmp("olt", ax, e.like(x, INF)))
    if not e.target.fma and x.type == "double":
        usual = e.and_(usual, e.fcmp("olt", ax, e.like(x, 2.0**900)))
        usual = e.and_(usual, e.fcmp("ogt", ay, e.like(x, 2.0**-900)))
    rest = e.rare_path(e.not_(usual), rest, lambda: _long_division(e, ax, ay))
    return e.copysign(rest, x)


_LONG_DIVISION = """define internal {vector} @{name}({vector} %xs, {vector} %ys) {attributes} {{
entry:
  %xbuffer = alloca [{lanes} x {kind}], align 64
  %ybuffer = alloca [{lanes} x {kind}], align 64
  store {vector} %xs, ptr %xbuffer
  store {vector} %ys, ptr %ybuffer
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %stored ]
  %xat = getelementptr {kind}, ptr %xbuffer, i64 %i
  %yat = getelementptr {kind}, ptr %ybuffer, i64 %i
{loads}
  %xi = bitcast double %x to i64
  %yi = bitcast double %y to i64
  %xbad = icmp uge i64 %xi, 9218868437227405312
  %ybad = icmp ugt i64 %yi, 9218868437227405312
  %yzero = icmp eq i64 %yi, 0
  %bad0 = or i1 %xbad, %ybad
  %bad = or i1 %bad0, %yzero
  br i1 %bad, label %undefined, label %defined
undefined:
  br label %stored
defined:
  %small = icmp ult i64 %xi, %yi
  br i1 %small, label %whole, label %divide
whole:
  br label %stored
divide:
  %xf = lshr i64 %xi, 52
  %yf = lshr i64 %yi, 52
  %xlow = and i64 %xi, 4503599627370495
  %ylow = and i64 %yi, 4503599627370495
  %xden = icmp eq i64 %xf, 0
  %yden = icmp eq i64 %yf, 0
  %xone = or i64 %xlow, 4503599627370496
  %yone = or i64 %ylow, 4503599627370496
  %xm = select i1 %xden, i64 %xlow, i64 %xone
  %ym = select i1 %yden, i64 %ylow, i64 %yone
  %xe = select i1 %xden, i64 1, i64 %xf
  %ye = select i1 %yden, i64 1, i64 %yf
  %shifts = sub i64 %xe, %ye
  %rest0 = urem i64 %xm, %ym
  br label %more
more:
  %left = phi i64 [ %shifts, %divide ], [ %left1, %step ]
  %rest = phi i64 [ %rest0, %divide ], [ %rest1, %step ]
  %done = icmp eq i64 %left, 0
  br i1 %done, label %finish, label %step
step:
  %long = icmp ugt i64 %left, 11
  %count = select i1 %long, i64 11, i64 %left
  %up = shl i64 %rest, %count
  %rest1 = urem i64 %up, %ym
  %left1 = sub i64 %left, %count
  br label %more
finish:
  %exact = uitofp i64 %rest to double
  %field = sub i64 %ye, 52
  %normal = shl i64 %field, 52
  %place = sub i64 %ye, 1
  %denormal = shl i64 1, %place
  %tiny = icmp ult i64 %ye, 53
  %scale0 = select i1 %tiny, i64 %denormal, i64 %normal
  %scale = bitcast i64 %scale0 to double
  %result = fmul double %exact, %scale
  br label %stored
stored:
  %r = phi double [ 0x7FF8000000000000, %undefined ], [ %x, %whole ], [ %result, %finish ]
{store}
  %next = add i64 %i, 1
  %again = icmp ult i64 %next, {lanes}
  br i1 %again, label %loop, label %exit
exit:
  %rs = load {vector}, ptr %xbuffer
  ret {vector} %rs
}}"""


def _long_division(e, ax, ay):
    """The remainder by integer division, one lane at a time; for far apart or odd arguments."""
    name = f"jitney.remainder.v{ax.lanes}{ax.type}"
    if name not in e.definitions:
        if ax.type == "double":
            loads = "  %x = load double, ptr %xat\n  %y = load double, ptr %yat"
            store = "  store double %r, ptr %xat"
        else:
            loads = (
                "  %xs1 = load float, ptr %xat\n  %x = fpext float %xs1 to double\n"
                "  %ys1 = load float, ptr %yat\n  %y = fpext float %ys1 to double"
            )
            store = "  %rs1 = fptrunc double %r to float\n  store float %rs1, ptr %xat"
        e.definitions[name] = _LONG_DIVISION.format(
            name=name, vector=ax.text, kind=ax.type, lanes=ax.lanes, loads=loads, store=store,
            attributes="noinline nounwind optnone",
        )
    count = max(len(ax.names), len(ay.names))
    xs = ax.names if len(ax.names) == count else ax.names * count
    ys = ay.names if len(ay.names) == count else ay.names * count
    names = tuple(
        e.instruction(f"call {ax.text} @{name}({ax.text} {p}, {ay.text} {q})")
        for p, q in zip(xs, ys)
    )
    return Value(names, ax.type, ax.lanes)



def ldexp(e, x, n):
    """x 2^n for a float n that is a whole number, rounded once."""
    x, n = e.match(x, n)
    if has_avx512_form(e, x):
        return scale_by_power(e, x, n)
    lifted = MANTISSA_BITS[x.type] + 1
    limit = {"float": (-152.0, 130.0), "double": (-1078.0, 1030.0)}[x.type]
    size, zero = e.fabs(x), e.like(x, 0.0)
    tiny = e.fcmp("olt", size, e.like(x, SMALLEST_NORMAL[x.type]))
    m, k, _ = split_portably(e, e.select(tiny, e.fmul(size, e.like(x, 2.0**lifted)), size))
    k = e.fadd(k, e.select(tiny, e.like(x, -float(lifted)), zero))
    k = e.clamp_fast(limit[0], e.fadd(k, n), limit[1])
    # two powers, of which only the second product can round, or overflow
    far = {"float": 64.0, "double": 512.0}[x.type]
    low = e.fcmp("olt", k, zero)
    near = e.fsub(k, e.select(low, e.like(x, -far), e.like(x, far)))
    first = power_of_two(e, e.bits(e.fadd(near, e.like(x, 1.5 * 2.0 ** (lifted - 1)))), x.type)
    second = e.select(low, e.like(x, 2.0**-far), e.like(x, 2.0**far))
    result = e.fmul(e.fmul(m, first), second)
    usual = e.and_(e.fcmp("ogt", size, zero), e.fcmp("olt", size, e.like(x, INF)))
    return e.select(usual, e.copysign(result, x), x)
