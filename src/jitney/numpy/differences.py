"""Differences and sums of neighbours: diff, ediff1d, gradient, trapezoid, unwrap, interp.

In: samples along an axis. Out: differences, slopes, areas, interpolated values.
Invariant: lengths follow NumPy's; one-sided differences at the ends.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.numpy import reductions
from jitney.numpy.arithmetic import clip, remainder
from jitney.numpy.creation import broadcast_value
from jitney.numpy.jitted import traced_call
from jitney.numpy.joining import concatenate
from jitney.numpy.manipulation import moveaxis, part, ravel
from jitney.numpy.promotion import (
    array_arguments,
    arraylike,
    canonical_axes,
    canonical_axis,
    check_arraylike,
    convert,
    dtype_of,
    promote_dtypes_inexact,
    shape_of,
)
from jitney.numpy.searching import searchsorted
from jitney.numpy.ufuncs import constant
from jitney.numpy.where import where_value


@traced_call(static_argnames=("n", "axis"))
def diff(a, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours along an axis, n times."""
    a = array_arguments("diff", a)
    n = operator.index(n)
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    rank = len(shape_of(a))
    if rank == 0:
        raise ValueError(f"diff requires input that is at least one dimensional; got {a}")
    axis = canonical_axis(axis, rank)
    pieces = [a]
    for extra, first in ((prepend, True), (append, False)):
        if extra is not None:
            extra = array_arguments("diff", extra)
            if not shape_of(extra):
                extra = broadcast_value(extra, shape_of(a)[:axis] + (1,) + shape_of(a)[axis + 1:])
            pieces.insert(0 if first else len(pieces), extra)
    if len(pieces) > 1:
        a = concatenate(pieces, axis=axis)
    subtract = lax.ne if dtype_of(a) == np.bool_ else lax.sub
    for _ in range(n):
        length = shape_of(a)[axis]
        a = subtract(part(a, min(1, length), length, axis),
                     part(a, 0, max(length - 1, 0), axis))
    return a


