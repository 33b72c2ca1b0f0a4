"""Steps for operations that are not pulled: concatenation, updates in place, routines.

Each maker gets the partition, the node, the view its result belongs in, and the item to add steps
to. Routines are native code with the kernel ABI (csrc/routines/README.md lists them) on buffers in
row-major order.
"""

import math

from ..ir.types import kind_of, nbytes_of
from . import affine as af
from .buffers import NativeStep, PythonStep, View, whole
from .concatenated import SMALL_CONCAT, groups_of_parts
from .frame import fixed_corner, framed, is_most, slabs_around
from .make_steps import emit_into, step_maker
from .pull_gather import clamped
from .pull_views import MAX_SELECTS
from .reach_memory import large_result
from .tiles import LINE_BYTES
from .updates import is_only_updated, is_part_of_kept, reads_elsewhere, separated_update
from .write_kernel import emit_kernel

NS_PER_ELEMENT = {
    "sort": 30.0, "argsort": 40.0, "top_k": 2.0,
    "partition": 2.0, "argpartition": 3.0, "cumlogsumexp": 10.0,
}  # fmt: skip
NS_PER_CUMULATED_BYTE = 0.06
WIDE_ROW = 128 << 10    # bytes: such rows are cut into blocks, shorter ones are walked whole
CACHED = 16 << 20       # bytes of an array
LEAST_BLOCK, MOST_BLOCK = 256, 1024  # bytes of columns of a block: kBlockBytes in the same file
LOGSUMEXP_BLOCK = 64    # columns of one piece
SLAB_BYTES = 512 << 10  # kParallelBytes in csrc/routines/scan_kernels.h
FEW_SLABS = 8           # so few the routine cuts along the axis, for its own threads


@step_maker("concat")
def store_parts(partition, node, view, item, others=()):
    """Each part is computed straight into its place, together with parts of the same shape that
    read the same values; `others`: concatenations of such parts, and their views."""
    if node.size <= SMALL_CONCAT and len(node.args) <= MAX_SELECTS and not others:
        emit_kernel(partition, [(node, view)], item)
        return
    for group in groups_of_parts(partition, [(node, view), *others]):
        node, view = group[0]
        if len(group) > 1 or partition.views.get(node.id) is view:  # it is nowhere yet
            emit_kernel(partition, group, item)
        else:
            emit_into(partition, node, view, item)


@step_maker("dynamic_update_slice")
def store_update(partition, node, view, item, others=()):
    """The operand's elements, then the update over a window of them; of a chain of updates, which
    may be longer than Python's stack, one after the other. `others`: updates of other arrays at the
    same place, which do not read what they update, and their views.

    The copy of the operand disappears where the planner may reuse its memory.
    """
    if others:
        _write_windows(partition, [(node, view), *others], item)
        return
    chain = [separated_update(partition, node)]
    while _updates_an_update(partition, chain[-1]):
        chain.append(separated_update(partition, chain[-1].args[0]))
    is_there = _put_framed(partition, chain[-1], view, item)
    if is_there:
        chain.pop()
    else:
        is_there = _put_operand(partition, chain[-1], view, item)
    for update in reversed(chain):
        _write_window(partition, update, view, item, is_there)
        is_there = True


def _put_framed(partition, node, view, item) -> bool:
    """Computes an update that reads its neighbours, or one of an array of equal numbers, together
    with what it leaves of its operand, if one kernel does."""
    operand, update, *starts = node.args
    corner = fixed_corner(operand, update, starts)
    is_equal = operand.op == "broadcast" and operand.args[0].op == "lit"
    is_stored = partition.view_of(operand) is not None
    if corner is None or not (is_equal or is_stored and _reads_elsewhere(partition, node)):
        return False
    whole = framed(partition, operand, update, corner)
    if whole is not None:
        emit_kernel(partition, [(whole, view)], item)
    return whole is not None


def _write_window(partition, node, view, item, is_there) -> None:
    """The update over its window; `is_there`: what it reads of its operand is in the view."""
    operand, update = node.args[:2]
    before = partition.view_of(operand)
    if is_there:
        partition.views[operand.id] = view
    emit_kernel(partition, [(update, view)], item, _place_of(node))
    if before is not None:
        partition.views[operand.id] = before
    elif is_there:
        del partition.views[operand.id]


def _write_windows(partition, updates, item) -> None:
    for node, view in updates:
        emit_into(partition, node.args[0], view, item)
    windows = [(node.args[1], view) for node, view in updates]
    emit_kernel(partition, windows, item, _place_of(updates[0][0]))


