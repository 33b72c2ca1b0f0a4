"""Lowering of cumulative sums, products and extremes."""

import math

from . import complex_math
from .rules import LoweringError, Pair, lower_rule

_KINDS = {"cumsum": "sum", "cumprod": "prod", "cummax": "max", "cummin": "min"}
_KINDS["cumlogsumexp"] = "logsumexp"
_COMBINE = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}
WRITTEN_OUT, MANY_ROWS = 16, 64  # elements of an axis with those after it, and before it


def _register(name, kind):
    @lower_rule(name)
    def rule(ctx, eqn, x):
        axis, reverse = eqn.params["axis"], eqn.params["reverse"]
        if isinstance(x, Pair):
            return _complex(ctx.g, kind, x, axis, reverse)
        if x.dtype == "b1":
            wide = ctx.g.convert(x, "u8")
            return ctx.g.convert(ctx.g.cumulative(kind, wide, axis, reverse), "b1")
        if is_short(x, axis) and kind in _COMBINE:
            return _written_out(ctx.g, kind, x, axis, reverse)
        return ctx.g.cumulative(kind, x, axis, reverse)


def is_short(x, axis) -> bool:
    """Whether rows are so short that a routine would mostly begin them: coordinates, say."""
    inner, rows = math.prod(x.shape[axis + 1 :]), math.prod(x.shape[:axis])
    n = x.shape[axis]
    return 1 < n and n * inner <= WRITTEN_OUT and rows >= MANY_ROWS


def _written_out(g, kind, x, axis, reverse):
    """Each element of the axis as an array of its own, put together again. Short floats are added
    as float32, as the routine does, and rounded at the end."""
    n, parts = x.shape[axis], []
    low, high = [0] * len(x.shape), list(x.shape)
    code = "f32" if x.dtype in ("f16", "bf16") else x.dtype
    for i in reversed(range(n)) if reverse else range(n):
        low[axis], high[axis] = i, i + 1
        part = g.convert(g.slice(x, low, high), code)
        parts.append(g.ew(_COMBINE[kind], parts[-1], part) if parts else part)
    parts = [g.convert(part, x.dtype) for part in parts]
    return g.concat(parts[::-1] if reverse else parts, axis)


for _name, _kind in _KINDS.items():
    _register(_name, _kind)


def _complex(g, kind, x, axis, reverse):
    if kind == "sum":
        return Pair(*[g.cumulative("sum", part, axis, reverse) for part in x])
    if kind != "prod":
        raise LoweringError(f"cumulative {kind} of complex numbers")
    n, step = x.shape[axis], 1
    while step < n:  # Hillis and Steele (1986): log2(n) shifted products
        shifted = _shift(g, x, axis, step, reverse)
        x = complex_math.mul(g, x, shifted)
        step *= 2
    return x


def _shift(g, x, axis, step, reverse):
    low, high = [0] * len(x.shape), [0] * len(x.shape)
    low[axis], high[axis] = (-step, step) if reverse else (step, -step)
    one, zero = g.lit(1.0, x.dtype), g.lit(0.0, x.dtype)
    return Pair(g.pad(x.re, one, low, high), g.pad(x.im, zero, low, high))
