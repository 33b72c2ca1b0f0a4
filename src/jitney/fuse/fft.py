"""Steps for Fourier transforms: a native routine on the rows, or blocks of columns, of an array.

In: an "fft" call with attributes (routine, sizes). Out: one native step whose extent is the rows,
or the blocks. The routines keep their plans themselves (csrc/routines/fft_plans.h).
"""

import math

from .routines import CALLS, _native, _results, stored_view

PARALLEL_NS = 40000.0  # less is not worth a second thread
PIECES = 16
BLOCK_BYTES = 128  # columns of a piece: two lines of the cache are read whole


def _cost(name: str, n: int) -> float:
    """Nanoseconds of one transform on one thread (estimate)."""
    each = 0.5 if name.startswith(("rfft", "irfft")) else 1.0
    rough = _largest_prime(n) > 50
    return 20.0 + n * math.log2(n + 1) * each * (5.0 if rough else 1.0)


def _largest_prime(n: int) -> int:
    largest, factor = 1, 2
    while factor * factor <= n:
        if n % factor:
            factor += 1
        else:
            n, largest = n // factor, factor
    return max(largest, n)


def add_fft_step(partition, node, item) -> None:
    name, sizes = node.attrs[2:]
    source = stored_view(partition, node.args[0])
    (result,) = _results(partition, node)
    n, inner = sizes[0], sizes[1] if len(sizes) > 1 else 1
    if name.startswith("fft"):
        block = BLOCK_BYTES // (8 if name.endswith("c64") else 16)
        sizes = (*sizes, block)
        lines = math.prod(source.shape) // (2 * n)
        extent = lines if inner == 1 else lines // inner * -(-inner // block)
    else:
        real = source if name.startswith("rfft") else result
        lines = extent = math.prod(real.shape) // n
    cost = _cost(name, n) * lines
    grain = extent if cost < PARALLEL_NS else _grain(extent, 4 if inner == 1 else 1)
    _native(partition, item, name, [source, result], sizes, extent, grain, [1], cost)


def _grain(extent: int, lanes: int) -> int:
    """About PIECES pieces, of whole groups of lanes where there are enough."""
    grain = max(1, -(-extent // PIECES))
    return -(-grain // lanes) * lanes if extent >= 2 * lanes else grain


CALLS["fft"] = add_fft_step
