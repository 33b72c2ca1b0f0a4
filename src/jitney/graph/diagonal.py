"""Sums over a matrix of which a mask leaves the diagonal: only the diagonal is read.

In: the operand of a sum, and its axes. Out: the same sum over a strided view, or None.
Keeps: the value (terms that are left out are +0), of floats but for the sign of a zero sum.
`trace` and `einsum('ii')` are written with such a mask (row + k == column).
"""

from .laws import _is, _scalar, _value


def sum_on_diagonal(g, x, axes):
    """Σ over `axes` of select(row + k == column, values, 0), for neighbouring axes row, column."""
    if x.op != "select" or not _is(_scalar(x.args[2]), 0):
        return None
    mask, values, _ = x.args
    dims = tuple(range(len(x.shape)))
    if mask.op == "broadcast":
        dims, mask = mask.attrs[0], mask.args[0]
    found = _row_and_column(mask) if mask.op == "eq" and mask.shape == tuple(
        x.shape[d] for d in dims) else None
    if found is None:
        return None
    row, column, k = dims[found[0]], dims[found[1]], found[2]
    if row > column:
        row, column, k = column, row, -k
    if column != row + 1 or not {row, column} & set(axes):
        return None
    return _sum_of_view(g, values, row, k, set(axes))


def _row_and_column(mask):
    """(axis, axis, k) of a comparison position[axis] + k == position[other axis]."""
    places = [_position(a) for a in mask.args]
    if None in places:
        return None
    (a, i), (b, j) = places
    return (a, b, i - j) if a != b else None


def _position(node):
    """(axis, k) of iota + k."""
    k = 0
    if node.op in ("add", "sub"):
        lits = [_scalar(a) for a in node.args]
        if lits[1] is None:
            return None
        k, node = int(_value(lits[1])) * (1 if node.op == "add" else -1), node.args[0]
    return (node.attrs[0], k) if node.op == "iota" else None


def _sum_of_view(g, values, row, k, axes):
    """The sum, from every (columns + 1)-th element of the rows side by side."""
    shape = values.shape
    n, m = shape[row : row + 2]
    count = min(n + min(k, 0), m - max(k, 0))
    if count <= 0:
        return None
    flat = g.reshape(values, (*shape[:row], n * m, *shape[row + 2 :]))
    starts, limits, strides = [0] * len(flat.shape), list(flat.shape), [1] * len(flat.shape)
    starts[row] = k if k >= 0 else -k * m
    limits[row] = starts[row] + (count - 1) * (m + 1) + 1
    strides[row] = m + 1
    diagonal = g.slice(flat, starts, limits, strides)
    rest = {a - (a > row) for a in axes if a not in (row, row + 1)}
    if {row, row + 1} <= axes:
        return g.reduce("sum", diagonal, rest | {row})
    extent, first = (n, max(0, -k)) if row not in axes else (m, max(0, k))
    low, high = [0] * len(flat.shape), [0] * len(flat.shape)
    low[row], high[row] = first, extent - first - count
    return g.reduce("sum", g.pad(diagonal, g.lit(0, values.dtype), low, high), rest)
