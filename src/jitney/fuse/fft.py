"""Steps for Fourier transforms: native routines on the rows, or blocks of columns, of an array.

In: an "fft" call with attributes (routine, sizes). Out: one native step whose extent is the rows,
or the blocks; for long transforms along the last axis two or three steps, each of which threads can
share. The routines keep their plans themselves (csrc/routines/fft_plans.h).
Invariant: which steps there are depends on the length and the machine alone, so a row has the same
bits in any batch.
"""

import math

from ..ir.target import CpuTarget
from .routines import CALLS, _native, _results, _scratch, stored_view

PARALLEL_NS = 40000.0  # less is not worth a second thread
PIECES = 16
BLOCK_BYTES = 256  # columns of a piece: four lines of the cache are read whole
LONG = 1 << 15  # complex transforms from here on are split in two parts
MEDIUM = 1 << 8  # from here on they are done within vectors, those of short rows in their lanes
MEDIUM_OF_SHORT = 1025  # the same where lanes are few: of many rows, one in each is sooner done
LEAST_FACTOR = 16  # kLeastFactor in csrc/routines/fft_medium.h: lanes of the widest vectors
MOST_WASTE = 1.05  # of their lanes: beyond, rows are done side by side, if they are not long
LONG_ROWS = 1 << 10
_REAL = ("rfft", "irfft", "fft_real")
JOIN = 4096  # elements of a piece of rfft_join (kJoin in csrc/routines/fft_pairs.h)


def _cost(name: str, n: int) -> float:
    """Nanoseconds of one transform on one thread (estimate)."""
    each = 0.5 if name.startswith(_REAL) else 1.0
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


