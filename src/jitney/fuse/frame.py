"""What an update at a fixed place leaves as it was: the frame around a window.

In: an array, the window's shape and where it starts. Out: slices of the array that do not overlap
and, with the window, are all of it; or one node that is the updated array, where a kernel can
compute window and frame row by row. Where the window reads its neighbours it cannot be computed in
place; then the frame is copied and not the whole array.
"""

from ..graph.elementwise import is_elementwise
from ..graph.graph import literal_value

NARROW = 4  # the frame may have 1/4 of an array's elements, and of its rows', to be one with it
LEAST_ROW = 64  # elements: what a row's borders take is little beside its middle
_VIEWS = ("reshape", "transpose", "broadcast", "slice", "reverse")


def fixed_corner(operand, update, starts) -> list[int] | None:
    """Where the window starts, kept inside of the array; None if that is known only at run time."""
    if any(start.op != "lit" for start in starts):
        return None
    return [
        min(max(int(literal_value(start.attrs[0], start.dtype)), 0), n - size)
        for start, n, size in zip(starts, operand.shape, update.shape, strict=True)
    ]


def is_most(operand, update) -> bool:
    """Whether the window is the greater part, so that what is around it is worth cutting out."""
    return 2 * update.size > operand.size


def slabs_around(table, operand, shape, corner) -> list:
    """(corner, slice of the array) of each slab: before and after the window along each axis,
    within the window along the axes before."""
    low, sizes, found = [0] * len(shape), list(operand.shape), []
    for axis, (start, size) in enumerate(zip(corner, shape, strict=True)):
        for first, last in ((0, start), (start + size, operand.shape[axis])):
            if first < last:
                at, extent = list(low), list(sizes)
                at[axis], extent[axis] = first, last - first
                found.append((at, _slice(table, operand, at, extent)))
        low[axis], sizes[axis] = start, size
    return found


def _slice(table, operand, corner, shape):
    steps = (1,) * len(shape)
    return table.intern("slice", (operand,), tuple(shape), operand.dtype, (tuple(corner), steps))


def framed(partition, operand, update, corner):
    """The updated array as one node; None if slabs and window are better computed one by one: the
    slabs are whole rows (to copy), or more than a narrow frame, or the window is no element's
    business alone (a reduction, a product)."""
    row, window = operand.shape[-1], update.shape[-1]
    if row == window or row < LEAST_ROW or NARROW * (row - window) > row:
        return None
    left = operand.size - update.size
    if NARROW * left > operand.size or not _goes_by_elements(partition, update):
        return None
    return partition.table.intern(
        "framed", (operand, update), operand.shape, operand.dtype, (tuple(corner),)
    )


def _goes_by_elements(partition, node) -> bool:
    """Whether a node is computed element by element of views of what is stored."""
    seen, stack = set(), [node]
    while stack:
        x = stack.pop()
        if x.id in seen or x.op in ("lit", "iota") or partition.view_of(x) is not None:
            continue
        seen.add(x.id)
        is_view = x.op in _VIEWS or _is_at_fixed_place(x)
        if not (is_elementwise(x) or is_view) or x.id in partition.forced:
            return False
        stack.extend(x.args)
    return True


def _is_at_fixed_place(node) -> bool:
    """Whether a node is a window whose place is known (what `x.at[1:-1].add` adds to)."""
    if node.op != "dynamic_slice":
        return False
    return fixed_corner(node.args[0], node, node.args[1:]) is not None
