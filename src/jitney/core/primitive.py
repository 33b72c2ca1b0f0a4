"""Primitives: named operations to which every interpretation attaches its own rule.

In: positional arguments are data (tracers or values), keywords are static parameters. Out:
whatever the current trace makes of the application: a recorded equation, a jvp, a value.

    sin_p = Primitive("sin")
    sin_p.def_abstract(lambda x: ShapedArray(x.shape, x.dtype, x.weak_type))
    sin_p.def_reference(np.sin)
    sin_p.bind(1.0)

Invariant: a parameter never holds a tracer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitney import _native
from jitney.core import slots

_current_trace = _native.current_trace
_config_id = _native.config_id
_by_name: dict[str, Primitive] = {}
_ABSTRACT_MEMO_LIMIT = 16384


class Primitive:
    """One operation of the language."""

    __slots__ = ("name", "multiple_results", "abstract_rule", "reference_rule", "effects_rule",
                 "params_for_print", "attributes", "_abstract_memo", "__weakref__")

    def __init__(self, name: str, multiple_results: bool = False, **attributes: Any):
        self.name, self.multiple_results = name, multiple_results
        self.abstract_rule: Callable | None = None
        self.reference_rule: Callable | None = None
        self.effects_rule: Callable | None = None
        self.params_for_print: Callable | None = None
        self.attributes = attributes
        self._abstract_memo: dict[tuple, Any] = {}
        _by_name[name] = self

    def __repr__(self):
        return self.name

    def __reduce__(self):
        return named, (self.name,)

    # --- definition

    def def_abstract(self, rule: Callable) -> Callable:
        """`rule(*avals, **params)` gives the result's ShapedArray (or a list of them)."""
        self.abstract_rule = rule
        return rule

    def def_reference(self, rule: Callable) -> Callable:
        """`rule(*ndarrays, **params)` is the meaning, in NumPy; shape and dtype as abstract."""
        self.reference_rule = rule
        return rule

    def def_effects(self, rule: Callable) -> Callable:
        """`rule(*avals, **params)` gives the set of effects; equations with any are kept."""
        self.effects_rule = rule
        return rule

    def def_print(self, rule: Callable) -> Callable:
        """`rule(params, eqn)` gives the parameters shown in a jaxpr's text."""
        self.params_for_print = rule
        return rule

    # --- use

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply to arguments under the current trace; evaluate when there is none."""
        trace = _current_trace()
        if trace is None:
            for arg in args:
                if isinstance(arg, _TracerBase):
                    trace = arg._trace_for_binding(self)
                    return _bind_under(trace, self, args, params)
            return slots.eager_evaluate(self, args, params)
        binder = slots.binder
        if binder is not None:
            return binder(self, trace, args, params)
        return trace.process_primitive(self, args, params)

    def bind_with_trace(self, trace: Any, args: tuple, params: dict) -> Any:
        """Apply under a given trace (None: evaluate), whatever the current one is."""
        before = _native.swap_trace(trace)
        try:
            return self.bind(*args, **params)
        finally:
            _native.swap_trace(before)

    def abstract_eval(self, *avals: Any, **params: Any) -> Any:
        """The result's aval (or list of avals), remembered for hashable parameters.

        Not for primitives with several results: their parameters may hold whole programs.
        """
        if self.multiple_results:
            return self._abstract(avals, params)
        memo = self._abstract_memo
        try:
            key = (avals, tuple(params.items()), _config_id())     # rules may narrow dtypes
            found = memo.get(key)
        except TypeError:
            return self._abstract(avals, params)
        if found is None:
            found = self._abstract(avals, params)
            if len(memo) >= _ABSTRACT_MEMO_LIMIT:
                memo.clear()
            memo[key] = found
        return found

    def _abstract(self, avals: tuple, params: dict) -> Any:
        rule = self.abstract_rule
        if rule is None:
            raise NotImplementedError(f"primitive {self.name} has no type rule (def_abstract)")
        return rule(*avals, **params)

    def effects(self, avals: tuple, params: dict) -> frozenset:
        return frozenset(self.effects_rule(*avals, **params)) if self.effects_rule else _NO_EFFECTS


_NO_EFFECTS: frozenset = frozenset()


class _TracerBase:
    """What `bind` recognises as traced; `core.trace.Tracer` derives from it."""

    __slots__ = ()

    def _trace_for_binding(self, primitive: Primitive) -> Any:
        raise NotImplementedError


def _bind_under(trace: Any, primitive: Primitive, args: tuple, params: dict) -> Any:
    before = _native.swap_trace(trace)
    try:
        return trace.process_primitive(primitive, args, params)
    finally:
        _native.swap_trace(before)


def named(name: str) -> Primitive:
    """The primitive of that name (the most recently defined one)."""
    return _by_name[name]


def all_primitives() -> dict[str, Primitive]:
    """Every primitive defined so far, by name."""
    return dict(_by_name)
