"""Loop state updated in place: which buffers of a turn are one place in memory.

In: the steps of one turn of a loop, and for each part of the state the buffer it lives in and the
buffer of its next value. Out: fewer steps, and `partition.aliases`: buffers that share memory.
[Note: in place] Two buffers may be one when whatever reads the old content runs before the first
write of the new one, or is the kernel that writes it and reads it at the same place only. A copy
from one to the other is then nothing. A branch overwrites in place when each of its branches does.
Keeps: every step reads the values it read before.
"""

import heapq

from .buffers import CopyStep, KernelStep, step_buffers
from .end_runs import meets_twice

MAX_ORDERING = 50000  # items times parts of the state beyond which the order is left alone


def root_of(aliases, number: int) -> int:
    while number in aliases:
        number = aliases[number]
    return number


def touched_roots(aliases, step):
    """(places read, places written) of a step."""
    reads, writes = step_buffers(step)
    return (
        {root_of(aliases, b) for b in reads},
        {root_of(aliases, b) for b in writes},
    )


def is_whole_copy(step) -> bool:
    """Whether a step copies all of a buffer to another of its size."""
    if not isinstance(step, CopyStep):
        return False
    (source, a), (target, b) = step.source, step.target
    return a == 0 and b == 0 and step.nbytes == source.nbytes == target.nbytes


def is_copy(step, source, target) -> bool:
    """Whether a step copies all of one buffer to the other."""
    return is_whole_copy(step) and step.source[0] is source and step.target[0] is target


def update_in_place(aliases, steps, pairs) -> list:
    """The steps of a turn without the copies that became nothing, and with those still needed.

    `pairs`: (buffer of the state, buffer of its next value).
    """
    steps = merge_copies(aliases, steps, pairs)
    copies = []
    for old, new in pairs:
        if root_of(aliases, new.id) == root_of(aliases, old.id):
            continue
        dropped = overwrites(aliases, steps, old.id, new.id)
        if dropped is None or root_of(aliases, new.id) != new.id:
            copies.append(CopyStep((new, 0), (old, 0), new.nbytes))
            continue
        _drop(dropped)
        aliases[new.id] = old.id
    return [*steps, *copies]


def _drop(dropped) -> None:
    for steps, step in dropped:
        steps[:] = [s for s in steps if s is not step]


def merge_copies(aliases, steps, pairs) -> list:
    """Copies whose target may be the place of their source: a part of the state that will be
    overwritten by its next value, or a buffer that these steps filled themselves."""
    steps = list(steps)
    states = {old.id for old, _ in pairs}
    owner = {new.id: old.id for old, new in pairs}
    filled: set[int] = set()
    for step in list(steps):
        if is_whole_copy(step) and step.target[0].kind == "temp":
            source, target = step.source[0].id, step.target[0].id
            home = root_of(aliases, source)
            # the next value of another part of the state is copied there after all steps: by then
            # this part's own next value may be here
            mine = owner.get(target, home) == home if home in states else source in filled
            if mine and target not in states and target not in aliases:
                dropped = overwrites(aliases, steps, source, target)
                if dropped is not None:
                    _drop(dropped)
                    aliases[target] = source
        filled |= step_buffers(step)[1]
    return steps


def _copied_to(steps, pairs) -> dict:
    """For each state buffer, its next value and whatever it is copied to as a whole."""
    targets: dict[int, list[int]] = {}
    for step in steps:
        if is_whole_copy(step):
            targets.setdefault(step.source[0].id, []).append(step.target[0].id)
    found = {}
    for old, new in pairs:
        reached, stack = {new.id}, [old.id]
        while stack:
            for target in targets.get(stack.pop(), ()):
                if target not in reached:
                    reached.add(target)
                    stack.append(target)
        found[old.id] = reached
    return found


