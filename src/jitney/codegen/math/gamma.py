"""Logarithm of the gamma function and digamma.

In: float or double `Value`s; floats are computed in double. Out: see docs/vector_math.md (the error
is absolute near the zeros). Lanczos's formula with g = 7 and nine terms for x >= 1/2, reflection
below; poles give infinity (lgamma) or NaN (digamma).
"""

from .forms import HEX, INF, NAN, polynomial
from .logarithm import log, log_wide

_G = 7.0
_LANCZOS = (
    0.99999999999980993227684700473478,
    676.520368121885098567009190444019,
    -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,
    -176.61502916214059906584551354,
    12.507343278686904814458936853,
    -0.13857109526572011689554707,
    9.984369578019570859563e-6,
    1.50563273514931155834e-7,
)
_PI = HEX("0x1.921fb54442d18p+1")
_LOG_PI = 1.1447298858494001741
_HALF_LOG_TWO_PI = 0.91893853320467274178


def _sum(e, z, derivative=False):
    """Lanczos's sum at z = x - 1 (and minus its derivative)."""
    total, slope = e.like(z, _LANCZOS[0]), e.like(z, 0.0)
    for i, c in enumerate(_LANCZOS[1:], 1):
        constant = e.like(z, c)
        if not derivative:
            total = e.fadd(total, e.fdiv(constant, e.fadd(z, e.like(z, float(i)))))
            continue
        reciprocal = e.fdiv(e.like(z, 1.0), e.fadd(z, e.like(z, float(i))))
        term = e.fmul(constant, reciprocal)
        total = e.fadd(total, term)
        slope = e.muladd(term, reciprocal, slope)
    return (total, slope) if derivative else total


def _logarithm(e, x, wide):
    return log_wide(e, x) if wide else log(e, x)


def _through_double(function):
    def wrapped(e, x):
        if x.type == "double":
            return function(e, x, False)
        return e.fptrunc(function(e, e.fpext(x, "double"), True), x.type)

    return wrapped


def _half_turns(e, x):
    """(d, d in [-1/2, 1/2] with x = whole + d) : the argument of sin(pi x)."""
    return e.fsub(x, e.roundeven(x))


@_through_double
def lgamma(e, x, _):
    """log |gamma(x)|."""
    one, half, zero = (e.like(x, v) for v in (1.0, 0.5, 0.0))
    reflected = e.fcmp("olt", x, half)
    z = e.select(reflected, e.fneg(x), e.fsub(x, one))
    t = e.fadd(z, e.like(x, _G + 0.5))
    log_t = log(e, t)
    main = e.fma(e.fadd(z, half), log_t, e.fneg(t))
    value = e.fadd(e.fadd(main, e.like(x, _HALF_LOG_TWO_PI)), log(e, _sum(e, z)))
    huge = e.fcmp("oge", z, e.like(x, 1e305))
    value = e.select(huge, e.fmul(z, e.fsub(log_t, one)), value)

    def mirror():
        d = _half_turns(e, x)
        y = e.fmul(d, e.like(x, _PI))
        square = e.fmul(y, y)
        sine = e.fabs(e.fma(e.fmul(square, y), polynomial(e, square, "sin_f64"), y))
        r = e.fsub(e.fsub(e.like(x, _LOG_PI), log(e, sine)), value)
        return e.select(e.fcmp("oeq", sine, zero), e.like(x, INF), r)

    value = e.rare_path(reflected, value, mirror)
    infinite = e.fcmp("oeq", e.fabs(x), e.like(x, INF))
    return e.select(infinite, e.like(x, INF), value)


@_through_double
def digamma(e, x, wide):
    """The logarithmic derivative of gamma."""
    one, half = e.like(x, 1.0), e.like(x, 0.5)
    reflected = e.fcmp("olt", x, half)
    z = e.select(reflected, e.fneg(x), e.fsub(x, one))
    t = e.fadd(z, e.like(x, _G + 0.5))
    total, minus_slope = _sum(e, z, derivative=True)
    log_t = _logarithm(e, t, wide)
    fraction = e.fadd(e.fdiv(minus_slope, total), e.fdiv(e.like(x, _G), t))
    value = e.fsub(log_t, fraction)

    def mirror():
        d = _half_turns(e, x)
        y = e.fmul(d, e.like(x, _PI))
        square = e.fmul(y, y)
        sine = e.fma(e.fmul(square, y), polynomial(e, square, "sin_f64"), y)
        other = e.fmul(e.fsub(half, e.fabs(d)), e.like(x, _PI))
        square = e.fmul(other, other)
        cosine = e.fma(e.fmul(square, other), polynomial(e, square, "sin_f64"), other)
        r = e.fsub(value, e.fmul(e.like(x, _PI), e.fdiv(cosine, sine)))
        pole = e.and_(
            e.fcmp("oeq", d, e.like(x, 0.0)), e.fcmp("ole", x, e.like(x, 0.0))
        )
        return e.select(pole, e.like(x, NAN), r)

    return e.rare_path(reflected, value, mirror)
