"""Masks, bits, counts, inner products and short rows: routines against NumPy."""

import os
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))  # tests are imported without a package
from routine_caller import DTYPES, FLOATS, INTEGERS, call, same_bits, samples, scratch  # noqa: E402

RNG = np.random.default_rng(3)
SIZES = (1, 7, 63, 64, 65, 1000, 4099)


def masks(n):
    for share in (0.0, 0.03, 0.5, 1.0):
        yield RNG.random(n) < share


def starts_of(mask, block):
    """Where the results of each block begin, by the routine."""
    blocks = -(-mask.size // block)
    counts = np.empty(blocks, np.int64)
    call("true_counts", [mask, counts], [mask.size, block], blocks, 1)
    assert np.array_equal(counts, [mask[i * block:(i + 1) * block].sum() for i in range(blocks)])
    return blocks, np.concatenate([[0], np.cumsum(counts)])


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("block", [64, 1000])
def test_positions(block, index):
    for shape in [(n,) for n in SIZES] + [(40, 30), (30, 3), (3, 1000), (4, 5, 6), (2, 1, 70, 3)]:
        for mask in masks(int(np.prod(shape))):
            blocks, starts = starts_of(mask, block)
            outs = [np.full(starts[-1], -1, index) for _ in shape]
            call(f"positions_i{8 * index().itemsize}", [mask, starts, *outs],
                 [mask.size, block, len(shape), *shape], blocks, 1)
            for got, want in zip(outs, np.nonzero(mask.reshape(shape)), strict=True):
                assert np.array_equal(got, want)


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 0])
def test_elements_chosen_placed_and_repeated(size):
    row = size or 12
    for n in SIZES:
        source = RNG.integers(0, 256, (n, row)).astype(np.uint8)
        values = RNG.integers(0, 256, (5, row)).astype(np.uint8)
        for mask in masks(n):
            blocks, starts = starts_of(mask, 64)
            out = np.zeros((starts[-1], row), np.uint8)
            call(f"compress_b{size}", [mask, starts, source, out], [n, 64, row], blocks, 1)
            assert np.array_equal(out, source[mask])
            if not size:
                continue
            placed = np.zeros_like(source)
            call(f"place_b{size}", [source, mask, starts, values, placed], [n, 64, 5], blocks, 1)
            want = source.copy()
            want[mask] = values[np.arange(mask.sum()) % 5]
            assert np.array_equal(placed, want)
        for most in (1, 3, 40):
            counts = RNG.integers(0, most, n, endpoint=True)
            ends = np.cumsum(counts)
            out = np.zeros((ends[-1], row), np.uint8)
            call(f"repeat_b{size}", [source, ends, out], [n, row], n, 13)
            assert np.array_equal(out, np.repeat(source, counts, 0))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("n, m", [(1, 1), (5, 5), (7, 3), (3, 7), (90, 70)])
def test_triangles(n, m, index):
    for k in (-100, -3, -1, 0, 1, 4, 100):
        for upper, want in ((0, np.tril_indices(n, k, m)), (1, np.triu_indices(n, k, m))):
            outs = [np.full(want[0].size, -1, index) for _ in range(2)]
            call(f"triangle_i{8 * index().itemsize}", outs, [n, m, k, upper], n, 2)
            assert np.array_equal(outs, want)


