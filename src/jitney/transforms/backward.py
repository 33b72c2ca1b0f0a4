"""The backward pass: linear equations applied transposed, last one first.

In: linear equations, their outputs and cotangents of these. Out: cotangents of the inputs.
A program becomes its transposed program (`transpose_jaxpr`).
Invariant: every variable's cotangent is summed before the equation that made it is transposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitney import _native
from jitney.base import config
from jitney.base.source import summarize
from jitney.base.weak_memo import WeakMemo
from jitney.core.interpret import literal_value
from jitney.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var
from jitney.core.primitive import Primitive
from jitney.core.staging import trace_flat
from jitney.transforms.jvp_table import Zero, add_tangents, instantiate_zeros
from jitney.transforms.partial_eval import Equation
from jitney.transforms.transpose import UndefinedPrimal, transpose_rules


def transpose_rule(primitive: Primitive):
    rule = transpose_rules.get(primitive)
    if rule is None:
        raise NotImplementedError(f"Transpose rule (for reverse-mode differentiation) for "
                                  f"'{primitive}' not implemented")
    return rule


def backward(eqns: Sequence[Equation], outs: Sequence, cts: Sequence,
             invars: Sequence[Var]) -> list:
    """Cotangents of `invars` (symbolic Zero where none flows)."""
    found: dict[Var, Any] = {}
    for out, ct in zip(outs, cts, strict=True):
        _accumulate(found, out, ct)
    for eqn in reversed(eqns):
        arriving = [found.pop(v, None) for v in eqn.outs]
        if all(ct is None for ct in arriving):
            continue
        arriving = [Zero(v.aval) if ct is None else ct for v, ct in zip(eqn.outs, arriving)]
        operands = [UndefinedPrimal(x.aval) if type(x) is Var else x for x in eqn.args]
        rule = transpose_rule(eqn.primitive)
        given = arriving if eqn.primitive.multiple_results else arriving[0]
        leaving = rule(given, *operands, **eqn.params) if eqn.source is None else \
            _with_place(eqn, rule, given, operands)
        for x, ct in zip(eqn.args, leaving):
            _accumulate(found, x, ct)
    return [found[v] if v in found else Zero(v.aval) for v in invars]


def _with_place(eqn: Equation, rule: Callable, given: Any, operands: list) -> list:
    """Apply a rule where NaNs are looked for: whatever it does is at the line of the forward
    operation."""
    trace = _native.current_trace()
    staged = getattr(trace, "eqns", None) if trace is not None and trace.staging else None
    before = 0 if staged is None else len(staged)
    try:
        leaving = rule(given, *operands, **eqn.params)
    except FloatingPointError as error:
        if "backward pass" in str(error):
            raise
        first, *rest = str(error).split("\n")
        first += f", in the backward pass of {summarize(eqn.source)}"
        raise FloatingPointError("\n".join([first, *rest])) from None
    for new in () if staged is None else staged[before:]:
        new.source = eqn.source
    return leaving


def _accumulate(found: dict, x: Any, ct: Any) -> None:
    if type(x) is not Var or ct is None or type(ct) is Zero:
        return
    before = found.get(x)
    found[x] = ct if before is None else add_tangents(before, ct)


# --- programs --------------------------------------------------------------------------------

_transposed: WeakMemo[ClosedJaxpr, dict] = WeakMemo()


def transpose_jaxpr(closed: ClosedJaxpr, linear_in: Sequence[bool], nonzero_ct: Sequence[bool],
                    instantiate: bool = False) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """The transposed program: `(*other inputs, *nonzero cotangents) -> nonzero cotangents of the
    linear inputs`, and which of these are nonzero (all of them with `instantiate`)."""
    key = (tuple(linear_in), tuple(nonzero_ct), instantiate)
    memo = _transposed.setdefault(closed, {})
    found = memo.get(key)
    if found is None:
        found = memo[key] = _transpose(closed, *key)
    return found


def _transpose(closed: ClosedJaxpr, linear_in: tuple, nonzero_ct: tuple,
               instantiate: bool) -> tuple:
    jaxpr = closed.jaxpr
    other = [a for a, linear in zip(closed.in_avals, linear_in, strict=True) if not linear]
    ct_avals = [a.to_tangent_aval() for a, nz in zip(closed.out_avals, nonzero_ct, strict=True)
                if nz]
    nonzero_out: list[bool] = []

    def run(*ins):
        values, arriving = ins[:len(other)], iter(ins[len(other):])
        eqns, outs, invars = _cut(closed, linear_in, values)
        cts = [next(arriving) if nz else Zero(v.aval)
               for v, nz in zip(jaxpr.outvars, nonzero_ct)]
        found = backward(eqns, outs, cts, invars)
        if instantiate:
            found = [instantiate_zeros(ct) for ct in found]
        nonzero_out[:] = [type(ct) is not Zero for ct in found]
        return [ct for ct in found if type(ct) is not Zero]

    new, consts = trace_flat(run, [*other, *ct_avals], None)
    return ClosedJaxpr(new, consts), tuple(nonzero_out)


def _cut(closed: ClosedJaxpr, linear_in: Sequence[bool],
         values: Sequence) -> tuple[list[Equation], list, list[Var]]:
    """Run what does not depend on linear inputs; give the rest as equations."""
    jaxpr = closed.jaxpr
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    given = iter(values)
    for v, linear in zip(jaxpr.invars, linear_in):
        env[v] = v if linear else next(given)

    def read(atom):
        return literal_value(atom) if type(atom) is Literal else env[atom]

    eqns: list[Equation] = []
    for eqn in jaxpr.eqns:
        args = [read(x) for x in eqn.invars]
        if any(type(x) is Var for x in args):
            eqns.append(_waiting(eqn, args))
            env.update(zip(eqn.outvars, eqn.outvars))
            continue
        out = eqn.primitive.bind(*args, **eqn.params)
        env.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]))
    linear = [v for v, is_linear in zip(jaxpr.invars, linear_in) if is_linear]
    return eqns, [read(v) for v in jaxpr.outvars], linear


def _waiting(eqn: JaxprEqn, args: list) -> Equation:
    searching = config.debug_nans.value or config.debug_infs.value
    return Equation(eqn.primitive, args, list(eqn.outvars), eqn.params,
                    eqn.source if searching else None)
