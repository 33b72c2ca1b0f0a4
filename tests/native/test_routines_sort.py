"""sort, argsort, argsort_by, permute: JAX's order (NaN last, -0 == +0), stable, any split."""

import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))  # tests are imported without a package
from routine_caller import DTYPES, FLOATS, INTEGERS, call, same_bits, samples, scratch  # noqa: E402

from jitney import _native as native  # noqa: E402

SORTABLE = [*FLOATS, *INTEGERS, "bool"]
SHAPES = [(1, 0), (1, 1), (3, 2), (5, 17), (2, 48), (2, 49), (3, 1000), (1, 70000)]


def expected_order(rows, descending):
    """Stable argsort along rows, by NumPy."""
    if rows.shape[1] == 0:
        return np.zeros(rows.shape, np.int64)
    wide = rows if rows.dtype.kind in "iub" else rows.astype(np.float64)
    if wide.dtype.kind == "f":
        nan = np.isnan(wide)
        wide = np.where(nan, 0.0, wide)
        if descending:
            return np.lexsort((-wide, ~nan), axis=1)
        return np.lexsort((wide, nan), axis=1)
    if descending:
        wide = ~wide if wide.dtype.kind in "ub" else -1 - wide
    return np.argsort(wide, axis=1, kind="stable")


def run_sort(name, rows, descending, rows_per_piece=0):
    out = np.empty_like(rows)
    count, n = rows.shape
    pieces = -(-count // rows_per_piece) if rows_per_piece else 1
    work = scratch(n * rows.itemsize, pieces)
    params = [n, descending, rows_per_piece]
    call(f"sort_{name}", [rows, out, work], params, count, rows_per_piece)
    return out


def run_argsort(name, rows, descending, index=np.int32, perm=None, rows_per_piece=0):
    count, n = rows.shape
    out = np.empty(rows.shape, index)
    pieces = -(-count // rows_per_piece) if rows_per_piece else 1
    work = scratch(2 * n * (16 if rows.itemsize == 8 else 8), pieces)
    params = [n, descending, rows_per_piece, np.dtype(index).itemsize]
    if perm is None:
        call(f"argsort_{name}", [rows, out, work], params, count, rows_per_piece)
    else:
        call(f"argsort_by_{name}", [rows, perm, out, work], params, count, rows_per_piece)
    return out


@pytest.mark.parametrize("descending", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", SORTABLE)
def test_sort_and_argsort(name, shape, descending):
    rows = samples(name, shape, seed=shape[1])
    order = expected_order(rows, descending)
    assert same_bits(run_sort(name, rows, descending), np.take_along_axis(rows, order, 1))
    for index in (np.int32, np.int64):
        assert np.array_equal(run_argsort(name, rows, descending, index), order)


@pytest.mark.parametrize("descending", [0, 1])
@pytest.mark.parametrize("name", ["f32", "f64", "u32", "i64"])
def test_every_length(name, descending):
    """Up to twice what fits in registers; behind the result nothing is written."""
    for n in range(300):
        rows = samples(name, (1, n), n)
        order = expected_order(rows, descending)
        assert np.array_equal(run_argsort(name, rows, descending), order)
        room = np.full((1, n + 40), 99, rows.dtype)
        call(f"sort_{name}", [rows, room, scratch(n * rows.itemsize)], [n, descending, 0], 1)
        assert same_bits(room[:, :n].copy(), np.take_along_axis(rows, order, 1))
        assert np.all(room[:, n:] == 99)


@pytest.mark.parametrize("name", ["f32", "f64", "i32", "u64", "f16"])
def test_constant_and_nearly_constant_rows(name):
    for n in (60, 30000):
        for values in ([3] * n, [1] * (n - 1) + [0], list(range(n, 0, -1))):
            rows = np.array([values]).astype(DTYPES[name])
            assert same_bits(run_sort(name, rows, 0), np.sort(rows, axis=1))
            assert np.array_equal(run_argsort(name, rows, 0), np.argsort(rows, kind="stable"))


@pytest.mark.parametrize("name", ["f32", "i8", "f64"])
def test_pieces_use_their_own_scratch(name):
    rows = samples(name, (7, 300), seed=3)
    assert same_bits(run_sort(name, rows, 0, 2), run_sort(name, rows, 0))
    assert np.array_equal(run_argsort(name, rows, 1, rows_per_piece=3), run_argsort(name, rows, 1))


@pytest.mark.parametrize("name", ["f32", "f64", "i32", "u16"])
@pytest.mark.parametrize("threads", [2, 3])
def test_long_rows_on_several_threads(name, threads):
    rows = samples(name, (1, 260_001), seed=5)
    native.set_num_threads(1)
    alone = run_sort(name, rows, 0), run_argsort(name, rows, 0)
    native.set_num_threads(threads)
    assert same_bits(run_sort(name, rows, 0), alone[0])
    assert np.array_equal(run_argsort(name, rows, 0), alone[1])
    native.set_num_threads(0)
    assert np.array_equal(alone[1], expected_order(rows, 0))


@pytest.mark.parametrize("descending", [0, 1])
@pytest.mark.parametrize("name, n", [("f32", 700_001), ("f64", 330_000), ("i32", 650_123)])
def test_rows_beyond_the_near_cache(name, n, descending):
    """Long enough to be partitioned by the leading digit; with ties and NaNs."""
    rng = np.random.default_rng(6)
    rows = rng.random((1, n)) if name != "i32" else rng.integers(-(2**31), 2**31, (1, n))
    rows = rows.astype(DTYPES[name])
    rows[0, ::11] = rows[0, 1]
    if name != "i32":
        rows[0, 5:n:3] = samples(name, rows[0, 5:n:3].shape, seed=7)
    order = expected_order(rows, descending)
    for threads in (1, 2):
        native.set_num_threads(threads)
        assert np.array_equal(run_argsort(name, rows, descending), order)
        assert same_bits(run_sort(name, rows, descending), np.take_along_axis(rows, order, 1))
    native.set_num_threads(0)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_lexicographic_sort_by_successive_passes(index):
    rng = np.random.default_rng(0)
    shape = (3, 2000)
    first = np.where(rng.random(shape) < 0.2, np.nan, rng.integers(0, 4, shape)).astype(np.float32)
    first[rng.random(shape) < 0.2] = -0.0
    second = rng.integers(-3, 3, shape).astype(np.int64)
    third = samples("f16", shape, 2)
    perm = run_argsort("f16", third, 0, index)
    perm = run_argsort("i64", second, 1, index, perm)
    perm = run_argsort("f32", first, 0, index, perm)
    position = np.broadcast_to(np.arange(shape[1]), shape)
    third64, first64 = third.astype(float), first.astype(float)
    order = np.lexsort(
        (
            position,
            np.nan_to_num(third64, nan=0, posinf=np.inf, neginf=-np.inf),
            np.isnan(third64),
            -second,
            np.nan_to_num(first64, nan=0),
            np.isnan(first64),
        ),
        axis=1,
    )
    assert np.array_equal(perm, order)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("name", ["i8", "f16", "f32", "f64", "c128"])
def test_permute(name, index):
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 17, 1000):
        rows = rng.integers(0, 100, (3, n)).astype(DTYPES[name])
        perm = np.argsort(rng.random((3, n)), axis=1).astype(index)
        out = np.empty_like(rows)
        params = [n, np.dtype(index).itemsize]
        call(f"permute_b{rows.itemsize}", [rows, perm, out], params, 3, 2)
        assert np.array_equal(out, np.take_along_axis(rows, perm.astype(np.int64), 1))


def test_names():
    names = native.routine_names()
    assert names == sorted(names) and "sort_bf16" in names
    with pytest.raises(KeyError, match="no native routine"):
        native.routine_address("nonsense")
    with pytest.raises(TypeError):
        native.routine_address(3)
