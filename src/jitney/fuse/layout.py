"""Which strides a product is stored with: those its only user wants.

In: a `dot` node and who uses it. Out: strides in elements, row-major ones as a rule. The gradient
of a weight is the transpose of a product, and nothing else reads the product: stored column-major
its transpose is row-major, and nothing is left to transpose (the product itself is formed with its
operands exchanged, see `contractions.py`).
"""

from ..ir.node import Node
from ..ir.strides import contiguous_strides


def product_strides(node: Node, users: list[Node]) -> tuple[int, ...]:
    """Strides for a product that is read by the nodes `users` alone."""
    order = turning_order(node, users)
    if order is None:
        return contiguous_strides(node.shape)
    return strides_seen_from(order, contiguous_strides([node.shape[i] for i in order]))


def strides_seen_from(order, strides) -> tuple[int, ...]:
    """Strides of an array's own axes, given those of its transpose (axes in `order`)."""
    own = [0] * len(order)
    for axis, stride in zip(order, strides, strict=True):
        own[axis] = stride
    return tuple(own)


def turning_order(node: Node, users: list[Node]) -> tuple[int, ...] | None:
    """The order of axes in which all users read a product, if that exchanges its two sides."""
    if not users or any(u.op != "transpose" or u.attrs != users[0].attrs for u in users):
        return None
    (contract_a, _), (batch_a, _) = node.attrs
    batch, left = len(batch_a), len(node.args[0].shape) - len(contract_a)
    order = tuple(users[0].attrs[0])
    is_turned = order == exchanged_sides(node, batch, left)
    return order if is_turned and batch < left < len(node.shape) else None


def exchanged_sides(node: Node, batch: int, left: int) -> tuple[int, ...]:
    """The axes of a product with its sides exchanged: [0, batch) are those of the batch, and
    [batch, left) come from the left operand."""
    axes = range(len(node.shape))
    return (*axes[:batch], *axes[left:], *axes[batch:left])
