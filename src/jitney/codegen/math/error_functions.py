"""erf, erfc and the inverse error function.

In: float or double `Value`s. Out: erf within 2 ulp; erfc and erf_inv as docs/vector_math.md states.
erf_inv for floats is Giles's pair of polynomials in w = -log(1 - x^2), so that normal random
numbers agree with other libraries that use it; for doubles our own polynomials in that variable.
"""

from .exponential import exp_normal, exp_of_sum
from .forms import (
    INF,
    SUFFIX,
    has_avx512_form,
    horner,
    piecewise,
    polynomial,
    two_product,
)
from .logarithm import log, log1p

_GILES_CENTRAL = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06,
    -3.5233877e-06, 3.43273939e-07, 2.81022636e-08,
)
_GILES_TAIL = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844,
    0.00134934322, 0.000100950558, -0.000200214257,
)


def erf(e, x):
    """The error function."""
    a = e.fabs(x)
    if has_avx512_form(e, x):
        width, top = {"float": (0.25, 4 - 2.0**-20), "double": (0.375, 6 - 2.0**-40)}[x.type]
        return e.copysign(piecewise(e, a, f"erf_table_{SUFFIX[x.type]}", width, top), x)
    suffix = SUFFIX[x.type]
    small = _erf_small(e, x)
    if x.type == "float":
        edge, t = 0.92, e.fast_min(e.like(x, 4.0), a)
    else:
        edge, t = 1.0, e.fast_min(e.like(x, 6.0), a)
        t = e.fsub(t, e.like(x, 1.0))
    power = exp_normal(e, e.fneg(polynomial(e, t, f"erf_large_{suffix}")))
    large = e.copysign(e.fsub(e.like(x, 1.0), power), x)
    return e.select(e.fcmp("ult", a, e.like(x, edge)), small, large)


def _erf_small(e, x):
    return e.fma(polynomial(e, e.fmul(x, x), f"erf_small_{SUFFIX[x.type]}"), x, x)


def erfc(e, x):
    """1 - erf(x) without cancellation; floats are computed in double."""
    wide = e.fpext(x, "double")
    name = "erfc_wide" if x.type == "float" else "erfc_f64"
    one, two = e.like(wide, 1.0), e.like(wide, 2.0)
    a = e.fast_min(e.like(wide, 28.0), e.fabs(wide))
    small = e.fsub(one, _erf_small(e, wide))
    t = e.fdiv(e.fsub(a, two), e.fadd(a, two))
    ratio = e.fdiv(polynomial(e, t, name), e.muladd(two, a, one))
    square, low = two_product(e, a, a)
    tail = exp_of_sum(e, e.fneg(square), e.fneg(low), ratio)
    large = e.select(e.fcmp("olt", wide, e.like(wide, 0.0)), e.fsub(two, tail), tail)
    r = e.select(e.fcmp("ult", a, e.like(wide, 0.5)), small, large)
    return e.fptrunc(r, x.type)


def erf_inv(e, x):
    """The inverse of erf; +-1 give infinities, beyond is NaN."""
    if x.type == "float":
        w = e.fneg(log1p(e, e.fneg(e.fmul(x, x))))
        central = horner(e, e.fsub(w, e.like(w, 2.5)), _GILES_CENTRAL)
        edge = 5.0

        def tail():
            return horner(e, e.fsub(e.sqrt(w), e.like(w, 3.0)), _GILES_TAIL)

    else:  # (1-a)(1+a) keeps the bits that 1 - x^2 loses near 1
        one, a = e.like(x, 1.0), e.fabs(x)
        w = e.fneg(log(e, e.fmul(e.fsub(one, a), e.fadd(one, a))))
        central = polynomial(e, e.fsub(w, e.like(w, 3.125)), "erf_inv_central")
        edge = 6.25

        def tail():
            root = e.sqrt(w)
            middle = polynomial(e, e.fsub(root, e.like(w, 3.25)), "erf_inv_middle")
            far = polynomial(e, e.fsub(root, e.like(w, 5.0)), "erf_inv_far")
            return e.select(e.fcmp("olt", w, e.like(w, 16.0)), middle, far)

    def outside():
        r = e.fmul(tail(), x)
        end = e.fcmp("oeq", e.fabs(x), e.like(x, 1.0))
        return e.select(end, e.fmul(x, e.like(x, INF)), r)

    return e.rare_path(e.fcmp("uge", w, e.like(w, edge)), e.fmul(central, x), outside)
