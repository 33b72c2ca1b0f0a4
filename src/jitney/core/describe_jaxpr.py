"""What a program is, as bytes: equal bytes, equal machine code for equal operand types.

In: a Jaxpr. Out: bytes that another process would write for the same program, or None where
something in it has no such description (functions to be called back, arrays of any size, effects).
Left out is what compiled code does not depend on: names, source lines, rules of differentiation.
"""

from __future__ import annotations

import enum
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
_SIMPLE = frozenset((type(None), bool, int, float, complex, str, bytes))


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
    """Numbers variables and the programs met before, in order of appearance."""

    def __init__(self):
        self.programs: dict[int, int] = {}

    def program(self, jaxpr: Jaxpr) -> tuple:
        number = self.programs.get(id(jaxpr))
        if number is not None:
            return ("again", number)
        self.programs[id(jaxpr)] = len(self.programs)
        if jaxpr.effects:
            raise _NoDescription
        names: dict[Any, int] = {}
        for var in (*jaxpr.constvars, *jaxpr.invars):
            names[var] = len(names)
        inputs = tuple([_type(v.aval) for v in names])
        lines = tuple([self.equation(eqn, names) for eqn in jaxpr.eqns])
        return (len(jaxpr.constvars), inputs, lines, _atoms(jaxpr.outvars, names))

    def equation(self, eqn: Any, names: dict) -> tuple:
        name = eqn.primitive.name
        unused = _UNUSED.get(name, _NOTHING)
        operands = _atoms(eqn.invars, names)
        params = tuple([(k, self.value(v)) for k, v in sorted(eqn.params.items())
                        if k not in unused])
        for var in eqn.outvars:
            names[var] = len(names)
        return (name, operands, params, tuple([_type(v.aval) for v in eqn.outvars]))

    def value(self, value: Any) -> Any:
        kind = type(value)
        if kind in _SIMPLE:
            return (kind.__name__, value)
        if isinstance(value, tuple):
            name = getattr(value, "name", None)
            if name in _GENERATORS and hasattr(value, "random_bits"):
                return ("generator", name)              # functions, known by their name
            return (kind.__name__, tuple([self.value(v) for v in value]))
        if kind is list:
            return ("list", tuple([self.value(v) for v in value]))
        if kind is ClosedJaxpr:
            consts = tuple([_constant(c) for c in value.consts])
            return ("closed", self.program(value.jaxpr), consts)
        if kind is Jaxpr:
            return ("open", self.program(value))
        if isinstance(value, enum.Enum):
            return (kind.__name__, value.name)
        if isinstance(value, np.dtype):
            return ("dtype", value.name)
        if isinstance(value, np.generic):
            return ("scalar", *_constant(value))
        raise _NoDescription


def _type(aval: Any) -> tuple:
    return (type(aval).__name__, tuple(aval.shape), str(aval.dtype), aval.weak_type)


def _atoms(atoms: list, names: dict) -> tuple:
    return tuple([
        (_constant(a.val), _type(a.aval)) if type(a) is Literal else names[a] for a in atoms])


def _constant(value: Any) -> tuple:
    if isinstance(value, (bool, int, float, complex)):
        return (type(value).__name__, value)
    if not isinstance(value, (np.generic, np.ndarray)) or value.dtype.hasobject:
        raise _NoDescription
    array = np.asarray(value)
    if array.nbytes > _LARGEST_CONSTANT:
        raise _NoDescription
    return (array.dtype.name, array.shape, array.tobytes())
