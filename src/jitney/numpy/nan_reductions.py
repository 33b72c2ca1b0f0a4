"""Reductions that leave NaN out.

In and out as in `reductions`. Out: NaN only where nothing but NaN was reduced.
Invariant: on integers they are the plain reductions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.numpy import reductions
from jitney.numpy.jitted import along_axes
from jitney.numpy.promotion import (
    arraylike,
    canonical_axes,
    check_arraylike,
    convert,
    dtype_of,
    no_out,
    requested_dtype,
    shape_of,
)
from jitney.numpy.ufuncs import constant, sqrt
from jitney.numpy.where import where_value

_STATIC = ("axis", "dtype", "keepdims")


def _without_nan(a: Any, fill: Any) -> Any:
    return where_value(lax.ne(a, a), constant(fill, a), a)


def _nan_extremum(name: str, a: Any, reduce: Callable, fill: float, axis: Any, out: Any,
                  keepdims: bool, initial: Any, where: Any) -> Any:
    a = arraylike(name, a)
    no_out(name, out)
    if not dtypes.is_inexact(dtype_of(a)):
        return reduce(a, axis=axis, keepdims=keepdims, initial=initial, where=where)
    result = reduce(_without_nan(a, fill), axis=axis, keepdims=keepdims, initial=initial,
                    where=where)
    if initial is not None:
        return result
    all_nan = reductions.all(lax.ne(a, a), axis=axis, keepdims=keepdims)
    return where_value(all_nan, constant(np.nan, a), result)


@along_axes(static_argnames=("axis", "keepdims"))
def nanmin(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """Smallest element along axes, NaN left out."""
    return _nan_extremum("nanmin", a, reductions.min, np.inf, axis, out, keepdims, initial, where)


@along_axes(static_argnames=("axis", "keepdims"))
def nanmax(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """Largest element along axes, NaN left out."""
    return _nan_extremum("nanmax", a, reductions.max, -np.inf, axis, out, keepdims, initial, where)


def _nan_total(name: str, a: Any, reduce: Callable, fill: int, axis: Any, dtype: Any, out: Any,
               keepdims: bool, initial: Any, where: Any) -> Any:
    a = arraylike(name, a)
    no_out(name, out)
    if dtypes.is_inexact(dtype_of(a)):
        a = _without_nan(a, fill)
    return reduce(a, axis=axis, dtype=requested_dtype(dtype, name), keepdims=keepdims,
                  initial=initial, where=where)


@along_axes(static_argnames=_STATIC)
def nansum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
    """Sum along axes, NaN counting as 0."""
    return _nan_total("nansum", a, reductions.sum, 0, axis, dtype, out, keepdims, initial, where)


@along_axes(static_argnames=_STATIC)
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
    """Product along axes, NaN counting as 1."""
    return _nan_total("nanprod", a, reductions.prod, 1, axis, dtype, out, keepdims, initial, where)


def _integer_count(mask: Any) -> Any:
    return lax.convert_element_type(mask, dtypes.canonicalize_dtype(np.int64))


@along_axes(static_argnames=_STATIC)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, where=None):
    """Mean along axes, NaN left out."""
    a = arraylike("nanmean", a)
    no_out("nanmean", out)
    if not dtypes.is_inexact(dtype_of(a)):
        return reductions.mean(a, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    dtype = dtype_of(a) if dtype is None else requested_dtype(dtype, "nanmean")
    valid = _integer_count(lax.bitwise_not(lax.ne(a, a)))
    count = reductions.sum(valid, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    total = nansum(a, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    return lax.div(total, count)


@along_axes(static_argnames=_STATIC)
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=None, mean=None):
    """Variance along axes, NaN left out."""
    a = arraylike("nanvar", a)
    no_out("nanvar", out)
    computed, result_dtype = variance_dtypes(dtype_of(a), dtype)
    a = convert(a, computed)
    if mean is None:
        center = nanmean(a, axis=axis, dtype=computed, keepdims=True, where=where)
    else:
        center = convert(mean, computed)
    deviation = where_value(lax.ne(a, a), 0, lax.sub(*_same_rank(a, center)))
    squares = squared_magnitude(deviation)
    valid = _integer_count(lax.bitwise_not(lax.ne(a, a)))
    count = reductions.sum(valid, axis=axis, keepdims=keepdims, where=where)
    divisor = lax.sub(*_common(count, ddof))
    empty = lax.le(divisor, constant(0, divisor))
    total = reductions.sum(squares, axis=axis, keepdims=keepdims, where=where)
    total = where_value(empty, np.nan, total)
    divisor = where_value(empty, 1, divisor)
    result = lax.div(total, lax.convert_element_type(divisor, dtype_of(total)))
    return convert(result, result_dtype)


def _common(count: Any, ddof: Any) -> tuple[Any, Any]:
    if dtypes.is_inexact(dtype_of(ddof)):
        return convert(count, np.dtype(np.float32)), convert(ddof, np.dtype(np.float32))
    return count, convert(ddof, dtype_of(count))


def _same_rank(a: Any, center: Any) -> tuple[Any, Any]:
    rank = len(shape_of(a))
    return a, lax.broadcast_to_rank(center, rank) if len(shape_of(center)) else center


def squared_magnitude(deviation: Any) -> Any:
    """|x|**2, real also for complex numbers."""
    if dtypes.is_complex(dtype_of(deviation)):
        return lax.real(lax.mul(deviation, lax.conj(deviation)))
    return lax.square(deviation)


def variance_dtypes(source: Any, dtype: Any) -> tuple[Any, Any]:
    """(dtype to compute in, dtype of the result) of a variance."""
    if dtype is not None:
        wanted = requested_dtype(dtype, "var")
        if not dtypes.is_complex(wanted) and dtypes.is_complex(source):
            raise ValueError("jax.numpy.var does not yet support real dtype parameters when "
                             "computing the variance of an array of complex values. The semantics "
                             "of numpy.var seem unclear in this case. Please comment on "
                             "https://github.com/jax-ml/jax/issues/2283 if this behavior is "
                             "important to you.")
        computed = dtypes.to_inexact_dtype(dtypes.promote_types(source, wanted))
        computed = dtypes.canonicalize_dtype(computed)
        return reductions.computing_dtype(computed), wanted
    computed = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(source))
    return reductions.computing_dtype(computed), dtypes.to_floating_dtype(computed)


@along_axes(static_argnames=_STATIC)
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=None, mean=None):
    """Standard deviation along axes, NaN left out."""
    no_out("nanstd", out)
    return sqrt(nanvar(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where,
                       mean=mean))


@along_axes(static_argnames=("axis", "keepdims"))
def _nanargmax(a, axis=None, keepdims=None):
    return _nan_position(a, reductions.argmax, -np.inf, axis, keepdims)


@along_axes(static_argnames=("axis", "keepdims"))
def _nanargmin(a, axis=None, keepdims=None):
    return _nan_position(a, reductions.argmin, np.inf, axis, keepdims)


def _nan_position(a: Any, find: Callable, fill: float, axis: Any, keepdims: Any) -> Any:
    if not dtypes.is_inexact(dtype_of(a)):
        return find(a, axis=axis, keepdims=keepdims)
    is_nan = lax.ne(a, a)
    found = find(where_value(is_nan, fill, a), axis=axis, keepdims=keepdims)
    nothing = reductions.all(is_nan, axis=axis, keepdims=bool(keepdims))
    return where_value(nothing, -1, found)


def nanargmax(a, axis=None, out=None, keepdims=None):
    """Index of the largest element, NaN left out; -1 where all are NaN."""
    a = arraylike("nanargmax", a)
    no_out("nanargmax", out)
    return _nanargmax(a, axis=axis, keepdims=keepdims)


def nanargmin(a, axis=None, out=None, keepdims=None):
    """Index of the smallest element, NaN left out; -1 where all are NaN."""
    a = arraylike("nanargmin", a)
    no_out("nanargmin", out)
    return _nanargmin(a, axis=axis, keepdims=keepdims)


# --- variance ----------------------------------------------------------------------------------


@along_axes(static_argnames=("axis", "dtype", "keepdims"))
def _var(a, axis=None, dtype=None, correction=0, keepdims=False, *, where=None, mean=None):
    computed, result_dtype = variance_dtypes(dtype_of(a), dtype)
    a = convert(a, computed)
    axes = canonical_axes(axis, len(shape_of(a)))
    if mean is None:
        mean = reductions.mean_along(a, axes, computed, True, where)
    else:
        check_arraylike("var", mean)
        mean = convert(mean, computed)
    squares = squared_magnitude(lax.sub(*_same_rank(a, mean)))
    real = dtype_of(squares)
    if where is None:
        count = convert(float(reductions.count_along(shape_of(a), axes)), real)
    else:
        mask = _integer_count(where) if dtype_of(where) == np.bool_ else where
        mask = lax.broadcast_in_dim(mask, shape_of(a), tuple(
            range(len(shape_of(a)) - len(shape_of(mask)), len(shape_of(a)))))
        count = reductions.sum(mask, axis=axes, dtype=real, keepdims=keepdims)
    divisor = lax.sub(count, convert(correction, real))
    total = reductions.sum(squares, axis=axes, dtype=real, keepdims=keepdims, where=where)
    result = convert(lax.div(total, divisor), result_dtype)
    return where_value(lax.gt(divisor, constant(0, divisor)), result, np.nan)


def _correction(name: str, ddof: Any, correction: Any) -> Any:
    if correction is None:
        return ddof
    if not isinstance(ddof, int) or ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=None, mean=None,
        correction=None):
    """Variance along axes; the divisor is the count less `ddof` (or `correction`)."""
    a = arraylike("var", a)
    no_out("var", out)
    return _var(a, axis=axis, dtype=dtype, correction=_correction("var", ddof, correction),
                keepdims=keepdims, where=where, mean=mean)


@along_axes(static_argnames=("axis", "dtype", "keepdims"))
def _std(a, axis=None, dtype=None, correction=0, keepdims=False, *, where=None, mean=None):
    return lax.sqrt(_var(a, axis=axis, dtype=dtype, correction=correction, keepdims=keepdims,
                         where=where, mean=mean))


def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=None, mean=None,
        correction=None):
    """Standard deviation along axes."""
    a = arraylike("std", a)
    no_out("std", out)
    if dtype is not None and not dtypes.is_inexact(dtypes.canonicalize_dtype(dtype)):
        raise ValueError(f"dtype argument to jnp.std must be inexact; got {dtype}")
    return _std(a, axis=axis, dtype=dtype, correction=_correction("std", ddof, correction),
                keepdims=keepdims, where=where, mean=mean)

