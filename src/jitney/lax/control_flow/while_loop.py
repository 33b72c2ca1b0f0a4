"""`while_loop`: repeat a body as long as a condition holds.

In: two functions of a carry, and its first value. Out: the first carry for which the condition
is false. The equation's operands are (cond consts…, body consts…, carry…).
Invariant: the carry keeps structure, shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from jitney.base import config, source
from jitney.base.pytree import treedef_is_leaf, treedef_tuple
from jitney.core.avals import get_aval
from jitney.core.dce import dce_jaxpr, define_dce
from jitney.core.interpret import eval_closed, reference_of_closed
from jitney.core.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr, Literal, Var
from jitney.core.primitive import Primitive
from jitney.core.staging import trace_flat
from jitney.lax.control_flow import common, messages, while_transpose
from jitney.lax.reduce import reduce_or
from jitney.lax.select import select
from jitney.lax.shape import broadcast_in_dim, shape_of
from jitney.placement import varying
from jitney.transforms import jvp as jvp_engine
from jitney.transforms import partial_eval as partial_engine
from jitney.transforms import vmap as vmap_engine
from jitney.transforms.jvp import Zero, define_jvp, instantiate_zeros
from jitney.transforms.transpose import define_transpose
from jitney.transforms.vmap import at_front, batch_size, define_batch

T = TypeVar("T")


def while_loop(cond_fun: Callable[[T], Any], body_fun: Callable[[T], T], init_val: T, *,
               snapshots: int | None = None) -> T:
    """`while cond_fun(val): val = body_fun(val)`, as one operation of the compiled program.

    Reverse mode keeps at most `snapshots` carries (default: 64 MiB of them, from 16 to 1024) and
    computes the others again: half as many steps as snapshots cost nothing twice.

    >>> while_loop(lambda c: c < 10, lambda c: c * 2, 1).item()
    16
    """
    common.require_callables("while_loop", "body_fun and cond_fun arguments should be callable.",
                             cond_fun, body_fun)
    if config.disable_jit.value:
        return while_in_python(cond_fun, body_fun, init_val)
    return run_while(cond_fun, body_fun, init_val, snapshots=common.snapshots_of(snapshots))


def while_in_python(cond_fun: Callable, body_fun: Callable, value: Any) -> Any:
    while cond_fun(value):
        value = body_fun(value)
    return value


def run_while(cond_fun: Callable, body_fun: Callable, init_val: Any, *, name: str | None = None,
              user_fun: Callable | None = None, key: Any = None, argument: str = "init_val",
              function: str = "while_loop", carry_paths: Any = None,
              snapshots: int | None = None) -> Any:
    """`while_loop` for the user's function or a wrapper of it (then `user_fun`, `key`)."""
    values, tree = common.flatten_operands(init_val, function, argument)
    avals = [get_aval(x) for x in values]
    in_tree = treedef_tuple([tree])
    varies = varying.entering(values, len(values))
    shown = user_fun or body_fun
    name = name or messages.parameter_name(shown, 0, "carry")

    def trace():
        cond = trace_cond()
        _check_predicate(cond, cond_fun)
        before = None if varies is None else varies.key()
        body = common.trace_function(body_fun, in_tree, avals, "while_body", key, user_fun,
                                     varies=varies)
        if varies is not None and varies.key() != before:
            cond = trace_cond()
        return cond, body

    def trace_cond():
        inside = None if varies is None else varying.Entering(list(varies.varies))
        return common.trace_function(cond_fun, in_tree, avals, "while_cond", key, varies=inside)

    cond, body = trace()
    _check_structure(carry_paths, name, shown, tree, body.out_tree, function)
    if not common.same_types(avals, body.closed.out_avals) \
            and common.promote_weak(values, avals, body.closed.out_avals):
        cond, body = trace()
    _check_types(carry_paths, name, shown, tree, avals, body.closed.out_avals, function)
    if varies is not None:
        values = varies.matched(values)
    outs = _bind(cond, body, values, {} if snapshots is None else {"snapshots": snapshots})
    return tree.unflatten(outs)


def _check_structure(paths: Any, name: str, fun: Any, tree: Any, out: Any, function: str) -> None:
    if paths is not None:                        # the user's carry is one component of it
        tree, out = tree.children()[paths], out.children()[paths]
    messages.check_carry_structure(function, name, fun, tree, out)


