"""Greatest numbers of rows that are guessed, where results do not depend on them.

In: a kernel in a pipeline (pipeline_rows.py) and its live expressions. Out: `guessed` is set of the
maximum of its first stage where what is stored would be the same, but for rounding, had any other
number m been subtracted: softmax, its logarithm, log-sum-exp, gradients made of these. The kernel
takes the greatest of a few elements of a row for m, and does not go through the row for it. Where
exponentials of distances then sum to more than 16 for each element, or to no number, which no guess
hides, the row is done again with its greatest element. Raised exponentials become
`exp_raised_near`, of the elements instead of their distances (raise_exponentials.py,
codegen/math/exponential.py); with AVX2, whose `exp_distance` takes none above 0, others become
`exp_distance_any`, where that pays.

How does what change if m becomes m + d? A *degree* says it. (a, 0): a number grows by a d; (0, b):
it is multiplied by e^(b d). The distance x - m has (-1, 0), its exponential and the sum of these
(0, -1), the sum's logarithm (-1, 0), log(sum) + m and exp / sum (0, 0): they are what they were.
"""

import math

from ..ir.target import CpuTarget
from .bound_exponentials import (
    FORMATS,
    count_uses,
    greatest_beside,
    greatest_if_finite,
    known_value,
)
from .kernel import Expr, Kernel, Reduction
from .pipeline_bytes import bytes_in_pipeline
from .watch_less import EXPONENTIALS

Degree = tuple[int, int]
SAME: Degree = (0, 0)
LARGE = 1e30  # limits that cut off infinities alone
# With AVX2, of columns whose exponentials are saved: of all, and of one. (A Zen 3, one thread, by
# turns, softmax down 1000 x 1000 .87 of the time, 2000 x 300 1.01, 50 x 1000 1.24, 8 x 100,000
# 1.33.)
FAR_ELEMENTS, FAR_DOWN = 1 << 19, 256
RAISED = ("exp_raised", "exp_raised_any")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
LINEAR = {"add": (1, 1), "sub": (1, -1), "neg": (-1,)}


def guess_greatest(kernel: Kernel, used: list[Expr], target: CpuTarget) -> list[Expr]:
    """See the module's text; returns the live expressions, operands first."""
    if not kernel.pipelined or not may_guess(kernel, used, target):
        return used
    telling = _telling(kernel)
    kernel.stages[0].reductions[0].guessed = True
    telling[0].tells = 0
    for r in telling:
        _take_near(r.expr)
    return [x for x in used if x.op != "sub" or count_uses(kernel, used, x)]


def may_guess(kernel: Kernel, used: list[Expr], target: CpuTarget) -> bool:
    """Whether the first stage's number may be a guess, were the rows in a pipeline."""
    if not target.looks_up_powers or not _looks_only(kernel):
        return False
    if kernel.lane == "stage" and kernel.saved and _lies_near(kernel, used, target):
        return False
    telling = _telling(kernel)
    if not telling:
        return False
    if not target.avx512 and any(map(_is_needed, telling)) and not _comes_from_afar(kernel):
        return False
    return _Degrees(kernel).leaves_results(used)


def _lies_near(kernel: Kernel, used: list[Expr], target: CpuTarget) -> bool:
    """Whether the first cache holds what is in the pipeline: there looking for the greatest costs a
    twentieth. Others are read once instead of twice (a Zen 5, one thread and two, by turns: softmax
    of 256 x 4096 .70 and .75 of the time, of 128 x 8192 .83 and .84, of 300 x 3500 .71 and .74)."""
    return bytes_in_pipeline(kernel, used) <= target.l1_bytes


def _telling(kernel: Kernel) -> list[Reduction]:
    """The second stage's sums that tell whether a guess was any good."""
    return [r for r in kernel.stages[1].reductions if _is_sum_of_powers(kernel, r)]


def _looks_only(kernel: Kernel) -> bool:
    """Whether the first stage does nothing but find a greatest number."""
    stage = kernel.stages[0]
    if len(stage.reductions) != 1 or stage.stores or stage.saves:
        return False
    return stage.reductions[0].kind == "max" and stage.reductions[0].dtype in FORMATS


def _is_sum_of_powers(kernel: Kernel, r: Reduction) -> bool:
    """Whether a sum is one of exp(x - m), m being the first stage's greatest x."""
    if r.kind != "sum" or r.factor is not None or r.dtype not in FORMATS:
        return False
    if r.expr.op not in EXPONENTIALS or r.expr.args[0].op != "sub":
        return False
    element, least = r.expr.args[0].args
    if least.op == "select" and greatest_if_finite(kernel, r.expr.args[0]) is not None:
        least = least.args[1]
    while _is_cut(least):
        least = next(a for a in least.args if known_value(a) is None)
    return greatest_beside(kernel, element, least) is kernel.stages[0]


def _take_near(power: Expr) -> None:
    """Makes the exponential of a distance, that is only summed, one of an element and what lies
    near it."""
    if power.op in RAISED:
        power.op, power.args = "exp_raised_near", power.args[0].args
    elif power.op == "exp_distance":
        power.op = "exp_distance_any"


def _is_needed(r: Reduction) -> bool:
    """Whether an exponential is not only summed."""
    return r.expr.op not in RAISED


def _comes_from_afar(kernel: Kernel) -> bool:
    """Whether columns lie in the third cache at best: what is not read twice then pays for one more
    operation an element, which keeps distances in bounds."""
    if kernel.lane != "row" or kernel.stages[0].reductions[0].dtype != "f32":
        return False
    columns, down = math.prod(loop.extent for loop in kernel.rows), kernel.stages[0].loops[0].extent
    return down >= FAR_DOWN and columns * down >= FAR_ELEMENTS


