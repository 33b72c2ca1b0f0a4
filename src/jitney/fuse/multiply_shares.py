"""Divides a row's exponentials by their sum s with multiplications: 1/s is two numbers a row.

In: a kernel and its live expressions. Out: the same, in which `e / s` is `(e a) h + (e a) l`, with

    a = 2^k if s is so small that 1/s would overflow, else 1;  h = 1/(s a);  l = (1 - h s a) h

(without a where the exponentials are of distances from a row's greatest: then one of them is 1, and
in float32 without l, too: such an exponential is off by more than the quotient then, which is an
ulp and a half, and the product costs softmax 7 of 87 us by one thread of a Zen 5),

which is off the quotient by less than 2^-46 of it before the one rounding (with h = (1 + d)/(s a)
h + l is (1 - d^2)/(s a) but for the rounding of l, to 2^-47; the first product to 2^-48): in
float32 the quotient is what division rounds to but where that was a matter of 2^-22 of the last
place. A vector's division takes 6 cycles of Zen 4's divider, the products one each (softmax of
1024 x 1024 by one thread: 288 us instead of 336, with a).
All elements are from 0 to s there, or something is NaN: so no infinity, -0 or overflow is met that
division treats otherwise; of s = 0 and s = NaN, h is infinite or NaN, and l is 0: all are NaN. Of
s = inf all are 0, as of division, or NaN.
"""

import math
from functools import partial

from ..ir.types import nbytes_of
from .bound_exponentials import greatest_beside, known_value
from .kernel import Expr, Kernel, append_expression

LEAST_ELEMENTS = 64  # a share: fewer are divided sooner than h and l are made
# exponents of the s below which e and s are scaled, and of their scale
EXPONENTS = {"f32": (-120, 100), "f64": (-1000, 900)}
MANTISSA = {"f32": 23, "f64": 52}
EXPONENTIALS = ("exp", "exp_nonpositive", "exp_distance")


def multiply_shares(kernel: Kernel, used: list[Expr]) -> list[Expr]:
    """See the module's text; returns the live expressions, operands first."""
    found: list[Expr] = []
    known: dict[int, tuple[Expr | None, Expr, Expr | None]] = {}
    for x in used:
        if not _is_share(kernel, x):
            found.append(x)
            continue
        element, total = x.args
        if total.id not in known:
            known[total.id] = _inverse(kernel, total, found)
        scale, high, low = known[total.id]
        multiply = partial(append_expression, kernel, found, "mul")
        scaled = element if scale is None else multiply(element, scale)
        if low is None:
            x.op, x.args = "mul", (scaled, high)
        else:
            x.op, x.args = "fma", (scaled, high, multiply(scaled, low))
        found.append(x)
    return found


def _is_share(kernel: Kernel, x: Expr) -> bool:
    """Whether x divides one of the exponentials that a stage has summed by their sum."""
    if x.op != "div" or x.dtype not in EXPONENTS or kernel.small or x.args[1].op != "reduced":
        return False
    element, total = x.args
    stage = kernel.stages[total.attrs[0]]
    summed = stage.reductions[total.attrs[1]]
    if element.op == "saved":
        element = next((e for s in kernel.stages for n, _, e in s.saves if n == element.attrs[0]),
                       element)  # fmt: skip
    turns = min([lo.extent for lo in stage.loops[-1:]], default=0)
    exponentials = summed.kind == "sum" and summed.expr.op in EXPONENTIALS
    return exponentials and element is summed.expr and turns >= LEAST_ELEMENTS


def _inverse(
    kernel: Kernel, total: Expr, found: list[Expr]
) -> tuple[Expr | None, Expr, Expr | None]:
    """(a, h, l) of the module's text; no a where it is 1 at any rate, no l where it is not worth
    its product."""
    code = total.dtype
    least, scale = EXPONENTS[code]

    def number(exponent: int | None) -> Expr:
        bits = 0 if exponent is None else _power_of_two(exponent, code)
        return append_expression(kernel, found, "const", attrs=(bits,), dtype=code)

    def make(op: str, *args: Expr, dtype: str = code) -> Expr:
        return append_expression(kernel, found, op, *args, dtype=dtype)

    one, zero = number(0), number(None)
    factor, scaled = None, total
    if not _has_a_one(kernel, total):
        factor = make("select", make("lt", total, number(least), dtype="b1"), number(scale), one)
        scaled = make("mul", total, factor)
    high = make("div", one, scaled)
    if kernel.stages[total.attrs[0]].reductions[total.attrs[1]].expr.op == "exp_distance":
        return factor, high, None
    rest = make("fnma", scaled, high, one)
    is_finite = make("lt", make("abs", rest), one, dtype="b1")
    low = make("select", is_finite, make("mul", rest, high), zero)
    return factor, high, low


def _has_a_one(kernel: Kernel, total: Expr) -> bool:
    """Whether one of the exponentials summed is exp(0), or all are NaN: those of the distances of
    a row's elements from the greatest of the same elements."""
    stage = kernel.stages[total.attrs[0]]
    distance = stage.reductions[total.attrs[1]].expr.args[0]
    if distance.op != "sub" or any(lo.chunk_row is not None for lo in stage.loops):
        return False
    least = distance.args[1]
    bounds = [known_value(a) for a in least.args if a.op != "reduced"]
    is_greatest = least.op == "reduced" or least.op == "max" and bounds == [-math.inf]
    return is_greatest and greatest_beside(kernel, *distance.args) is not None


def _power_of_two(exponent: int, code: str) -> int:
    """The bits of 2^exponent."""
    bias = (1 << (8 * nbytes_of(code) - MANTISSA[code] - 2)) - 1
    return (exponent + bias) << MANTISSA[code]
