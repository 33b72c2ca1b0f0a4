"""Lowering of reductions."""

import math

from ..core import interpret
from ..core.jaxpr import ClosedJaxpr, DebugInfo
from ..core.staging import trace_flat
from ..graph.diagonal import sum_on_diagonal
from ..graph.graph import is_literal
from ..graph.joined import stacked_along
from ..ir.types import code_of, kind_of
from ..lax.nary import broadcast_to
from ..lax.tree_reduce import reduce_pairs
from . import complex_math
from .inline import inline
from .rules import LoweringError, Pair, lower_rule

_KINDS = {
    "reduce_sum": "sum",
    "reduce_prod": "prod",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_and": "and",
    "reduce_or": "or",
    "reduce_xor": "xor",
}


def _register(name, kind):
    @lower_rule(name)
    def rule(ctx, eqn, x):
        axes = eqn.params["axes"]
        if isinstance(x, Pair):
            return _complex(ctx.g, kind, x, axes)
        if x.dtype == "b1":
            boolean = {"max": "or", "min": "and", "sum": "or", "prod": "and"}.get(kind, kind)
            return ctx.g.reduce(boolean, x, axes)
        return _sum(ctx.g, x, axes) if kind == "sum" else ctx.g.reduce(kind, x, axes)


for _name, _kind in _KINDS.items():
    _register(_name, _kind)


def extreme_of_numbers(g, only_nan, nan, extreme):
    """The reduction fmax or fmin, if select(only_nan, nan, extreme) is one written out; else None:
    the extreme of x with the worst value for every NaN, and NaN where all of x is. One pass over x
    instead of two."""
    shape = extreme.shape
    if only_nan.op == extreme.op == "reshape":
        only_nan, extreme = only_nan.args[0], extreme.args[0]
    if only_nan.op != "reduce" or extreme.op != "reduce" or not is_literal(nan, math.nan):
        return None
    (all_of, axes), (kind, own) = only_nan.attrs, extreme.attrs
    is_nan, filled = only_nan.args[0], extreme.args[0]
    if (all_of, axes) != ("and", own) or kind not in ("max", "min") or filled.op != "select":
        return None
    unequal, worst, x = filled.args
    found = is_nan is unequal and is_nan.op == "ne" and is_nan.args[0] is is_nan.args[1] is x
    if not found or not is_literal(worst, -math.inf if kind == "max" else math.inf):
        return None
    return g.reshape(g.reduce(f"f{kind}", x, axes), shape)


def _sum(g, x, axes):
    diagonal = sum_on_diagonal(g, x, axes)
    return g.reduce("sum", x, axes) if diagonal is None else diagonal


def _complex(g, kind, x, axes):
    if kind == "sum":
        return Pair(_sum(g, x.re, axes), _sum(g, x.im, axes))
    if kind in _HALVED and (kind == "prod" or x.re.size):
        return _by_halves(g, _HALVED[kind], x, axes)
    raise LoweringError(f"reduction {kind} of complex numbers")


_HALVED = {"prod": complex_math.mul, "max": complex_math.maximum, "min": complex_math.minimum}


def _by_halves(g, combine, x, axes):
    """log2(n) elementwise combinations; no elements give 1 (products only)."""
    for axis in sorted(axes, reverse=True):
        while x.shape[axis] > 1:
            n = x.shape[axis]
            half = n // 2
            parts = [_take(g, x, axis, 0, half), _take(g, x, axis, half, 2 * half)]
            folded = combine(g, *parts)
            if n % 2:
                rest = _take(g, x, axis, n - 1, n)
                folded = Pair(
                    g.concat([folded.re, rest.re], axis), g.concat([folded.im, rest.im], axis)
                )
            x = folded
        shape = x.shape[:axis] + x.shape[axis + 1 :]
        if x.shape[axis] == 0:
            x = Pair(g.full(1.0, shape, x.dtype), g.full(0.0, shape, x.dtype))
        else:
            x = Pair(g.reshape(x.re, shape), g.reshape(x.im, shape))
    return x


