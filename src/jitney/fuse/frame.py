"""What an update at a fixed place leaves as it was: the slabs around a window.

In: an array, the window's shape and where it starts. Out: slices of the array that do not overlap
and, with the window, are all of it. Where the window reads its neighbours it cannot be computed in
place; then these are copied and not the whole array.
"""

from ..graph.graph import literal_value


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
