"""Lowering of windowed reductions: strided slices of the padded operand, combined.

A window is a box, so sums and extremes go axis by axis, and so do products and logical operations.
Short windows combine one slice an element; in long ones partial results of 1, 2, 4, … elements are
combined. Any other function takes the elements of a window in their order, one after another.
Invariant: padding and holes hold the neutral element of the reduction.
"""

import itertools
import math

from ..core.jaxpr import ClosedJaxpr, DebugInfo
from ..core.staging import trace_flat
from ..ir.types import bits_of
from ..lax.padding import dilated, strided_count
from ..lax.windowed import (
    identity_of,
    operation_of,
    reduce_window_max_p,
    reduce_window_min_p,
)
from ..lax.windowed_fold import fold_of_places
from .inline import inline
from .python_steps import call_python
from .rules import Pair, lower_rule
from .shape import pad_node

MAX_TERMS = 16  # slices of one axis combined one by one
MAX_WINDOW = 64  # elements of a window in which a winner is followed
MAX_FOLDED = 1024  # elements of a window that is folded by any function, a step for each
_OPERATIONS = {"reduce_window_sum": "add", "reduce_window_max": "max", "reduce_window_min": "min"}


def strided_slice(g, x, axis, start, count, stride):
    """Elements start, start + stride, … (`count` of them) along an axis."""
    lows, highs, strides = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
    lows[axis], highs[axis] = start, start + (count - 1) * stride + 1 if count else start
    strides[axis] = stride
    return g.slice(x, lows, highs, strides)


def spread_out(g, x, value, padding, dilation):
    """x with `value` around it (cut where padding is negative) and in holes between elements."""
    config = [(lo, hi, d - 1) for (lo, hi), d in zip(padding, dilation, strict=True)]
    return pad_node(g, x, value, config)


# ---------------------------------------------------------------------- sums and extremes
@lower_rule(*_OPERATIONS)
def lower_reduce_window(ctx, eqn, x):
    op, dtype = _OPERATIONS[eqn.primitive.name], eqn.invars[0].aval.dtype
    if isinstance(x, Pair):
        return Pair(*[_reduce(ctx.g, eqn, op, part, 0.0) for part in x])
    return _reduce(ctx.g, eqn, op, x, identity_of(eqn.primitive, dtype))


@lower_rule("reduce_window")
def lower_any_reduce_window(ctx, eqn, *values):
    p, dtype = eqn.params, eqn.invars[0].aval.dtype
    op = operation_of(p["jaxpr"])
    if op in _NEUTRAL and not isinstance(values[0], Pair):
        x, init = values
        op = {"max": "or", "min": "and"}.get(op, op) if x.dtype == "b1" else op
        result = _reduce(ctx.g, eqn, op, x, _NEUTRAL[op](dtype, x.dtype))
        return [ctx.g.ew(op, ctx.spread(init, result.shape), result)]
    if math.prod(p["window_dimensions"]) > MAX_FOLDED:
        return call_python(ctx, eqn, values)
    geometry = {k: v for k, v in p.items() if k not in ("jaxpr", "consts")}
    fold = lambda *args: fold_of_places(args, p["jaxpr"], p["consts"], geometry)
    jaxpr, consts = trace_flat(fold, [v.aval for v in eqn.invars], DebugInfo("reduce_window"))
    return inline(ctx, ClosedJaxpr(jaxpr, consts), list(values))


def _all_ones(dtype, code):
    return True if code == "b1" else -1 if code[0] == "i" else (1 << bits_of(code)) - 1


_NEUTRAL = {  # of a dtype and its code
    "add": lambda dtype, code: 0,
    "mul": lambda dtype, code: 1,
    "max": lambda dtype, code: identity_of(reduce_window_max_p, dtype),
    "min": lambda dtype, code: identity_of(reduce_window_min_p, dtype),
    "and": _all_ones,
    "or": lambda dtype, code: 0,
    "xor": lambda dtype, code: 0,
}


def _reduce(g, eqn, op, x, neutral):
    p, code = eqn.params, x.dtype
    shape = eqn.outvars[0].aval.shape
    if math.prod(shape) == 0 or x.size == 0:
        return g.full(neutral, shape, code)
    x = spread_out(g, x, g.lit(neutral, code), p["padding"], p["base_dilation"])
    if op in ("add", "mul") and code in ("f16", "bf16"):
        x = g.convert(x, "f32")
    geometry = zip(p["window_dimensions"], p["window_strides"], p["window_dilation"], strict=True)
    for axis, (window, stride, dilation) in enumerate(geometry):
        x = _along(g, op, x, axis, window, stride, dilation)
    return g.convert(x, code)


