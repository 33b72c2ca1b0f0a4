"""A broadcast under another shape is a broadcast, if axes along which it repeats stay so.

In: a broadcast node and a shape of as many elements. Out: the shape that its operand takes and the
axes it becomes; None where axes along which the operand changes are merged with others along which
it repeats. What is made of a mean and the rows it belongs to then has no array of means of its own
when sums go over several axes at once.
"""

from ..ir.node import Node


def reshaped_broadcast(node: Node, shape) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """See the module's text.

    The axes of both shapes form groups of equal size; each repeats as a whole, or is the operand's.
    """
    if 0 in shape:
        return None
    varies = {d for d, n in zip(node.attrs[0], node.args[0].shape, strict=True) if n != 1}
    operand, dims = [], []
    for before, after in _groups(node.shape, shape):
        own = [axis in varies for axis in before if node.shape[axis] != 1]
        if not any(own):
            continue
        if not all(own):
            return None
        operand += [shape[axis] for axis in after]
        dims += after
    return tuple(operand), tuple(dims)


def _groups(first, second) -> list[tuple[list[int], list[int]]]:
    """The shortest runs of axes of two shapes that have as many elements."""
    found, i, j = [], 0, 0
    while i < len(first) or j < len(second):
        before: list[int] = []
        after: list[int] = []
        a = b = 1
        while not (before or after) or a != b:
            if j == len(second) or i < len(first) and a <= b:
                before.append(i)
                a *= first[i]
                i += 1
            else:
                after.append(j)
                b *= second[j]
                j += 1
        found.append((before, after))
    return found


def is_reshaped(node: Node) -> bool:
    """Whether a node is its operand in another shape: so is one spread along axes of extent 1."""
    if node.op != "broadcast":
        return node.op == "reshape"
    (dims,) = node.attrs
    return node.size == node.args[0].size and tuple(sorted(dims)) == dims
