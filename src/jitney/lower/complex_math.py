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


# ---------------------------------------------------------------------- exponentials
def exp(g, x):
    """e^re (cos im + i sin im); exact zero imaginary part stays zero."""
    size = _f(g, "exp", x.re)
    zero = g.compare("eq", x.im, _full(g, 0.0, x))
    im = g.select(zero, x.im, g.mul(size, _f(g, "sin", x.im)))
    re = g.select(zero, size, g.mul(size, _f(g, "cos", x.im)))
    return Pair(re, im)


def expm1(g, x):
    """re: expm1(a) cos b - 2 sin^2(b/2)."""
    half = _f(g, "sin", g.mul(x.im, _full(g, 0.5, x)))
    cosine = _f(g, "cos", x.im)
    re = g.sub(
        g.mul(_f(g, "expm1", x.re), cosine), g.mul(_full(g, 2.0, x), g.mul(half, half))
    )
    return Pair(re, exp(g, x).im)


def log(g, x):
    return Pair(_f(g, "log", absolute(g, x)), g.ew("atan2", x.im, x.re))


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
    """Kahan's: t = sqrt((|re| + |x|)/2); the other part is im / 2t."""
    zero, half = _full(g, 0.0, x), _full(g, 0.5, x)
    size = absolute(g, x)
    t = _f(g, "sqrt", g.mul(half, g.add(_f(g, "abs", x.re), size)))
    is_zero = g.compare("eq", t, zero)
    safe = g.select(is_zero, _full(g, 1.0, x), t)
    other = g.select(is_zero, zero, g.div(_f(g, "abs", x.im), g.mul(_full(g, 2.0, x), safe)))
    positive = g.compare("ge", x.re, zero)
    re = g.select(positive, t, other)
    im = g.ew("copysign", g.select(positive, other, t), x.im)
    infinite = g.compare("eq", _f(g, "abs", x.im), _full(g, math.inf, x))
    return Pair(g.select(infinite, _full(g, math.inf, x), re), g.select(infinite, x.im, im))


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
def sin(g, x):
    return Pair(
        g.mul(_f(g, "sin", x.re), _f(g, "cosh", x.im)),
        g.mul(_f(g, "cos", x.re), _f(g, "sinh", x.im)),
    )


def cos(g, x):
    return Pair(
        g.mul(_f(g, "cos", x.re), _f(g, "cosh", x.im)),
        g.neg(g.mul(_f(g, "sin", x.re), _f(g, "sinh", x.im))),
    )


def _turn(x, g):
    """i * x."""
    return Pair(g.neg(x.im), x.re)


def _turn_back(x, g):
    """-i * x."""
    return Pair(x.im, g.neg(x.re))


def sinh(g, x):
    return _turn_back(sin(g, _turn(x, g)), g)


def cosh(g, x):
    return cos(g, _turn(x, g))


def tanh(g, x):
    """(sinh 2a + i sin 2b) / (cosh 2a + cos 2b), by Kahan's stable form."""
    one = _full(g, 1.0, x)
    t = _f(g, "tan", x.im)
    s = _f(g, "sinh", x.re)
    beta = g.add(one, g.mul(t, t))
    rho = _f(g, "sqrt", g.add(one, g.mul(s, s)))
    denominator = g.add(one, g.mul(beta, g.mul(s, s)))
    large = g.compare("gt", _f(g, "abs", x.re), _full(g, 11.0 if x.dtype == "f32" else 22.0, x))
    re = g.div(g.mul(beta, g.mul(rho, s)), denominator)
    im = g.div(t, denominator)
    infinite_t = g.compare("gt", _f(g, "abs", t), _full(g, 1e18, x))
    re = g.select(infinite_t, g.div(rho, s), re)
    im = g.select(infinite_t, g.div(one, t), im)
    re = g.select(large, g.ew("copysign", one, x.re), re)
    return Pair(re, g.select(large, g.ew("copysign", _full(g, 0.0, x), x.im), im))


def tan(g, x):
    return _turn_back(tanh(g, _turn(x, g)), g)


def logistic(g, x):
    one = Pair(_full(g, 1.0, x), _full(g, 0.0, x))
    return div(g, one, add(g, one, exp(g, neg(g, x))))


def asinh(g, x):
    """Kahan: with s1 = sqrt(1+ix), s2 = sqrt(1-ix)."""
    one = _full(g, 1.0, x)
    s1 = sqrt(g, Pair(g.add(one, x.im), g.neg(x.re)))
    s2 = sqrt(g, Pair(g.sub(one, x.im), x.re))
    re = _f(g, "asinh", g.sub(g.mul(s1.re, s2.im), g.mul(s1.im, s2.re)))
    real_part = g.sub(g.mul(s1.re, s2.re), g.mul(s1.im, s2.im))
    return Pair(re, g.ew("atan2", x.im, real_part))


def asin(g, x):
    return _turn_back(asinh(g, _turn(x, g)), g)


def acos(g, x):
    """2 atan2(Re s1, Re s2), asinh(Im(conj(s2) s1)) with s1 = sqrt(1-x), s2 = sqrt(1+x)."""
    one = _full(g, 1.0, x)
    s1 = sqrt(g, Pair(g.sub(one, x.re), g.neg(x.im)))
    s2 = sqrt(g, Pair(g.add(one, x.re), x.im))
    re = g.mul(_full(g, 2.0, x), g.ew("atan2", s1.re, s2.re))
    im = _f(g, "asinh", g.sub(g.mul(s2.re, s1.im), g.mul(s2.im, s1.re)))
    return Pair(re, im)


def acosh(g, x):
    one = _full(g, 1.0, x)
    s1 = sqrt(g, Pair(g.sub(x.re, one), x.im))
    s2 = sqrt(g, Pair(g.add(x.re, one), x.im))
    re = _f(g, "asinh", g.add(g.mul(s1.re, s2.re), g.mul(s1.im, s2.im)))
    return Pair(re, g.mul(_full(g, 2.0, x), g.ew("atan2", s1.im, s2.re)))


def atanh(g, x):
    """re: log1p(4a / ((1-a)^2 + b^2)) / 4; im: atan2(2b, (1-a)(1+a) - b^2) / 2."""
    one = _full(g, 1.0, x)
    a, b = x.re, x.im
    away = g.sub(one, a)
    square = g.add(g.mul(away, away), g.mul(b, b))
    re = g.mul(
        _full(g, 0.25, x), _f(g, "log1p", g.div(g.mul(_full(g, 4.0, x), a), square))
    )
    product = g.sub(g.mul(away, g.add(one, a)), g.mul(b, b))
    im = g.mul(_full(g, 0.5, x), g.ew("atan2", g.mul(_full(g, 2.0, x), b), product))
    return Pair(re, im)


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
