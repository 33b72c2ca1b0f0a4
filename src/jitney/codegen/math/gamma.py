"""Logarithm of the gamma function and digamma.

In: float or double `Value`s; floats are computed in double. Out: within 2 ulp for x > 0, the zeros
included: on [1/2, 8) the function divided by its zeros is tabulated, sixteen polynomials in all.
From 8 on Stirling's series; below 1/2 the recurrence to [1, 3/2); for x < 0 reflection, where the
error is within 2 ulp of max(1, |value|). Poles give infinity (lgamma) or NaN (digamma).
Numbers are in two parts (see `two_parts`), or in one where the result is rounded to float.
"""

from . import two_parts as parts
from .forms import HEX, INF, NAN, integer_like, polynomial
from .logarithm import log_of_parts, log_wide, split
from .power import log_two_parts

_SMALL, _LARGE = 0.5, 8.0
_HALF_LOG_TWO_PI_LESS_HALF = (HEX("0x1.acfe390c97d69p-2"), HEX("0x1.3494bc9001442p-56"))
_LGAMMA_OVERFLOW = HEX("0x1.754d9278b51a7p+1014")  # the largest argument of a finite result
_DIGAMMA_ZERO = (HEX("0x1.762d86356be3fp+0"), HEX("0x1.b86a722197829p-54"))
_DIGAMMA_ZERO_LESS_ONE = (HEX("0x1.d8b618d5af8fep-2"), HEX("-0x1.1e563779a1f5bp-56"))
_PI_SQUARED = (HEX("0x1.3bd3cc9be45dep+3"), HEX("0x1.692b71366cc04p-51"))
_MINUS_PI_SQUARED_SIXTH = (HEX("-0x1.a51a6625307d3p+0"), HEX("-0x1.1873d8912200cp-55"))


def _through_double(function):
    """The function with `like`, a tuple that shows how many parts numbers have, as argument."""

    def wrapped(e, x):
        wide = e.fpext(x, "double")
        like = (wide,) if x.type == "float" else (wide, wide)
        return e.fptrunc(function(e, wide, like), x.type)

    return wrapped


def _suffix(like):
    return "f64" if len(like) == 2 else "wide"


def _logarithm(e, a, like):
    return log_two_parts(e, a) if len(like) == 2 else (log_wide(e, a),)


def _logarithm_of(e, y):
    """log of a number with as many parts as `y`."""
    if len(y) == 1:
        return (log_wide(e, y[0]),)
    high, low = log_two_parts(e, y[0])
    return high, e.fadd(low, e.fdiv(y[1], y[0]))


def _quotient(e, v, name, like):
    """The tabulated function at 1/2 <= v < 8: two leading bits of v tell the quarter octave."""
    bits = e.bits(v)
    kept = e.and_(bits, integer_like(e, bits, -1 << 50))
    middle = e.bitcast("double", e.or_(kept, integer_like(e, bits, 1 << 49)))
    index = e.lshr(bits, integer_like(e, bits, 50))
    t = e.fsub(v, middle)
    return parts.fitted_piece(e, t, index, f"{name}_{_suffix(like)}", like)


def _lgamma_near(e, a, small, like):
    """lgamma(v) at v = a, or v = 1 + a where a is small: (v-1) (v-2) times the quotient."""
    one = e.like(a, 1.0)
    v = e.select(small, e.fadd(a, one), a)
    first = e.select(small, a, e.fsub(a, one))  # v - 1, exactly
    first = parts.exact(e, first, like)
    second = parts.add(e, first, parts.exact(e, -1.0, like))
    return parts.multiply(e, parts.multiply(e, first, second), _quotient(e, v, "lgamma", like))


