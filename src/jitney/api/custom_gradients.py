"""Shorter ways to state derivatives: `custom_gradient`, `closure_convert`, `linear_call`.

In: a function that returns its value together with its backward function. Out: a function whose
reverse-mode derivative is that backward function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jitney.api.custom_derivatives import custom_vjp
from jitney.api.jvp_vjp import as_primal, check_callable
from jitney.api.tracing import find_avals, read_call, trace_call
from jitney.base import dtypes
from jitney.base.pytree import register_pytree_node_class, tree_flatten
from jitney.core.avals import get_aval
from jitney.core.interpret import eval_jaxpr
from jitney.core.jaxpr import ClosedJaxpr
from jitney.core.trace import Tracer


def custom_gradient(fun: Callable) -> Callable:
    """Decorate a function returning `(value, backward)`; `backward(cotangent)` gives the
    cotangents of the arguments.

    >>> f = custom_gradient(lambda x: (x ** 2, lambda g: (g * x,)))
    >>> grad(f)(3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    check_callable(fun)

    @functools.wraps(fun, assigned=[n for n in functools.WRAPPER_ASSIGNMENTS if hasattr(fun, n)],
                     updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        inner = custom_vjp(lambda *xs: fun(*xs, **kwargs)[0])

        def forward(*xs):
            value, backward = fun(*xs, **kwargs)
            example = _zeros_like(value)
            traced, residuals = _converted(backward, (example,))
            return value, _Residuals(traced, residuals)

        def backward(saved, cotangent):
            found = saved.call(cotangent)
            if len(args) == 1 and not (isinstance(found, (tuple, list)) and len(found) == 1):
                return (found,)
            return tuple(found)

        inner.defvjp(forward, backward)
        return inner(*args)

    return wrapped


def _zeros_like(value: Any) -> Any:
    """Stand-ins for cotangents: their types are what matters."""
    leaves, tree = tree_flatten(value)
    return tree.unflatten([get_aval(x).to_tangent_aval() for x in leaves])


@register_pytree_node_class
class _Residuals:
    """A backward function's program and the values it closes over (a pytree of these)."""

    def __init__(self, traced: Any, values: list):
        self.traced, self.values = traced, values

    def tree_flatten(self) -> tuple[list, Any]:
        return self.values, self.traced

    @classmethod
    def tree_unflatten(cls, traced: Any, values: list) -> _Residuals:
        return cls(traced, list(values))

    def call(self, *args: Any) -> Any:
        leaves = tree_flatten((args, {}))[0]
        program = self.traced.jaxpr
        outs = eval_jaxpr(program.jaxpr, program.consts, *self.values, *leaves)
        return self.traced.out_tree.unflatten(outs)


def _converted(fun: Callable, args: tuple) -> tuple[Any, list]:
    """`fun` as a program whose leading operands are the values it closes over."""
    call = read_call(fun, args, {}, (), ())
    find_avals(call, fun, lambda x: x if hasattr(x, "to_tangent_aval") else get_aval(x))
    traced = trace_call(fun, call, "custom_gradient")
    return traced, list(traced.hoisted)


def closure_convert(fun: Callable, *example_args: Any) -> tuple[Callable, list]:
    """(`converted(*args, *values)`, the differentiable traced values `fun` closes over)."""
    check_callable(fun)
    examples = tree_flatten(example_args)[0]
    for x in examples:
        as_primal(x)
    call = read_call(fun, example_args, {}, (), ())
    find_avals(call, fun)
    traced = trace_call(fun, call, "closure_convert")
    moved = [isinstance(v, Tracer) and dtypes.is_inexact(get_aval(v).dtype)
             for v in traced.hoisted]
    values = [v for v, m in zip(traced.hoisted, moved) if m]

    def converted(*args: Any) -> Any:
        count = len(args) - len(values)
        given = iter(args[count:])
        closed = [next(given) if m else v for v, m in zip(traced.hoisted, moved)]
        leaves = tree_flatten((args[:count], {}))[0]
        program: ClosedJaxpr = traced.jaxpr
        outs = eval_jaxpr(program.jaxpr, program.consts, *closed, *leaves)
        return traced.out_tree.unflatten(outs)

    return converted, values


def linear_call(fun: Callable, fun_transpose: Callable, residual_args: Any,
                linear_args: Any) -> Any:
    """`fun(residual_args, linear_args)`, linear in the second, transposed by `fun_transpose`."""
    @custom_vjp
    def call(residuals, linear):
        return fun(residuals, linear)

    call.defvjp(lambda residuals, linear: (fun(residuals, linear), residuals),
                lambda residuals, ct: (None, fun_transpose(residuals, ct)))
    return call(residual_args, linear_args)
