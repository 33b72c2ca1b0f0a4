"""The transposition of `scan`: the loop run backwards on cotangents.

In: cotangents of a scan's results and its operands, some of them linear (`UndefinedPrimal`).
Out: cotangents of the linear operands. Carries that are no linear function of those operands
(counters, primal values) are first recomputed by a forward scan that stacks what each step saw.
Invariant: the reverse loop carries (sums for linear constants, cotangents of the linear carry).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitney.core.avals import ShapedArray, get_aval
from jitney.core.dce import dce_jaxpr
from jitney.core.interpret import eval_closed
from jitney.core.jaxpr import ClosedJaxpr, Jaxpr, Literal
from jitney.core.staging import trace_flat
from jitney.lax.control_flow import common
from jitney.transforms import backward as engine
from jitney.transforms.jvp import Zero, add_tangents, instantiate_zeros, zeros_of
from jitney.transforms.transpose import is_undefined_primal


def transpose_scan(scan_p: Any, cts: Sequence, args: Sequence, *, jaxpr: ClosedJaxpr, length: int,
                   reverse: bool, unroll: int, num_consts: int, num_carry: int) -> list:
    """One cotangent an operand; None for those that are values."""
    linear = [is_undefined_primal(a) for a in args]
    const_lin, carry_lin, x_lin = common.split(linear, num_consts, num_carry)
    carry_lin = _linear_carries(jaxpr.jaxpr, const_lin, carry_lin, x_lin)
    consts, carry, xs = common.split(args, num_consts, num_carry)
    given = _nonlinear_carries(scan_p, jaxpr, carry_lin, consts, carry, xs, length=length,
                               reverse=reverse, unroll=unroll)
    ct_carry, ct_ys = common.split(cts, num_carry)
    y_flows = [type(ct) is not Zero for ct in ct_ys]
    residuals = [c for c, lin in zip(consts, const_lin) if not lin]
    rows = [x for x, lin in zip(xs, x_lin) if not lin]
    sums = [zeros_of(c.aval.to_tangent_aval()) for c, lin in zip(consts, const_lin) if lin]
    cts_in = [instantiate_zeros(ct) for ct, lin in zip(ct_carry, carry_lin) if lin]
    flowing = [ct for ct in ct_ys if type(ct) is not Zero]
    avals = [get_aval(v) for v in (*residuals, *sums, *cts_in)]
    avals += [_row(v) for v in (*flowing, *given, *rows)]
    sizes = [len(g) for g in (residuals, sums, cts_in, flowing, given)]
    step = _step(jaxpr, const_lin, carry_lin, x_lin, y_flows, sizes)
    traced, values = trace_flat(step, avals)
    body = ClosedJaxpr(traced, values)
    outs = scan_p.bind(*residuals, *sums, *cts_in, *flowing, *given, *rows, jaxpr=body,
                       length=length, reverse=not reverse, unroll=unroll,
                       num_consts=len(residuals), num_carry=len(sums) + len(cts_in))
    ct_consts, ct_init, ct_xs = map(iter, common.split(outs, len(sums), len(cts_in)))
    found = [next(ct_consts) if lin else None for lin in const_lin]
    for value, lin in zip(carry, carry_lin):
        ct = next(ct_init) if lin else None
        found.append(ct if is_undefined_primal(value) else None)
    return [*found, *[next(ct_xs) if lin else None for lin in x_lin]]


def _row(x: Any) -> ShapedArray:
    aval = get_aval(x)
    return ShapedArray(aval.shape[1:], aval.dtype, aval.weak_type)


def _linear_carries(jaxpr: Jaxpr, const_lin: list, carry_lin: list, x_lin: list) -> list[bool]:
    """Which carries depend on linear operands, in whatever step."""
    while True:
        marked = {v for v, lin in zip(jaxpr.invars, [*const_lin, *carry_lin, *x_lin]) if lin}
        for eqn in jaxpr.eqns:
            if any(type(v) is not Literal and v in marked for v in eqn.invars):
                marked.update(eqn.outvars)
        outs = [type(v) is not Literal and v in marked for v in jaxpr.outvars]
        grown = [a or b for a, b in zip(carry_lin, outs)]
        if grown == carry_lin:
            return carry_lin
        carry_lin = grown


def _nonlinear_carries(scan_p: Any, closed: ClosedJaxpr, carry_lin: list, consts: list,
                       carry: list, xs: list, **params: Any) -> list:
    """For each carry that is a value: what every step saw of it, stacked."""
    wanted = [i for i, lin in enumerate(carry_lin) if not lin]
    if not wanted:
        return []
    n_consts, n_carry = len(consts), len(carry)
    jaxpr = closed.jaxpr
    keep = [not lin for lin in carry_lin] + [False] * (len(jaxpr.outvars) - n_carry)
    operands = [*consts, *carry, *xs]
    must = [n_consts <= i < n_consts + n_carry and not carry_lin[i - n_consts]
            for i in range(len(operands))]
    small, used = dce_jaxpr(jaxpr, keep, must)
    seen = [jaxpr.invars[n_consts + i] for i in wanted]
    small = small.replace(outvars=[*small.outvars, *seen])
    operands = [v for v, u in zip(operands, used) if u]
    if any(is_undefined_primal(v) for v in operands):
        raise NotImplementedError("transposing a scan whose carried values depend on the operands "
                                  "it is transposed in")
    outs = scan_p.bind(*operands, jaxpr=ClosedJaxpr(small, closed.consts),
                       num_consts=sum(used[:n_consts]), num_carry=len(wanted), **params)
    return outs[len(wanted):]


def _step(closed: ClosedJaxpr, const_lin: list, carry_lin: list, x_lin: list, y_flows: list,
          sizes: list):
    """One reverse step: (residuals, sums, ct carry, ct ys, given carries, rows) -> (sums, ct
    carry, ct xs)."""
    linear = [*const_lin, *carry_lin, *x_lin]
    program, _ = engine.transpose_jaxpr(closed, linear, [*carry_lin, *y_flows], True)

    def step(*args):
        residuals, sums, ct_carry, ct_ys, given, rows = common.split(args, *sizes)
        cts = iter(eval_closed(program, *residuals, *given, *rows, *ct_carry, *ct_ys))
        found = [next(cts) if lin else None for lin in linear]
        consts, carry, xs = common.split(found, len(const_lin), len(carry_lin))
        consts = [ct for ct, lin in zip(consts, const_lin) if lin]
        carry = [ct for ct, lin in zip(carry, carry_lin) if lin]
        xs = [ct for ct, lin in zip(xs, x_lin) if lin]
        return [*[add_tangents(s, ct) for s, ct in zip(sums, consts)], *carry, *xs]

    return step
