"""Where an element of a reshaped array is in the array before.

In: an index into a shape, whose loops have known extents, and another shape of as many elements.
Out: the index into that, if it can be said without a division.
"""

import functools
from typing import NamedTuple

from . import affine as af


def split_groups(shape, target):
    """Pairs of axis ranges of two shapes with equal products, finest first; none of empty arrays,
    of which no element is asked for.

    >>> split_groups((6, 4), (2, 3, 4))
    [((0,), (0, 1)), ((1,), (2,))]
    """
    if 0 in shape:
        return []
    a = [i for i, n in enumerate(shape) if n != 1]
    b = [i for i, n in enumerate(target) if n != 1]
    groups, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        left, right = [a[i]], [b[j]]
        p, q = shape[a[i]], target[b[j]]
        i, j = i + 1, j + 1
        while p != q:
            if p < q:
                p *= shape[a[i]]
                left.append(a[i])
                i += 1
            else:
                q *= target[b[j]]
                right.append(b[j])
                j += 1
        groups.append((tuple(left), tuple(right)))
    return groups


class Group(NamedTuple):
    """Axes of two shapes with equal products (`split_groups`), and the strides of each within
    them."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    of_left: tuple[int, ...]
    of_right: tuple[int, ...]


# One kernel asks for few pairs of shapes thousands of times. Some hundred bytes each.
@functools.lru_cache(maxsize=4096)
def _groups(shape: tuple[int, ...], target: tuple[int, ...]) -> tuple[Group, ...]:
    return tuple([
        Group(left, right, af.contiguous_strides([shape[axis] for axis in left]),
              af.contiguous_strides([target[axis] for axis in right]))
        for left, right in split_groups(shape, target)
    ])  # fmt: skip


def joined_places(index, shape, target):
    """index into `target` -> for each group of axes of two shapes the linear place within it."""
    for group in _groups(shape, target):
        yield group, _place(index, group)


def _place(index, group: Group):
    """Of one axis its own index: most groups have one."""
    if len(group.right) == 1:
        return index[group.right[0]]
    return af.dot([index[a] for a in group.right], group.of_right)


def decompose(builder, position, strides):
    """The multi-index of a linear position in a box of these row-major strides, if it needs no
    division."""
    rest, result = position, []
    for stride in strides:
        if stride == 1:
            result.append(rest)
            break
        whole = [(atom, c // stride) for atom, c in rest[1] if c % stride == 0]
        part = [(atom, c) for atom, c in rest[1] if c % stride]
        low = rest[0] % stride
        bound = low
        for atom, c in part:
            if c < 0 or atom < 0:
                return None
            bound += c * (builder.extents[atom] - 1)
        if bound >= stride:
            return None
        result.append((rest[0] // stride, tuple(whole)))
        rest = (low, tuple(part))
    return result


def reshaped_index(builder, index, shape, target):
    """index into `target` -> index into `shape` (same size), or None if it needs a division."""
    inner = [af.ZERO] * len(shape)
    for group, place in joined_places(index, shape, target):
        if len(group.left) == 1:  # most: without it, partitions full of reshapes take 1.07
            inner[group.left[0]] = place
            continue
        parts = decompose(builder, place, group.of_left)
        if parts is None:
            return None
        for axis, part in zip(group.left, parts, strict=True):
            inner[axis] = part
    return tuple(inner)
