"""Operators and methods of arrays and tracers: attached from above, once, to both types.

In: a table from operator names (`add`, `getitem`, …) to functions of two (or one) operands in
the order Python gives them; tables of methods and properties. Out: `x + y`, `x.sum()`, `x.T`.
Invariant: an array and a tracer answer to the same names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitney import _native
from jitney.core.trace import Tracer

REFLECTED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or",
             "xor", "lshift", "rshift", "divmod")
COMPARISONS = ("lt", "le", "eq", "ne", "gt", "ge")
UNARY = ("neg", "pos", "abs", "invert")
OTHERS = ("getitem", "setitem", "iter")
NAMES = REFLECTED + COMPARISONS + UNARY + OTHERS


def attach_operators(table: dict[str, Callable]) -> None:
    """Make the operators of both types call these functions."""
    for name, function in table.items():
        if name not in NAMES:
            raise ValueError(f"unknown operator {name}; known are {NAMES}")
        _native.set_operator(name, function)
        setattr(Tracer, f"__{name}__", _method_of(function, name))
        if name in REFLECTED:
            setattr(Tracer, f"__r{name}__", _reflected(function, name))


def _method_of(function: Callable, name: str) -> Callable:
    method: Callable
    if name in UNARY or name == "iter":
        def unary(self):
            return function(self)
        method = unary
    elif name == "setitem":
        def assign(self, index, value):
            return function(self, index, value)
        method = assign
    else:
        def binary(self, other):
            return function(self, other)
        method = binary
    method.__name__ = f"__{name}__"
    return method


def _reflected(function: Callable, name: str) -> Callable:
    def method(self, other):
        return function(other, self)
    method.__name__ = f"__r{name}__"
    return method


def attach_methods(methods: dict[str, Any]) -> None:
    """Methods, properties and other attributes for both types."""
    for name, value in methods.items():
        setattr(_native.Array, name, value)
        setattr(Tracer, name, value)
