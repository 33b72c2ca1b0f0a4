"""What "first_extreme", "searchsorted", "count", "histogram", "inner" and "special" calls mean, for
the interpreter of graphs.

In: a call node and its operands as NumPy arrays. Out: the results, as a tuple.
"""

import numpy as np

from ..ir.types import DTYPE_OF_CODE
from ..lax import special_values


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
    """How often each number from 0 on occurs; negative ones count as 0 if attrs[2]."""
    ((shape, _),) = node.attrs[1]
    values = np.maximum(values, 0) if node.attrs[2] else values
    inside = values[(values >= 0) & (values < shape[0])].astype(np.int64)
    return (np.bincount(inside, minlength=shape[0]).astype(np.int32),)


def interpret_histogram(node, edges, values):
    """How many values have each number of edges at or below them; the last edge is below itself."""
    ((shape, _),) = node.attrs[1]
    ranks = np.searchsorted(edges, values.ravel(), side="right")
    ranks = np.where(values.ravel() == edges[-1], len(edges) - 1, ranks)
    return (np.bincount(ranks, minlength=shape[0])[: shape[0]].astype(np.int32),)


def interpret_inner(node, a, b):
    """The inner product of complex vectors in stored form."""
    x, y = (v.reshape(-1, 2)[:, 0] + 1j * v.reshape(-1, 2)[:, 1] for v in (a, b))
    x, y = (v.conj() if c else v for v, c in zip((x, y), node.attrs[3:], strict=True))
    found = (x * y).sum()
    return (np.array([found.real, found.imag], a.dtype),)


def interpret_special(node, x, y, *_):
    """A special function of two numbers, by its name; what else is given is its value, nearly."""
    return (getattr(special_values, node.attrs[2])(x, y),)


SEARCHES = {
    "first_extreme": interpret_first_extreme, "searchsorted": interpret_searchsorted,
    "count": interpret_count, "histogram": interpret_histogram, "inner": interpret_inner,
    "special": interpret_special,
}  # fmt: skip
