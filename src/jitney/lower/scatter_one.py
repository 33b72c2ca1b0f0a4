"""Scatters of one element a row into what is the same number everywhere, as comparisons.

In: a scatter whose indices name one place along one axis in each row, and each row once, such as
the gradient of `x[arange(n), label]` or of `take_along_axis(x, label[:, None], 1)`. Out:
`where(arange(c) == place, update, number)`, which is made where it is read: the gradient of a loss
of labels goes through its logits once, where it took nine steps. None of other scatters. A place
out of bounds equals none, so that its update is dropped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.graph import is_literal
from .known_places import component_of, known_place

SMALL = ("i8", "i16", "i32", "u8", "u16")


def scatter_one(g: Any, d: Any, mode: str, kind: str, x: Any, indices: Any, updates: Any) -> Any:
    """What the scatter means, by a comparison; or None."""
    if kind not in ("add", "set") or x.dtype == "b1" or not is_literal(x):
        return None
    rows = _axes_of_rows(g, d, x, indices)
    if rows is None:
        return None
    batch, chosen = rows
    of_updates = _axes_of_updates(d, x, updates, batch, chosen)
    if of_updates is None:
        return None
    size = x.shape[chosen]
    code = "i32" if size < 2**31 and indices.dtype in SMALL else "i64"
    k = tuple(d.scatter_dims_to_operand_dims).index(chosen)
    place = g.convert(component_of(g, indices, k), code)
    if mode == "clip":
        bounds = [g.full(limit, place.shape, code) for limit in (0, size - 1)]
        place = g.ew("min", g.ew("max", place, bounds[0]), bounds[1])
    is_there = g.compare("eq", g.iota(x.shape, chosen, code), _spread(g, place, x.shape, batch))
    new = _spread(g, updates, x.shape, of_updates)
    return g.select(is_there, g.add(x, new) if kind == "add" else new, x)


def _axes_of_rows(g: Any, d: Any, x: Any, indices: Any) -> tuple[list[int | None], int] | None:
    """(the operand's axis that each axis of the places counts, None of one element; the axis along
    which a place is chosen), if rows are all there in their order."""
    batch: list[int | None] = [None] * (len(indices.shape) - 1)
    named = zip(getattr(d, "operand_batching_dims", ()),
                getattr(d, "scatter_indices_batching_dims", ()), strict=True)  # fmt: skip
    for axis, along in named:
        batch[along] = axis
    chosen = []
    for k, axis in enumerate(d.scatter_dims_to_operand_dims):
        along = _counted_along(g, component_of(g, indices, k), x.shape[axis])
        if along is None or batch[along] is not None:
            chosen.append(axis)
        else:
            batch[along] = axis
    fits = all(
        n == 1 if axis is None else n == x.shape[axis]
        for n, axis in zip(indices.shape, batch, strict=False)
    )
    return (batch, chosen[0]) if fits and len(chosen) == 1 else None


def _counted_along(g: Any, places: Any, extent: int) -> int | None:
    """The axis along which places are 0, 1, ..., extent - 1, if they are."""
    known = known_place(g, places)
    if known is None or known[0] is None or not np.array_equal(known[1], np.arange(extent)):
        return None
    return known[0]


def _axes_of_updates(d: Any, x: Any, updates: Any, batch: list[int | None],
                     chosen: int) -> list[int | None] | None:
    """The operand's axis that each axis of the updates counts, None of one element; or None, if a
    window is not all of its axes, but one element of the chosen one."""
    batching = getattr(d, "operand_batching_dims", ())
    window = iter(a for a in range(len(x.shape)) if a not in (*d.inserted_window_dims, *batching))
    rows = iter(batch)
    axes = [next(window if a in d.update_window_dims else rows) for a in range(len(updates.shape))]
    axes = [None if a == chosen else a for a in axes]
    covered = {chosen, *[a for a in axes if a is not None]}
    extents = [1 if a is None else x.shape[a] for a in axes]
    fits = list(updates.shape) == extents
    return axes if fits and covered == set(range(len(x.shape))) else None


def _spread(g: Any, node: Any, shape: tuple, axes: list[int | None]) -> Any:
    """A node whose axes count these of a shape, along all others the same."""
    kept = [(axis, k) for k, axis in enumerate(axes) if axis is not None]
    node = g.reshape(node, tuple([node.shape[k] for _, k in kept]))
    order = sorted(range(len(kept)), key=lambda i: kept[i][0])
    node = g.transpose(node, order)
    return g.broadcast(node, shape, sorted(axis for axis, _ in kept))
