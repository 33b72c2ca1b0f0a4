"""Complex arithmetic and functions as formulas on real and imaginary parts.

Formulas follow Kahan, "Branch cuts for complex elementary functions" (1987), where it matters:
`sqrt`, `log` and the inverse functions keep the signs of zeros that choose the side of a cut.
"""

import math

from .rules import LoweringError, Pair


def unary(g, name, x: Pair):
    """A unary primitive of a complex operand."""
    rule = _UNARY.get(name)
    if rule is None:
        raise LoweringError(f"{name} of complex numbers cannot be compiled")
    return rule(g, x)


def binary(g, name, x: Pair, y: Pair):
    """A binary primitive of complex operands."""
    rule = _BINARY.get(name)
    if rule is None:
        raise LoweringError(f"{name} of complex numbers cannot be compiled")
    return rule(g, x, y)


def _full(g, value, like):
    return g.full(value, like.shape, like.dtype)


def _f(g, name, x):
    return g.ew(name, x)


# ---------------------------------------------------------------------- arithmetic
def add(g, x, y):
    return Pair(g.add(x.re, y.re), g.add(x.im, y.im))


def sub(g, x, y):
    return Pair(g.sub(x.re, y.re), g.sub(x.im, y.im))


def neg(g, x):
    return Pair(g.neg(x.re), g.neg(x.im))


def mul(g, x, y):
    re = g.sub(g.mul(x.re, y.re), g.mul(x.im, y.im))
    im = g.add(g.mul(x.re, y.im), g.mul(x.im, y.re))
    return Pair(re, im)


def scale(g, x, factor):
    return Pair(g.mul(x.re, factor), g.mul(x.im, factor))


def div(g, x, y):
    """Smith's method (1962): scales by the larger part of y, so that nothing overflows early."""
    larger_re = g.compare("ge", _f(g, "abs", y.re), _f(g, "abs", y.im))
    big, small = g.select(larger_re, y.re, y.im), g.select(larger_re, y.im, y.re)
    ratio = g.div(small, big)
    zero = _full(g, 0.0, y)
    ratio = g.select(eq(g, y, Pair(zero, zero)), zero, ratio)
    scaled = g.add(big, g.mul(small, ratio))
    a, b = g.select(larger_re, x.re, x.im), g.select(larger_re, x.im, x.re)
    re = g.div(g.add(a, g.mul(b, ratio)), scaled)
    raw = g.sub(b, g.mul(a, ratio))
    im = g.div(g.select(larger_re, raw, g.neg(raw)), scaled)
    return Pair(re, im)


def reciprocal(g, y):
    return div(g, Pair(_full(g, 1.0, y), _full(g, 0.0, y)), y)


def absolute(g, x):
    """hypot without overflow: big * sqrt(1 + (small/big)^2)."""
    a, b = _f(g, "abs", x.re), _f(g, "abs", x.im)
    big, small = g.ew("max", a, b), g.ew("min", a, b)
    zero, infinity = _full(g, 0.0, x), _full(g, math.inf, x)
    ratio = g.select(g.compare("eq", big, zero), zero, g.div(small, big))
    result = g.mul(big, _f(g, "sqrt", g.add(_full(g, 1.0, x), g.mul(ratio, ratio))))
    infinite = g.ew("or", g.compare("eq", a, infinity), g.compare("eq", b, infinity))
    return g.select(infinite, infinity, result)


def sign(g, x):
    x = scale(g, x, g.select(_may_overflow(g, x), _full(g, 0.5, x), _full(g, 1.0, x)))
    size = absolute(g, x)
    zero = g.compare("eq", size, _full(g, 0.0, x))
    safe = g.select(zero, _full(g, 1.0, x), size)
    return Pair(
        g.select(zero, x.re, g.div(x.re, safe)), g.select(zero, x.im, g.div(x.im, safe))
    )


def eq(g, x, y):
    return g.ew("and", g.compare("eq", x.re, y.re), g.compare("eq", x.im, y.im))


def ne(g, x, y):
    return g.ew("or", g.compare("ne", x.re, y.re), g.compare("ne", x.im, y.im))


# ---------------------------------------------------------------------- what is special
def _is_nan(g, x):
    return g.compare("ne", x, x)


def _is_infinite(g, x):
    return g.compare("eq", _f(g, "abs", x), _full(g, math.inf, x))


def _is_zero(g, x):
    return g.compare("eq", x, _full(g, 0.0, x))


