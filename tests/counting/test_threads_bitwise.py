"""Results are bitwise equal for any number of threads."""

import numpy as np
import programs
import pytest

from jitney import _native


@pytest.fixture(autouse=True)
def default_threads():
    yield
    _native.set_num_threads(0)


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_one_two_and_five_threads_agree(name):
    _native.set_num_threads(1)
    want = programs.run(name)
    for threads in (2, 5):
        _native.set_num_threads(threads)
        for _ in range(2):                     # pieces fall to threads differently each time
            got = programs.run(name)
            for a, b in zip(want, got, strict=True):
                assert a.dtype == b.dtype and a.shape == b.shape
                assert a.tobytes() == b.tobytes(), threads


@pytest.mark.parametrize("name", ["sum", "matmul", "softmax", "scatter_add", "cumsum", "matvec"])
def test_programs_planned_for_other_thread_counts_agree(name):
    """The plan may look at the number of threads; the result may not show it."""
    results = []
    for threads in (1, 2, 7):
        _native.set_num_threads(threads)
        fun, args = programs.PROGRAMS[name]
        out = jit_anew(fun)(*args)
        results.append(np.asarray(out).tobytes())
    assert len(set(results)) == 1


def jit_anew(fun):
    """Compiled again, whatever was compiled before."""
    import jitney

    jitted = jitney.jit(fun)
    jitted.clear_cache()
    return jitted
