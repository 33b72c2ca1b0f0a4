"""What kernels compute of costly nodes, and which of these are computed too often (rule 4 of
`partition.py`).

In: notes of the kernels while they are written: who computes what, where and how often. Out: sets
of node numbers: what several kernels compute, and what one computes again and again.
"""

from __future__ import annotations

from ..ir.node import Node

LEAST_AGAIN = 64  # elements up to which computing a node again is always right
# Work of an element beyond which a node is stored that one kernel would compute at other places, as
# stencils do, or under other conditions, as parts of concatenations and of padding: vectors compute
# all of them. (A hessian through a product of twenty numbers 142 to 18 us and .42 of the time to
# compile, gradients of running products and associative scans of a hundred .22 and .13.)
MOST_DUPLICATED = 64
REPEATED_WORK = 1 << 20  # beyond it a value that outer loops would compute again is stored
MANY_AGAIN, MANY_AGAIN_A_NODE = 1 << 17, 1 << 8  # elements for which one more partition is tried
REPEATED_IN_LOOP = 1 << 16  # in the body of a loop, where one kernel more costs its call alone


class RepeatedWork:
    """The notes of one partition. `computed`: the roots of the kernels that compute a node."""

    def __init__(self, is_nested: bool):
        self.most = REPEATED_IN_LOOP if is_nested else REPEATED_WORK
        self.computed: dict[int, set] = {}
        self.node_of: dict[int, Node] = {}
        self.places: dict[tuple, tuple[int, int, set]] = {}
        self.repeated: dict[int, int] = {}

    def note_computed(self, node: Node, root: int) -> None:
        self.computed.setdefault(node.id, set()).add(root)
        self.node_of[node.id] = node

    def note_place(
        self, node: Node, root: int, index, guard: int, cost: int, columns: int = 1
    ) -> None:
        """One kernel computes `node` at this index, under this condition; with other constants the
        index is a neighbour's. `columns`: of its result that are written out, each at its place."""
        key = (node.id, root, tuple([a[1] for a in index]))
        where = (tuple([a[0] for a in index]), guard)
        self.places.setdefault(key, (cost, columns, set()))[2].add(where)

    def note_repeated(self, node: Node, cost: int) -> None:
        """A kernel computes each element of `node` again and again, at this cost in all."""
        self.repeated[node.id] = max(cost, self.repeated.get(node.id, 0))
        self.node_of[node.id] = node

    def computed_twice(self, forced) -> set[int]:
        """Costly nodes that more than one kernel computes, or one at several places."""
        twice = {
            i
            for i, kernels in self.computed.items()
            if len(kernels) > 1 and i not in forced and _work_again(self.node_of[i]) > LEAST_AGAIN
        }
        return twice | {
            node
            for (node, _, _), (cost, columns, where) in self.places.items()
            if (len(where) - columns) * cost > MOST_DUPLICATED and node not in forced
        }  # fmt: skip

    def is_much(self, twice, nodes: int) -> bool:
        """Whether these are many elements that kernels compute after another one has, for a graph
        of so many nodes: one more partition takes as long as it has nodes."""
        again = [(len(self.computed.get(i, ())) - 1) * self.node_of[i].size for i in twice]
        return sum(n for n in again if n > 0) > max(MANY_AGAIN, MANY_AGAIN_A_NODE * nodes)

    def computed_again(self, forced) -> set[int]:
        """Costly nodes that a kernel computes again in each turn of its outer loops."""
        return {
            i for i, cost in self.repeated.items()
            if i not in forced and cost * self.node_of[i].size > self.most
        }  # fmt: skip


def _work_again(node: Node) -> int:
    """Elements that computing a node again would visit."""
    return node.args[0].size if node.op in ("reduce", "argreduce") else node.size
