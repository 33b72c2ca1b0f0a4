"""Python integers beyond the default integer type, as operands of arrays that can hold them.

In: the arguments of a function of arrays. Out: the same, each such integer a number of the arrays'
type: `x + (2**64 - 1)` for an array of uint64, `x * 2**100` for floats.
Invariant: numbers the arrays' type cannot hold stay what they are, and are refused elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney.base import dtypes


def _is_wide(x: Any) -> bool:
    limits = np.iinfo(dtypes.canonicalize_dtype(np.int64))
    return type(x) is int and not limits.min <= x <= limits.max


def _as_number(value: int, dtype: Any) -> Any:
    if dtypes.is_inexact(dtype):
        return float(value)
    if dtypes.is_integer(dtype) and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        return np.asarray(value, dtype)[()]
    return value


def fitted(args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]] | None:
    """The arguments with wide integers in the type of the arrays; None where nothing changes."""
    given = (*args, *kwargs.values())
    types = [x.dtype for x in given if isinstance(getattr(x, "dtype", None), np.dtype)]
    if not types or not any(map(_is_wide, given)):
        return None
    dtype = dtypes.result_type(*types)

    def fit(x: Any) -> Any:
        return _as_number(x, dtype) if _is_wide(x) else x
    found = tuple(map(fit, args)), {name: fit(x) for name, x in kwargs.items()}
    changed = any(a is not b for a, b in zip(given, (*found[0], *found[1].values())))
    return found if changed else None