def _check_types(paths: Any, name: str, fun: Any, tree: Any, ins: Any, outs: Any,
                 function: str) -> None:
    if paths is not None:
        start = sum(t.num_leaves for t in tree.children()[:paths])
        tree, ins, outs = tree.children()[paths], ins[start:], outs[start:]
    messages.check_carry_types(function, name, fun, tree, ins, outs)


def _check_predicate(cond: common.Body, fun: Callable) -> None:
    if not treedef_is_leaf(cond.out_tree):
        raise TypeError("cond_fun must return a boolean scalar, but got pytree "
                        f"{cond.out_tree} from {source.function_location(fun)}.")
    aval = cond.closed.out_avals[0]
    if aval.shape or aval.dtype != np.bool_:
        hint = "Reduce it with jnp.all or jnp.any." if aval.shape else \
            "Write the comparison out, e.g. x != 0."
        raise TypeError(f"cond_fun must return a boolean scalar, but got output type(s) [{aval!r}] "
                        f"from {source.function_location(fun)}. {hint}")


def _bind(cond: common.Body, body: common.Body, init: list, options: dict) -> list:
    """Apply; carries that neither the body changes nor the condition reads become constants."""
    count, n_cond, n_body = len(init), len(cond.consts), len(body.consts)
    kept = _changing(cond.closed, body.closed, n_cond, n_body)
    if len(kept) == count:
        return while_p.bind(*cond.consts, *body.consts, *init, cond_nconsts=n_cond,
                            cond_jaxpr=cond.closed, body_nconsts=n_body, body_jaxpr=body.closed,
                            **options)
    fixed = [i for i in range(count) if i not in kept]
    order = [*[n_body + i for i in fixed], *range(n_body), *[n_body + i for i in kept]]
    body_jaxpr = common.rearrange(body.closed, order, kept)
    cond_jaxpr = common.rearrange(cond.closed, [*range(n_cond), *[n_cond + i for i in kept]])
    found = while_p.bind(
        *cond.consts, *[init[i] for i in fixed], *body.consts, *[init[i] for i in kept],
        cond_nconsts=n_cond, cond_jaxpr=cond_jaxpr, body_nconsts=len(fixed) + n_body,
        body_jaxpr=body_jaxpr, **options)
    outs = [common.result_value(x) for x in init]
    for i, out in zip(kept, found):
        outs[i] = out
    return outs


def _changing(cond: ClosedJaxpr, body: ClosedJaxpr, n_cond: int, n_body: int) -> list[int]:
    ins, outs = body.jaxpr.invars[n_body:], body.jaxpr.outvars
    candidates = [i for i, (a, b) in enumerate(zip(ins, outs)) if a is b]
    if not candidates:
        return list(range(len(outs)))
    read = {v for eqn in cond.jaxpr.eqns for v in eqn.invars if type(v) is not Literal}
    read.update(v for v in cond.jaxpr.outvars if type(v) is not Literal)
    fixed = {i for i in candidates if cond.jaxpr.invars[n_cond + i] not in read}
    return [i for i in range(len(outs)) if i not in fixed]


# --- the primitive -------------------------------------------------------------------------------

while_p = Primitive("while", multiple_results=True)


@while_p.def_abstract
def _while_type(*avals, cond_nconsts, cond_jaxpr, body_nconsts, body_jaxpr, **options):
    count = cond_nconsts + body_nconsts + len(body_jaxpr.jaxpr.outvars)
    if len(avals) != count:
        raise TypeError(f"while takes {count} operands, got {len(avals)}")
    return body_jaxpr.out_avals


@while_p.def_reference
def _while_reference(*args, cond_nconsts, cond_jaxpr, body_nconsts, body_jaxpr, **options):
    cond_consts, body_consts, carry = common.split(args, cond_nconsts, body_nconsts)
    while bool(reference_of_closed(cond_jaxpr, *cond_consts, *carry)[0]):
        carry = reference_of_closed(body_jaxpr, *body_consts, *carry)
    return carry


