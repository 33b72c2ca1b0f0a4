"""Looking at programs: `make_jaxpr`, `eval_shape`, and names for parts of them."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jitney.api import identity as identities
from jitney.api import signature as signatures
from jitney.api.shapes import aval_of_argument, struct_of
from jitney.api.tracing import Traced, find_avals, read_call, traced_program
from jitney.base import config, source
from jitney.core.jaxpr import ClosedJaxpr
from jitney.core.trace import extend_axis_environment


def make_jaxpr(fun: Callable, static_argnums: int | Sequence[int] = (),
               axis_env: Sequence[tuple[Any, int]] | None = None,
               return_shape: bool = False) -> Callable[..., Any]:
    """A function that gives the jaxpr of `fun` for its arguments instead of calling it.

    Arguments may be arrays, scalars or ShapeDtypeStructs.
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    numbers, names = signatures.resolve(fun, static_argnums, None, "static")
    own: dict = {}

    def make_jaxpr_of(*args: Any, **kwargs: Any) -> Any:
        with extend_axis_environment(*(axis_env or ())):
            traced = _trace(fun, args, kwargs, numbers, names, own)
        closed = _closed(traced)
        if not return_shape:
            return closed
        shapes = [struct_of(a) for a in closed.out_avals]
        return closed, traced.out_tree.unflatten(shapes)

    make_jaxpr_of.__name__ = f"make_jaxpr({source.function_name(fun)})"
    make_jaxpr_of.__qualname__ = make_jaxpr_of.__name__
    make_jaxpr_of.__wrapped__ = fun
    return make_jaxpr_of


def _trace(fun: Callable, args: tuple, kwargs: dict, numbers: tuple, names: tuple,
           own: dict) -> Traced:
    call = read_call(fun, args, kwargs, numbers, names)
    find_avals(call, fun, aval_of_argument)
    try:
        return traced_program(fun, identities.identity_of(fun, own), call)
    except Exception as error:
        if config.traceback_filtering.value != "off":
            error.__traceback__ = source.filter_traceback(error.__traceback__)
        raise


def _closed(traced: Traced) -> ClosedJaxpr:
    """Outer tracers the function closed over become constants again."""
    count = len(traced.hoisted)
    if not count:
        return traced.jaxpr
    jaxpr = traced.jaxpr.jaxpr
    return ClosedJaxpr(jaxpr.replace(constvars=jaxpr.invars[:count], invars=jaxpr.invars[count:]),
                       traced.hoisted)


def eval_shape(fun: Callable, *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of `fun(*args, **kwargs)`, without computing anything.

    >>> eval_shape(lambda x: x, 1.0)
    ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    traced = _trace(fun, args, kwargs, (), (), {})
    return traced.out_tree.unflatten([struct_of(a) for a in traced.jaxpr.out_avals])


# --- names -----------------------------------------------------------------------------------


class _Names(threading.local):
    stack: tuple[str, ...] = ()


_names = _Names()


@contextlib.contextmanager
def named_scope(name: str) -> Iterator[None]:
    """Name the operations inside the block (shown by tools; the program is the same)."""
    if not isinstance(name, str):
        raise TypeError(f"named_scope name must be a string, got {name!r}")
    before = _names.stack
    _names.stack = (*before, name)
    try:
        yield
    finally:
        _names.stack = before


def current_scope() -> str:
    """The names around, joined by `/`."""
    return "/".join(_names.stack)


def named_call(fun: Callable, *, name: str | None = None) -> Callable:
    """`fun` under a named scope (its own name by default)."""
    label = name or source.function_name(fun)

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        with named_scope(label):
            return fun(*args, **kwargs)

    return call


@contextlib.contextmanager
def checking_leaks() -> Iterator[None]:
    """Raise when a tracer outlives its trace (slow; to find the place that keeps it)."""
    with config.check_tracer_leaks(True):
        yield
