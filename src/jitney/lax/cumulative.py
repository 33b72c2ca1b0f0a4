"""Running reductions along an axis: cumsum, cumprod, cummax, cummin, cumlogsumexp.

In: an array, an axis, a direction. Out: an array of the same type; place i holds the reduction
of elements 0 … i (i … end when reversed).
Invariant: integers are computed modulo 2ⁿ; a NaN stays in all later places of an extreme.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from jitney.base import dtypes
from jitney.core.primitive import Primitive
from jitney.lax import compare
from jitney.lax.arithmetic import add, div, mul, sub
from jitney.lax.elementwise_binary import max, min
from jitney.lax.elementwise_unary import exp
from jitney.lax.nary import INEXACT, NUMBER, filled, kinds_text, members_of
from jitney.lax.reduce import accepted_text
from jitney.lax.select import select
from jitney.lax.shape import linear, rev
from jitney.lax.tree_reduce import scan_pairs
from jitney.transforms.jvp import Zero, define_jvp
from jitney.transforms.vmap import define_batch

# --- what they share -------------------------------------------------------------------------


def _type(name: str, kinds: tuple) -> Callable:
    allowed = members_of(kinds)

    def rule(operand, *, axis, reverse):
        if operand.dtype not in allowed:
            accepted = accepted_text(kinds) if kinds is NUMBER else kinds_text(kinds)
            raise TypeError(f"{name} does not accept dtype {operand.dtype}. Accepted dtypes are "
                            f"subtypes of {accepted}.")
        if axis < 0:
            raise ValueError(f"XLA operations do not allow negative axes: got axis {axis} of "
                             f"{name}. Count from the front, or use the function of jax.numpy.")
        if axis >= len(operand.shape):
            raise ValueError(f"axis {axis} is out of bounds for array of shape {operand.shape}")
        return operand

    return rule


def _batch(primitive: Primitive) -> Callable:
    def rule(args, dims, *, axis, reverse):
        (x,), (dim,) = args, dims
        return primitive.bind(x, axis=axis + (axis >= dim), reverse=reverse), dim

    return rule


def _reference(function: Callable) -> Callable:
    """`function(x, axis)` in a wide enough type, forwards or backwards."""

    def reference(x, *, axis, reverse):
        dtype = x.dtype
        if dtypes.is_floating(dtype):
            x = x.astype(np.float64)
        elif dtypes.is_complex(dtype):
            x = x.astype(np.complex128)
        elif dtype.kind not in "iu":
            x = x.astype(np.int32)
        x = np.flip(x, axis) if reverse else x
        out = function(x, axis) if x.size else x
        return (np.flip(out, axis) if reverse else out).astype(dtype)

    return reference


def _cumulative(name: str, kinds: tuple, function: Callable) -> Primitive:
    primitive = Primitive(name, kind="cumulative")
    primitive.def_abstract(_type(name, kinds))
    primitive.def_reference(_reference(function))
    define_batch(primitive, _batch(primitive))
    return primitive


def _of_ufunc(ufunc: np.ufunc) -> Callable:
    return lambda x, axis: ufunc.accumulate(x, axis=axis, dtype=x.dtype)


def _define_scan_jvp(primitive: Primitive, combine: Callable) -> None:
    """The tangent travels with the value: pairs (value, tangent) are combined associatively."""

    def rule(primals, tangents, *, axis, reverse):
        (x,), (t,) = primals, tangents
        out = primitive.bind(x, axis=axis, reverse=reverse)
        if type(t) is Zero:
            return out, Zero.from_primal_value(out)
        if reverse:
            x, t = rev(x, (axis,)), rev(t, (axis,))
        dot = scan_pairs(combine, (x, t), axis)[1]
        return out, rev(dot, (axis,)) if reverse else dot

    define_jvp(primitive, rule)


# --- cumsum, cumprod -------------------------------------------------------------------------


def cumsum(operand, axis: int = 0, reverse: bool = False):
    """Running sums along an axis."""
    return cumsum_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


cumsum_p = _cumulative("cumsum", NUMBER, _of_ufunc(np.add))
linear(cumsum_p, lambda ct, x, *, axis, reverse: [cumsum(ct, axis, not reverse)])


def cumprod(operand, axis: int = 0, reverse: bool = False):
    """Running products along an axis."""
    return cumprod_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


def _product(left, right):
    (p, dp), (q, dq) = left, right
    return mul(p, q), add(mul(dp, q), mul(p, dq))


cumprod_p = _cumulative("cumprod", NUMBER, _of_ufunc(np.multiply))
_define_scan_jvp(cumprod_p, _product)

# --- cummax, cummin --------------------------------------------------------------------------


def cummax(operand, axis: int = 0, reverse: bool = False):
    """Running maxima along an axis."""
    return cummax_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


def cummin(operand, axis: int = 0, reverse: bool = False):
    """Running minima along an axis."""
    return cummin_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


def _extreme(function: Callable) -> Callable:
    def combine(left, right):
        (p, dp), (q, dq) = left, right
        out = function(p, q)
        one, zero, two = filled(out, 1), filled(out, 0), filled(out, 2)
        is_p, is_q = compare.eq(p, out), compare.eq(q, out)
        share_p = div(select(is_p, one, zero), select(is_q, two, one))
        share_q = div(select(is_q, one, zero), select(is_p, two, one))
        return out, add(mul(dp, share_p), mul(dq, share_q))

    return combine


def _signed_zeros(ufunc: np.ufunc, winner_is_negative: bool) -> Callable:
    """Extremes in which +0 is above -0, which NumPy leaves open."""

    def running(x, axis):
        out = ufunc.accumulate(x, axis=axis)
        if x.dtype.kind != "f":
            return out
        winners = (x == 0) & (np.signbit(x) == winner_is_negative)
        won = np.logical_or.accumulate(winners, axis=axis)
        zero = np.where(won == winner_is_negative, -0.0, 0.0)
        return np.where(out == 0, zero, out)

    return running


cummax_p = _cumulative("cummax", NUMBER, _signed_zeros(np.maximum, False))
cummin_p = _cumulative("cummin", NUMBER, _signed_zeros(np.minimum, True))
_define_scan_jvp(cummax_p, _extreme(max))
_define_scan_jvp(cummin_p, _extreme(min))

# --- cumlogsumexp ----------------------------------------------------------------------------


def cumlogsumexp(operand, axis: int = 0, reverse: bool = False):
    """Running log Σ exp along an axis, without overflow."""
    return cumlogsumexp_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


def _complex_logaddexp(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    swap = x.real < y.real
    high, low = np.where(swap, y, x), np.where(swap, x, y)
    out = high + np.log1p(np.exp(low - high))
    return np.where(np.isneginf(high.real), high, out)


def _running_logsumexp(x: np.ndarray, axis: int) -> np.ndarray:
    if x.dtype.kind == "f":
        return np.logaddexp.accumulate(x, axis=axis)
    out = np.moveaxis(x, axis, 0).copy()
    for i in range(1, out.shape[0]):
        out[i] = _complex_logaddexp(out[i - 1], out[i])
    out.imag = np.angle(np.exp(1j * out.imag))              # the principal value
    return np.moveaxis(out, 0, axis)


cumlogsumexp_p = _cumulative("cumlogsumexp", INEXACT, _running_logsumexp)


def _decay(x, y):
    """exp(x - y), which is 1 where x = y, also where both are infinite."""
    return exp(select(compare.eq(x, y), filled(x, 0), sub(x, y)))


def _cumlogsumexp_jvp(primals, tangents, *, axis, reverse):
    # dyᵢ = Σ_{j≤i} exp(xⱼ - yᵢ) dxⱼ; pairs carry y, so no exponent is positive.
    (x,), (t,) = primals, tangents
    out = cumlogsumexp_p.bind(x, axis=axis, reverse=reverse)
    if type(t) is Zero:
        return out, Zero.from_primal_value(out)
    y = out
    if reverse:
        x, t, y = (rev(a, (axis,)) for a in (x, t, out))

    def combine(left, right):
        (p, dp), (q, dq) = left, right
        return q, add(mul(dp, _decay(p, q)), dq)

    dot = scan_pairs(combine, (y, mul(t, _decay(x, y))), axis)[1]
    return out, rev(dot, (axis,)) if reverse else dot


define_jvp(cumlogsumexp_p, _cumlogsumexp_jvp)

__all__ = [
    "cumlogsumexp", "cumlogsumexp_p", "cummax", "cummax_p", "cummin", "cummin_p", "cumprod",
    "cumprod_p", "cumsum", "cumsum_p",
]
