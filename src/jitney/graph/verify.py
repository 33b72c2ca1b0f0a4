"""Checks that a graph obeys its grammar.

In: a Graph. Out: nothing; AssertionError with the node and the rule it breaks.
"""

from ..ir.types import ELEMENT_TYPES
from .graph import COMPARISONS, Graph

_SAME_SHAPE = frozenset(
    """add sub mul div rem mod pow max min and or xor eq ne lt le gt ge select atan2 nextafter
    copysign ldexp shift_left shift_right_logical shift_right_arithmetic rotate_left""".split()
)


def verify(graph: Graph) -> None:
    """See the module's text."""
    seen = set()
    for node in graph.nodes():
        _require(node, node.dtype in ELEMENT_TYPES, "has an unknown element type")
        _require(node, all(n >= 0 for n in node.shape), "has a negative extent")
        _require(node, all(a.id in seen for a in node.args), "comes before an operand")
        seen.add(node.id)
        if node.op in _SAME_SHAPE:
            shapes = {a.shape for a in node.args} | {node.shape}
            _require(node, len(shapes) == 1, f"has operands of shapes {shapes}")
        if node.op in COMPARISONS:
            _require(node, node.dtype == "b1", "is a comparison and not boolean")
            _require(node, node.args[0].dtype == node.args[1].dtype, "compares two types")
        rule = _RULES.get(node.op)
        if rule is not None:
            rule(node)


def _require(node, condition, what) -> None:
    if not condition:
        raise AssertionError(f"{node} {what}")


def _broadcast(node) -> None:
    operand, dims = node.args[0], node.attrs[0]
    _require(node, len(dims) == len(operand.shape), "does not place every axis")
    for n, d in zip(operand.shape, dims, strict=True):
        _require(node, n in (1, node.shape[d]), f"spreads extent {n} over {node.shape[d]}")


def _reshape(node) -> None:
    _require(node, node.size == node.args[0].size, "changes the number of elements")


def _transpose(node) -> None:
    wanted = tuple([node.args[0].shape[p] for p in node.attrs[0]])
    _require(node, node.shape == wanted, f"should have shape {wanted}")


def _conv(node) -> None:
    x, kernel = node.args
    _require(node, x.shape[-1] == kernel.shape[-2], "has other features than its kernel")
    for n, w, size, s, d in zip(
        node.shape[1:-1], kernel.shape[:-2], x.shape[1:-1], *node.attrs, strict=True
    ):
        _require(node, (n - 1) * s + (w - 1) * d < size, "reads beyond its image")


def _reduce(node) -> None:
    kept = tuple([n for i, n in enumerate(node.args[0].shape) if i not in node.attrs[1]])
    _require(node, node.shape == kept, f"should have shape {kept}")


_RULES = {
    "broadcast": _broadcast, "reshape": _reshape, "transpose": _transpose, "reduce": _reduce,
    "conv": _conv,
}  # fmt: skip
