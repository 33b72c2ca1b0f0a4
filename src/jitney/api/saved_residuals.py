"""`print_saved_residuals`: what a function keeps between its forward and its backward pass.

In: a function and arguments. Out: a line for each array kept: its type, and where it comes from.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from jitney.api.jvp_vjp import check_callable, vjp
from jitney.api.make_jaxpr import make_jaxpr
from jitney.base.pytree import keystr, tree_flatten, tree_flatten_with_path, tree_leaves
from jitney.core.jaxpr import Jaxpr, Literal


def print_saved_residuals(f: Callable, *args: Any, **kwargs: Any) -> None:
    """Print the arrays that `vjp(f, *args, **kwargs)` keeps for the backward pass.

    >>> print_saved_residuals(lambda x: jnp.sin(x), 1.0)
    f32[] output of cos from <doctest jitney...>:1 (<lambda>)
    """
    check_callable(f)
    for line in saved_residuals(f, *args, **kwargs):
        print(line)


def saved_residuals(f: Callable, *args: Any, **kwargs: Any) -> list[str]:
    """The lines `print_saved_residuals` prints."""
    leaves, tree = tree_flatten((args, kwargs))

    def kept(*values):
        def call(*xs):
            given, named = tree.unflatten(xs)
            return f(*given, **named)
        return tree_leaves(vjp(call, *values)[1])

    closed = make_jaxpr(kept)(*leaves)
    names = [_name_of(f, path) for path, _ in tree_flatten_with_path((args, kwargs))[0]]
    return _lines(closed.jaxpr, names)


def _lines(jaxpr: Jaxpr, names: list[str]) -> list[str]:
    arguments = dict(zip(jaxpr.invars, names))
    makers = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    found = []
    for v in jaxpr.outvars:
        if type(v) is Literal:
            origin = "from a literal"
        elif v in arguments:
            origin = f"from the argument {arguments[v]}"
        elif v in makers:
            origin = f"output of {makers[v].primitive.name} from {makers[v].source_summary()}"
        else:
            origin = "from a constant"
        found.append(f"{v.aval.str_short(short_dtypes=True)} {origin}")
    return found


def _name_of(f: Callable, path: tuple) -> str:
    """`x['a']` for the leaf at a path of (args, kwargs)."""
    where, first, *rest = path
    name = str(getattr(first, "key", "")) if where.idx else _parameter(f, first.idx)
    return name + keystr(tuple(rest))


def _parameter(f: Callable, position: int) -> str:
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return f"args[{position}]"
    kinds = [p.kind for p in parameters[:position + 1]]
    if len(kinds) <= position or inspect.Parameter.VAR_POSITIONAL in kinds:
        return f"args[{position}]"
    return parameters[position].name


__all__ = ["print_saved_residuals"]
