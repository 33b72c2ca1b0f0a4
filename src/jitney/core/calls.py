"""The primitive of a program inside a program: `jit`.

`jit_p.bind(*args, jaxpr=closed_jaxpr, name=…, donated_invars=…, keep_unused=…, inline=…)`.
Its type, meaning and dead-code rule follow from the program it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitney.base.weak_memo import WeakMemo
from jitney.core import interpret
from jitney.core.dce import dce_jaxpr, define_dce, prune_constants
from jitney.core.jaxpr import ClosedJaxpr, JaxprEqn
from jitney.core.primitive import Primitive

jit_p = Primitive("jit", multiple_results=True)


@jit_p.def_abstract
def _jit_type(*avals: Any, jaxpr: ClosedJaxpr, **params: Any) -> list:
    if len(avals) != len(jaxpr.jaxpr.invars):
        raise TypeError(f"jit takes {len(jaxpr.jaxpr.invars)} operands, got {len(avals)}")
    return jaxpr.out_avals


@jit_p.def_reference
def _jit_reference(*args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list:
    return interpret.reference_of_closed(jaxpr, *args)


@jit_p.def_print
def _shown(params: dict, eqn: JaxprEqn) -> dict:
    shown = {"name": params["name"], "jaxpr": params["jaxpr"]}
    if any(params["donated_invars"]):
        shown["donated_invars"] = params["donated_invars"]
    for flag in ("keep_unused", "inline"):
        if params[flag]:
            shown[flag] = params[flag]
    return shown


def bind_jit(closed: ClosedJaxpr, args: Sequence[Any], name: str, *,
             donated: Sequence[bool] | None = None, keep_unused: bool = False,
             inline: bool = False) -> list:
    """Apply a closed program as one equation."""
    donated = (False,) * len(args) if donated is None else tuple(donated)
    return jit_p.bind(*args, jaxpr=closed, name=name, donated_invars=donated,
                      keep_unused=keep_unused, inline=inline)


# closed jaxpr -> {(wanted outputs, keep unused inputs): (used inputs, smaller closed jaxpr)}, so
# that programs shared by several equations stay shared
_smaller: WeakMemo[ClosedJaxpr, dict] = WeakMemo()


def _shrink(closed: ClosedJaxpr, wanted: tuple, keep_unused: bool) -> tuple[list, ClosedJaxpr]:
    memo = _smaller.setdefault(closed, {})
    found = memo.get((wanted, keep_unused))
    if found is None:
        jaxpr, used = dce_jaxpr(closed.jaxpr, wanted, keep_unused)
        jaxpr, consts = prune_constants(jaxpr, closed.consts)
        found = memo[wanted, keep_unused] = used, ClosedJaxpr(jaxpr, consts)
    return found


def _jit_dce(used_outputs: list[bool], eqn: JaxprEqn):
    closed: ClosedJaxpr = eqn.params["jaxpr"]
    used, smaller = _shrink(closed, tuple(used_outputs), eqn.params["keep_unused"])
    if not any(used_outputs) and not smaller.effects:
        return [False] * len(eqn.invars), None
    if all(used_outputs) and all(used) and len(smaller.eqns) == len(closed.eqns):
        return used, eqn
    donated = tuple(d for d, u in zip(eqn.params["donated_invars"], used) if u)
    params = {**eqn.params, "jaxpr": smaller, "donated_invars": donated}
    invars = [v for v, u in zip(eqn.invars, used) if u]
    outvars = [v for v, u in zip(eqn.outvars, used_outputs) if u]
    return used, eqn.replace(invars=invars, outvars=outvars, params=params,
                             effects=smaller.effects)


define_dce(jit_p, _jit_dce)


# --- functions with derivative rules of their own ----------------------------------------------
# `custom_jvp_call` and `custom_vjp_call` hold the program and the rule; whoever does not
# differentiate runs the program. The rules are objects with a `name` for the text.

custom_jvp_call_p = Primitive("custom_jvp_call", multiple_results=True)
custom_vjp_call_p = Primitive("custom_vjp_call", multiple_results=True)


def _program_type(*avals: Any, call_jaxpr: ClosedJaxpr, **params: Any) -> list:
    if len(avals) != len(call_jaxpr.jaxpr.invars):
        raise TypeError(f"the program takes {len(call_jaxpr.jaxpr.invars)} operands, "
                        f"got {len(avals)}")
    return call_jaxpr.out_avals


def _program_reference(*args: Any, call_jaxpr: ClosedJaxpr, **params: Any) -> list:
    return interpret.reference_of_closed(call_jaxpr, *args)


def _counts(params: dict) -> dict:
    consts = {"num_consts": params["num_consts"]} if params["num_consts"] else {}
    return {**consts, "symbolic_zeros": params["symbolic_zeros"]}


@custom_jvp_call_p.def_print
def _shown_jvp(params: dict, eqn: JaxprEqn) -> dict:
    rule = params["jvp_jaxpr_fun"]
    return {"name": rule.name, "call_jaxpr": params["call_jaxpr"], "jvp": rule.rule_name,
            **_counts(params)}


@custom_vjp_call_p.def_print
def _shown_vjp(params: dict, eqn: JaxprEqn) -> dict:
    rule = params["bwd"]
    return {"name": rule.name, "bwd": rule.bwd_name, "call_jaxpr": params["call_jaxpr"],
            "fwd": rule.fwd_name, **_counts(params)}


for _primitive in (custom_jvp_call_p, custom_vjp_call_p):
    _primitive.def_abstract(_program_type)
    _primitive.def_reference(_program_reference)
