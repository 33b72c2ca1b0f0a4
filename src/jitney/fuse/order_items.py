"""In which order the items of a partition run.

In: items, each with the buffers it reads and writes. Out: the same items, every buffer written
before it is read; or that there is no such order.
"""

from .buffers import Item


def is_circular(items: list[Item]) -> bool:
    """Whether two items wait for each other: one kernel for several outputs (rule 6 of the
    partition) may need an output of a second one that needs an output of the first."""
    writer = _writers(items)
    needs = {
        id(item): {id(writer[b]) for b in item.reads if b in writer} - {id(item)} for item in items
    }
    readers: dict[int, list[int]] = {}
    for reader, needed in needs.items():
        for i in needed:
            readers.setdefault(i, []).append(reader)
    missing = {i: len(needed) for i, needed in needs.items()}
    free = [i for i, count in missing.items() if not count]
    done = 0
    while free:
        done += 1
        for reader in readers.get(free.pop(), ()):
            missing[reader] -= 1
            if not missing[reader]:
                free.append(reader)
    return done < len(missing)


def order_items(items: list[Item]) -> list[Item]:
    """Items so that every buffer is written before it is read."""
    writer = _writers(items)
    order: list[Item] = []
    seen: set[int] = set()
    for root in items:
        if id(root) in seen:
            continue
        seen.add(id(root))
        stack = [(root, iter(sorted(root.reads)))]
        while stack:
            item, reads = stack[-1]
            for b in reads:
                needed = writer.get(b)
                if needed is not None and needed is not item and id(needed) not in seen:
                    seen.add(id(needed))
                    stack.append((needed, iter(sorted(needed.reads))))
                    break
            else:
                order.append(item)
                stack.pop()
    return order


def _writers(items) -> dict[int, Item]:
    return {b: item for item in items for b in item.writes}
