"""Bodies of loops and branches: tracing them, giving them operands, comparing their types.

In: a function of trees and the types of its arguments. Out: a `Body`: a closed program without
constants, the values it closed over (its leading operands), and the structure of its result.
Invariant: a function traced twice for the same types under one trace is one program.
"""

from __future__ import annotations

import operator
import types
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jitney import _native
from jitney.base import dtypes
from jitney.base.weak_memo import WeakMemo
from jitney.core.avals import Array, ShapedArray, get_aval, is_value, to_array
from jitney.core.jaxpr import ClosedJaxpr, DebugInfo, DropVar, Jaxpr, Literal, Var, close_jaxpr
from jitney.core.staging import JaxprTrace, trace_body, traced_constant
from jitney.core.trace import Tracer
from jitney.lax.cast import convert
from jitney.lax.control_flow import messages
from jitney.placement import varying
from jitney.transforms.jvp import Zero


class Body(NamedTuple):
    """A traced function: `closed` takes (*consts, *arguments)."""

    closed: ClosedJaxpr
    consts: tuple
    out_tree: Any


class _Same:
    """An object compared by identity, and kept alive while it is part of a key."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __hash__(self):
        return id(self.value)

    def __eq__(self, other):
        return type(other) is _Same and self.value is other.value


def _state_of(fun: Any, depth: int = 3) -> tuple:
    """What a function refers to now: its closure may change between two uses of it."""
    closure = getattr(fun, "__closure__", None)
    if not isinstance(fun, types.FunctionType) or not closure:
        return ()
    found: list = []
    for cell in closure:
        try:
            content = cell.cell_contents
        except ValueError:
            continue
        found.append(_Same(content))
        if depth and isinstance(content, types.FunctionType):
            found.append(_state_of(content, depth - 1))
    return tuple(found)


def trace_function(fun: Callable, in_tree: Any, avals: Sequence[ShapedArray], what: str,
                   key: Any = None, user_fun: Callable | None = None,
                   check: Callable[[Any], None] | None = None,
                   varies: varying.Entering | None = None) -> Body:
    """Trace `fun(*in_tree.unflatten(leaves))`.

    `key` distinguishes wrappers of the function the user wrote; `check` sees the result; `varies`
    says along which mesh axes the arguments vary, where that is tracked.
    """
    user_fun = fun if user_fun is None else user_fun
    out_tree: list = []

    def flat(*leaves):
        if varies is not None:
            varies.enter(leaves)
        result = fun(*in_tree.unflatten(leaves))
        if check is not None:
            check(result)
        outs, tree = _native.tree_flatten(result)
        messages.check_results(what, user_fun, result, outs)
        out_tree.append(tree)
        return outs if varies is None else varies.leave(outs)

    info = DebugInfo(what, user_fun, names=lambda f: messages.argument_names(f, in_tree))
    whole = (what, key, _Same(user_fun), _state_of(user_fun), in_tree)
    if varies is not None:
        whole = (*whole, varies.key())
    jaxpr, consts = trace_body(flat, avals, info, whole)
    if varies is not None and varies.has_grown():
        return trace_function(fun, in_tree, avals, what, key, user_fun, check, varies)
    # like the traced program, the finished one is remembered as long as the trace lasts
    trace = _native.current_trace()
    memo = trace.bodies if type(trace) is JaxprTrace else None
    found = None if memo is None else memo.get(("finished", _Same(jaxpr)))
    if found is None:
        _keep_all_results(jaxpr)
        closed = close_jaxpr(with_constants_as_inputs(jaxpr))
        if type(trace) is not JaxprTrace:
            closed = shared(closed)
        found = closed, out_tree[0]
        if memo is not None:
            memo["finished", _Same(jaxpr)] = found
    return Body(found[0], tuple(consts), found[1])


def _keep_all_results(jaxpr: Jaxpr) -> None:
    """Unread results have names inside bodies, as in JAX (only whole programs drop them)."""
    for eqn in jaxpr.eqns:
        if any(type(v) is DropVar for v in eqn.outvars):
            eqn.outvars = [Var(v.aval) if type(v) is DropVar else v for v in eqn.outvars]


def with_constants_as_inputs(jaxpr: Jaxpr) -> Jaxpr:
    """The constants become leading inputs; names of the others stay known."""
    if not jaxpr.constvars:
        return jaxpr
    old, extra = jaxpr.debug_info, len(jaxpr.constvars)
    info = None
    if old is not None:
        fun = old._fun() if callable(old._fun) else None
        names = (lambda f: ("a closed-over value",) * extra + tuple(old.arg_names or ()))
        info = DebugInfo(old.traced_for, fun, names=names)
    return Jaxpr([], [*jaxpr.constvars, *jaxpr.invars], jaxpr.outvars, jaxpr.eqns,
                 jaxpr.effects, info)


# --- equal programs are one program --------------------------------------------------------------
# Loops run eagerly are traced at every call, since the closure may have changed; when the program
# is one met before, that one is used, and with it what was compiled for it.

_SHARED_LIMIT = 512
_shared: OrderedDict[tuple, ClosedJaxpr] = OrderedDict()


def shared(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The first program equal to this one (itself, when there is none)."""
    try:
        key = _program_key(closed.jaxpr)
        found = _shared.get(key)
    except TypeError:                       # a parameter cannot be compared
        return closed
    if found is None:
        found = _shared[key] = closed
        if len(_shared) > _SHARED_LIMIT:
            _shared.popitem(last=False)
    return found


