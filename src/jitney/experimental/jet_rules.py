"""What primitives make of Taylor coefficients.

In: for each operand its series [x_0, …, x_n] (Taylor coefficients; None is zero). Out: the series
of the result. Recurrences are those of Griewank and Walther, "Evaluating Derivatives" (2008),
table 13.2: from y' = g(y, x) x' follows k y_k = sum_j j x_j g_{k-j}, so that order k needs only
lower orders of y.

A primitive without a rule here is integrated: its jvp gives y' as a program of x and x', whose
coefficients of one order less are found in the same way.
Invariant: rules are written with bound primitives, so they can be transformed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitney.base import dtypes
from jitney.core.avals import get_aval
from jitney.core.interpret import eval_closed
from jitney.core.jaxpr import ClosedJaxpr
from jitney.core.primitive import Primitive, named
from jitney.lax.arithmetic import add, div, integer_pow, mul, neg, sub
from jitney.lax.elementwise_unary import cos, cosh, exp, log, logistic, sin, sinh, sqrt, tan, tanh
from jitney.lax.nary import broadcast_to, constant
from jitney.transforms.jvp import Zero, jvp_rules, zeros_of

Series = list

rules: dict[str, Callable] = {}


def rule(*names: str) -> Callable:
    """Register `rule(order, series of operands…, **params) -> series` for primitives."""
    def register(function: Callable) -> Callable:
        for name in names:
            rules[name] = function
        return function

    return register


def apply(primitive: Primitive, order: int, series: Sequence[Series], params: dict,
          jet_flat: Callable) -> Any:
    """The series of a primitive's result (a list of them for several results)."""
    found = rules.get(primitive.name)
    if found is not None:
        return found(order, *series, **params)
    if _is_linear(primitive):
        return _linear(primitive, order, series, params)
    program = params.get("jaxpr", params.get("call_jaxpr"))
    if primitive.name in ("jit", "remat2", "closed_call", "composite"):
        return jet_flat(_runner(program), order, series)
    jvp = jvp_rules.get(primitive)
    if jvp is None:
        raise NotImplementedError(f"jet: the primitive '{primitive}' has no derivative")
    out = integrated(lambda primals, tangents: _listed(primitive, jvp(primals, tangents, **params)),
                     order, series, jet_flat)
    return out if primitive.multiple_results else out[0]


def _runner(program: Any) -> Callable:
    closed = program if isinstance(program, ClosedJaxpr) else ClosedJaxpr(program, [])
    return lambda *args: eval_closed(closed, *args)


def _listed(primitive: Primitive, pair: tuple) -> tuple:
    return pair if primitive.multiple_results else ([pair[0]], [pair[1]])


# --- by integration ------------------------------------------------------------------------------


def integrated(jvp: Callable, order: int, series: Sequence[Series],
               jet_flat: Callable) -> list[Series]:
    """Series of results from `jvp(primals, tangents) -> (outs, out_tangents)`: y' = J(x) x'."""
    count = len(series)
    moving = [any(c is not None for c in s[1:]) for s in series]
    speeds = [[_times(c, k) for k, c in enumerate(s[1:], 1)] for s in series]
    starts = [[c if c is not None else _zeros(s[0]) for c in v[:1]] + v[1:]
              for s, v in zip(series, speeds, strict=True)]
    kinds: list = []

    def slope(*values: Any) -> list:
        given = iter(values[count:])
        tangents = [next(given) if m else Zero.from_primal_value(x)
                    for x, m in zip(values[:count], moving)]
        outs, dots = jvp(list(values[:count]), tangents)
        kinds[:] = [type(t) is not Zero for t in dots]
        return [*outs, *[t for t in dots if type(t) is not Zero]]

    lower = [s[:order] for s in series] + [v for v, m in zip(starts, moving, strict=True) if m]
    found = jet_flat(slope, order - 1, lower)
    outs, dots = found[:len(kinds)], iter(found[len(kinds):])
    result = []
    for s, flows in zip(outs, kinds, strict=True):
        rest = [_over(c, k) for k, c in enumerate(next(dots), 1)] if flows else [None] * order
        result.append([s[0], *rest])
    return result


# --- arithmetic of coefficients ------------------------------------------------------------------


def _zeros(x: Any) -> Any:
    return zeros_of(get_aval(x).to_tangent_aval())


def _times(x: Any, number: float) -> Any:
    return x if x is None or number == 1 else mul(x, constant(x, number))


