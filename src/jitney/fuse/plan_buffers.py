"""Decides where every buffer lives: output, input given up by the caller, or a place in workspace.

In: a partition's ordered items and which inputs are donated. Out: a `BufferPlan`. One workspace
serves a whole call: buffers that are never alive together share memory. What an elementwise kernel
turns into a large output has its place there, and until it is written its memory serves other
temporaries, too. A copy is dropped when its source is not needed afterwards, so that updates happen
in place.
"""

from dataclasses import dataclass

import numpy as np

from .buffers import CopyStep, KernelStep, step_buffers
from .end_runs import meets_twice

ALIGNMENT = 64
LENT_BYTES = 1 << 18  # smaller outputs are not worth the search


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
    _reuse_donated(partition, items, last_read, donated, taken)
    _end_in_outputs(partition, items, last_read, writers, storage, taken)
    place = {b.id: (b.kind, b.index, 0) for b in buffers if b.kind in ("in", "const")}
    spans = _spans(items, storage)
    temps = [(i, buffers[i].nbytes, *span) for i, span in spans.items()
             if buffers[i].kind == "temp"]  # fmt: skip
    lent = _lend_outputs(partition, temps, spans, taken)
    offsets, total = _pack([t for t in temps if t[0] not in lent])
    for b in buffers:
        root = _find(storage, b.id)
        owner = buffers[root]
        if owner.kind == "out":
            place[b.id] = ("out", owner.index, 0)
        elif b.kind == "temp":
            place[b.id] = lent.get(root) or ("work", 0, offsets.get(root, 0))
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


def _reuse_donated(partition, items, last_read, donated, taken) -> None:
    """An elementwise kernel may write over a donated input that it reads at the same place."""
    for number, step, store, target in _elementwise_outputs(partition, items):
        if target.id in taken:
            continue
        for k, b in enumerate(step.buffers):
            if b.kind != "in" or not donated[b.index] or b.index in taken.values():
                continue
            if last_read[b.id] <= number and _is_read_where_written(step, k, store):
                taken[target.id] = b.index
                break


def _end_in_outputs(partition, items, last_read, writers, storage, taken) -> None:
    """A temporary that an elementwise kernel turns into a large output is made in its memory."""
    shared = {i for pair in storage.items() if pair[0] != pair[1] for i in pair}
    for number, step, store, target in _elementwise_outputs(partition, items):
        if target.nbytes < LENT_BYTES or target.id in taken or target.id in shared:
            continue
        if writers[target.id] != [number]:
            continue
        for k, b in enumerate(step.buffers):
            if b.kind != "temp" or b.id in shared or len(set(writers[b.id])) != 1:
                continue
            if last_read[b.id] <= number and _is_read_where_written(step, k, store):
                storage[b.id] = target.id
                shared |= {b.id, target.id}
                break


def _elementwise_outputs(partition, items):
    """(number of the item, step, store, output written) of kernels without sums."""
    outs = {b.id for b in partition.output_buffers}
    for number, item in enumerate(items):
        if len(item.steps) != 1 or not isinstance(item.steps[0], KernelStep):
            continue
        step = item.steps[0]
        kernel = step.slotted.kernel
        if kernel.stages or len(kernel.stores) != len(step.writes):
            continue
        for store in kernel.stores:
            target = step.buffers[store.buffer]
            if target.id in outs:
                yield number, step, store, target


def _is_read_where_written(step, k, store) -> bool:
    """Whether a kernel reads its buffer k nowhere but at the element it then writes."""
    if meets_twice(step.slotted.kernel):
        return False
    source, target = step.buffers[k], step.buffers[store.buffer]
    loads = [x for x in step.used if x.op == "load" and x.attrs[0] == k]
    alike = source.code == target.code and source.size == target.size
    return alike and all(x.attrs[1] == store.position for x in loads)


def _spans(items, storage):
    """{root buffer: [first item, last item] that touches it}."""
    spans: dict[int, list[int]] = {}
    for number, item in enumerate(items):
        for step in item.steps:
            for group in step_buffers(step):
                for b in group:
                    span = spans.setdefault(_find(storage, b), [number, number])
                    span[1] = number
    return spans


def _lend_outputs(partition, temps, spans, taken) -> dict:
    """{temporary: (space, index, offset)} of those that are over before an output is written.

    Outputs have their memory from the beginning of a call; what takes over an input, or is one,
    has it filled.
    """
    found: dict = {}
    for out in partition.output_buffers:
        if out.nbytes < LENT_BYTES or out.id in taken or out.index in partition.forwarded:
            continue
        begin = spans.get(out.id, (0,))[0]
        fitting = [t for t in temps if t[0] not in found and t[3] < begin and t[1] <= out.nbytes]
        room = _Room(len(fitting))
        for root, size, first, last in sorted(fitting, key=lambda t: (-t[1], t[0])):
            offset = room.offset(size, first, last)
            if offset + size <= out.nbytes:
                room.take(offset, size, first, last)
                found[root] = ("out", out.index, offset)
    return found


def _pack(temps):
    """Offsets in one workspace: first fit, largest first."""
    room, offsets = _Room(len(temps)), {}
    for root, size, first, last in sorted(temps, key=lambda t: (-t[1], t[0])):
        offsets[root] = room.offset(size, first, last)
        room.take(offsets[root], size, first, last)
    return offsets, room.total


class _Room:
    """Memory with the ranges that are taken, and from which item to which."""

    def __init__(self, most: int):
        self.first, self.last, self.low, self.high = (np.zeros(most, np.int64) for _ in range(4))
        self.count = self.total = 0

    def offset(self, size: int, first: int, last: int) -> int:
        """The least offset that is free all the time."""
        taken = slice(self.count)
        alive = ((self.last[taken] >= first) & (self.first[taken] <= last)).nonzero()[0]
        return _first_gap(self.low[alive], self.high[alive], _aligned(size))

    def take(self, offset: int, size: int, first: int, last: int) -> None:
        i, end = self.count, offset + _aligned(size)
        self.first[i], self.last[i], self.low[i], self.high[i] = first, last, offset, end
        self.count, self.total = i + 1, max(self.total, end)


def _aligned(size: int) -> int:
    return max(ALIGNMENT, -(-size // ALIGNMENT) * ALIGNMENT)


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