def _while_dce(used: list[bool], eqn: Any):
    params = eqn.params
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    effects = eqn.effects
    if not any(used) and not effects:
        return [False] * len(eqn.invars), None
    _, cond_reads = dce_jaxpr(cond.jaxpr)
    needed = [u or c for u, c in zip(used, cond_reads[n_cond:])]
    while True:
        jaxpr, reads = dce_jaxpr(body.jaxpr, needed)
        grown = [n or r for n, r in zip(needed, reads[n_body:])]
        if grown == needed:
            break
        needed = grown
    jaxpr, reads = dce_jaxpr(body.jaxpr, needed, [False] * n_body + needed)
    smaller, _ = dce_jaxpr(cond.jaxpr, None, [False] * n_cond + needed)
    used_inputs = [*cond_reads[:n_cond], *reads[:n_body], *needed]
    if all(used_inputs):
        return used_inputs, eqn
    new = eqn.replace(
        invars=[v for v, u in zip(eqn.invars, used_inputs) if u],
        outvars=[v for v, n in zip(eqn.outvars, needed) if n],
        params={**params, "cond_nconsts": sum(cond_reads[:n_cond]),
                "cond_jaxpr": ClosedJaxpr(smaller, cond.consts),
                "body_nconsts": sum(reads[:n_body]),
                "body_jaxpr": ClosedJaxpr(jaxpr, body.consts)})
    return used_inputs, new


define_dce(while_p, _while_dce)


# --- derivative ----------------------------------------------------------------------------------


def _while_jvp(primals, tangents, *, cond_nconsts, cond_jaxpr, body_nconsts, body_jaxpr, **options):
    nonzero = [type(t) is not Zero for t in tangents]
    _, const_nz, carry_nz = common.split(nonzero, cond_nconsts, body_nconsts)
    while True:                             # a carry has a tangent once anything flows into it
        body, out_nz = jvp_engine.jvp_jaxpr(body_jaxpr, [*const_nz, *carry_nz], carry_nz)
        grown = [a or b for a, b in zip(carry_nz, out_nz)]
        if grown == carry_nz:
            break
        carry_nz = grown
    cond_consts, consts, carry = common.split(primals, cond_nconsts, body_nconsts)
    _, const_dots, carry_dots = common.split(tangents, cond_nconsts, body_nconsts)
    const_dots = [t for t, nz in zip(const_dots, const_nz) if nz]
    carry_dots = [instantiate_zeros(t) for t, nz in zip(carry_dots, carry_nz) if nz]
    # body: (consts, carry, const_dots, carry_dots) -> (consts, const_dots, carry, carry_dots)
    n_body, n_carry, n_dots = body_nconsts, len(carry), len(const_dots)
    order = [*range(n_body), *range(n_body + n_carry, n_body + n_carry + n_dots),
             *range(n_body, n_body + n_carry),
             *range(n_body + n_carry + n_dots, len(body.jaxpr.invars))]
    cond = _with_unused_inputs(cond_jaxpr, [v.aval for v in body.jaxpr.invars[
        n_body + n_carry + n_dots:]])
    outs = while_p.bind(
        *cond_consts, *consts, *const_dots, *carry, *carry_dots, cond_nconsts=cond_nconsts,
        cond_jaxpr=cond, body_nconsts=n_body + n_dots, body_jaxpr=common.rearrange(body, order),
        **options)
    return outs[:n_carry], common.spread_tangents(outs[:n_carry], outs[n_carry:], carry_nz)


def _with_unused_inputs(closed: ClosedJaxpr, avals: list) -> ClosedJaxpr:
    jaxpr = closed.jaxpr
    return ClosedJaxpr(Jaxpr(jaxpr.constvars, [*jaxpr.invars, *[Var(a) for a in avals]],
                             jaxpr.outvars, jaxpr.eqns, jaxpr.effects), closed.consts)


define_jvp(while_p, _while_jvp)


def _while_partial_eval(trace, args, unknown, params):
    """The carries that are known run now; the loop of tangents waits, with the primals it needs
    computed again inside it."""
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    cond_u, const_u, carry_u = common.split(unknown, n_cond, n_body)
    while True:
        found = partial_engine.partial_eval_jaxpr(body, [*const_u, *carry_u], carry_u)
        grown = [a or b for a, b in zip(carry_u, found.unknown_out)]
        if grown == carry_u:
            break
        carry_u = grown
    _, reads = dce_jaxpr(cond.jaxpr)
    depends = any(r and u for r, u in zip(reads, [*cond_u, *carry_u]))
    if depends or all(carry_u):
        return trace.record(while_p, args, params)
    known = [not u for u in carry_u]
    small, used = dce_jaxpr(body.jaxpr, known, [False] * n_body + known)
    keep = [i for i in range(n_cond + len(carry_u)) if i < n_cond or known[i - n_cond]]
    consts, body_consts, carry = common.split(args, n_cond, n_body)
    ready = iter(while_p.bind(
        *consts, *[x for x, u in zip(body_consts, used) if u],
        *[x for x, k in zip(carry, known) if k],
        **{**params, "cond_jaxpr": common.rearrange(cond, keep), "body_nconsts": sum(used[:n_body]),
           "body_jaxpr": ClosedJaxpr(small, body.consts)}))
    waiting = trace.record(while_p, args, params)
    return [w if u else next(ready) for w, u in zip(waiting, carry_u)]


