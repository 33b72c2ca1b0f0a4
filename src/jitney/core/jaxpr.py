"""Jaxprs: programs as data. A list of equations in order, each a primitive applied to atoms.

    { lambda consts ; inputs . let  outs = primitive[params] atoms …  in (results) }

Invariants: every variable is bound once, before it is used; every variable has an aval; a
`Literal` is a scalar. Jaxprs are treated as immutable: passes build new ones.
Read next: staging (how one is made), print_jaxpr (text), check (the rules as code).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from jitney.base import source
from jitney.core.avals import Array, ShapedArray, get_aval
from jitney.core.primitive import Primitive

NO_EFFECTS: frozenset = frozenset()


class Var:
    """A variable: identity and aval, nothing else. Names are given when printing."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self):
        return f"Var(id={id(self)}):{self.aval.str_short()}"


class DropVar(Var):
    """A result nobody uses; printed `_`.

    Inside other programs one that tracing made is printed with a name, as JAX does, which drops
    names in whole programs only; one that a transformation made is `_` everywhere.
    """

    __slots__ = ("by_tracing",)

    def __init__(self, aval: ShapedArray, by_tracing: bool = False):
        self.aval, self.by_tracing = aval, by_tracing

    def __repr__(self):
        return "_"


class Literal:
    """A scalar constant written in place."""

    __slots__ = ("val", "aval")

    def __init__(self, val: Any, aval: ShapedArray):
        self.val, self.aval = val, aval

    def __repr__(self):
        return f"Literal({literal_text(self)})"

    def as_numpy(self) -> np.ndarray:
        return np.asarray(self.val).astype(self.aval.dtype, copy=False)


def literal_text(literal: Literal) -> str:
    value = literal.val
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.item() if hasattr(value, "item") else value
    return f"{value}:{literal.aval.str_short(short_dtypes=True)}"


Atom = Var | Literal


class JaxprEqn:
    """One equation: `outvars = primitive[params] invars`."""

    __slots__ = ("primitive", "invars", "outvars", "params", "effects", "source")

    def __init__(self, primitive: Primitive, invars: list, outvars: list, params: dict,
                 source: Any = None, effects: frozenset = NO_EFFECTS):
        self.primitive, self.invars, self.outvars = primitive, invars, outvars
        self.params, self.source, self.effects = params, source, effects

    @property
    def source_info(self):
        return self.source

    def source_summary(self) -> str:
        return source.summarize(self.source)

    def replace(self, **changes: Any) -> JaxprEqn:
        fields = {name: getattr(self, name) for name in self.__slots__}
        fields.update(changes)
        return JaxprEqn(**fields)

    def __repr__(self):
        return equation_text(self)


class DebugInfo:
    """What a program was traced from: for messages and names, computed when asked for.

    The function is held weakly (a program must not keep it alive); `names(fun)` gives the names
    of the flat inputs.
    """

    __slots__ = ("traced_for", "func_name", "_code", "_fun", "_names", "result_paths")

    def __init__(self, traced_for: str, fun: Any = None, names: Any = None,
                 result_paths: tuple | None = None):
        self.traced_for, self.func_name = traced_for, source.function_name(fun)
        self._code = getattr(source.innermost_function(fun), "__code__", None)
        self._fun: Callable[[], Any]
        try:
            self._fun = weakref.ref(fun)
        except TypeError:
            self._fun = lambda: fun
        self._names, self.result_paths = names, result_paths

    @property
    def arg_names(self) -> tuple[str, ...] | None:
        """Names of the flat inputs, such as `x` or `params['w']`; None when not known any more."""
        if callable(self._names):
            fun = self._fun()
            if fun is None:
                return None
            self._names = tuple(self._names(fun))
        return self._names

    @property
    def func_src_info(self) -> str:
        return self.function_location()

    def function_location(self) -> str:
        code = self._code
        where = f" at {code.co_filename}:{code.co_firstlineno}" if code is not None else ""
        return f"{self.func_name}{where}"

    def __repr__(self):
        return (f"DebugInfo(traced_for={self.traced_for!r}, "
                f"func_src_info={self.function_location()!r}, arg_names={self.arg_names})")