def _place_of(node):
    """Where an update's elements go, for the kernel that computes them."""
    _, update, *starts = node.args

    def position(builder, target, index):
        where = []
        for a, start, n, size in zip(index, starts, node.shape, update.shape, strict=True):
            first = clamped(builder, builder.value(start, ()), n - size)
            where.append(af.add(a, first))
        return builder.position_in(target, where)

    return position


def _updates_an_update(partition, node) -> bool:
    """Whether an update's operand is an update that can be made in the same place."""
    operand = node.args[0]
    return (
        operand.op == node.op
        and partition.view_of(operand) is None
        and not _reads_elsewhere(partition, node)
        and is_only_updated(partition.graph, node)
    )


def _reads_elsewhere(partition, node) -> bool:
    operand, update, *starts = node.args

    def is_stored(x) -> bool:
        return partition.view_of(x) is not None or is_part_of_kept(partition, x, node)

    return reads_elsewhere(update, operand, starts, is_stored)


def _put_operand(partition, node, view, item) -> bool:
    """Adds the steps that put an update's operand, or what the update leaves of it, into a view;
    whether the update is to read it there."""
    operand, update, *starts = node.args
    elsewhere = _reads_elsewhere(partition, node)
    if partition.view_of(operand) is not None:
        corner = fixed_corner(operand, update, starts)
        if elsewhere and corner is not None and is_most(operand, update):
            for at, slab in slabs_around(partition.table, operand, update.shape, corner):
                emit_into(partition, slab, view.part(at, slab.shape), item)
            return False
        emit_into(partition, operand, view, item)
        return not partition.is_nested and not elsewhere
    chained = not elsewhere and is_only_updated(partition.graph, node)
    emit_into(partition, operand, view, item)
    return chained and partition.view_of(operand) is None  # results of calls live elsewhere


def stored_view(partition, node) -> View:
    """A contiguous view of a node's value."""
    view = partition.request(node)
    if view.is_contiguous:
        return view
    copy = partition.table.intern("copy", (node,), node.shape, node.dtype)
    return partition.request(copy)


def _ref(view):
    return (view.buffer, view.offset * nbytes_of(view.buffer.code))


def _native(partition, item, name, views, params, extent, grain, written, cost):
    writes = {views[i].buffer.id for i in written}
    refs = [_ref(v) for v in views]
    item.add(NativeStep(name, refs, tuple(params), extent, grain, writes, cost))


def _is_cut(kind, code, n, inner) -> bool:
    """Whether the routine itself cuts one slab along its axis, for several threads."""
    if kind == "logsumexp" or kind == "prod" and kind_of(code) == "f":
        return False
    if code in ("f16", "bf16") and kind in ("sum", "prod") and inner == 1:
        return False
    return n * inner * nbytes_of(code) >= SLAB_BYTES