def _may_overflow(g, x):
    """Whether |x| may be too large to represent, where its parts are not."""
    return g.ew("or", _beyond(g, x.re, 1e38, 1e307), _beyond(g, x.im, 1e38, 1e307))


def _may_underflow(g, x):
    """Whether both parts are so small that half of them may lose bits."""
    least = _full(g, 1e-37 if x.dtype == "f32" else 1e-307, x)
    return g.compare("lt", g.ew("max", _f(g, "abs", x.re), _f(g, "abs", x.im)), least)


def _beyond(g, x, narrow, wide):
    """Whether |x| is above a bound, of float32 or of float64."""
    return g.compare("gt", _f(g, "abs", x), _full(g, narrow if x.dtype == "f32" else wide, x))


# ---------------------------------------------------------------------- exponentials
def exp(g, x):
    """e^re (cos im + i sin im); an imaginary part of zero stays zero.

    A real part above `limit` is taken in two steps: e^re may overflow where the result does not.
    An infinite one decides the result also where im is no angle (C99, annex G).
    """
    limit = 88.0 if x.dtype == "f32" else 709.0
    high = g.compare("gt", x.re, _full(g, limit, x))
    size = _f(g, "exp", g.select(high, g.sub(x.re, _full(g, limit, x)), x.re))
    factor = g.select(high, _full(g, math.exp(limit), x), _full(g, 1.0, x))
    cosine, sine = _f(g, "cos", x.im), _f(g, "sin", x.im)
    whole = g.mul(size, factor)
    no_angle = _is_nan(g, cosine)
    vanishes = g.ew("and", no_angle, g.compare("eq", x.re, _full(g, -math.inf, x)))
    real = g.ew("or", _is_zero(g, x.im), g.ew("and", no_angle, _is_infinite(g, x.re)))
    re = g.select(real, whole, g.mul(g.mul(size, cosine), factor))
    im = g.select(vanishes, whole, g.mul(g.mul(size, sine), factor))
    return Pair(re, g.select(_is_zero(g, x.im), x.im, im))


def expm1(g, x):
    """re: expm1(a) cos b - 2 sin^2(b/2) for small a, e^a cos b - 1 for others."""
    half = _f(g, "sin", g.mul(x.im, _full(g, 0.5, x)))
    cosine = _f(g, "cos", x.im)
    near = g.sub(
        g.mul(_f(g, "expm1", x.re), cosine), g.mul(_full(g, 2.0, x), g.mul(half, half))
    )
    power = exp(g, x)
    far = g.sub(power.re, _full(g, 1.0, x))
    re = g.select(_beyond(g, x.re, 1.0, 1.0), far, g.add(near, _full(g, 0.0, x)))
    return Pair(re, power.im)


def log(g, x):
    """re: log1p(|x|^2 - 1) / 2 near |x| = 1, log|x| elsewhere."""
    one, half = _full(g, 1.0, x), _full(g, 0.5, x)
    a, b = _f(g, "abs", x.re), _f(g, "abs", x.im)
    big, small = g.ew("max", a, b), g.ew("min", a, b)
    rest = g.add(g.mul(g.sub(big, one), g.add(big, one)), g.mul(small, small))
    near = g.mul(half, _f(g, "log1p", rest))
    huge = _may_overflow(g, x)
    size = absolute(g, scale(g, x, g.select(huge, half, one)))
    far = g.add(_f(g, "log", size), g.select(huge, _full(g, math.log(2.0), x), _full(g, 0.0, x)))
    is_near = g.compare("lt", _f(g, "abs", rest), half)
    return Pair(g.select(is_near, near, far), g.ew("atan2", x.im, x.re))


def _log_of_double(g, x):
    """log |2x|, where |2x| itself might overflow."""
    size = absolute(g, scale(g, x, _full(g, 0.5, x)))
    return g.add(_f(g, "log", size), _full(g, math.log(4.0), x))


def log1p(g, x):
    """re: log1p(2a + a^2 + b^2) / 2 near 1, log|1+x| elsewhere."""
    a, b = x.re, x.im
    one = _full(g, 1.0, x)
    shifted = Pair(g.add(a, one), b)
    rest = g.add(g.mul(a, g.add(a, _full(g, 2.0, x))), g.mul(b, b))
    near = g.mul(_full(g, 0.5, x), _f(g, "log1p", rest))
    is_near = g.compare("lt", _f(g, "abs", rest), _full(g, 0.5, x))
    re = g.select(is_near, near, _f(g, "log", absolute(g, shifted)))
    return Pair(re, g.ew("atan2", b, shifted.re))