def _take(g, x, axis, low, high):
    lows, highs = [0] * len(x.shape), list(x.shape)
    lows[axis], highs[axis] = low, high
    return Pair(g.slice(x.re, lows, highs), g.slice(x.im, lows, highs))


def _chosen(g, parts, axis, greatest, code):
    """Which array of a stack has the first extreme element. (Of conditions, as `select` asks: five
    of 10^6 elements were stored and searched, which took four times as long.)"""
    shape = parts[0].shape[:axis] + parts[0].shape[axis + 1 :]
    parts = [g.reshape(part, shape) for part in parts]
    number = lambda n: g.full(n, shape, code)
    found = number(0)
    if parts[0].dtype == "b1":
        for n in reversed(range(len(parts))):
            holds = parts[n] if greatest else g.ew("not", parts[n])
            found = g.select(holds, number(n), found)
        return found
    best = parts[0]
    for n, part in enumerate(parts[1:], 1):
        better = g.compare("gt" if greatest else "lt", part, best)
        if kind_of(part.dtype) == "f":  # the first NaN is the extreme
            new = g.ew("and", g.compare("ne", part, part), g.compare("eq", best, best))
            better = g.ew("or", better, new)
        best, found = g.select(better, part, best), g.select(better, number(n), found)
    return found


SEARCHED_FROM = 64  # elements of an axis: a shorter one is better fused with what makes them


@lower_rule("argmax", "argmin")
def lower_argreduce(ctx, eqn, x):
    (axis,) = eqn.params["axes"]
    code = code_of(eqn.outvars[0].aval.dtype)
    wide = code if code in ("i32", "i64") else "i32"
    greatest = eqn.primitive.name == "argmax"
    if x.dtype in ("b1", "i8", "u8") and x.shape[axis] >= SEARCHED_FROM and x.size:
        return ctx.g.convert(_first_extreme(ctx.g, x, axis, greatest, wide), code)
    parts = stacked_along(ctx.g, x, axis)
    if parts is not None:
        return ctx.g.convert(_chosen(ctx.g, parts, axis, greatest, wide), code)
    if kind_of(x.dtype) == "b":
        x = ctx.g.convert(x, "i32")
    return ctx.g.convert(ctx.g.argreduce(eqn.primitive.name, x, axis, wide), code)


def _first_extreme(g, x, axis, greatest, code):
    """One byte an element: a routine compares whole vectors of them, and stops at a True."""
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    inner = math.prod(x.shape[axis + 1 :])
    attrs = (x.shape[axis], inner, int(greatest))
    return g.call("first_extreme", (x,), [(shape, code)], attrs)[0]


@lower_rule("reduce")
def lower_general_reduce(ctx, eqn, *values):
    """A fold by any elementwise function, written as log2(n) combinations of halves."""
    p = eqn.params
    closed, axes, count = p["jaxpr"], p["dimensions"], len(values) // 2
    if any(e.primitive.attributes.get("kind") != "elementwise" for e in closed.eqns):
        raise LoweringError("reduce by a function that is not elementwise has no machine code")
    avals = [v.aval for v in eqn.invars]

    def combine(left, right):
        shape = left[0].shape
        outs = interpret.eval_jaxpr(closed.jaxpr, closed.consts, *left, *right)
        return tuple([broadcast_to(o, shape) for o in outs])

    def fold(*args):
        xs, shape = args[:count], eqn.outvars[0].aval.shape
        start = tuple([broadcast_to(i, shape) for i in args[count:]])
        if math.prod(avals[0].shape[a] for a in axes) == 0:
            return start
        return combine(start, reduce_pairs(combine, xs, (), axes))

    jaxpr, consts = trace_flat(fold, avals, DebugInfo("reduce"))
    return inline(ctx, ClosedJaxpr(jaxpr, consts), list(values))
