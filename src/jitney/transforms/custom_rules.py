"""Functions with derivative rules of their own, as interpretations meet them.

In: a function on flat lists and its rule object. Out: what the present trace makes of it: the
function's values, a `custom_jvp_call` (`custom_vjp_call`) equation, or what the trace's
`process_custom_jvp_call` (`…_vjp_call`) says.

A jvp rule is `rule(primals, tangents) -> (outs, out_tangents)`, tangents may be symbolic zeros;
a vjp rule has `forward(primals, perturbed) -> (outs, residuals, structure)` and
`backward(structure, residuals, cotangents) -> flat cotangents`. Both know `debug_info()`.
Invariant: rules are Python functions, run under the trace that differentiates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitney import _native
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.calls import custom_jvp_call_p, custom_vjp_call_p
from jitney.core.interpret import eval_closed
from jitney.core.jaxpr import ClosedJaxpr, convert_constvars
from jitney.core.primitive import Primitive
from jitney.core.staging import trace_flat
from jitney.core.trace import Trace, Tracer, set_current_trace
from jitney.transforms.jvp_table import Zero, instantiate_zeros
from jitney.transforms.transpose import define_transpose, is_undefined_primal

NO_FORWARD_MODE = "can't apply forward-mode autodiff (jvp) to a custom_vjp function."


# --- application -------------------------------------------------------------------------------


def apply_custom_jvp(fun: Callable, rule: Any, args: Sequence) -> list:
    """`fun(*args)` under the current trace; `rule` for whoever differentiates."""
    return _apply(fun, rule, list(args), "process_custom_jvp_call", _stage_jvp)


def apply_custom_vjp(fun: Callable, rule: Any, args: Sequence) -> list:
    """Likewise with forward and backward rules."""
    return _apply(fun, rule, list(args), "process_custom_vjp_call", _stage_vjp)


def _apply(fun: Callable, rule: Any, args: list, method: str, stage: Callable) -> list:
    trace = _native.current_trace()
    if trace is None:
        trace = _trace_of(args)
        if trace is None:
            return fun(*args)
    if trace.staging:
        return stage(fun, rule, args)
    with set_current_trace(trace):
        return getattr(trace, method)(fun, rule, args)


def _trace_of(args: list) -> Trace | None:
    for arg in args:
        if isinstance(arg, Tracer):
            return arg._trace_for_binding(custom_jvp_call_p)
    return None


def _program(fun: Callable, rule: Any, args: list) -> tuple[ClosedJaxpr, list]:
    jaxpr, consts = trace_flat(fun, [get_aval(x) for x in args], rule.debug_info())
    return ClosedJaxpr(convert_constvars(jaxpr)), consts


def _stage_jvp(fun: Callable, rule: Any, args: list) -> list:
    closed, consts = _program(fun, rule, args)
    return custom_jvp_call_p.bind(
        *consts, *args, call_jaxpr=closed, jvp_jaxpr_fun=rule, num_consts=len(consts),
        symbolic_zeros=rule.symbolic_zeros)


def _stage_vjp(fun: Callable, rule: Any, args: list) -> list:
    closed, consts = _program(fun, rule, args)
    return custom_vjp_call_p.bind(
        *consts, *args, call_jaxpr=closed, fwd_jaxpr_thunk=rule, bwd=rule,
        num_consts=len(consts), out_trees=rule.out_trees, symbolic_zeros=rule.symbolic_zeros)


# --- equations back to calls -------------------------------------------------------------------


class _OfEquation:
    """A rule whose function got the values it closed over as first operands."""

    def __init__(self, rule: Any, count: int):
        self.rule, self.count = rule, count

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rule, name)

    def __call__(self, primals: Sequence, tangents: Sequence) -> tuple:
        return self.rule(primals[self.count:], tangents[self.count:])

    def forward(self, primals: Sequence, perturbed: Sequence[bool]) -> tuple:
        return self.rule.forward(primals[self.count:], perturbed[self.count:])

    def backward(self, structure: Any, residuals: Sequence, cotangents: Sequence) -> list:
        return [None] * self.count + self.rule.backward(structure, residuals, cotangents)


def _reapply_jvp(trace: Trace, args: tuple, *, call_jaxpr, jvp_jaxpr_fun, num_consts, **_) -> list:
    rule = _OfEquation(jvp_jaxpr_fun, num_consts) if num_consts else jvp_jaxpr_fun
    return trace.process_custom_jvp_call(_runner(call_jaxpr), rule, list(args))


def _reapply_vjp(trace: Trace, args: tuple, *, call_jaxpr, bwd, num_consts, **_) -> list:
    rule = _OfEquation(bwd, num_consts) if num_consts else bwd
    return trace.process_custom_vjp_call(_runner(call_jaxpr), rule, list(args))


def _runner(closed: ClosedJaxpr) -> Callable:
    return lambda *args: eval_closed(closed, *args)


# What a trace that differentiates or batches does with these equations: `(trace, args, **params)`.
CALLS: dict[Primitive, Callable] = {
    custom_jvp_call_p: _reapply_jvp,
    custom_vjp_call_p: _reapply_vjp,
}


# --- the linear map of a custom_vjp function ---------------------------------------------------
# Only its transpose is known: the user's backward rule.

custom_lin_p = Primitive("custom_lin", multiple_results=True)


@custom_lin_p.def_abstract
def _custom_lin_type(*operands: Any, num_res: int, rule: Any, structure: Any,
                     out_avals: tuple[ShapedArray, ...]) -> list:
    return list(out_avals)


@custom_lin_p.def_reference
def _custom_lin_reference(*operands: Any, **params: Any) -> list:
    raise TypeError(NO_FORWARD_MODE)


@custom_lin_p.def_print
def _custom_lin_shown(params: dict, eqn: Any) -> dict:
    return {"num_res": params["num_res"], "bwd": params["rule"].bwd_name}


def _custom_lin_transpose(cts, *operands, num_res, rule, structure, out_avals):
    residuals, linear = operands[:num_res], operands[num_res:]
    if not rule.symbolic_zeros:
        cts = [instantiate_zeros(ct) for ct in cts]
    found = rule.backward(structure, residuals, cts)
    if len(found) != len(linear):
        raise TypeError(f"the backward rule {rule.bwd_name} gave {len(found)} cotangents for "
                        f"{len(linear)} operands")
    return [None] * num_res + [
        (Zero(x.aval) if ct is None or type(ct) is Zero else ct) if is_undefined_primal(x) else None
        for x, ct in zip(linear, found)]


define_transpose(custom_lin_p, _custom_lin_transpose)