class Jaxpr:
    """A program with free constants: `constvars` are bound by whoever holds the values."""

    __slots__ = ("constvars", "invars", "outvars", "eqns", "effects", "debug_info", "__weakref__")

    def __init__(self, constvars: Sequence[Var], invars: Sequence[Var], outvars: Sequence[Atom],
                 eqns: Sequence[JaxprEqn], effects: frozenset | None = None,
                 debug_info: DebugInfo | None = None):
        self.constvars, self.invars = list(constvars), list(invars)
        self.outvars, self.eqns = list(outvars), list(eqns)
        self.effects = effects_of(eqns) if effects is None else effects
        self.debug_info = debug_info

    @property
    def in_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.outvars]

    def replace(self, **changes: Any) -> Jaxpr:
        fields: dict[str, Any] = {
            "constvars": self.constvars, "invars": self.invars, "outvars": self.outvars,
            "eqns": self.eqns, "debug_info": self.debug_info}
        fields["effects"] = None if "eqns" in changes else self.effects
        fields.update(changes)
        return Jaxpr(**fields)

    def __repr__(self):
        return jaxpr_text(self)

    def pretty_print(self, **options: Any) -> str:
        """The text, with the options of `print_jaxpr.print_program`."""
        return jaxpr_text(self, **options)


class ClosedJaxpr:
    """A jaxpr together with the values of its constvars."""

    __slots__ = ("jaxpr", "consts", "__weakref__")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()):
        if len(jaxpr.constvars) != len(consts):
            raise ValueError(f"{len(jaxpr.constvars)} constvars, {len(consts)} constants")
        self.jaxpr, self.consts = jaxpr, list(consts)

    in_avals = property(lambda self: [v.aval for v in self.jaxpr.invars])
    out_avals = property(lambda self: [v.aval for v in self.jaxpr.outvars])
    eqns = property(lambda self: self.jaxpr.eqns)
    effects = property(lambda self: self.jaxpr.effects)
    literals = property(lambda self: self.consts)
    debug_info = property(lambda self: self.jaxpr.debug_info)

    def replace(self, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None):
        return ClosedJaxpr(self.jaxpr if jaxpr is None else jaxpr,
                           self.consts if consts is None else consts)

    def map_jaxpr(self, change: Callable[[Jaxpr], Jaxpr]) -> ClosedJaxpr:
        return ClosedJaxpr(change(self.jaxpr), self.consts)

    def __repr__(self):
        return jaxpr_text(self.jaxpr)

    def pretty_print(self, **options: Any) -> str:
        """The text, with the options of `print_jaxpr.print_program`."""
        return jaxpr_text(self.jaxpr, **options)


# The printer lives one file on and needs these classes; it puts itself here.
_printers: dict[str, Callable] = {}


def jaxpr_text(jaxpr: Jaxpr, **options: Any) -> str:
    return _printers["jaxpr"](jaxpr, **options)


def equation_text(eqn: JaxprEqn) -> str:
    return _printers["equation"](eqn)


# --- small tools -----------------------------------------------------------------------------


def effects_of(eqns: Sequence[JaxprEqn]) -> frozenset:
    found = NO_EFFECTS
    for eqn in eqns:
        if eqn.effects:
            found = found | eqn.effects
    return found


def jaxprs_in_params(params: dict) -> Iterator[Jaxpr]:
    """The jaxprs among the parameters of an equation (also inside tuples and lists)."""
    for value in params.values():
        yield from _jaxprs_in(value)


def _jaxprs_in(value: Any) -> Iterator[Jaxpr]:
    if type(value) is Jaxpr:
        yield value
    elif type(value) is ClosedJaxpr:
        yield value.jaxpr
    elif type(value) in (tuple, list):
        for item in value:
            yield from _jaxprs_in(item)


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The jaxprs directly inside the equations."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def is_literal_value(x: Any) -> bool:
    """Scalars of Python and NumPy are written in place; Arrays become constants."""
    return type(x) is not Array and (
        isinstance(x, (bool, int, float, complex, np.generic))
        or (isinstance(x, np.ndarray) and x.ndim == 0))


def make_literal(x: Any) -> Literal:
    return Literal(x[()] if isinstance(x, np.ndarray) else x, get_aval(x))


def convert_constvars(jaxpr: Jaxpr) -> Jaxpr:
    """The same program with its constants as leading inputs."""
    if not jaxpr.constvars:
        return jaxpr
    return jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars], debug_info=None)


def close_jaxpr(jaxpr: Jaxpr) -> ClosedJaxpr:
    """A program without constants, closed."""
    return ClosedJaxpr(jaxpr, ())
