"""Scatter of one window: a dynamic update of a slice.

In: a scatter whose indices name a single place. Out: `dynamic_update_slice` of the window, combined
with what was there if the scatter does not simply set; a window that does not fit leaves everything
as it is. So an update by a fixed slice costs what it touches, and loops can do it in place.
"""

from __future__ import annotations

import math
from typing import Any

from ..graph.graph import literal_value


def is_single_window(d: Any, updates: Any) -> bool:
    """Whether all axes of the updates but those of the window have one element."""
    return all(n == 1 for axis, n in enumerate(updates.shape) if axis not in d.update_window_dims)


def scatter_window(g: Any, d: Any, mode: str, kind: str, x: Any, indices: Any,
                   updates: Any) -> Any:
    """`x` with the one window of the scatter put in."""
    batching = tuple(getattr(d, "operand_batching_dims", ()))
    skipped = {*d.inserted_window_dims, *batching}
    window = [n for axis, n in enumerate(updates.shape) if axis in d.update_window_dims]
    extents = iter(window)
    shape = tuple([1 if axis in skipped else next(extents) for axis in range(len(x.shape))])
    starts = [g.lit(0, "i64")] * len(shape)
    places = g.reshape(indices, (math.prod(indices.shape),))
    for k, axis in enumerate(d.scatter_dims_to_operand_dims):
        starts[axis] = _start(g, places, k)
    limits = [n - w for n, w in zip(x.shape, shape, strict=True)]
    inside = None if mode == "clip" else _inside(g, starts, limits)
    if inside is False:
        return x
    updates = g.reshape(updates, shape)
    present = g.dynamic_slice(x, starts, shape)
    if kind != "set":
        updates = g.ew(kind, present, updates)
    if inside is not None:
        updates = g.select(g.broadcast(inside, shape, ()), updates, present)
    return g.dynamic_update_slice(x, updates, starts)


def _start(g: Any, places: Any, k: int) -> Any:
    known = known_integer(places, (k,))
    if known is not None:
        return g.lit(known, "i64")
    return g.convert(g.reshape(g.slice(places, (k,), (k + 1,)), ()), "i64")


def _inside(g: Any, starts: list, limits: list) -> Any:
    """Whether the window fits: a node, None if it is known to, False if it is known not to."""
    found = None
    for start, limit in zip(starts, limits, strict=True):
        if start.op == "lit":
            if not 0 <= int(literal_value(start.attrs[0], start.dtype)) <= limit:
                return False
            continue
        fits = g.ew("and", g.compare("ge", start, g.lit(0, "i64")),
                    g.compare("le", start, g.lit(limit, "i64")))
        found = fits if found is None else g.ew("and", found, fits)
    return found


def known_integer(node: Any, index: tuple[int, ...]) -> int | None:
    """The value of an element of an integer node that is made of literals only."""
    if node.op == "lit":
        return int(literal_value(node.attrs[0], node.dtype))
    rule = _KNOWN.get(node.op)
    return None if rule is None or not node.args else rule(node, index)


def _of_broadcast(node: Any, index: tuple) -> int | None:
    operand = node.args[0]
    place = [index[d] if n != 1 else 0 for n, d in zip(operand.shape, node.attrs[0], strict=True)]
    return known_integer(operand, tuple(place))


def _of_reshape(node: Any, index: tuple) -> int | None:
    flat = 0
    for i, n in zip(index, node.shape, strict=True):
        flat = flat * n + i
    place: list[int] = []
    for n in reversed(node.args[0].shape):
        place.insert(0, flat % n)
        flat //= n
    return known_integer(node.args[0], tuple(place))


def _of_slice(node: Any, index: tuple) -> int | None:
    starts, strides = node.attrs
    place = [s + i * t for i, s, t in zip(index, starts, strides, strict=True)]
    return known_integer(node.args[0], tuple(place))


def _of_concat(node: Any, index: tuple) -> int | None:
    axis, place = node.attrs[0], list(index)
    for part in node.args:
        if place[axis] < part.shape[axis]:
            return known_integer(part, tuple(place))
        place[axis] -= part.shape[axis]
    return None


def _of_convert(node: Any, index: tuple) -> int | None:
    if node.args[0].dtype[0] not in "iu":
        return None
    found = known_integer(node.args[0], index)
    bits = 8 * {"8": 1, "6": 2, "2": 4, "4": 8}[node.dtype[-1]]
    low = -(1 << (bits - 1)) if node.dtype[0] == "i" else 0
    return found if found is not None and low <= found < low + (1 << bits) else None


_KNOWN = {
    "broadcast": _of_broadcast, "reshape": _of_reshape, "slice": _of_slice, "concat": _of_concat,
    "convert": _of_convert,
}  # fmt: skip
