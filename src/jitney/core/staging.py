"""Python function -> jaxpr: run it once on tracers that write down what is done to them.

In: a function of flat arguments, and the avals of these. Out: a `Jaxpr` and the values of its
constants (arrays and outer tracers the function closed over, in order of first use).
Everything done while the trace is current is recorded, also on constants; Python side effects
happen once, here.

    jaxpr, consts = trace_flat(lambda x: [sin_p.bind(x)], [aval], DebugInfo("jit", f))
Invariant: no tracer of the trace survives in the result.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney import _native
from jitney.base import collector, config, debug, errors, source
from jitney.core import avals as avals_module
from jitney.core.avals import ShapedArray
from jitney.core.jaxpr import (
    NO_EFFECTS,
    DebugInfo,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    is_literal_value,
    jaxprs_in_params,
    make_literal,
)
from jitney.core.primitive import Primitive
from jitney.core.trace import Trace, Tracer, leak_text

_user_frame = source.user_frame
_swap_trace = _native.swap_trace


class JaxprTracer(Tracer):
    """A value of the program being written: a variable and its aval."""

    __slots__ = ("aval", "variable")

    def __init__(self, trace: JaxprTrace, var: Any):
        self._trace, self.variable, self.aval = trace, var, var.aval

    def _repr_name(self) -> str:
        return "JitTracer"

    def _origin_text(self) -> str:
        return origin_text(self)


class JaxprTrace(Trace):
    """Writes equations down."""

    __slots__ = ("eqns", "invars", "constants", "bodies")
    staging = True

    def __init__(self, debug_info: DebugInfo | None = None, parent: Trace | None = None):
        super().__init__(parent, debug_info)
        self.eqns: list[JaxprEqn] = []
        self.invars: list[Var] = []
        self.constants: dict[int, tuple[Var, Any]] = {}     # id(value) -> variable, value
        self.bodies: dict | None = None                     # see `trace_body`

    def process_primitive(self, primitive: Primitive, args: tuple, params: dict) -> Any:
        invars: list[Any] = []
        in_avals: list[ShapedArray] = []
        atom: Any
        for arg in args:
            if type(arg) is JaxprTracer and arg._trace is self:
                atom = arg.variable
            else:
                atom = self.atom(arg)
            invars.append(atom)
            in_avals.append(atom.aval)
        outs = primitive.abstract_eval(*in_avals, **params)
        if primitive.multiple_results:
            outvars = [Var(aval) for aval in outs]
            effects = effects_of_application(primitive, in_avals, params)
            self.eqns.append(JaxprEqn(primitive, invars, outvars, params, _user_frame(), effects))
            return [JaxprTracer(self, var) for var in outvars]
        var = Var(outs)
        effects = NO_EFFECTS
        if primitive.effects_rule is not None:
            effects = primitive.effects(tuple(in_avals), params)
        self.eqns.append(JaxprEqn(primitive, invars, [var], params, _user_frame(), effects))
        return JaxprTracer(self, var)

    def new_input(self, aval: ShapedArray) -> JaxprTracer:
        var = Var(aval)
        self.invars.append(var)
        return JaxprTracer(self, var)

    def atom(self, x: Any) -> Var | Literal:
        """The variable or literal by which the program refers to `x`."""
        if type(x) is JaxprTracer and x._trace is self:
            return x.variable
        if is_literal_value(x):
            return make_literal(x)
        if isinstance(x, Tracer) and x._trace.closed:
            raise errors.UnexpectedTracerError(leak_text(x, "use it in another traced function"))
        found = self.constants.get(id(x))
        if found is None:
            found = self.constants[id(x)] = (Var(avals_module.get_aval(x)), x)
        return found[0]

    def constant(self, x: Any) -> JaxprTracer:
        """A concrete value as a tracer of this trace: scalars are literals, arrays constants."""
        aval = avals_module.get_aval(x)
        if aval.shape or not isinstance(aval.dtype, np.dtype):
            return JaxprTracer(self, self.atom(x))
        value = avals_module.numpy_value(x)[()]
        return JaxprTracer(self, Literal(value.item() if aval.weak_type else value, aval))

    def finish(self, outs: Sequence[Any]) -> tuple[Jaxpr, list]:
        """Close the trace: the jaxpr and the values of its constants."""
        outvars = [self.atom(x) for x in outs]
        constvars = [var for var, _ in self.constants.values()]
        consts = [value for _, value in self.constants.values()]
        _drop_unused(self.eqns, outvars)
        jaxpr = Jaxpr(constvars, self.invars, outvars, self.eqns, None, self.debug_info)
        self.close()
        return jaxpr, consts


def traced_constant(x: Any) -> Any:
    """A value made while a function is traced (`jnp.array(2.0)`): a tracer under a staging trace,
    as in JAX, so that a scalar is written in place; otherwise `x` itself."""
    trace = _native.current_trace()
    return trace.constant(x) if type(trace) is JaxprTrace and not isinstance(x, Tracer) else x


def effects_of_application(primitive: Primitive, in_avals: Sequence[ShapedArray],
                           params: dict) -> frozenset:
    """What applying a primitive does besides computing: by its rule, or those of its programs."""
    if primitive.effects_rule is not None:
        return primitive.effects(tuple(in_avals), params)
    effects = NO_EFFECTS
    for inner in jaxprs_in_params(params):
        if inner.effects:
            effects = effects | inner.effects
    return effects


def _drop_unused(eqns: list[JaxprEqn], outvars: list) -> None:
    """Results nobody reads become DropVars."""
    used = set(outvars)
    for eqn in eqns:
        used.update(eqn.invars)
    for eqn in eqns:
        for var in eqn.outvars:
            if var not in used:
                eqn.outvars = [v if v in used else DropVar(v.aval, True) for v in eqn.outvars]
                break


def trace_flat(fun: Callable, in_avals: Sequence[ShapedArray],
               debug_info: DebugInfo | None = None) -> tuple[Jaxpr, list]:
    """Run `fun(*tracers) -> list of values` once; give the jaxpr and its constants' values."""
    if config.no_tracing.value:
        raise RuntimeError(f"tracing {debug_info} while jax_no_tracing is set")
    debug.count("traces")
    before = _native.current_trace()
    trace = JaxprTrace(debug_info, before)
    if before is None:
        collector.begin_tracing()
    _swap_trace(trace)
    try:
        outs = fun(*[trace.new_input(aval) for aval in in_avals])
        _check_outputs(outs, debug_info)
    except BaseException:
        trace.close()
        raise
    finally:
        _swap_trace(before)
        if before is None:
            collector.end_tracing()
    jaxpr, consts = trace.finish(outs)
    if config.check_tracer_leaks.value:
        reference = weakref.ref(trace)
        del trace, outs
        _check_leak(reference, debug_info)
    return jaxpr, consts