def _factors(n: int) -> tuple[int, int] | None:
    """n as a product of two numbers near its root; None if there are none."""
    if _largest_prime(n) > 11:
        return None
    first = next(d for d in range(math.isqrt(n), 0, -1) if n % d == 0)
    return (first, n // first) if n // first <= 8 * first else None


def _split(n: int) -> tuple[int, int] | None:
    """The factors of a long transform."""
    return _factors(n) if n >= LONG else None


def _is_medium(n: int, target: CpuTarget) -> bool:
    """Whether rows of n complex numbers are done within vectors: if they fill these, or are long.
    20 x 25 numbers take two vectors of 16 lanes for each column and row, 1.4 times as much. (With
    lanes for eight numbers many rows of 256 take .56 of the time side by side, of 1024 .72; one row
    alone 1.2 and 1.26.)"""
    least = MEDIUM if target.avx512 else MEDIUM_OF_SHORT
    factors = _medium_factors(n) if least <= n < LONG and _largest_prime(n) <= 11 else None
    if factors is None:
        return False
    waste = sum(_filled(factor) / factor for factor in factors) / 2
    return n > LONG_ROWS or waste <= MOST_WASTE


def _medium_factors(n: int) -> tuple[int, int] | None:
    """Those that fill vectors best, nearest the root (`first_factor` in fft_medium.h)."""
    found = [d for d in range(math.isqrt(n), LEAST_FACTOR - 1, -1) if n % d == 0]
    first = min(found, key=lambda d: _filled(d) * (n // d) + _filled(n // d) * d, default=None)
    return None if first is None else (first, n // first)


def _filled(factor: int) -> int:
    """Lanes of the widest vectors that so many take."""
    return -(-factor // LEAST_FACTOR) * LEAST_FACTOR


def add_fft_step(partition, node, item) -> None:
    name, sizes = node.attrs[2:]
    source = stored_view(partition, node.args[0])
    (result,) = _results(partition, node)
    n, inner = sizes[0], sizes[1] if len(sizes) > 1 else 1
    if not name.startswith(_REAL) and inner == 1 and (parts := _split(n)):
        _add_parts(partition, item, name[4:], (source, result), parts, sizes[2], n)
    elif name.startswith(("rfft", "fft_r")) and n % 2 == 0 and (parts := _split(n // 2)):
        _add_real_parts(partition, item, name, (source, result), parts, n)
    elif name.startswith("irfft") and n % 2 == 0 and (parts := _split(n // 2)):
        _add_inverse_parts(partition, item, name, (source, result), parts, n)
    elif name.startswith(_REAL) and n % 2 == 0:
        _add_pairs(partition, item, name, n, source, result)
    elif inner == 1 and not name.startswith(_REAL) and _is_medium(n, partition.target):
        params, rows = (n, sizes[2]), _elements(source) // n
        cost = 0.3 * _cost(name, n)
        _add_rows(partition, item, f"fft_medium_{name[4:]}", params, (source, result), rows, cost)
    else:
        _add_one_step(partition, item, name, sizes, source, result)


def _add_one_step(partition, item, name, sizes, source, result) -> None:
    n, inner = sizes[0], sizes[1] if len(sizes) > 1 else 1
    if not name.startswith(_REAL):
        block = BLOCK_BYTES // (8 if name.endswith("c64") else 16)
        sizes = (*sizes, block)
        lines = math.prod(source.shape) // (2 * n)
        extent = lines if inner == 1 else lines // inner * -(-inner // block)
    else:
        real = result if name.startswith("irfft") else source
        lines = extent = math.prod(real.shape) // n
    cost = _cost(name, n) * lines
    widest = LEAST_FACTOR if name.endswith(("c64", "f32")) else LEAST_FACTOR // 2
    grain = extent if cost < PARALLEL_NS else _grain(extent, widest if inner == 1 else 1)
    _native(partition, item, name, [source, result], sizes, extent, grain, [1], cost)


def _add_pairs(partition, item, name, n, source, result) -> None:
    """Rows of real numbers by the transforms of their pairs: within vectors, or side by side."""
    h, code = n // 2, name[-3:]
    params: tuple[int, ...]
    rows = math.prod((result if name.startswith("irfft") else source).shape) // n
    kind, cost = ("medium", 0.3) if _is_medium(h, partition.target) else ("pairs", 0.6)
    if name.startswith("irfft"):
        routine, params = f"irfft_{kind}_{code}", (h,)
    else:
        row = h + 1 if name.startswith("rfft") else n
        routine, params = f"rfft_{kind}_{code}", (h, row)
    cost = cost * _cost(name, n)
    _add_rows(partition, item, routine, params, (source, result), rows, cost)


def _add_rows(partition, item, routine, params, views, rows, each: float) -> None:
    """A routine that does rows one after the other; `each`: nanoseconds of one."""
    lanes = LEAST_FACTOR if "_pairs_" in routine else LEAST_FACTOR // 2
    grain = rows if each * rows < PARALLEL_NS else _grain(rows, lanes)
    _native(partition, item, routine, list(views), params, rows, grain, [1], each * rows)


def _grain(extent: int, lanes: int) -> int:
    """About PIECES pieces, of whole groups of lanes where there are enough."""
    grain = max(1, -(-extent // PIECES))
    return -(-grain // lanes) * lanes if extent >= 2 * lanes else grain


def _add_parts(partition, item, code, views, parts, forward, out_row) -> None:
    """Columns, then rows, of the numbers as a matrix: the four-step algorithm."""
    (source, result), (first, second) = views, parts
    n = first * second
    lines = _elements(source) // n
    block = BLOCK_BYTES // (8 if code == "c64" else 16)
    work = _scratch(partition, source.buffer.code, 2 * lines * n)
    cost = 0.5 * n * math.log2(n) * lines
    for name, width, places, row in (("fft_columns_", second, [source, work], n),
                                     ("fft_rows_", first, [work, result], out_row)):
        extent = lines * -(-width // block)
        params = (first, second, n, int(forward), row, block)
        _native(partition, item, name + code, places, params, extent, _grain(extent, 1), [1], cost)


def _add_real_parts(partition, item, name, views, parts, n) -> None:
    """Pairs of real numbers as complex ones, and what makes their transform the real ones'."""
    code, h = "c64" if name.endswith("f32") else "c128", n // 2
    lines = math.prod(views[0].shape) // n
    row = h + 1 if name.startswith("rfft") else n
    _add_parts(partition, item, code, views, parts, 1, row)
    extent = lines * ((h // 2 + JOIN) // JOIN)
    grain = _grain(extent, 1)
    _native(partition, item, f"rfft_join_{code}", [views[1]], (h, row), extent, grain, [0], 4.0 * h)


def _add_inverse_parts(partition, item, name, views, parts, n) -> None:
    """Out of the transform of real numbers that of their pairs, which is transformed back."""
    code, h = "c64" if name.endswith("f32") else "c128", n // 2
    source, result = views
    lines = math.prod(result.shape) // n
    pairs = _scratch(partition, source.buffer.code, lines * n)
    extent = lines * ((h // 2 + JOIN) // JOIN)
    grain, cost = _grain(extent, 1), 4.0 * h
    _native(partition, item, f"irfft_split_{code}", [source, pairs], (h,), extent, grain, [1], cost)
    _add_parts(partition, item, code, (pairs, result), parts, 0, h)


def _elements(view) -> int:
    """Complex numbers in a stored array (or pairs of real ones)."""
    return math.prod(view.shape) // 2


CALLS["fft"] = add_fft_step