def _lgamma_stirling(e, a, log_a):
    """(a - 1/2) (log a - 1) + log(2 pi)/2 - 1/2 + 1/(12 a) - …, for a >= 8."""
    like = log_a
    half = parts.exact(e, -0.5, like)
    b = parts.add(e, parts.exact(e, a, like), half)
    product = parts.multiply(e, b, parts.add(e, log_a, parts.exact(e, -1.0, like)))
    y = e.fdiv(e.like(a, 1.0), a)
    series = e.fmul(y, polynomial(e, e.fmul(y, y), f"lgamma_stirling_{_suffix(like)}"))
    total = parts.add(e, product, parts.constant(e, _HALF_LOG_TWO_PI_LESS_HALF, like))
    if len(like) == 1:
        return (e.fadd(total[0], series),)
    return total[0], e.fadd(total[1], series)


def _pieces(e, a, like, outer, near):
    """outer() off [1/2, 8), plus near() below 8: in two branches, since data often need one."""
    small = e.fcmp("olt", a, e.like(a, _SMALL))
    large = e.fcmp("oge", a, e.like(a, _LARGE))
    nothing = parts.exact(e, 0.0, like)
    base = e.rare_path(e.or_(small, large), nothing, lambda: outer(small, large))
    rest = e.rare_path(e.not_(large), nothing, lambda: near(small))
    return small, rest, parts.add(e, base, rest)


def _half_turn(e, x):
    """d in [-1/2, 1/2] with x = whole + d, exactly."""
    return e.fsub(x, e.roundeven(x))


def _sine_of_half_turns(e, d, like):
    """|sin(pi d)| / pi for |d| <= 1/2."""
    d = parts.exact(e, e.fabs(d), like)
    z = parts.multiply(e, d, d)
    slope = parts.multiply(e, z, parts.constant(e, _MINUS_PI_SQUARED_SIXTH, like))
    tail = e.fmul(e.fmul(z[0], z[0]), polynomial(e, z[0], "sine_pi_f64"))
    if len(like) == 2:
        slope = slope[0], e.fadd(slope[1], tail)
    else:
        slope = (e.fadd(slope[0], tail),)
    ratio = parts.renormalize(e, parts.add(e, parts.exact(e, 1.0, like), slope))
    return parts.multiply(e, d, ratio)


@_through_double
def lgamma(e, x, like):
    """log |gamma(x)|."""
    a = e.fabs(x)

    def outer(small, large):
        log_a = _logarithm(e, a, like)
        stirling = _lgamma_stirling(e, a, log_a)
        vast = e.fcmp("ogt", a, e.like(a, _LGAMMA_OVERFLOW))
        stirling = parts.choose(e, vast, parts.exact(e, INF, like), stirling)
        nothing = parts.exact(e, 0.0, like)
        below = parts.choose(e, small, parts.negate(e, log_a), nothing)
        return parts.choose(e, large, stirling, below)

    small, shifted, value = _pieces(
        e, a, like, outer, lambda small: _lgamma_near(e, a, small, like)
    )

    def mirror():  # -log(a sin(pi a) / pi) - lgamma(a), or where a is small with lgamma(1 + a)
        d = _half_turn(e, a)
        factor = e.select(small, e.like(a, 1.0), a)
        y = parts.multiply(e, _sine_of_half_turns(e, d, like), parts.exact(e, factor, like))
        total = parts.add(e, _logarithm_of(e, y), parts.choose(e, small, shifted, value))
        pole = e.fcmp("oeq", d, e.like(a, 0.0))
        return e.select(pole, e.like(a, INF), e.fneg(parts.rounded(e, total)))

    zero, inf = e.like(x, 0.0), e.like(x, INF)
    r = e.rare_path(e.fcmp("ole", x, zero), parts.rounded(e, value), mirror)
    r = e.select(e.fcmp("oeq", a, inf), inf, r)
    return e.select(e.fcmp("uno", x, x), x, r)