@traced_call
def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of consecutive elements, with optional values before and after."""
    ary = ravel(array_arguments("ediff1d", ary))
    length = shape_of(ary)[0]
    result = lax.sub(part(ary, min(1, length), length, 0), part(ary, 0, max(length - 1, 0), 0))
    for extra, first in ((to_begin, True), (to_end, False)):
        if extra is None:
            continue
        extra = ravel(array_arguments("ediff1d", extra))
        if not dtypes.issubdtype(dtype_of(ary), dtype_of(extra)) and dtypes.is_inexact(
                dtype_of(extra)) and not dtypes.is_inexact(dtype_of(ary)):
            raise TypeError("dtype of to_begin and to_end must be compatible with input ary")
        extra = convert(extra, dtype_of(ary))
        result = lax.concatenate([extra, result] if first else [result, extra], 0)
    return result


@traced_call(static_argnames=("axis", "edge_order"))
def gradient(f, *varargs, axis=None, edge_order=None):
    """Slopes by central differences, one array for each axis."""
    if edge_order is not None:
        raise NotImplementedError("The 'edge_order' argument to jnp.gradient is not supported.")
    f, *spacings = (array_arguments("gradient", x) for x in (f, *varargs))
    f, *spacings = promote_dtypes_inexact(f, *spacings)
    rank = len(shape_of(f))
    axes = canonical_axes(axis, rank)
    if not axes:
        return []
    if min(shape_of(f)[i] for i in axes) < 2:
        raise ValueError("Shape of array too small to calculate a numerical gradient, at least 2 "
                         "elements are required.")
    if not spacings:
        spacings = [constant(1, f)] * len(axes)
    elif len(spacings) == 1:
        spacings = spacings * len(axes)
    elif len(spacings) != len(axes):
        raise TypeError(f"Invalid number of spacing arguments {len(spacings)} for axis={axis}")
    found = [_slope(f, h, i) for h, i in zip(spacings, axes)]
    return found[0] if len(found) == 1 else found


def _cut(x: Any, low: int, high: int, axis: int) -> Any:
    return lax.slice_in_dim(x, low, high, axis=axis)


def _central(f: Any, axis: int) -> Any:
    """Half the difference of an element's neighbours; at the ends that of the element and its
    neighbour. With the ends repeated all are one expression, which fuses with what is around it
    (squares of three slopes of 128^3, two threads and one: .32 and .21 of the time)."""
    length = shape_of(f)[axis]
    after = lax.concatenate([_cut(f, 1, length, axis), _cut(f, length - 1, length, axis)], axis)
    before = lax.concatenate([_cut(f, 0, 1, axis), _cut(f, 0, length - 1, axis)], axis)
    share = np.full(length, 0.5)
    share[[0, -1]] = 1
    share = lax.broadcast_in_dim(share.astype(dtype_of(f)), shape_of(f), (axis,))
    return lax.mul(lax.sub(after, before), share)


def _slope(f: Any, h: Any, axis: int) -> Any:
    length = shape_of(f)[axis]
    if not shape_of(h) and not dtypes.is_complex(dtype_of(f)):
        return lax.div(_central(f, axis), h)
    first = lax.sub(_cut(f, 1, 2, axis), _cut(f, 0, 1, axis))
    last = lax.sub(_cut(f, length - 1, length, axis), _cut(f, length - 2, length - 1, axis))
    if not shape_of(h):
        inner = lax.mul(lax.sub(_cut(f, 2, length, axis), _cut(f, 0, length - 2, axis)),
                        constant(0.5, f))
        inner, last, first = (lax.div(p, h) for p in (inner, last, first))
        return lax.concatenate([first, inner, last], axis)
    if len(shape_of(h)) != 1 or shape_of(h)[0] != length:
        raise ValueError("Spacing arrays must have the same length as the dimension of f.")
    steps = lax.sub(part(h, 1, length, 0), part(h, 0, length - 1, 0))
    shape = tuple(-1 if i == axis else 1 for i in range(len(shape_of(f))))

    def along(x):
        return lax.reshape(x, tuple(shape_of(x)[0] if n == -1 else 1 for n in shape))

    one, two = along(part(steps, 0, length - 2, 0)), along(part(steps, 1, length - 1, 0))
    a, b, c = -two / (one * (one + two)), (two - one) / (one * two), one / (two * (one + two))
    inner = (a * _cut(f, 0, length - 2, axis) + b * _cut(f, 1, length - 1, axis)
             + c * _cut(f, 2, length, axis))
    ends = [first / along(part(steps, 0, 1, 0)), last / along(part(steps, length - 2, length - 1,
                                                                     0))]
    return lax.concatenate([ends[0], inner, ends[1]], axis)


@traced_call(static_argnames=("axis",))
def trapezoid(y, x=None, dx=1.0, axis=-1):
    """Integral by the trapezoidal rule."""
    if x is None:
        y, = promote_dtypes_inexact(array_arguments("trapezoid", y))
        dx = convert(arraylike("trapezoid", dx), dtype_of(y))
        y = moveaxis(y, axis, -1) if len(shape_of(y)) > 1 else y
        whole = reductions.sum(y, axis=-1)
        ends = lax.mul(constant(0.5, y), lax.add(y[..., 0], y[..., -1]))
        return lax.mul(dx, lax.sub(whole, ends))
    y, x = promote_dtypes_inexact(*array_arguments("trapezoid", y, x))
    steps = diff(x) if len(shape_of(x)) == 1 else moveaxis(diff(x, axis=axis), axis, -1)
    y = moveaxis(y, axis, -1) if len(shape_of(y)) > 1 else y
    pairs = y[..., 1:] + y[..., :-1]
    return constant(0.5, y) * reductions.sum(steps * pairs, axis=-1)


@traced_call(static_argnames=("axis",))
def unwrap(p, discont=None, axis=-1, period=6.283185307179586):
    """Angles without jumps larger than half a period."""
    p = array_arguments("unwrap", p)
    dtype = dtypes.result_type(p, period)
    p = convert(p, dtype)
    period = convert(period, dtype)
    integral = dtypes.is_integer(dtype)
    half = period // 2 if integral else lax.div(period, constant(2, period))
    discont = half if discont is None else convert(discont, dtype)
    rank = len(shape_of(p))
    axis = canonical_axis(axis, rank)
    step = diff(p, axis=axis)
    wrapped = remainder(step + half, period) - half
    boundary = (wrapped == -half) & (step > constant(0, step))
    if not integral:
        wrapped = where_value(boundary, half, wrapped)
    else:
        wrapped = where_value(boundary & (remainder(period, 2) == 0), half, wrapped)
    correction = where_value(abs(step) < discont, 0, wrapped - step)
    length = shape_of(p)[axis]
    rest = part(p, 1, length, axis) + reductions.cumsum(correction, axis=axis)
    return concatenate([part(p, 0, 1, axis), rest], axis=axis)


def interp(x, xp, fp, left=None, right=None, period=None):
    """Linear interpolation of the points (xp, fp) at x."""
    static = tuple(v if isinstance(v, str) else None for v in (left, right))
    left, right = (None if isinstance(v, str) else v for v in (left, right))
    return _interp(x, xp, fp, left, right, period, static)


@traced_call(static_argnums=(6,))
def _interp(x, xp, fp, left, right, period, modes):
    for mode in modes:
        if mode not in (None, "extrapolate"):
            raise ValueError(f"the only valid string value of left and right is 'extrapolate', "
                             f"but got: {mode!r}")
    if len(shape_of(xp)) != 1 or shape_of(xp) != shape_of(fp):
        raise ValueError("xp and fp must be one-dimensional arrays of equal size")
    check_arraylike("interp", x, xp, fp)
    x, xp = promote_dtypes_inexact(x, xp)
    fp, = promote_dtypes_inexact(fp)
    left_mode, right_mode = modes
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, period)
        left_mode = right_mode = "extrapolate"
    x = array_arguments("interp", x)
    xp, fp = array_arguments("interp", xp, fp)
    count = shape_of(xp)[0]
    i = clip(searchsorted(xp, x, side="right"), 1, count - 1)
    rise = fp[i] - fp[i - 1]
    run = xp[i] - xp[i - 1]
    offset = x - xp[i - 1]
    tiny = constant(np.spacing(np.finfo(np.float64).eps) if dtypes.itemsize_bits(dtype_of(xp)) == 64
                    else float(dtypes.finfo(dtype_of(xp)).eps) ** 2, xp)
    level = lax.le(lax.abs(run), tiny)
    result = where_value(level, fp[i - 1],
                         fp[i - 1] + (offset / where_value(level, 1, run)) * rise)
    if left_mode != "extrapolate":
        result = where_value(x < xp[0], fp[0] if left is None else left, result)
    if right_mode != "extrapolate":
        result = where_value(x > xp[-1], fp[-1] if right is None else right, result)
    return result


def _periodic(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    if shape_of(period) != ():
        raise ValueError(f"period must be a scalar; got {period}")
    period = convert(lax.abs(period), dtype_of(x)) if dtype_of(period) != dtype_of(x) else \
        lax.abs(period)
    x, xp = remainder(x, period), remainder(xp, period)
    xp, fp = lax.sort((xp, array_arguments("interp", fp)), num_keys=1)
    period = convert(period, dtype_of(xp))
    count = shape_of(xp)[0]
    before, after = part(xp, count - 1, count, 0) - period, part(xp, 0, 1, 0) + period
    values = [part(fp, count - 1, count, 0), fp, part(fp, 0, 1, 0)]
    return x, lax.concatenate([before, xp, after], 0), lax.concatenate(values, 0)


