"""Interned immutable nodes: the one data structure under graphs.

Two nodes made by one `NodeTable` with equal operation, operands, attributes, shape and type are the
same object, so common subexpressions merge by construction and `is` is equality. `id` numbers nodes
in order of creation: operands always come before their users.
"""

import math


class Node:
    """One operation of a graph. `attrs` is a hashable value whose meaning the operation defines;
    `size` is the number of elements."""

    __slots__ = ("args", "attrs", "dtype", "id", "op", "shape", "size", "source")

    def __init__(self, op, args, shape, dtype, attrs, number, source):
        self.op = op
        self.args = args
        self.shape = shape
        self.dtype = dtype
        self.attrs = attrs
        self.id = number
        self.source = source
        self.size = math.prod(shape)

    def __repr__(self):
        return f"%{self.id}:{self.dtype}[{','.join(map(str, self.shape))}]={self.op}"


class NodeTable:
    """Makes nodes and remembers them, and what passes find out of them."""

    def __init__(self):
        self._known = {}
        self._facts: dict[str, dict] = {}
        self.nodes: list[Node] = []
        self.source = None

    def intern(self, op, args, shape, dtype, attrs=()) -> Node:
        """The node with these parts, made now if it is new."""
        key = (op, tuple([a.id for a in args]), shape, dtype, attrs)
        node = self._known.get(key)
        if node is None:
            node = Node(op, args, shape, dtype, attrs, len(self.nodes), self.source)
            self._known[key] = node
            self.nodes.append(node)
        return node

    def facts_about(self, question: str) -> dict:
        """Answers to a question by nodes' numbers: those that depend on the nodes alone."""
        return self._facts.setdefault(question, {})
