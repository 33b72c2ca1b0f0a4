"""Adds the steps that compute nodes into their views, by whatever means their operation has.

In: roots (nodes and the views they belong in). Out: an item's steps: those of a maker registered
for the operation or for elementwise roots, a copy of what lives elsewhere, or a fused kernel.
"""

from __future__ import annotations

from typing import Any

from ..graph.elementwise import is_elementwise
from ..ir.node import Node
from .buffers import CopyStep, Item, View
from .write_kernel import emit_kernel

STEP_MAKERS: dict = {}
ROOT_MAKERS: list = []


def step_maker(op: str):
    """Registers `maker(partition, node, view, item)` for an operation that cannot be pulled."""

    def register(maker):
        STEP_MAKERS[op] = maker
        return maker

    return register


def root_maker(maker):
    """Registers `maker(partition, node, view, item) -> bool`: adds the steps of an elementwise root
    that is to be stored and answers True, or leaves it to a kernel."""
    ROOT_MAKERS.append(maker)
    return maker


def emit_roots(partition: Any, roots, beside=()) -> None:
    """Adds the item that computes the root(s) into their view(s), and arrays beside them."""
    node, view = roots[0]
    maker = STEP_MAKERS.get(node.op)
    item = Item([])
    if node.op != "call" and node.size == 0:
        item.writes.add(view.buffer.id)
    elif maker is not None:
        others = [roots[1:]] if len(roots) > 1 else []  # of concatenations
        maker(partition, node, view, item, *others)
    elif not _is_made_otherwise(partition, roots, item):
        emit_kernel(partition, roots, item, beside=beside)
    together = [n for n, _ in (*roots, *beside)]
    if len(together) > 1:
        item.merged = tuple([n.id for n in together])
        partition.computed_with.update(dict.fromkeys(item.merged, together))
    partition.items.append(item)


def _is_made_otherwise(partition: Any, roots, item: Item) -> bool:
    node, view = roots[0]
    return len(roots) == 1 and is_elementwise(node) and any(
        [maker(partition, node, view, item) for maker in ROOT_MAKERS]
    )


def emit_into(partition: Any, node: Node, view: View, item: Item) -> None:
    """Adds steps that put the value of a node (wherever it lives) into a view."""
    if view.buffer.size == 0 or node.size == 0 or node.op == "empty":
        item.writes.add(view.buffer.id)
        return
    source = partition.request(node) if node.op == "part" else partition.view_of(node)
    if source is not None and source.is_contiguous and view.is_contiguous:
        width = view.buffer.nbytes // view.buffer.size
        begin, end = source.offset * width, view.offset * width
        item.add(CopyStep((source.buffer, begin), (view.buffer, end), node.size * width))
        return
    emit_kernel(partition, [(node, view)], item)
