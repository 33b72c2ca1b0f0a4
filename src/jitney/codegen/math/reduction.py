"""Exact reduction of huge angles modulo pi (Payne and Hanek), as a helper function in the module.

In: a float or double `Value`. Out: an angle of at most pi/2 with the same sine (or the same cosine,
as a sine), or for the tangent an angle of at most pi/4 and the parity of the quadrant.
Invariant: correct to an ulp for every finite number. One lane at a time: meant for a rare path.
"""

from ..constants_text import scalar_text, type_text
from ..instructions import Value

# 1/pi in binary, after 64 zero bits: enough for the largest double and 192 bits more
_INVERSE_PI_WORDS = 24
_TABLE = "jitney.inverse_pi"


def _inverse_pi_bits(count: int) -> int:
    """floor(2^count / pi) by Machin's formula in integers."""
    extra = 64
    unit = 1 << (count + extra)

    def arctan_inverse(n):
        total, term, k = 0, unit // n, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term //= n * n
            k += 2
        return total

    pi = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))
    return (unit * unit // pi) >> extra


def _table_text() -> str:
    bits = (_INVERSE_PI_WORDS - 1) * 64
    value = _inverse_pi_bits(bits)
    words = [0] + [
        (value >> (bits - 64 * (i + 1))) & ((1 << 64) - 1) for i in range(_INVERSE_PI_WORDS - 1)
    ]
    items = ", ".join(f"i64 {w - (1 << 64) if w >> 63 else w}" for w in words)
    return f"@{_TABLE} = private unnamed_addr constant [{len(words)} x i64] [{items}], align 64"


# The lane's mantissa m and the words of 1/pi from the bit of weight 2^e on, where x = m 2^e.
_HEAD = """  %bits = bitcast double %x to i64
  %field = lshr i64 %bits, 52
  %biased = and i64 %field, 2047
  %fraction = and i64 %bits, 4503599627370495
  %m = or i64 %fraction, 4503599627370496
  %raw = sub i64 %biased, 1012
  %below = icmp slt i64 %raw, 0
  %position = select i1 %below, i64 0, i64 %raw
  %word = lshr i64 %position, 6
  %shift = and i64 %position, 63
  %p0 = getelementptr i64, ptr @{table}, i64 %word
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %w0 = load i64, ptr %p0
  %w1 = load i64, ptr %p1
  %w2 = load i64, ptr %p2
  %a = call i64 @llvm.fshl.i64(i64 %w0, i64 %w1, i64 %shift)
  %b = call i64 @llvm.fshl.i64(i64 %w1, i64 %w2, i64 %shift)
  %mw = zext i64 %m to i128
  %bw = zext i64 %b to i128
  %part0 = mul i64 %m, %a
  %part1 = mul i128 %mw, %bw"""
# float: 64 bits of x/pi (mod 2) are plenty, since 29 bits of the mantissa are zero
_SHORT_PRODUCT = """  %part1h = lshr i128 %part1, 64
  %part1t = trunc i128 %part1h to i64
  %hi = add i64 %part0, %part1t"""
_LONG_PRODUCT = """  %p3 = getelementptr i64, ptr %p0, i64 3
  %w3 = load i64, ptr %p3
  %c = call i64 @llvm.fshl.i64(i64 %w2, i64 %w3, i64 %shift)
  %cw = zext i64 %c to i128
  %part2w = mul i128 %mw, %cw
  %part2 = lshr i128 %part2w, 64
  %sum = add i128 %part1, %part2
  %lo1 = trunc i128 %sum to i64
  %sumh = lshr i128 %sum, 64
  %sumt = trunc i128 %sumh to i64
  %hi1 = add i64 %part0, %sumt
  %hi = call i64 @llvm.fshl.i64(i64 %hi1, i64 %lo1, i64 {doubling})
  %lo = shl i64 %lo1, {doubling}"""
_FRACTION = """  %moved = add i64 %hi, {offset}
  %odd = lshr i64 %moved, 63
  %kept = and i64 %moved, 9223372036854775807
  %signed = sub i64 %kept, 4611686018427387904"""
_SHORT_ANGLE = """  %value = sitofp i64 %signed to double
  %angle = fmul double %value, {pi_high}"""
_LONG_ANGLE = """  %upper = and i64 %signed, {upper_mask}
  %lower = and i64 %signed, {lower_mask}
  %value = sitofp i64 %upper to double
  %rest1 = sitofp i64 %lower to double
  %half = lshr i64 %lo, 1
  %rest0 = sitofp i64 %half to double
  %rest2 = fmul double %rest0, {half_word}
  %rest = fadd double %rest1, %rest2
  %tail0 = fmul double %value, {pi_low}
  %tail1 = fmul double %rest, {pi_high}
  %tail = fadd double %tail0, %tail1
{product}"""
_FUSED = "  %angle = call double @llvm.fma.f64(double %value, double {pi_top}, double %tail)"
_UNFUSED = """  %head = fmul double %value, {pi_top}
  %angle = fadd double %head, %tail"""
_TAIL = """  %flip = and i64 {fold}, %odd
  %xneg = lshr i64 %bits, 63
  %xflip = and i64 {odd_function}, %xneg
  %both = xor i64 %flip, %xflip
  %signbit = shl i64 %both, 63
  %anglebits = bitcast double %angle to i64
  %finalbits = xor i64 %anglebits, %signbit
  %final = bitcast i64 %finalbits to double
  %nothing = fsub double %x, %x
  %safe = fadd double %final, %nothing"""

# mode: (added to x/pi in units of 2^-63, doubled?, fold the parity into the sign?, odd function?)
_MODES = {
    "sin": (1 << 62, 0, 1, 1),
    "cos": (-(1 << 63), 0, 1, 0),
    "tan": (1 << 62, 1, 0, 1),
}


_PI_FUSED = (float.fromhex("0x1.921fb54442d18p+1"), float.fromhex("0x1.1a62633145c07p-53"))
_PI_SHORT_TOP = (float.fromhex("0x1.921fbp+1"), float.fromhex("0x1.5110b4611a626p-21"))


def _body_text(mode: str, short: bool, fused: bool) -> str:
    """Straight-line code from `double %x` to `double %safe` (the angle) and `i64 %odd`."""
    offset, doubling, fold, odd_function = _MODES[mode]
    scale = 2.0 ** -(63 + doubling)
    parts = [_HEAD, _SHORT_PRODUCT if short else _LONG_PRODUCT, _FRACTION]
    parts += [_SHORT_ANGLE if short else _LONG_ANGLE, _TAIL]
    # the product of the upper bits with the top of pi is exact, or fused with the addition
    pi_top, pi_low = _PI_FUSED if fused else _PI_SHORT_TOP
    lower_mask = 0x7FF if fused else (1 << 31) - 1
    return "\n".join(parts).format(
        table=_TABLE,
        offset=offset,
        doubling=doubling,
        fold=fold,
        odd_function=odd_function,
        upper_mask=~lower_mask,
        lower_mask=lower_mask,
        pi_high=scalar_text("double", _PI_FUSED[0] * scale),
        pi_low=scalar_text("double", pi_low * scale),
        half_word=scalar_text("double", 2.0**-63),
        product=(_FUSED if fused else _UNFUSED).format(
            pi_top=scalar_text("double", pi_top * scale)
        ),
    )


def _function_text(name, mode, kind, lanes, fused) -> str:
    """A function from a vector to the angles (and, for the tangent, the parities)."""
    vector, short = type_text(kind, lanes), kind == "float"
    load = f"  %x = load {kind}, ptr %at"
    store = f"  store {kind} %safe, ptr %at"
    if short:
        load = "  %given = load float, ptr %at\n  %x = fpext float %given to double"
        store = "  %short = fptrunc double %safe to float\n  store float %short, ptr %at"
    result, finish = vector, f"  ret {vector} %angles"
    if mode == "tan":
        parities = type_text("i64", lanes)
        result = f"{{ {vector}, {parities} }}"
        store += "\n  %atodd = getelementptr i64, ptr %odds, i64 %i\n  store i64 %odd, ptr %atodd"
        finish = f"""  %oddv = load {parities}, ptr %odds
  %r0 = insertvalue {result} poison, {vector} %angles, 0
  %r1 = insertvalue {result} %r0, {parities} %oddv, 1
  ret {result} %r1"""
    return f"""define internal {result} @{name}({vector} %given.vector) noinline nounwind optnone {{
entry:
  %buffer = alloca [{lanes} x {kind}], align 64
  %odds = alloca [{lanes} x i64], align 64
  store {vector} %given.vector, ptr %buffer
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr {kind}, ptr %buffer, i64 %i
{load}
{_body_text(mode, short, fused)}
{store}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {lanes}
  br i1 %more, label %loop, label %done
done:
  %angles = load {vector}, ptr %buffer
{finish}
}}"""


def reduce_huge(e, x, mode):
    """Angles of huge numbers (for 'tan': and parities as i64 lanes); garbage below 2^15."""
    e.declare("declare i64 @llvm.fshl.i64(i64, i64, i64)")
    e.declare("declare double @llvm.fma.f64(double, double, double)")
    e.definitions.setdefault(_TABLE, _table_text())
    name = f"jitney.reduce_{mode}.v{x.lanes}{x.type}"
    if name not in e.definitions:
        e.definitions[name] = _function_text(name, mode, x.type, x.lanes, e.target.fma)
    if mode != "tan":
        names = tuple(e.instruction(f"call {x.text} @{name}({x.text} {n})") for n in x.names)
        return Value(names, x.type, x.lanes)
    pair = f"{{ {x.text}, {type_text('i64', x.lanes)} }}"
    angles, parities = [], []
    for operand in x.names:
        both = e.instruction(f"call {pair} @{name}({x.text} {operand})")
        angles.append(e.instruction(f"extractvalue {pair} {both}, 0"))
        parities.append(e.instruction(f"extractvalue {pair} {both}, 1"))
    return Value(tuple(angles), x.type, x.lanes), Value(tuple(parities), "i64", x.lanes)
