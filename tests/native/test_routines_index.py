"""take_rows, take_slices, scatter, searchsorted, bincount against plain NumPy loops."""

import os
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))  # tests are imported without a package
from routine_caller import DTYPES, FLOATS, INTEGERS, call, same_bits, samples  # noqa: E402

CLIP, FILL, WRAP, IN_BOUNDS = range(4)


def expected_rows(source, index, mode, fill):
    out = []
    for i in index.tolist():
        if 0 <= i < len(source):
            out.append(source[i])
        elif mode == CLIP:
            out.append(source[0 if i < 0 else -1])
        elif mode == WRAP:
            out.append(source[i % len(source)])
        else:
            out.append(np.full_like(source[0], fill))
    return np.array(out, source.dtype).reshape((len(index), *source.shape[1:]))


@pytest.mark.parametrize("mode", [CLIP, FILL, WRAP, IN_BOUNDS])
@pytest.mark.parametrize("index_name", INTEGERS)
def test_take_rows(index_name, mode):
    rng = np.random.default_rng(0)
    items = [(name, 1) for name in ("i8", "f16", "f32", "f64", "c128")]
    for item, width in [*items, ("f32", 16), ("f32", 7)]:
        source = rng.integers(0, 100, (40, width)).astype(DTYPES[item])
        for count in (0, 1, 2, 17, 1000):
            index = samples(index_name, (count,), count)
            if index.itemsize < 8:  # half of them inside
                index = np.where(rng.random(count) < 0.5, index, index % 40).astype(index.dtype)
            if mode == IN_BOUNDS:
                index = index % 40
            fill = np.array([77], source.dtype)
            out = np.empty((count, width), source.dtype)
            params = [40, source.itemsize * width, mode, source.itemsize, 0, 0]
            call(f"take_rows_{index_name}", [source, index, out, fill], params, count, 300)
            assert np.array_equal(out, expected_rows(source, index, mode, fill[0]))


def test_take_rows_of_batches_and_of_nothing():
    rng = np.random.default_rng(1)
    source = rng.normal(size=(5, 30, 3)).astype(np.float32)
    index = rng.integers(-3, 33, (5, 11)).astype(np.int32)
    out = np.empty((5, 11, 3), np.float32)
    params = [30, 12, CLIP, 4, 11, 30 * 12]
    call("take_rows_i32", [source, index, out, None], params, 55, 7)
    for b in range(5):
        assert np.array_equal(out[b], source[b][np.clip(index[b], 0, 29)])
    for mode in (CLIP, WRAP, FILL):
        empty = np.empty((0, 3), np.float32)
        out = np.ones((4, 3), np.float32)
        params = [0, 12, mode, 4, 0, 0]
        call("take_rows_i32", [empty, index[0, :4].copy(), out, np.float32([5])], params, 4)
        assert (out == (5 if mode == FILL else 0)).all()


def test_take_slices():
    rng = np.random.default_rng(2)
    source = rng.normal(size=500).astype(np.float32)
    offsets = rng.integers(-50, 480, 100).astype(np.int64)
    out = np.empty((100, 20), np.float32)
    call("take_slices", [source, offsets, out, np.float32([9])], [80, 4], 100, 33)
    want = np.array([source[o : o + 20] if o >= 0 else np.full(20, 9) for o in offsets], np.float32)
    assert np.array_equal(out, want)


def combine(op, a, b):
    if op == "set":
        return b
    with np.errstate(over="ignore", invalid="ignore"):
        if a.dtype.kind in "iub":
            names = {"mul": "multiply", "min": "minimum", "max": "maximum"}
            return getattr(np, names.get(op, op))(a, b)
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        if a.dtype.kind != "V" and a.dtype.itemsize >= 4:
            wide = a.dtype.type
        x, y = wide(a), wide(b)
        if op in ("min", "max") and x == 0 and y == 0:  # -0 is less than 0
            return b if np.signbit(y) == (op == "min") else a
        value = {"add": lambda: x + y, "mul": lambda: x * y, "min": lambda: np.minimum(x, y)}
        return a.dtype.type(value.get(op, lambda: np.maximum(x, y))())


EVERY = [*FLOATS, *INTEGERS]
SCATTERS = [(op, name) for op in ("set", "add", "mul", "min", "max") for name in EVERY]
SCATTERS += [(op, name) for op in ("set", "add", "mul") for name in ("c64", "c128")]
SCATTERS += [(op, "bool") for op in ("set", "min", "max")]


