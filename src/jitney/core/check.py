"""The typing rules of jaxprs as code: `check_jaxpr` raises JaxprTypeError with context.

Rules: variables are bound once and before use; they keep their aval; every equation's results
have the avals its primitive's rule gives; programs inside equations obey the same rules.
"""

from __future__ import annotations

from typing import Any

from jitney.base.errors import JaxprTypeError
from jitney.core.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params

_CONTEXT_EQUATIONS = 5


def check_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> None:
    """Raise JaxprTypeError if the program breaks a rule.

    The message shows the equations around the fault.
    """
    if isinstance(jaxpr, ClosedJaxpr):
        jaxpr = jaxpr.jaxpr
    bound: set[Var] = set()
    for var in (*jaxpr.constvars, *jaxpr.invars):
        _bind(var, bound, jaxpr, None, "an input")
    for position, eqn in enumerate(jaxpr.eqns):
        for atom in eqn.invars:
            _check_read(atom, bound, jaxpr, position)
        _check_types(eqn, jaxpr, position)
        for var in eqn.outvars:
            if type(var) is not DropVar:
                _bind(var, bound, jaxpr, position, f"a result of {eqn.primitive.name}")
        for inner in jaxprs_in_params(eqn.params):
            _check_inner(inner, jaxpr, position)
    for atom in jaxpr.outvars:
        _check_read(atom, bound, jaxpr, len(jaxpr.eqns))


def _check_inner(inner: Jaxpr, jaxpr: Jaxpr, position: int) -> None:
    try:
        check_jaxpr(inner)
    except JaxprTypeError as error:
        _fail(f"in a program inside this equation: {error}", jaxpr, position)


def _bind(var: Var, bound: set, jaxpr: Jaxpr, position: int | None, what: str) -> None:
    if not isinstance(var, Var):
        _fail(f"{what} is {var!r}, not a variable", jaxpr, position)
    if var in bound:
        _fail(f"the variable of {what} is bound twice", jaxpr, position)
    bound.add(var)


def _check_read(atom: Any, bound: set, jaxpr: Jaxpr, position: int) -> None:
    if type(atom) is Literal:
        if atom.aval.shape != ():
            _fail(f"literal of shape {atom.aval.shape}: only scalars are literals", jaxpr, position)
    elif atom not in bound:
        _fail(f"variable of type {atom.aval.str_short(True)} is read but not bound before", jaxpr,
              position)


def _check_types(eqn: JaxprEqn, jaxpr: Jaxpr, position: int) -> None:
    try:
        out = eqn.primitive.abstract_eval(*(v.aval for v in eqn.invars), **eqn.params)
    except NotImplementedError:
        return
    except Exception as error:
        _fail(f"the type rule of {eqn.primitive.name} refuses its operands: {error}", jaxpr,
              position)
    expected = list(out) if eqn.primitive.multiple_results else [out]
    found = [v.aval for v in eqn.outvars]
    if len(expected) != len(found):
        _fail(f"{eqn.primitive.name} gives {len(expected)} results, the equation binds "
              f"{len(found)}", jaxpr, position)
    for want, have in zip(expected, found):
        if want.strip_weak_type() is not have.strip_weak_type():
            _fail(f"{eqn.primitive.name} gives {want.str_short(True)}, the variable is "
                  f"{have.str_short(True)}", jaxpr, position)


def _fail(text: str, jaxpr: Jaxpr, position: int | None) -> None:
    if position is not None and position < len(jaxpr.eqns):
        eqn = jaxpr.eqns[position]
        text += f"\nin equation {position}, from {eqn.source_summary()}:\n{eqn}"
        first = max(0, position - _CONTEXT_EQUATIONS)
        around = jaxpr.replace(eqns=jaxpr.eqns[first:position + _CONTEXT_EQUATIONS],
                               outvars=[], effects=frozenset())
        text += f"\nwithin (equations {first} and following):\n{around}"
    raise JaxprTypeError(text)
