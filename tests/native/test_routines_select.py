"""partition, argpartition: rank k in its place, NaN last; by vectors and without."""

import os
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))  # tests are imported without a package
from routine_caller import FLOATS, INTEGERS, call, samples, scratch  # noqa: E402

SIZES = [(1, 1), (3, 5), (2, 64), (4, 300), (2, 5000), (1, 70000)]


def checked(known, found, k):
    """`found` has the elements of `known`, divided at rank k."""
    order = np.sort(known, -1)
    np.testing.assert_array_equal(np.sort(found, -1), order)
    at = order[:, k:k + 1]
    np.testing.assert_array_equal(found[:, k:k + 1], at)
    assert np.all((found[:, :k] <= at) | np.isnan(at))
    assert np.all((found[:, k:] >= at) | np.isnan(found[:, k:]))


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("shape", SIZES)
def test_division(name, shape):
    count, n = shape
    rows = samples(name, shape, n)
    known = rows.astype(np.float64) if name in FLOATS else rows
    for k in {0, n // 3, n // 2, n - 1}:
        for grain in (0, 1):
            work = scratch(24 * n, count if grain else 1)
            out = np.empty_like(rows)
            call(f"partition_{name}", [rows, out, work], [n, k, grain], count, grain)
            checked(known, out.astype(known.dtype), k)
            for index in (np.int32, np.int64):
                at = np.empty(shape, index)
                call(f"argpartition_{name}", [rows, at, work],
                     [n, k, grain, np.dtype(index).itemsize], count, grain)
                checked(known, np.take_along_axis(known, at.astype(np.int64), -1), k)
                assert np.array_equal(np.sort(at, -1), np.broadcast_to(np.arange(n), shape))


def test_hard_rows():
    """Equal elements, two values, in order, backwards, one outlier."""
    n = 40000
    up = np.arange(n, dtype=np.int32)
    for row in (np.full(n, 7, np.int32), up % 2, up, up[::-1].copy(), (up == 5).astype(np.int32)):
        for k in (0, 5, n // 2, n - 2):
            out, work = np.empty_like(row), scratch(24 * n)
            call("partition_i32", [row, out, work], [n, k, 0], 1)
            checked(row[None], out[None], k)


@pytest.mark.parametrize("name", ["f32", "f64", "u32", "i64"])
def test_every_length(name):
    """Up to twice what fits in registers; behind the result nothing is written."""
    for n in range(1, 300):
        rows, k = samples(name, (1, n), n), n * 5 // 8
        room = np.full((1, n + 40), 99, rows.dtype)
        call(f"partition_{name}", [rows, room, scratch(24 * n)], [n, k, 0], 1)
        known = rows.astype(np.float64) if name in FLOATS else rows
        checked(known, room[:, :n].astype(known.dtype), k)
        assert np.all(room[:, n:] == 99)


@pytest.mark.skipif("JITNEY_CPU_LEVEL" in os.environ, reason="is that run")
@pytest.mark.parametrize("level", ["0", "1"])
def test_narrower_vectors(level):
    here = os.path.dirname(__file__)
    files = [os.path.join(here, f"test_routines_{name}.py") for name in ("select", "sort")]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, env={**os.environ, "JITNEY_CPU_LEVEL": level},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
