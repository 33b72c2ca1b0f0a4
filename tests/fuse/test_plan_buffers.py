"""Places in the workspace: the least gap that is long enough, against a plain search."""

import numpy as np

from jitney.fuse.plan_buffers import _first_gap


def searched(low, high, size):
    offset = 0
    for start, stop in sorted(zip(low.tolist(), high.tolist(), strict=True)):
        if start - offset >= size:
            break
        offset = max(offset, stop)
    return offset


def test_the_first_gap_is_the_least():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        low = rng.integers(0, 20, rng.integers(0, 7))
        high = low + rng.integers(1, 9, len(low))
        size = int(rng.integers(1, 7))
        assert _first_gap(low, high, size) == searched(low, high, size)