@step_maker("cumulative")
def store_cumulative(partition, node, view, item):
    kind, axis, reverse = node.attrs
    source = stored_view(partition, node.args[0])
    outer = math.prod(node.shape[:axis])
    n, inner = node.shape[axis], math.prod(node.shape[axis + 1 :])
    width = nbytes_of(node.dtype)
    cost = NS_PER_CUMULATED_BYTE * width * node.size
    block = _columns_together(node, inner)
    if kind == "logsumexp":
        cost, block = NS_PER_ELEMENT["cumlogsumexp"] * node.size, min(inner, LOGSUMEXP_BLOCK)
    pieces = outer * -(-inner // block) if inner else 0
    is_block = block < inner and block * width <= MOST_BLOCK
    is_cut = not is_block and _is_cut(kind, node.dtype, n, inner)
    together = cost < 40000 or pieces < FEW_SLABS and is_cut
    far = int(node.size * width >= large_result(partition.target))
    down = int(partition.target.vectors_a_cycle >= 4)
    params = (n, inner, int(reverse), block, far, down)
    _native(partition, item, f"cum{kind}_{node.dtype}", [source, view], params, pieces,
            pieces if together else max(1, pieces // 16), [1], cost)


def _columns_together(node, inner: int) -> int:
    """How many columns of a scan are a piece: a block, walked from the first row to the last, where
    the array is in a cache."""
    width = nbytes_of(node.dtype)
    if node.dtype not in ("f16", "bf16") and node.size * width <= CACHED and (
        inner * width >= 2 * LEAST_BLOCK
    ):
        wanted = -(-inner * width // 4 // LINE_BYTES) * LINE_BYTES
        return min(max(wanted, LEAST_BLOCK), MOST_BLOCK) // width
    return inner if inner * width < WIDE_ROW else WIDE_ROW // 2 // width


@step_maker("call")
def store_call(partition, node, _, item):
    CALLS[node.attrs[0]](partition, node, item)


def _results(partition, node):
    return [
        partition.views[partition.table.intern("part", (node,), shape, code, (i,)).id]
        for i, (shape, code) in enumerate(node.attrs[1])
    ]


def _scratch(partition, code, size) -> View:
    return whole(partition.new_buffer(code, size), (size,))


# The longest rows of 8- and 16-bit numbers that are sorted as 32-bit ones: to count them takes as
# long as 256 elements, and vectors sort words (AVX-512, rows of 9: int8 24 to .5 ns an element,
# float16 5.4 to .6; of 128 2.1 and 2.6 to .5; AVX2, of 9: int8 150 to 4, float16 22 to 4; of 250 8
# and 7 to 5). Without vectors they are sorted by digits.
LONGEST_WIDENED, LONGEST_WITHOUT_VECTORS = 256, 40


def _widened(code: str, n: int, target) -> str | None:
    """The type as which rows of n are sorted, if another."""
    if nbytes_of(code) > 2 or n > (LONGEST_WIDENED if target.avx2 else LONGEST_WITHOUT_VECTORS):
        return None
    if nbytes_of(code) == 2 and not target.avx2:
        return None
    return "f32" if kind_of(code) == "f" else "i32"


def _sort(partition, node, item):
    (result,) = _results(partition, node)
    array, table = node.args[0], partition.table
    wide = _widened(array.dtype, array.shape[-1], partition.target)
    if wide is not None:
        array = table.intern("convert", (array,), array.shape, wide)
        kinds = ((array.shape, wide),)
        call = table.intern("call", (array,), (), "b1", (node.attrs[0], kinds, *node.attrs[2:]))
        sorted_ = table.intern("part", (call,), array.shape, wide, (0,))
        partition.request_call(call)
        back = table.intern("convert", (sorted_,), array.shape, node.args[0].dtype)
        emit_into(partition, back, result, item)
        return
    source = stored_view(partition, array)
    _row_routine(partition, node, item, f"sort_{node.args[0].dtype}", [source, result], 2)


def _argsort(partition, node, item):
    source = stored_view(partition, node.args[0])
    (result,) = _results(partition, node)
    _row_routine(partition, node, item, f"argsort_{node.args[0].dtype}", [source, result], 4)


def _row_routine(partition, node, item, name, views, words):
    """A routine on rows of n elements with a workspace of `words` 8-byte words an element."""
    shape = node.args[0].shape
    n, rows = shape[-1], math.prod(shape[:-1])
    cost = NS_PER_ELEMENT[node.attrs[0]] * rows * n
    grain = rows if cost < 40000 else max(1, -(-rows // 16))
    pieces = -(-rows // grain) if rows else 1
    work = _scratch(partition, "i64", pieces * (words * n + 64))
    _native(
        partition, item, name, [*views, work], (n, 0, grain, 4), rows, grain,
        [len(views) - 1, len(views)], cost,
    )  # fmt: skip


def _top_k(partition, node, item):
    source = stored_view(partition, node.args[0])
    values, indices = _results(partition, node)
    n, k = node.args[0].shape[-1], node.attrs[2]
    rows = math.prod(node.args[0].shape[:-1])
    cost = NS_PER_ELEMENT["top_k"] * rows * n
    grain = rows if cost < 40000 else max(1, -(-rows // 16))
    pieces = -(-rows // grain) if rows else 1
    work = _scratch(partition, "i64", pieces * (4 * n + 64))
    _native(
        partition, item, f"top_k_{node.args[0].dtype}", [source, values, indices, work],
        (n, k, grain, 4), rows, grain, [1, 2, 3], cost,
    )  # fmt: skip


def _partition(partition, node, item):
    source = stored_view(partition, node.args[0])
    (result,) = _results(partition, node)
    n, k = node.args[0].shape[-1], node.attrs[2]
    rows = math.prod(node.args[0].shape[:-1])
    cost = NS_PER_ELEMENT[node.attrs[0]] * rows * n
    grain = rows if cost < 40000 else max(1, -(-rows // 16))
    pieces = -(-rows // grain) if rows else 1
    work = _scratch(partition, "i64", pieces * (3 * n + 64))
    _native(
        partition, item, f"{node.attrs[0]}_{source.buffer.code}", [source, result, work],
        (n, k, grain, 4), rows, grain, [1, 2], cost,
    )  # fmt: skip


def _python(partition, node, item):
    """attrs[2] is called with the addresses of the operands and results."""
    views = [stored_view(partition, a) for a in node.args]
    results = _results(partition, node)
    item.add(
        PythonStep(
            node.attrs[2].name,
            node.attrs[2],
            [_ref(v) for v in (*views, *results)],
            {v.buffer.id for v in results},
        )
    )


CALLS = {
    "sort": _sort,
    "argsort": _argsort,
    "top_k": _top_k,
    "partition": _partition,
    "argpartition": _partition,
    "python": _python,
}
