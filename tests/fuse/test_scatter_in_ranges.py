"""Scatters into ranges of the result, each of which looks for its updates."""

import numpy as np
import pytest

import jitney
from jitney.fuse.scatter import SCATTER_IN_PIECES, scatter_ranges


def test_ranges_depend_on_sizes_alone():
    assert scatter_ranges(SCATTER_IN_PIECES - 1, 10**6, "f32") == 1
    assert scatter_ranges(SCATTER_IN_PIECES, 100, "f32") == 1  # too few to share
    assert scatter_ranges(SCATTER_IN_PIECES, 10**6, "f32") == 2
    assert scatter_ranges(10**7, 10**8, "f32") == 4  # each looks through all updates


@pytest.mark.parametrize("kind", ["set", "add", "multiply", "min", "max"])
@pytest.mark.parametrize("shape", [(50_000,), (9_000, 7)])
def test_same_bits_for_any_number_of_threads(kind, shape):
    rng = np.random.default_rng(0)
    base, updates = (rng.normal(size=shape).astype(np.float32) for _ in range(2))
    index = rng.integers(-shape[0], shape[0] + 100, shape[0])
    fun = jitney.jit(lambda x, i, v: getattr(x.at[i], kind)(v))
    before = jitney._native.num_threads()
    results = []
    for threads in (1, 2, 5):
        jitney._native.set_num_threads(threads)
        results.append(np.asarray(fun(base, index, updates)).tobytes())
    jitney._native.set_num_threads(before)
    assert len(set(results)) == 1
    want = base.copy()
    inside = index < shape[0]
    index, updates = index[inside], updates[inside]
    if kind == "set":
        for place, value in zip(index, updates, strict=True):
            want[place] = value
    else:
        names = {"min": "minimum", "max": "maximum"}
        getattr(np, names.get(kind, kind)).at(want, index, updates)
    np.testing.assert_array_equal(np.frombuffer(results[0], np.float32).reshape(shape), want)
