"""Along which mesh axes values vary, while the body of a checking `shard_map` is traced.

In: applications of primitives (`slots.binder`). Out: the same, with `pvary` put before operands
that vary along fewer axes than others, and a set of axes for every value of the body's program.
Values the body gets from outside vary along the axes of their specs; results vary along the axes of
their operands, less those that are summed over.

[Note: programs inside equations] Bodies of loops and branches, and of `jit` and `checkpoint`, are
traced with inputs that vary like the values that will come in (`Entering`). What a loop carries
varies like its start, or more if a step makes it so: then the body is traced again. Programs that
rules of transformations trace are left as they are: they say all they need themselves.
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
# equations whose programs were traced with inputs that vary like their operands
_TYPED = ("scan", "while", "cond", "jit", "remat2", "checkpoint", "shard_map", "custom_jvp_call",
          "custom_vjp_call", "pvary")


class Mode:
    """The axes of one body, and what is known of its variables."""

    def __init__(self, axes: Axes, trace: Any = None, outer: Mode | None = None):
        self.axes, self.trace, self.outer = axes, trace, outer
        self.traces = [trace]               # those that write what users do
        self.known: dict[Any, Axes] = {}
        self.branches: dict[int, Axes] = {}     # id of a trace in `traces` -> axes of the choice

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
            return self._of_variable(variable, x._trace) | self._around(x._trace)
        for part in ("primal", "value"):
            inner = getattr(x, part, None)
            if inner is not None:
                return self.of(inner)
        return None

    def _around(self, home: Any) -> Axes:
        """The axes along which it varies whether the present branch is taken, for a value from
        outside of it: its part in the branch varies, too."""
        axes, trace = _NONE, _native.current_trace()
        while self.branches and trace is not None and trace is not home:
            axes |= self.branches.get(id(trace), _NONE)
            trace = trace.parent
        return axes

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
        if not self._tracks(trace):
            return trace.process_primitive(primitive, args, params)
        if name in ("psum", *_REDUCING, *_SPREADING):
            primitive, args, params = self._collective(primitive, args, params)
        elif name not in _TYPED and len(args) > 1:
            args = self._evened(args)
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

    def _tracks(self, trace: Any) -> bool:
        while trace is not None and not trace.staging:
            trace = trace.parent
        return any(trace is known for known in self.traces)

    def enter(self, tracers: Sequence, varies: Sequence[Axes]) -> None:
        """The present trace writes a program of the user with inputs that vary so."""
        self.traces.append(_native.current_trace())
        for tracer, axes in zip(tracers, varies, strict=True):
            self._note(tracer, axes)

    def _evened(self, args: tuple) -> tuple:
        """All operands made to vary like those that vary most."""
        varies = [self.of(x) for x in args]
        union = _NONE.union(*[v for v in varies if v])
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
    if name == "scan":
        first = params["num_consts"]
        return _loop_varies(inner[0], varies, first, first + params["num_carry"])
    if name == "while":
        first = params["cond_nconsts"]
        return _loop_varies(params["body_jaxpr"].jaxpr, varies[first:], params["body_nconsts"],
                            len(varies) - first)
    if name == "cond":
        outs = [jaxpr_varies(branch, varies[1:]) for branch in inner]
        return [varies[0].union(*column) for column in zip(*outs)]
    if name in _TYPED and inner and len(inner[0].invars) == len(varies):
        return jaxpr_varies(inner[0], varies)
    return [union] * count


def _loop_varies(body: Jaxpr, varies: Sequence[Axes], first: int, end: int) -> list[Axes]:
    """For operands (constants, carry, rest), the carry being those from `first` to `end`."""
    varies = list(varies)
    while True:
        outs = jaxpr_varies(body, varies)
        grown = [v | o for v, o in zip(varies[first:end], outs)]
        if grown == varies[first:end]:
            return outs
        varies[first:end] = grown


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


# --- programs inside equations --------------------------------------------------------------------


class Entering:
    """How the inputs of a program vary that is about to be traced; the first `carried` of them are
    also its first results. `least` says how much its results must vary, `choice` along which axes
    it varies whether the program runs."""

    def __init__(self, varies: list[Axes], carried: int = 0, choice: Axes = _NONE):
        self.varies, self.carried, self.grew = [v | choice for v in varies], carried, False
        self.choice = choice
        self.least: list[Axes] | None = None

    def key(self) -> tuple:
        return (tuple(self.varies), None if self.least is None else tuple(self.least),
                self.choice)

    def enter(self, tracers: Sequence) -> None:
        current = _mode()
        current.enter(tracers, self.varies)
        if self.choice:
            current.branches[id(current.traces[-1])] = self.choice

    def leave(self, outs: Sequence) -> list:
        """The results, made to vary as they must; notes whether the carry grew."""
        current, out = _mode(), list(outs)
        for i in range(min(self.carried, len(out))):
            axes = self.varies[i] | (current.of(out[i]) or _NONE)
            self.grew |= axes != self.varies[i]
            self.varies[i] = axes
            out[i] = current.vary(out[i], axes)
        for i, axes in enumerate(self.least or ()):
            out[i] = current.vary(out[i], axes)
        return out

    def has_grown(self) -> bool:
        """Whether the program must be traced again (asked once)."""
        grew, self.grew = self.grew, False
        return grew

    def matched(self, values: Sequence) -> list:
        """Values that vary as the first inputs do."""
        return [_mode().vary(x, axes) for x, axes in zip(values, self.varies)]

    def matched_constants(self, values: Sequence) -> list:
        """Values closed over that vary as the choice does."""
        return [_mode().vary(x, self.choice) for x in values]

    def even_results(self, jaxprs: Sequence[Jaxpr], consts: Sequence[Sequence]) -> bool:
        """For branches: notes how much every result must vary; whether some must be made to."""
        current = _mode()
        outs = [jaxpr_varies(j, [*[(current.of(c) or _NONE) | self.choice for c in own],
                                 *self.varies]) for j, own in zip(jaxprs, consts)]
        self.least = [self.choice.union(*column) for column in zip(*outs)]
        return any(o != self.least for o in outs)


def entering(values: Sequence, carried: int = 0, choice: Any = None) -> Entering | None:
    """For a program of the user that gets these values, and runs if `choice` says so; None where
    nothing is tracked."""
    current = _state.mode
    if current is None or not current._tracks(_native.current_trace()):
        return None
    return Entering([current.of(x) or _NONE for x in values], carried, current.of(choice) or _NONE)


def _mode() -> Mode:
    assert _state.mode is not None
    return _state.mode


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
