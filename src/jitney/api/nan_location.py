"""Where in a program the first NaN (or infinity) came from, for the modes that look for them.

In: a program whose result held one, and its arguments. Out: a text: the first equation that made
one of finite operands, its line, and the loop steps it is in; empty when it does not come again.
The program is run once more for that, one equation after the other, loops in Python.
Invariant: equations with effects are not run a second time; the search ends before the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jitney import _native
from jitney.base import config, dtypes
from jitney.base.source import user_frame
from jitney.core import interpret
from jitney.core.avals import get_aval, numpy_value
from jitney.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params
from jitney.core.primitive import Primitive

_STEP_LIMIT = 100_000       # loop steps that are run again in Python


class _Stopped(Exception):
    """The search cannot go on."""


class _Found(NamedTuple):
    eqn: JaxprEqn
    inside: tuple[str, ...]     # loops around it, outermost first


def place_of_first(closed: ClosedJaxpr, args: Sequence[Any]) -> str:
    """`\\nfirst made by ... at ...`, or an empty text."""
    is_bad = holder(config.debug_nans.value)
    with config.debug_nans(False), config.debug_infs(False):
        before = _native.swap_trace(None)
        try:
            _, found = _Search(is_bad).run(closed, args, ())
        except (_Stopped, FloatingPointError):
            return ""
        finally:
            _native.swap_trace(before)
    if found is None:
        return ""
    lines = [f"first made by {found.eqn.primitive.name} at {found.eqn.source_summary()}"]
    return "\n".join(["", *lines, *[f"  in {text}" for text in reversed(found.inside)]])


def holder(nans: bool) -> Callable[[Any], bool]:
    """A function that says whether an array holds a NaN (otherwise: an infinity)."""
    test = np.isnan if nans else np.isinf

    def is_bad(value: Any) -> bool:
        aval = get_aval(value)
        if dtypes.is_extended(aval.dtype) or not dtypes.is_inexact(aval.dtype):
            return False
        x = np.asarray(numpy_value(value))
        return bool(test(x if x.dtype.kind in "fc" else x.astype(np.float32)).any())

    return is_bad


class _Search:
    """Runs programs in Python until an equation makes a bad value of good ones."""

    def __init__(self, is_bad: Callable[[Any], bool]):
        self.is_bad = is_bad

    def run(self, closed: ClosedJaxpr, args: Sequence, inside: tuple) -> tuple:
        """(results, None) or (None, the first equation at fault)."""
        jaxpr = closed.jaxpr
        env: dict[Var, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))

        def read(atom):
            return interpret.literal_value(atom) if type(atom) is Literal else env[atom]

        for eqn in jaxpr.eqns:
            if eqn.effects:
                raise _Stopped
            operands = [read(v) for v in eqn.invars]
            out = eqn.primitive.bind(*operands, **eqn.params)
            outs = list(out) if eqn.primitive.multiple_results else [out]
            if any(map(self.is_bad, outs)) and not any(map(self.is_bad, operands)):
                return None, self._inside(eqn, operands, inside) or _Found(eqn, inside)
            env.update(zip(eqn.outvars, outs, strict=True))
        return [read(v) for v in jaxpr.outvars], None

    def _inside(self, eqn: JaxprEqn, operands: list, inside: tuple) -> _Found | None:
        """The equation at fault within an equation that holds programs."""
        name, params = eqn.primitive.name, eqn.params
        if name == "scan":
            return self._in_scan(eqn, operands, inside)
        if name == "while":
            return self._in_while(eqn, operands, inside)
        if name == "cond":
            last = len(params["branches"]) - 1
            branch = params["branches"][min(max(int(operands[0]), 0), last)]
            return self.run(branch, operands[1:], inside)[1]
        if name == "shard_map":
            return None                 # its program is one of shards
        program = params.get("jaxpr", params.get("call_jaxpr"))
        if isinstance(program, ClosedJaxpr):
            return self.run(program, operands, inside)[1]
        if isinstance(program, Jaxpr) and name == "remat2":
            return self.run(ClosedJaxpr(program, []), operands, inside)[1]
        return None

    def _in_scan(self, eqn: JaxprEqn, operands: list, inside: tuple) -> _Found | None:
        params, body = eqn.params, eqn.params["jaxpr"]
        n_consts, n_carry = params["num_consts"], params["num_carry"]
        consts, carry = operands[:n_consts], operands[n_consts:n_consts + n_carry]
        rows, length = operands[n_consts + n_carry:], params["length"]
        order = range(length)[::-1] if params["reverse"] else range(length)
        for i in list(order)[:_STEP_LIMIT]:
            here = (*inside, f"step {i} of the scan at {eqn.source_summary()}")
            outs, found = self.run(body, [*consts, *carry, *[x[i] for x in rows]], here)
            if found is not None:
                return found
            carry = outs[:n_carry]
        return None

    def _in_while(self, eqn: JaxprEqn, operands: list, inside: tuple) -> _Found | None:
        params = eqn.params
        cond, body = params["cond_jaxpr"], params["body_jaxpr"]
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        cond_consts, body_consts = operands[:n_cond], operands[n_cond:n_cond + n_body]
        carry = operands[n_cond + n_body:]
        for i in range(_STEP_LIMIT):
            here = (*inside, f"turn {i} of the while loop at {eqn.source_summary()}")
            (going,), found = self.run(cond, [*cond_consts, *carry], here)
            if not bool(going):
                return None
            carry, found = self.run(body, [*body_consts, *carry], here)
            if found is not None:
                return found
        return None


def place_in_application(primitive: Primitive, args: Sequence[Any], params: dict) -> str:
    """Where inside a loop, a branch or a call applied at once the first one was made."""
    if not any(True for _ in jaxprs_in_params(params)):
        return ""
    invars = [Var(get_aval(x)) for x in args]
    outs = primitive.abstract_eval(*[v.aval for v in invars], **params)
    outvars = [Var(a) for a in (outs if primitive.multiple_results else [outs])]
    eqn = JaxprEqn(primitive, invars, outvars, params, user_frame())
    return place_of_first(ClosedJaxpr(Jaxpr((), invars, outvars, [eqn])), args)
