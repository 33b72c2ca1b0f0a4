"""Gathers and scatters at places that are known when the program is compiled, as slices.

In: an index of whole numbers that follow from `arange` and literals (`graph/known_values.py`).
Out: for `x[:, (i + 1) % n]`, two slices side by side; for `x[clip(i + 1, 0, n - 1)]`, a slice and
its last row again; for `x[i // 2]`, what repeats; and for sums and updates at such places, the
pieces of the array that they meet, combined with slices of the updates. None, if the places are
not known or are no few runs: then they are looked up one by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..graph.known_values import known_values

MOST_RUNS = 4


class Run(NamedTuple):
    """`count` places from `first` on, `step` apart: the entries from `entry` on of an index."""

    entry: int
    first: int
    count: int
    step: int


class Places(NamedTuple):
    """Known places along an axis of an array, which vary along an axis of the index (or do not)."""

    axis: int
    along: int | None
    values: np.ndarray


class Piece(NamedTuple):
    """What places [low, high) of an axis are after an update."""

    low: int
    high: int
    node: Any
    is_new: bool


def gather_at_known(g: Any, x: Any, indices: Any, attrs: tuple, shape: tuple) -> Any:
    """What the gather node of these attributes means, by slices; or None."""
    offset_dims, collapsed, batching, _, start_map, sizes, mode = attrs
    if batching or not start_map or tuple(sorted(start_map)) != tuple(sorted(collapsed)):
        return None
    found = _places(g, indices, start_map)
    if found is None:
        return None
    used = [places.along for places in found if places.along is not None]
    if len(set(used)) < len(used):
        return None
    y = g.slice(x, (0,) * len(sizes), [x.shape[a] if a in collapsed else n
                                       for a, n in enumerate(sizes)])  # fmt: skip
    for places in found:
        values = _inside(places.values, x.shape[places.axis], mode)
        y = None if values is None else take(g, y, places.axis, values)
        if y is None:
            return None
    return _arranged(g, y, found, offset_dims, shape)


def _arranged(g: Any, y: Any, found: list[Places], offset_dims: tuple, shape: tuple) -> Any:
    """Brings axes into the order of the result; repeats along those the places do not vary on."""
    batch = [axis for axis in range(len(shape)) if axis not in offset_dims]
    along = {places.axis: places.along for places in found}
    offsets = iter(offset_dims)
    dims = [_axis_of(batch, along[a]) if a in along else next(offsets) for a in range(len(y.shape))]
    kept = [a for a in range(len(y.shape)) if dims[a] is not None]
    y = g.reshape(y, tuple([y.shape[a] for a in kept]))
    dims = [d for d in dims if d is not None]
    order = sorted(range(len(dims)), key=dims.__getitem__)
    return g.broadcast(g.transpose(y, order), shape, sorted(dims))


def _axis_of(batch: list[int], along: int | None) -> int | None:
    return None if along is None else batch[along]


def _places(g: Any, indices: Any, axes: tuple) -> list[Places] | None:
    found = []
    for k, axis in enumerate(axes):
        known = known_place(g, component_of(g, indices, k))
        if known is None:
            return None
        found.append(Places(axis, *known))
    return found


def component_of(g: Any, indices: Any, k: int) -> Any:
    """Numbers k of all vectors that indices are."""
    last = len(indices.shape) - 1
    lows, highs = [0] * (last + 1), list(indices.shape)
    lows[last], highs[last] = k, k + 1
    return g.reshape(_slice(g, indices, lows, highs), indices.shape[:last])


def known_place(g: Any, places: Any) -> tuple[int | None, np.ndarray] | None:
    """(axis along which places vary, or None, their values there), if they are known."""
    varying = _varying(g, places)
    if varying is None:
        return None
    along, node = varying
    values = known_values(node)
    if values is None or values.size == 0:
        return None
    return along, values.astype(np.int64).reshape(-1)


def _slice(g: Any, x: Any, lows: list[int], highs: list[int]) -> Any:
    """A slice of one element of the last axis, of a part of a concatenation if that is one."""
    axis = len(lows) - 1
    if x.op == "concat" and x.attrs[0] == axis and all(p.shape[axis] == 1 for p in x.args):
        return x.args[lows[axis]]
    return g.slice(x, lows, highs)


def _varying(g: Any, node: Any) -> tuple[int | None, Any] | None:
    """(axis, vector) that is repeated along all other axes of a node; axis None: a single place."""
    while True:
        wide = [axis for axis, n in enumerate(node.shape) if n != 1]
        if len(wide) <= 1:
            return (wide[0] if wide else None), node
        if node.op == "reshape":
            moved = _without_units(g, node)
            if moved is None:
                return None
            node = moved
        if node.op != "broadcast":
            return None
        inner, dims = node.args[0], node.attrs[0]
        wide = [d for d, n in zip(dims, inner.shape, strict=True) if n != 1]
        if len(wide) > 1:
            return None
        return (wide[0] if wide else None), inner


def _without_units(g: Any, node: Any) -> Any:
    """A reshape of a broadcast that adds or drops axes of one element, as a broadcast; or None."""
    inner = node.args[0]
    here, there = ([axis for axis, n in enumerate(x.shape) if n != 1] for x in (node, inner))
    same = [node.shape[a] for a in here] == [inner.shape[a] for a in there]
    if inner.op != "broadcast" or not same:
        return None
    axes = dict(zip(there, here, strict=True))
    source, dims = inner.args[0], inner.attrs[0]
    kept = [(axes[d], n) for d, n in zip(dims, source.shape, strict=True) if d in axes]
    small = g.reshape(source, tuple([n for _, n in kept]))
    return g.broadcast(small, node.shape, [d for d, _ in kept])


def _inside(values: np.ndarray, n: int, mode: str) -> np.ndarray | None:
    if mode == "fill" and (values.min() < 0 or values.max() >= n):
        return None
    return np.clip(values, 0, n - 1)


def take(g: Any, x: Any, axis: int, values: np.ndarray) -> Any:
    """Elements of an axis at known places: few slices, or such as repeat; or None."""
    runs = runs_of(values)
    if runs is not None:
        return g.concat([_piece(g, x, axis, run) for run in runs], axis)
    repeated = _repeated(values)
    if repeated is None:
        return None
    runs, extra = repeated
    y = g.concat([_piece(g, x, axis, run) for run in runs], axis)
    axis_of_copies = axis + extra
    wide = list(y.shape)
    wide.insert(axis_of_copies, len(values) // y.shape[axis])
    y = g.broadcast(y, wide, [a for a in range(len(wide)) if a != axis_of_copies])
    return g.reshape(y, (*x.shape[:axis], len(values), *x.shape[axis + 1 :]))


def _repeated(values: np.ndarray) -> tuple[list[Run], int] | None:
    """(runs, 1) if each place of these occurs several times in turn, (runs, 0) if all of them do
    one after the other; or None."""
    count = _first_run(values, 0).count
    if len(values) % count == 0:
        grid = values.reshape(-1, count)
        if (grid == grid[:, :1]).all():
            runs = runs_of(grid[:, 0])
            return None if runs is None else (runs, 1)
    for count in np.flatnonzero(values == values[0])[1:MOST_RUNS]:
        if len(values) % count == 0 and (values.reshape(-1, count) == values[:count]).all():
            runs = runs_of(values[:count])
            return None if runs is None else (runs, 0)
    return None


def runs_of(values: np.ndarray) -> list[Run] | None:
    """Known places as runs of equal steps, or None if they are more than a few."""
    runs: list[Run] = []
    while not runs or runs[-1].entry + runs[-1].count < len(values):
        if len(runs) == MOST_RUNS:
            return None
        runs.append(_first_run(values, runs[-1].entry + runs[-1].count if runs else 0))
    return runs


def _first_run(values: np.ndarray, entry: int) -> Run:
    rest = values[entry:]
    if len(rest) == 1:
        return Run(entry, int(rest[0]), 1, 1)
    steps = np.diff(rest)
    others = np.flatnonzero(steps != steps[0])
    count = int(others[0]) + 1 if len(others) else len(rest)
    if count == 2 < len(rest) and abs(steps[0]) > 1:  # a jump between two runs
        return Run(entry, int(rest[0]), 1, 1)
    return Run(entry, int(rest[0]), count, int(steps[0]))


def _piece(g: Any, x: Any, axis: int, run: Run) -> Any:
    """The elements of a run."""
    if run.step == 0:
        one = _part(g, x, axis, run.first, run.first + 1)
        one = g.reshape(one, (*x.shape[:axis], *x.shape[axis + 1 :]))
        shape = (*x.shape[:axis], run.count, *x.shape[axis + 1 :])
        return g.broadcast(one, shape, [a for a in range(len(shape)) if a != axis])
    last = run.first + (run.count - 1) * run.step
    low, high = min(run.first, last), max(run.first, last)
    found = _part(g, x, axis, low, high + 1, abs(run.step))
    return g.reverse(found, [axis]) if run.step < 0 else found


def _part(g: Any, x: Any, axis: int, low: int, high: int, step: int = 1) -> Any:
    lows, highs, steps = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
    lows[axis], highs[axis], steps[axis] = low, high, step
    return g.slice(x, lows, highs, steps)


def scatter_at_known(g: Any, d: Any, mode: str, kind: str, x: Any, indices: Any,
                     updates: Any) -> Any:
    """What a scatter along one axis means, by slices; or None."""
    axes = tuple(d.scatter_dims_to_operand_dims)
    if getattr(d, "operand_batching_dims", ()) or len(axes) != 1:
        return None
    if tuple(d.inserted_window_dims) != axes or (x.dtype == "b1" and kind != "set"):
        return None
    axis = axes[0]
    others = [n for a, n in enumerate(x.shape) if a != axis]
    batch = [a for a in range(len(updates.shape)) if a not in d.update_window_dims]
    if [updates.shape[a] for a in d.update_window_dims] != others:
        return None
    found = _places(g, indices, axes)
    if found is None or any(updates.shape[a] != 1 for k, a in enumerate(batch)
                            if k != found[0].along):  # fmt: skip
        return None
    order = list(d.update_window_dims)
    order.insert(axis, batch[found[0].along or 0])
    rest = [a for a in batch if a not in order]
    updates = g.reshape(g.transpose(updates, [*rest, *order]), (*x.shape[:axis],
                        len(found[0].values), *x.shape[axis + 1 :]))  # fmt: skip
    values = found[0].values
    if mode == "clip":
        values = np.clip(values, 0, x.shape[axis] - 1)
    runs = runs_of(values)
    return None if runs is None else _put(g, kind, x, axis, runs, updates)


def _put(g: Any, kind: str, x: Any, axis: int, runs: list[Run], updates: Any) -> Any:
    """x with the updates of some runs put in."""
    inside = [_cut(run, x.shape[axis]) for run in runs]
    runs = [run for run in inside if run is not None]
    if any(abs(run.step) > 1 or run.step == 0 and kind not in ("add", "set") for run in runs):
        return None
    ends = {0, x.shape[axis]}
    for run in runs:
        ends |= set(_ends(run))
    pieces, marks = [], sorted(ends)
    for low, high in zip(marks, marks[1:], strict=False):
        here = [run for run in runs if _ends(run)[0] <= low and high <= _ends(run)[1]]
        if kind not in ("add", "set") and len(here) > 1:
            return None
        piece = _met(g, kind, x, axis, low, high, here, updates)
        pieces.append(Piece(low, high, piece, bool(here)))
    return _joined(g, x, axis, pieces)


def _joined(g: Any, x: Any, axis: int, pieces: list[Piece]) -> Any:
    """The pieces side by side, or those that are new put into x, if they are few."""
    new = [piece for piece in pieces if piece.is_new]
    is_spread = x.op == "broadcast" and x.args[0].shape == ()
    covered = sum(piece.high - piece.low for piece in new)
    if is_spread or len(new) > 1 and 2 * covered >= x.shape[axis]:
        return g.concat([piece.node for piece in pieces], axis)
    for piece in new:
        starts = [g.lit(piece.low if a == axis else 0, "i64") for a in range(len(x.shape))]
        x = g.dynamic_update_slice(x, piece.node, starts)
    return x


def _met(g: Any, kind: str, x: Any, axis: int, low: int, high: int, runs: list[Run],
         updates: Any) -> Any:
    """Places [low, high) of an axis, combined with what the runs that cover them put there."""
    found = _part(g, x, axis, low, high)
    for run in runs:
        part = _put_by(g, kind, run, axis, low, high, updates)
        found = part if kind == "set" else g.ew(kind, found, part)
    return found


def _put_by(g: Any, kind: str, run: Run, axis: int, low: int, high: int, updates: Any) -> Any:
    """The updates of a run that belong to places [low, high)."""
    if run.step == 0:
        last = run.entry + run.count
        part = _part(g, updates, axis, last - 1 if kind == "set" else run.entry, last)
        if part.shape[axis] == 1:
            return part
        return g.expand_dims(g.reduce("sum", part, (axis,)), axis)
    if run.step > 0:
        first = run.entry + low - run.first
        return _part(g, updates, axis, first, first + high - low)
    first = run.entry + run.first - (high - 1)
    return g.reverse(_part(g, updates, axis, first, first + high - low), [axis])


def _ends(run: Run) -> tuple[int, int]:
    """The least place and the one behind the greatest, of steps of at most one."""
    last = run.first + (run.count - 1) * run.step
    return min(run.first, last), max(run.first, last) + 1


def _cut(run: Run, n: int) -> Run | None:
    """The entries of a run whose places are in [0, n), others are dropped; None if none is."""
    places = run.first + run.step * np.arange(run.count)
    inside = np.flatnonzero((places >= 0) & (places < n))
    if not len(inside):
        return None
    skipped, count = int(inside[0]), len(inside)
    step = run.step if count > 1 else 1
    return Run(run.entry + skipped, int(places[skipped]), count, step)
