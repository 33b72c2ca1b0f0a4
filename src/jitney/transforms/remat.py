"""Rematerialization: `remat2` equations compute again, when differentiated, instead of keeping.

In: a program, and a policy saying which intermediate results may be kept. Out: rules that run the
program forwards as usual, and give a backward program that starts from the operands (and what the
policy let us keep) and repeats the rest.
Invariant: values are those of the program without `remat2`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jitney.base.weak_memo import WeakMemo
from jitney.core import interpret
from jitney.core.calls import jit_p
from jitney.core.dce import dce_jaxpr, define_dce, prune_constants
from jitney.core.interpret import eval_closed, literal_value
from jitney.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var
from jitney.core.primitive import Primitive
from jitney.core.staging import trace_flat
from jitney.transforms.backward import transpose_jaxpr
from jitney.transforms.jvp import Zero, define_jvp, define_linearize, is_zero, jvp_jaxpr
from jitney.transforms.linearize import linearize_jaxpr
from jitney.transforms.partial_eval import define_partial_eval, partial_eval_jaxpr
from jitney.transforms.transpose import define_transpose, is_undefined_primal
from jitney.transforms.vmap import batch_program, define_batch

remat_p = Primitive("remat2", multiple_results=True)


@remat_p.def_abstract
def _type(*operands: Any, jaxpr: ClosedJaxpr, **params: Any) -> list:
    return jaxpr.out_avals


@remat_p.def_reference
def _reference(*operands: Any, jaxpr: ClosedJaxpr, **params: Any) -> list:
    return interpret.reference_of_closed(jaxpr, *operands)


class Saveable:
    """A policy's answer: keep the result."""


class Recompute:
    """A policy's answer: compute the result again."""


def _keeps(policy: Callable, eqn: JaxprEqn) -> bool:
    answer = policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)
    if isinstance(answer, bool):
        return answer
    return answer is not Recompute and not isinstance(answer, Recompute)


# --- two programs out of one -------------------------------------------------------------------


class _Parts(NamedTuple):
    """`now(*known) -> [*outputs, *kept]`; `later(*known, *kept, *unknown) -> unknown outputs`."""

    now: ClosedJaxpr
    later: ClosedJaxpr


_parts: WeakMemo[ClosedJaxpr, dict] = WeakMemo()


def _remembered(closed: ClosedJaxpr, key: tuple, make: Callable) -> Any:
    memo = _parts.setdefault(closed, {})
    found = memo.get(key)
    if found is None:
        found = memo[key] = make()
    return found


def _eval_inlined(closed: ClosedJaxpr, *args: Any) -> list:
    """Run a program with the programs of its `jit` equations written out (policies look at
    single operations)."""
    env: dict[Var, Any] = dict(zip(closed.jaxpr.constvars, closed.consts))
    env.update(zip(closed.jaxpr.invars, args))

    def read(atom):
        return literal_value(atom) if type(atom) is Literal else env[atom]

    for eqn in closed.eqns:
        operands = [read(x) for x in eqn.invars]
        if eqn.primitive is jit_p:
            out = _eval_inlined(eqn.params["jaxpr"], *operands)
        else:
            out = eqn.primitive.bind(*operands, **eqn.params)
            out = out if eqn.primitive.multiple_results else [out]
        env.update(zip(eqn.outvars, out))
    return [read(v) for v in closed.jaxpr.outvars]


def _inlined(closed: ClosedJaxpr) -> ClosedJaxpr:
    jaxpr, consts = trace_flat(lambda *xs: _eval_inlined(closed, *xs), closed.in_avals)
    return ClosedJaxpr(jaxpr, consts)


def _compose(run: Callable, known: list, unknown: list, count: int,
             policy: Callable | None) -> _Parts:
    """Cut `run(*known, *unknown) -> [*count known outputs, *unknown outputs]`."""
    jaxpr, consts = trace_flat(run, [*known, *unknown])
    waiting = set(jaxpr.invars[len(known):])
    kept: list[Var] = []
    rest, first = [], []
    for eqn in jaxpr.eqns:
        if any(v in waiting for v in eqn.invars if type(v) is not Literal):
            waiting.update(eqn.outvars)
            rest.append(eqn)
        elif policy is not None and _keeps(policy, eqn):
            kept += [v for v in eqn.outvars if type(v) is Var]
            first.append(eqn)
        else:
            rest.append(eqn)
            first.append(eqn)
    later = jaxpr.replace(
        invars=[*jaxpr.invars[:len(known)], *kept, *jaxpr.invars[len(known):]],
        outvars=jaxpr.outvars[count:], eqns=rest)
    later, used = dce_jaxpr(later, instantiate=True)
    read = {v for e in later.eqns for v in e.invars if type(v) is not Literal}
    read.update(v for v in later.outvars if type(v) is not Literal)
    kept = [v for v in kept if v in read]
    invars = [*jaxpr.invars[:len(known)], *kept, *jaxpr.invars[len(known):]]
    later = later.replace(invars=invars)
    now, _ = dce_jaxpr(jaxpr.replace(invars=jaxpr.invars[:len(known)],
                                     outvars=[*jaxpr.outvars[:count], *kept], eqns=first),
                       instantiate=True)
    return _Parts(ClosedJaxpr(*prune_constants(now, consts)),
                  ClosedJaxpr(*prune_constants(later, consts)))


