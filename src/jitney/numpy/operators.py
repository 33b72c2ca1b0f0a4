"""Operators of arrays and tracers: what `x + y`, `-x`, `x[i]` call.

In: two operands in the order Python gives them. Out: an array, or NotImplemented when the other
operand is a foreign object that may know better.
Each operator is a jitted function of its own (same body as the public function), so the native
number slots call it without any Python in between.
Invariant: lists, tuples and dicts are refused with a TypeError, never converted.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from jitney.api.jit import jit
from jitney.core import avals
from jitney.core.staging import JaxprTracer
from jitney.core.trace import Tracer
from jitney.numpy import (
    arithmetic,
    array_methods,
    indexing,
    linear_products,
    ufunc_class,
    ufuncs,
)
from jitney.numpy.replay import ElementwiseFunction

_REFUSED = (list, tuple, dict)
_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "divmod": "divmod()", "pow": "** or pow()", "matmul": "@", "and": "&", "or": "|", "xor": "^",
    "lshift": "<<", "rshift": ">>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
    "ne": "!=",
}


class OperatorFunction(ElementwiseFunction):
    """A jitted function that returns NotImplemented for operands it does not know."""

    def _miss(self, args: tuple, kwargs: dict) -> Any:
        for x in args:
            if type(x) is not JaxprTracer and not avals.valid_array_type(x):
                return _foreign(self, args)
        return ElementwiseFunction._miss(self, args, kwargs)


def _foreign(operator: Any, args: tuple) -> Any:
    converted = []
    for x in args:
        if isinstance(x, _REFUSED):
            names = ["Array" if isinstance(a, (avals.Array, Tracer)) else builtins.type(a).__name__
                     for a in args]
            raise TypeError(f"unsupported operand type(s) for {operator.symbol}: '{names[0]}' and "
                            f"'{names[1]}'")
        own = getattr(x, "__jax_array__", None)
        if own is not None:
            x = own()
        elif not avals.valid_array_type(x):
            return NotImplemented
        converted.append(x)
    return operator(*converted)


def _operator(name: str, jitted: Any) -> Any:
    """A jitted function with the body and options of `jitted`."""
    made = jit(jitted.__wrapped__, inline=jitted._inline)
    made.__class__ = OperatorFunction
    made.symbol = _SYMBOLS.get(name, name)
    if getattr(jitted, "_recordings", None) is not None:
        made._recordings = {}
    return made


def _power(a: Any, b: Any) -> Any:
    """a ** b; integer exponents known now are multiplied out."""
    exponent = arithmetic.static_exponent(b)
    if exponent is None:
        return power_of_values(a, b)
    return arithmetic.power_of_integer(a, exponent)


power_of_values = _operator("pow", arithmetic.power_of_values)

BINARY: dict[str, Callable] = {
    name: _operator(name, function) for name, function in {
        "add": ufunc_class.add, "sub": ufunc_class.subtract, "mul": ufunc_class.multiply,
        "truediv": ufuncs.true_divide, "floordiv": arithmetic.floor_divide,
        "mod": arithmetic.remainder, "divmod": arithmetic.divmod,
        "matmul": linear_products.matmul, "and": ufunc_class.bitwise_and,
        "or": ufunc_class.bitwise_or, "xor": ufunc_class.bitwise_xor,
        "lshift": ufuncs.left_shift, "rshift": ufuncs.right_shift,
        "lt": ufuncs.less, "le": ufuncs.less_equal, "eq": ufuncs.equal, "ne": ufuncs.not_equal,
        "gt": ufuncs.greater, "ge": ufuncs.greater_equal}.items()}
BINARY["pow"] = _power

UNARY: dict[str, Callable] = {
    name: _operator(name, function) for name, function in {
        "neg": ufunc_class.negative, "pos": ufuncs.positive, "abs": ufuncs.abs,
        "invert": ufuncs.invert}.items()}

OTHER: dict[str, Callable] = {
    "getitem": indexing.getitem, "setitem": indexing.setitem, "iter": indexing.iterate}

OPERATORS: dict[str, Callable] = {**BINARY, **UNARY, **OTHER}
METHODS: dict[str, Any] = {**array_methods.METHODS, **array_methods.PROPERTIES}