def _along(g, op, x, axis, window, stride, dilation):
    """The windows of one axis combined."""
    count = strided_count(x.shape[axis], dilated(window, dilation), stride)
    if window <= MAX_TERMS:
        parts = [strided_slice(g, x, axis, i * dilation, count, stride) for i in range(window)]
        return _combined(g, op, parts)
    # [i] of the partial result of size s: elements i, i + dilation, … (s of them)
    parts, partial, size, done = [], x, 1, 0
    while size <= window:
        if window & size:
            parts.append(strided_slice(g, partial, axis, done * dilation, count, stride))
            done += size
        size *= 2
        if size <= window:
            n = partial.shape[axis] - size // 2 * dilation
            ends = [strided_slice(g, partial, axis, i * size // 2 * dilation, n, 1) for i in (0, 1)]
            partial = _combined(g, op, ends)
    return _combined(g, op, parts)


def _combined(g, op, parts):
    total = parts[0]
    for part in parts[1:]:
        total = g.ew(op, total, part)
    return total


# ---------------------------------------------------------------------- following the winner
def _window_slices(g, x, params, dilation):
    """One node for each element of a window: that element of every window."""
    sizes, strides = params["window_dimensions"], params["window_strides"]
    counts = [strided_count(n, dilated(w, d), s)
              for n, w, d, s in zip(x.shape, sizes, dilation, strides, strict=True)]
    for place in itertools.product(*[range(w) for w in sizes]):
        lows = [p * d for p, d in zip(place, dilation, strict=True)]
        highs = [lo + (n - 1) * s + 1 for lo, n, s in zip(lows, counts, strides, strict=True)]
        yield g.slice(x, lows, highs, strides)


def _winners(g, name, operand, params, padding, base, dilation, carried):
    """Each window's first element that is kept, as the values there of the arrays `carried`.

    Padding never wins: it is marked in a mask, unless there is none.
    """
    has_holes = any(lo or hi for lo, hi in padding) or any(d != 1 for d in base)
    zero = g.lit(0, operand.dtype)
    values = list(_window_slices(g, spread_out(g, operand, zero, padding, base), params, dilation))
    insides = [None] * len(values)
    if has_holes:
        mask = g.full(True, operand.shape, "b1")
        mask = spread_out(g, mask, g.lit(False, "b1"), padding, base)
        insides = list(_window_slices(g, mask, params, dilation))
    best, found, won = values[0], insides[0], [c[0] for c in carried]
    for i in range(1, len(values)):
        take = g.ew("not", g.compare(name, best, values[i]))
        if has_holes:
            take = g.ew("and", insides[i], g.ew("or", take, g.ew("not", found)))
            found = g.ew("or", found, insides[i])
        best = g.select(take, values[i], best)
        won = [g.select(take, c[i], w) for c, w in zip(carried, won, strict=True)]
    return won, found


@lower_rule("select_and_gather_add")
def lower_select_and_gather_add(ctx, eqn, tangents, operand):
    g, p, shape = ctx.g, eqn.params, eqn.outvars[0].aval.shape
    if math.prod(shape) == 0 or operand.size == 0 or _is_large(p):
        return call_python(ctx, eqn, [tangents, operand])[0]
    padding, base, dilation = p["padding"], p["base_dilation"], p["window_dilation"]
    wide = spread_out(g, tangents, g.lit(0, tangents.dtype), padding, base)
    carried = [list(_window_slices(g, wide, p, dilation))]
    name = p["select_prim"].name
    (won,), _ = _winners(g, name, operand, p, padding, base, dilation, carried)
    return won  # where there is nothing but padding it is padding: 0


def _is_large(params) -> bool:
    return math.prod(params["window_dimensions"]) > MAX_WINDOW


@lower_rule("select_and_scatter_add")
def lower_select_and_scatter_add(ctx, eqn, source, operand):
    """Element i of the operand gets the source of every window in which it is the winner."""
    g, p = ctx.g, eqn.params
    if source.size == 0 or operand.size == 0 or _is_large(p):
        return call_python(ctx, eqn, [source, operand])[0]
    sizes, strides, padding = p["window_dimensions"], p["window_strides"], p["padding"]
    ones = (1,) * len(sizes)
    taps = list(itertools.product(*[range(w) for w in sizes]))
    numbers = [[g.full(i, source.shape, "i32") for i in range(len(taps))]]
    name = p["select_prim"].name
    (winner,), inside = _winners(g, name, operand, p, padding, ones, ones, numbers)
    zeros, zero = g.full(0, source.shape, source.dtype), g.lit(0, source.dtype)
    total = None
    for i, place in enumerate(taps):
        wins = g.compare("eq", winner, numbers[0][i])
        if inside is not None:
            wins = g.ew("and", wins, inside)
        share = g.select(wins, source, zeros)
        config = []
        for n, m, at, stride, (lo, _) in zip(
            operand.shape, source.shape, place, strides, padding, strict=True
        ):
            low = at - lo
            config.append((low, n - low - ((m - 1) * stride + 1), stride - 1))
        share = pad_node(g, share, zero, config)
        total = share if total is None else g.add(total, share)
    return total
