"""What is made of several results of a row, and then only reduced further, lives in a buffer.

In: a graph. Out: the numbers of such nodes: the loss of each row of logits, say, whose mean is
wanted. The kernel of the rows ends with them then, instead of leaving its greatest elements and its
sums to another one: it stores one number a row, its greatest need not be found (guess_greatest.py),
and logarithms are those of many rows at a time (gather_ends.py).
(A Zen 5, 4096 x 256, two threads and one, by turns: mean cross entropy .79 and .74 of the time,
mean of cosines .67 and .71.)
"""

from ..graph.elementwise import is_elementwise
from ..graph.graph import Graph
from ..ir.node import Node

LEAST_ROW, LEAST = 16, 1 << 14  # elements: of a row, of all
MOST_STEPS = 32  # of what is made of the results


def store_ends(graph: Graph) -> frozenset[int]:
    """See the module's text."""
    ends = {node.args[0] for node in graph.nodes() if node.op == "reduce"}
    return frozenset(end.id for end in ends if is_elementwise(end) and _is_end(graph, end))


def _is_end(graph: Graph, end: Node) -> bool:
    """Whether all that reads it reduces it, and it is made of two results, or more, of like rows,
    which nothing else reads (gradients do: then they are stored at any rate)."""
    if any(user.op != "reduce" for user in graph.users_of(end)):
        return False
    steps, waiting, results = {end.id: end}, [end], dict[int, Node]()
    while waiting and len(steps) <= MOST_STEPS:
        for a in waiting.pop().args:
            if a.op == "reduce" and a.size == end.size and _is_of_rows(a):
                results[a.id] = a
            elif is_elementwise(a) and a.size == end.size and a.id not in steps:
                steps[a.id] = a
                waiting.append(a)
    rows = {(r.args[0].shape, r.attrs[1]) for r in results.values()}
    if waiting or len(results) < 2 or len(rows) > 1:
        return False
    del steps[end.id]
    return not _are_read_elsewhere(graph, results, steps, end)


def _are_read_elsewhere(graph: Graph, results: dict, steps: dict, end: Node) -> bool:
    """Whether others read results of rows, or what is made of them before the end. Greatest numbers
    are spread over their rows for the sums."""
    spread = {n for n, r in results.items() if r.attrs[0] in ("max", "min")}
    for number, node in sorted(steps.items()):  # operands have smaller numbers
        if all(a.id in spread or a.id not in results and a.id not in steps for a in node.args):
            spread.add(number)
    return any(
        user.id not in steps and user is not end
        and not (user.op == "broadcast" and number in spread)
        for number, node in (results | steps).items()
        for user in graph.users_of(node)
    )  # fmt: skip


def _is_of_rows(node: Node) -> bool:
    """Whether a reduction is along an array's last axis, which is no short one."""
    if len(node.args[0].shape) - 1 not in node.attrs[1]:
        return False
    return node.args[0].size >= max(LEAST_ROW * node.size, LEAST)