@pytest.mark.parametrize("op, name", SCATTERS)
def test_scatter(op, name):
    rng = np.random.default_rng(3)
    real = name not in ("c64", "c128")
    widths = [(50, window) for window in (2, 3, 4, 6, 7, 8, 9, 10, 11, 16, 19)]
    for updates, window in [(0, 1), (1, 1), (17, 1), (200, 1), (30, 5), (12, 40), *widths]:
        base = samples(name, (60,), 1) if real else rng.normal(size=60).astype(DTYPES[name])
        update = (
            samples(name, (updates, window), 2)
            if real
            else base[:1] + rng.integers(0, 3, (updates, window)).astype(DTYPES[name])
        )
        offsets = rng.integers(-8, 70, updates).astype(np.int64)
        want = base.copy()
        for u, o in enumerate(offsets.tolist()):
            if 0 <= o <= 60 - window:
                for j in range(window):
                    want[o + j] = combine(op, want[o + j], update[u, j])
        for kind, ranges, grain in ((0, 1, 1), (4, 1, 1), (0, 4, 1), (4, 4, 3), (4, 100, 1)):
            out = base.copy()
            params = [updates, window, 60, kind, ranges]
            index = offsets if kind == 0 else offsets.astype(np.int32)
            call(f"scatter_{op}_{name}", [out, index, update], params, ranges, grain)
            if real and op != "mul":
                assert same_bits(out, want)
            else:
                assert np.allclose(out.astype(complex), want.astype(complex), equal_nan=True)


@pytest.mark.parametrize("name", ["f16", "f32", "f64", "i8", "i32", "u64"])
@pytest.mark.parametrize("op", ["set", "add", "mul", "min", "max"])
def test_one_update_for_all(op, name):
    rng = np.random.default_rng(8)
    for window in (1, 2, 3, 4, 5, 8, 17):
        base, update = samples(name, (90,), 1), samples(name, (window,), 2)
        offsets = rng.integers(-8, 100, 40).astype(np.int32)
        want, out = base.copy(), base.copy()
        spread = np.tile(update, (40, 1))
        call(f"scatter_{op}_{name}", [want, offsets, spread], [40, window, 90, 4, 1], 1)
        call(f"scatter_{op}_{name}", [out, offsets, update], [40, window, 90, 4 + 8, 3], 3, 1)
        assert same_bits(out, want)


@pytest.mark.parametrize("name", ["f32", "f64", *INTEGERS])
@pytest.mark.parametrize("pieces", [1, 2, 3, 8])
def test_sums_in_pieces(pieces, name):
    rng = np.random.default_rng(5)
    for updates, window in [(0, 1), (1, 1), (101, 1), (33, 4), (33, 3), (33, 6)]:
        base = rng.integers(0, 9, 40).astype(DTYPES[name])
        update = rng.integers(0, 9, (updates, window)).astype(DTYPES[name])
        offsets = rng.integers(-5, 45, updates).astype(np.int32)
        want = base.copy()
        for u, o in enumerate(offsets.tolist()):
            if 0 <= o <= 40 - window:
                want[o : o + window] += update[u]
        for grain, apart in ((1, 40), (2, 48), (8, 64)):
            out, work = base.copy(), np.full(((pieces - 1), apart), 99, DTYPES[name])
            params = [updates, window, 40, 4, pieces, apart]
            call(f"scatter_add_pieces_{name}", [out, offsets, update, work], params, pieces, grain)
            call(f"add_pieces_{name}", [out, work], [40, pieces, apart], 40, 7)
            assert np.array_equal(out, want)


def test_sums_in_pieces_keep_minus_zero():
    out, work = np.full(4, -0.0, np.float32), np.empty((3, 4), np.float32)
    index, update = np.int32([2, 2, 9]), np.float32([1, 2, 3])
    call("scatter_add_pieces_f32", [out, index, update, work], [3, 1, 4, 4, 4, 4], 4, 1)
    call("add_pieces_f32", [out, work], [4, 4, 4], 4)
    assert out.tolist() == [0, 0, 3, 0] and np.signbit(out).tolist() == [True, True, False, True]


