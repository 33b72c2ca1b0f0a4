"""Joins multiplications with the additions they feed: a*b + c with one rounding.

In: a kernel's live expressions. Out: the same, with `fma`, `fms` (a*b - c) and `fnma` (c - a*b) in
place of float additions one of whose operands is a product used nowhere else, and sums of such
products in place of sums of their values. The machine does either at the price of one; XLA
contracts the same patterns, so results agree with JAX's more often. Distances of products from the
greatest of them are left as they are: none is above 0, and exponentials of such are cheaper
(bound_exponentials.py).
Decided here, on expressions, so that small and large kernels round alike.
"""

from .bound_exponentials import greatest_beside, greatest_if_finite
from .kernel import Expr, Kernel

_CODES = frozenset(("f32", "f64"))


def contract_products(kernel: Kernel, used: list[Expr]) -> list[Expr]:
    """See the module's text; returns the expressions still needed, operands first."""
    uses = _count_uses(kernel, used)
    dead: set[int] = set()
    for x in used:
        if x.op in ("add", "sub") and x.dtype in _CODES and not _is_distance(kernel, x):
            _contract(x, uses, dead)
    for r in [r for stage in kernel.stages for r in stage.reductions]:
        if r.kind == "sum" and r.dtype in _CODES and _is_product(r.expr, uses):
            dead.add(r.expr.id)
            r.expr, r.factor = r.expr.args
    return [x for x in used if x.id not in dead]


def _count_uses(kernel, used):
    uses: dict[int, int] = {}

    def count(expr):
        uses[expr.id] = uses.get(expr.id, 0) + 1

    for x in used:
        for a in x.args:
            count(a)
        if x.op in ("load", "index", "saved"):
            for atom, _ in x.attrs[-1][1]:
                if atom < 0:
                    uses[-1 - atom] = uses.get(-1 - atom, 0) + 1
    for stores in [kernel.stores, *[s.stores for s in kernel.stages]]:
        for store in stores:
            count(store.expr)
    for stage in kernel.stages:
        for expr in stage.results():
            count(expr)
    return uses


def _is_distance(kernel, x) -> bool:
    """Whether x is how far an element of a row is below its greatest."""
    if x.op != "sub" or x.args[0].op != "mul":
        return False
    is_below = greatest_beside(kernel, *x.args) is not None
    return is_below or greatest_if_finite(kernel, x) is not None


def _contract(x, uses, dead) -> None:
    a, b = x.args
    first, second = _is_product(a, uses), _is_product(b, uses)
    if a is b or not (first or second):
        return
    if first:
        x.op = "fma" if x.op == "add" else "fms"
        x.args = (*a.args, b)
        dead.add(a.id)
    else:
        x.op = "fma" if x.op == "add" else "fnma"
        x.args = (*b.args, a)
        dead.add(b.id)


def _is_product(x, uses) -> bool:
    return x.op == "mul" and uses.get(x.id) == 1
