"""Exponentials that are only summed and divided by their sum: these times 2^64.

In: a kernel and its live expressions. Out: an `exp_distance` in float32 is a raised one where
nothing reads it, or what is saved of it, but its sum and products with the sum's inverse
(multiply_shares.py), and nothing the sum but that inverse: shares are the same. Where the sum tells
whether a guess was good (guess_greatest.py), its limits are raised, too.
With AVX2 it is `exp_raised_kept`, and the product that takes 2^64 back from each exponential is
saved. (A Zen 3, one thread, by turns: softmax of 1024 x 1024 .94 of the time.)
Of a processor that begins four vector instructions a cycle, of columns whose greatest is a guess:
it is `exp_raised_kept_near`, of the element and the guess, eight steps instead of ten, and fewer
registers. What it takes off is the guess but for a rounding, which is the same for all elements of
a column and in none of their shares. (A Zen 5, by turns, two threads and one: 1024 x 1024 .84 and
.82 of the time, 256 x 4096 .97 and .97, 1000 x 1000 as before. Of rows, whose greatest is found, it
would be .92 to 1, but the exponential of the greatest were not 1 then, nor shares of equal numbers
1/n.)
Keeps: every share, but where an exponential was a denormal it is not rounded twice.
"""

from ..ir.target import CpuTarget
from .bound_exponentials import count_uses, known_value
from .kernel import Expr, Kernel, Reduction

KEPT = {"exp_distance": "exp_raised_kept", "exp_distance_any": "exp_raised_kept_any"}


def raise_shares(kernel: Kernel, used: list[Expr], target: CpuTarget) -> list[Expr]:
    """See the module's text; returns the live expressions, operands first."""
    is_near = target.avx512 and target.vectors_a_cycle >= 4 and _guesses_columns(kernel)
    if not target.looks_up_powers or target.avx512 and not is_near:
        return used  # AVX-512's powers of two take any distance
    sums: dict[tuple, list[Expr]] = {}
    for x in used:
        if x.op == "reduced":
            sums.setdefault(x.attrs[:2], []).append(x)
    for (s, number), totals in sums.items():
        r = kernel.stages[s].reductions[number]
        if len(totals) == 1 and _is_of_distances(r) and _makes_shares(kernel, used, totals[0], r):
            if not is_near:
                r.expr.op = KEPT[r.expr.op]
            elif r.tells is not None:
                r.expr.op, r.expr.args = "exp_raised_kept_near", r.expr.args[0].args
    return [x for x in used if x.op != "sub" or count_uses(kernel, used, x)]


def _guesses_columns(kernel: Kernel) -> bool:
    """Whether the greatest of columns is a guess, and one sum tells if it is any good."""
    tell = sum(r.tells is not None for stage in kernel.stages for r in stage.reductions)
    return kernel.lane == "row" and tell == 1


def _is_of_distances(r: Reduction) -> bool:
    if r.kind != "sum" or r.factor is not None or r.dtype != "f32":
        return False
    return r.expr.op in KEPT and r.expr.dtype == "f32"


def _makes_shares(kernel: Kernel, used: list[Expr], total: Expr, r: Reduction) -> bool:
    """Whether all that is made of a sum and its exponentials is their shares."""
    saves = [(n, x) for stage in kernel.stages for n, _, x in stage.saves]
    rooms = {n for n, x in saves if x is r.expr}
    elements = [r.expr, *[x for x in used if x.op == "saved" and x.attrs[0] in rooms]]
    inverses = [x for x in used if x.op == "div" and x.args[1] is total and _is_one(x.args[0])]
    shares = [x for x in used if _is_product(x, elements, inverses)]
    if not shares or count_uses(kernel, used, total) != len(inverses):
        return False
    if any(r.expr is other.expr for other in _others(kernel, r)):
        return False
    reads = sum(count_uses(kernel, used, x) for x in elements) - 1 - len(rooms)
    return reads == len(shares) == sum(count_uses(kernel, used, x) for x in inverses)


def _is_one(x: Expr) -> bool:
    return known_value(x) == 1


def _is_product(x: Expr, elements: list[Expr], inverses: list[Expr]) -> bool:
    """Whether x is an exponential times the inverse of a sum."""
    if x.op != "mul":
        return False
    return any(x.args[0] is e and x.args[1] is i for e in elements for i in inverses)


def _others(kernel: Kernel, r: Reduction) -> list[Reduction]:
    return [other for stage in kernel.stages for other in stage.reductions if other is not r]
