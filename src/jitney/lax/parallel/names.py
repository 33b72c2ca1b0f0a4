"""Names of axes and groups of members: what all collectives read of their arguments.

In: `axis_name` (a name or a tuple of names) and `axis_index_groups`. Out: a tuple of names in
scope, and a tuple of groups in which each position occurs once.
"""

from __future__ import annotations

import math
from typing import Any

from jitney.core.avals import ShapedArray, get_aval
from jitney.core.trace import axis_size as size_of_axis

Groups = tuple[tuple[int, ...], ...]


def names_of(axis_name: Any) -> tuple:
    """The names as a tuple; NameError for axes nobody has named."""
    names = tuple(axis_name) if isinstance(axis_name, (tuple, list, frozenset)) else (axis_name,)
    for name in names:
        size_of_axis(name)
    return names


def axis_size(axis_name: Any) -> int:
    """The number of members along a named axis (or several).

    NameError for a name that is not in scope.
    """
    return math.prod(size_of_axis(n) for n in names_of(axis_name))


def groups_of(axis_index_groups: Any, size: int, equal: bool = False) -> Groups | None:
    """The groups as tuples; ValueError unless every position is in exactly one.

    With `equal` all groups must have the same number of members.
    """
    if axis_index_groups is None:
        return None
    groups = tuple(tuple(int(i) for i in group) for group in axis_index_groups)
    if sorted(i for group in groups for i in group) != list(range(size)):
        raise ValueError(f"axis_index_groups must cover all indices exactly once: expected each of "
                         f"0 … {size - 1} in one group, got {axis_index_groups}")
    if equal and len({len(group) for group in groups}) > 1:
        raise ValueError("axis_index_groups must all be the same size for this collective, got "
                         f"{axis_index_groups}")
    return groups


def group_size(names: tuple, groups: Groups | None) -> int:
    """The number of members that exchange values (of groups of equal size)."""
    return len(groups[0]) if groups else axis_size(names)


def dimension(leaf: Any, axis: int, what: str, extra: int = 0) -> int:
    """A non-negative dimension of `leaf` (which is to have `extra` more); ValueError otherwise."""
    ndim = len(get_aval(leaf).shape) + extra
    if not -ndim <= axis < ndim:
        raise ValueError(f"{what} {axis} is out of bounds for an array of rank {ndim - extra} "
                         f"(its type is {get_aval(leaf).str_short()})")
    return axis % ndim


def same_type(x: ShapedArray, **params: Any) -> ShapedArray:
    """The type rule of collectives that keep the type."""
    return x