def sqrt(g, x):
    """Kahan's: t = sqrt((|re| + |x|)/2); the other part is im / 2t.

    Of x / 4 where the sum may overflow, of a multiple of x where it may lose bits.
    """
    infinite, side = _is_infinite(g, x.im), x.im
    zero, half, one = _full(g, 0.0, x), _full(g, 0.5, x), _full(g, 1.0, x)
    huge, tiny = _may_overflow(g, x), _may_underflow(g, x)
    inside = g.select(tiny, _full(g, 2.0**64, x), g.select(huge, _full(g, 0.25, x), one))
    outside = g.select(tiny, _full(g, 2.0**-32, x), g.select(huge, _full(g, 2.0, x), one))
    x = scale(g, x, inside)
    size = absolute(g, x)
    t = _f(g, "sqrt", g.mul(half, g.add(_f(g, "abs", x.re), size)))
    is_zero = g.compare("eq", t, zero)
    safe = g.select(is_zero, _full(g, 1.0, x), t)
    other = g.select(is_zero, zero, g.div(_f(g, "abs", x.im), g.mul(_full(g, 2.0, x), safe)))
    positive = g.compare("ge", x.re, zero)
    re = g.mul(g.select(positive, t, other), outside)
    im = g.mul(g.ew("copysign", g.select(positive, other, t), side), outside)
    return Pair(g.select(infinite, _full(g, math.inf, x), re), g.select(infinite, side, im))


def rsqrt(g, x):
    return reciprocal(g, sqrt(g, x))


def power(g, x, y):
    """exp(y log x), with x^0 = 1, 0^y = 0 for positive y and NaN for others."""
    zero = _full(g, 0.0, x)
    base_zero = eq(g, x, Pair(zero, zero))
    exponent_zero = eq(g, y, Pair(zero, zero))
    one = _full(g, 1.0, x)
    safe = Pair(g.select(base_zero, one, x.re), x.im)
    result = exp(g, mul(g, y, log(g, safe)))
    positive = g.ew("and", g.compare("gt", y.re, zero), g.compare("eq", y.im, zero))
    of_zero = g.select(positive, zero, _full(g, math.nan, x))
    re = g.select(exponent_zero, one, g.select(base_zero, of_zero, result.re))
    im = g.select(exponent_zero, zero, g.select(base_zero, of_zero, result.im))
    return Pair(re, im)


# ---------------------------------------------------------------------- trigonometry
def _hyperbolic(g, a):
    """cosh a, sinh a up to a factor that is given last: 2 cosh^2(a/2) where cosh a may overflow."""
    large = _beyond(g, a, 44.0, 350.0)
    some = g.select(large, g.mul(a, _full(g, 0.5, a)), a)
    cosine, sine = _f(g, "cosh", some), _f(g, "sinh", some)
    factor = g.select(large, g.mul(_full(g, 2.0, a), cosine), _full(g, 1.0, a))
    return cosine, sine, factor


def cosh(g, x):
    """cosh a cos b + i sinh a sin b; at a = 0 and b = 0 real whatever the other part is."""
    high, low, factor = _hyperbolic(g, x.re)
    cosine, sine = _f(g, "cos", x.im), _f(g, "sin", x.im)
    no_angle = _is_nan(g, cosine)
    settled = g.ew("and", no_angle, _is_infinite(g, x.re))
    re = g.mul(g.select(settled, high, g.mul(high, cosine)), factor)
    im = g.mul(g.mul(low, sine), factor)
    im = g.select(g.ew("and", no_angle, _is_zero(g, x.re)), x.re, im)
    signed = g.mul(x.im, g.ew("copysign", _full(g, 1.0, x), x.re))
    return Pair(re, g.select(_is_zero(g, x.im), signed, im))


def sinh(g, x):
    """sinh a cos b + i cosh a sin b; a = 0 and a = inf stay what they are for any b."""
    high, low, factor = _hyperbolic(g, x.re)
    cosine, sine = _f(g, "cos", x.im), _f(g, "sin", x.im)
    stays = g.ew("or", _is_zero(g, x.re), _is_infinite(g, x.re))
    settled = g.ew("and", _is_nan(g, cosine), stays)
    re = g.select(settled, x.re, g.mul(g.mul(low, cosine), factor))
    im = g.mul(g.mul(high, sine), factor)
    return Pair(re, g.select(_is_zero(g, x.im), x.im, im))