def _while_transpose(cts, *args, **params):
    return while_transpose.transpose_while(_plain_loop, cts, args, **params)


def _plain_loop(cond_fun, body_fun, init):
    """A loop of the rules' own."""
    return run_while(cond_fun, body_fun, init, key="rule")


partial_engine.define_partial_eval(while_p, _while_partial_eval)
define_transpose(while_p, _while_transpose)


# --- batching ------------------------------------------------------------------------------------


def _while_batch(args, dims, *, cond_nconsts, cond_jaxpr, body_nconsts, body_jaxpr, **options):
    size = batch_size(args, dims)
    batched = [d is not None for d in dims]
    cond_b, const_b, carry_b = common.split(batched, cond_nconsts, body_nconsts)
    while True:
        _, out_b = vmap_engine.batch_jaxpr(body_jaxpr, size, [*const_b, *carry_b], carry_b)
        grown = [a or b for a, b in zip(carry_b, out_b)]
        if grown == carry_b:
            break
        carry_b = grown
    _, (pred_b,) = vmap_engine.batch_jaxpr(cond_jaxpr, size, [*cond_b, *carry_b], False)
    if pred_b:                              # examples stop at different times: all carries differ
        carry_b = [True] * len(carry_b)
    cond, _ = vmap_engine.batch_jaxpr(cond_jaxpr, size, [*cond_b, *carry_b], False)
    body, _ = vmap_engine.batch_jaxpr(body_jaxpr, size, [*const_b, *carry_b], carry_b)
    args = [at_front(x, d, size) if b else x
            for x, d, b in zip(args, dims, [*cond_b, *const_b, *carry_b])]
    cond_consts, body_consts, carry = common.split(args, cond_nconsts, body_nconsts)
    if pred_b:
        body = _body_of_unfinished(cond, body, cond_consts, body_consts, carry)
        body_consts = [*cond_consts, *body_consts]
        cond = _any_unfinished(cond)
    outs = while_p.bind(*cond_consts, *body_consts, *carry, cond_nconsts=cond_nconsts,
                        cond_jaxpr=cond, body_nconsts=len(body_consts), body_jaxpr=body, **options)
    return outs, [0 if b else None for b in carry_b]


_ANY_UNFINISHED = "while_loop of a batch"


def _any_unfinished(cond: ClosedJaxpr) -> ClosedJaxpr:
    def some(*args):
        return [reduce_or(eval_closed(cond, *args)[0], (0,))]

    jaxpr, consts = trace_flat(some, cond.in_avals, DebugInfo(_ANY_UNFINISHED))
    return ClosedJaxpr(jaxpr, consts)


def runs_finished_examples(cond: ClosedJaxpr) -> bool:
    """Whether a loop with this condition is one of a batch whose examples stop at different times:
    steps are then computed for those that have stopped, too, and dropped."""
    info = cond.jaxpr.debug_info
    return info is not None and info.traced_for == _ANY_UNFINISHED


def _body_of_unfinished(cond: ClosedJaxpr, body: ClosedJaxpr, cond_consts: list,
                        body_consts: list, carry: list) -> ClosedJaxpr:
    """Only examples whose condition holds take the step."""

    def step(*args):
        cond_args, body_args, state = common.split(args, len(cond_consts), len(body_consts))
        going = eval_closed(cond, *cond_args, *state)[0]
        stepped = eval_closed(body, *body_args, *state)
        return [select(broadcast_in_dim(going, shape_of(new), (0,)), new, old)
                for new, old in zip(stepped, state, strict=True)]

    avals = [get_aval(x) for x in (*cond_consts, *body_consts, *carry)]
    jaxpr, consts = trace_flat(step, avals)
    return ClosedJaxpr(jaxpr, consts)


define_batch(while_p, _while_batch)
