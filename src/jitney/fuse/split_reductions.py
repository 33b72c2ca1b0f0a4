"""Cuts long reductions into pieces, which threads share: reduce(x) becomes reduce(partial(x)).

In: a reduction of the graph. Out: whether it should be cut, and the two nodes it becomes; axis 0 of
`partial` counts the pieces. Sizes alone decide, so that a sum is the same with any number of
threads. Two kinds are cut: reductions to a few elements, and those down long columns, whose pieces
are runs of whole rows in memory (sums of 20000 x 100 float32 by one thread: 122 us instead of 280).
Reductions around an axis that stays (the mean of each channel of many images) are two, in the order
of memory: 95 us instead of 113 by one thread for a cube of 128. So are those along several axes of
what cannot be gone through as if these were one (lies_flat.py): it would be stored whole. Of a loss
that is the mean of all and its gradient, whose rows are normalized, rows are gone through once
(same_rows.py). (A Zen 5, two threads and one, by turns: (x * w).sum() of 1024 x 1024 by rows .24
and .39 of the time, entropies of 4096 x 768 and their gradient .24 and .26, channels of scaled
images .29 and .34; from memory a weighted sum of layer norm and its gradients 1.10 and 1.12.)
"""

import math

from ..ir.node import Node
from .lies_flat import bends, lies_flat

SPLIT_SIZE = 32768  # reductions of at least this many elements and few rows are split
SPLIT_ROWS = 64
# The same along the last axes: so many rows are enough for threads to share, and in one kernel they
# are read once (a Zen 5, one thread and two, by turns: log-sum-exp of 32 x 50257 .45 and .44 of the
# time, its softmax .64 and .44, its logarithm .60 and .40).
SPLIT_RUNS = 16
LEAST_COLUMNS = 16  # that are reduced row by row: vectors of them are filled
PIECE = 16384
COLUMNS_SIZE = 1 << 19  # elements from which columns are cut: less is done before a thread wakes
COLUMNS_PIECE = 1 << 16  # of twice that 1000 x 1000 has seven, and one of two threads four
LONG_RUN = 1024  # elements of a run that are enough: a longer one takes as long
SHORT_RUN = 64  # elements of a run below which what is summed in the order of memory is little
LINES = 64  # elements: pieces of a run have whole cache lines, which may go past the caches
ROWS = 16  # taken at a time down columns: pieces have whole such groups
LONG_COLUMN, WIDE = 512, 4096  # more columns are cut themselves, and rows stay long runs of memory
LARGE, WIDEST = 1 << 22, 1 << 16  # elements that come from memory: there whole rows come soonest
ROWS_OF_WIDE, LEAST_PIECES = 128, 8
# What is sooner stored than read row by row: columns, and borders that each element is asked for.
DEAR_IN_ROWS = {"transpose", "pad"}


def should_split(node: Node, is_row: bool) -> bool:
    """Whether a reduction is cut (rule 5 of the partition). `is_row`: a kernel's rows are its
    results; one that goes through columns again keeps them at hand instead (softmax of columns)."""
    size, rows = node.args[0].size, max(1, node.size)
    if node.args[0].op == "partial":
        return False
    if rows < _rows_split(node) and size // rows >= SPLIT_SIZE:
        return True
    return is_row and (_has_long_columns(node) or _is_around(node))


def _rows_split(node: Node) -> int:
    """The number of results from which on long reductions to them are not cut."""
    axes, rank = node.attrs[1], len(node.args[0].shape)
    return SPLIT_RUNS if axes == tuple(range(rank - len(axes), rank)) else SPLIT_ROWS


def _has_long_columns(node: Node) -> bool:
    axes, columns, size = node.attrs[1], node.size, node.args[0].size
    return (
        LEAST_COLUMNS <= columns < (WIDE if size < LARGE else WIDEST)
        and axes == tuple(range(len(axes)))
        and size >= max(COLUMNS_SIZE, LONG_COLUMN * columns)
    )


def _is_around(node: Node) -> bool:
    """Whether axes around those that stay are reduced, the last ones by runs of memory."""
    axes, source = node.attrs[1], node.args[0]
    inner = _last_axes(axes, len(source.shape))
    run = math.prod(source.shape[a] for a in inner)
    return len(inner) < len(axes) and run >= SHORT_RUN and source.size >= COLUMNS_SIZE


def _last_axes(axes, rank: int) -> tuple[int, ...]:
    """Those of the reduced axes that nothing follows which stays."""
    return tuple([a for a in axes if set(range(a, rank)) <= set(axes)])


def split(partition, node: Node) -> Node:
    """reduce(x) -> reduce(partial(x)): the same value from pieces."""
    kind, axes = node.attrs
    source = node.args[0]
    if node.size >= SPLIT_ROWS and _is_around(node):
        return _inner_first(partition, node, _last_axes(axes, len(source.shape)))
    inner = _runs(partition, node)
    if inner is not None:
        return _inner_first(partition, node, inner)
    if axes == tuple(range(axes[0], axes[-1] + 1)) and len(axes) > 1:
        source, axes = partition.reshape(source, _merged(source.shape, axes)), (axes[0],)
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
    partition.origins[partial.id] = node
    partition.request(partial)
    return partition.table.intern("reduce", (partial,), node.shape, node.dtype, (kind, (0,)))


def _runs(partition, node: Node) -> tuple[int, ...] | None:
    """The last of the axes that are reduced, if these cannot be gone through as one: as many as can
    be, or are enough."""
    axes, source = node.attrs[1], node.args[0]
    if len(axes) < 2 or axes != tuple(range(axes[0], axes[-1] + 1)):
        return None
    found = bends(partition, source, _merged(source.shape, axes))
    if not found or found & DEAR_IN_ROWS:
        return None
    count = 1
    while count + 1 < len(axes):
        more = axes[-count - 1 :]
        is_enough = math.prod(source.shape[a] for a in more[1:]) >= LONG_RUN
        if is_enough or not lies_flat(partition, source, _merged(source.shape, more)):
            break
        count += 1
    return axes[-count:]


def _merged(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with neighbouring axes as one."""
    extent = math.prod(shape[axes[0] : axes[-1] + 1])
    return (*shape[: axes[0]], extent, *shape[axes[-1] + 1 :])


def _inner_first(partition, node: Node, inner: tuple[int, ...]) -> Node:
    """The last axes first, in the order of memory, then the others of their results."""
    kind, axes = node.attrs
    source = node.args[0]
    kept = source.shape[: inner[0]] + source.shape[inner[-1] + 1 :]
    first = partition.table.intern("reduce", (source,), kept, node.dtype, (kind, inner))
    partition.origins[first.id] = node
    partition.request(first)
    others = axes[: len(axes) - len(inner)]
    return partition.table.intern("reduce", (first,), node.shape, node.dtype, (kind, others))


def _elements_of_a_piece(node: Node, source: Node, axes) -> int:
    """How much of the first reduced axis a piece has."""
    extent = source.shape[axes[0]]
    size, piece = math.prod(source.shape[a] for a in axes), PIECE
    is_wide = node.size >= SPLIT_ROWS or _has_long_columns(node)
    if is_wide:
        size, piece = source.size, COLUMNS_PIECE
    pieces = min(extent, 256, max(2, size // piece))
    if node.size >= WIDE:
        pieces = max(LEAST_PIECES, extent // ROWS_OF_WIDE)
    chunk = -(-extent // pieces)
    if is_wide:
        return -(-chunk // ROWS) * ROWS
    is_run = axes[0] == len(source.shape) - 1
    return -(-chunk // LINES) * LINES if is_run and chunk > LINES else chunk
