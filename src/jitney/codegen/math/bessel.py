"""Exponentially scaled modified Bessel functions of order 0 and 1.

In: float or double `Value`s; floats are computed in double. Out: within 1 ulp or little more. Below
8 a polynomial in |x| (floats) or one of sixteen (doubles), beyond one in 16/|x| - 1 divided by
sqrt(|x|); for doubles all roundings but the last are compensated.
"""

from .forms import INF, polynomial
from .two_parts import fitted, fitted_piece

_EDGE = 8.0


def _inner_wide(e, a, order):
    t = e.muladd(a, e.like(a, 0.25), e.like(a, -1.0))
    inner = polynomial(e, t, f"i{order}e_inner_wide")
    return e.fmul(inner, a) if order else inner


def _outer_wide(e, a, order):
    u = e.fsub(e.fdiv(e.like(a, 16.0), a), e.like(a, 1.0))
    return e.fdiv(polynomial(e, u, f"i{order}e_outer_wide"), e.sqrt(a))


def _inner(e, a, order):
    """From the polynomial about the middle of one of sixteen intervals of width 1/2."""
    inside = e.fast_min(e.like(a, _EDGE), a)
    magic = e.like(a, 1.5 * 2.0**52)
    shifted = e.fadd(e.muladd(inside, e.like(a, 2.0), e.like(a, -0.5)), magic)
    middle = e.muladd(e.fsub(shifted, magic), e.like(a, 0.5), e.like(a, 0.25))
    t = e.fsub(inside, middle)
    high, low = fitted_piece(e, t, e.bits(shifted), f"i{order}e_table_f64", (t, t))
    return e.fma(a, high, e.fmul(a, low)) if order else e.fadd(high, low)


def _outer(e, a, order):
    """p / sqrt(a), p from a polynomial in 1/a."""
    root = e.sqrt(a)
    y = e.fdiv(e.like(a, 1.0), root)
    u = e.muladd(e.fmul(y, y), e.like(a, 16.0), e.like(a, -1.0))
    p, p_low = fitted(e, u, f"i{order}e_outer_f64")
    q = e.fmul(p, y)
    # sqrt(a) = root + half_rest y: what q and the root have lost
    rest = e.fma(e.fneg(root), root, a)
    half_rest = e.fmul(rest, e.like(a, 0.5))
    lost = e.fadd(e.fma(e.fneg(q), root, p), p_low)
    lost = e.fsub(lost, e.fmul(q, e.fmul(half_rest, y)))
    r = e.muladd(lost, y, q)
    return e.select(e.fcmp("oeq", a, e.like(a, INF)), q, r)


def _scaled(e, x, order):
    wide = e.fpext(x, "double")
    a = e.fabs(wide)
    parts = (_inner_wide, _outer_wide) if x.type == "float" else (_inner, _outer)
    inner, outer = (part(e, a, order) for part in parts)
    r = e.select(e.fcmp("olt", a, e.like(a, _EDGE)), inner, outer)
    return e.fptrunc(e.copysign(r, wide) if order else r, x.type)


def bessel_i0e(e, x):
    """exp(-|x|) I0(x)."""
    return _scaled(e, x, 0)


def bessel_i1e(e, x):
    """exp(-|x|) I1(x)."""
    return _scaled(e, x, 1)