@pytest.mark.parametrize("name", ["f32", "f64", *INTEGERS])
@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("count", [301, 5000])  # the longer list is one of runs
def test_extremes_in_pieces_are_those_of_one_list(count, op, name):
    """Bit for bit, the first NaN of each element included."""
    rng = np.random.default_rng(6)
    base, update = (
        rng.normal(scale=40, size=n).astype(np.int8).astype(DTYPES[name]) for n in (40, count)
    )
    if name[0] == "f":
        bits = update.view(f"u{update.itemsize}")
        update[::17], update[5::9], base[::5] = np.nan, -0.0, 0.0
        bits[::17] += np.arange(len(bits[::17]), dtype=bits.dtype)  # tells one NaN from another
    index = rng.integers(-5, 45, count).astype(np.int32)
    index = index if count == 301 else np.sort(index)
    want = base.copy()
    call(f"scatter_{op}_{name}", [want, index, update], [count, 1, 40, 4, 1], 1)
    for pieces in (1, 2, 3, 8):
        out, work = base.copy(), np.full((pieces - 1, 40), 99, DTYPES[name])
        params = [count, 1, 40, 4, pieces, 40]
        call(f"scatter_{op}_pieces_{name}", [out, index, update, work], params, pieces, 1)
        call(f"{op}_pieces_{name}", [out, work], [40, pieces, 40], 40, 7)
        assert same_bits(out, want) and out.tobytes() == want.tobytes()


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("op", ["set", "add", "max"])
@pytest.mark.parametrize("window", [1, 2, 7])
def test_ranges_of_a_long_list_are_the_whole(window, op, level):
    """Bit for bit: each range finds its updates, in order, and its parts of windows."""
    program = f"""
import sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
import numpy as np
from routine_caller import call
rng = np.random.default_rng(4)
base, update = rng.normal(size=3000).astype("f"), rng.normal(size=(5000, {window})).astype("f")
for kind, code in ((0, "i8"), (4, "i4")):
    index = rng.integers(-100, 3100, 5000).astype(code)
    index[:7] = np.iinfo(code).min, np.iinfo(code).max, -1, 0, 2999, 3000, 1500
    want = base.copy()
    call("scatter_{op}_f32", [want, index, update], [5000, {window}, 3000, kind, 1], 1)
    for ranges, grain in ((2, 1), (7, 1), (16, 3), (5000, 1000)):
        out = base.copy()
        params = [5000, {window}, 3000, kind, ranges]
        call("scatter_{op}_f32", [out, index, update], params, ranges, grain)
        assert out.tobytes() == want.tobytes(), (kind, ranges)
"""
    environment = {**os.environ, "JITNEY_CPU_LEVEL": str(level)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


@pytest.mark.parametrize("right", [0, 1])
@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS, "bool"])
def test_searchsorted(name, right):
    for n in (0, 1, 2, 17, 1000):
        row = samples(name, (n,), n)
        row = np.sort(row) if name != "bf16" else row[np.argsort(row.astype(float))]
        values = np.concatenate([samples(name, (50,), 9), row[:50]])
        wide = np.float64 if name in FLOATS else row.dtype
        side = "right" if right else "left"
        want = np.searchsorted(row.astype(wide), values.astype(wide), side=side)
        for index in (np.int32, np.int64):
            out = np.empty(len(values), index)
            params = [n, right, out.itemsize, 0]
            call(f"searchsorted_{name}", [row, values, out], params, len(values), 7)
            assert np.array_equal(out, want)


def near_edges(edges):
    """Values at, beside, between and beyond edges."""
    dtype = edges.dtype.type
    beside = [np.nextafter(edges, dtype(side)) for side in (-np.inf, np.inf)]
    odd = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30], dtype)
    rng = np.random.default_rng(8)
    spread = rng.normal(edges.mean(), edges[-1] - edges[0], 5000).astype(dtype)
    return rng.permutation(np.concatenate([edges, *beside, odd, spread, spread]))


EDGES = [np.linspace(-3, 3, 65), np.linspace(0, 1, 4), np.linspace(-1e-3, 5, 1001),
         np.linspace(1e4, 1e4 + 1, 50), np.arange(257.0), np.geomspace(1, 100, 30),
         np.array([0.0, 1.0, 1.0, 2.0, 3.0])]  # fmt: skip


@pytest.mark.parametrize("right", [0, 1])
@pytest.mark.parametrize("edges", EDGES)
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_searchsorted_among_even_edges(name, edges, right):
    edges = edges.astype(DTYPES[name])
    values = near_edges(edges)
    out = np.empty(len(values), np.int32)
    call(f"searchsorted_{name}", [edges, values, out], [len(edges), right, 4, 0], len(values))
    assert np.array_equal(out, np.searchsorted(edges, values, "right" if right else "left"))