def _linearized_parts(closed: ClosedJaxpr, nonzero: tuple, policy: Callable | None) -> tuple:
    program = _inlined(closed) if policy is not None else closed
    parts = linearize_jaxpr(program, nonzero)
    count, operands = len(closed.out_avals), len(closed.in_avals)
    tangents = [a.to_tangent_aval() for a, nz in zip(closed.in_avals, nonzero) if nz]

    def run(*ins):
        primals = ins[:operands]
        found = eval_closed(parts.first.known, *primals)
        residuals = parts.first.values(primals, found)
        return found[:count] + eval_closed(parts.then, *residuals, *ins[operands:])

    return _compose(run, closed.in_avals, tangents, count, policy), parts.nonzero_out


def _split_parts(closed: ClosedJaxpr, unknown_in: tuple, policy: Callable | None) -> tuple:
    split = partial_eval_jaxpr(_inlined(closed) if policy is not None else closed, unknown_in)
    known = [a for a, u in zip(closed.in_avals, unknown_in) if not u]
    unknown = [a for a, u in zip(closed.in_avals, unknown_in) if u]
    count = len(split.known.jaxpr.outvars) - len(split.residual_avals)

    def run(*ins):
        found = eval_closed(split.known, *ins[:len(known)])
        return found[:count] + eval_closed(split.waiting, *found[count:], *ins[len(known):])

    return _compose(run, known, unknown, count, policy), split.unknown_out


# --- rules -------------------------------------------------------------------------------------


def _record(trace: Any, parts: _Parts, known: Sequence, found: list, count: int,
            unknown: list, params: dict) -> list:
    """The waiting half, given only the operands it reads."""
    operands = [*known, *found[count:], *unknown]
    jaxpr, used = dce_jaxpr(parts.later.jaxpr)
    later = _remembered(parts.later, (tuple(used),),
                        lambda: ClosedJaxpr(jaxpr, parts.later.consts))
    return trace.record(remat_p, [x for x, u in zip(operands, used) if u],
                        {**params, "jaxpr": later, "differentiated": True})


def _linearize(trace, primals, tangents, params):
    nonzero = tuple([not is_zero(t) for t in tangents])
    closed, policy = params["jaxpr"], params["policy"]
    parts, nonzero_out = _remembered(closed, ("linearize", nonzero, policy),
                                     lambda: _linearized_parts(closed, nonzero, policy))
    found = eval_closed(parts.now, *primals)
    count = len(nonzero_out)
    flowing = [t for t, nz in zip(tangents, nonzero) if nz]
    later = iter(_record(trace, parts, primals, found, count, flowing, params)
                 if any(nonzero_out) else ())
    return found[:count], [next(later) if nz else Zero.from_primal_value(x)
                           for x, nz in zip(found, nonzero_out)]


def _partial_eval(trace, args, unknown, params):
    closed, policy = params["jaxpr"], params["policy"]
    key = ("split", tuple(unknown), policy)
    parts, unknown_out = _remembered(closed, key,
                                     lambda: _split_parts(closed, key[1], policy))
    known = [x for x, u in zip(args, unknown) if not u]
    found = eval_closed(parts.now, *known)
    count = sum(not u for u in unknown_out)
    waiting = [x for x, u in zip(args, unknown) if u]
    later = iter(_record(trace, parts, known, found, count, waiting, params))
    now = iter(found)
    return [next(later) if u else next(now) for u in unknown_out]


def _jvp(primals, tangents, *, jaxpr, **params):
    nonzero = [not is_zero(t) for t in tangents]
    program, nonzero_out = jvp_jaxpr(jaxpr, nonzero)
    flowing = [t for t, nz in zip(tangents, nonzero) if nz]
    found = remat_p.bind(*primals, *flowing, jaxpr=program, **params)
    outs, out_tangents = found[:len(nonzero_out)], iter(found[len(nonzero_out):])
    return outs, [next(out_tangents) if nz else Zero.from_primal_value(x)
                  for x, nz in zip(outs, nonzero_out)]


def _transpose(cts, *operands, jaxpr, **params):
    linear = [is_undefined_primal(x) for x in operands]
    nonzero = [not is_zero(ct) for ct in cts]
    program, nonzero_out = transpose_jaxpr(jaxpr, linear, nonzero)
    args = [x for x in operands if not is_undefined_primal(x)]
    args += [ct for ct, nz in zip(cts, nonzero) if nz]
    found = iter(remat_p.bind(*args, jaxpr=program, **params))
    flags = iter(nonzero_out)
    return [(next(found) if next(flags) else Zero(x.aval)) if is_linear else None
            for x, is_linear in zip(operands, linear)]


def _batch(args, dims, *, jaxpr, **params):
    program, out_dims = batch_program(jaxpr, dims)
    return remat_p.bind(*args, jaxpr=program, **params), out_dims


def _dce(used_outputs: list[bool], eqn: JaxprEqn):
    closed: ClosedJaxpr = eqn.params["jaxpr"]
    if not any(used_outputs) and not closed.effects:
        return [False] * len(eqn.invars), None

    def make():
        jaxpr, used = dce_jaxpr(closed.jaxpr, used_outputs)
        return ClosedJaxpr(*prune_constants(jaxpr, closed.consts)), used

    smaller, used = _remembered(closed, ("dce", tuple(used_outputs)), make)
    if all(used) and all(used_outputs):
        return used, eqn
    return used, eqn.replace(
        invars=[v for v, u in zip(eqn.invars, used) if u],
        outvars=[v for v, u in zip(eqn.outvars, used_outputs) if u],
        params={**eqn.params, "jaxpr": smaller}, effects=smaller.effects)


define_jvp(remat_p, _jvp)
define_linearize(remat_p, _linearize)
define_partial_eval(remat_p, _partial_eval)
define_transpose(remat_p, _transpose)
define_batch(remat_p, _batch)
define_dce(remat_p, _dce)
