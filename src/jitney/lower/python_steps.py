"""Equations that Python computes while the program runs: one step each, in machine code's place.

In: an equation whose primitive has a NumPy reference. Out: a `python` call that applies it to the
memory of its operands and results. It serves functions that are SciPy's (lower/special.py),
callbacks, and equations for which the compiler has no machine code (counted as
`reference_steps`): the rest of their program is compiled all the same.
Invariant: an equation with effects takes the program's token and gives the next one, so that
effects happen once a run, in the order written ([Note: tokens]).

[Note: tokens] A token is a byte nobody reads. The graph's last token is kept alive by
`Graph.effects`; loops and branches carry tokens as part of their state.
"""

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import debug
from ..core import interpret
from ..core.avals import ShapedArray
from ..core.jaxpr import DropVar
from ..core.reference_program import storage_of
from ..ir.types import physical_type
from .rules import LoweringError

TOKEN = ((), "u8")


class PythonCall:
    """The function of a step: called with the addresses of operands and results."""

    def __init__(self, eqn, has_token: bool):
        self.name = eqn.primitive.name
        self.primitive, self.params = eqn.primitive, eqn.params
        self.in_avals = [v.aval for v in eqn.invars]
        self.out_avals = [v.aval for v in eqn.outvars]
        self.dropped = [type(v) is DropVar for v in eqn.outvars]
        self.has_token = has_token

    def __call__(self, *addresses: int) -> None:
        count = len(self.in_avals)
        args = [array_at(a, t) for a, t in zip(addresses[:count], self.in_avals, strict=True)]
        with np.errstate(all="ignore"):
            outs = interpret.apply_reference(self.primitive, args, self.params)
        first = count + self.has_token
        places = addresses[first : first + len(self.out_avals)]
        for address, aval, out in zip(places, self.out_avals, outs, strict=True):
            if aval.size:
                array_at(address, aval)[...] = out


def array_at(address: int, aval: ShapedArray) -> np.ndarray:
    """The memory at an address as a NumPy array that stores an array of this aval."""
    shape, dtype = storage_of(aval)
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes == 0:
        return np.empty(shape, dtype)
    buffer: Any = (ctypes.c_char * nbytes).from_address(address)
    return np.frombuffer(buffer, np.uint8).view(dtype).reshape(shape)


def call_python(ctx, eqn, values: Sequence) -> list:
    """The results of an equation computed by its NumPy reference."""
    if eqn.primitive.reference_rule is None:
        raise LoweringError(f"the primitive {eqn.primitive.name!r} cannot be compiled")
    has_token = bool(eqn.effects)
    operands = [ctx.physical(x, v.aval) for x, v in zip(values, eqn.invars, strict=True)]
    results = [physical_type(v.aval.shape, v.aval.dtype) for v in eqn.outvars]
    if has_token:
        operands, results = [*operands, ctx.token()], [*results, TOKEN]
    function = PythonCall(eqn, has_token)
    parts = ctx.g.call("python", operands, results, (function,))
    if has_token:
        ctx.set_token(parts.pop())
    return [ctx.logical(p, v.aval) for p, v in zip(parts, eqn.outvars, strict=True)]


def by_reference(ctx, eqn, values: Sequence, error: Exception) -> list:
    """What `call_python` gives, for an equation that has no machine code."""
    try:
        results = call_python(ctx, eqn, values)
    except NotImplementedError:
        raise error from None
    debug.count("reference_steps")
    debug.log("compile", f"{eqn.primitive.name} by its NumPy reference: {error}")
    return results