def _over(x: Any, number: float) -> Any:
    return _times(x, 1.0 / number)


def _sum(terms: Sequence) -> Any:
    total = None
    for t in terms:
        if t is not None:
            total = t if total is None else add(total, t)
    return total


def _minus(a: Any, b: Any) -> Any:
    if b is None:
        return a
    return neg(b) if a is None else sub(a, b)


def _product(a: Any, b: Any, bind: Callable = mul) -> Any:
    return None if a is None or b is None else bind(a, b)


def _cauchy(x: Series, y: Series, k: int, bind: Callable = mul) -> Any:
    """Coefficient k of the product of two series."""
    return _sum([_product(x[j], y[k - j], bind) for j in range(k + 1)])


def _multiplied(x: Series, y: Series, bind: Callable = mul) -> Series:
    return [_cauchy(x, y, k, bind) for k in range(len(x))]


def _grown(x: Series, g: Series, k: int) -> Any:
    """(sum_{j=1..k} j x_j g_{k-j}) / k: coefficient k of the y with y' = g x'."""
    return _over(_sum([_times(_product(x[j], g[k - j]), j) for j in range(1, k + 1)]), k)


def _quotient(x: Series, y: Series) -> Series:
    out: Series = []
    for k in range(len(x)):
        known = _sum([_product(y[j], out[k - j]) for j in range(1, k + 1)])
        rest = _minus(x[k], known)
        out.append(None if rest is None else div(rest, y[0]))
    return out


def _constant(x: Any, like: Series) -> Series:
    return [constant(like[0], x), *[None] * (len(like) - 1)]


# --- linear primitives ---------------------------------------------------------------------------

# linear in the operands at these places; the others are fixed
_LINEAR_IN = {
    "gather": (0,), "dynamic_slice": (0,), "dynamic_update_slice": (0, 1), "scatter": (0, 2),
    "scatter-add": (0, 2), "scatter-sub": (0, 2), "select_and_gather_add": (0,),
    "select_and_scatter_add": (0,),
}  # fmt: skip


def _is_linear(primitive: Primitive) -> bool:
    made_by = getattr(jvp_rules.get(primitive), "__qualname__", "")
    return primitive.name in _LINEAR_IN or made_by.startswith("define_linear.")


def _linear(primitive: Primitive, order: int, series: Sequence[Series], params: dict) -> Any:
    """The primitive applied to the coefficients of each order."""
    places = _LINEAR_IN.get(primitive.name, range(len(series)))
    values = primitive.bind(*[s[0] for s in series], **params)
    columns = [values]
    for k in range(1, order + 1):
        if all(series[i][k] is None for i in places):
            columns.append([None] * len(values) if primitive.multiple_results else None)
            continue
        operands = [_instantiated(s, k) if i in places else s[0] for i, s in enumerate(series)]
        columns.append(primitive.bind(*operands, **params))
    if primitive.multiple_results:
        return [list(column) for column in zip(*columns, strict=True)]
    return columns


def _instantiated(s: Series, k: int) -> Any:
    return s[k] if s[k] is not None else zeros_of(get_aval(s[0]))


@rule("add", "add_any")
def _add(order, x, y, **params):
    return _spread([_sum([a, b]) for a, b in zip(x, y)])


@rule("sub")
def _sub(order, x, y, **params):
    return _spread([_minus(a, b) for a, b in zip(x, y)])


def _spread(out: Series) -> Series:
    """All coefficients with the shape of the first: operands of one element are repeated."""
    shape = get_aval(out[0]).shape
    return [None if c is None else broadcast_to(c, shape) for c in out]


@rule("convert_element_type")
def _convert(order, x, **params):
    bind = named("convert_element_type").bind
    out = bind(x[0], **params)
    if not dtypes.is_inexact(get_aval(out).dtype):
        return [out, *[None] * order]
    return [out, *[None if c is None else bind(c, **params) for c in x[1:]]]


# --- products ------------------------------------------------------------------------------------


@rule("mul")
def _mul(order, x, y, **params):
    bind = named("mul").bind
    return _spread(_multiplied(x, y, lambda a, b: bind(a, b, **params)))


@rule("dot_general", "conv_general_dilated")
def _bilinear(order, x, y, **params):
    name = "dot_general" if "dimension_numbers" in params and "window_strides" not in params \
        else "conv_general_dilated"
    return _multiplied(x, y, lambda a, b: named(name).bind(a, b, **params))


