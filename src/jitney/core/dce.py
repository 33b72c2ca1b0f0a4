"""Dead code: remove equations whose results nobody uses.

In: a jaxpr and which of its outputs are wanted. Out: a smaller jaxpr and which inputs it still
needs. Equations with effects stay. Programs inside equations shrink where a rule says how.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitney.core.jaxpr import DropVar, Jaxpr, JaxprEqn, Literal
from jitney.core.primitive import Primitive

# primitive -> rule(used_outputs, eqn) -> (used_inputs, new equation or None)
dce_rules: dict[Primitive, Callable] = {}


def define_dce(primitive: Primitive, rule: Callable) -> None:
    """Attach `rule(used_outputs, eqn) -> (used_inputs, new_eqn | None)`."""
    dce_rules[primitive] = rule


def dce_jaxpr(jaxpr: Jaxpr, used_outputs: Sequence[bool] | None = None,
              instantiate: bool | Sequence[bool] = False) -> tuple[Jaxpr, list[bool]]:
    """The program of the wanted outputs, and which inputs it uses.

    With `instantiate` true (or true for an input), inputs are kept though unused.
    """
    if used_outputs is None:
        used_outputs = [True] * len(jaxpr.outvars)
    outvars = [v for v, used in zip(jaxpr.outvars, used_outputs, strict=True) if used]
    live = {v for v in outvars if type(v) is not Literal}
    kept: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        used = [type(v) is not DropVar and v in live for v in eqn.outvars]
        if not any(used) and not eqn.effects:
            continue
        rule = dce_rules.get(eqn.primitive)
        if rule is not None:
            needed, eqn = rule(used, eqn)
            if eqn is None:
                continue
        elif not all(used):
            eqn = eqn.replace(outvars=[v if u else DropVar(v.aval)
                                       for v, u in zip(eqn.outvars, used)])
        kept.append(eqn)
        live.update(v for v in eqn.invars if type(v) is not Literal)
    if isinstance(instantiate, bool):
        instantiate = [instantiate] * len(jaxpr.invars)
    used_inputs = [v in live or keep for v, keep in zip(jaxpr.invars, instantiate, strict=True)]
    invars = [v for v, used in zip(jaxpr.invars, used_inputs) if used]
    info = jaxpr.debug_info if all(used_inputs) and all(used_outputs) else None
    # constvars stay in step with the constants the caller holds
    return Jaxpr(jaxpr.constvars, invars, outvars, kept[::-1], None, info), used_inputs


def used_constants(jaxpr: Jaxpr) -> list[bool]:
    """Which constvars are read by an equation or returned."""
    read = {v for v in jaxpr.outvars if type(v) is not Literal}
    for eqn in jaxpr.eqns:
        read.update(v for v in eqn.invars if type(v) is not Literal)
    return [v in read for v in jaxpr.constvars]


def prune_constants(jaxpr: Jaxpr, consts: Sequence) -> tuple[Jaxpr, list]:
    """Remove constvars nobody reads, and their values."""
    if not jaxpr.constvars:
        return jaxpr, list(consts)
    used = used_constants(jaxpr)
    if all(used):
        return jaxpr, list(consts)
    return (jaxpr.replace(constvars=[v for v, u in zip(jaxpr.constvars, used) if u]),
            [c for c, u in zip(consts, used, strict=True) if u])
