"""top_k: largest first, ties by index, total order of floats (+NaN first, -NaN last) as in JAX."""

import os
import sys
import time

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))  # tests are imported without a package
from routine_caller import DTYPES, FLOATS, INTEGERS, call, same_bits, samples, scratch  # noqa: E402


def total_order(x):
    """Signed integers that are ordered as JAX orders the values."""
    if x.dtype.kind in "iub":
        return x.astype(object)
    bits = x.view(np.dtype(f"i{x.dtype.itemsize}"))
    low = np.iinfo(bits.dtype).max
    return bits ^ ((bits >> (8 * x.dtype.itemsize - 1)) & low)


def run(name, rows, k, index=np.int32, rows_per_piece=0):
    count, n = rows.shape
    values = np.empty((count, k), rows.dtype)
    indices = np.empty((count, k), index)
    pieces = -(-count // rows_per_piece) if rows_per_piece else 1
    params = [n, k, rows_per_piece, np.dtype(index).itemsize]
    work = scratch(32 * n, pieces)
    call(f"top_k_{name}", [rows, values, indices, work], params, count, rows_per_piece)
    return values, indices


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS, "bool"])
def test_top_k(name, index):
    cases = [(1, 1, 1), (3, 17, 4), (2, 17, 17), (2, 600, 3), (2, 1000, 10), (1, 1000, 900)]
    cases += [(2, 600, 32), (2, 600, 33), (3, 65, 5), (1, 200, 31), (2, 32, 32), (1, 33, 32)]
    cases += [(1, 70000, 2100), (1, 30000, 3700), (3, 512, 16), (2, 4000, 125), (2, 4000, 126)]
    for count, n, k in [*cases, (2, 5000, 600), (1, 70000, 10), (1, 70000, 1), (1, 9, 0)]:
        rows = samples(name, (count, n), n + k)
        values, indices = run(name, rows, k, index)
        key = total_order(rows)
        best = [sorted(range(n), key=lambda i, r=r: (-r[i], i))[:k] for r in key.tolist()]
        order = np.array(best).reshape(count, k).astype(index)
        assert np.array_equal(indices, order)
        assert same_bits(values, np.take_along_axis(rows, order.astype(np.int64), 1))


@pytest.mark.parametrize("name", ["f32", "u16", "f64"])
def test_every_length(name):
    for n in range(1, 200):
        rows = samples(name, (1, n), n)
        keys = [int(key) for key in total_order(rows)[0]]
        order = np.array(sorted(range(n), key=lambda i, keys=keys: (-keys[i], i)))
        for k in {1, n // 4, n * 2 // 3, n}:
            values, indices = run(name, rows, k)
            assert np.array_equal(indices[0], order[:k])
            assert same_bits(values, rows[:, order[:k]])


@pytest.mark.parametrize("name", ["f32", "i64"])
@pytest.mark.parametrize("n", [100, 1000, 20000])
@pytest.mark.parametrize("part", [1000, 32, 8, 3])
def test_hard_orders(name, n, part):
    k = max(20, n // part)
    for values in (np.arange(n), np.arange(n)[::-1], np.zeros(n), np.arange(n) % 7):
        rows = np.ascontiguousarray(values.astype(DTYPES[name])[None])
        _, indices = run(name, rows, k)
        assert np.array_equal(indices[0], np.argsort(-rows[0], kind="stable")[:k])


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_many_take_about_as_long_as_the_division_of_the_row(name):
    rows = np.random.default_rng(0).standard_normal((1, 200_000)).astype(DTYPES[name])

    def seconds(k):
        best = []
        for _ in range(3):
            begin = time.perf_counter()
            run(name, rows, k)
            best.append(time.perf_counter() - begin)
        return min(best)

    # divided again for each newcomer it took fifty times as long
    assert seconds(6000) < 3 * seconds(100_000)


def test_pieces_use_their_own_scratch():
    rows = samples("f32", (7, 3000), 1)
    want = run("f32", rows, 9)
    got = run("f32", rows, 9, rows_per_piece=2)
    assert np.array_equal(want[1], got[1]) and same_bits(want[0], got[0])


def test_signed_zeros_and_nans():
    rows = np.array([[-0.0, 0.0, -np.nan, np.nan, 0.0]], np.float32)
    assert run("f32", rows, 5)[1].tolist() == [[3, 1, 4, 0, 2]]
