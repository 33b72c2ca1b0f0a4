"""In which loop each expression of a kernel is computed: the outermost that binds what it needs.

In: a scheduled kernel and its live expressions, operands first. Out: `homes[key]`, expressions in
their order. Keys: "entry" for what no loop changes, "outer" for what only the loops around the
vectors of rows change, ("row", n) for a row after n stages, (stage, depth) for a loop of a stage.
"""

from ..fuse.kernel import Expr, Kernel


def find_homes(kernel: Kernel, used: list[Expr]) -> dict:
    """See the module's text."""
    by_id = {x.id: x for x in used}
    stages = {
        loop.variable: (s, d)
        for s, stage in enumerate(kernel.stages)
        for d, loop in enumerate(stage.loops)
    }
    ready: dict[int, int] = {}
    homes: dict = {}
    for x in used:
        after = x.attrs[0] + 1 if x.op == "reduced" else 0
        ready[x.id] = max([after, *[ready[a.id] for a in (*x.args, *atoms(x, by_id))]])
        inner = [stages[v] for v in x.variables if v in stages]
        key = max(inner) if inner else _home_in_rows(kernel, x, ready[x.id])
        homes.setdefault(key, []).append(x)
    return homes


def _home_in_rows(kernel: Kernel, x: Expr, after: int):
    """The home of an expression that no stage's loop changes."""
    in_vectors = kernel.lane == "row"
    varies = bool(kernel.rows) and kernel.rows[-1].variable in x.variables
    if after or (in_vectors and varies):
        return ("row", after)
    if not any(loop.variable in x.variables for loop in kernel.rows):
        return "entry"
    in_tile = kernel.tile is not None and kernel.tile.variable in x.variables
    return "outer" if in_vectors and not in_tile else ("row", 0)


def atoms(x: Expr, by_id: dict[int, Expr]) -> list[Expr]:
    """The values of the kernel that an expression's index contains."""
    if x.op not in ("load", "index", "saved"):
        return []
    return [by_id[-1 - atom] for atom, _ in x.attrs[-1][1] if atom < 0]
