"""Steps for short rows that are repeated: a native routine instead of loops.

In: a broadcast that is to be stored: a new axis between a long one and one of a few elements
(`repeat` along an axis and `tile` become that). Out: a native step that writes whole vectors of the
repeated rows. A loop along any one of the axes writes single elements far apart, or vectors that
are mostly empty (100000 rows of 3 floats, 3 times: 440 us, 60 by the routine).
"""


from ..ir.types import nbytes_of
from .buffers import NativeStep, View
from .make_steps import step_maker
from .reach_memory import large_result
from .routines import _ref, stored_view
from .schedule import SMALL_ELEMENTS
from .write_kernel import emit_kernel

MOST_ROW_BYTES = 64  # a vector, of which words are picked
MOST_ODD_BYTES = 16  # bytes are picked of
MOST_REPEATED_BYTES = 512  # of a row: longer ones fill the vectors of a loop
LEAST_ROWS = 64
NS_PER_BYTE = 0.02
PIECE_BYTES = 256 << 10
ROWS_OF_LINES = 64  # so many rows, of any width, are whole lines


@step_maker("broadcast")
def store_broadcast(partition, node, view, item):
    repeated = repeated_rows(node)
    if repeated is None or not view.is_contiguous or not _is_plain(partition, node.args[0]):
        emit_kernel(partition, [(node, view)], item)
        return
    rows, times, row = repeated
    source, width = stored_view(partition, node.args[0]), nbytes_of(node.dtype)
    nbytes = node.size * width
    grain = -(-PIECE_BYTES // (times * row * width) // ROWS_OF_LINES) * ROWS_OF_LINES
    params = (rows, row * width, times, int(nbytes >= large_result(partition.target)))
    refs = [_ref(source), _ref(view)]
    item.add(NativeStep("repeat_rows", refs, params, rows, grain, {view.buffer.id},
                        NS_PER_BYTE * nbytes))  # fmt: skip


def _is_plain(partition, source) -> bool:
    """Whether rows are in memory in their order, or can be; but what is itself repeated is better
    repeated both ways at once."""
    view: View | None = partition.view_of(source)
    if view is not None:
        return view.is_contiguous
    while source.op == "reshape" and partition.view_of(source.args[0]) is None:
        source = source.args[0]
    return source.op not in ("lit", "iota", "broadcast")


def repeated_rows(node) -> tuple[int, int, int] | None:
    """(rows, times, elements of a row) of a broadcast that the routine repeats."""
    (operand,), (dims,) = node.args, node.attrs
    kept = {d: n for d, n in zip(dims, operand.shape, strict=True) if n != 1}
    if list(kept) != sorted(kept) or node.size <= SMALL_ELEMENTS:
        return None
    runs: list[list] = []  # [whether the axes are the operand's, their elements]
    for axis, n in enumerate(node.shape):
        if n == 1:
            continue
        if runs and runs[-1][0] == (axis in kept):
            runs[-1][1] *= n
        else:
            runs.append([axis in kept, n])
    if [own for own, _ in runs] not in ([True, False], [True, False, True]):
        return None
    rows, times, row = [n for _, n in runs] + [1] * (3 - len(runs))
    nbytes = row * nbytes_of(node.dtype)
    most = MOST_ODD_BYTES if nbytes % 4 else MOST_ROW_BYTES
    fits = nbytes <= most and times * nbytes <= MOST_REPEATED_BYTES
    return (rows, times, row) if fits and rows >= LEAST_ROWS else None
