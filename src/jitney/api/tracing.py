"""From a call's arguments to a traced program, traced at most once per signature.

In: a function with its identity and the arguments of one call. Out: `Traced`: the closed jaxpr,
the structure of the result, and executables made from it so far.
Invariant: the cache key is (function identity, argument structure, avals, static values, mode,
named axes); whatever else could change the program makes the function another identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitney import _native
from jitney.api import identity as identities
from jitney.api import signature as signatures
from jitney.base import config, debug, source
from jitney.core import avals as avals_module
from jitney.core import trace as traces
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.check import check_jaxpr
from jitney.core.jaxpr import ClosedJaxpr, DebugInfo, convert_constvars
from jitney.core.staging import JaxprTrace, trace_flat
from jitney.core.trace import Tracer
from jitney.placement import varying

_tree_flatten = _native.tree_flatten
_INT_LIMIT = {4: (-2**31, 2**31 - 1), 8: (-2**63, 2**63 - 1)}


class Call:
    """The arguments of one call, taken apart."""

    __slots__ = ("leaves", "in_tree", "statics", "avals", "positions")

    def __init__(self, leaves: list, in_tree: Any, statics: tuple, positions: Any):
        self.leaves, self.in_tree, self.statics = leaves, in_tree, statics
        self.positions = positions
        self.avals: tuple[ShapedArray, ...] = ()


class Traced:
    """One traced signature of a function."""

    __slots__ = ("jaxpr", "out_tree", "in_tree", "name", "hoisted", "executables", "call_key")

    def __init__(self, jaxpr: ClosedJaxpr, in_tree: Any, out_tree: Any, name: str, hoisted: list):
        self.jaxpr, self.in_tree, self.out_tree, self.name = jaxpr, in_tree, out_tree, name
        self.hoisted = hoisted              # outer tracers (and arrays) passed as first operands
        self.executables: dict[Any, Any] = {}


# --- arguments -------------------------------------------------------------------------------


def read_call(fun: Callable, args: tuple, kwargs: dict, static_argnums: tuple,
              static_argnames: tuple) -> Call:
    """Split static from dynamic arguments and flatten the latter."""
    if not static_argnums and not (static_argnames and kwargs):
        leaves, in_tree = _tree_flatten((args, kwargs))
        return Call(leaves, in_tree, (), None)
    statics: list = []
    dynamic, positions = [], []
    for i, arg in enumerate(args):
        if i in static_argnums or i - len(args) in static_argnums:
            statics.append((i, type(arg), signatures.hashable(arg, fun)))
        else:
            dynamic.append(arg)
            positions.append(i)
    keywords = {}
    for name, value in kwargs.items():
        if name in static_argnames:
            statics.append((name, type(value), signatures.hashable(value, fun)))
        else:
            keywords[name] = value
    leaves, in_tree = _tree_flatten((tuple(dynamic), keywords))
    return Call(leaves, in_tree, tuple(statics), tuple(positions))


def find_avals(call: Call, fun: Callable, aval_of: Callable = get_aval) -> None:
    """Fill in the avals; TypeError or OverflowError names the offending argument."""
    try:
        call.avals = tuple([aval_of(leaf) for leaf in call.leaves])
    except TypeError:
        _refuse_argument(call, fun, aval_of)
        raise
    for leaf in call.leaves:
        if type(leaf) is int:
            low, high = _INT_LIMIT[avals_module.scalar_aval(int).dtype.itemsize]
            if not low <= leaf <= high:
                name = _name_of(call, fun, leaf)
                raise OverflowError(
                    "An overflow was encountered while parsing an argument to a jitted "
                    f"computation, whose argument path is {name}: the Python integer {leaf} does "
                    "not fit the default integer type; pass a NumPy or jax array of a wider dtype "
                    "(with jax_enable_x64).")


def input_names_of(call: Call, fun: Callable) -> tuple:
    """Names of the flat dynamic inputs of a call."""
    return _LazyNames(call)(fun)


def _name_of(call: Call, fun: Callable, leaf: Any) -> str:
    for name, found in zip(input_names_of(call, fun), call.leaves):
        if found is leaf:
            return name
    return "?"


def _refuse_argument(call: Call, fun: Callable, aval_of: Callable) -> None:
    for name, leaf in zip(input_names_of(call, fun), call.leaves):
        try:
            aval_of(leaf)
        except TypeError as error:
            raise TypeError(
                f"Error interpreting argument to {source.function_location(fun)} as an abstract "
                f"array. The problematic value is of type {type(leaf)} and was passed to the "
                f"function at path {name}: {error}. Arguments of a traced function are arrays, "
                "scalars, or trees of them; mark others static with static_argnums or "
                f"static_argnames, e.g. static_argnames={name.partition('[')[0]!r}."
            ) from None


# --- tracing ---------------------------------------------------------------------------------


def traced_program(fun: Callable, identity: identities.FunctionIdentity, call: Call,
                   traced_for: str = "jit") -> Traced:
    """The program of `fun` for these avals, traced now or before."""
    key = (call.in_tree, call.avals, call.statics, _native.config_id(), traces.axis_environment())
    varies = varying.entering(call.leaves)
    if varies is not None:
        key = (*key, varies.key())
    found = identity.traced.get(key)
    if found is not None:
        return found
    current = _native.current_trace()
    bodies = _bodies_of(current)
    if bodies is not None:
        found = bodies.get((identity, key))
        if found is not None:
            return found
    identity = identities.still_valid(fun, identity)
    if debug.enabled("cache") or config.explain_cache_misses.value:
        explain_miss(fun, identity, call, key)
    found = trace_call(fun, call, traced_for)
    if any(isinstance(c, Tracer) for c in found.hoisted):
        if bodies is not None:
            bodies[(identity, key)] = found
    else:
        identity.remember(key, found)
        consts = found.jaxpr.consts
        if consts:
            identities.account(identity, sum(getattr(c, "nbytes", 0) for c in consts))
    return found


def _bodies_of(trace: Any) -> dict | None:
    if type(trace) is not JaxprTrace:
        return None
    if trace.bodies is None:
        trace.bodies = {}
    return trace.bodies


def trace_call(fun: Callable, call: Call, traced_for: str = "jit") -> Traced:
    """Run `fun` on tracers once."""
    in_tree, statics = call.in_tree, call.statics
    out_tree: list = []

    varies = varying.entering(call.leaves)

    def flat(*tracers):
        if varies is not None:
            varies.enter(tracers)
        args, kwargs = in_tree.unflatten(tracers)
        if statics:
            args, kwargs = _with_statics(args, kwargs, statics)
        outs, tree = _tree_flatten(fun(*args, **kwargs))
        out_tree.append(tree)
        return outs

    info = DebugInfo(traced_for, fun, names=_LazyNames(call))
    jaxpr, consts = trace_flat(flat, call.avals, info)
    name = source.function_name(fun) if hasattr(fun, "__name__") or hasattr(fun, "func") \
        else "<unnamed function>"
    hoisted: list = []
    if any(isinstance(c, Tracer) for c in consts):
        jaxpr, hoisted, consts = convert_constvars(jaxpr), consts, []
    if config.enable_checks.value or debug.check_level():
        check_jaxpr(jaxpr)
    return Traced(ClosedJaxpr(jaxpr, consts), in_tree, out_tree[0], name, hoisted)


class _LazyNames:
    """Names of the flat inputs, found when a message needs them."""

    __slots__ = ("count", "in_tree", "positions")

    def __init__(self, call: Call):
        self.count, self.in_tree, self.positions = len(call.leaves), call.in_tree, call.positions

    def __call__(self, fun: Callable) -> tuple:
        return signatures.input_names(fun, self.in_tree.unflatten(list(range(self.count))),
                                      self.positions)


def _with_statics(args: Sequence, kwargs: dict, statics: tuple) -> tuple[list, dict]:
    args, kwargs = list(args), dict(kwargs)
    for where, _, value in statics:                  # positions come in increasing order
        if isinstance(where, int):
            args.insert(where, value)
        else:
            kwargs[where] = value
    return args, kwargs


# --- why was it traced again? ------------------------------------------------------------------


def explain_miss(fun: Callable, identity: identities.FunctionIdentity, call: Call,
                 key: tuple) -> None:
    """Print how this signature differs from the nearest one traced before."""
    where = source.function_location(fun)
    if not identity.traced:
        debug.log_always("cache", f"{where}: traced for the first time")
        return
    nearest = min((_differences(fun, call, key, old) for old in identity.traced), key=len)
    debug.log_always("cache", f"{where}: traced again: " + "; ".join(nearest))


def _differences(fun: Callable, call: Call, new: tuple, old: tuple) -> list[str]:
    out = []
    if new[0] != old[0]:
        out.append(f"argument structure {old[0]} -> {new[0]}")
    else:
        for name, a, b in zip(input_names_of(call, fun), old[1], new[1]):
            if a is not b:
                out.append(f"argument {name}: {_long(a)} -> {_long(b)}")
    if new[2] != old[2]:
        out.append(f"static values {[s[2] for s in old[2]]} -> {[s[2] for s in new[2]]}")
    if new[3] != old[3]:
        out.append("a switch of jax.config changed")
    if new[4] != old[4]:
        out.append(f"named axes {old[4]} -> {new[4]}")
    return out or ["a function it depends on changed"]


def _long(aval: ShapedArray) -> str:
    return aval.str_short() + (" (weak)" if aval.weak_type else "")
