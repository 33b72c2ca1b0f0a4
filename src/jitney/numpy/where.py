"""Choice between values: `where` with three arguments, in the form every module uses.

In: a condition and two values. Out: their broadcast shape and common dtype.
Invariant: both values are broadcast before the choice, so gradients flow to both alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney import lax
from jitney.core.trace import Tracer
from jitney.numpy.jitted import named, traced_call
from jitney.numpy.promotion import (
    arraylike,
    broadcast_shapes_or_error,
    convert,
    dtype_of,
    promote_dtypes,
    shape_of,
)


def _where(condition, x, y):
    if _are_alike(condition, x, y):
        return lax.select(condition, x, y)
    condition, x, y = arraylike("where", condition, x, y)
    if dtype_of(condition) != np.bool_:
        condition = lax.ne(condition, convert(0, dtype_of(condition)))
    x, y = promote_dtypes(x, y)
    shape = broadcast_shapes_or_error("where", [shape_of(condition), shape_of(x), shape_of(y)])
    if shape_of(condition):
        condition = spread(condition, shape)
    return lax.select(condition, spread(x, shape), spread(y, shape))


def _are_alike(condition: Any, x: Any, y: Any) -> bool:
    """Whether nothing has to be converted or spread."""
    if not (isinstance(condition, Tracer) and isinstance(x, Tracer) and isinstance(y, Tracer)):
        return False
    aval = condition.aval
    return x.aval is y.aval and aval.dtype == np.bool_ and aval.shape == x.aval.shape


def spread(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` broadcast to `shape` (trailing axes aligned); itself when it has it already."""
    have = shape_of(x)
    if have == shape:
        return x
    return lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - len(have), len(shape))))


where_value = traced_call(named(_where, "_where", "`where` with three arguments."))