@pytest.mark.parametrize("big", [0, 1])
def test_bits(big):
    order = "big" if big else "little"
    for shape, axis in [*(((n,), 0) for n in SIZES), ((9, 70), 1), ((70, 9), 0), ((3, 17, 5), 1),
                        ((2, 64, 64), 2)]:
        x = RNG.integers(0, 2, shape).astype(np.uint8) * RNG.integers(1, 256, shape).astype("u1")
        want = np.packbits(x, axis, order)
        n, inner = shape[axis], int(np.prod(shape[axis + 1:]))
        got = np.full_like(want, 7)
        call("packbits", [x, got], [n, inner, big], want.size // inner, 3)
        assert np.array_equal(got, want)
        for bits in (8 * n, 8 * n - 3, 8 * n + 11, 1, 0):
            wanted = np.unpackbits(x, axis, bits, order)
            got = np.full_like(wanted, 7)
            lines = int(np.prod(shape[:axis])) * (-(-bits // 8) if inner == 1 else bits)
            call("unpackbits", [x, got], [n, inner, big, bits], lines, 3)
            assert np.array_equal(got, wanted)


@pytest.mark.parametrize("name", ["bool", "i8", "u8"])
def test_first_extremes(name):
    for outer, n, inner in [(1, n, 1) for n in SIZES] + [(5, 9000, 1), (1, 40, 300), (3, 70, 17)]:
        shape = (outer, n, inner)
        low, high = (0, 2) if name == "bool" else (0, 3)
        for x in (samples(name, shape), np.zeros(shape, DTYPES[name]), np.ones(shape, DTYPES[name]),
                  RNG.integers(low, high, shape).astype(DTYPES[name]),
                  (RNG.random(shape) < 0.01).astype(DTYPES[name])):
            block = min(inner, 256)
            for greatest, want in ((1, x.argmax(1)), (0, x.argmin(1))):
                for index in (np.int32, np.int64):
                    got = np.full((outer, inner), -1, index)
                    call(f"first_extreme_{name}", [x, got],
                         [n, inner, greatest, index().itemsize, block],
                         outer * -(-inner // block), 1)
                    assert np.array_equal(got, want)


@pytest.mark.parametrize("pieces", [1, 4])
@pytest.mark.parametrize("name", ["i32", "i64"])
def test_counts_in_pieces(name, pieces):
    for n, length in ((0, 3), (10, 1), (5000, 7), (5000, 1024), (9000, 1025)):
        x = RNG.integers(-2, length + 2, n).astype(DTYPES[name])
        out = np.full(length, -1, np.int32)
        work = np.full(max(pieces - 1, 1) * length, -1, np.int32)
        call(f"count_pieces_{name}", [x, out, work], [n, length, pieces, 0], pieces, 1)
        if pieces > 1:
            out += work.reshape(-1, length).sum(0, dtype=np.int32)
        inside = x[(x >= 0) & (x < length)]
        assert np.array_equal(out, np.bincount(inside, minlength=length))


@pytest.mark.parametrize("right", [0, 1])
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_places_among_evenly_spaced_edges(name, right):
    """Computed or searched, the place is the same: on edges, beside them, outside, for NaN."""
    dtype = DTYPES[name]
    for low, high, n in [(0, 1, 11), (-3, 3, 65), (1e6, 1e6 + 1, 5), (-1e-3, 7e5, 4000),
                         (-1e30, 1e30, 100), (0, 1e-40, 9), (1, 1, 6), (0, 3e38, 4), (5, 6, 4095)]:
        edges = np.linspace(low, high, n).astype(dtype)
        bent = np.sort(edges + RNG.normal(size=n).astype(dtype) * (edges[1] - edges[0]) / 8)
        for row in (edges, bent, np.append(edges[:-1], np.nan).astype(dtype)):
            with np.errstate(over="ignore"):
                values = np.concatenate([
                    row, np.nextafter(row, dtype(np.inf)), np.nextafter(row, dtype(-np.inf)),
                    RNG.uniform(low - 1, high + 1, 3 * n).astype(dtype),
                    np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], dtype)])
            for index in (np.int32, np.int64):
                got = np.empty(values.size, index)
                call(f"searchsorted_{name}", [row, values, got],
                     [n, right, index().itemsize, 0], values.size)
                want = np.searchsorted(row, values, "right" if right else "left")
                assert np.array_equal(got, want), (low, high, n)


@pytest.mark.parametrize("name", ["c64", "c128"])
def test_inner_products(name):
    for n in (1, 2, 31, 64, 1000, 4097):
        a, b = ((RNG.normal(size=n) + 1j * RNG.normal(size=n)).astype(DTYPES[name])
                for _ in range(2))
        pieces = -(-n // 512)
        work = np.full(4 * pieces, np.nan, a.real.dtype)
        call(f"inner_sums_{name}", [a, b, work], [n, 512], pieces, 1)
        for first in (0, 1):
            for second in (0, 1):
                out = np.empty(2, a.real.dtype)
                call(f"inner_join_{name}", [work, out], [pieces, first, second], 1)
                want = (a.conj() if first else a) @ (b.conj() if second else b)
                bound = (1e-5 if name == "c64" else 1e-13) * n
                assert abs(out[0] + 1j * out[1] - want) <= bound


@pytest.mark.parametrize("descending", [0, 1])
@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS, "bool"])
def test_argsort_of_short_rows(name, descending):
    for n in range(2, 10):
        for rows in (1, 15, 16, 33):
            x = samples(name, (rows, n), n + rows)
            wide = x.astype(np.float64) if name in FLOATS else x.astype(object)
            for index in (np.int32, np.int64):
                got = np.empty((rows, n), index)
                call(f"argsort_{name}", [x, got, scratch(32 * n)],
                     [n, descending, 0, index().itemsize], rows)
                for row, order in zip(wide, got, strict=True):
                    keys = [(v != v, 0.0 if v != v else v) for v in row]
                    want = sorted(range(n), key=lambda i, k=keys: (k[i],))
                    if descending:
                        want = sorted(range(n), key=lambda i, k=keys: (k[i], -i), reverse=True)
                    assert order.tolist() == want


def test_inner_products_do_not_depend_on_pieces_of_the_extent():
    a = (RNG.normal(size=5000) + 1j * RNG.normal(size=5000)).astype(np.complex64)
    works = [np.empty(40, np.float32) for _ in range(2)]
    for work, grain in zip(works, (1, 10), strict=True):
        call("inner_sums_c64", [a, a, work], [5000, 500], 10, grain)
    assert same_bits(*works)


@pytest.mark.parametrize("size", [4, 8])
def test_every_number_of_chosen_elements(size):
    """Whole vectors are written while they fit; nothing is written behind the result."""
    for n in range(1, 200):
        mask, x = RNG.random(n) < n % 7 / 6, RNG.integers(1, 1 << 30, n).astype(f"i{size}")
        blocks, starts = starts_of(mask, n)
        out = np.full(n + 40, -1, x.dtype)
        call(f"compress_b{size}", [mask, starts, x, out], [n, n, size], blocks, 1)
        assert np.array_equal(out[: starts[-1]], x[mask]) and np.all(out[starts[-1] :] == -1)
        call(f"positions_i{8 * size}", [mask, starts, out], [n, n, 1, n], blocks, 1)
        assert np.array_equal(out[: starts[-1]], np.flatnonzero(mask))
        assert np.all(out[starts[-1] :] == -1)


@pytest.mark.skipif("JITNEY_CPU_LEVEL" in os.environ, reason="is that run")
@pytest.mark.parametrize("level", ["0", "1"])
def test_narrower_vectors(level):
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, env={**os.environ, "JITNEY_CPU_LEVEL": level},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
