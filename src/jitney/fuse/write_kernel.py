"""The step of a fused kernel: pulled, scheduled and numbered, or found among those written before.

In: a partition and the roots that one kernel computes, with the views they belong in. Out: the
`KernelStep`, added to an item; what the kernel reads that is stored nowhere has been asked of the
partition. The passes over a kernel are listed in `_through_passes`.
"""

from __future__ import annotations

import itertools
from typing import Any

from ..ir.target import CpuTarget
from . import pull_gather, pull_views  # noqa: F401  (they register the rules)
from .add_negatives import add_negatives
from .ask_for_results import ask_for_results
from .bound_exponentials import bound_exponentials
from .buffers import Item, KernelStep, Late, MadeKernel
from .build_kernel import KernelBuilder, NeedRows, finish_kernel
from .choose_rows import choose_rows
from .contract import contract_products
from .drop_saves import drop_saves
from .find_by_blocks import find_by_blocks
from .fold_conditions import fold_conditions
from .gather_ends import gather_ends
from .guess_greatest import guess_greatest
from .kernel import Kernel, Store, live_expressions
from .move_blocks import move_blocks
from .multiply_shares import multiply_shares
from .number_slots import number_slots
from .pair_rows import pair_rows
from .pipeline_rows import pipeline_rows
from .raise_exponentials import raise_exponentials
from .raise_shares import raise_shares
from .reach_memory import reach_memory
from .reuse_kernel import Recorder, describe, remember, reuse
from .schedule import leaves_caches, schedule_kernel
from .sibling_reductions import store_beside
from .space_rows import space_rows
from .split_axes import MOST_SPLITS, NeedSplit
from .stagger_turns import stagger_turns
from .watch_less import watch_less
from .weave_rows import weave_rows
from .write_out import has_short_axis, has_short_columns, is_short_enough, short_last_axes


def emit_kernel(partition: Any, roots, item: Item, position=None, beside=()) -> None:
    """Adds a fused kernel. `position(builder, view, index)` overrides where results go; `beside`:
    what reductions store beside their results."""
    described = None
    if position is None and not beside:
        roots = _strip_reshapes(partition, roots)
        described = describe(partition, roots)
    outs = [view for _, view in roots]
    step = reuse(partition, described, outs) if described is not None else None
    if step is None:
        step = _written(partition, roots, position, described, beside)
    item.add(step)


def _strip_reshapes(partition: Any, roots):
    """Roots that only reshape: the loops run over the shape before, if it is that of all."""
    stripped = [_strip_reshape(partition, node, view) for node, view in roots]
    is_one_shape = all(node.shape == stripped[0][0].shape for node, _ in stripped)
    return stripped if is_one_shape else roots


def _strip_reshape(partition: Any, node, view):
    while node.op == "reshape" and view.is_contiguous and partition.view_of(node.args[0]) is None:
        node = node.args[0]
        view = view.reshaped(node.shape)
    return node, view


def _written(partition: Any, roots, position, described, beside) -> KernelStep:
    builder, recorder, stores, rows = _pulled(partition, roots, position, described, beside)
    step = _step_of(partition, builder, stores, roots[0][0].op)
    axes = 0
    if not beside and position is None and has_short_axis(builder):
        axes = short_last_axes(step, builder, roots) or int(has_short_columns(step, builder))
    if axes:
        other = KernelBuilder(recorder, roots, rows, axes, builder.shape)
        stores = _stores(other, roots, None)
        drop_saves(other, stores)
        written = _step_of(partition, other, stores, roots[0][0].op)
        step, builder = (written, other) if is_short_enough(written, step) else (step, builder)
    if described is not None:
        modes = tuple([mode for _, mode in builder.buffers])
        remember(described, recorder, step, modes, [view for _, view in roots])
    return step