def _turn(x, g):
    """i * x."""
    return Pair(g.neg(x.im), x.re)


def _turn_back(x, g):
    """-i * x."""
    return Pair(x.im, g.neg(x.re))


def sin(g, x):
    return _turn_back(sinh(g, _turn(x, g)), g)


def cos(g, x):
    return cosh(g, _turn(x, g))


def tanh(g, x):
    """(sinh 2a + i sin 2b) / (cosh 2a + cos 2b), by Kahan's stable form.

    Far out it is 1 + i sin 2b / (2 sinh^2 a); at infinity 1 + 0i for any b, as at 0 it is 0.
    """
    one = _full(g, 1.0, x)
    t = _f(g, "tan", x.im)
    s = _f(g, "sinh", x.re)
    beta = g.add(one, g.mul(t, t))
    rho = _f(g, "sqrt", g.add(one, g.mul(s, s)))
    denominator = g.add(one, g.mul(beta, g.mul(s, s)))
    large = _beyond(g, x.re, 11.0, 22.0)
    re = g.div(g.mul(beta, g.mul(rho, s)), denominator)
    im = g.select(large, g.div(g.div(g.div(t, beta), s), s), g.div(t, denominator))
    end = g.ew("copysign", one, x.re)
    re = g.select(large, end, re)
    at_zero, at_end = _is_zero(g, x.re), _is_infinite(g, x.re)
    known = g.ew("or", at_zero, at_end)
    re = g.select(_is_nan(g, t), g.select(known, g.select(at_zero, x.re, end), t), re)
    flat = g.ew("copysign", _full(g, 0.0, x), x.im)
    im = g.select(at_end, flat, im)
    return Pair(re, g.select(_is_zero(g, x.im), x.im, im))


def tan(g, x):
    return _turn_back(tanh(g, _turn(x, g)), g)


def logistic(g, x):
    one = Pair(_full(g, 1.0, x), _full(g, 0.0, x))
    return div(g, one, add(g, one, exp(g, neg(g, x))))


def _is_far(g, x):
    """Whether 1 vanishes against x^2: beyond, inverse functions are logarithms of 2x."""
    return g.ew("or", _beyond(g, x.re, 1e5, 1e9), _beyond(g, x.im, 1e5, 1e9))


def asinh(g, x):
    """Kahan: with s1 = sqrt(1+ix), s2 = sqrt(1-ix); far out log 2x, on the side of x."""
    one = _full(g, 1.0, x)
    s1 = sqrt(g, Pair(g.add(one, x.im), g.neg(x.re)))
    s2 = sqrt(g, Pair(g.sub(one, x.im), x.re))
    re = _f(g, "asinh", g.sub(g.mul(s1.re, s2.im), g.mul(s1.im, s2.re)))
    real_part = g.sub(g.mul(s1.re, s2.re), g.mul(s1.im, s2.im))
    far = _is_far(g, x)
    re = g.select(far, g.ew("copysign", _log_of_double(g, x), x.re), re)
    im = g.ew("atan2", x.im, g.select(far, _f(g, "abs", x.re), real_part))
    return Pair(re, g.select(_is_zero(g, x.im), x.im, im))


def asin(g, x):
    return _turn_back(asinh(g, _turn(x, g)), g)


def _quarter_turn(g, x, angle):
    """The angle; pi/2 where the real part is zero and the imaginary part NaN."""
    open_end = g.ew("and", _is_zero(g, x.re), _is_nan(g, x.im))
    return g.select(open_end, _full(g, math.pi / 2, x), angle)


def acos(g, x):
    """2 atan2(Re s1, Re s2), asinh(Im(conj(s2) s1)) with s1 = sqrt(1-x), s2 = sqrt(1+x)."""
    one = _full(g, 1.0, x)
    s1 = sqrt(g, Pair(g.sub(one, x.re), g.neg(x.im)))
    s2 = sqrt(g, Pair(g.add(one, x.re), x.im))
    re = g.mul(_full(g, 2.0, x), g.ew("atan2", s1.re, s2.re))
    im = _f(g, "asinh", g.sub(g.mul(s2.re, s1.im), g.mul(s2.im, s1.re)))
    far = _is_far(g, x)
    re = g.select(far, g.ew("atan2", _f(g, "abs", x.im), x.re), re)
    im = g.select(far, g.neg(g.ew("copysign", _log_of_double(g, x), x.im)), im)
    return Pair(_quarter_turn(g, x, re), im)


