"""Exponentially scaled modified Bessel functions of order 0 and 1.

In: float or double `Value`s; floats are computed in double. Out: within about 2 ulp. For |x| <= 8 a
polynomial in |x|/4 - 1, beyond one in 16/|x| - 1 divided by sqrt(|x|).
"""

from .forms import polynomial


def _scaled(e, x, order):
    wide = e.fpext(x, "double")
    suffix = "wide" if x.type == "float" else "f64"
    a = e.fabs(wide)
    one = e.like(wide, 1.0)
    inner = polynomial(e, e.muladd(a, e.like(a, 0.25), e.fneg(one)), f"i{order}e_inner_{suffix}")
    if order:
        inner = e.fmul(inner, a)
    u = e.fsub(e.fdiv(e.like(a, 16.0), a), one)
    outer = e.fdiv(polynomial(e, u, f"i{order}e_outer_{suffix}"), e.sqrt(a))
    r = e.select(e.fcmp("ole", a, e.like(a, 8.0)), inner, outer)
    return e.fptrunc(e.copysign(r, wide) if order else r, x.type)


def bessel_i0e(e, x):
    """exp(-|x|) I0(x)."""
    return _scaled(e, x, 0)


def bessel_i1e(e, x):
    """exp(-|x|) I1(x)."""
    return _scaled(e, x, 1)