@rule("div")
def _div(order, x, y, **params):
    return _spread(_quotient(x, y))


@rule("square")
def _square(order, x, **params):
    return _multiplied(x, x)


@rule("integer_pow")
def _integer_pow(order, x, y):
    if y < 0:
        return _quotient(_constant(1.0, x), _integer_pow(order, x, -y))
    out = None
    power, left = x, y
    while left:
        if left % 2:
            out = power if out is None else _multiplied(out, power)
        left //= 2
        power = _multiplied(power, power) if left else power
    if out is None:
        return [integer_pow(x[0], 0), *[None] * order]
    return out


# --- functions with equations of their own --------------------------------------------------------


@rule("exp")
def _exp(order, x, **params):
    y: Series = [exp(x[0])]                                     # y' = y x'
    for k in range(1, order + 1):
        y.append(_grown(x, y, k))
    return y


@rule("log")
def _log(order, x, **params):
    y: Series = [log(x[0])]                                     # x y' = x'
    for k in range(1, order + 1):
        known = _sum([_times(_product(x[k - j], y[j]), j) for j in range(1, k)])
        rest = _minus(x[k], _over(known, k))
        y.append(None if rest is None else div(rest, x[0]))
    return y


@rule("sqrt")
def _sqrt(order, x, **params):
    y: Series = [sqrt(x[0])]                                    # y y = x
    for k in range(1, order + 1):
        rest = _minus(x[k], _sum([_product(y[j], y[k - j]) for j in range(1, k)]))
        y.append(None if rest is None else div(_times(rest, 0.5), y[0]))
    return y


@rule("rsqrt")
def _rsqrt(order, x, **params):
    return _quotient(_constant(1.0, x), _sqrt(order, x))


def _pair(x: Series, first: Any, second: Any, sign: float) -> tuple[Series, Series]:
    """u, v with u' = v x' and v' = sign u x'."""
    u, v = [first], [second]
    for k in range(1, len(x)):
        following = _grown(x, u, k)
        u.append(_grown(x, v, k))
        v.append(following if sign > 0 or following is None else neg(following))
    return u, v


@rule("sin")
def _sin(order, x, **params):
    return _pair(x, sin(x[0]), cos(x[0]), -1.0)[0]


@rule("cos")
def _cos(order, x, **params):
    return _pair(x, sin(x[0]), cos(x[0]), -1.0)[1]


@rule("sinh")
def _sinh(order, x, **params):
    return _pair(x, sinh(x[0]), cosh(x[0]), 1.0)[0]


@rule("cosh")
def _cosh(order, x, **params):
    return _pair(x, sinh(x[0]), cosh(x[0]), 1.0)[1]


def _autonomous(x: Series, start: Any, slope: Callable[[Series, int], Any]) -> Series:
    """y with y' = g(y) x', where `slope(y, k)` is coefficient k of g(y) from y_0 … y_k."""
    y, g = [start], []
    for k in range(1, len(x)):
        g.append(slope(y, k - 1))
        y.append(_grown(x, g, k))
    return y


def _one_plus(sign: float) -> Callable:
    """1 + sign y²."""
    def slope(y: Series, k: int) -> Any:
        squared = _times(_cauchy(y, y, k), sign)
        return add(constant_like(y), squared) if k == 0 else squared

    return slope


def constant_like(y: Series) -> Any:
    """One, with the shape of a series."""
    return add(_zeros(y[0]), constant(y[0], 1.0))


@rule("tan")
def _tan(order, x, **params):
    return _autonomous(x, tan(x[0]), _one_plus(1.0))


@rule("tanh")
def _tanh(order, x, **params):
    return _autonomous(x, tanh(x[0]), _one_plus(-1.0))


@rule("logistic")
def _logistic(order, x, **params):
    return _autonomous(x, logistic(x[0]), lambda y, k: _minus(y[k], _cauchy(y, y, k)))


# --- choices -------------------------------------------------------------------------------------


@rule("select_n")
def _select_n(order, which, *cases):
    bind = named("select_n").bind
    out: Series = [bind(which[0], *[c[0] for c in cases])]
    for k in range(1, order + 1):
        if all(c[k] is None for c in cases):
            out.append(None)
        else:
            out.append(bind(which[0], *[_instantiated(c, k) for c in cases]))
    return out


@rule("stop_gradient")
def _stop_gradient(order, x, **params):
    return [named("stop_gradient").bind(x[0]), *[None] * order]
