"""Steps for matrix products: operands as strided matrices, tiny ones as fused loops.

A `dot` node becomes one batched matrix product A[b,m,k] B[b,k,n] -> C[b,m,n]. Transposes and slices
of stored operands are only strides; an operand whose axes cannot be merged that way is copied.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from ..ir.strides import contiguous_strides
from ..ir.types import kind_of, nbytes_of
from .buffers import NativeStep, View, whole
from .layout import exchanged_sides, strides_seen_from, turning_order
from .make_steps import step_maker
from .write_kernel import emit_kernel

LEAST_INSIDE = 4  # so many matrices whose elements alternate are copied apart
TINY = 1024  # products of at most this many multiplications are fused loops


class ProductKind(NamedTuple):
    """An operation that becomes a contraction: `plan(partition, node, view, tail)` gives (plan,
    view of a, view of b) or None; then `loops(partition, node)` is a node that means the same;
    `sides(node)` is how many axes are batch and rows; `depth(node)` the length of the sums."""

    plan: Callable
    loops: Callable
    sides: Callable
    depth: Callable


PRODUCTS: dict[str, ProductKind] = {}


def product_kind(op: str, kind: ProductKind) -> None:
    """Makes an operation known as a product whose results may have a tail."""
    PRODUCTS[op] = kind


@step_maker("dot")
@step_maker("conv")
def store_product(partition, node, view, item):
    kind = PRODUCTS[node.op]
    plan = kind.plan(partition, node, view, None)
    if plan is None:
        emit_kernel(partition, [(kind.loops(partition, node), view)], item)
        return
    contraction, first, second = plan
    add_contraction(partition, item, contraction, [first, second, view])


def plan_product(partition, node, view, tail=None):
    """(plan, view of a, view of b) of a product stored at `view`; None if it is to be loops."""
    (contract_a, contract_b), (batch_a, batch_b) = node.attrs
    a, b = node.args
    free_a, free_b = _rest(a, contract_a, batch_a), _rest(b, contract_b, batch_b)
    sizes = _sizes(node, a, b, free_a, free_b)
    if math.prod(sizes) <= TINY or partition.plan_contraction is None:
        return None
    left, right = (a, batch_a, free_a, contract_a), (b, batch_b, contract_b, free_b)
    return _plan(partition, node, view, left, right, sizes, tail)


def sides_of(node) -> tuple[int, int]:
    """How many axes of a product are its batch, and how many its rows; the rest are columns."""
    (contract_a, _), (batch_a, _) = node.attrs
    return len(batch_a), len(_rest(node.args[0], contract_a, batch_a))


@step_maker("transpose")
def store_transpose(partition, node, view, item):
    """A transposed product is formed in its place."""
    product = node.args[0]
    turned = product.op == "dot" and turning_order(product, partition.graph.users_of(product))
    if not turned or partition.view_of(product) is not None:
        emit_kernel(partition, [(node, view)], item)
        return
    strides = strides_seen_from(turned, view.strides)
    own = View(view.buffer, product.shape, strides, view.offset)
    partition.views[product.id] = own
    store_product(partition, product, own, item)


def _rest(x, *groups):
    taken = {axis for group in groups for axis in group}
    return tuple([axis for axis in range(len(x.shape)) if axis not in taken])


def _sizes(node, a, b, free_a, free_b):
    (contract_a, _), (batch_a, _) = node.attrs
    return (
        math.prod(a.shape[i] for i in batch_a),
        math.prod(a.shape[i] for i in free_a),
        math.prod(b.shape[i] for i in free_b),
        math.prod(a.shape[i] for i in contract_a),
    )


def _depth(node) -> int:
    (contracted, _), _ = node.attrs
    return math.prod(node.args[0].shape[axis] for axis in contracted)


def _plan(partition, node, view, left, right, sizes, tail):
    """(plan, view of a, view of b), or None if the product is to be loops."""
    place = _place_of_result(node, view, left)
    if place is None or kind_of(node.dtype) not in "fiu":
        return None
    batch, m, n, k = sizes
    a, b = _matrix(partition, *left), _matrix(partition, *right)
    inner, inner_strides = 1, (0, 0, 0)
    if a.batch is None or b.batch is None:
        inner = [e for e in (left[0].shape[axis] for axis in left[1]) if e != 1][1]
        inner_strides = (a.pair(inner)[1], b.pair(inner)[1], m * n)
    a_batch, b_batch = (a.batch, b.batch) if inner == 1 else (a.pair(inner)[0], b.pair(inner)[0])
    a_strides, b_strides = (a_batch, *a.inner), (b_batch, *b.inner)
    c_batch, codes = m * n * inner, (left[0].dtype, node.dtype)
    if place == "rows":
        plan = partition.plan_contraction(
            batch, m, n, k, *codes, a_strides, b_strides, (c_batch, n, 1),
            inner, inner_strides, tail,
        )  # fmt: skip
        return None if plan is None else (plan, a.view, b.view)
    if tail is not None:
        return None
    a_strides, b_strides = (a_batch, *a.inner[::-1]), (b_batch, *b.inner[::-1])
    plan = partition.plan_contraction(  # C' = B' A'
        batch, n, m, k, *codes, b_strides, a_strides, (c_batch, m, 1),
        inner, (inner_strides[1], inner_strides[0], inner_strides[2]),
    )  # fmt: skip
    return None if plan is None else (plan, b.view, a.view)


def _place_of_result(node, view, left) -> str | None:
    """"rows" if the result is to be stored row-major, "columns" if each of its matrices is to be
    stored column-major, None if neither."""
    if view.is_contiguous:
        return "rows"
    batch, rows = len(left[1]), len(left[2])
    order = exchanged_sides(node, batch, batch + rows)
    turned = strides_seen_from(order, contiguous_strides([node.shape[i] for i in order]))
    pairs = zip(view.strides, turned, node.shape, strict=True)
    return "columns" if all(own == wanted or n == 1 for own, wanted, n in pairs) else None


class _Matrix(NamedTuple):
    """An operand as matrices in memory. `batch` is the stride of the merged batch axes, or None
    when two batch axes lie apart: then `apart` has both strides."""

    view: View
    batch: int | None
    apart: tuple[int, int]
    inner: tuple[int, int]

    def pair(self, extent: int) -> tuple[int, int]:
        """Strides of (outer, inner) batch axis, the inner one of this extent."""
        return self.apart if self.batch is None else (self.batch * extent, self.batch)


def _matrix(partition, x, batch, first, second) -> _Matrix:
    """Axes of one group must merge into one stride; a copy makes them."""
    view = strided_view(partition, x)
    inner = _merged_stride(view, first), _merged_stride(view, second)
    merged = _merged_stride(view, batch)
    axes = [axis for axis in batch if view.shape[axis] != 1]
    fits = None not in inner and (merged is not None or len(axes) == 2)
    if fits and not _has_batch_inside(view, batch, (*first, *second)):
        apart = (view.strides[axes[0]], view.strides[axes[1]]) if merged is None else (0, 0)
        return _Matrix(view, merged, apart, inner)
    view = _arranged(partition, x, (batch, first, second))
    groups = _consecutive((batch, first, second))
    strides = [_merged_stride(view, group) for group in groups]
    return _Matrix(view, strides[0], (0, 0), (strides[1], strides[2]))


def _has_batch_inside(view, batch, inner) -> bool:
    """Whether neighbours in memory belong to different matrices, each of which is elements far
    apart: a copy takes less than to gather them (160 of 128 x 16: .72 ms, so .075)."""
    apart = [view.strides[axis] for axis in inner if view.shape[axis] != 1]
    near = any(view.strides[axis] == 1 and view.shape[axis] >= LEAST_INSIDE for axis in batch)
    return near and bool(apart) and 1 not in apart


def _consecutive(groups):
    result, start = [], 0
    for group in groups:
        result.append(tuple(range(start, start + len(group))))
        start += len(group)
    return result


def _arranged(partition, x, groups):
    order = tuple([axis for group in groups for axis in group])
    if order == tuple(range(len(order))):
        node = partition.table.intern("copy", (x,), x.shape, x.dtype)
    else:
        shape = tuple([x.shape[axis] for axis in order])
        node = partition.table.intern("transpose", (x,), shape, x.dtype, (order,))
    return partition.request(node)


def _merged_stride(view, group):
    """The stride of axes merged in this order, None if they do not merge, 0 for no axis."""
    axes = [axis for axis in group if view.shape[axis] != 1]
    for outer, inner in zip(axes, axes[1:], strict=False):
        if view.strides[outer] != view.strides[inner] * view.shape[inner]:
            return None
    return view.strides[axes[-1]] if axes else 0


def strided_view(partition, node) -> View:
    """Where a node lives, seen through transposes and slices of stored nodes."""
    view = partition.view_of(node)
    if view is not None:
        return view
    if node.op == "transpose":
        inner = strided_view(partition, node.args[0])
        p = node.attrs[0]
        return View(
            inner.buffer, node.shape, tuple([inner.strides[i] for i in p]), inner.offset
        )
    if node.op == "broadcast" and node.args[0].op != "lit" and node.args[0].shape:
        return _broadcast_view(partition, node)
    if node.op == "slice" and partition.view_of(node.args[0]) is not None:
        inner = partition.view_of(node.args[0])
        starts, steps = node.attrs
        part = inner.part(starts, node.shape)
        strides = tuple([s * t for s, t in zip(part.strides, steps, strict=True)])
        return View(part.buffer, node.shape, strides, part.offset)
    if node.op == "reshape":
        inner = strided_view(partition, node.args[0])
        if inner.is_contiguous:
            return inner.reshaped(node.shape)
    return partition.request(node)


def _broadcast_view(partition, node) -> View:
    operand = node.args[0]
    inner = strided_view(partition, operand)
    strides = [0] * len(node.shape)
    for i, d in enumerate(node.attrs[0]):
        if operand.shape[i] != 1:
            strides[d] = inner.strides[i]
    return View(inner.buffer, node.shape, tuple(strides), inner.offset)


def as_loops(partition, node):
    """The product as a reduction of an elementwise product: fused, for tiny sizes."""
    table = partition.table
    (contract_a, contract_b), (batch_a, batch_b) = node.attrs
    a, b = node.args
    free_a, free_b = _rest(a, contract_a, batch_a), _rest(b, contract_b, batch_b)
    batch = [a.shape[i] for i in batch_a]
    left, right = [a.shape[i] for i in free_a], [b.shape[i] for i in free_b]
    inner = [a.shape[i] for i in contract_a]
    shape = (*batch, *left, *inner, *right)
    nb, nl, nk = len(batch), len(left), len(inner)
    place_a = {axis: i for i, axis in enumerate((*batch_a, *free_a, *contract_a))}
    order_b = (*batch_b, *contract_b, *free_b)
    place_b = {axis: i if i < nb else i + nl for i, axis in enumerate(order_b)}
    terms = []
    for x, place in ((a, place_a), (b, place_b)):
        if x.dtype != node.dtype:
            x = table.intern("convert", (x,), x.shape, node.dtype)
        dims = tuple([place[i] for i in range(len(x.shape))])
        terms.append(table.intern("broadcast", (x,), shape, node.dtype, (dims,)))
    product = table.intern("mul", tuple(terms), shape, node.dtype)
    axes = tuple(range(nb + nl, nb + nl + nk))
    if not axes:
        return product
    kind = "sum" if node.dtype != "b1" else "or"
    return table.intern("reduce", (product,), node.shape, node.dtype, (kind, axes))


def add_contraction(partition, item, plan, views, more=()):
    """The steps of a contraction plan; operands a, b, c, its workspace, then those of its tail."""
    if plan.workspace_bytes:
        work = partition.new_buffer("u8", plan.workspace_bytes)
        views = [*views, whole(work, (plan.workspace_bytes,))]
    elif more:
        views = [*views, views[2]]
    writes = {v.buffer.id for v in views[2:]}
    refs = [(v.buffer, v.offset * nbytes_of(v.buffer.code)) for v in views] + list(more)
    for step in plan.steps:
        item.add(
            NativeStep(
                "contraction", refs, tuple(step.params), step.extent, step.grain, writes,
                plan.flops / 100.0 / max(1, len(plan.steps)), step.kernel,
            )
        )  # fmt: skip


product_kind("dot", ProductKind(plan_product, as_loops, sides_of, _depth))
