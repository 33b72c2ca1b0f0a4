"""Repeated rows against NumPy, for every width and count that vectors are picked for."""

import os
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))  # tests are imported without a package
from routine_caller import call  # noqa: E402

RNG = np.random.default_rng(7)
ROWS = (1, 2, 15, 17, 64, 200)
NOTHING = 0xA5


def unaligned(shape):
    """Bytes of a shape, one byte behind where an allocation begins."""
    return np.full(int(np.prod(shape)) + 1, NOTHING, np.uint8)[1:].reshape(shape)


@pytest.mark.parametrize("nbytes", [*range(1, 21), 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 72])
def test_rows(nbytes):
    for n in ROWS:
        source = unaligned((n, nbytes))
        source[:] = RNG.integers(0, 256, source.shape)
        for times in (1, 2, 3, 4, 5, 7, 8, 16, 31, 300):
            for far, grain in ((0, 0), (0, 13), (1, 64)):
                out = unaligned((n * times + 1, nbytes))
                call("repeat_rows", [source, out], [n, nbytes, times, far], n, grain)
                assert np.array_equal(out[:-1], np.repeat(source, times, 0))
                assert (out[-1] == NOTHING).all()


def test_past_the_caches():
    source = RNG.integers(0, 256, (5000, 12)).astype(np.uint8)
    raw = np.zeros(5000 * 36 + 64, np.uint8)
    out = raw[-raw.ctypes.data % 64 :][: 5000 * 36].reshape(-1, 12)
    call("repeat_rows", [source, out], [5000, 12, 3, 1], 5000, 640)
    assert np.array_equal(out, np.repeat(source, 3, 0))


def test_nothing():
    empty, out = np.zeros((0, 4), np.uint8), np.zeros((0, 4), np.uint8)
    call("repeat_rows", [empty, out], [0, 4, 3, 0], 0)
    call("repeat_rows", [np.ones((3, 4), np.uint8), out], [3, 4, 0, 0], 3)


@pytest.mark.skipif(os.environ.get("JITNEY_CPU_LEVEL") is not None, reason="is the inner run")
@pytest.mark.parametrize("level", ["0", "1"])
def test_narrower_vectors(level):
    env = dict(os.environ, JITNEY_CPU_LEVEL=level)
    command = [sys.executable, "-m", "pytest", "-q", "-x", __file__]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
