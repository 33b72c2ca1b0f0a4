"""Along which mesh axes values vary, while the body of a checking `shard_map` is traced.

In: applications of primitives (`slots.before_bind`). Out: the same, with `pvary` put before
operands that vary along fewer axes than others, and a set of axes for every value of the body's
program. Values the body gets from outside vary along the axes of their specs; results vary along
the axes of their operands, less those that are summed over.

[Note: programs inside equations] Inputs of the body of a loop, branch or `jit` count as varying
along all axes while it is traced. So if there is a collective in it, its operands are made to vary
along all axes; otherwise along the axes of any of them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from jitney import _native
from jitney.core import slots
from jitney.core.jaxpr import Jaxpr, Literal, jaxprs_in_params
from jitney.core.primitive import Primitive, named
from jitney.core.trace import Tracer
from jitney.placement.partition_spec import mentioned

Axes = frozenset

_NONE: Axes = frozenset()
_REDUCING = ("psum_invariant", "pmax", "pmin")
_SPREADING = ("all_gather", "reduce_scatter", "all_to_all", "ppermute")
_COLLECTIVES = {"psum", "pvary", *_REDUCING, *_SPREADING, "axis_index"}


class Mode:
    """The axes of one body, and what is known of its variables."""

    def __init__(self, axes: Axes, trace: Any = None, outer: Mode | None = None):
        self.axes, self.trace, self.outer = axes, trace, outer
        self.known: dict[Any, Axes] = {}

    # --- what is known

    def of(self, x: Any) -> Axes | None:
        """The axes along which `x` varies; None for tangents, of which nothing is known."""
        if not isinstance(x, Tracer):
            return _NONE
        variable = getattr(x, "variable", None)
        if variable is not None:
            if type(variable) is Literal:
                return _NONE
            if not getattr(x._trace, "staging", False):
                return None
            return self._of_variable(variable, x._trace)
        for part in ("primal", "value"):
            inner = getattr(x, part, None)
            if inner is not None:
                return self.of(inner)
        return None

    def _of_variable(self, variable: Any, trace: Any) -> Axes:
        found = self.known.get(variable)
        if found is None and not self._is_inside(trace):
            found = _NONE if self.outer is None else self.outer._of_variable(variable, trace)
        if found is None and variable not in trace.invars:
            found = self._of_result(variable, trace)
        if found is None:
            found = self.axes                   # an input of a program inside an equation
        self.known[variable] = found
        return found

    def _of_result(self, variable: Any, trace: Any) -> Axes | None:
        """For equations that were not recorded by `bind`."""
        for eqn in reversed(trace.eqns):
            if variable in eqn.outvars:
                varies = [_NONE if type(v) is Literal else self._of_variable(v, trace)
                          for v in eqn.invars]
                outs = results_vary(eqn.primitive, varies, eqn.params, len(eqn.outvars))
                return outs[eqn.outvars.index(variable)]
        return _NONE if any(variable is v for v, _ in trace.constants.values()) else None

    def _is_inside(self, trace: Any) -> bool:
        while trace is not None:
            if trace is self.trace:
                return True
            trace = trace.parent
        return False

    def vary(self, x: Any, axes: Any) -> Any:
        """`x`, made to vary along `axes` as well."""
        now = self.of(x)
        missing = _NONE if now is None else frozenset(axes) - now
        if not missing:
            return x
        return named("pvary").bind(x, axes=_ordered(missing))

    # --- applications of primitives

    def bind(self, primitive: Primitive, trace: Any, args: tuple, params: dict) -> Any:
        name = primitive.name
        if name in ("psum", *_REDUCING, *_SPREADING):
            primitive, args, params = self._collective(primitive, args, params)
        elif name not in ("pvary", "shard_map") and len(args) > 1:
            args = self._evened(args, params)
        varies = [self.of(x) for x in args]
        out = trace.process_primitive(primitive, args, params)
        if None not in varies:
            outs = out if isinstance(out, (list, tuple)) else [out]
            for x, axes in zip(outs, results_vary(primitive, varies, params, len(outs))):
                self._note(x, axes)
        return out

    def _collective(self, primitive: Primitive, args: tuple, params: dict) -> tuple:
        axes = _names(primitive.name, params)
        args = tuple([self.vary(x, set(axes) & self.axes) for x in args])
        if primitive.name == "psum" and set(axes) <= self.axes:
            if params["axis_index_groups"] is not None:
                raise NotImplementedError(
                    "psum with axis_index_groups in a shard_map that checks which values vary: "
                    "pass check_vma=False to shard_map")
            return named("psum_invariant"), args, {"axes": params["axes"]}
        return primitive, args, params

    def _evened(self, args: tuple, params: dict) -> tuple:
        """All operands that vary as much as the most varying one; see the note above."""
        varies = [self.of(x) for x in args]
        union = _NONE.union(*[v for v in varies if v])
        if any(_mentions_collective(j) for j in jaxprs_in_params(params)):
            union = self.axes
        if all(v is None or v == union for v in varies):
            return args
        return tuple([self.vary(x, union) if v is not None and isinstance(x, Tracer) else x
                      for x, v in zip(args, varies)])

    def _note(self, x: Any, axes: Axes) -> None:
        variable = getattr(x, "variable", None)
        if variable is not None and type(variable) is not Literal:
            self.known[variable] = axes


def _ordered(axes: Any) -> tuple:
    return tuple(sorted(axes, key=str))


def _names(name: str, params: dict) -> tuple:
    found = params["axes"] if "axes" in params else params["axis_name"]
    return found if isinstance(found, tuple) else (found,)


def _mentions_collective(jaxpr: Jaxpr) -> bool:
    return any(eqn.primitive.name in _COLLECTIVES
               or any(map(_mentions_collective, jaxprs_in_params(eqn.params)))
               for eqn in jaxpr.eqns)


# --- results of equations -------------------------------------------------------------------------


def results_vary(primitive: Primitive, varies: Sequence[Axes], params: dict,
                 count: int) -> list[Axes]:
    """The axes along which each result varies, from those of the operands."""
    name, union = primitive.name, _NONE.union(*varies)
    if name in _REDUCING or (name == "psum" and params["axis_index_groups"] is None):
        return [union - set(_names(name, params))]
    if name in _SPREADING or name in ("pvary", "psum", "axis_index"):
        return [union | set(_names(name, params))]
    inner = list(jaxprs_in_params(params))
    if name == "shard_map":
        given = [v | set(mentioned(s)) for v, s in zip(varies, params["in_specs"])]
        return [v - params["newly_manual_axes"] for v in jaxpr_varies(inner[0], given)]
    if not any(map(_mentions_collective, inner)):
        return [union] * count
    if len(inner) == 1 and len(inner[0].invars) == len(varies) and name not in ("scan", "while"):
        return jaxpr_varies(inner[0], varies)
    axes: set = set(union)
    for jaxpr in inner:
        axes |= _all_mentioned(jaxpr)
    return [frozenset(axes)] * count


def _all_mentioned(jaxpr: Jaxpr) -> set:
    found: set = set()
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in _COLLECTIVES:
            found |= set(_names(eqn.primitive.name, eqn.params))
        for inner in jaxprs_in_params(eqn.params):
            found |= _all_mentioned(inner)
    return found


def jaxpr_varies(jaxpr: Jaxpr, varies: Sequence[Axes]) -> list[Axes]:
    """The axes along which each result of a program varies."""
    known: dict[Any, Axes] = dict.fromkeys(jaxpr.constvars, _NONE)
    known.update(zip(jaxpr.invars, varies, strict=True))

    def read(atom: Any) -> Axes:
        return _NONE if type(atom) is Literal else known[atom]

    for eqn in jaxpr.eqns:
        outs = results_vary(eqn.primitive, [read(v) for v in eqn.invars], eqn.params,
                            len(eqn.outvars))
        known.update(zip(eqn.outvars, outs))
    return [read(v) for v in jaxpr.outvars]


# --- the mode of a thread -------------------------------------------------------------------------


class _State(threading.local):
    mode: Mode | None = None


_state = _State()


def mode() -> Mode | None:
    """The mode of the body this thread traces, or None."""
    return _state.mode


def _bind(primitive: Primitive, trace: Any, args: tuple, params: dict) -> Any:
    current = _state.mode
    if current is None or trace is None:
        return trace.process_primitive(primitive, args, params)
    return current.bind(primitive, trace, args, params)


@contextlib.contextmanager
def tracking(axes: Axes | None) -> Iterator[Mode | None]:
    """Inside: values are tracked along `axes` (None: not at all), under the present trace."""
    before = _state.mode
    _state.mode = None if axes is None else Mode(axes, _native.current_trace(), before)
    slots.count_binders(_bind, 1)
    try:
        yield _state.mode
    finally:
        slots.count_binders(_bind, -1)
        _state.mode = before


__all__ = ["Mode", "jaxpr_varies", "mode", "results_vary", "tracking"]
