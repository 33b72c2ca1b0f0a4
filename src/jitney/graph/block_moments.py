"""Variances of long runs are taken by blocks, so that memory is read once instead of twice.

In: a graph and its node table. Out: the graph in which a sum over x and a sum of squares about
what is computed of it (their mean, as a rule) are made of sums over blocks: with c_b near the mean
of block b of L elements, r_b its sum of (x - c_b) and q_b its sum of squares,

    sum x = sum_b [ L c_b + r_b ],   sum (x - m)^2 = sum_b [ q_b + 2 (c_b - m) r_b + L (c_b - m)^2 ]

for any m and any c_b (after Chan, Golub, LeVeque 1983, where c_b is the mean and r_b is 0). Here
c_b is the mean of a part of the block, its first f L elements, 1/16 <= f <= 1/8, which are in the
first cache when the others come. If that part lies by D from the rest, c_b lies by (1 - f) D from
the block's mean, and the block's own sum of squares is at least f (1 - f) L D^2: so q_b, about c_b,
is no more than 1/f times that, whatever the data, and no digits but these are lost.
Where blocks would be no whole number of runs, or rows are short enough for the caches, the graph
stays as it is. The block's three sums are marked as sums of the same rows (`Graph.together`).
"""

import math
from typing import NamedTuple

from ..ir.node import Node, NodeTable
from .graph import Graph, GraphBuilder, with_operands

BLOCKS = (8192, 1024)  # elements of a block: at most (32 KiB of float32) and at least
LEAST_RUN = 512  # ... where runs of memory are short because other axes lie around them
LEAST_SIZE, LEAST_AROUND = 1 << 15, 1 << 19  # elements of a run; or read in all, if around
FEW_ROWS, LONG_ROW = 64, 1 << 16  # long rows, if they are many, are read once by kernels of rows
LEAST_BLOCKS = 16
PART = 8  # the least part of a block, or up to half of that, that its first mean is taken of
NEAR = 8  # nodes between the sum and the mean


class Moments(NamedTuple):
    """A sum of squares `total` of source - mean, and the sum `first` that the mean is made of."""

    source: Node
    axes: tuple[int, ...]
    first: Node
    mean: Node  # as large as a result
    total: Node
    length: int  # of a block


def block_moments(graph: Graph, table: NodeTable) -> Graph:
    """See the module's text."""
    nodes = graph.nodes()
    found = [m for m in map(_moments, nodes) if m is not None]
    if not found:
        return graph
    builder = GraphBuilder()
    builder.table = table
    sums = {m.first.id: m for m in found}
    totals = {m.total.id: m for m in found}
    new: dict[int, Node] = {}
    result = Graph(graph.inputs, graph.constants, [], graph.name)
    for node in nodes:
        args = tuple([new[a.id] for a in node.args])
        m = sums.get(node.id) or totals.get(node.id)
        if m is not None:
            blocks = _blocks(builder, m, new[m.source.id], result.together)
            new[node.id] = (
                _first(builder, m, blocks) if node is m.first
                else _total(builder, m, blocks, new[m.mean.id])
            )
        else:
            new[node.id] = with_operands(table, node, args)
    result.outputs = [new[n.id] for n in graph.outputs]
    result.effects = [new[n.id] for n in graph.effects]
    return result


# ---------------------------------------------------------------------- what is looked for
def _moments(node: Node) -> Moments | None:
    """The parts of a sum of squares about a mean, if it should be taken by blocks."""
    if node.op != "reduce" or node.attrs[0] != "sum" or node.dtype not in ("f32", "f64"):
        return None
    square, axes = node.args[0], node.attrs[1]
    if square.op != "mul" or square.args[0] is not square.args[1]:
        return None
    difference = square.args[0]
    if difference.op != "sub":
        return None
    for source, spread in (difference.args, difference.args[::-1]):
        if spread.op != "broadcast" or spread.args[0].size != node.size:
            continue
        first = _sum_below(spread.args[0], source, axes)
        length = _block_length(source.shape, axes)
        if first is not None and length is not None:
            return Moments(source, axes, first, spread.args[0], node, length)
    return None


