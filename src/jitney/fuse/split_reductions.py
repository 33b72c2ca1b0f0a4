"""Cuts long reductions into pieces, which threads share: reduce(x) becomes reduce(partial(x)).

In: a reduction of the graph. Out: whether it should be cut, and the two nodes it becomes; axis 0 of
`partial` counts the pieces. Sizes alone decide, so that a sum is the same with any number of
threads. Two kinds are cut: reductions to a few elements, and those down long columns, whose pieces
are runs of whole rows in memory (side by side, 2000 x 1000 float32, two threads: 71 us when columns
are cut, 52 when rows are).
"""

import math

from ..ir.node import Node

SPLIT_SIZE = 32768  # reductions of at least this many elements and few rows are split
SPLIT_ROWS = 64
PIECE = 16384
COLUMNS_SIZE = 1 << 19  # elements from which columns are cut: less is done before a thread wakes
COLUMNS_PIECE = 1 << 17
LONG_COLUMN, WIDE = 512, 4096  # more columns are cut themselves, and rows stay long runs of memory


def should_split(node: Node, is_row: bool) -> bool:
    """Whether a reduction is cut (rule 5 of the partition). `is_row`: a kernel's rows are its
    results; one that goes through columns again keeps them at hand instead (softmax of columns)."""
    size, rows = node.args[0].size, max(1, node.size)
    if node.args[0].op == "partial":
        return False
    return rows < SPLIT_ROWS and size // rows >= SPLIT_SIZE or is_row and _has_long_columns(node)


def _has_long_columns(node: Node) -> bool:
    axes, columns, size = node.attrs[1], node.size, node.args[0].size
    return (
        SPLIT_ROWS <= columns < WIDE
        and axes == tuple(range(len(axes)))
        and size >= max(COLUMNS_SIZE, LONG_COLUMN * columns)
    )


def split(partition, node: Node) -> Node:
    """reduce(x) -> reduce(partial(x)): the same value from pieces."""
    kind, axes = node.attrs
    source = node.args[0]
    if axes == tuple(range(axes[0], axes[-1] + 1)) and len(axes) > 1:
        merged = math.prod(source.shape[a] for a in axes)
        shape = source.shape[: axes[0]] + (merged,) + source.shape[axes[-1] + 1 :]
        source, axes = partition.reshape(source, shape), (axes[0],)
    first = max(axes, key=lambda a: source.shape[a])
    axes = (first, *[a for a in axes if a != first]) if axes[0] != first else axes
    if axes != tuple(sorted(axes)):
        axes = tuple(sorted(axes))
    chunk = _elements_of_a_piece(node, source, axes)
    pieces = -(-source.shape[axes[0]] // chunk)
    kept = tuple([n for i, n in enumerate(source.shape) if i not in axes])
    partial = partition.table.intern(
        "partial", (source,), (pieces, *kept), node.dtype, (kind, axes, chunk)
    )
    partition.request(partial)
    return partition.table.intern("reduce", (partial,), node.shape, node.dtype, (kind, (0,)))


def _elements_of_a_piece(node: Node, source: Node, axes) -> int:
    """How much of the first reduced axis a piece has."""
    extent = source.shape[axes[0]]
    size, piece = math.prod(source.shape[a] for a in axes), PIECE
    if node.size >= SPLIT_ROWS:
        size, piece = source.size, COLUMNS_PIECE
    pieces = min(extent, 256, max(2, size // piece))
    return -(-extent // pieces)
