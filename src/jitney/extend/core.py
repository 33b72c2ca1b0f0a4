"""Jaxprs, traces and avals for those who write transformations, by the names in `jax.extend.core`.

Out: the classes and functions of `jitney.core`, and a few questions about what is being traced.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jitney import _native
from jitney.api.callbacks import Effect
from jitney.base import dtypes
from jitney.base.errors import (
    ConcretizationTypeError,
    InconclusiveDimensionOperation,
    JaxprTypeError,
)
from jitney.base.unsupported import unsupported_class, unsupported_function
from jitney.core import (
    ClosedJaxpr,
    DebugInfo,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    ShapedArray,
    Tracer,
    Var,
    check_jaxpr,
    jaxpr_as_fun,
    jaxprs_in_params,
    subjaxprs,
)
from jitney.core.avals import Array, valid_array_type
from jitney.core.jaxpr import NO_EFFECTS
from jitney.core.trace import axis_environment, set_current_trace

Effects = set[Effect]
no_effects = NO_EFFECTS
array_types = {Array, np.ndarray, *(np.dtype(d).type for d in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128")), dtypes.bfloat16}

_TOKENS = "effects happen in the order in which they are written, so there are no tokens."
_CALLS = ("primitives that call functions are traced programs in a parameter here; bind a "
          "Primitive with a ClosedJaxpr among its parameters.")
AbstractToken = unsupported_class("jax.extend.core.AbstractToken", _TOKENS)
Token = unsupported_class("jax.extend.core.Token", _TOKENS)
CallPrimitive = unsupported_class("jax.extend.core.CallPrimitive", _CALLS)
call_impl = unsupported_function("jax.extend.core.call_impl", _CALLS)
TraceTag = unsupported_class("jax.extend.core.TraceTag", "traces here have no tags.")


def concrete_or_error(force: Callable | None, val: Any, context: str = "") -> Any:
    """`force(val)` of a concrete value; ConcretizationTypeError, with the context, of another."""
    if isinstance(val, Tracer):
        known = val._concrete()
        if known is None:
            raise ConcretizationTypeError(val, context)
        val = known
    return val if force is None else force(val)


def find_top_trace(_: Any) -> Any:
    """The trace operations go to now; None where they are evaluated."""
    return _native.current_trace()


@contextlib.contextmanager
def take_current_trace() -> Iterator[Any]:
    """The trace operations go to now; inside the block they are evaluated."""
    trace = _native.current_trace()
    with set_current_trace(None):
        yield trace


def gensym() -> Callable[[ShapedArray], Var]:
    """A function from avals to new variables."""
    return Var


class _TraceState:
    """Equal as long as the same traces and named axes are around."""

    def __init__(self):
        self._key = _native.current_trace(), axis_environment()

    def __eq__(self, other: Any) -> bool:
        return type(other) is _TraceState and self._key[0] is other._key[0] \
            and self._key[1] == other._key[1]

    def __hash__(self) -> int:
        return hash(self._key[1])


def get_opaque_trace_state(convention: Any = None) -> Any:
    """Something to compare: equal to itself later if nothing else is being traced by then.

    `convention` is a name users give; every one means the same here.
    """
    if not (convention is None or isinstance(convention, str)):
        raise TypeError(f"convention is a string or None, got {convention!r}")
    return _TraceState()


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The type of one example of a batch of `size` along `axis` (None: not batched)."""
    if axis is None:
        return aval
    if aval.shape[axis] != size:
        raise ValueError(f"{aval} has no axis {axis} of size {size}")
    return aval.update(shape=aval.shape[:axis] + aval.shape[axis + 1:])


def unmapped_aval(size: int, axis: int | None, aval: ShapedArray,
                  explicit_mesh_axis: Any = None) -> ShapedArray:
    """The type of a batch of `size` examples, the new axis at `axis` (None: not batched)."""
    if explicit_mesh_axis is not None:
        raise NotImplementedError("unmapped_aval: types here do not say how arrays are spread, so "
                                  "explicit_mesh_axis must be None")
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def new_jaxpr_eqn(invars: list, outvars: list, primitive: Primitive, params: dict,
                  effects: Any = NO_EFFECTS, source_info: Any = None, ctx: Any = None) -> JaxprEqn:
    """An equation. `source_info` is that of another equation; TypeError for a `ctx`."""
    if ctx is not None:
        raise TypeError("new_jaxpr_eqn: equations have no context here; leave out ctx")
    return JaxprEqn(primitive, list(invars), list(outvars), dict(params), source_info,
                    frozenset(effects))


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """The dtype of derivatives: the same for inexact dtypes, else float0."""
    return primal_dtype if dtypes.is_inexact(primal_dtype) else dtypes.float0


def valid_jaxtype(x: Any) -> bool:
    """Whether `x` may be an operand: an array, a tracer, a number."""
    return valid_array_type(x)


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Whether any named axis is around."""
    return bool(axis_environment())


def unsafe_get_axis_names_DO_NOT_USE() -> list:
    """The names of the axes around, outermost first."""
    return [name for name, _ in axis_environment()]


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Whether operations are being recorded."""
    return _is_around("JaxprTrace")


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Whether operations are being batched."""
    return _is_around("BatchTrace")


def _is_around(kind: str) -> bool:
    trace = _native.current_trace()
    while trace is not None:
        if type(trace).__name__ == kind:
            return True
        trace = getattr(trace, "parent", None)
    return False


__all__ = [
    "AbstractToken", "CallPrimitive", "ClosedJaxpr", "DebugInfo", "DropVar", "Effect", "Effects",
    "InconclusiveDimensionOperation", "Jaxpr", "JaxprEqn", "JaxprTypeError", "Literal",
    "Primitive", "Token", "TraceTag", "Var", "array_types", "call_impl", "check_jaxpr",
    "concrete_or_error", "find_top_trace", "gensym", "get_opaque_trace_state", "jaxpr_as_fun",
    "jaxprs_in_params", "mapped_aval", "new_jaxpr_eqn", "no_effects",
    "nonempty_axis_env_DO_NOT_USE", "primal_dtype_to_tangent_dtype", "set_current_trace",
    "subjaxprs", "take_current_trace", "unmapped_aval", "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE", "unsafe_get_axis_names_DO_NOT_USE", "valid_jaxtype",
]