def overwrites(aliases, steps, old: int, new: int):
    """What to drop so that `new` may be at the place of `old`: [(list, step)], or None."""
    old, new = root_of(aliases, old), root_of(aliases, new)
    touched = [touched_roots(aliases, s) for s in steps]
    writers = [i for i, (_, w) in enumerate(touched) if new in w]
    if not writers:
        return None
    first, dropped = writers[0], []
    if any(new in r for r, _ in touched[:first]):
        return None
    start = first
    if _copies(aliases, steps[first], old, new):
        dropped.append((steps, steps[first]))
        start, first = first, writers[1] if len(writers) > 1 else len(steps)
    if any(old in w for _, w in touched[start:]) or any(old in r for r, _ in touched[first + 1 :]):
        return None
    if first < len(steps) and old in touched[first][0]:
        inside = _overwrites_within(aliases, steps[first], old, new)
        if inside is None:
            return None
        dropped += inside
    return dropped


def _copies(aliases, step, old: int, new: int) -> bool:
    return (
        is_whole_copy(step)
        and root_of(aliases, step.source[0].id) == old
        and root_of(aliases, step.target[0].id) == new
    )


def _overwrites_within(aliases, step, old: int, new: int):
    """The same question for one step that reads the old and writes the new."""
    if hasattr(step, "branches"):
        dropped = []
        for branch in step.branches:
            inside = overwrites(aliases, branch, old, new)
            if inside is None:
                return None
            dropped += inside
        return dropped
    return [] if _same_place(aliases, step, old, new) else None


def _same_place(aliases, step, old: int, new: int) -> bool:
    """Whether a kernel reads `old` only where it writes `new`."""
    if not isinstance(step, KernelStep) or step.slotted.kernel.stages:
        return False
    kernel = step.slotted.kernel
    if kernel.tile is not None or meets_twice(kernel):
        return False
    roots = [root_of(aliases, b.id) for b in step.buffers]
    stores = [s for s in kernel.stores if roots[s.buffer] == new]
    if len(stores) != 1:
        return False
    loads = [x for x in step.used if x.op == "load" and roots[x.attrs[0]] == old]
    return all(x.attrs[1] == stores[0].position for x in loads)


def readers_first(aliases, items, pairs) -> list:
    """The items in an order in which old values are read before they may be overwritten."""
    if len(items) * max(1, len(pairs)) > MAX_ORDERING or len(items) < 2:
        return items
    touched: list[tuple[list, list]] = [([], []) for _ in items]
    for item, (reads, writes) in zip(items, touched, strict=True):
        for step in item.steps:
            r, w = touched_roots(aliases, step)
            reads.extend(r)
            writes.extend(w)
    writer = {b: i for i, (_, writes) in enumerate(touched) for b in writes}
    after: list[set] = [set() for _ in items]
    for i, (reads, _) in enumerate(touched):
        for b in reads:
            if b in writer and writer[b] != i:
                after[writer[b]].add(i)
    copies = _copied_to([s for item in items for s in item.steps], pairs)
    for old, _ in pairs:
        overwriting = {writer[b] for b in copies[old.id] if b in writer and b != old.id}
        readers = [i for i, (reads, _) in enumerate(touched) if old.id in reads]
        for w in overwriting:
            behind = _reachable(after, w)
            for r in readers:
                if r != w and r not in behind and r not in overwriting:
                    after[r].add(w)
    return _sorted(items, after)


def _reachable(after, start: int) -> set:
    seen, stack = {start}, [start]
    while stack:
        for i in after[stack.pop()]:
            if i not in seen:
                seen.add(i)
                stack.append(i)
    return seen


def _sorted(items, after) -> list:
    """Items in the order of the edges; otherwise as they were."""
    waiting = [0] * len(items)
    for targets in after:
        for i in targets:
            waiting[i] += 1
    ready = [i for i, n in enumerate(waiting) if n == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        i = heapq.heappop(ready)
        order.append(items[i])
        for k in after[i]:
            waiting[k] -= 1
            if waiting[k] == 0:
                heapq.heappush(ready, k)
    return order if len(order) == len(items) else items
