"""Programs inside programs, differentiated and batched: `jit` equations stay `jit` equations.

Each rule transforms the program inside (once per program and pattern of zeros) and binds the
result under the same name.
"""

from __future__ import annotations

from typing import Any

from jitney.core.calls import bind_jit, jit_p
from jitney.transforms.backward import transpose_jaxpr
from jitney.transforms.jvp import Zero, define_jvp, define_linearize, is_zero, jvp_jaxpr
from jitney.transforms.linearize import linearize_jaxpr
from jitney.transforms.partial_eval import (
    define_partial_eval,
    forward_residuals,
    partial_eval_jaxpr,
)
from jitney.transforms.transpose import define_transpose, is_undefined_primal
from jitney.transforms.vmap import batch_program, define_batch


def _options(params: dict) -> dict:
    return {"keep_unused": params["keep_unused"], "inline": params["inline"]}


def _jvp(primals, tangents, *, jaxpr, name, **params):
    nonzero = [not is_zero(t) for t in tangents]
    program, nonzero_out = jvp_jaxpr(jaxpr, nonzero)
    flowing = [t for t, nz in zip(tangents, nonzero) if nz]
    found = bind_jit(program, [*primals, *flowing], name, **_options(params))
    outs, out_tangents = found[:len(nonzero_out)], iter(found[len(nonzero_out):])
    return outs, [next(out_tangents) if nz else Zero.from_primal_value(x)
                  for x, nz in zip(outs, nonzero_out)]


def _linearize(trace, primals, tangents, params):
    nonzero = [not is_zero(t) for t in tangents]
    parts = linearize_jaxpr(params["jaxpr"], nonzero)
    found = bind_jit(parts.first.known, primals, params["name"], **_options(params))
    outs = found[:len(parts.nonzero_out)]
    if not any(parts.nonzero_out):
        return outs, [Zero.from_primal_value(x) for x in outs]
    flowing = [t for t, nz in zip(tangents, nonzero) if nz]
    operands = [*parts.first.values(primals, found), *flowing]
    out_tangents = iter(_record(trace, parts.then, operands, params))
    return outs, [next(out_tangents) if nz else Zero.from_primal_value(x)
                  for x, nz in zip(outs, parts.nonzero_out)]


def _record(trace, program, operands: list, params: dict) -> list:
    return trace.record(jit_p, operands, {
        **params, "jaxpr": program, "donated_invars": (False,) * len(operands)})


def _partial_eval(trace, args, unknown, params):
    split = partial_eval_jaxpr(params["jaxpr"], unknown)
    count = len(split.known.jaxpr.outvars) - len(split.residual_avals)
    first = forward_residuals(split.known, count)
    known = [x for x, u in zip(args, unknown) if not u]
    found = bind_jit(first.known, known, params["name"], **_options(params))
    operands = first.values(known, found) + [x for x, u in zip(args, unknown) if u]
    later = iter(_record(trace, split.waiting, operands, params))
    now = iter(found)
    return [next(later) if u else next(now) for u in split.unknown_out]


def _transpose(cts, *operands, jaxpr, name, **params):
    linear = [is_undefined_primal(x) for x in operands]
    nonzero = [not is_zero(ct) for ct in cts]
    program, nonzero_out = transpose_jaxpr(jaxpr, linear, nonzero)
    args = [x for x in operands if not is_undefined_primal(x)]
    args += [ct for ct, nz in zip(cts, nonzero) if nz]
    found = iter(bind_jit(program, args, name, **_options(params)))
    flags = iter(nonzero_out)
    return [(next(found) if next(flags) else Zero(x.aval)) if is_linear else None
            for x, is_linear in zip(operands, linear)]


def _batch(args: Any, dims: Any, *, jaxpr, name, **params):
    program, out_dims = batch_program(jaxpr, dims)
    return bind_jit(program, list(args), name, **_options(params)), out_dims


define_jvp(jit_p, _jvp)
define_linearize(jit_p, _linearize)
define_partial_eval(jit_p, _partial_eval)
define_transpose(jit_p, _transpose)
define_batch(jit_p, _batch)
