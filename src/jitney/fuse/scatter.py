"""Steps for scatters: a native routine that applies updates one after the other.

In: a "scatter" call of a place, elements' offsets and updates [count, window]. Out: the operand in
its place, and the routine on it (csrc/routines/README.md). Many updates of few places are cut into
lists by sizes alone, each with results of its own; one window that every place gets is not written
out.
"""

import math

from ..ir.types import nbytes_of
from .make_steps import emit_into
from .routines import CALLS, _native, _results, _scratch, stored_view

NS_PER_ELEMENT = 0.8
IN_PIECES = ("add", "min", "max")  # kinds of scatters
SCATTER_IN_PIECES = 32768  # so many updates are worth a second thread (about 25 us)
LEAST_RANGE = 1024  # elements
LARGE_RANGE, MOST_RANGES = 4 << 20, 4
# Bytes between the results of lists, which two threads write: a line and the one fetched with it.
# (Sums of 10^6 in one or two places took 4.9 ms where all were in one line.)
APART = 128
WIDE = 8  # elements of a window that is added by vectors
OFFSET_KIND = {"i64": 0, "i32": 4}  # what the routine calls element offsets of that type
ONE_UPDATE = 8  # more: one window is that of all places


def _scatter(partition, node, item):
    operand, offsets, updates = node.args
    kind, window = node.attrs[2:]
    (result,) = _results(partition, node)
    emit_into(partition, operand, result, item)
    one = _window_of_all(partition, updates)
    offsets = stored_view(partition, offsets)
    updates = stored_view(partition, updates if one is None else one)
    count, code = offsets.shape[0], operand.dtype
    places = [result, offsets, updates]
    index_kind = OFFSET_KIND[offsets.buffer.code] + (ONE_UPDATE if one is not None else 0)
    params = (count, window, operand.size, index_kind)
    cost = NS_PER_ELEMENT * count * window
    pieces = scatter_pieces(kind, code, count * window, operand.size, window)
    if pieces == 1:
        name, ranges = f"scatter_{kind}_{code}", scatter_ranges(count * window, operand.size, code)
        params = (*params, ranges)
        return _native(partition, item, name, places, params, ranges, -1, [0], cost)
    apart = -(-operand.size * nbytes_of(code) // APART) * APART // nbytes_of(code)
    work = _scratch(partition, code, (pieces - 1) * apart)
    _native(
        partition, item, f"scatter_{kind}_pieces_{code}", [*places, work],
        (*params, pieces, apart), pieces, 1, [0, 3], cost,
    )  # fmt: skip
    _native(
        partition, item, f"{kind}_pieces_{code}", [result, work], (operand.size, pieces, apart),
        operand.size, max(4096, -(-operand.size // 16)), [0], operand.size * pieces * 0.3,
    )  # fmt: skip


def _window_of_all(partition, updates):
    """The one window that all places of a scatter get (a number, say), or None."""
    base, (count, window) = updates, updates.shape
    while base.op == "reshape":
        base = base.args[0]
    if base.op != "broadcast" or count == 1:
        return None
    axes = next((k for k in range(1, len(base.shape) + 1) if math.prod(base.shape[:k]) == count), 0)
    own = [d for d, n in zip(base.attrs[0], base.args[0].shape, strict=True) if n != 1]
    if not axes or min(own, default=axes) < axes:
        return None
    shape = (*[1] * axes, *base.shape[axes:])
    one = partition.table.intern("broadcast", base.args, shape, base.dtype, base.attrs)
    return partition.reshape(one, (1, window))


def scatter_pieces(kind, code, updates, size, window=1) -> int:
    """Into how many lists the updates of a scatter are cut, each with results of its own.

    Decided by sizes alone, so that the order of every sum is the same for any number of threads. A
    list costs one more array of `size` to fill and to combine: at most half of the updates it has,
    and less where windows are vectors, which are no sooner filled than added.
    """
    if kind not in IN_PIECES or code in ("f16", "bf16", "b1") or updates < SCATTER_IN_PIECES:
        return 1
    least = 2 if window < WIDE else 8
    wanted = min(updates // (least * max(size, 1)), 8)
    return 1 << (wanted.bit_length() - 1) if wanted else 1


def scatter_ranges(updates, size, code) -> int:
    """Into how many ranges the result of a scatter is cut, each of which looks for its updates: as
    they come from memory, that takes .2 to .4 ns an update (an Emerald Rapids), so eight ranges of
    10^6 elements take longer than one."""
    if updates < SCATTER_IN_PIECES or size < LEAST_RANGE:
        return 1
    wanted = -(-size * nbytes_of(code) // LARGE_RANGE)
    return max(2, min(MOST_RANGES, wanted))


CALLS["scatter"] = _scatter
