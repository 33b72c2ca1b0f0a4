"""erf, erfc and the inverse error function.

In: float or double `Value`s. Out: results within 2 ulp. erf_inv(x) is x times a polynomial in
w = -log(1 - x^2), the variable of M. Giles (Approximating the erfinv function, 2012), with our own
coefficients; 1 - x^2 is computed with one rounding, so that nothing is lost near +-1. His formula
as published is here as well: normal random numbers are made of it, and are to be the same
everywhere.
"""

from .coefficients import POLYNOMIALS, TABLES
from .exponential import (
    below_one,
    exp_fraction,
    exp_normal,
    exp_of_sum_times,
)
from .forms import (
    EXPONENT_BIAS,
    FAR,
    INF,
    LN2_NEAREST,
    LOG2_E,
    SUFFIX,
    graded_cell,
    has_avx512_form,
    horner,
    in_a_register,
    piecewise,
    polynomial,
    round_with_magic,
    scaled_down,
    table_lookup,
    two_product,
    two_sum,
    with_sign_of,
)
from .logarithm import log, log1p
from .two_parts import fitted

_GILES_CENTRAL = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06,
    -3.5233877e-06, 3.43273939e-07, 2.81022636e-08,
)
_GILES_TAIL = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844,
    0.00134934322, 0.000100950558, -0.000200214257,
)


@in_a_register("float", "double")
def erf(e, x):
    """The error function."""
    a = e.fabs(x)
    if has_avx512_form(e, x):
        width, top = {"float": (0.25, 4 - 2.0**-20), "double": (0.375, 6 - 2.0**-40)}[x.type]
        return e.copysign(piecewise(e, a, f"erf_table_{SUFFIX[x.type]}", width, top), x)
    if x.type == "float":
        return _erf_by_exponential(e, x, a)
    one = e.like(x, 1.0)
    t = e.fsub(e.fast_min(e.like(x, 6.0), a), one)
    power = exp_normal(e, e.fneg(polynomial(e, t, "erf_large_f64")))
    large = e.copysign(e.fsub(one, power), x)
    return e.select(e.fcmp("ult", a, one), _erf_small(e, x), large)


def _erf_by_exponential(e, x, a):
    """1 - exp(-y) with y = -log(erfc a) = a + a times a polynomial: one formula for all floats."""
    a = e.fast_min(e.like(x, 3.93), a)
    y = e.muladd(polynomial(e, a, "erf_exponent_f32"), a, a)
    return with_sign_of(e, below_one(e, e.fneg(y))[0], x)


def _erf_small(e, x):
    return e.fma(polynomial(e, e.fmul(x, x), f"erf_small_{SUFFIX[x.type]}"), x, x)


def _erfc_by_table(e, x):
    """AVX-512, floats: exp(-a^2) times a tabulated erfcx(a) beyond 1/2."""
    a = e.fast_min(e.like(x, 11.0), e.fabs(x))
    index, t = graded_cell(e, a, 0.5, 2)
    head, *rest = [table_lookup(e, index, "float", row) for row in TABLES["erfcx_table_f32"]]
    square, low = two_product(e, a, a)
    tail = exp_of_sum_times(e, e.fneg(square), e.fneg(low), (head, horner(e, t, rest)))
    large = e.select(e.fcmp("olt", x, e.like(x, 0.0)), e.fsub(e.like(x, 2.0), tail), tail)
    small = e.fsub(e.like(x, 1.0), _erf_small(e, x))
    return e.select(e.fcmp("ult", a, e.like(x, 0.5)), small, large)


@in_a_register("float")
def erfc(e, x):
    """1 - erf(x) without cancellation."""
    if x.type == "float" and has_avx512_form(e, x):
        return _erfc_by_table(e, x)
    a = e.fast_min(e.like(x, {"float": 11.0, "double": 28.0}[x.type]), e.fabs(x))
    small, tail = (_erfc_parts_of_float if x.type == "float" else _erfc_parts)(e, x, a)
    large = e.select(e.fcmp("olt", x, e.like(x, 0.0)), e.fsub(e.like(x, 2.0), tail), tail)
    edge = {"float": 0.65, "double": 0.5}[x.type]
    return e.select(e.fcmp("ult", a, e.like(x, edge)), small, large)


