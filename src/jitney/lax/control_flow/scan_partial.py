"""Partial evaluation of `scan`: a loop of what is known now, a loop that waits for the rest.

In: a scan some of whose operands are unknown. Out: its results; the unknown ones come from a
recorded scan whose further operands are residuals: constants of the loop as they are, xs as they
are, everything else stacked by the known loop.
Invariant: a carry is unknown in every step or in none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitney.core.dce import dce_jaxpr
from jitney.core.interpret import eval_jaxpr
from jitney.core.jaxpr import ClosedJaxpr, Jaxpr, Literal
from jitney.lax.control_flow import common
from jitney.transforms import partial_eval as engine


def partial_eval_scan(scan_p: Any, trace: Any, args: Sequence, unknown: Sequence[bool],
                      params: dict) -> list:
    """The results: values where they are known, tracers of `trace` elsewhere."""
    closed, n_consts, n_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    const_u, carry_u, x_u = common.split(unknown, n_consts, n_carry)
    n_ys = len(closed.jaxpr.outvars) - n_carry
    while True:
        split = engine.partial_eval_jaxpr(closed, [*const_u, *carry_u, *x_u],
                                          [*carry_u, *[False] * n_ys])
        grown = [a or b for a, b in zip(carry_u, split.unknown_out)]
        if grown == carry_u:
            break
        carry_u = grown
    if all(carry_u) and all([*const_u, *x_u]):
        return trace.record(scan_p, args, params)
    consts, carry, xs = common.split(args, n_consts, n_carry)
    known_consts, known_carry, known_xs = (
        [v for v, u in zip(values, flags) if not u]
        for values, flags in ((consts, const_u), (carry, carry_u), (xs, x_u)))
    n_res = len(split.residual_avals)
    n_known = len(split.known.jaxpr.outvars) - n_res
    kinds = _kinds(split.known.jaxpr, n_res, len(known_consts), len(known_carry))
    stacked = [i for i, (kind, _) in enumerate(kinds) if kind == "stack"]
    body = common.rearrange(split.known, None,
                            [*range(n_known), *[n_known + i for i in stacked]])
    found = scan_p.bind(*known_consts, *known_carry, *known_xs, **{
        **params, "jaxpr": body, "num_consts": len(known_consts), "num_carry": len(known_carry)})
    rows = iter(found[n_known:])
    hoisted = iter(_before_the_loop(split.known, n_known, kinds, known_consts))
    residuals = []
    for kind, place in kinds:
        residuals.append({"const": lambda p=place: known_consts[p],
                          "x": lambda p=place: known_xs[p],
                          "hoist": lambda: next(hoisted),
                          "stack": lambda: next(rows)}[kind]())
    waiting = _record(scan_p, trace, split.waiting, residuals, kinds, params,
                      [v for v, u in zip(consts, const_u) if u],
                      [v for v, u in zip(carry, carry_u) if u],
                      [v for v, u in zip(xs, x_u) if u])
    ready, later = iter(found), iter(waiting)
    flags = [*carry_u, *split.unknown_out[n_carry:]]
    return [next(later) if u else next(ready) for u in flags]


def _kinds(jaxpr: Jaxpr, n_res: int, n_consts: int, n_carry: int) -> list[tuple[str, int]]:
    """For each residual: a constant of the loop, an x, computable before the loop, or stacked."""
    place = {v: i for i, v in enumerate(jaxpr.invars)}
    varying = set(jaxpr.invars[n_consts:])
    for eqn in jaxpr.eqns:
        if eqn.effects or any(type(v) is not Literal and v in varying for v in eqn.invars):
            varying.update(eqn.outvars)
    kinds = []
    for v in jaxpr.outvars[len(jaxpr.outvars) - n_res:]:
        if type(v) is Literal or (v not in varying and v not in place):
            kinds.append(("hoist", 0))
        elif v in place and place[v] < n_consts:
            kinds.append(("const", place[v]))
        elif v in place and place[v] >= n_consts + n_carry:
            kinds.append(("x", place[v] - n_consts - n_carry))
        else:
            kinds.append(("stack", 0))
    return kinds


def _before_the_loop(known: ClosedJaxpr, n_known: int, kinds: list, consts: list) -> list:
    """Residuals that depend on constants of the loop only."""
    wanted = [False] * n_known + [kind == "hoist" for kind, _ in kinds]
    if not any(wanted):
        return []
    jaxpr, used = dce_jaxpr(known.jaxpr.replace(eqns=[e for e in known.jaxpr.eqns
                                                      if not e.effects]), wanted)
    return eval_jaxpr(jaxpr, known.consts, *[x for x, u in zip(consts, used) if u])


def _record(scan_p: Any, trace: Any, waiting: ClosedJaxpr, residuals: list, kinds: list,
            params: dict, consts: list, carry: list, xs: list) -> list:
    """The loop that waits: (residuals…, unknown operands…) in the order of a scan's operands."""
    n = len(residuals)
    fixed = [i for i, (kind, _) in enumerate(kinds) if kind in ("const", "hoist")]
    rows = [i for i, (kind, _) in enumerate(kinds) if kind in ("x", "stack")]
    n_consts, n_carry = len(consts), len(carry)
    order = [*fixed, *range(n, n + n_consts + n_carry), *range(n + n_consts + n_carry,
                                                               n + n_consts + n_carry + len(xs)),
             *rows]
    body = common.rearrange(waiting, order)
    operands = [*[residuals[i] for i in fixed], *consts, *carry, *xs, *[residuals[i] for i in rows]]
    return trace.record(scan_p, operands, {
        **params, "jaxpr": body, "num_consts": len(fixed) + n_consts, "num_carry": n_carry})
