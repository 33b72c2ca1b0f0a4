"""Choices by value: select_n, select, clamp.

In: an array that chooses, and cases of one type. Out: at each place the chosen case.
Invariant: both cases are computed; a choice never hides an error of the case not taken.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.primitive import Primitive
from jitney.lax import compare
from jitney.lax.bits import bitwise_and
from jitney.lax.cast import convert_element_type
from jitney.lax.nary import broadcast_to, filled, require_same_dtypes
from jitney.lax.shape import broadcast_in_dim, shape_of
from jitney.transforms.jvp import (
    Zero,
    add_tangents,
    define_jvp,
    instantiate_zeros,
    zeros_of,
)
from jitney.transforms.transpose import define_transpose, is_undefined_primal
from jitney.transforms.vmap import at_front, batch_size, define_batch, move_dimension

# --- select ----------------------------------------------------------------------------------


def select(pred, on_true, on_false):
    """`on_true` where `pred`, `on_false` elsewhere.

    >>> select(True, 1.0, 2.0).item()
    1.0
    """
    return select_n_p.bind(_as_choice(pred), on_false, on_true)


def select_n(which, *cases):
    """`cases[which]`, elementwise; a boolean `which` chooses between two cases."""
    if not cases:
        raise ValueError("select_n() must have at least one case")
    return select_n_p.bind(_as_choice(which), *cases)


def _as_choice(which: Any) -> Any:
    """Integers of any width as those the primitive takes."""
    dtype = get_aval(which).dtype
    if dtypes.is_integer(dtype) and dtype not in (np.int32, np.int64):
        return convert_element_type(which, np.int32)
    return which


select_n_p = Primitive("select_n", kind="elementwise")


@select_n_p.def_abstract
def _select_n_type(which, *cases):
    if which.dtype != np.bool_ and which.dtype not in (np.int32, np.int64):
        what = "int32" if dtypes.is_integer(which.dtype) else "boolean or integer type"
        raise TypeError(f"select `which` must be {what}, got {which.dtype}.")
    if which.dtype == np.bool_ and len(cases) > 2:
        raise TypeError("select with boolean `which` cannot have > 2 cases. Use an int32 `which`.")
    shape = cases[0].shape
    if any(c.shape != shape for c in cases):
        raise TypeError("select cases must have the same shapes, got "
                        f"[{', '.join(str(c.shape) for c in cases)}]. (Tip: jnp.where broadcasts "
                        "its operands).")
    if which.shape and which.shape != shape:
        raise TypeError(
            "select `which` must be scalar or have the same shape as cases, got `which` shape "
            f"{which.shape} but case shape {shape}. (Tip: jnp.where broadcasts its operands).")
    if any(c.dtype != cases[0].dtype for c in cases):
        raise TypeError("lax.select requires arguments to have the same dtypes, got "
                        f"{', '.join(str(c.dtype) for c in cases)}. (Tip: jnp.where is a similar "
                        "function that does automatic type promotion on inputs).")
    return ShapedArray(shape, cases[0].dtype, all(c.weak_type for c in cases))


@select_n_p.def_reference
def _select_n_reference(which, *cases):
    if which.dtype == np.bool_:
        return np.where(which, cases[-1], cases[0])
    out = cases[0]
    for i, case in enumerate(cases[1:], 1):                 # out-of-range choices are clamped
        out = np.where(which >= i, case, out)
    return out


def _select_n_jvp(primals, tangents):
    which, *cases = primals
    out = select_n_p.bind(which, *cases)
    flowing = tangents[1:]
    if all(type(t) is Zero for t in flowing):
        return out, Zero.from_primal_value(out)
    return out, select_n_p.bind(which, *map(instantiate_zeros, flowing))


def _select_n_transpose(ct, which, *cases):
    out: list[Any] = [None]
    if type(ct) is Zero:
        return [None, *[Zero(c.aval) if is_undefined_primal(c) else None for c in cases]]
    zeros = zeros_of(get_aval(ct))
    for i, case in enumerate(cases):
        chosen = [ct if i == j else zeros for j in range(len(cases))]
        out.append(select_n_p.bind(which, *chosen) if is_undefined_primal(case) else None)
    return out


def _select_n_batch(args, dims):
    which, *cases = args
    which_dim, *case_dims = dims
    shape = shape_of(cases[0])
    if len(set(case_dims)) == 1 and case_dims[0] is not None and (
            which_dim == case_dims[0] and shape_of(which) == shape
            or which_dim is None and not shape_of(which)):
        return select_n_p.bind(which, *cases), case_dims[0]
    size = batch_size(args, dims)
    cases = [at_front(c, d, size) for c, d in zip(cases, case_dims, strict=True)]
    shape = shape_of(cases[0])
    if which_dim is None:
        if shape_of(which):
            which = at_front(which, None, size)
    else:
        which = move_dimension(which, which_dim, 0)
        if len(shape_of(which)) != len(shape):              # one choice an example
            which = broadcast_in_dim(which, shape, (0,))
    return select_n_p.bind(which, *cases), 0


define_jvp(select_n_p, _select_n_jvp)
define_transpose(select_n_p, _select_n_transpose)
define_batch(select_n_p, _select_n_batch)

# --- clamp -----------------------------------------------------------------------------------


def clamp(min, x, max):
    """x limited to the interval [min, max]; the bounds may be scalars."""
    return clamp_p.bind(min, x, max)


clamp_p = Primitive("clamp", kind="elementwise")


@clamp_p.def_abstract
def _clamp_type(low, x, high):
    require_same_dtypes("clamp", (low, x, high))
    for name, bound in (("min", low), ("max", high)):
        if bound.shape and bound.shape != x.shape:
            raise TypeError(f"clamp requires {name}.shape == operand.shape or {name}.shape == (), "
                            f"got {name}.shape={bound.shape}, operand.shape={x.shape}.")
    if dtypes.is_extended(x.dtype):
        raise TypeError(f"clamp does not accept dtype {x.dtype}.")
    return ShapedArray(x.shape, x.dtype, low.weak_type and x.weak_type and high.weak_type)


@clamp_p.def_reference
def _clamp_reference(low, x, high):
    wide = x.dtype if x.dtype.kind in "biufc" else np.float32
    if dtypes.is_integer(x.dtype) and wide is np.float32:
        wide = np.int32
    low, x, high = (np.broadcast_to(a, x.shape).astype(wide) for a in (low, x, high))
    return np.minimum(np.maximum(x, low), high)


def _clamp_jvp(primals, tangents):
    low, x, high = primals
    out = clamp_p.bind(low, x, high)
    shape, parts = shape_of(out), []
    masks = (lambda: bitwise_and(compare.gt(low, x), compare.lt(low, high)),
             lambda: bitwise_and(compare.gt(x, low), compare.lt(x, high)),
             lambda: compare.lt(high, x))
    for t, mask in zip(tangents, masks, strict=True):
        if type(t) is not Zero:
            parts.append(select(broadcast_to(mask(), shape), broadcast_to(t, shape),
                                filled(out, 0)))
    if not parts:
        return out, Zero.from_primal_value(out)
    return out, functools.reduce(add_tangents, parts)


def _clamp_batch(args, dims):
    low, x, high = args
    low_dim, x_dim, high_dim = dims
    if x_dim is not None and all(d is None and not shape_of(b)
                                 for b, d in ((low, low_dim), (high, high_dim))):
        return clamp_p.bind(low, x, high), x_dim
    size = batch_size(args, dims)
    x = at_front(x, x_dim, size)

    def bound(b, dim):
        if dim is None:
            return at_front(b, None, size) if shape_of(b) else b
        b = move_dimension(b, dim, 0)
        return b if shape_of(b) == shape_of(x) else broadcast_in_dim(b, shape_of(x), (0,))

    return clamp_p.bind(bound(low, low_dim), x, bound(high, high_dim)), 0


define_jvp(clamp_p, _clamp_jvp)
define_batch(clamp_p, _clamp_batch)

__all__ = ["clamp", "clamp_p", "select", "select_n", "select_n_p"]
