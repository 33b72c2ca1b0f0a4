"""Decides where every buffer lives: output, input given up by the caller, or a place in workspace.

In: a partition's ordered items and which inputs are donated. Out: a `BufferPlan`. One workspace
serves a whole call: buffers that are never alive together share memory. A copy is dropped when its
source is not needed afterwards, so that updates happen in place.
"""

from dataclasses import dataclass

import numpy as np

from .buffers import Buffer, CopyStep, KernelStep

ALIGNMENT = 64


@dataclass
class BufferPlan:
    """`place[buffer id]` = (space, index, byte offset); `donated[output]` = input it takes over;
    `forwarded[output]` = input it simply is."""

    place: dict
    workspace_bytes: int
    donated: dict
    dropped: set
    forwarded: dict
    reused: int = 0


def plan_buffers(partition, items, donated) -> BufferPlan:
    """See the module's text. `donated[i]`: whether input i may be overwritten."""
    buffers = partition.buffers
    kept = set(partition.forwarded.values())  # outputs in their own right: not to be overwritten
    donated = tuple([d and i not in kept for i, d in enumerate(donated)])
    last_read, writers = _lifetimes(items)
    storage = {b.id: partition.aliases.get(b.id, b.id) for b in buffers}
    dropped: set[int] = set()
    taken: dict[int, int] = {}
    for number, item in enumerate(items):
        for step in item.steps:
            if isinstance(step, CopyStep):
                if not _read_beside(item, step):
                    _try_merge(step, number, last_read, writers, donated, storage, taken, dropped)
    _reuse_donated(partition, items, last_read, donated, storage, taken)
    place = {b.id: (b.kind, b.index, 0) for b in buffers if b.kind in ("in", "const")}
    temps = _temporary_spans(buffers, items, storage)
    offsets, total = _pack(temps)
    for b in buffers:
        root = _find(storage, b.id)
        owner = buffers[root]
        if owner.kind == "out":
            place[b.id] = ("out", owner.index, 0)
        elif b.kind == "temp":
            place[b.id] = ("work", 0, offsets.get(root, 0))
    outputs = {}
    for out_id, input_index in taken.items():
        outputs[buffers[out_id].index] = input_index
    return BufferPlan(place, total, outputs, dropped, partition.forwarded, len(dropped))


def _find(storage, i):
    while storage[i] != i:
        i = storage[i]
    return i


def _lifetimes(items):
    last_read: dict[int, int] = {}
    writers: dict[int, list[int]] = {}
    for number, item in enumerate(items):
        for step in item.steps:
            reads, writes = step_buffers(step)
            for b in reads:
                last_read[b] = number
            for b in writes:
                writers.setdefault(b, []).append(number)
    return last_read, writers


def step_buffers(step):
    """(buffers read, buffers written) of a step."""
    if isinstance(step, CopyStep):
        return {step.source[0].id}, {step.target[0].id}
    if hasattr(step, "reads"):
        return set(step.reads), set(step.writes)
    if isinstance(step, KernelStep):
        everything = {b.id for b in step.buffers}
    else:
        everything = {b.id for b, _ in step.refs}
    return everything - step.writes, set(step.writes)


def _read_beside(item, copy) -> bool:
    """Whether another step of the item reads the copy's source (an update computed from it)."""
    source = copy.source[0].id
    return any(source in step_buffers(s)[0] for s in item.steps if s is not copy)


def _is_whole(step) -> bool:
    (source, a), (target, b) = step.source, step.target
    return a == 0 and b == 0 and step.nbytes == source.nbytes == target.nbytes


def _try_merge(step, number, last_read, writers, donated, storage, taken, dropped) -> None:
    """source and target become one place in memory if the source is not read afterwards."""
    source, target = step.source[0], step.target[0]
    if not _is_whole(step) or writers[target.id][0] != number or last_read[source.id] > number:
        return
    if source.kind == "temp" and _find(storage, source.id) == source.id:
        if len(set(writers.get(source.id, []))) != 1:
            return
        storage[source.id] = target.id
        dropped.add(id(step))
    elif source.kind == "in" and target.kind == "out" and donated[source.index]:
        if source.index not in taken.values() and target.id not in taken:
            taken[target.id] = source.index
            dropped.add(id(step))


def _reuse_donated(partition, items, last_read, donated, storage, taken) -> None:
    """An elementwise kernel may write over a donated input that it reads at the same place."""
    outs = {b.id: b for b in partition.output_buffers}
    for number, item in enumerate(items):
        if len(item.steps) != 1 or not isinstance(item.steps[0], KernelStep):
            continue
        step = item.steps[0]
        kernel = step.slotted.kernel
        if kernel.stages or len(kernel.stores) != len(step.writes):
            continue
        for store in kernel.stores:
            target = step.buffers[store.buffer]
            if target.id not in outs or target.id in taken:
                continue
            source = _overwritable(step, store, number, last_read, donated, taken)
            if source is not None:
                taken[target.id] = source.index


def _overwritable(step, store, number, last_read, donated, taken) -> Buffer | None:
    target = step.buffers[store.buffer]
    for k, b in enumerate(step.buffers):
        if b.kind != "in" or not donated[b.index] or b.index in taken.values():
            continue
        if b.code != target.code or b.size != target.size or last_read[b.id] > number:
            continue
        loads = [x for x in step.used if x.op == "load" and x.attrs[0] == k]
        if all(x.attrs[1] == store.position for x in loads):
            return b
    return None


def _temporary_spans(buffers, items, storage):
    """(root buffer, bytes, first item, last item) of every place in the workspace."""
    spans: dict[int, list[int]] = {}
    for number, item in enumerate(items):
        for step in item.steps:
            for group in step_buffers(step):
                for b in group:
                    root = _find(storage, b)
                    if buffers[root].kind == "temp":
                        span = spans.setdefault(root, [number, number])
                        span[1] = number
    return [(root, buffers[root].nbytes, first, last) for root, (first, last) in spans.items()]


def _pack(temps):
    """Offsets in one workspace: first fit, largest first."""
    first, last, low, high = (np.zeros(len(temps), np.int64) for _ in range(4))
    offsets, total = {}, 0
    for i, (root, size, begin, end) in enumerate(sorted(temps, key=lambda t: (-t[1], t[0]))):
        size = max(ALIGNMENT, -(-size // ALIGNMENT) * ALIGNMENT)
        alive = ((last[:i] >= begin) & (first[:i] <= end)).nonzero()[0]
        offset = offsets[root] = _first_gap(low[alive], high[alive], size)
        first[i], last[i], low[i], high[i] = begin, end, offset, offset + size
        total = max(total, offset + size)
    return offsets, total


def _first_gap(low, high, size) -> int:
    """The least offset at which `size` bytes are outside all of the ranges [low, high)."""
    if not len(low):
        return 0
    order = low.argsort()
    low, reached = low[order], np.maximum.accumulate(high[order])
    if low[0] >= size:
        return 0
    fits = (low[1:] - reached[:-1] >= size).nonzero()[0]
    return int(reached[fits[0]] if len(fits) else reached[-1])
