"""What "first_extreme", "searchsorted", "count" and "inner" calls mean, for the interpreter of
graphs.

In: a call node and its operands as NumPy arrays. Out: the results, as a tuple.
"""

import numpy as np

from ..ir.types import DTYPE_OF_CODE


def interpret_first_extreme(node, x):
    """The first place of the greatest (or least) element along an axis."""
    n, inner, greatest = node.attrs[2:]
    ((shape, code),) = node.attrs[1]
    lines = x.reshape(-1, n, inner)
    found = lines.argmax(1) if greatest else lines.argmin(1)
    return (found.reshape(shape).astype(DTYPE_OF_CODE[code]),)


def interpret_searchsorted(node, edges, values):
    """How many edges are below each value (or not above it)."""
    side = "right" if node.attrs[2] else "left"
    wide = [x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x
            for x in (edges, values)]
    return (np.searchsorted(*wide, side=side).astype(np.int32),)


def interpret_count(node, values):
    """How often each number from 0 on occurs."""
    ((shape, _),) = node.attrs[1]
    inside = values[(values >= 0) & (values < shape[0])]
    return (np.bincount(inside, minlength=shape[0]).astype(np.int32),)


def interpret_inner(node, a, b):
    """The inner product of complex vectors in stored form."""
    x, y = (v.reshape(-1, 2)[:, 0] + 1j * v.reshape(-1, 2)[:, 1] for v in (a, b))
    x, y = (v.conj() if c else v for v, c in zip((x, y), node.attrs[3:], strict=True))
    found = (x * y).sum()
    return (np.array([found.real, found.imag], a.dtype),)


SEARCHES = {
    "first_extreme": interpret_first_extreme, "searchsorted": interpret_searchsorted,
    "count": interpret_count, "inner": interpret_inner,
}  # fmt: skip