def _is_cut(x: Expr) -> bool:
    """Whether x is one of its operands, but cut off where only infinities are."""
    if x.op not in ("max", "min") or len(x.args) != 2:
        return False
    limits = [limit for a in x.args if (limit := known_value(a)) is not None]
    if len(limits) != 1:
        return False
    return limits[0] <= -LARGE if x.op == "max" else limits[0] >= LARGE


class _Degrees:
    """How a kernel's expressions change with the number its first stage finds, by their ids; None:
    in another way."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.saved = {n: x.id for stage in kernel.stages for n, _, x in stage.saves}
        self.known: dict[int, Degree | None] = {}

    def leaves_results(self, used: list[Expr]) -> bool:
        """Whether all that is stored is the same, whatever the number is."""
        left, before = used, None
        while left and len(left) != before:  # what is saved is read before it is in this order
            before = len(left)
            for x in left:
                reads = self._reads(x)
                if all(a in self.known for a in reads):
                    self.known[x.id] = self._of(x, [self.known[a] for a in reads])
            left = [x for x in left if x.id not in self.known]
        stages = self.kernel.stages
        stores = [*self.kernel.stores, *[store for stage in stages for store in stage.stores]]
        stored = [x.id for store in stores for x in (store.expr, store.mask) if x is not None]
        return all(self.known.get(number) == SAME for number in stored)

    def _reads(self, x: Expr) -> list[int]:
        """What x is made of."""
        if x.op == "saved":
            return [self.saved[x.attrs[0]]]
        if x.op == "reduced":
            r = self.kernel.stages[x.attrs[0]].reductions[x.attrs[1]]
            return [a.id for a in (r.expr, r.factor) if a is not None]
        places = x.attrs[-1][1] if x.op in ("load", "index") else ()
        return [*[a.id for a in x.args], *[-1 - atom for atom, _ in places if atom < 0]]

    def _of(self, x: Expr, of: list[Degree | None]) -> Degree | None:
        if x.op == "reduced" and x.attrs[:2] == (0, 0):
            return (1, 0)
        if x.op == "saved":
            return of[0]
        if all(degree == SAME for degree in of) or self._tests(x) is not None:
            return SAME
        if x.op in COMPARISONS and self._is_sign(x, of):
            return SAME
        if x.op == "select" and (finite := self._tests(x.args[0])) is not None:
            return of[1 if finite else 2]
        known = [degree for degree in of if degree is not None]
        if len(known) < len(of):
            return None
        return self._of_sum(x, known) if x.op == "reduced" else self._of_operation(x, known)

    def _tests(self, x: Expr) -> bool | None:
        """Whether x holds of a number that is finite, if it asks only whether it is."""
        if x.op not in ("lt", "eq") or known_value(x.args[1]) != math.inf:
            return None
        size = x.args[0].args[0] if x.args[0].op == "abs" else x.args[0]
        return x.op == "lt" if self.known.get(size.id) == (1, 0) else None

    def _is_sign(self, x: Expr, of: list[Degree | None]) -> bool:
        """Whether what only grows or shrinks is compared with 0."""
        return any(
            degree is not None and not degree[0] and known_value(other) == 0
            for degree, other in zip(of, reversed(x.args), strict=True)
        )

    def _is_nought(self, x: Expr) -> bool:
        """Whether x is 0 unless the number is infinite."""
        if known_value(x) == 0:
            return True
        if x.op != "select" or (finite := self._tests(x.args[0])) is None:
            return False
        return known_value(x.args[1 if finite else 2]) == 0

    def _of_sum(self, x: Expr, of: list[Degree]) -> Degree | None:
        """Of a reduction."""
        kind = self.kernel.stages[x.attrs[0]].reductions[x.attrs[1]].kind
        return (0, sum(b for _, b in of)) if kind == "sum" and not any(a for a, _ in of) else None

    def _of_operation(self, x: Expr, of: list[Degree]) -> Degree | None:
        grow, times = [a for a, _ in of], [b for _, b in of]
        if x.op in LINEAR and not any(times):
            return (sum(sign * a for sign, a in zip(LINEAR[x.op], grow, strict=True)), 0)
        if x.op in LINEAR:
            alike = {b for a, b in zip(x.args, times, strict=True) if not self._is_nought(a)}
            return (0, alike.pop()) if not any(grow) and len(alike) == 1 else None
        if x.op == "select":
            either = zip(x.args[1:], of[1:], strict=True)
            both = {degree for a, degree in either if not self._is_nought(a)}
            return both.pop() if of[0] == SAME and len(both) == 1 else None
        if x.op in EXPONENTIALS and not times[0]:
            return (0, grow[0])
        if x.op == "log" and not grow[0]:
            return (times[0], 0)
        if x.op in ("mul", "div", "abs") and not any(grow):
            return (0, times[0] - times[1] if x.op == "div" else sum(times))
        if x.op in ("fma", "fms", "fnma"):
            return self._of_fused(x, grow, times)
        return of[0 if known_value(x.args[0]) is None else 1] if _is_cut(x) else None

    def _of_fused(self, x: Expr, grow: list[int], times: list[int]) -> Degree | None:
        """a b + c, and its like."""
        product = times[0] + times[1]
        if grow[0] or grow[1] or product != times[2]:
            return None
        if product:
            return (0, product) if not grow[2] else None
        return (-grow[2] if x.op == "fms" else grow[2], 0)
