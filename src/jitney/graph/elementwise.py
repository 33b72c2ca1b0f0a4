"""Which operations of a graph are elementwise, and which are views.

In: a node. Out: whether its element depends only on its operands' elements at the same index.
`VIEWS`: operations whose elements are those of their operands at other places.
"""

from ..ir.node import Node

_NOT_ELEMENTWISE = frozenset(
    """input const lit empty broadcast reshape transpose reverse slice pad concat iota dynamic_slice
    dynamic_update_slice framed gather reduce argreduce partial dot cumulative call part scatter
    conv sort""".split()
)
VIEWS = frozenset("slice pad concat transpose reverse reshape dynamic_slice framed".split())


def is_elementwise(node: Node) -> bool:
    """Whether a node's element depends only on its operands' elements at the same index."""
    return node.op not in _NOT_ELEMENTWISE
