"""Lowering of Hurwitz's zeta function and of derivatives of digamma.

Both are Euler's and Maclaurin's formula (Abramowitz and Stegun 23.2) on all elements at once, in
float64: nine terms, and of what follows the integral and nine corrections. It is right where 1 < s
and 0 < q, neither too large; a native routine passes these results on and computes the others
(`is_ordinary` in csrc/routines/special.cpp), which are few.
"""

from .rules import lower_rule

DIRECT_TERMS = 9
# B_2k / (2k)! for k = 1, 2..., as in the routine
CORRECTIONS = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000, 43867 / 5109094217170944000,
)  # fmt: skip


@lower_rule("zeta", "polygamma")
def lower_zeta(ctx, eqn, first, x):
    g, aval, name = ctx.g, eqn.outvars[0].aval, eqn.primitive.name
    code = first.dtype
    first, x = (g.convert(ctx.spread(v, aval.shape), "f64") for v in (first, x))
    s = first if name == "zeta" else g.add(first, g.full(1.0, aval.shape, "f64"))
    near = euler_maclaurin(g, s, x)
    (found,) = g.call("special", [first, x, near], [(aval.shape, "f64")], (name,))
    return g.convert(found, code)


def euler_maclaurin(g, s, q):
    """The sum of (q + n)^-s over n >= 0."""
    number = lambda value: g.full(value, s.shape, "f64")
    shifted = [q] + [g.add(q, number(n)) for n in range(1, DIRECT_TERMS + 1)]
    powers = [g.ew("pow", a, g.neg(s)) for a in shifted]
    total, power, a = powers[0], powers[-1], shifted[-1]
    for term in powers[1:-1]:
        total = g.add(total, term)
    integral = g.div(g.mul(a, power), g.sub(s, number(1.0)))
    total = g.add(total, g.add(integral, g.mul(number(0.5), power)))
    ratio, corrections = g.div(number(1.0), a), number(CORRECTIONS[-1])
    square = g.mul(ratio, ratio)
    for k, number_k in reversed(list(enumerate(CORRECTIONS[:-1]))):
        step = g.mul(g.add(s, number(2 * k + 1.0)), g.add(s, number(2 * k + 2.0)))
        corrections = g.add(number(number_k), g.mul(g.mul(step, square), corrections))
    return g.add(total, g.mul(g.mul(g.mul(s, power), ratio), corrections))
