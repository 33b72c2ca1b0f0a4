"""Linearization and reverse mode: jvp with the tangents unknown.

In: a function on flat values and its primals. Out: the results, and a `Linear` map from tangents
to result tangents: the equations that wait, with residuals in them as values. It is applied
forwards by running it, backwards by `backward`.

    outs, linear = linearize_flat(fun, primals, flowing)
    cotangents = linear.transpose(cts)
Invariant: work and memory are linear in the number of equations of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jitney import _native
from jitney.base.weak_memo import WeakMemo
from jitney.core.avals import get_aval
from jitney.core.interpret import eval_jaxpr
from jitney.core.jaxpr import ClosedJaxpr, Var
from jitney.core.staging import trace_flat
from jitney.transforms.backward import backward
from jitney.transforms.jvp import JVPTrace, Zero, run_with_tangents
from jitney.transforms.partial_eval import (
    Equation,
    PartialTrace,
    Residuals,
    forward_residuals,
    write_program,
)


class Linear:
    """A linear map as equations; `outs` are variables, symbolic zeros, or known tangents."""

    __slots__ = ("invars", "eqns", "outs")

    def __init__(self, invars: list[Var | None], eqns: list[Equation], outs: list):
        self.invars, self.eqns, self.outs = invars, eqns, outs

    def transpose(self, cts: Sequence) -> list:
        """Cotangents of the inputs (None where nothing flows in, symbolic zeros possible)."""
        found = backward(self.eqns, self.outs, cts, [v for v in self.invars if v is not None])
        given = iter(found)
        return [None if v is None else next(given) for v in self.invars]

    def apply(self, tangents: Sequence) -> list:
        """Result tangents (symbolic zeros possible) of tangents; those of None are ignored."""
        env = {v: t for v, t in zip(self.invars, tangents, strict=True) if v is not None}

        def read(x):
            return env[x] if type(x) is Var else x

        for eqn in self.eqns:
            out = eqn.primitive.bind(*map(read, eqn.args), **eqn.params)
            env.update(zip(eqn.outs, out if eqn.primitive.multiple_results else [out]))
        return [read(x) for x in self.outs]


def linearize_flat(fun: Callable, primals: Sequence,
                   flowing: Sequence[bool]) -> tuple[list, Linear]:
    """Results of `fun`, and the derivative at `primals` in the inputs named by `flowing`."""
    partial = PartialTrace(_native.current_trace())
    trace = JVPTrace(partial)
    tangents: list[Any] = []
    for x, flows in zip(primals, flowing, strict=True):
        aval = get_aval(x).to_tangent_aval()
        tangents.append(partial.unknown(aval) if flows else Zero(aval))
    try:
        outs, out_tangents = run_with_tangents(trace, fun, primals, tangents)
    finally:
        trace.close()
        partial.close()
    invars = [partial.atom(t) if flows else None for t, flows in zip(tangents, flowing)]
    return outs, Linear(invars, partial.eqns, [partial.atom(t) for t in out_tangents])


# --- programs --------------------------------------------------------------------------------


class LinearizedProgram(NamedTuple):
    """`first(*inputs) -> [*outputs, *residuals]`; `then(*residuals, *tangents) -> tangents`."""

    first: Residuals
    then: ClosedJaxpr
    nonzero_out: tuple[bool, ...]


_linearized: WeakMemo[ClosedJaxpr, dict] = WeakMemo()


def linearize_jaxpr(closed: ClosedJaxpr, nonzero_in: Sequence[bool]) -> LinearizedProgram:
    """The program of outputs and residuals, and the linear program of the nonzero tangents."""
    key = tuple(nonzero_in)
    memo = _linearized.setdefault(closed, {})
    found = memo.get(key)
    if found is None:
        found = memo[key] = _linearize(closed, key)
    return found


def _linearize(closed: ClosedJaxpr, nonzero_in: tuple) -> LinearizedProgram:
    parts: list = []

    def run(*ins):
        outs, linear = linearize_flat(
            lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), ins, nonzero_in)
        nonzero_out = tuple([type(t) is not Zero for t in linear.outs])
        then, residuals = write_program(
            linear.eqns, [v for v in linear.invars if v is not None],
            [t for t in linear.outs if type(t) is not Zero])
        parts.extend((then, nonzero_out))
        return outs + residuals

    jaxpr, consts = trace_flat(run, closed.in_avals, closed.jaxpr.debug_info)
    then, nonzero_out = parts
    first = forward_residuals(ClosedJaxpr(jaxpr, consts), len(closed.jaxpr.outvars))
    return LinearizedProgram(first, then, nonzero_out)
