"""Lowering of functions without a formula of the graph's own operations.

The incomplete gamma functions and their derivatives are native routines, in float64: their series
end when they have converged, which differs from element to element (zeta and polygamma: zeta.py).
The incomplete beta function is SciPy's, as a python step. `mulhi` is arithmetic; the others are
callbacks and selections.
"""

from ..ir.types import bits_of, kind_of
from .python_steps import call_python
from .rules import RULES, LoweringError, lower_rule

_BY_SCIPY = ("regularized_incomplete_beta",)
_CALLBACKS = ("pure_callback", "io_callback", "debug_callback", "debug_print", "rng_uniform")
_OTHERS = ("scatter_apply", "dce_sink")


@lower_rule(*_BY_SCIPY, *_CALLBACKS, *_OTHERS)
def lower_python(ctx, eqn, *values):
    results = call_python(ctx, eqn, values)
    return results if eqn.primitive.multiple_results else results[0]


@lower_rule("igamma", "igammac")
def lower_incomplete_gamma(ctx, eqn, *values):
    """Series end sooner where the result is not float64."""
    goal = "f64" if values[0].dtype == "f64" else "f32"
    return _call(ctx, eqn, values, f"{eqn.primitive.name}_{goal}")


@lower_rule("igamma_grad_a", "random_gamma_grad")
def lower_special(ctx, eqn, *values):
    return _call(ctx, eqn, values, eqn.primitive.name)


def _call(ctx, eqn, values, name):
    """A native routine of two arrays of float64."""
    g, aval = ctx.g, eqn.outvars[0].aval
    wide = [g.convert(ctx.spread(x, aval.shape), "f64") for x in values]
    (found,) = g.call("special", wide, [(aval.shape, "f64")], (name,))
    return g.convert(found, values[0].dtype)


# ---------------------------------------------------------------------- mulhi
@lower_rule("mulhi")
def lower_mulhi(ctx, eqn, x, y):
    g, shape = ctx.g, eqn.outvars[0].aval.shape
    x, y = ctx.spread(x, shape), ctx.spread(y, shape)
    width, kind = bits_of(x.dtype), kind_of(x.dtype)
    if width < 64:
        wide = g.mul(g.convert(x, f"{kind}64"), g.convert(y, f"{kind}64"))
        shift = g.full(width, shape, wide.dtype)
        return g.convert(g.ew("shift_right_logical", wide, shift), x.dtype)
    high = _mulhi_unsigned(g, g.bitcast(x, "u64"), g.bitcast(y, "u64"))
    if kind == "u":
        return high
    # a negative operand x stands for x + 2^64: the unsigned product has y too many on top
    high = g.bitcast(high, "i64")
    zero = g.full(0, shape, "i64")
    high = g.sub(high, g.select(g.compare("lt", x, zero), y, zero))
    return g.sub(high, g.select(g.compare("lt", y, zero), x, zero))


def _mulhi_unsigned(g, x, y):
    """Schoolbook product of two 64-bit numbers in halves of 32 bits."""
    half, mask = g.full(32, x.shape, "u64"), g.full(0xFFFFFFFF, x.shape, "u64")

    def low(v):
        return g.ew("and", v, mask)

    def high(v):
        return g.ew("shift_right_logical", v, half)

    first = g.add(g.mul(high(x), low(y)), high(g.mul(low(x), low(y))))
    second = g.add(g.mul(low(x), high(y)), low(first))
    return g.add(g.add(g.mul(high(x), high(y)), high(first)), high(second))


# ---------------------------------------------------------------------- selections
@lower_rule("approx_top_k")
def lower_approx_top_k(ctx, eqn, x):
    """Exact: the k greatest, or the k least as the greatest of -x."""
    p = eqn.params
    if not p["aggregate_to_topk"]:
        raise LoweringError("approx_top_k without aggregation is not compiled")
    as_top_k = eqn.replace(params={"k": p["k"], "axis": p["reduction_dimension"]})
    if p["is_max_k"]:
        return RULES["top_k"](ctx, as_top_k, x)
    values, positions = RULES["top_k"](ctx, as_top_k, ctx.g.neg(x))
    return [ctx.g.neg(values), positions]
