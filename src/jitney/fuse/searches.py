"""Steps for searches, counts, inner products, special functions: native routines on arrays.

In: "first_extreme", "searchsorted", "count", "histogram", "inner" and "special" calls
(lower/reduce.py, halving.py, counting.py, dot.py, special.py). Out: native steps
(csrc/routines/README.md).
Invariant: sums and counts are cut into pieces by sizes alone, so that results are the same for any
number of threads.
"""

import math

from .routines import CALLS, _native, _results, _scratch, stored_view

PARALLEL_NS = 40000.0   # less is not worth a second thread
PIECES = 16
COLUMNS = 256           # columns of a block (kColumns in csrc/routines/bits.cpp)
COUNTED_IN_PIECES = 1 << 17
NS_PER_COUNT = 0.4
NS_PER_RANK = 0.6
INNER_PIECE = 1 << 14   # complex numbers


def _grain(extent: int, cost: float) -> int:
    return extent if cost < PARALLEL_NS else max(1, -(-extent // PIECES))


def _first_extreme(partition, node, item) -> None:
    """attrs[2:]: the extent of the axis, elements behind it, whether the greatest is sought."""
    n, inner, greatest = node.attrs[2:]
    source = stored_view(partition, node.args[0])
    (result,) = _results(partition, node)
    code = {"b1": "bool"}.get(source.buffer.code, source.buffer.code)
    block = min(inner, COLUMNS)
    extent = math.prod(source.shape) // max(n * inner, 1) * -(-inner // max(block, 1))
    cost = 0.1 * math.prod(source.shape)
    index_bytes = 8 if result.buffer.code == "i64" else 4
    params = (n, inner, greatest, index_bytes, block)
    _native(partition, item, f"first_extreme_{code}", [source, result], params, extent,
            _grain(extent, cost), [1], cost)


def _searchsorted(partition, node, item) -> None:
    """attrs[2]: whether equal elements come before the place."""
    edges, values = (stored_view(partition, a) for a in node.args)
    (result,) = _results(partition, node)
    n, count = edges.shape[0], math.prod(values.shape)
    cost = (0.5 + 0.25 * math.log2(n + 1)) * count
    params = (n, int(node.attrs[2]), 4, 0)
    _native(partition, item, f"searchsorted_{edges.buffer.code}", [edges, values, result], params,
            count, _grain(count, cost), [2], cost)


def _count(partition, node, item) -> None:
    """How often each of the numbers from 0 on occurs; others are left out, negative ones count as 0
    if attrs[2] says so."""
    values = stored_view(partition, node.args[0])
    _count_pieces(partition, node, item, f"count_pieces_{values.buffer.code}", [values],
                  NS_PER_COUNT, (int(node.attrs[2]),))


def _histogram(partition, node, item) -> None:
    """How many values lie between neighbours among the edges."""
    edges, values = (stored_view(partition, a) for a in node.args)
    _count_pieces(partition, node, item, f"histogram_pieces_{edges.buffer.code}", [edges, values],
                  NS_PER_RANK)


def _count_pieces(partition, node, item, name, views, ns, params=()) -> None:
    (result,) = _results(partition, node)
    n, length = math.prod(views[-1].shape), result.shape[0]
    pieces = min(n // (4 * max(length, 1)), 8) if n >= COUNTED_IN_PIECES else 1
    pieces = 1 << (max(pieces, 1).bit_length() - 1)
    work = _scratch(partition, "i32", max(pieces - 1, 1) * length)
    _native(partition, item, name, [*views, result, work], (n, length, pieces, *params), pieces, 1,
            [len(views), len(views) + 1], ns * n)
    if pieces > 1:
        _native(partition, item, "add_pieces_i32", [result, work], (length, pieces, length), length,
                max(4096, -(-length // PIECES)), [0], 0.3 * length * pieces)


def _inner(partition, node, item) -> None:
    """attrs[2:]: the type of the numbers, and whether the first and the second are conjugated."""
    code, *conjugated = node.attrs[2:]
    a, b = (stored_view(partition, x) for x in node.args)
    (result,) = _results(partition, node)
    n = math.prod(a.shape) // 2
    pieces = max(1, -(-n // INNER_PIECE))
    work = _scratch(partition, result.buffer.code, 4 * pieces)
    cost = 0.2 * n
    _native(partition, item, f"inner_sums_{code}", [a, b, work], (n, INNER_PIECE), pieces,
            _grain(pieces, cost), [2], cost)
    _native(partition, item, f"inner_join_{code}", [work, result], (pieces, *conjugated), 1, 1,
            [1], 2.0 * pieces)


NS_PER_SPECIAL = {"igamma_grad_a": 300.0, "random_gamma_grad": 300.0, "igamma_f64": 100.0,
                  "igammac_f64": 100.0, "zeta": 3.0, "polygamma": 3.0}  # others: 60


def _special(partition, node, item) -> None:
    """attrs[2]: the function's name; operands of one shape."""
    views = [stored_view(partition, a) for a in node.args]
    (result,) = _results(partition, node)
    count, name = math.prod(result.shape), node.attrs[2]
    cost = NS_PER_SPECIAL.get(name, 60.0) * count
    _native(partition, item, name, [*views, result], (), count, _grain(count, cost),
            [len(views)], cost)


CALLS["special"] = _special
CALLS["first_extreme"] = _first_extreme
CALLS["searchsorted"] = _searchsorted
CALLS["count"] = _count
CALLS["histogram"] = _histogram
CALLS["inner"] = _inner
