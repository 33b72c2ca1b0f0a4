"""Sums of exponentials of distances from a row's greatest, as sums of these times 2^64.

In: a kernel and its live expressions. Out: the same, in which an `exp` in float32 of such a
distance, that is only summed, is `exp_raised`, and the sum is divided again by that power of two,
exactly. None of the raised exponentials that count is a denormal, so their power of two can be put
into the exponent with integers; with AVX-512 each is a product of two numbers, which the sum adds
by a multiply-add, of any argument: twelve instructions with the search for the greatest, which were
sixteen (log-sum-exp of 1024 x 1024 by one thread of a Zen 5: 4.4 cycles a vector, were 5.6).
Log-sum-exp takes 0 for the greatest if that is infinite. Here it is the number next to it, which is
known sooner; of an infinity beside it the distance is infinite, too: what is summed is
`exp_raised_any`, which is a NaN of nothing but NaN, and infinity is added where the greatest is.
Where elements are divided by their sum, too, they are needed themselves (`exp_distance`). Float64
has no table and is better scaled (17.0 cycles a vector of Zen 4; raised 17.5).
Keeps: the sum, but for what terms below the smallest normal number add to it: they are not rounded
before they are added. A term of 0 is at most 2^-189: too little for a denormal, of fewer than 2^39.
"""

import math
from functools import partial

import numpy as np

from ..graph.graph import literal_bits
from ..ir.scalar_ops import RAISED
from .bound_exponentials import count_uses, greatest_beside, greatest_if_finite
from .kernel import Expr, Kernel, append_expression


def raise_exponentials(kernel: Kernel, used: list[Expr]) -> list[Expr]:
    """See the module's text; returns the live expressions, operands first."""
    least = {
        x.id: m for x in used if x.op == "reduced"
        if (m := _least_of_distances(kernel, used, x)) is not None
    }  # fmt: skip
    nearer = _distances_of_any(kernel, used, least)
    found: list[Expr] = []
    for x in used:
        m = least.get(x.id)
        if m is not None and (m.op != "select" or m.args[1] in found):
            _raise_sum(kernel, x, m, found)
        if x.id in nearer:
            x.args = (x.args[0], _finite(kernel, nearer[x.id], found))
        found.append(x)
    return found


def _distances_of_any(
    kernel: Kernel, used: list[Expr], least: dict[int, Expr]
) -> dict[int, Expr]:
    """The greatest of a row by the number of what is its distance or, if that is infinite, from 0:
    where only a raised exponential reads it."""
    stages = [kernel.stages[x.attrs[0]].reductions[x.attrs[1]] for x in used if x.id in least]
    distances = [summed.expr.args[0] for summed in stages]
    return {
        x.id: x.args[1].args[1]
        for x in distances if x.args[1].op == "select" and count_uses(kernel, used, x) == 1
    }  # fmt: skip


def _finite(kernel: Kernel, greatest: Expr, found: list[Expr]) -> Expr:
    """A number, or the next one to an infinity: it is known sooner than which of the two it was (a
    comparison goes through the registers of integers), and any will do there."""
    number = partial(append_expression, kernel, found, "const", dtype="f32")
    most = float(np.finfo(np.float32).max)
    low, high = [number(attrs=(literal_bits(limit, "f32"),)) for limit in (-most, most)]
    above = append_expression(kernel, found, "max", greatest, low)
    return append_expression(kernel, found, "min", above, high)


def _least_of_distances(kernel: Kernel, used: list[Expr], x: Expr) -> Expr | None:
    """Of a sum of exponentials of a - m that nothing else reads, m being the greatest of the a (or
    0 if that is not finite): that m."""
    summed = kernel.stages[x.attrs[0]].reductions[x.attrs[1]]
    power = summed.expr
    if summed.kind != "sum" or summed.factor is not None or power.op != "exp":
        return None
    distance = power.args[0]
    if distance.op != "sub" or summed.dtype != "f32" or power.dtype != "f32":
        return None
    if count_uses(kernel, used, power) > 1:
        return None
    is_distance = greatest_beside(kernel, *distance.args) or greatest_if_finite(kernel, distance)
    return distance.args[1] if is_distance is not None else None


def _raise_sum(kernel: Kernel, x: Expr, least: Expr, found: list[Expr]) -> None:
    """Makes a sum that of raised exponentials, times the power of two that takes them back; and
    infinity if the greatest is."""
    summed = kernel.stages[x.attrs[0]].reductions[x.attrs[1]].expr
    make = partial(append_expression, kernel, found)
    plain = make("reduced", attrs=x.attrs, dtype=x.dtype)
    plain.variables = x.variables
    lower = make("const", attrs=(literal_bits(2.0**-RAISED, x.dtype),), dtype=x.dtype)
    if least.op != "select":
        summed.op = "exp_raised"
        x.op, x.args, x.attrs = "mul", (plain, lower), ()
        return
    summed.op = "exp_raised_any"
    zero, infinity = [make("const", attrs=(literal_bits(number, x.dtype),), dtype=x.dtype)
                      for number in (0.0, math.inf)]  # fmt: skip
    is_infinite = make("eq", least.args[1], infinity, dtype="b1")
    lost = make("select", is_infinite, infinity, zero, dtype=x.dtype)
    x.op, x.args, x.attrs = "add", (make("mul", plain, lower, dtype=x.dtype), lost), ()