def _sum_below(mean: Node, source: Node, axes) -> Node | None:
    """The sum over the same axes that a mean is computed of."""
    waiting, seen = [mean], set[int]()
    for node in waiting:  # grows meanwhile
        if node.op == "reduce" and node.attrs == ("sum", axes) and node.args[0] is source:
            return node
        if node.id in seen or node.size > mean.size or len(seen) >= NEAR:
            continue
        seen.add(node.id)
        waiting.extend(node.args)
    return None


def _block_length(shape: tuple[int, ...], axes: tuple[int, ...]) -> int | None:
    """Elements of a block of the last axes, all of which are reduced; None: leave it."""
    inner = _inner(shape, axes)
    run, size = math.prod([shape[a] for a in inner]), math.prod(shape)
    reduced = math.prod([shape[a] for a in axes])
    rows = size // reduced if reduced else 0
    around = len(inner) < len(axes)
    if not inner or rows == 0:
        return None
    if around and (run < LEAST_RUN or size < LEAST_AROUND):
        return None
    if not around and (run < LEAST_SIZE or rows >= FEW_ROWS and run <= LONG_ROW):
        return None
    most, least = BLOCKS
    fewest = max(-(-run // most), -(-LEAST_BLOCKS * run // reduced))  # blocks of a run
    if fewest <= 1:
        return run
    return next((run // n for n in range(fewest, run // least + 1) if run % n == 0), None)


def _inner(shape: tuple[int, ...], axes: tuple[int, ...]) -> list[int]:
    """Those of the reduced axes that nothing follows which stays: together, runs of memory."""
    return [a for a in axes if set(range(a, len(shape))) <= set(axes)]


# ---------------------------------------------------------------------- what it becomes
class Blocks(NamedTuple):
    """What is known of every block: c_b, r_b, q_b and L of the module's text."""

    centre: Node
    rest: Node
    squares: Node
    length: Node


def _blocks(g: GraphBuilder, m: Moments, source: Node, together: dict) -> Blocks:
    before = source.shape[: len(source.shape) - len(_inner(source.shape, m.axes))]
    run = math.prod(source.shape[len(before) :])
    x = g.reshape(source, (*before, run // m.length, m.length))
    rows = x.shape[:-1]
    part = 1 << (m.length // PART).bit_length() - 1
    first = g.slice(x, (0,) * len(x.shape), (*rows, part), (1,) * len(x.shape))
    sums = _row_sum(g, first)
    centre = _if_finite(g, g.div(sums, g.full(float(part), rows, x.dtype)))
    apart = g.sub(x, g.broadcast(centre, x.shape, range(len(rows))))
    rest, squares = _row_sum(g, apart), _row_sum(g, g.mul(apart, apart))
    group = frozenset((sums.id, rest.id, squares.id))
    together.update(dict.fromkeys(group, group))
    return Blocks(centre, rest, squares, g.full(float(m.length), rows, x.dtype))


def _if_finite(g: GraphBuilder, x: Node) -> Node:
    """0 instead of an infinity, from which the others would lie infinitely far, and of NaN."""
    is_finite = g.compare("lt", g.ew("abs", x), g.full(math.inf, x.shape, x.dtype))
    return g.select(is_finite, x, g.full(0.0, x.shape, x.dtype))


def _row_sum(g: GraphBuilder, x: Node) -> Node:
    return g.table.intern("reduce", (x,), x.shape[:-1], x.dtype, ("sum", (len(x.shape) - 1,)))


def _all_blocks(g: GraphBuilder, m: Moments, x: Node) -> Node:
    """The sum of what blocks have, over those that belong to a result."""
    axes = tuple([a for a in range(len(x.shape)) if a in m.axes or a == len(x.shape) - 1])
    return g.table.intern("reduce", (x,), m.total.shape, x.dtype, ("sum", axes))


def _first(g: GraphBuilder, m: Moments, b: Blocks) -> Node:
    return _all_blocks(g, m, g.add(b.rest, g.mul(b.length, b.centre)))


def _total(g: GraphBuilder, m: Moments, b: Blocks, mean: Node) -> Node:
    rows = b.centre.shape
    kept = [a for a in range(len(rows) - 1) if a not in m.axes]
    shift = g.sub(b.centre, g.broadcast(g.reshape(mean, m.total.shape), rows, kept))
    twice = g.mul(g.full(2.0, rows, b.rest.dtype), b.rest)
    return _all_blocks(g, m, g.add(b.squares, g.mul(shift, g.add(twice, g.mul(b.length, shift)))))
