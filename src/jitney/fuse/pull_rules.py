"""How the elements of each operation's result are found: at the same index, by a rule, or stored.

In: nodes, and rules as they are registered (`pull_*.py`). Out: whether a node is elementwise, and
`PULL_RULES`: the rules by operation. What is neither must be stored.
"""

from ..ir.node import Node

_NOT_ELEMENTWISE = frozenset(
    """input const lit empty broadcast reshape transpose reverse slice pad concat iota dynamic_slice
    dynamic_update_slice framed gather reduce argreduce partial dot cumulative call part scatter
    conv sort""".split()
)


def is_elementwise(node: Node) -> bool:
    """Whether a node's element depends only on its operands' elements at the same index."""
    return node.op not in _NOT_ELEMENTWISE


PULL_RULES: dict = {}


def pull_rule(op: str):
    """Registers the rule that pulls one element of an operation's result."""

    def register(rule):
        PULL_RULES[op] = rule
        return rule

    return register
