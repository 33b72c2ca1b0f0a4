"""Sums of exponentials of distances, as sums of these times 2^64.

In: a kernel and its live expressions. Out: the same, in which an `exp_nonpositive` of a difference,
in float32, that is only summed is `exp_raised`, and the sum is divided again by that power of two,
exactly. None of the raised exponentials is a denormal, so their power of two is put into the
exponent with integers, which more units can do than can scale (log-sum-exp of 1024 x 1024 by one
thread of a Zen 4, in turns: 9.4 cycles a vector, were 9.8). Where elements are divided by their
sum, or their arguments are products, multiplications are what limits, and scaling is better
(softmax 10.6, raised 10.7; sum of exp(-x*x/2) 10.0 and 10.25; log-sum-exp of float64, which has no
table, 17.0 and 17.5).
Keeps: the sum, but for what terms below the smallest normal number add to it, which is more exact:
they are not rounded before they are added. What is summed for a term of 0 is 2^-189: too little
for a denormal, of fewer than 2^39 terms.
"""

from ..graph.graph import literal_bits
from ..ir.scalar_ops import RAISED
from .bound_exponentials import count_uses
from .kernel import Expr, Kernel, Reduction, append_expression


def raise_exponentials(kernel: Kernel, used: list[Expr]) -> list[Expr]:
    """See the module's text; returns the live expressions, operands first."""
    raised = {
        (s, number)
        for s, stage in enumerate(kernel.stages)
        for number, r in enumerate(stage.reductions)
        if _is_raised(kernel, used, r)
    }
    for s, number in raised:
        kernel.stages[s].reductions[number].expr.op = "exp_raised"
    found: list[Expr] = []
    for x in used:
        if x.op == "reduced" and x.attrs in raised:
            _take_back(kernel, x, found)
        found.append(x)
    return found


def _is_raised(kernel: Kernel, used: list[Expr], r: Reduction) -> bool:
    """Whether a reduction is the sum of exponentials that nothing else reads."""
    power = r.expr
    if r.kind != "sum" or r.factor is not None or power.op != "exp_nonpositive":
        return False
    is_distance = power.args[0].op == "sub" and r.dtype == power.dtype == "f32"
    return is_distance and count_uses(kernel, used, power) == 1


def _take_back(kernel: Kernel, x: Expr, found: list[Expr]) -> None:
    """Makes a sum the product of what it was and a power of two."""
    bits = literal_bits(2.0**-RAISED, x.dtype)
    lower = append_expression(kernel, found, "const", attrs=(bits,), dtype=x.dtype)
    plain = append_expression(kernel, found, "reduced", attrs=x.attrs, dtype=x.dtype)
    plain.variables = x.variables
    x.op, x.args, x.attrs = "mul", (plain, lower), ()
