"""What an elementwise function writes into a jaxpr, remembered: traced once, then written again.

In: an inlined elementwise function (`x + y`, `jnp.sin`), a staging trace, and a call's arguments.
Out: the same equations as running the function, without running it: for operands of one rank
and Python or NumPy scalars they depend on types alone, and a scalar becomes one literal.
Invariant: a recording is kept only if every equation is elementwise, of its operands' shape, and
made of operands, earlier results, constants, or a scalar converted as `convert` does it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitney import _native
from jitney.base import source
from jitney.core import slots
from jitney.core.avals import ShapedArray
from jitney.core.jaxpr import JaxprEqn, Literal, Var, make_literal
from jitney.core.staging import JaxprTrace, JaxprTracer
from jitney.numpy.jitted import ArrayFunction, inlined
from jitney.numpy.promotion import convert

_NUMPY_KINDS = "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 " \
               "complex64 complex128"
_SCALARS = frozenset((bool, int, float, complex,
                      *(getattr(np, name) for name in _NUMPY_KINDS.split())))
_MOST = 4096                            # recordings of one function
_config_id, _current_trace = _native.config_id, _native.current_trace
_user_frame = source.user_frame


class ElementwiseFunction(ArrayFunction):
    """An inlined jitted function; its traced calls are replayed where it has recordings."""

    _recordings: dict | None = None

    def _miss(self, args: tuple, kwargs: dict) -> Any:
        if self._recordings is not None and not kwargs:
            trace = _current_trace()
            if type(trace) is JaxprTrace and slots.binder is None:
                return write_call(self, trace, args)
        return ArrayFunction._miss(self, args, kwargs)


def elementwise(function: Callable) -> Any:
    """An inlined function of arrays whose equations depend on its operands' types alone."""
    jitted = inlined(function)
    jitted.__class__ = ElementwiseFunction
    jitted._recordings = {}
    return jitted


class Recording:
    """Equations of one function for operands of certain types.

    `lines`: (primitive, operands, params, dtype, weak type, whether the result is a scalar);
    an operand is a position among the arguments and the results so far, a `Literal`, or
    `Scalar`: an argument converted. `result` is the position of what the function gives.
    """

    __slots__ = ("lines", "result")

    def __init__(self, lines: list, result: int):
        self.lines, self.result = lines, result


class Scalar:
    """The literal made of a scalar argument."""

    __slots__ = ("position", "dtype", "weak")

    def __init__(self, position: int, dtype: Any, weak: bool):
        self.position, self.dtype, self.weak = position, dtype, weak


def write_call(function: Any, trace: JaxprTrace, args: tuple) -> Any:
    """The result of `function(*args)` under `trace`, its equations written."""
    shape: tuple = ()
    kinds: list = [_config_id()]
    mixed = False
    for arg in args:
        kind = type(arg)
        if kind is JaxprTracer and arg._trace is trace:
            aval = arg.aval
            own = aval.shape
            if own:
                if shape and own != shape:
                    shape = _wide(shape, own)
                    if not shape:
                        return function.__wrapped__(*args)
                    mixed = True
                else:
                    shape = own
            kinds += aval.dtype, aval.weak_type, not own
        elif kind in _SCALARS:
            kinds.append(kind)
        else:
            return function.__wrapped__(*args)
    key = tuple(kinds)
    recordings = function._recordings
    recording = recordings.get(key, False)
    if recording:
        return _replay(recording, trace, args, shape, mixed)
    if recording is None:
        return function.__wrapped__(*args)
    start = len(trace.eqns)
    result = function.__wrapped__(*args)
    if len(recordings) >= _MOST:
        recordings.clear()
    recordings[key] = _record(trace, trace.eqns[start:], args, result)
    return result


def _wide(a: tuple, b: tuple) -> tuple:
    """The shape two arrays of one rank are spread to; () if there is none."""
    if len(a) != len(b):
        return ()
    shape = tuple([n if m == 1 else m for m, n in zip(a, b)])
    return shape if all([m in (1, k) and n in (1, k) for m, n, k in zip(a, b, shape)]) else ()


def _shape_of_result(atoms: list) -> tuple:
    shape: tuple = ()
    for atom in atoms:
        own = atom.aval.shape
        if own and own != shape:
            shape = _wide(shape, own) if shape else own
    return shape


def _replay(recording: Recording, trace: JaxprTrace, args: tuple, shape: tuple,
            mixed: bool) -> JaxprTracer:
    values: list = [arg.variable if type(arg) is JaxprTracer else None for arg in args]
    frame = _user_frame()
    write = trace.eqns.append
    for primitive, operands, params, dtype, weak, scalar in recording.lines:
        atoms: list[Any] = []
        for operand in operands:
            kind = type(operand)
            if kind is int:
                atoms.append(values[operand])
            elif kind is Literal:
                atoms.append(operand)
            else:
                atoms.append(make_literal(
                    convert(args[operand.position], operand.dtype, operand.weak)))
        own = () if scalar else _shape_of_result(atoms) if mixed else shape
        var = Var(ShapedArray(own, dtype, weak))
        write(JaxprEqn(primitive, atoms, [var], dict(params), frame))
        values.append(var)
    return JaxprTracer(trace, values[recording.result])


def _record(trace: JaxprTrace, eqns: list, args: tuple, result: Any) -> Any:
    """The recording of what was just written; None if it depends on more than types, False if
    these operands do not tell (one variable twice, a literal)."""
    places: dict[Any, int] = {}
    for i, arg in enumerate(args):
        if type(arg) is JaxprTracer:
            if type(arg.variable) is Literal or arg.variable in places:
                return False
            places[arg.variable] = i
    if type(result) is not JaxprTracer or result._trace is not trace:
        return None
    scalar = _scalar_of(args, eqns)
    lines = []
    for eqn in eqns:
        line = None if scalar is None else _line(eqn, places, scalar)
        if line is None:
            return None
        lines.append(line)
        places[eqn.outvars[0]] = len(args) + len(lines) - 1
    position = places.get(result.variable)
    return None if position is None else Recording(lines, position)


def _scalar_of(args: tuple, eqns: list) -> Any:
    """How the literal is made of the one scalar argument; False without one, None if unknown.

    With a scalar among the arguments there must be one literal: others might depend on it too.
    """
    positions = [i for i, arg in enumerate(args) if type(arg) is not JaxprTracer]
    if not positions:
        return False
    literals = [atom for eqn in eqns for atom in eqn.invars if type(atom) is Literal]
    if len(positions) != 1 or len(literals) != 1:
        return None
    found, aval = literals[0], literals[0].aval
    again = convert(args[positions[0]], aval.dtype, aval.weak_type)
    if type(again) is not type(found.val) or make_literal(again).aval is not aval:
        return None
    same = np.asarray(again).tobytes() == np.asarray(found.val).tobytes()
    return Scalar(positions[0], aval.dtype, aval.weak_type) if same else None


def _line(eqn: JaxprEqn, places: dict, scalar: Any) -> Any:
    primitive = eqn.primitive
    if primitive.attributes.get("kind") != "elementwise" or primitive.multiple_results:
        return None
    aval = eqn.outvars[0].aval
    if eqn.effects or aval.shape != _shape_of_result(eqn.invars):
        return None
    operands = [(scalar or atom) if type(atom) is Literal else places.get(atom)
                for atom in eqn.invars]
    if None in operands:
        return None
    return primitive, operands, eqn.params, aval.dtype, aval.weak_type, not aval.shape