def _program_key(jaxpr: Jaxpr) -> tuple:
    number: dict[Any, int] = {}

    def bind(var):
        number[var] = len(number)
        return var.aval

    def atom(x):
        if type(x) is Literal:
            value = x.val
            bits = value.tobytes() if isinstance(value, np.generic) else repr(value)
            return type(value), bits, x.aval
        return number[x]

    head = tuple([bind(v) for v in (*jaxpr.constvars, *jaxpr.invars)])
    rows = []
    for eqn in jaxpr.eqns:
        reads = tuple([atom(v) for v in eqn.invars])
        params = tuple([(k, _value_key(v)) for k, v in eqn.params.items()])
        rows.append((eqn.primitive, reads, params, tuple([bind(v) for v in eqn.outvars])))
    return head, tuple(rows), tuple([atom(v) for v in jaxpr.outvars])


def _value_key(value: Any) -> Any:
    kind = type(value)
    if kind is ClosedJaxpr:
        return _program_key(value.jaxpr), tuple([_Same(c) for c in value.consts])
    if kind is Jaxpr:
        return _program_key(value)
    if kind in (tuple, list):
        return kind, tuple([_value_key(v) for v in value])
    if kind in (float, complex):
        return kind, repr(value)
    hash(value)
    return kind, value


# --- operands ----------------------------------------------------------------------------------


def flatten_operands(tree: Any, function: str, argument: str) -> tuple[list, Any]:
    """Leaves of an argument, which must be data."""
    leaves, structure = _native.tree_flatten(tree)
    for i, leaf in enumerate(leaves):
        if not is_value(leaf):
            messages.refuse_operand(function, argument, tree, i, leaf)
    return leaves, structure


def require_callables(function: str, text: str, *funs: Any) -> None:
    if not all(callable(f) for f in funs):
        found = ", ".join(repr(f) for f in funs if not callable(f))
        raise TypeError(f"lax.{function}: {text} (got {found})")


def snapshots_of(number: Any) -> int | None:
    """The argument `snapshots` of a loop."""
    if number is None:
        return None
    try:
        found = operator.index(number)
    except TypeError:
        found = 0
    if found < 4 or isinstance(number, bool):
        raise ValueError("snapshots must be an integer, 4 or more: the number of carries that "
                         f"reverse-mode differentiation keeps; got {number!r}")
    return found & ~1


def result_value(x: Any) -> Any:
    """An operand that is a result: an array or a tracer."""
    if isinstance(x, (Array, Tracer)):
        return x
    if type(_native.current_trace()) is JaxprTrace:
        return traced_constant(x)
    return to_array(x)


def is_concrete(x: Any) -> bool:
    return not isinstance(x, Tracer)


def known_scalar(x: Any) -> Any:
    """The value of a Python or NumPy scalar, and of any array when nothing is being traced; else
    None."""
    if isinstance(x, Tracer):
        return None
    if _native.current_trace() is None or type(x) is not Array:
        return np.asarray(x)[()]
    return None


# --- carries -------------------------------------------------------------------------------------


def promote_weak(values: list, avals: list, outs: Sequence[ShapedArray]) -> bool:
    """Give weakly typed initial carries the dtype the body makes of them; whether any changed."""
    changed = False
    for i, (aval, out) in enumerate(zip(avals, outs)):
        if not aval.weak_type or aval.shape != out.shape or aval.dtype == out.dtype:
            continue
        if dtypes.is_extended(out.dtype):
            continue
        dtype, _ = dtypes.promote(((aval.dtype, True), (out.dtype, out.weak_type)))
        if dtype != aval.dtype:
            values[i] = convert(values[i], dtype, False)
            avals[i] = get_aval(values[i])
            changed = True
    return changed


def same_types(a: Sequence[ShapedArray], b: Sequence[ShapedArray]) -> bool:
    return len(a) == len(b) and all(
        x is y or (x.shape == y.shape and x.dtype == y.dtype) for x, y in zip(a, b))


def joined(avals: Sequence[ShapedArray]) -> ShapedArray:
    """The type of a value that is one of several: weak only when all are."""
    first = avals[0]
    weak = all(a.weak_type for a in avals)
    return first if first.weak_type == weak else first.update(weak_type=weak)


# --- programs rearranged -------------------------------------------------------------------------

_rearranged: WeakMemo[ClosedJaxpr, dict] = WeakMemo()


def rearrange(closed: ClosedJaxpr, inputs: Sequence[int] | None = None,
              outputs: Sequence[int] | None = None) -> ClosedJaxpr:
    """The program with its inputs in this order, and only these outputs."""
    key = (None if inputs is None else tuple(inputs), None if outputs is None else tuple(outputs))
    memo = _rearranged.setdefault(closed, {})
    found = memo.get(key)
    if found is None:
        jaxpr = closed.jaxpr
        invars = jaxpr.invars if inputs is None else [jaxpr.invars[i] for i in inputs]
        outvars = jaxpr.outvars if outputs is None else [jaxpr.outvars[i] for i in outputs]
        changed = Jaxpr(jaxpr.constvars, invars, outvars, jaxpr.eqns, jaxpr.effects,
                        jaxpr.debug_info if inputs is None else None)
        found = memo[key] = ClosedJaxpr(changed, closed.consts)
    return found


def split(items: Sequence, *sizes: int) -> list[list]:
    """Cut a list into pieces of these sizes and the rest."""
    pieces, start = [], 0
    for size in sizes:
        pieces.append(list(items[start:start + size]))
        start += size
    return [*pieces, list(items[start:])]


def spread_tangents(primals: Sequence[Any], tangents: Sequence[Any],
                    nonzero: Sequence[bool]) -> list:
    """Tangents for all results: those that flow, and symbolic zeros for the others."""
    flowing = iter(tangents)
    return [next(flowing) if nz else Zero.from_primal_value(p) for p, nz in zip(primals, nonzero)]