def _pulled(partition: Any, roots, position, described, beside):
    """(the builder of a kernel, who answered it, the stores, which positions are rows, or None for
    all); it is begun again if that is asked for: once at most for its rows (see [Note: rows]), a
    few times for its shape (`split_axes.py`), and once where columns would save too much."""
    rows, shape, notes, splits = None, None, dict[tuple, None](), MOST_SPLITS
    are_columns, may_need_rows = False, True
    if beside or position is not None:
        splits = 0
    while True:
        mark = partition.mark()
        recorder = Recorder(partition, described, notes)
        builder = KernelBuilder(recorder, [*roots, *beside], rows, 0, shape, splits > 0,
                                may_need_rows)  # fmt: skip
        try:
            stores = _stores(builder, roots, position)
            for node, view in beside:
                store_beside(builder, roots[0][0], node, view)
            drop_saves(builder, stores)
            if not (are_columns and leaves_caches(builder.saved, partition.target)):
                return builder, recorder, stores, rows
            rows, are_columns, may_need_rows = None, False, False
        except NeedRows as need:
            rows, are_columns = need.positions, need.are_columns
        except NeedSplit as need:
            rows, are_columns, shape, splits = None, False, need.shape, splits - 1
        notes = recorder.notes()
        partition.go_back(mark)


def _stores(builder: KernelBuilder, roots, position) -> list[Store]:
    stores = []
    for (node, view), index in itertools.product(roots, builder.root_indices):
        expr = builder.value(node, index)
        number = builder.buffer_number(view.buffer, "out")
        if position is not None:
            where = position(builder, view, index)
        else:
            where = builder.position_in(view, index)
        stores.append(Store(number, where, expr))
    if builder.column_stage is not None:
        builder.column_stage.stores.extend(stores)
        return []
    return stores


def _step_of(partition: Any, builder: KernelBuilder, stores, label: str) -> KernelStep:
    """A step whose kernel goes through the passes when it is looked at. What is kept until then
    does not hold on to the partition, for the step may be remembered (reuse_kernel.py)."""
    kernel, is_written_out = finish_kernel(builder, stores, label), bool(builder.written_out)
    target, is_nested = partition.target, partition.is_nested
    buffers = [partition.buffers[i] for i in builder.buffer_ids]
    made = Late(lambda: _through_passes(kernel, target, is_nested, is_written_out))
    return KernelStep(made, buffers, _written_by(kernel, buffers))


def _through_passes(
    kernel: Kernel, target: CpuTarget, is_nested: bool, is_written_out: bool
) -> MadeKernel:
    used = contract_products(kernel, live_expressions(kernel))
    cost = schedule_kernel(kernel, used, target, repeated=is_nested)
    used = choose_rows(kernel, fold_conditions(kernel, used))
    reach_memory(kernel, used, target)
    used = bound_exponentials(kernel, raise_exponentials(kernel, used))
    used = multiply_shares(kernel, used)
    watch_less(kernel, used)
    pipeline_rows(kernel, used, target)
    used = guess_greatest(kernel, used, target)
    gather_ends(kernel, used, target)
    used = pair_rows(kernel, used, target)
    space_rows(kernel, used, target)
    used = raise_shares(kernel, used, target)
    used = add_negatives(kernel, used, target)
    ask_for_results(kernel, used, target)
    stagger_turns(kernel, used, target, repeated=is_nested)
    find_by_blocks(kernel, target)
    if is_written_out:
        move_blocks(kernel, used, target)
        weave_rows(kernel, used, target)
    return MadeKernel(number_slots(kernel, used), used, cost)


def add_kernel(kernel: Kernel, buffers, item: Item, cost: float, small: int = 1) -> None:
    """Adds a kernel that was written elsewhere."""
    used = contract_products(kernel, live_expressions(kernel))
    kernel.small = small
    writes = _written_by(kernel, buffers)
    made = MadeKernel(number_slots(kernel, used), used, cost)
    item.add(KernelStep(lambda: made, buffers, writes))


def _written_by(kernel: Kernel, buffers) -> set[int]:
    return {b.id for b, (_, mode) in zip(buffers, kernel.buffers, strict=True) if mode != "in"}
