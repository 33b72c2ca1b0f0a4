"""Numbers in two parts, high + low: sums and products whose errors are kept.

In and out: tuples of `Value`s of type double (or float): (high, low), or (high,) where one part is
good enough (doubles that are rounded to float at the end). One formula serves both: with one part
these functions are plain operations. `low` is at most about an ulp of `high`; a pair is good to
about 2^-100 of its value after a product or a sum that does not cancel.
Invariant: `two_product` is exact also without fused multiply-add (see `Emitter.fma`), as long as
the operands are below 2^990; the terms that matter less use `muladd`.
"""

from .coefficients import POLYNOMIALS
from .forms import fast_two_sum, horner, two_product, two_sum
from .tables import look_up


def exact(e, value, like):
    """A Value (or, given a number, a constant) with as many parts as the tuple `like`."""
    value = value if hasattr(value, "names") else e.like(like[0], value)
    return (value, e.like(value, 0.0)) if len(like) == 2 else (value,)


def constant(e, numbers, like):
    """A constant of two numbers, with as many parts as `like`."""
    return tuple(e.like(like[0], c) for c in numbers[: len(like)])


def choose(e, mask, a, b):
    """`a` where the mask is set, else `b`."""
    return tuple(e.select(mask, p, q) for p, q in zip(a, b))


def negate(e, a):
    """-a."""
    return tuple(e.fneg(v) for v in a)


def add(e, a, b):
    """a + b, whichever is larger."""
    if len(a) == 1:
        return (e.fadd(a[0], b[0]),)
    high, low = two_sum(e, a[0], b[0])
    return high, e.fadd(low, e.fadd(a[1], b[1]))


def multiply(e, a, b):
    """a * b."""
    if len(a) == 1:
        return (e.fmul(a[0], b[0]),)
    high, low = two_product(e, a[0], b[0])
    return high, e.muladd(a[0], b[1], e.muladd(a[1], b[0], low))


def renormalize(e, a):
    """The same number with `high` rounded to nearest; for parts that cancellation left alike."""
    return a if len(a) == 1 else two_sum(e, *a)


def reciprocal(e, a, like):
    """1 / a of a Value; infinite (with a low part of zero) where a is too small."""
    one = e.like(a, 1.0)
    y = e.fdiv(one, a)
    if len(like) == 1:
        return (y,)
    low = e.fmul(e.fma(e.fneg(y), a, one), y)
    return y, e.select(e.fcmp("ord", low, low), low, e.like(a, 0.0))


def rounded(e, a):
    """high + low; sums that have overflowed have an infinite high part and a NaN as the low one."""
    if len(a) == 1:
        return a[0]
    return e.select(e.fcmp("ord", a[1], a[1]), e.fadd(*a), a[0])


def _with_head(e, x, head, rest):
    """Horner's rule, the first coefficient (larger than the sum of the others) added exactly."""
    return fast_two_sum(e, head, horner(e, x, rest))


def fitted(e, x, name):
    """A polynomial fitted with a head (see `tools.fit_polynomials`), in two parts."""
    head, *rest = POLYNOMIALS[name]
    return _with_head(e, x, e.like(x, head), rest)


def fitted_piece(e, t, index, name, like):
    """A tabulated function at distance t from the middle of its interval, in parts as `like`."""
    head, *rest = look_up(e, index, name)
    if len(like) == 1:
        return (horner(e, t, [head, *rest]),)
    return _with_head(e, t, head, rest)
