"""`by_threads`: a slow function of arrays, element by element, a share of them in each thread.

In: a function of float64 arrays of one shape that lets other threads run meanwhile, as SciPy's do.
Out: its values, the same for any number of threads. The threads begin and end with the call (some
150 us each), so that a process that forks has none to miss.
"""

import threading
from collections.abc import Callable

import numpy as np

from .. import _native

SHARE = 4000  # elements a thread has at least: of the incomplete beta function some 1400 us


def by_threads(function: Callable, *arrays: np.ndarray) -> np.ndarray:
    """function(*arrays), by as many threads as a call may use.

    >>> by_threads(np.hypot, np.full(9000, 3.0), np.full(9000, 4.0))[[0, -1]]
    array([5., 5.])
    """
    size, shape = arrays[0].size, arrays[0].shape
    count = min(_native.num_threads(), size // SHARE)
    if count < 2:
        return function(*arrays)
    flat, found = [np.ravel(a) for a in arrays], np.empty(size)
    failed: list[BaseException] = []

    def compute(number: int) -> None:
        part = slice(size * number // count, size * (number + 1) // count)
        try:
            with np.errstate(all="ignore"):
                found[part] = function(*[a[part] for a in flat])
        except BaseException as error:  # raised where the call is
            failed.append(error)

    others = [threading.Thread(target=compute, args=(k,)) for k in range(1, count)]
    for thread in others:
        thread.start()
    compute(0)
    for thread in others:
        thread.join()
    if failed:
        raise failed[0]
    return found.reshape(shape)
