"""Forward mode: values with tangents (the engine; the rules' table is `jvp_table`).

In: a function on flat values, primals and tangents (symbolic zeros allowed). Out: results and
their tangents. A program becomes the program of primals and tangents (`jvp_jaxpr`).

    outs, out_tangents = jvp_flat(fun, primals, tangents)
Invariant: a value without a tangent is never wrapped; control flow on known primals works.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitney import _native
from jitney.base import dtypes, errors
from jitney.base.weak_memo import WeakMemo
from jitney.core.avals import Array, get_aval, to_array
from jitney.core.interpret import eval_jaxpr
from jitney.core.jaxpr import ClosedJaxpr
from jitney.core.primitive import Primitive
from jitney.core.staging import trace_flat
from jitney.core.trace import Trace, Tracer
from jitney.transforms import custom_rules
from jitney.transforms.jvp_table import (
    Zero,
    add_tangents,
    define_bilinear,
    define_jvp,
    define_jvp_each,
    define_jvp_from_answer,
    define_linear,
    define_zero_jvp,
    instantiate_zeros,
    is_zero,
    jvp_rules,
    zeros_of,
)
from jitney.transforms.partial_eval import PartialTrace, PartialTracer, innermost_known

_swap_trace = _native.swap_trace

# primitive -> rule(trace, primals, tangents, params) -> (outs, out_tangents), used instead of the
# jvp rule when the tangents are unknown: for programs inside equations, cut in two at once.
linearize_rules: dict[Primitive, Callable] = {}


def define_linearize(primitive: Primitive, rule: Callable) -> None:
    """Attach `rule(partial_trace, primals, tangents, params) -> (outs, tangents)` (lists)."""
    linearize_rules[primitive] = rule


class JVPTracer(Tracer):
    """A primal and its tangent."""

    __slots__ = ("aval", "primal", "tangent")

    def __init__(self, trace: JVPTrace, primal: Any, tangent: Any):
        self._trace, self.primal, self.tangent = trace, primal, tangent
        self.aval = get_aval(primal)

    def _concrete(self) -> Any:
        primal = self.primal
        if isinstance(primal, Tracer):
            return primal._concrete()
        return primal if type(primal) is Array else to_array(primal)

    def _origin_text(self) -> str:
        primal = self.primal
        return primal._origin_text() if isinstance(primal, Tracer) else ""

    def _repr_name(self) -> str:
        return "GradTracer" if type(self.tangent) is PartialTracer else "JVPTracer"

    def __repr__(self):
        if type(self.tangent) is PartialTracer:
            return (f"GradTracer(primal={self.primal!r}, "
                    f"typeof(tangent)={self.tangent.aval.str_short(short_dtypes=True)})")
        return f"JVPTracer(primal={self.primal!r}, tangent={self.tangent!r})"

    # A number taken out of a differentiated value would silently carry no derivative.

    def _python_number(self, kind: type) -> Any:
        raise errors.ConcretizationTypeError(
            self, f"The problem arose with the `{kind.__name__}` function: to change the dtype of "
            f"an array write x.astype({kind.__name__}) instead.")

    def __array__(self, *args: Any, **kwargs: Any):
        raise errors.TracerArrayConversionError(self)

    def tolist(self):
        raise errors.ConcretizationTypeError(self, "The problem arose with the tolist() method.")


class JVPTrace(Trace):
    """Pushes tangents forward; both primals and tangents are computed under `parent`.

    With a `PartialTrace` as parent whose unknown values are the tangents, this is linearization.
    """

    __slots__ = ("primal_trace",)

    def __init__(self, parent: Trace | None):
        super().__init__(parent)
        self.primal_trace = innermost_known(parent)

    def split(self, x: Any) -> tuple[Any, Any]:
        """(primal, tangent) of any value."""
        if type(x) is JVPTracer and x._trace is self:
            return x.primal, x.tangent
        return x, Zero(get_aval(x).to_tangent_aval())

    def join(self, primal: Any, tangent: Any) -> Any:
        """A value with its tangent."""
        if type(tangent) is Zero or get_aval(tangent).dtype == dtypes.float0:
            return primal
        return JVPTracer(self, primal, tangent)

    def process_primitive(self, primitive: Primitive, args: tuple, params: dict) -> Any:
        primals, tangents, flowing = [], [], False
        for x in args:
            if type(x) is JVPTracer and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                flowing = True
            else:
                primals.append(x)
                tangents.append(None)
        if not flowing:
            before = _swap_trace(self.primal_trace)
            try:
                return primitive.bind(*primals, **params)
            finally:
                _swap_trace(before)
        call = custom_rules.CALLS.get(primitive)
        if call is not None:
            return call(self, args, **params)
        for i, t in enumerate(tangents):
            if t is None:
                tangents[i] = Zero(get_aval(primals[i]).to_tangent_aval())
        before = _swap_trace(self.parent)
        try:
            out, tangent = self._apply_rule(primitive, primals, tangents, params)
        finally:
            _swap_trace(before)
        if primitive.multiple_results:
            return [self.join(x, t) for x, t in zip(out, tangent)]
        return self.join(out, tangent)

    def _apply_rule(self, primitive: Primitive, primals: list, tangents: list,
                    params: dict) -> tuple:
        if type(self.parent) is PartialTrace:
            rule = linearize_rules.get(primitive)
            if rule is not None:
                return rule(self.parent, primals, tangents, params)
        rule = jvp_rules.get(primitive)
        if rule is None:
            raise NotImplementedError(
                f"Differentiation rule for '{primitive}' not implemented")
        return rule(primals, tangents, **params)

    # --- functions with rules of their own

    def _split_all(self, args: Sequence) -> tuple[list, list, bool]:
        pairs = [self.split(x) for x in args]
        primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
        return primals, tangents, any(type(t) is not Zero for t in tangents)

    def process_custom_jvp_call(self, fun: Callable, rule: Any, args: list) -> list:
        primals, tangents, flowing = self._split_all(args)
        before = _swap_trace(self.parent if flowing else self.primal_trace)
        try:
            if not flowing:
                return custom_rules.apply_custom_jvp(fun, rule, primals)
            outs, out_tangents = rule(primals, tangents)
        finally:
            _swap_trace(before)
        return [self.join(x, t) for x, t in zip(outs, out_tangents)]

    def process_custom_vjp_call(self, fun: Callable, rule: Any, args: list) -> list:
        primals, tangents, flowing = self._split_all(args)
        before = _swap_trace(self.parent if flowing else self.primal_trace)
        try:
            if not flowing:
                return custom_rules.apply_custom_vjp(fun, rule, primals)
            outs, residuals, structure = rule.forward(
                primals, [type(t) is not Zero for t in tangents])
            avals = tuple([get_aval(x).to_tangent_aval() for x in outs])
            tangents = [instantiate_zeros(t) for t in tangents]
            if self.parent is None:
                raise TypeError(custom_rules.NO_FORWARD_MODE)
            out_tangents = custom_rules.custom_lin_p.bind(
                *residuals, *tangents, num_res=len(residuals), rule=rule, structure=structure,
                out_avals=avals)
        finally:
            _swap_trace(before)
        return [self.join(x, t) for x, t in zip(outs, out_tangents)]


# --- functions -----------------------------------------------------------------------------


def run_with_tangents(trace: JVPTrace, fun: Callable, primals: Sequence,
                      tangents: Sequence) -> tuple[list, list]:
    """`fun(*primals) -> list` under `trace`: results and tangents (symbolic zeros possible)."""
    ins = [trace.join(x, t) for x, t in zip(primals, tangents, strict=True)]
    before = _swap_trace(trace)
    try:
        outs = fun(*ins)
    finally:
        _swap_trace(before)
    pairs = [trace.split(x) for x in outs]
    return [p for p, _ in pairs], [t for _, t in pairs]


def jvp_flat(fun: Callable, primals: Sequence, tangents: Sequence) -> tuple[list, list]:
    """Results of `fun` and their tangents, under the current trace."""
    trace = JVPTrace(_native.current_trace())
    try:
        return run_with_tangents(trace, fun, primals, tangents)
    finally:
        trace.close()


# --- programs --------------------------------------------------------------------------------

_jvp_programs: WeakMemo[ClosedJaxpr, dict] = WeakMemo()


def jvp_jaxpr(closed: ClosedJaxpr, nonzero_in: Sequence[bool],
              instantiate: bool | Sequence[bool] = False) -> tuple[ClosedJaxpr, list[bool]]:
    """(program of all inputs and the nonzero tangents -> all outputs and nonzero tangents,
    which output tangents are nonzero). Tangents named by `instantiate` are always given."""
    count = len(closed.jaxpr.outvars)
    forced = (instantiate,) * count if isinstance(instantiate, bool) else tuple(instantiate)
    key = (tuple(nonzero_in), forced)
    memo = _jvp_programs.setdefault(closed, {})
    found = memo.get(key)
    if found is None:
        found = memo[key] = _jvp_program(closed, *key)
    return found[0], list(found[1])


def _jvp_program(closed: ClosedJaxpr, nonzero_in: tuple, forced: tuple) -> tuple:
    tangent_avals = [a.to_tangent_aval() for a in closed.in_avals]
    flowing = [a for a, nonzero in zip(tangent_avals, nonzero_in, strict=True) if nonzero]
    count = len(nonzero_in)
    nonzero_out: list[bool] = []

    def run(*ins):
        given = iter(ins[count:])
        tangents = [next(given) if nonzero else Zero(a)
                    for a, nonzero in zip(tangent_avals, nonzero_in)]
        outs, out_tangents = jvp_flat(
            lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), ins[:count], tangents)
        nonzero_out[:] = [f or type(t) is not Zero for t, f in zip(out_tangents, forced)]
        return outs + [instantiate_zeros(t) for t, nz in zip(out_tangents, nonzero_out) if nz]

    jaxpr, consts = trace_flat(run, [*closed.in_avals, *flowing], closed.jaxpr.debug_info)
    return ClosedJaxpr(jaxpr, consts), nonzero_out


__all__ = [
    "JVPTrace", "JVPTracer", "Zero", "add_tangents", "define_bilinear", "define_jvp",
    "define_jvp_each", "define_jvp_from_answer", "define_linear", "define_linearize",
    "define_zero_jvp", "instantiate_zeros", "is_zero", "jvp_flat", "jvp_jaxpr", "jvp_rules",
    "linearize_rules", "run_with_tangents", "zeros_of",
]
