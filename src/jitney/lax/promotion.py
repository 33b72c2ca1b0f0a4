"""Implicit promotion of operands, used by the functions of `jax.numpy`.

In: arrays, tracers, NumPy values, Python scalars. Out: the same values, of one dtype.
Invariant: the result is weakly typed only if every operand is; a value of the right type already
is returned as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import get_aval, is_value
from jitney.lax.cast import convert, convert_element_type_p
from jitney.lax.shape import unchanged


def as_operand(x: Any, name: str, position: int) -> Any:
    """`x` when it is data; a TypeError naming the function and the argument otherwise."""
    if is_value(x):
        return x
    raise TypeError(
        f"{name} requires ndarray or scalar arguments, got {type(x)} at position {position}. Make "
        "an array of it with jnp.asarray.")


def _to(x: Any, dtype: Any, weak: bool) -> Any:
    aval = get_aval(x)
    if aval.dtype == dtype and aval.weak_type == weak:
        return unchanged(x)
    if weak:                                               # `convert` leaves weak results alone
        return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=True, sharding=None)
    return unchanged(convert(x, dtype, False))


def promote_dtypes(*args: Any) -> list:
    """The operands, converted to the dtype they combine to."""
    avals = [get_aval(a) for a in args]
    first = avals[0]
    if all(a.dtype == first.dtype and a.weak_type == first.weak_type for a in avals):
        return [unchanged(a) for a in args]
    dtype, weak = dtypes.promote(tuple((a.dtype, a.weak_type) for a in avals))
    return [_to(a, dtype, weak) for a in args]


def _promoted_with(to_kind: Any, args: tuple) -> list:
    dtype, weak = dtypes.promote(tuple((a.dtype, a.weak_type) for a in map(get_aval, args)))
    wanted = dtypes.canonicalize_dtype(to_kind(dtype))
    # A conversion of kind keeps the weakness: 1 becomes a weak 1.0.
    return [_to(a, wanted, weak) for a in args]


def promote_dtypes_inexact(*args: Any) -> list:
    """Like `promote_dtypes`; integers and booleans become floating."""
    return _promoted_with(dtypes.to_inexact_dtype, args)


def promote_dtypes_numeric(*args: Any) -> list:
    """Like `promote_dtypes`; booleans become integers."""
    return _promoted_with(dtypes.to_numeric_dtype, args)


def promote_dtypes_complex(*args: Any) -> list:
    """Like `promote_dtypes`; everything becomes complex."""
    return _promoted_with(dtypes.to_complex_dtype, args)


def dtype(x: Any) -> np.dtype:
    """The dtype of a value or of a dtype specification, in the present mode.

    >>> dtype(1.0)
    dtype('float32')
    """
    return dtypes.dtype(x, canonicalize=True)


__all__ = ["dtype"]