def _check_outputs(outs: Sequence[Any], debug_info: DebugInfo | None) -> None:
    for position, out in enumerate(outs):
        if not avals_module.valid_array_type(out):
            what = debug_info.function_location() if debug_info else "the traced function"
            shown = f"{out!r} of type {type(out)}"
            paths = debug_info.result_paths if debug_info else None
            where = f" at {paths[position]}" if paths else f" (flat result {position})"
            raise TypeError(
                f"The function {what} returned a value that is not an array or a scalar, and so "
                f"cannot be the result of a traced function{where}: {shown}")


def _check_leak(reference: weakref.ref, debug_info: DebugInfo | None) -> None:
    gc.collect()
    trace = reference()
    if trace is None:
        return
    holders = [type(h).__name__ for t in gc.get_referrers(trace) if isinstance(t, Tracer)
               for h in gc.get_referrers(t) if type(h).__name__ not in ("list_iterator", "frame")]
    what = debug_info.function_location() if debug_info else "a function"
    raise Exception(f"Leaked trace: tracers made while tracing {what} are still referenced after "
                    f"it returned, by objects of types {sorted(set(holders))}.")


# --- programs of programs (bodies of loops, branches, jit inside jit) --------------------------

def trace_body(fun: Callable, in_avals: Sequence[ShapedArray], debug_info: DebugInfo | None = None,
               key: Any = None) -> tuple[Jaxpr, list]:
    """Like `trace_flat`, remembering the result while the present trace lasts.

    `key` must identify the function (the function object the user wrote, its input tree…), so
    that a body used twice in a program is one jaxpr. The memory belongs to the current trace,
    since a body may close over its tracers; outside any trace nothing is remembered.
    """
    trace = _native.current_trace()
    if key is None or type(trace) is not JaxprTrace:
        return trace_flat(fun, in_avals, debug_info)
    memo = trace.bodies
    if memo is None:
        memo = trace.bodies = {}
    try:
        full = (key, tuple(in_avals), config.config_id())
        found = memo.get(full)
    except TypeError:
        return trace_flat(fun, in_avals, debug_info)
    if found is None:
        found = memo[full] = trace_flat(fun, in_avals, debug_info)
    return found


# --- where a traced value came from ------------------------------------------------------------


def origin_text(tracer: JaxprTracer) -> str:
    """Which function was traced, the chain of equations, and the arguments behind the value."""
    trace = tracer._trace
    info: DebugInfo | None = trace.debug_info
    chain, inputs, constants = _history(trace, tracer.variable)
    lines = []
    if info is not None:
        lines.append(f"The error occurred while tracing the function {info.function_location()} "
                     f"for {info.traced_for}.")
    names = _argument_names(trace, inputs)
    if names:
        lines.append(f"This value depends on the value of {names}.")
    elif constants:
        lines.append("This value depends on values the function closed over: "
                     + ", ".join(c.str_short() for c in constants) + ".")
    elif chain:
        lines.append("This value was computed from constants, under the trace.")
    for eqn in chain[-4:]:
        lines.append(f"  computed by {eqn.primitive.name} at {eqn.source_summary()}"
                     + _quoted(eqn))
    return "\n".join(lines)


def _quoted(eqn: JaxprEqn) -> str:
    text = source.source_line(eqn.source)
    return f": {text}" if text else ""


def _history(trace: JaxprTrace, var: Var) -> tuple[list[JaxprEqn], list[int], list[ShapedArray]]:
    """Equations that lead to `var`, positions of the inputs, and constants they start from."""
    wanted, chain = {var}, []
    for eqn in reversed(trace.eqns):
        if any(out in wanted for out in eqn.outvars):
            chain.append(eqn)
            wanted.update(v for v in eqn.invars if type(v) is not Literal)
    inputs = [i for i, v in enumerate(trace.invars) if v in wanted]
    constants = [v.aval for v, _ in trace.constants.values() if v in wanted]
    return chain[::-1], inputs, constants


def _argument_names(trace: JaxprTrace, inputs: list[int]) -> str:
    names = trace.debug_info.arg_names if trace.debug_info is not None else None
    if not inputs or not names:
        return ""
    found = [names[i] for i in inputs if i < len(names)]
    if len(found) == 1:
        return f"the argument {found[0]}"
    shown = found if len(found) <= 6 else [*found[:6], f"{len(found) - 6} more"]
    return " and ".join(f"the argument {name}" for name in shown[:2]) if len(shown) == 2 else \
        "the arguments " + ", ".join(shown)