@pytest.mark.parametrize("pieces", [1, 4])
@pytest.mark.parametrize("edges", EDGES)
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_histogram_pieces(name, edges, pieces):
    edges = edges.astype(DTYPES[name])
    values = near_edges(edges)
    length = len(edges)
    parts = np.full((pieces, length), -1, np.int32)
    call(f"histogram_pieces_{name}", [edges, values, parts, parts[1:].copy()],
         [len(values), length, 1], 1)
    ranks = np.searchsorted(edges, values, "right")
    ranks[values == edges[-1]] = length - 1
    want = np.bincount(ranks, minlength=length)[:length]
    assert np.array_equal(parts[0], want)
    work = np.empty((pieces, length), np.int32)
    out = np.empty(length, np.int32)
    call(f"histogram_pieces_{name}", [edges, values, out, work], [len(values), length, pieces],
         pieces, 1)
    assert np.array_equal(out + work[: pieces - 1].sum(0), want)
    if len(np.unique(edges)) == length:
        assert np.array_equal(want[1:], np.histogram(values[np.isfinite(values)], edges)[0])


@pytest.mark.parametrize("negative", [0, 1])
@pytest.mark.parametrize("name", INTEGERS)
def test_count_pieces(name, negative):
    for n, length in [(0, 5), (3, 3), (5000, 1), (70001, 65), (70001, 300), (40000, 1024),
                      (500, 5000)]:  # fmt: skip
        x = samples(name, (n,), n)
        out, work = np.empty(length, np.int32), np.empty((2, length), np.int32)
        call(f"count_pieces_{name}", [x, out, work], [n, length, 3, negative], 3, 1)
        wide = [max(v, 0) if negative else v for v in x.tolist()]
        inside = np.array([v for v in wide if 0 <= v < length], int)
        assert np.array_equal(out + work.sum(0), np.bincount(inside, minlength=length))


def test_counts_of_one_number_fill_no_counter():
    x = np.full(400_000, 3, np.int32)
    out = np.empty(10, np.int32)
    call("count_pieces_i32", [x, out, out], [len(x), 10, 1, 0], 1)
    assert out.tolist() == [0, 0, 0, 400_000, 0, 0, 0, 0, 0, 0]


def test_searchsorted_in_batches():
    rows = np.sort(np.random.default_rng(5).normal(size=(4, 33)), axis=1)
    values = np.random.default_rng(6).normal(size=(4, 10))
    out = np.empty((4, 10), np.int32)
    call("searchsorted_f64", [rows, values, out], [33, 0, 4, 10], 40, 7)
    assert np.array_equal(out, [np.searchsorted(r, v) for r, v in zip(rows, values, strict=True)])


@pytest.mark.parametrize("name", INTEGERS)
def test_bincount(name):
    for n, length in [(0, 5), (1, 3), (1000, 7), (70000, 100), (500, 5000), (10, 0)]:
        x = samples(name, (n,), n)
        out = np.full(length, -1, np.int32)
        call(f"bincount_{name}", [x, out], [n, length], 1)
        wide = [max(v, 0) for v in x.tolist()]
        want = np.bincount(np.array([v for v in wide if v < length], int), minlength=length)
        assert np.array_equal(out, want[:length])


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_bincount_weights(name, index):
    rng = np.random.default_rng(7)
    x = rng.integers(-2, 12, 1000).astype(index)
    weights = rng.integers(0, 9, 1000).astype(DTYPES[name])
    out = np.full(10, -1, weights.dtype)
    call(f"bincount_weights_{name}", [x, weights, out], [1000, 10, x.itemsize], 1)
    inside = x < 10
    assert np.array_equal(out, np.bincount(np.maximum(x[inside], 0), weights[inside], 10))


@pytest.mark.parametrize("op", ["add", "mul"])
@pytest.mark.parametrize("window", [1, 4, 7, 8, 9, 17, 40])
def test_halves_are_combined_as_floats_are_rounded(op, window):
    """Eights of them by the instructions that convert halves, the others one by one."""
    rng = np.random.default_rng(window)
    out = rng.normal(size=(6, window)).astype(np.float16)
    update = (rng.normal(size=(30, window)) * 10).astype(np.float16)
    update[3], update[5], update[7], update[8] = np.inf, 6e4, 6e-8, -0.0
    update[11, 0] = np.nan
    index = rng.integers(0, 6, 30).astype(np.int32)
    offsets, want = index * np.int32(window), out.copy()
    with np.errstate(all="ignore"):
        for row, values in zip(index, update, strict=True):
            want[row] = want[row] + values if op == "add" else want[row] * values
    call(f"scatter_{op}_f16", [out, offsets, update], [30, window, 6 * window, 4, 1], 1)
    np.testing.assert_array_equal(out, want)