def _digamma_near(e, a, small, like):
    """digamma(v) at v = a, or v = 1 + a where a is small: (v - zero) times the quotient."""
    v = e.select(small, e.fadd(a, e.like(a, 1.0)), a)
    numbers = zip(_DIGAMMA_ZERO_LESS_ONE[: len(like)], _DIGAMMA_ZERO)
    zero = tuple(e.select(small, e.like(a, -s), e.like(a, -z)) for s, z in numbers)
    distance = parts.add(e, parts.exact(e, a, like), zero)
    if len(like) == 1:  # the second part of the zero counts beside it
        low = e.select(small, *[e.like(a, -c[1]) for c in (_DIGAMMA_ZERO_LESS_ONE, _DIGAMMA_ZERO)])
        distance = (e.fadd(distance[0], low),)
    distance = parts.renormalize(e, distance)
    return parts.multiply(e, distance, _quotient(e, v, "digamma", like))


def _digamma_series(e, a, like):
    """1/(2a) + 1/(12 a^2) - …, what digamma is below log a."""
    y = e.fdiv(e.like(a, 1.0), a)
    u = e.fmul(y, y)
    tail = e.fmul(u, polynomial(e, u, f"digamma_stirling_{_suffix(like)}"))
    return e.muladd(y, e.like(a, 0.5), tail)


def _digamma_large(e, a, like):
    """digamma(a) for a >= 8 and finite, all but the last rounding small."""
    series = _digamma_series(e, a, like)
    if len(like) == 1:
        return (e.fsub(log_wide(e, a), series),)
    f, k = split(e, a)
    return log_of_parts(e, f, k, e.fneg(series)), e.like(a, 0.0)


def _cotangent_of_half_turns(e, d, like):
    """pi cot(pi d) for 0 < |d| <= 1/2."""
    z = e.fmul(d, d)
    near = parts.reciprocal(e, d, like)
    tail = e.fmul(d, polynomial(e, z, "cotangent_pi_f64"))
    near = parts.add(e, near, parts.exact(e, tail, like))
    size = e.fabs(d)
    m = e.fsub(e.like(d, 0.5), size)
    far = parts.fitted(e, e.fmul(m, m), "tangent_pi_f64")[: len(like)]
    far = parts.multiply(e, parts.exact(e, e.copysign(m, d), like), far)
    return parts.choose(e, e.fcmp("olt", size, e.like(d, 0.25)), near, far)


@_through_double
def digamma(e, x, like):
    """The logarithmic derivative of gamma."""
    a = e.fabs(x)

    def outer(small, large):
        below = parts.negate(e, parts.reciprocal(e, a, like))
        below = parts.choose(e, small, below, parts.exact(e, 0.0, like))
        return parts.choose(e, large, _digamma_large(e, a, like), below)

    small, shifted, value = _pieces(
        e, a, like, outer, lambda small: _digamma_near(e, a, small, like)
    )

    def mirror():  # digamma(1 + a) + pi cot(pi a)
        d = _half_turn(e, a)
        large = e.fcmp("oge", a, e.like(a, _LARGE))
        usual = value
        if len(like) == 2:  # the cotangent may cancel it
            series = parts.exact(e, e.fneg(_digamma_series(e, a, like)), like)
            better = parts.add(e, log_two_parts(e, a), series)
            usual = parts.choose(e, large, better, value)
        shifted_up = parts.add(e, usual, parts.reciprocal(e, a, like))
        above = parts.choose(e, small, shifted, shifted_up)
        r = parts.rounded(e, parts.add(e, above, _cotangent_of_half_turns(e, d, like)))
        return e.select(e.fcmp("oeq", d, e.like(a, 0.0)), e.like(a, NAN), r)

    zero, inf = e.like(x, 0.0), e.like(x, INF)
    r = e.rare_path(e.fcmp("ole", x, zero), parts.rounded(e, value), mirror)
    r = e.select(e.fcmp("oeq", x, inf), inf, r)
    return e.select(e.fcmp("uno", x, x), x, r)
