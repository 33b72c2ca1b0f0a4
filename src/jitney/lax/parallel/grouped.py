"""Collectives within groups of a batch: `axis_index_groups` under `vmap`.

In: the rule of a collective over a whole batch, and groups of positions. Out: the rule over the
batch in which each group is a batch of its own. Groups of equal size become one more batch
dimension; others are taken one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitney.core.avals import get_aval
from jitney.lax.joining import concatenate
from jitney.lax.parallel.names import Groups
from jitney.lax.shape import reshape
from jitney.lax.slicing import slice_in_dim
from jitney.transforms.vmap import at_front, batch_flat


def in_groups(rule: Callable, groups: Groups, size: int, x: Any, dim: int | None) -> Any:
    """`rule(size, x, dim) -> (out, out_dim)` within each group; the result's batch is in front."""
    x = at_front(x, dim, size)
    order = [i for group in groups for i in group]
    x = _reordered(x, order)
    if len({len(group) for group in groups}) == 1:
        out = _equal(rule, len(groups), len(groups[0]), x)
    else:
        out = _unequal(rule, groups, x)
    return _reordered(out, list(np.argsort(order)))


def _equal(rule: Callable, count: int, size: int, x: Any) -> Any:
    shape = get_aval(x).shape
    whole = reshape(x, (count, size, *shape[1:]))
    outs, dims = batch_flat(lambda y: [at_front(*rule(size, y, 0), size)], [whole], [0], count)
    out = at_front(outs[0], dims[0], count)
    return reshape(out, (count * size, *get_aval(out).shape[2:]))


def _unequal(rule: Callable, groups: Groups, x: Any) -> Any:
    parts, start = [], 0
    for group in groups:
        size = len(group)
        out, dim = rule(size, slice_in_dim(x, start, start + size), 0)
        parts.append(at_front(out, dim, size))
        start += size
    return concatenate(parts, 0)


def _reordered(x: Any, order: list[int]) -> Any:
    """Rows of `x` in another order."""
    if order == list(range(len(order))):
        return x
    return concatenate([slice_in_dim(x, i, i + 1) for i in order], 0)
