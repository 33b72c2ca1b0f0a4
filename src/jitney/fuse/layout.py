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
    if order is None and _is_read_turned(node, users):
        order = exchanged_sides(node, *_sides(node))
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
    """The order of axes in which all users read a product, if that exchanges its two sides. (Where
    axes of one element are makes no difference: attention has one, heads to a group of keys.)"""
    if not users or any(u.op != "transpose" or u.attrs != users[0].attrs for u in users):
        return None
    batch, left = _sides(node)
    order = tuple(users[0].attrs[0])
    is_turned = _wide(node, order) == _wide(node, exchanged_sides(node, batch, left))
    return order if is_turned and batch < left < len(node.shape) else None


def _is_read_turned(node: Node, users: list[Node]) -> bool:
    """Whether all users read a product in orders whose last axis is one of its rows: columns of the
    product as it is, lines of the exchanged one. (Attention whose queries share keys: its softmax
    goes along lines.)"""
    batch, left = _sides(node)
    if not users or any(u.op != "transpose" for u in users):
        return False
    lasts = [_wide(node, u.attrs[0])[-1:] for u in users]
    return all(last and batch <= last[0] < left for last in lasts) and left < len(node.shape)


def _sides(node: Node) -> tuple[int, int]:
    """How many axes of a product are those of its batch, and of these and its rows."""
    (contract_a, _), (batch_a, _) = node.attrs
    return len(batch_a), len(node.args[0].shape) - len(contract_a)


def _wide(node: Node, axes) -> list[int]:
    return [axis for axis in axes if node.shape[axis] != 1]


def exchanged_sides(node: Node, batch: int, left: int) -> tuple[int, ...]:
    """The axes of a product with its sides exchanged: [0, batch) are those of the batch, and
    [batch, left) come from the left operand."""
    axes = range(len(node.shape))
    return (*axes[:batch], *axes[left:], *axes[batch:left])
