"""Running a jaxpr: by `bind` (under whatever trace is current), or by NumPy references.

The reference interpreter is the definition of what a program means; every later stage is
compared with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.core import avals, slots
from jitney.core.jaxpr import ClosedJaxpr, DropVar, Jaxpr, Literal, Var
from jitney.core.primitive import Primitive


def literal_value(literal: Literal) -> Any:
    """A value whose aval is exactly the literal's."""
    value = literal.val
    if avals.get_aval(value) is literal.aval:
        return value
    if not literal.aval.weak_type:
        return literal.as_numpy()[()]
    return avals.to_array(value, literal.aval)


def last_uses(jaxpr: Jaxpr) -> list[list[Var]]:
    """For each equation, the variables that are not needed after it."""
    seen = {v for v in jaxpr.outvars if type(v) is not Literal}
    dying: list[list[Var]] = []
    for eqn in reversed(jaxpr.eqns):
        here = []
        for var in (*eqn.invars, *eqn.outvars):
            if type(var) is not Literal and var not in seen:
                seen.add(var)
                here.append(var)
        dying.append(here)
    return dying[::-1]


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list:
    """Apply every equation by `bind`; tracers may be among the arguments."""
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom):
        return literal_value(atom) if type(atom) is Literal else env[atom]

    for eqn, dying in zip(jaxpr.eqns, last_uses(jaxpr)):
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        if eqn.primitive.multiple_results:
            env.update(zip(eqn.outvars, out))
        else:
            env[eqn.outvars[0]] = out
        for var in dying:
            env.pop(var, None)
    return [read(v) for v in jaxpr.outvars]


def eval_closed(closed: ClosedJaxpr, *args: Any) -> list:
    return eval_jaxpr(closed.jaxpr, closed.consts, *args)


def eval_reference(jaxpr: Jaxpr, consts: Sequence[Any], *args: np.ndarray) -> list[np.ndarray]:
    """Apply every equation by its NumPy reference; results are checked against the avals."""
    env: dict[Var, np.ndarray] = dict(zip(jaxpr.constvars, map(avals.numpy_value, consts),
                                          strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom):
        return atom.as_numpy() if type(atom) is Literal else env[atom]

    for eqn, dying in zip(jaxpr.eqns, last_uses(jaxpr)):
        outs = _apply(eqn.primitive, [read(v) for v in eqn.invars], [v.aval for v in eqn.invars],
                      [v.aval for v in eqn.outvars], eqn.params)
        for var, out in zip(eqn.outvars, outs, strict=True):
            if type(var) is not DropVar:
                env[var] = conform(out, var.aval, eqn)
        for var in dying:
            env.pop(var, None)
    return [read(v) for v in jaxpr.outvars]


def reference_of_closed(closed: ClosedJaxpr, *args: np.ndarray) -> list[np.ndarray]:
    """What references of higher-order primitives call for the programs inside them."""
    return eval_reference(closed.jaxpr, closed.consts, *args)


def apply_reference(primitive: Primitive, args: Sequence[np.ndarray], params: dict) -> list:
    rule = primitive.reference_rule
    if rule is None:
        raise NotImplementedError(f"primitive {primitive.name} has no NumPy reference")
    with np.errstate(all="ignore"):
        out = rule(*args, **params)
    return list(out) if primitive.multiple_results else [out]


# Primitives that move elements and never look at them. Elements that are several numbers in memory
# (random keys) are handed to their references as one opaque element each.
_MOVING = frozenset((
    "broadcast_in_dim", "concatenate", "copy", "dynamic_slice", "dynamic_update_slice",
    "expand_dims", "gather", "reshape", "rev", "select_n", "slice", "split", "squeeze",
    "transpose"))


def _apply(primitive: Primitive, args: Sequence, in_avals: Sequence, out_avals: Sequence,
           params: dict) -> list:
    """`apply_reference`, with keys as opaque elements where they are only moved."""
    keys = [dtypes.is_extended(a.dtype) for a in in_avals]
    if primitive.name not in _MOVING or True not in keys:
        return apply_reference(primitive, args, params)
    packed = [_packed(x, a) if k else x for x, a, k in zip(args, in_avals, keys)]
    outs = apply_reference(primitive, packed, params)
    return [_unpacked(x, a) if dtypes.is_extended(a.dtype) else x for x, a in zip(outs, out_avals)]


def _packed(x: np.ndarray, aval: avals.ShapedArray) -> np.ndarray:
    width = math.prod(aval.dtype.physical_shape)
    rows = np.ascontiguousarray(x).reshape(*aval.shape, width)
    return rows.view(np.dtype((np.void, width * rows.itemsize))).reshape(aval.shape)


def _unpacked(x: Any, aval: avals.ShapedArray) -> np.ndarray:
    words = np.ascontiguousarray(x).reshape(-1).view(aval.dtype.physical_dtype)
    return words.reshape(aval.shape + tuple(aval.dtype.physical_shape))


def conform(out: Any, aval: avals.ShapedArray, what: Any) -> np.ndarray:
    """Check that a reference's result has the promised shape; bring it to the dtype."""
    out = np.asarray(out)
    if out.shape != aval.shape and not getattr(aval.dtype, "_is_extended_dtype", False):
        raise AssertionError(f"the reference of {what} gave shape {out.shape}, not {aval.shape}")
    if isinstance(aval.dtype, np.dtype) and out.dtype != aval.dtype:
        out = out.astype(aval.dtype)
    return out


def _evaluate_by_reference(primitive: Primitive, args: tuple, params: dict) -> Any:
    in_avals = [avals.get_aval(a) for a in args]
    out_avals = primitive.abstract_eval(*in_avals, **params)
    if not primitive.multiple_results:
        out_avals = [out_avals]
    values = [avals.numpy_value(a, t) for a, t in zip(args, in_avals)]
    outs = [avals._native.array_from_numpy(conform(o, t, primitive), t)
            for o, t in zip(_apply(primitive, values, in_avals, out_avals, params), out_avals)]
    return outs if primitive.multiple_results else outs[0]


slots.set_reference_evaluator(_evaluate_by_reference)