def acosh(g, x):
    one = _full(g, 1.0, x)
    s1 = sqrt(g, Pair(g.sub(x.re, one), x.im))
    s2 = sqrt(g, Pair(g.add(x.re, one), x.im))
    re = _f(g, "asinh", g.add(g.mul(s1.re, s2.re), g.mul(s1.im, s2.im)))
    im = g.mul(_full(g, 2.0, x), g.ew("atan2", s1.im, s2.re))
    far = _is_far(g, x)
    re = g.select(far, _log_of_double(g, x), re)
    im = g.select(far, g.ew("atan2", x.im, x.re), im)
    return Pair(re, _quarter_turn(g, x, im))


def atanh(g, x):
    """re: log1p(4a / ((1-a)^2 + b^2)) / 4; im: atan2(2b, (1-a)(1+a) - b^2) / 2.

    Computed for a >= 0. Next to 1 re is log(2 / |1-x|) / 2; far out it is 1/a, or Re 1/x, and the
    angle a quarter turn towards b. Where a is NaN only an infinite b is far out: next to a finite
    one the angle is NaN as well.
    """
    one = _full(g, 1.0, x)
    a, b = _f(g, "abs", x.re), x.im
    away = g.sub(one, a)
    square = g.add(g.mul(away, away), g.mul(b, b))
    re = g.mul(
        _full(g, 0.25, x), _f(g, "log1p", g.div(g.mul(_full(g, 4.0, x), a), square))
    )
    distance = absolute(g, Pair(away, b))
    close = g.sub(_full(g, math.log(2.0), x), _f(g, "log", distance))
    is_close = g.compare("lt", distance, _full(g, 1e-10 if x.dtype == "f32" else 1e-20, x))
    re = g.select(is_close, g.mul(_full(g, 0.5, x), close), re)
    product = g.sub(g.mul(away, g.add(one, a)), g.mul(b, b))
    im = g.mul(_full(g, 0.5, x), g.ew("atan2", g.mul(_full(g, 2.0, x), b), product))
    large = g.ew("or", _beyond(g, a, 1e9, 1e17), _beyond(g, b, 1e9, 1e17))
    endless = _is_infinite(g, b)
    far = g.ew("or", endless, g.ew("and", large, g.compare("eq", a, a)))
    gone = g.ew("or", _is_infinite(g, a), endless)
    vanishing = g.select(gone, _full(g, 0.0, x), reciprocal(g, Pair(a, b)).re)
    side = g.select(_is_nan(g, b), b, g.ew("copysign", _full(g, math.pi / 2, x), b))
    re = g.select(_is_zero(g, a), a, g.select(far, vanishing, re))
    return Pair(g.ew("copysign", re, x.re), g.select(far, side, im))


def atan(g, x):
    return _turn_back(atanh(g, _turn(x, g)), g)


_UNARY = {
    "neg": neg, "abs": absolute, "sign": sign, "exp": exp, "expm1": expm1, "log": log,
    "log1p": log1p, "sqrt": sqrt, "rsqrt": rsqrt, "sin": sin, "cos": cos, "tan": tan,
    "sinh": sinh, "cosh": cosh, "tanh": tanh, "logistic": logistic, "asinh": asinh, "asin": asin,
    "acos": acos, "acosh": acosh, "atanh": atanh, "atan": atan,
    "exp2": lambda g, x: exp(g, scale(g, x, _full(g, math.log(2.0), x))),
    "cbrt": lambda g, x: power(g, x, Pair(_full(g, 1 / 3, x), _full(g, 0.0, x))),
}  # fmt: skip
def _larger(g, x, y):
    """x > y by the real parts, then by the imaginary parts."""
    ties = g.ew("and", g.compare("eq", x.re, y.re), g.compare("gt", x.im, y.im))
    return g.ew("or", g.compare("gt", x.re, y.re), ties)


def _choose(g, condition, x, y):
    return Pair(g.select(condition, x.re, y.re), g.select(condition, x.im, y.im))


def maximum(g, x, y):
    return _choose(g, _larger(g, x, y), x, y)


def minimum(g, x, y):
    return _choose(g, _larger(g, y, x), x, y)


_BINARY = {
    "max": maximum, "min": minimum,
    "add": add, "add_any": add, "sub": sub, "mul": mul, "div": div, "pow": power, "eq": eq,
    "ne": ne,
}  # fmt: skip
