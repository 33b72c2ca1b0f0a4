"""What a program is, as bytes: equal bytes, equal machine code for equal operand types.

In: a Jaxpr. Out: bytes that another process would write for the same program, or None where
something in it has no such description (functions to be called back, arrays of any size, effects).
Left out is what compiled code does not depend on: names, source lines, rules of differentiation.
"""

from __future__ import annotations

import enum
import functools
import marshal
from typing import Any

import numpy as np

from jitney.core.jaxpr import ClosedJaxpr, Jaxpr, Literal

# Written without references between equal parts: what they look like depends on reference counts.
_PLAIN_FORMAT = 2
_LARGEST_CONSTANT = 4096  # bytes
# Parameters that only derivatives look at.
_UNUSED = {
    "custom_jvp_call": frozenset(("jvp_jaxpr_fun", "symbolic_zeros")),
    "custom_vjp_call": frozenset(("fwd_jaxpr_thunk", "bwd", "out_trees", "symbolic_zeros")),
}
_GENERATORS = ("threefry2x32", "rbg", "unsafe_rbg")
_NOTHING: frozenset = frozenset()
_NUMBERS = frozenset((bool, int, float, complex))
_SIMPLE = _NUMBERS | {type(None), str, bytes}


class _NoDescription(Exception):
    pass


def describe_jaxpr(jaxpr: Jaxpr) -> bytes | None:
    """See the module's text."""
    try:
        return marshal.dumps(_Writer().program(jaxpr), _PLAIN_FORMAT)
    except _NoDescription:
        return None


def count_equations(jaxpr: Jaxpr, enough: int) -> int:
    """How many equations a program has with those inside (counting stops at `enough`)."""
    count = len(jaxpr.eqns)
    for eqn in jaxpr.eqns:
        if count >= enough:
            break
        for value in eqn.params.values():
            for inner in value if type(value) in (tuple, list) else (value,):
                if type(inner) in (ClosedJaxpr, Jaxpr):
                    inner = inner.jaxpr if type(inner) is ClosedJaxpr else inner
                    count += count_equations(inner, enough - count)
    return count


class _Writer:
    """Numbers types, variables and programs in order of appearance.

    Plain values and tuples stand for themselves (`marshal` tells their types apart); everything
    else is a list that begins with what it is.
    """

    def __init__(self):
        self.programs: dict[int, int] = {}
        self.types: dict[int, int] = {}

    def type_of(self, aval: Any) -> Any:
        """A number, with the account of the type where it is met first."""
        number = self.types.get(id(aval))
        if number is not None:
            return number
        self.types[id(aval)] = number = len(self.types)
        shape, dtype = tuple(aval.shape), str(aval.dtype)
        return ["type", number, type(aval).__name__, shape, dtype, aval.weak_type]

    def program(self, jaxpr: Jaxpr) -> Any:
        number = self.programs.get(id(jaxpr))
        if number is not None:
            return number
        self.programs[id(jaxpr)] = len(self.programs)
        if jaxpr.effects:
            raise _NoDescription
        names: dict[Any, int] = {}
        for var in (*jaxpr.constvars, *jaxpr.invars):
            names[var] = len(names)
        inputs = [self.type_of(v.aval) for v in names]
        lines = [self.equation(eqn, names) for eqn in jaxpr.eqns]
        return [len(jaxpr.constvars), inputs, lines, self.atoms(jaxpr.outvars, names)]

    def equation(self, eqn: Any, names: dict) -> tuple:
        operands = self.atoms(eqn.invars, names)
        results = []
        for var in eqn.outvars:
            names[var] = len(names)
            results.append(self.type_of(var.aval))
        name, params = eqn.primitive.name, eqn.params
        return (name, operands, self.params(name, params) if params else None, results)

    def atoms(self, atoms: list, names: dict) -> list:
        return [self.literal(a) if type(a) is Literal else names[a] for a in atoms]

    def literal(self, literal: Literal) -> tuple:
        return (_constant(literal.val), self.type_of(literal.aval))

    def params(self, name: str, params: dict) -> list:
        unused = _UNUSED.get(name, _NOTHING)
        found: list[Any] = []
        for key, value in params.items():
            if key not in unused:
                found.append(key)
                found.append(value if type(value) in _SIMPLE else self.value(value))
        return found

    def value(self, value: Any) -> Any:
        kind = type(value)
        if kind in _SIMPLE:
            return value
        if isinstance(value, tuple):
            name = getattr(value, "name", None)
            if name in _GENERATORS and hasattr(value, "random_bits"):
                return ["generator", name]              # functions, known by their name
            items = tuple([self.value(v) for v in value])
            return items if kind is tuple else [kind.__name__, items]
        if kind is list:
            return ["list", [self.value(v) for v in value]]
        if kind is ClosedJaxpr:
            consts = [_constant(c) for c in value.consts]
            return ["closed", self.program(value.jaxpr), consts]
        if kind is Jaxpr:
            return ["open", self.program(value)]
        if isinstance(value, enum.Enum):
            return [kind.__name__, value.name]
        if isinstance(value, np.dtype):
            return ["dtype", value.name]
        if isinstance(value, np.generic):
            return ["scalar", _constant(value)]
        raise _NoDescription


def _constant(value: Any) -> Any:
    if type(value) in _NUMBERS:
        return value
    if not isinstance(value, (np.generic, np.ndarray)) or value.dtype.hasobject:
        raise _NoDescription
    if value.nbytes > _LARGEST_CONSTANT:
        raise _NoDescription
    return (_name_of(value.dtype), value.shape, value.tobytes())


@functools.cache
def _name_of(dtype: np.dtype) -> str:
    return dtype.name
