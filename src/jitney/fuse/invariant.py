"""What a loop's body computes the same in every turn is computed once, before the loop.

In: the steps of a turn, and the places in memory that change between turns. Out: the steps that
read nothing that changes, and the others, both in their order. What would be fused into a kernel
that changes stays there, unless it costs more than reading it: `costly_invariants` says, of a
body's graph, which such values get a kernel of their own.
Keeps: every value. A place that more than one step writes, or that is read and written at once, is
not moved. All places of a body are alive throughout its loop, so none is used for something else.
"""

from collections import Counter

from ..graph.elementwise import is_elementwise
from ..ir.types import nbytes_of
from .buffers import CopyStep, KernelStep, NativeStep
from .expressions import COST, HEAVY
from .in_place import touched_roots

LEAST_SIZE = 65  # a few numbers are computed as fast as they are read
GATHER_COST = 8
SUM_COST = 16
INFLATED_BYTES = 1 << 20  # beyond it values that need more memory than their sources are not kept
VIEWS = ("broadcast", "reshape", "transpose", "slice", "reverse", "convert")


def costly_invariants(graph, changing) -> frozenset:
    """Nodes worth storing before the loop: they depend on none of the inputs `changing`, something
    that does reads them, and an element costs at least as much as a heavy value of a kernel."""
    moving, found = {n.id for n in changing}, set()
    cost: dict[int, int] = {}
    sources: dict[int, int] = {}  # bytes of the largest source
    for node in graph.nodes():
        if node.id in moving or any(a.id in moving for a in node.args):
            moving.add(node.id)
            found |= {a.id for a in map(_below_views, node.args) if a.id not in moving}
            continue
        own = nbytes_of(node.dtype) * node.size
        sources[node.id] = max([sources[a.id] for a in node.args], default=own)
        cost[node.id] = _cost_of(node) + sum(cost[a.id] for a in node.args)
    kept = {n.id for n in graph.nodes() if n.id in found and n.size >= LEAST_SIZE and n.args
            and _is_worth(n, cost[n.id], sources[n.id])}  # fmt: skip
    return frozenset(kept)


def _is_worth(node, cost: int, source_bytes: int) -> bool:
    own = nbytes_of(node.dtype) * node.size
    return cost >= HEAVY and own <= max(source_bytes, INFLATED_BYTES)


def _cost_of(node) -> int:
    if node.op in ("reduce", "argreduce"):
        return SUM_COST
    if node.op == "gather":
        return GATHER_COST
    return COST.get(node.op, 1) if is_elementwise(node) else 0


def _below_views(node):
    while node.op in VIEWS and node.args:
        node = node.args[0]
    return node


def split_invariant(aliases, steps: list, changing: set[int]) -> tuple[list, list]:
    """(steps to run before the loop, steps of a turn). `changing`: the state and the counter."""
    places = [touched_roots(aliases, step) for step in steps]
    writers = Counter(b for _, writes in places for b in writes)
    before, rest, known = [], [], set()
    for step, (reads, writes) in zip(steps, places, strict=True):
        fixed = not reads & changing and all(b in known or not writers[b] for b in reads)
        alone = not writes & changing and all(writers[b] == 1 for b in writes)
        if fixed and alone and _is_pure(step):
            before.append(step)
            known |= writes
        else:
            rest.append(step)
    return before, rest


def _is_pure(step) -> bool:
    """A copy, a routine, or a kernel that only reads, and only writes, each of its buffers."""
    if isinstance(step, (CopyStep, NativeStep)):
        return True
    return isinstance(step, KernelStep) and all(
        mode != "inout" for _, mode in step.slotted.kernel.buffers
    )
