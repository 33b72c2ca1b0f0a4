"""Partial evaluation: do now what is known, write down the rest.

In: a computation in which some values are unknown. Out: everything that depends on known values
only, handed to the trace around; and a `Program`, the equations that wait for the unknown ones,
with the known values they need (residuals) standing in them as they are.

    trace = PartialTrace(current)
    x = trace.unknown(aval)             # a variable of the program
    …run with `trace` current…          # trace.eqns: what depends on x
Invariant: an operand of a recorded equation is a `Var` exactly when it is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jitney import _native
from jitney.base import config
from jitney.base.source import user_frame
from jitney.base.weak_memo import WeakMemo
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.interpret import eval_jaxpr
from jitney.core.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    is_literal_value,
    make_literal,
)
from jitney.core.primitive import Primitive
from jitney.core.staging import JaxprTracer, trace_flat
from jitney.core.trace import Trace, Tracer

_swap_trace = _native.swap_trace

# primitive -> rule(trace, args, unknown, params) -> list of results. The rule runs under the
# trace around: it binds what is known and gives `trace.record` what is not.
partial_eval_rules: dict[Primitive, Callable] = {}


def define_partial_eval(primitive: Primitive, rule: Callable) -> None:
    """Attach `rule(trace, args, unknown, params) -> results`, for programs inside equations.

    `args` are known values and tracers of `trace` (where `unknown` is true). Without a rule the
    whole equation waits as soon as one operand is unknown.
    """
    partial_eval_rules[primitive] = rule


class Equation:
    """An application that waits: operands are variables (unknown) or values."""

    __slots__ = ("primitive", "args", "outs", "params", "source")

    def __init__(self, primitive: Primitive, args: list, outs: list[Var], params: dict,
                 source: Any = None):
        self.primitive, self.args, self.outs, self.params = primitive, args, outs, params
        self.source = source                    # known when NaNs are looked for

    def __repr__(self):
        return f"{self.outs} = {self.primitive} {self.args}"


class PartialTracer(Tracer):
    """An unknown value."""

    __slots__ = ("aval", "variable")

    def __init__(self, trace: PartialTrace, variable: Var):
        self._trace, self.variable, self.aval = trace, variable, variable.aval


class PartialTrace(Trace):
    """Records what depends on unknown values; everything else goes to `parent`."""

    __slots__ = ("eqns",)

    def __init__(self, parent: Trace | None):
        super().__init__(parent)
        self.eqns: list[Equation] = []

    def unknown(self, aval: ShapedArray) -> PartialTracer:
        """A new unknown value."""
        return PartialTracer(self, Var(aval))

    def is_unknown(self, x: Any) -> bool:
        return type(x) is PartialTracer and x._trace is self

    def process_primitive(self, primitive: Primitive, args: tuple, params: dict) -> Any:
        for arg in args:
            if type(arg) is PartialTracer and arg._trace is self:
                break
        else:
            before = _swap_trace(self.parent)
            try:
                return primitive.bind(*args, **params)
            finally:
                _swap_trace(before)
        rule = partial_eval_rules.get(primitive)
        if rule is None:
            outs = self.record(primitive, args, params)
        else:
            before = _swap_trace(self.parent)
            try:
                outs = rule(self, list(args), [self.is_unknown(x) for x in args], params)
            finally:
                _swap_trace(before)
        return outs if primitive.multiple_results else outs[0]

    def record(self, primitive: Primitive, args: Sequence, params: dict) -> list[PartialTracer]:
        """The results of an equation that waits."""
        outs = primitive.abstract_eval(*map(get_aval, args), **params)
        outvars = [Var(aval) for aval in (outs if primitive.multiple_results else [outs])]
        place = user_frame() if config.debug_nans.value or config.debug_infs.value else None
        operands = [self.atom(x) for x in args]
        self.eqns.append(Equation(primitive, operands, outvars, params, place))
        return [PartialTracer(self, v) for v in outvars]

    def atom(self, x: Any) -> Any:
        """The variable of an unknown value; a known one itself."""
        return x.variable if type(x) is PartialTracer and x._trace is self else x

    def process_custom_jvp_call(self, fun: Callable, rule: Any, args: list) -> list:
        return self._run(fun, args)

    def process_custom_vjp_call(self, fun: Callable, rule: Any, args: list) -> list:
        return self._run(fun, args)

    def _run(self, fun: Callable, args: list) -> list:
        before = _swap_trace(self)
        try:
            return fun(*args)
        finally:
            _swap_trace(before)


def innermost_known(trace: Trace | None) -> Trace | None:
    """Where values known to `trace` are computed."""
    while type(trace) is PartialTrace:
        trace = trace.parent
    return trace


# --- recorded equations as a jaxpr -----------------------------------------------------------


class _Writer:
    """Turns values in recorded equations into literals, constants and residual inputs."""

    def __init__(self) -> None:
        self.residuals: dict[int, tuple[Var, Any]] = {}
        self.constants: dict[int, tuple[Var, Any]] = {}

    def atom(self, x: Any) -> Any:
        if type(x) is Var:
            return x
        if is_literal_value(x):
            return make_literal(x)
        if type(x) is JaxprTracer and type(x.variable) is Literal:
            return x.variable
        table = self.residuals if isinstance(x, Tracer) else self.constants
        found = table.get(id(x))
        if found is None:
            found = table[id(x)] = (Var(get_aval(x)), x)
        return found[0]


def write_program(eqns: Sequence[Equation], invars: Sequence[Var], outs: Sequence[Any],
                  constants_too: bool = False) -> tuple[ClosedJaxpr, list]:
    """(closed jaxpr of residuals then `invars`, the values of the residuals).

    Residuals are tracers of the traces around; arrays become constants of the jaxpr (or
    residuals, with `constants_too`).
    """
    writer = _Writer()
    if constants_too:
        writer.constants = writer.residuals
    written = [JaxprEqn(e.primitive, [writer.atom(x) for x in e.args], e.outs, e.params)
               for e in eqns]
    outvars = [writer.atom(x) for x in outs]
    constants = [] if constants_too else list(writer.constants.values())
    residuals = list(writer.residuals.values())
    jaxpr = Jaxpr([v for v, _ in constants], [*(v for v, _ in residuals), *invars], outvars,
                  written)
    return ClosedJaxpr(jaxpr, [x for _, x in constants]), [x for _, x in residuals]


# --- partial evaluation of programs ----------------------------------------------------------


class Split(NamedTuple):
    """A program cut in two.

    `known(*known inputs) -> [*known outputs, *residuals]`;
    `waiting(*residuals, *unknown inputs) -> unknown outputs`.
    """

    known: ClosedJaxpr
    waiting: ClosedJaxpr
    unknown_out: tuple[bool, ...]
    residual_avals: tuple[ShapedArray, ...]


_splits: WeakMemo[ClosedJaxpr, dict] = WeakMemo()


def partial_eval_jaxpr(closed: ClosedJaxpr, unknown_in: Sequence[bool],
                       instantiate: bool | Sequence[bool] = False) -> Split:
    """Cut a program in what depends on known inputs only and the rest (see `Split`).

    Outputs named by `instantiate` count as unknown even if they are known.
    """
    count = len(closed.jaxpr.outvars)
    forced = (instantiate,) * count if isinstance(instantiate, bool) else tuple(instantiate)
    key = (tuple(unknown_in), forced)
    memo = _splits.setdefault(closed, {})
    found = memo.get(key)
    if found is None:
        found = memo[key] = _split(closed, *key)
    return found


def _split(closed: ClosedJaxpr, unknown_in: tuple, forced: tuple) -> Split:
    known_avals = [a for a, u in zip(closed.in_avals, unknown_in, strict=True) if not u]
    parts: list = []

    def run(*known):
        trace = PartialTrace(_native.current_trace())
        values = iter(known)
        ins = [trace.unknown(a) if u else next(values)
               for a, u in zip(closed.in_avals, unknown_in)]
        before = _swap_trace(trace)
        try:
            outs = eval_jaxpr(closed.jaxpr, closed.consts, *ins)
        finally:
            _swap_trace(before)
        unknown_out = tuple([f or trace.is_unknown(x) for x, f in zip(outs, forced)])
        invars = [x.variable for x in ins if trace.is_unknown(x)]
        waiting, residuals = write_program(
            trace.eqns, invars, [trace.atom(x) for x, u in zip(outs, unknown_out) if u])
        parts.extend((waiting, unknown_out, tuple(map(get_aval, residuals))))
        trace.close()
        return [x for x, u in zip(outs, unknown_out) if not u] + residuals

    jaxpr, consts = trace_flat(run, known_avals, closed.jaxpr.debug_info)
    waiting, unknown_out, avals = parts
    return Split(ClosedJaxpr(jaxpr, consts), waiting, unknown_out, avals)


# --- residuals that are known otherwise --------------------------------------------------------


class Residuals(NamedTuple):
    """Which residuals a program need not return: inputs of it, or results it returns anyway."""

    known: ClosedJaxpr                  # returns the results, then the residuals left
    sources: tuple[tuple[str, int], ...]  # ("in", i) or ("out", i), one a residual

    def values(self, args: Sequence, outs: Sequence) -> list:
        """All residuals, from the operands and results of `known`."""
        return [args[i] if kind == "in" else outs[i] for kind, i in self.sources]


def forward_residuals(known: ClosedJaxpr, count: int) -> Residuals:
    """`known` gives `count` results and then residuals; return no residual twice."""
    jaxpr = known.jaxpr
    inputs = {v: i for i, v in enumerate(jaxpr.invars)}
    outvars = list(jaxpr.outvars[:count])
    places = {v: i for i, v in enumerate(outvars) if type(v) is not Literal}
    sources = []
    for v in jaxpr.outvars[count:]:
        if type(v) is not Literal and v in inputs:
            sources.append(("in", inputs[v]))
            continue
        place = places.get(v) if type(v) is not Literal else None
        if place is None:
            place = len(outvars)
            outvars.append(v)
            if type(v) is not Literal:
                places[v] = place
        sources.append(("out", place))
    return Residuals(ClosedJaxpr(jaxpr.replace(outvars=outvars), known.consts), tuple(sources))


__all__ = [
    "Equation", "PartialTrace", "PartialTracer", "Residuals", "Split",
    "define_partial_eval", "forward_residuals", "innermost_known", "partial_eval_jaxpr",
    "partial_eval_rules", "write_program",
]
