"""An update that is kept only where a predicate holds: the update itself is made to depend on it.

In: `select(predicate, updated, x)` (or the other way round) with `updated` a chain of updates of x.
Out: the chain with every update masked, or None. A loop batched over lanes that stop at different
turns selects between all of its old and new state; an array into which each turn writes one row
would be copied whole at every turn, for the sake of that row.
Keeps: the value, bit for bit. Where an update is a large part of the array nothing is gained, and
nothing done.
"""

import math
from typing import Any

from ..ir.node import Node

LARGE_PART = 2  # updates of at least 1/2 of the array are left alone
LARGE_SCATTER = 4


def guarded_update(g: Any, predicate: Node, if_true: Node, if_false: Node) -> Node | None:
    """See the module's text."""
    if _leads_to(if_true, if_false):
        return _guard(g, predicate, if_true, if_false)
    if _leads_to(if_false, if_true):
        return _guard(g, g.ew("not", predicate), if_false, if_true)
    return None


def _updated(node):
    """What a node is an update of, or None."""
    if node.op == "dynamic_update_slice":
        small = node.args[1].size * LARGE_PART <= node.size
        return node.args[0] if small else None
    if node.op == "part" and node.args[0].attrs[0] == "scatter":
        operand, _, updates = node.args[0].args
        return operand if updates.size * LARGE_SCATTER <= node.size else None
    return None


def _leads_to(node, start) -> bool:
    count = 0
    while node is not None and node is not start and count < 64:
        node, count = _updated(node), count + 1
    return node is start and count > 0


def _guard(g, predicate, node, start):
    if node is start:
        return start
    operand = _guard(g, predicate, _updated(node), start)
    if operand is None:
        return None
    if node.op == "dynamic_update_slice":
        _, update, *starts = node.args
        here = g.dynamic_slice(predicate, starts, update.shape)
        old = g.dynamic_slice(operand, starts, update.shape)
        masked = g.table.intern("select", (here, update, old), update.shape, update.dtype)
        return g.dynamic_update_slice(operand, masked, starts)
    return _guard_scatter(g, predicate, node, operand)


def _guard_scatter(g, predicate, node, operand):
    """Windows where the predicate is false get an offset that drops them."""
    _, offsets, updates = node.args[0].args
    holds = _at_offsets(g, predicate, offsets, node.args[0].attrs[3])
    if holds is None:
        return None
    offsets = g.select(holds, offsets, g.full(-1, offsets.shape, offsets.dtype))
    attrs = node.args[0].attrs[2:]
    (result,) = g.call("scatter", (operand, offsets, updates), [(node.shape, node.dtype)], attrs)
    return result


def _at_offsets(g, predicate, offsets, window):
    """The predicate at each window's start, if it is the same for all of a window: a predicate of
    leading axes, spread over the others."""
    if predicate.op != "broadcast":
        return None
    shape, dims = predicate.args[0].shape, tuple(predicate.attrs[0])
    if shape == ():
        return g.broadcast(predicate.args[0], offsets.shape, ())
    row = math.prod(predicate.shape[len(dims) :])
    leading = dims == tuple(range(len(dims))) and shape == predicate.shape[: len(dims)]
    if not leading or row % window:
        return None
    count = math.prod(shape)
    lanes = g.reshape(predicate.args[0], (count,))
    where = g.ew("div", offsets, g.full(row, offsets.shape, offsets.dtype))
    attrs = ((), (0,), (), (), (0,), (1,), "clip")
    where = g.reshape(where, (*offsets.shape, 1))
    fill = g.lit(False, "b1")
    return g.table.intern("gather", (lanes, where, fill), offsets.shape, "b1", attrs)
