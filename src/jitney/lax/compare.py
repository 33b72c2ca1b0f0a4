"""Comparisons: eq, ne, lt, le, gt, ge, and the total order used by sorting.

In: two operands of one dtype. Out: bool, weakly typed if both operands are (as in JAX).
Invariant: NaN compares unequal to everything, except in the total order, where it is the greatest.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jitney.base import dtypes
from jitney.lax.nary import ANY, ORDERED, binary, to_boolean
from jitney.transforms.jvp import define_zero_jvp


def _widened(function: Callable) -> Callable:
    """Compare types NumPy does not order itself in a wider one, which is exact."""

    def reference(x, y):
        if dtypes.is_floating(x.dtype) and x.dtype.kind != "f":
            x, y = x.astype(np.float32), y.astype(np.float32)
        elif dtypes.is_integer(x.dtype) and x.dtype.kind not in "iu":
            x, y = x.astype(np.int32), y.astype(np.int32)
        return function(x, y)

    return reference


def _comparison(name: str, accepts: tuple, function: Callable):
    primitive = binary(name, accepts, _widened(function), to_boolean)
    define_zero_jvp(primitive)
    return primitive


def eq(x, y):
    """x = y."""
    return eq_p.bind(x, y)


eq_p = _comparison("eq", ANY, np.equal)


def ne(x, y):
    """x ≠ y."""
    return ne_p.bind(x, y)


ne_p = _comparison("ne", ANY, np.not_equal)


def ge(x, y):
    """x ≥ y."""
    return ge_p.bind(x, y)


ge_p = _comparison("ge", ORDERED, np.greater_equal)


def gt(x, y):
    """x > y."""
    return gt_p.bind(x, y)


gt_p = _comparison("gt", ORDERED, np.greater)


def le(x, y):
    """x ≤ y."""
    return le_p.bind(x, y)


le_p = _comparison("le", ORDERED, np.less_equal)


def lt(x, y):
    """x < y."""
    return lt_p.bind(x, y)


lt_p = _comparison("lt", ORDERED, np.less)

# --- the total order of floating numbers -------------------------------------------------------


def total_order_key(x: np.ndarray) -> np.ndarray:
    """Integers (or the numbers themselves) ordered as the total order: -NaN … -0 < +0 … NaN.

    >>> total_order_key(np.array([-0.0, 0.0, np.nan])).argsort().tolist()
    [0, 1, 2]
    """
    if not dtypes.is_floating(x.dtype):
        return x if x.dtype.kind in "iub" else x.astype(np.int32)
    if x.dtype.kind != "f":
        x = x.astype(np.float32)
    bits = x.view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def _total(function: Callable) -> Callable:
    return lambda x, y: function(total_order_key(x), total_order_key(y))


eq_to_p = _comparison("eq_to", ORDERED, np.equal)
eq_to_p.def_reference(_total(np.equal))
le_to_p = _comparison("le_to", ORDERED, np.less_equal)
le_to_p.def_reference(_total(np.less_equal))
lt_to_p = _comparison("lt_to", ORDERED, np.less)
lt_to_p.def_reference(_total(np.less))

__all__ = [
    "eq", "eq_p", "eq_to_p", "ge", "ge_p", "gt", "gt_p", "le", "le_p", "le_to_p", "lt", "lt_p",
    "lt_to_p", "ne", "ne_p",
]
