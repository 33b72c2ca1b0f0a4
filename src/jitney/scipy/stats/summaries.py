"""Summaries of samples: mode, ranks, standard error of the mean.

In: arrays and an axis. Out: arrays.
Invariant: NaN policies other than "propagate" (and "omit" for sem) are refused.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from jitney import lax
from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.numpy.promotion import canonical_axis, check_arraylike, promote_args_inexact


class ModeResult(NamedTuple):
    """The most frequent values and how often they occur."""

    mode: Any
    count: Any


def _check_policy(nan_policy: str, allowed: tuple[str, ...]) -> None:
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(f"Illegal nan_policy value {nan_policy!r}; expected one of "
                         "{'propagate', 'omit', 'raise'}")
    if nan_policy not in allowed:
        raise NotImplementedError(f"Logic for `nan_policy` of {nan_policy} is not implemented")


def _flat(a, axis):
    """The array and axis to work along; None means all elements."""
    a = jnp.asarray(a)
    return (a.reshape(-1), 0) if axis is None else (jnp.atleast_1d(a), canonical_axis(axis, a.ndim))


@jit(static_argnames=("axis", "nan_policy", "keepdims"))
def mode(a, axis=0, nan_policy="propagate", keepdims=False):
    """The most frequent value along an axis (the smallest of several), and its count."""
    check_arraylike("mode", a)
    _check_policy(nan_policy, ("propagate",))
    rank = jnp.ndim(a)
    a, along = _flat(a, axis)
    if a.shape[along] == 0:
        shape = a.shape[:along] + a.shape[along + 1:]
        empty = jnp.full(shape, jnp.nan, dtypes.to_inexact_dtype(a.dtype))
        return ModeResult(empty, jnp.zeros(shape, dtypes.canonicalize_dtype(float)))
    x = jnp.sort(jnp.moveaxis(a, along, -1), axis=-1)
    # in a sorted row the value at i has occurred as often as i is past its first occurrence
    first = jnp.concatenate([jnp.ones_like(x[..., :1], bool), x[..., 1:] != x[..., :-1]], axis=-1)
    place = jnp.arange(x.shape[-1])
    start = lax.cummax(jnp.where(first, place, 0), axis=x.ndim - 1)
    count = place - start + 1
    best = jnp.argmax(count, axis=-1, keepdims=True)
    value = jnp.take_along_axis(x, best, axis=-1)[..., 0]
    count = jnp.take_along_axis(count, best, axis=-1)[..., 0]
    if keepdims:
        shape = (1,) * rank if axis is None else None
        value, count = (v.reshape(shape) if shape is not None else jnp.expand_dims(v, along)
                        for v in (value, count))
    return ModeResult(value, count)


_METHODS = ("average", "min", "max", "dense", "ordinal")


@jit(static_argnames=("method", "axis", "nan_policy"))
def rankdata(a, method="average", *, axis=None, nan_policy="propagate"):
    """Ranks from 1, ties being treated as `method` says."""
    check_arraylike("rankdata", a)
    _check_policy(nan_policy, ("propagate",))
    if method not in _METHODS:
        raise ValueError(f"unknown method {method!r}")
    a, along = _flat(a, axis)
    x = jnp.moveaxis(a, along, -1)
    order = jnp.argsort(x, axis=-1)
    back = jnp.argsort(order, axis=-1)
    if method == "ordinal":
        ranks = back + 1
    else:
        ranks = jnp.take_along_axis(_tied_ranks(jnp.take_along_axis(x, order, axis=-1), method),
                                    back, axis=-1)
    return jnp.moveaxis(ranks.astype(dtypes.canonicalize_dtype(float)), -1, along)


def _tied_ranks(x, method):
    """Ranks of sorted rows."""
    size, axis = x.shape[-1], x.ndim - 1
    first = jnp.concatenate([jnp.ones_like(x[..., :1], bool), x[..., 1:] != x[..., :-1]], axis=-1)
    if method == "dense":
        return jnp.cumsum(first, axis=-1)
    place = jnp.arange(1, size + 1)
    lowest = lax.cummax(jnp.where(first, place, 0), axis=axis)
    last = jnp.concatenate([first[..., 1:], jnp.ones_like(first[..., :1])], axis=-1)
    highest = lax.cummin(jnp.where(last, place, size), axis=axis, reverse=True)
    if method == "min":
        return lowest
    return highest if method == "max" else 0.5 * (lowest + highest)


@jit(static_argnames=("axis", "nan_policy", "ddof", "keepdims"))
def sem(a, axis=0, ddof=1, nan_policy="propagate", *, keepdims=False):
    """The standard error of the mean."""
    _check_policy(nan_policy, ("propagate", "omit"))
    a, = promote_args_inexact("sem", a)
    a = jnp.asarray(a)
    if nan_policy == "omit":
        count = jnp.sum(~jnp.isnan(a), axis=axis, keepdims=keepdims)
        spread = jnp.nanstd(a, axis=axis, ddof=ddof, keepdims=keepdims)
        return spread / jnp.sqrt(count.astype(a.dtype))
    size = a.size if axis is None else a.shape[axis]
    return jnp.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / math.sqrt(size)


__all__ = ["ModeResult", "mode", "rankdata", "sem"]
