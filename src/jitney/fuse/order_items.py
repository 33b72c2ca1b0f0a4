"""In which order the items of a partition run.

In: items, each with the buffers it reads and writes, none of which wait for each other
(circles.py). Out: the same items, every buffer written before it is read.
"""

from .buffers import Item


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
