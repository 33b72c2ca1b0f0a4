"""How functions of this package become jitted ones.

`inlined`: the function vanishes under a trace (its primitives appear in the caller's jaxpr).
`traced_call`: the function stays a `jit[name=…]` equation, as JAX prints it.
`one_program`: the function is inlined under a trace, and one program when called by itself.
Invariant: name, docstring and signature are those of the plain function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jitney import _native
from jitney.api.jit import JitFunction, jit
from jitney.core.trace import Tracer
from jitney.numpy import wide_numbers


def named(function: Callable, name: str, doc: str) -> Callable:
    """Give a function made from a table its public name and docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__module__ = "jitney.numpy"
    return function


def known_as(name: str) -> Any:
    """The name under which a function appears in a jaxpr."""
    return lambda function: named(function, name, function.__doc__)


class ArrayFunction(JitFunction):
    """A jitted function that takes Python integers as wide as its arrays' type holds."""

    def _miss(self, args: tuple, kwargs: dict) -> Any:
        try:
            return JitFunction._miss(self, args, kwargs)
        except OverflowError:
            fitting = wide_numbers.fitted(args, kwargs)
            if fitting is None:
                raise
        return self(*fitting[0], **fitting[1])


def inlined(function: Callable | None = None, **options: Any) -> Any:
    """`jit(function, inline=True, …)`, usable as a decorator with or without options."""
    if function is None:
        return functools.partial(inlined, **options)
    jitted = jit(function, inline=True, **options)
    jitted.__class__ = ArrayFunction
    return jitted


def traced_call(function: Callable | None = None, **options: Any) -> Any:
    """`jit(function, …)`, usable as a decorator with or without options."""
    if function is None:
        return functools.partial(traced_call, **options)
    jitted = jit(function, **options)
    jitted.__class__ = ArrayFunction
    return jitted


def one_program(function: Callable | None = None, **options: Any) -> Any:
    """A plain function whose eager calls are one compiled program instead of one an operation.

    Under a trace it is the plain function: nothing of this is seen in a jaxpr. Usable as a
    decorator with or without options (those of `jit`; static arguments must be hashable).
    """
    if function is None:
        return functools.partial(one_program, **options)
    whole = jit(function, **options)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if is_eager(*args, *kwargs.values()):
            return whole(*args, **kwargs)
        return function(*args, **kwargs)

    return call


def is_eager(*values: Any) -> bool:
    """Whether nothing is being traced, and none of the values is a tracer."""
    return _native.current_trace() is None and not any(isinstance(v, Tracer) for v in values)


class AxisFunction(ArrayFunction):
    """A jitted function whose static `axis` may also be given as a list."""

    def _miss(self, args: tuple, kwargs: dict) -> Any:
        if len(args) > 1 and isinstance(args[1], list):
            return self(args[0], tuple(args[1]), *args[2:], **kwargs)
        axis = kwargs.get("axis")
        if isinstance(axis, list):
            return self(*args, **{**kwargs, "axis": tuple(axis)})
        return ArrayFunction._miss(self, args, kwargs)


def along_axes(function: Callable | None = None, *, inline: bool = False, **options: Any) -> Any:
    """A jitted function with a static axis argument in second place."""
    if function is None:
        return functools.partial(along_axes, inline=inline, **options)
    jitted = jit(function, inline=inline, **options)
    jitted.__class__ = AxisFunction
    return jitted
