"""Reductions: sums, products, extremes, logical reductions, argmax, argmin, and `reduce` itself.

In: an array and the axes to reduce. Out: an array without these axes.
Invariant: integers reduce modulo 2ⁿ; 16-bit floats accumulate in float32; NaN wins extremes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.primitive import Primitive
from jitney.lax import compare
from jitney.lax.arithmetic import add, div, mul
from jitney.lax.cast import convert
from jitney.lax.nary import NUMBER, ORDERED, kinds_text, members_of
from jitney.lax.out_sharding import check_out_sharding
from jitney.lax.shape import broadcast_in_dim, linear, reshape
from jitney.lax.tree_reduce import reduce_pairs
from jitney.transforms.jvp import Zero, define_jvp, define_zero_jvp
from jitney.transforms.vmap import define_batch

# --- what reductions share -------------------------------------------------------------------


def checked_axes(axes: Sequence[int]) -> tuple[int, ...]:
    """Axes as a tuple of Python integers."""
    return tuple([operator.index(a) for a in axes])


def _require_axes(aval: ShapedArray, axes: tuple[int, ...]) -> None:
    if len(axes) != len(set(axes)):
        raise ValueError(f"duplicate value in 'axes' of reduction: {axes}")
    if not all(0 <= a < len(aval.shape) for a in axes):
        raise ValueError(f"reduction axes {axes} contains out-of-bounds indices for {aval}. lax "
                         "reductions count axes from the front; jnp functions take negative ones.")


def reduced_shape(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, ...]:
    """The shape without these axes."""
    return tuple([n for i, n in enumerate(shape) if i not in axes])


def kept_shape(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, ...]:
    """The shape with these axes of size 1."""
    return tuple([1 if i in axes else n for i, n in enumerate(shape)])


def _reduction_type(name: str, kinds: tuple | None, text: str | None = None) -> Callable:
    allowed = None if kinds is None else members_of(kinds)

    def rule(operand, *, axes, **params):
        if allowed is not None and operand.dtype not in allowed:
            raise TypeError(text.format(operand.dtype) if text else
                            f"{name} does not accept dtype {operand.dtype}. Accepted dtypes are "
                            f"subtypes of {accepted_text(kinds)}.")
        if dtypes.is_extended(operand.dtype):
            raise TypeError(f"{name} does not accept dtype {operand.dtype}.")
        _require_axes(operand, axes)
        return ShapedArray(reduced_shape(operand.shape, axes), operand.dtype, operand.weak_type)

    return rule


def accepted_text(kinds: tuple) -> str:
    return "number" if kinds is NUMBER else kinds_text(kinds)


def _batch_reduction(primitive: Primitive, parameter: str = "axes") -> None:
    """The reduced axes move past the batch dimension."""

    def rule(args, dims, **params):
        (x,), (dim,) = args, dims
        axes = tuple([a + (a >= dim) for a in params.pop(parameter)])
        out = primitive.bind(x, **{parameter: axes}, **params)
        return out, dim - sum(a < dim for a in axes)

    define_batch(primitive, rule)


def _reduction(name: str, kinds: tuple | None, reference: Callable,
               text: str | None = None) -> Primitive:
    primitive = Primitive(name, kind="reduction")
    primitive.def_abstract(_reduction_type(name, kinds, text))
    primitive.def_reference(reference)
    _batch_reduction(primitive)
    return primitive


_ACCUMULATOR = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}


def _accumulated(ufunc: np.ufunc) -> Callable:
    """Sums and products: floats in a wider type, integers modulo their width."""

    def reference(x, *, axes, out_sharding=None):
        if not axes:
            return x
        wide = _ACCUMULATOR.get(x.dtype, x.dtype)
        if dtypes.is_floating(x.dtype) and x.dtype.itemsize < 4:
            wide = np.float64
        elif x.dtype.kind not in "biufc":
            wide = np.int32
        return np.asarray(ufunc.reduce(x.astype(wide), axis=axes, dtype=wide)).astype(x.dtype)

    return reference


# --- sum, product ----------------------------------------------------------------------------


def reduce_sum(operand, axes: Sequence[int], *, out_sharding=None):
    """The sum over `axes`."""
    check_out_sharding("reduce_sum", out_sharding)
    return reduce_sum_p.bind(operand, axes=checked_axes(axes), out_sharding=out_sharding)


reduce_sum_p = _reduction("reduce_sum", NUMBER, _accumulated(np.add))


def _reduce_sum_transpose(ct, operand, *, axes, out_sharding=None):
    shape = operand.aval.shape
    kept = tuple([i for i in range(len(shape)) if i not in axes])
    return [broadcast_in_dim(ct, shape, kept)]


linear(reduce_sum_p, _reduce_sum_transpose)


def reduce_prod(operand, axes: Sequence[int]):
    """The product over `axes`."""
    return reduce_prod_p.bind(operand, axes=checked_axes(axes))


reduce_prod_p = _reduction("reduce_prod", NUMBER, _accumulated(np.multiply))


def _reduce_prod_jvp(primals, tangents, *, axes):
    # Pairs (p, t) combine as (p₁p₂, t₁p₂ + p₁t₂); right also when factors are zero.
    (x,), (t,) = primals, tangents
    out = reduce_prod_p.bind(x, axes=axes)
    if type(t) is Zero:
        return out, Zero.from_primal_value(out)

    def combine(left, right):
        (p, dp), (q, dq) = left, right
        return mul(p, q), add(mul(dp, q), mul(p, dq))

    return out, reduce_pairs(combine, (x, t), (1, 0), axes)[1]


define_jvp(reduce_prod_p, _reduce_prod_jvp)

# --- extremes --------------------------------------------------------------------------------


def _limit(dtype: Any, sign: int) -> Any:
    """The least (sign = -1) or greatest value of a dtype."""
    if dtype == np.bool_:
        return sign > 0
    if dtypes.is_integer(dtype):
        limits = dtypes.iinfo(dtype)
        return limits.min if sign < 0 else limits.max
    if dtypes.is_complex(dtype):
        return complex(sign * np.inf, sign * np.inf)
    has_infinity = np.isinf(np.asarray(np.inf).astype(dtype).astype(np.float32))
    return sign * np.inf if has_infinity else sign * float(dtypes.finfo(dtype).max)


def _extreme_reference(ufunc: np.ufunc, sign: int) -> Callable:
    def reference(x, *, axes):
        start, dtype = np.asarray(_limit(x.dtype, sign)), x.dtype
        if dtype.kind not in "biufc":
            x = x.astype(np.int32 if dtypes.is_integer(dtype) else np.float32)
        out = np.asarray(ufunc.reduce(x, axis=axes, initial=start.astype(x.dtype)))
        if x.dtype.kind == "f":                             # NumPy leaves open which zero wins
            won = ((x == 0) & (np.signbit(x) == (sign > 0))).any(axis=axes)
            out = np.where(out == 0, np.where(won == (sign > 0), -0.0, 0.0), out)
        return out.astype(dtype)

    return reference


def reduce_max(operand, axes: Sequence[int]):
    """The greatest element over `axes`; NaN if there is one; of no elements, the least value."""
    return reduce_max_p.bind(operand, axes=checked_axes(axes))


def reduce_min(operand, axes: Sequence[int]):
    """The least element over `axes`; NaN if there is one; of no elements, the greatest value."""
    return reduce_min_p.bind(operand, axes=checked_axes(axes))


reduce_max_p = _reduction("reduce_max", None, _extreme_reference(np.maximum, -1))
reduce_min_p = _reduction("reduce_min", None, _extreme_reference(np.minimum, 1))


def _define_extreme_jvp(primitive: Primitive) -> None:
    def rule(primals, tangents, *, axes):
        # Places that attain the extreme share its derivative equally.
        (x,), (t,) = primals, tangents
        out = primitive.bind(x, axes=axes)
        if type(t) is Zero:
            return out, Zero.from_primal_value(out)
        aval = get_aval(x)
        best = reshape(out, kept_shape(aval.shape, axes))
        chosen = convert(compare.eq(x, best), aval.dtype, False)
        count = reduce_sum(chosen, axes)
        return out, div(reduce_sum(mul(t, chosen), axes), count)

    define_jvp(primitive, rule)


_define_extreme_jvp(reduce_max_p)
_define_extreme_jvp(reduce_min_p)

# --- logical reductions ----------------------------------------------------------------------

_LOGICAL_TEXT = "logical reduction requires operand dtype bool or int, got {}."
_BITS = (np.integer, np.bool_)


def _logical_reference(ufunc: np.ufunc) -> Callable:
    def reference(x, *, axes):
        wide = x.dtype if x.dtype.kind in "biu" else np.int8
        return np.asarray(ufunc.reduce(x.astype(wide), axis=axes)).astype(x.dtype)

    return reference


def reduce_and(operand, axes: Sequence[int]):
    """The conjunction over `axes`, bit by bit for integers."""
    return reduce_and_p.bind(operand, axes=checked_axes(axes))


def reduce_or(operand, axes: Sequence[int]):
    """The disjunction over `axes`, bit by bit for integers."""
    return reduce_or_p.bind(operand, axes=checked_axes(axes))


def reduce_xor(operand, axes: Sequence[int]):
    """The exclusive disjunction over `axes`, bit by bit for integers."""
    return reduce_xor_p.bind(operand, axes=checked_axes(axes))


reduce_and_p = _reduction("reduce_and", _BITS, _logical_reference(np.bitwise_and), _LOGICAL_TEXT)
reduce_or_p = _reduction("reduce_or", _BITS, _logical_reference(np.bitwise_or), _LOGICAL_TEXT)
reduce_xor_p = _reduction("reduce_xor", _BITS, _logical_reference(np.bitwise_xor), _LOGICAL_TEXT)
for _p in (reduce_and_p, reduce_or_p, reduce_xor_p):
    define_zero_jvp(_p)

# --- argmax, argmin --------------------------------------------------------------------------


def argmax(operand, axis: int, index_dtype):
    """The position of the first greatest element along `axis`; of the first NaN if there is one."""
    return argmax_p.bind(operand, axes=(operator.index(axis),),
                         index_dtype=dtypes.canonicalize_dtype(index_dtype))


def argmin(operand, axis: int, index_dtype):
    """The position of the first least element along `axis`; of the first NaN if there is one."""
    return argmin_p.bind(operand, axes=(operator.index(axis),),
                         index_dtype=dtypes.canonicalize_dtype(index_dtype))


_ORDERED = members_of(ORDERED)


def _arg_type(name: str) -> Callable:
    def rule(operand, *, axes, index_dtype):
        if operand.dtype not in _ORDERED:
            raise TypeError(f"{name} does not accept dtype {operand.dtype}. Accepted dtypes are "
                            "subtypes of integer, floating, bool.")
        if len(axes) != 1:
            raise ValueError(f"{name} reduces one axis, got axes={axes}; reshape first.")
        axis = axes[0]
        if not 0 <= axis < len(operand.shape):
            raise ValueError(f"Invalid axis {axis} for operand shape {operand.shape}")
        if operand.shape[axis] < 1:
            raise ValueError("argmin and argmax require non-empty reduced dimension. "
                             f"operand.shape={operand.shape} {axis=}")
        if not dtypes.is_integer(index_dtype):
            raise TypeError(f"index_dtype must be an integer type, but got {index_dtype}")
        return ShapedArray(reduced_shape(operand.shape, axes), index_dtype)

    return rule


def _arg_reference(function: Callable) -> Callable:
    def reference(x, *, axes, index_dtype):
        if x.dtype.kind not in "biuf":
            x = x.astype(np.int32 if dtypes.is_integer(x.dtype) else np.float32)
        return np.asarray(function(x, axis=axes[0])).astype(index_dtype)

    return reference


def _arg_reduction(name: str, function: Callable) -> Primitive:
    primitive = Primitive(name, kind="reduction")
    primitive.def_abstract(_arg_type(name))
    primitive.def_reference(_arg_reference(function))
    _batch_reduction(primitive)
    define_zero_jvp(primitive)
    return primitive


argmax_p = _arg_reduction("argmax", np.argmax)
argmin_p = _arg_reduction("argmin", np.argmin)

__all__ = [
    "argmax", "argmax_p", "argmin", "argmin_p", "reduce_and", "reduce_and_p", "reduce_max",
    "reduce_max_p", "reduce_min", "reduce_min_p", "reduce_or", "reduce_or_p", "reduce_prod",
    "reduce_prod_p", "reduce_sum", "reduce_sum_p", "reduce_xor", "reduce_xor_p",
]
