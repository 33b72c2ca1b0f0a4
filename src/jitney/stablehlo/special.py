"""Incomplete gamma and beta functions, as loops over series and continued fractions.

In: operands of one floating dtype. Out: values to a few tens of units of the last place; 16-bit
floats are computed in float32.
Invariant: a loop ends when every element has settled (or is not finite), at the latest after
`_LIMIT` steps; both ways of computing see safe arguments where the other one is used.

For x ≤ a+1:  P(a, x) = xᵃ e⁻ˣ / Γ(a+1) · Σ xⁿ / ((a+1)…(a+n)); beyond, 1 - P is a continued
fraction. Their derivatives by a travel with the sums, term by term.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from jitney.base import dtypes
from jitney.stablehlo.builder import Builder
from jitney.stablehlo.elementwise import spread
from jitney.stablehlo.ops import Value
from jitney.stablehlo.rules import rule
from jitney.stablehlo.types import I32, TensorType

_LIMIT = 2000


def _binary(name: str, reflected: bool = False) -> Callable:
    def method(self: Term, other: Term | float) -> Term:
        x, y = self.value, self.of(other)
        return Term(self.b, getattr(self.b, name)(*((y, x) if reflected else (x, y))))

    return method


def _comparison(direction: str) -> Callable:
    return lambda self, other: Term(self.b, self.b.compare(direction, self.value, self.of(other)))


class Term:
    """A value with arithmetic: what formulas are written with. Numbers take its type."""

    __slots__ = ("b", "value")

    def __init__(self, b: Builder, value: Value):
        self.b, self.value = b, value

    def of(self, other: Term | float) -> Value:
        return other.value if isinstance(other, Term) else self.b.like(self.value, other)

    def apply(self, name: str) -> Term:
        """A function of the builder."""
        return Term(self.b, getattr(self.b, name)(self.value))

    __add__, __radd__ = _binary("add"), _binary("add", True)
    __sub__, __rsub__ = _binary("subtract"), _binary("subtract", True)
    __mul__, __rmul__ = _binary("multiply"), _binary("multiply", True)
    __truediv__, __rtruediv__ = _binary("divide"), _binary("divide", True)
    __and__, __or__ = _binary("and_"), _binary("or_")
    __lt__, __le__ = _comparison("LT"), _comparison("LE")
    __gt__, __ge__ = _comparison("GT"), _comparison("GE")
    same, differs = _comparison("EQ"), _comparison("NE")

    def __neg__(self):
        return self.apply("negate")

    def __abs__(self):
        return self.apply("abs_real")

    def log(self) -> Term:
        return self.apply("log")

    def exp(self) -> Term:
        return self.apply("exponential")

    def lgamma(self) -> Term:
        return Term(self.b, self.b.chlo("lgamma", self.value))

    def digamma(self) -> Term:
        return Term(self.b, self.b.chlo("digamma", self.value))

    def filled(self, value: float) -> Term:
        """A number with this type and shape."""
        return Term(self.b, self.b.like(self.value, value))


def where(mask: Term, x: Term | float, y: Term | float) -> Term:
    like = x if isinstance(x, Term) else y
    return Term(mask.b, mask.b.select(mask.value, like.of(x), like.of(y)))


def _not_finite(x: Term) -> Term:
    return (x - x).differs(0.0)


def iterate(b: Builder, state: Sequence[Term], step: Callable) -> list[Term]:
    """`step(n, *state) -> (state, settled)` for n = 1, 2, … until all elements have settled."""
    types = [t.value.type for t in state]
    flag = TensorType((), np.dtype(bool))

    def test(inner, n, going, *values):
        return inner.and_(going, inner.compare("LT", n, inner.constant(_LIMIT, I32)))

    def body(inner, n, going, *values):
        terms = [Term(inner, v) for v in values]
        count = inner.broadcast_to(inner.convert(n, types[0].dtype), types[0].shape)
        new, settled = step(Term(inner, count), *terms)
        still = inner.not_(settled.value)
        axes = range(len(types[0].shape))
        going = inner.reduce([still], [inner.constant(False)], axes, Builder.or_)[0] if axes \
            else still
        return [inner.add(n, inner.constant(1, I32)), going, *[t.value for t in new]]

    carried = [b.constant(1, I32), b.constant(True), *[t.value for t in state]]
    all_types = [carried[0].type, flag, *types]
    regions = [b.region(all_types, test), b.region(all_types, body)]
    return [Term(b, v) for v in b.op("stablehlo.while", carried, all_types, {}, regions)[2:]]


def _epsilon(x: Term) -> float:
    return float(dtypes.finfo(x.value.dtype).eps) / 2


# --- the incomplete gamma function ---------------------------------------------------------------


def _series(a: Term, x: Term) -> tuple[Term, Term]:
    """P(a, x) and ∂P/∂a for x ≤ a + 1."""
    b, epsilon = a.b, _epsilon(a)
    one, zero = x.filled(1.0), x.filled(0.0)

    def step(n, a, x, total, term, d_total, d_term):
        factor = x / (a + n)
        d_term = d_term * factor - term * factor / (a + n)
        term = term * factor
        total, d_total = total + term, d_total + d_term
        small = (term <= total * epsilon) & (-d_term <= -d_total * epsilon)
        return [a, x, total, term, d_total, d_term], small | _not_finite(d_total)

    _, _, total, _, d_total, _ = iterate(b, [a, x, one, one, zero, zero], step)
    density = (a * x.log() - x - (a + 1.0).lgamma()).exp()
    d_log = x.log() - (a + 1.0).digamma()
    return density * total, density * (d_log * total + d_total)


def _fraction(a: Term, x: Term) -> tuple[Term, Term]:
    """1 - P(a, x) and its derivative by a, for x > a + 1."""
    b, epsilon = a.b, _epsilon(a)
    large = 1e150 if a.value.dtype == np.float64 else 1e15
    one, zero = x.filled(1.0), x.filled(0.0)
    z = x + 2.0 - a
    p2, q2, p1, q1 = one, x, x + 1.0, z * x
    start = p1 / q1
    d_start = start * x / q1

    def step(n, a, x, ans, d_ans, *last):
        p2, q2, p1, q1, dp2, dq2, dp1, dq1 = last
        y, z = n + 1.0 - a, x + 2.0 - a + n * 2.0
        c = y * n
        p, q = p1 * z - p2 * c, q1 * z - q2 * c
        dp = dp1 * z - p1 - dp2 * c + p2 * n
        dq = dq1 * z - q1 - dq2 * c + q2 * n
        new = p / q
        d_new = (dp - new * dq) / q
        settled = (abs(new - ans) <= abs(new) * epsilon) & (
            abs(d_new - d_ans) <= abs(d_new) * (4 * epsilon))
        scale = where(abs(p) > large, p.filled(1 / large), 1.0)
        kept = [t * scale for t in (p1, q1, p, q, dp1, dq1, dp, dq)]
        return [a, x, new, d_new, *kept], settled | _not_finite(d_new)

    state = [a, x, start, d_start, p2, q2, p1, q1, zero, zero, zero, -x]
    found = iterate(b, state, step)
    ans, d_ans = found[2], found[3]
    density = (a * x.log() - x - a.lgamma()).exp()
    d_log = x.log() - a.digamma()
    return density * ans, density * (d_log * ans + d_ans)


class _Gamma(NamedTuple):
    """P, 1 - P and ∂P/∂a where the arguments are positive and finite; `inner` says where."""

    inner: Term
    lower: Term
    upper: Term
    slope: Term


def _gamma(a: Term, x: Term) -> _Gamma:
    inner = (a > 0.0) & (x > 0.0) & (a < np.inf) & (x < np.inf)
    safe_a, safe_x = where(inner, a, 1.0), where(inner, x, 1.0)
    low = safe_x <= safe_a + 1.0
    p, dp = _series(where(low, safe_a, 1.0), where(low, safe_x, 1.0))
    q, dq = _fraction(where(low, 1.0, safe_a), where(low, 3.0, safe_x))
    return _Gamma(inner, where(low, p, 1.0 - q), where(low, 1.0 - p, q), where(low, dp, -dq))


def _bad(a: Term, x: Term, a_may_vanish: bool) -> Term:
    """Where nothing is defined: negative or missing arguments."""
    bad = (x < 0.0) | a.differs(a) | x.differs(x)
    if a_may_vanish:
        return bad | (a < 0.0) | (a.same(0.0) & x.same(0.0))
    return bad | (a <= 0.0)


def _computed_wide(function: Callable) -> Callable:
    """A rule from a function of terms of at least 32 bits."""

    def write(b, site, *values):
        dtype = site.out.dtype
        wide = dtype if dtype.itemsize >= 4 else np.dtype(np.float32)
        terms = [Term(b, b.convert(v, wide)) for v in spread(b, site, values)]
        return b.convert(function(*terms).value, dtype)

    return write


@rule("igamma")
@_computed_wide
def _igamma(a, x):
    found = _gamma(a, x)
    at_ends = where(x.same(0.0) | (a.same(np.inf) & (x < np.inf)), x.filled(0.0), 1.0)
    return where(_bad(a, x, True), np.nan, where(found.inner, found.lower, at_ends))


@rule("igammac")
@_computed_wide
def _igammac(a, x):
    found = _gamma(a, x)
    at_ends = where(x.same(0.0) | (a.same(np.inf) & (x < np.inf)), x.filled(1.0), 0.0)
    return where(_bad(a, x, True), np.nan, where(found.inner, found.upper, at_ends))


def _slope(a: Term, x: Term) -> Term:
    found = _gamma(a, x)
    return where(_bad(a, x, False), np.nan, where(found.inner, found.slope, 0.0))


rule("igamma_grad_a")(_computed_wide(_slope))


@rule("random_gamma_grad")
@_computed_wide
def _random_gamma_grad(a, x):
    """By the theorem on implicit functions: -∂P/∂a / ∂P/∂x."""
    log_density = (a - 1.0) * x.log() - x - a.lgamma()
    found = -_slope(a, x) / log_density.exp()
    return where(_bad(a, x, False), np.nan, where(x.same(0.0), 0.0, found))


# --- the incomplete beta function ----------------------------------------------------------------


def _beta_fraction(a: Term, b: Term, x: Term) -> Term:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    epsilon, tiny = _epsilon(a), float(dtypes.finfo(a.value.dtype).tiny) * 1e8

    def away_from_zero(t):
        return where(abs(t) < tiny, tiny, t)

    def one_step(coefficient, c, d, h):
        d = 1.0 / away_from_zero(coefficient * d + 1.0)
        c = away_from_zero(coefficient / c + 1.0)
        return c, d, h * c * d, c * d

    def step(m, a, b, x, c, d, h):
        even = m * (b - m) * x / ((a + m * 2.0 - 1.0) * (a + m * 2.0))
        c, d, h, _ = one_step(even, c, d, h)
        odd = -(a + m) * (a + b + m) * x / ((a + m * 2.0) * (a + m * 2.0 + 1.0))
        c, d, h, change = one_step(odd, c, d, h)
        settled = abs(change - 1.0) <= 2 * epsilon
        return [a, b, x, c, d, h], settled | _not_finite(h)

    d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    return iterate(a.b, [a, b, x, x.filled(1.0), d, d], step)[5]


@rule("regularized_incomplete_beta")
@_computed_wide
def _betainc(a, b, x):
    inner = (a > 0.0) & (b > 0.0) & (x > 0.0) & (x < 1.0) & (a + b < np.inf)
    a1, b1, x1 = (where(inner, t, safe) for t, safe in ((a, 1.0), (b, 1.0), (x, 0.25)))
    flip = x1 > (a1 + 1.0) / (a1 + b1 + 2.0)
    p, q = where(flip, b1, a1), where(flip, a1, b1)
    y = where(flip, 1.0 - x1, x1)
    logs = a1 * x1.log() + b1 * (-x1).apply("log1p")
    front = (logs + (a1 + b1).lgamma() - a1.lgamma() - b1.lgamma()).exp()
    part = front * _beta_fraction(p, q, y) / p
    found = where(flip, 1.0 - part, part)
    at_ends = where(x.same(1.0) | a.same(0.0), x.filled(1.0), 0.0)
    at_ends = where(b.same(0.0), 0.0, at_ends)
    bad = (a < 0.0) | (b < 0.0) | (x < 0.0) | (x > 1.0) | (a.same(0.0) & b.same(0.0)) \
        | a.differs(a) | b.differs(b) | x.differs(x)
    return where(bad, np.nan, where(inner, found, at_ends))