def _erfc_parts_of_float(e, x, a):
    """(erfc near zero, erfc(a) beyond): with t = (a - 2)/(a + 2), a polynomial in t over
    1 + 2a, times exp(-a^2), whose square is in two parts. What the quotient has lost, over the
    polynomial, which is 1.2 and a little, is put right with the exponential."""
    one, two = e.like(x, 1.0), e.like(x, 2.0)
    t = e.fdiv(e.fsub(a, two), e.fadd(a, two))
    head, *rest = POLYNOMIALS["erfc_f32"]
    p = e.fadd(horner(e, t, rest), e.like(x, head))
    double = e.fadd(a, a)
    below = e.fadd(double, one)
    ratio = e.fdiv(p, below)
    lost = e.fma(e.fneg(ratio), below, p)  # (double - (below - one)) is what `below` has lost
    lost = e.fma(e.fneg(ratio), e.fsub(double, e.fsub(below, one)), lost)
    square, low = two_product(e, a, a)
    n, bits = round_with_magic(e, e.fneg(square), LOG2_E, EXPONENT_BIAS["float"] + FAR["float"])
    ln2, ln2_low = (e.like(x, part) for part in LN2_NEAREST["float"])
    # all that is small first: then it costs one rounding
    low = e.muladd(lost, e.like(x, -1 / 1.2), e.muladd(n, ln2_low, low))
    r = e.fsub(e.fma(n, e.fneg(ln2), e.fneg(square)), low)
    tail = scaled_down(e, exp_fraction(e, r), bits, ratio)
    return e.fsub(one, _erf_small(e, x)), tail


def _erfc_parts(e, x, a):
    """As `_erfc_parts_of_float`, all roundings but the last being compensated."""
    one, two = e.like(x, 1.0), e.like(x, 2.0)
    high, low = two_sum(e, one, e.fneg(x))
    tail = e.fmul(x, polynomial(e, e.fmul(x, x), "erf_small_f64"))
    small = e.fadd(high, e.fsub(low, tail))
    t = e.fdiv(e.fsub(a, two), e.fadd(a, two))
    p, p_low = fitted(e, t, "erfc_f64")
    below, below_low = two_sum(e, e.fadd(a, a), one)
    reciprocal = e.fdiv(one, below)
    ratio = e.fmul(p, reciprocal)
    lost = e.fadd(e.fma(e.fneg(ratio), below, p), p_low)
    lost = e.fsub(lost, e.fmul(ratio, below_low))
    square, square_low = two_product(e, a, a)
    factor = (ratio, e.fmul(lost, reciprocal))
    return small, exp_of_sum_times(e, e.fneg(square), e.fneg(square_low), factor)


def _times_fitted(e, x, w, middle, name):
    """x times a polynomial in w - middle; the head enters with the last rounding."""
    head, *rest = POLYNOMIALS[name]
    tail = horner(e, e.fsub(w, e.like(w, middle)), rest)
    return e.fma(x, e.like(x, head), e.fmul(x, tail))


def erf_inv(e, x):
    """The inverse of erf; +-1 give infinities, beyond is NaN."""
    one = e.like(x, 1.0)
    if e.target.fma or x.type == "float":
        y = e.fma(e.fneg(x), x, one)
    else:
        y = e.fmul(e.fsub(one, x), e.fadd(one, x))
    w = e.fneg(log(e, y))
    edge = {"float": 5.0, "double": 5.5}[x.type]
    central = _times_fitted(e, x, w, 1.0, f"erf_inv_central_{SUFFIX[x.type]}")
    central = e.copysign(central, x)  # of zeros: the rest is negative there

    def outside():
        if x.type == "float":
            return _or_infinite(e, x, _times_fitted(e, x, w, 10.0, "erf_inv_tail_f32"))
        near = _times_fitted(e, x, w, 10.0, "erf_inv_middle_f64")
        far = _times_fitted(e, x, w, 26.0, "erf_inv_far_f64")
        return _or_infinite(e, x, e.select(e.fcmp("olt", w, e.like(w, 15.0)), near, far))

    return e.rare_path(e.fcmp("uge", w, e.like(w, edge)), central, outside)


def erf_inv_published(e, x):
    """Giles's formula as published, for floats: 1 - x^2 is rounded before its logarithm is taken,
    so that near +-1 the error grows to 60 ulp. Doubles have no other formula than `erf_inv`."""
    if x.type != "float":
        return erf_inv(e, x)
    w = e.fneg(log1p(e, e.fneg(e.fmul(x, x))))
    central = e.fmul(horner(e, e.fsub(w, e.like(w, 2.5)), _GILES_CENTRAL), x)

    def outside():
        return _or_infinite(e, x, e.fmul(
            horner(e, e.fsub(e.sqrt(w), e.like(w, 3.0)), _GILES_TAIL), x))

    return e.rare_path(e.fcmp("uge", w, e.like(w, 5.0)), central, outside)


def _or_infinite(e, x, value):
    end = e.fcmp("oeq", e.fabs(x), e.like(x, 1.0))
    return e.select(end, e.fmul(x, e.like(x, INF)), value)
