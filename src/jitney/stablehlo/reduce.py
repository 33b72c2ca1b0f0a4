"""Reductions, running reductions and reductions over windows.

In: arrays and axes or windows. Out: `stablehlo.reduce` and `stablehlo.reduce_window`, the function
that combines two elements as a region.
Invariant: a reduction starts from the value that changes nothing (NaN wins extremes).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jitney.base import dtypes
from jitney.stablehlo.builder import Builder, pairs_attribute
from jitney.stablehlo.elementwise import extreme
from jitney.stablehlo.forms import array_attribute
from jitney.stablehlo.ops import Value
from jitney.stablehlo.rules import rule, write_closed
from jitney.stablehlo.types import BOOL, limit

# --- reductions ----------------------------------------------------------------------------------


def _max(b: Builder, x: Value, y: Value) -> Value:
    return extreme(b, "max", x, y)


def _min(b: Builder, x: Value, y: Value) -> Value:
    return extreme(b, "min", x, y)


def _all_ones(dtype: np.dtype) -> int:
    if dtype == BOOL or dtypes.issubdtype(dtype, np.signedinteger):
        return True if dtype == BOOL else -1
    return int(dtypes.iinfo(dtype).max)


# what combines two elements, and the value to start from
_MONOIDS: dict[str, tuple[Callable, Callable]] = {
    "sum": (Builder.add, lambda dtype: 0),
    "prod": (Builder.multiply, lambda dtype: 1),
    "max": (_max, lambda dtype: limit(dtype, -1)),
    "min": (_min, lambda dtype: limit(dtype, 1)),
    "and": (Builder.and_, _all_ones),
    "or": (Builder.or_, lambda dtype: 0),
    "xor": (Builder.xor, lambda dtype: 0),
}


@rule(*(f"reduce_{name}" for name in _MONOIDS))
def _reduce_monoid(b, site, x):
    combine, start = _MONOIDS[site.name.removeprefix("reduce_")]
    init = b.constant(start(x.dtype), x.dtype)
    return b.reduce([x], [init], site.params["axes"], combine)


def _program(closed) -> Callable:
    """A program of scalars as the body of a region."""
    return lambda b, *scalars: write_closed(b, closed, scalars)


@rule("reduce")
def _reduce(b, site, *values):
    half = len(values) // 2
    return b.reduce(values[:half], values[half:], site.params["dimensions"],
                    _program(site.params["jaxpr"]))


@rule("argmax", "argmin")
def _arg_reduce(b, site, x):
    """Pairs (element, position) are compared; a NaN wins, of equal elements the first."""
    sign, direction = (-1, "GT") if site.name == "argmax" else (1, "LT")
    axes, index = site.params["axes"], site.out.dtype
    positions = b.iota(x.type.with_dtype(index), axes[0])
    inits = [b.constant(limit(x.dtype, sign), x.dtype), b.constant(0, index)]

    def better(inner, x, i, y, j):
        wins = inner.or_(inner.compare(direction, x, y), inner.compare("NE", x, x))
        first = inner.and_(inner.compare("EQ", x, y), inner.compare("LT", i, j))
        earlier = inner.or_(wins, first)
        return [inner.select(wins, x, y), inner.select(earlier, i, j)]

    return b.reduce([x, positions], inits, axes, better)[1]


# --- running reductions --------------------------------------------------------------------------


def _log_add_exp(b: Builder, x: Value, y: Value) -> Value:
    """log(eˣ + eʸ) from the greater one; equal infinities do not make a NaN."""
    if dtypes.is_complex(x.dtype):
        return _complex_log_add_exp(b, x, y)
    greater, difference = b.maximum(x, y), b.subtract(x, y)
    undefined = b.compare("NE", difference, difference)
    small = b.log1p(b.exponential(b.negate(b.abs_real(difference))))
    return b.select(undefined, b.add(x, y), b.add(greater, small))


def _complex_log_add_exp(b: Builder, x: Value, y: Value) -> Value:
    swap = b.compare("LT", b.real(x), b.real(y))
    high, low = b.select(swap, y, x), b.select(swap, x, y)
    nothing = b.compare("EQ", b.real(high), b.constant(-np.inf, b.real(high).dtype))
    out = b.select(nothing, high, b.add(high, b.log1p(b.exponential(b.subtract(low, high)))))
    angle = b.imag(out)
    return b.complex(b.real(out), b.atan2(b.sine(angle), b.cosine(angle)))


_RUNNING = {"cumsum": _MONOIDS["sum"], "cumprod": _MONOIDS["prod"], "cummax": _MONOIDS["max"],
            "cummin": _MONOIDS["min"],
            "cumlogsumexp": (_log_add_exp, lambda dtype: -np.inf)}


@rule(*_RUNNING)
def _cumulative(b, site, x):
    """A window over all elements up to here."""
    combine, start = _RUNNING[site.name]
    axis, n = site.params["axis"], x.shape[site.params["axis"]]
    if x.type.size == 0:
        return x
    ones = (1,) * len(x.shape)
    before = (0, n - 1) if site.params["reverse"] else (n - 1, 0)
    return b.reduce_window(
        [x], [b.constant(start(x.dtype), x.dtype)], x.shape, combine,
        window=_at(axis, n, ones), strides=ones, padding=_at(axis, before, ((0, 0),) * len(ones)),
        base_dilation=ones, window_dilation=ones)


def _at(axis: int, value, values) -> tuple:
    return (*values[:axis], value, *values[axis + 1:])


# --- windows -------------------------------------------------------------------------------------


def _geometry(params: dict) -> dict:
    return {"window": params["window_dimensions"], "strides": params["window_strides"],
            "padding": params["padding"], "base_dilation": params["base_dilation"],
            "window_dilation": params["window_dilation"]}


@rule("reduce_window_sum", "reduce_window_max", "reduce_window_min")
def _window_monoid(b, site, x):
    combine, start = _MONOIDS[site.name.removeprefix("reduce_window_")]
    init = b.constant(start(x.dtype), x.dtype)
    return b.reduce_window([x], [init], site.out.shape, combine, **_geometry(site.params))


@rule("reduce_window")
def _reduce_window(b, site, *values):
    half = len(values) // 2
    return b.reduce_window(values[:half], values[half:], site.out.shape,
                           _program(site.params["jaxpr"]), **_geometry(site.params))


@rule("select_and_gather_add")
def _select_and_gather_add(b, site, tangents, x):
    """The tangent travels with the element that wins its window."""
    direction, sign = _selection(site)
    inits = [b.constant(limit(x.dtype, sign), x.dtype), b.constant(0, tangents.dtype)]

    def keep(inner, x, t, y, u):
        stays = inner.compare(direction, x, y)
        return [inner.select(stays, x, y), inner.select(stays, t, u)]

    return b.reduce_window([x, tangents], inits, site.out.shape, keep,
                           **_geometry(site.params))[1]


def _selection(site) -> tuple[str, int]:
    """How the winner is compared, and the sign of the value that loses to all."""
    return ("GE", -1) if site.params["select_prim"].name == "ge" else ("LE", 1)


@rule("select_and_scatter_add")
def _select_and_scatter_add(b, site, source, x):
    """The padding is made of elements that never win, and cut off afterwards."""
    direction, sign = _selection(site)
    p = site.params
    padded = x
    if any(n for pair in p["padding"] for n in pair):
        config = [(lo, hi, 0) for lo, hi in p["padding"]]
        padded = b.pad(x, b.constant(limit(x.dtype, sign), x.dtype), config)
    scalar = x.type.scalar
    attributes = {"padding": pairs_attribute(((0, 0),) * len(x.shape)),
                  "window_dimensions": array_attribute(p["window_dimensions"]),
                  "window_strides": array_attribute(p["window_strides"])}
    regions = [b.region([scalar, scalar], lambda inner, y, z: inner.compare(direction, y, z)),
               b.region([scalar, scalar], Builder.add)]
    found = b.one("stablehlo.select_and_scatter", [padded, source, b.constant(0, x.dtype)],
                  padded.type, attributes, regions)
    if padded is x:
        return found
    starts = [lo for lo, _ in p["padding"]]
    return b.slice(found, starts, [lo + n for lo, n in zip(starts, x.shape, strict=True)])
