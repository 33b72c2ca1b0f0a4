"""Greatest numbers of rows that need not watch for NaN, since a sum shows it as well.

In: a kernel and its live expressions. Out: `unwatched` is set of the maxima m of elements a where
exp(a - m) is summed over the same row, and all that is stored is NaN if that sum is: softmax, its
logarithm, and log-sum-exp. A NaN among the a makes the sum NaN whatever m is. One comparison for
two vectors less, and flags that are not folded.
"""

from .bound_exponentials import FORMATS, greatest_beside
from .kernel import Expr, Kernel, Reduction

EXPONENTIALS = ("exp", "exp_nonpositive", "exp_distance", "exp_raised", "exp_raised_any")

CARRIES = frozenset(  # operations that are NaN if an operand is
    ("add", "sub", "mul", "div", "fma", "fms", "fnma", "neg", "abs", "sqrt", "log", "convert")
)


def watch_less(kernel: Kernel, used: list[Expr]) -> None:
    """See the module's text."""
    for s, stage in enumerate(kernel.stages):
        for number, r in enumerate(stage.reductions):
            if r.kind == "max" and r.index is None and r.dtype in FORMATS:
                sums = _sums_of_distances(kernel, s, number)
                r.unwatched = bool(sums) and _is_all_shown(kernel, used, sums)


def _sums_of_distances(kernel: Kernel, s: int, number: int) -> set[tuple[int, int]]:
    """(stage, number) of the sums of exp(a - m), m being the stage's greatest a."""
    return {
        (t, k)
        for t, stage in enumerate(kernel.stages) if t > s
        for k, r in enumerate(stage.reductions)
        if r.kind == "sum" and r.factor is None and _is_power_of_distance(kernel, r, s, number)
    }  # fmt: skip


def _is_power_of_distance(kernel: Kernel, r: Reduction, s: int, number: int) -> bool:
    if r.expr.op not in EXPONENTIALS or r.expr.args[0].op != "sub":
        return False
    element, least = r.expr.args[0].args
    if r.expr.op == "exp_raised_any":  # of the greatest, were it a number: NaN of nothing but NaN
        least = least.args[1] if least.op == "select" else least.args[0].args[0]
    if greatest_beside(kernel, element, least) is not kernel.stages[s]:
        return False
    return any(m.op == "reduced" and m.attrs[:2] == (s, number) for m in (least, *least.args))


def _is_all_shown(kernel: Kernel, used: list[Expr], sums: set[tuple[int, int]]) -> bool:
    """Whether all that a row leaves is NaN if those sums are."""
    saved = {n: x.id for stage in kernel.stages for n, _, x in stage.saves}
    shown: set[int] = set()
    for x in used:
        if x.op == "reduced":
            known = x.attrs[:2] in sums or _is_sum_of_shown(kernel, x, shown)
        elif x.op == "saved":
            known = saved[x.attrs[0]] in shown
        else:
            floats = x.dtype in (*FORMATS, "f16", "bf16")
            known = x.op in CARRIES and floats and any(a.id in shown for a in x.args)
        if known:
            shown.add(x.id)
    stores = [*kernel.stores, *[store for stage in kernel.stages for store in stage.stores]]
    return all(store.mask is None and store.expr.id in shown for store in stores)


def _is_sum_of_shown(kernel: Kernel, x: Expr, shown: set[int]) -> bool:
    r = kernel.stages[x.attrs[0]].reductions[x.attrs[1]]
    return r.kind == "sum" and (r.expr.id in shown or r.factor is not None and r.factor.id in shown)
