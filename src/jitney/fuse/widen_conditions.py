"""Conditions on the places along one axis as conditions on that axis merged with the one after it.

In: a kernel's live expressions, and two loops, of which the inner one counts `n`. Out: the
conditions `0 <= v + c < limit` that alone keep the loops from being merged; then, the same ones on
w = n v + u: `0 <= w + n c < n limit`, since 0 <= u < n. A picture that is shifted by a pixel is its
rows shifted by so many numbers, and vectors run along these.
"""

from .affine import coefficient_of
from .kernel import Expr, Kernel, append_expression
from .pull_views import is_structural

LONG_INNER = 128  # of an inner axis: longer rows are vectors enough, and choose what they read


def conditions_between(used: list[Expr], outer: int, inner: int, n: int) -> list[Expr]:
    """See the module's text; empty as well if they are not all that keeps the loops apart."""
    places, found = set(), []
    for x in used:
        if x.op in ("load", "index", "saved"):
            position = x.attrs[-1]
            if coefficient_of(position, outer) != coefficient_of(position, inner) * n:
                if x.op != "index" or position[1] != ((outer, 1),) or n >= LONG_INNER:
                    return []
                places.add(x.id)
    for x in used:
        if any(a.id in places for a in x.args):
            if x.op != "lt" or x.args[1].op not in ("const", "param") or x.args[0].dtype != "u64":
                return []
            found.append(x)
    return found


def widen_conditions(
    kernel: Kernel, used: list[Expr], found: list[Expr], inner: int, n: int
) -> None:
    """See the module's text; the loops are merged into the inner one afterwards."""
    for place in {x.args[0].id: x.args[0] for x in found}.values():
        place.attrs = ((place.attrs[-1][0] * n, ((inner, 1),)),)
    bounds = {x.args[1].id for x in found}
    for x in found:
        made: list[Expr] = []
        limit = x.args[1].attrs[0] * n
        op = "const" if is_structural(limit, "u64") else "param"
        bound = append_expression(kernel, made, op, attrs=(limit,), dtype="u64")
        bound.cost = 0
        x.args = x.args[0], bound
        used[used.index(x) : used.index(x)] = made
    alive = {a.id for x in used for a in x.args} | {store.expr.id for store in kernel.stores}
    used[:] = [x for x in used if x.id in alive or x.id not in bounds]
