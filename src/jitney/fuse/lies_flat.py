"""Whether an array can be gone through in the order of memory, by one loop, where it is computed.

In: a partition, a node and a shape in which axes of it are merged. Out: which operations keep it
from that. What lives in buffers follows merged axes, and so do numbers that are the same
everywhere; what is spread along some axes, parts of arrays, transposes and places need an index of
each axis, and would be stored whole for such a loop.
"""

from __future__ import annotations

from typing import Any

from ..graph.elementwise import is_elementwise
from ..ir.node import Node
from .reshape_broadcast import is_reshaped, reshaped_broadcast

MOST_NODES = 64  # looked at
STORED = frozenset(
    "input const lit empty dot conv call part cumulative reduce argreduce copy".split())


def lies_flat(partition: Any, node: Node, shape: tuple[int, ...]) -> bool:
    """Whether nothing keeps a node from loops over this shape."""
    return not bends(partition, node, shape)


def bends(partition: Any, node: Node, shape: tuple[int, ...]) -> set[str]:
    """The operations that need an index of each axis; "transpose" for what is stored in another
    order, too."""
    found, seen, waiting = set[str](), {node.id}, [node]
    for x in waiting:  # grows meanwhile
        if len(seen) > MOST_NODES:
            break
        view = partition.view_of(x) if x is not node else None
        if view is not None or x.op in STORED or x is not node and x.id in partition.forced:
            if view is not None and not view.is_contiguous:
                found.add("transpose")
        elif is_reshaped(x) or is_elementwise(x):
            waiting += [a for a in x.args if a.id not in seen]
            seen.update(a.id for a in x.args)
        elif x.op != "broadcast" or not _is_flat(x, shape):
            found.add(x.op)
    return found


def _is_flat(x: Node, shape: tuple[int, ...]) -> bool:
    return x.args[0].size <= 1 or reshaped_broadcast(x, shape) is not None
