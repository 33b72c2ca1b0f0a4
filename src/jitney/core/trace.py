"""Interception: the current trace, traces, and tracers.

A trace gives primitives another meaning while a function runs: record an equation, push a
tangent forward, batch. Exactly one trace is current in a thread (None: evaluate). A tracer is
a value standing in for an array under one trace.
Invariant: after `trace.close()` any use of one of its tracers is an UnexpectedTracerError.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from jitney import _native
from jitney.base import errors, source
from jitney.core import primitive as primitives
from jitney.core.avals import ShapedArray, register_value_type

current_trace = _native.current_trace
swap_trace = _native.swap_trace


class Trace:
    """Base of all interpretations. `parent` is the trace its results are handed to."""

    __slots__ = ("parent", "closed", "debug_info", "__weakref__")
    staging = False

    def __init__(self, parent: Trace | None = None, debug_info: Any = None):
        self.parent, self.closed, self.debug_info = parent, False, debug_info

    def process_primitive(self, primitive: Any, args: tuple, params: dict) -> Any:
        """Apply `primitive`; args may be this trace's tracers, outer tracers, or values."""
        raise NotImplementedError(type(self).__name__)

    def process_custom_jvp_call(self, fun: Any, rule: Any, args: list) -> list:
        """A function with a jvp rule, on flat arguments: interpretations that differentiate or
        batch say here what it means (staging ones record a `custom_jvp_call`)."""
        raise NotImplementedError(f"{type(self).__name__} of custom_jvp functions")

    def process_custom_vjp_call(self, fun: Any, rule: Any, args: list) -> list:
        """Likewise for a function with forward and backward rules."""
        raise NotImplementedError(f"{type(self).__name__} of custom_vjp functions")

    def close(self) -> None:
        """No tracer of this trace may be used from now on."""
        self.closed = True


@contextlib.contextmanager
def set_current_trace(trace: Trace | None) -> Iterator[None]:
    """Make `trace` current (None: evaluate) inside the block."""
    before = swap_trace(trace)
    try:
        yield
    finally:
        swap_trace(before)


def eval_context():
    """Evaluate primitives inside the block, whatever is being traced around it."""
    return set_current_trace(None)


ensure_compile_time_eval = eval_context


class Tracer(primitives._TracerBase):
    """A value under a trace. Operators and array methods are attached by `wiring`."""

    __slots__ = ("_trace", "__weakref__")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    aval: ShapedArray
    _trace: Any

    # --- type

    @property
    def shape(self):
        return self.aval.shape

    @property
    def dtype(self):
        return self.aval.dtype

    @property
    def ndim(self):
        return len(self.aval.shape)

    @property
    def size(self):
        return self.aval.size

    @property
    def nbytes(self):
        return self.aval.nbytes

    @property
    def itemsize(self):
        return self.aval.dtype.itemsize

    @property
    def weak_type(self):
        return self.aval.weak_type

    def __len__(self):
        return len(self.aval)

    # --- what has no value yet

    def _concrete(self) -> Any:
        """The value when it is known nevertheless (jvp of a concrete value); else None."""
        return None

    def _origin_text(self) -> str:
        return ""

    def __bool__(self):
        value = self._concrete()
        if value is None:
            _check_scalar_truth(self.aval)
            raise errors.TracerBoolConversionError(self)
        return bool(value)

    def __index__(self):
        value = self._concrete()
        if value is None:
            raise errors.TracerIntegerConversionError(self)
        return value.__index__()

    def _python_number(self, kind: type) -> Any:
        value = self._concrete()
        if value is None:
            raise errors.ConcretizationTypeError(
                self, f"The problem arose with the `{kind.__name__}` function: to change the "
                f"dtype of an array write x.astype({kind.__name__}) instead.")
        return kind(value)

    def __int__(self):
        return self._python_number(int)

    def __float__(self):
        return self._python_number(float)

    def __complex__(self):
        return self._python_number(complex)

    def __array__(self, *args: Any, **kwargs: Any):
        value = self._concrete()
        if value is None:
            raise errors.TracerArrayConversionError(self)
        return value.__array__(*args, **kwargs)

    def item(self, *args: Any):
        value = self._concrete()
        if value is None:
            raise errors.ConcretizationTypeError(self, "The problem arose with the item() method.")
        return value.item(*args)

    def tolist(self):
        value = self._concrete()
        if value is None:
            raise errors.ConcretizationTypeError(self, "The problem arose with the tolist() "
                                                       "method.")
        return value.tolist()

    def __dlpack__(self, *args: Any, **kwargs: Any):
        raise errors.ConcretizationTypeError(self, "The problem arose with the __dlpack__() "
                                                   "method.")

    def __format__(self, spec: str):
        if self.ndim == 0 and spec:
            value = self._concrete()
            if value is not None:
                return format(value, spec)
        return format(repr(self), "") if not spec else format(str(self), spec)

    def block_until_ready(self):
        return self

    def copy_to_host_async(self):
        return None

    def unsafe_buffer_pointer(self):
        raise errors.ConcretizationTypeError(self, "A tracer has no buffer.")

    def is_deleted(self):
        return False

    def delete(self):
        raise errors.ConcretizationTypeError(self, "A tracer has no buffer to delete.")

    # --- identity

    def __repr__(self):
        weak = "~" if self.aval.weak_type else ""
        return f"{self._repr_name()}({weak}{self.aval.str_short()})"

    def _repr_name(self) -> str:
        return type(self).__name__.replace("Tracer", "") + "Tracer"

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        raise errors.ConcretizationTypeError(self, "A tracer cannot be pickled.")

    def _trace_for_binding(self, primitive: Any) -> Trace:
        """The trace that handles this tracer when none is current."""
        trace = self._trace
        if trace.closed or trace.staging:
            raise self._leaked("use it in an operation" if primitive.name == "jit" else
                               f"apply the primitive {primitive.name} to it")
        return trace

    def _leaked(self, doing: str) -> errors.UnexpectedTracerError:
        return errors.UnexpectedTracerError(leak_text(self, doing))


def _check_scalar_truth(aval: ShapedArray) -> None:
    if aval.size != 1:
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. Use a.any() or "
            "a.all()" if aval.size else
            "The truth value of an empty array is ambiguous; check for emptiness with x.size")


_WITHOUT_NAME = {"GradTracer": "a function that was differentiated",
                 "JVPTracer": "a function that was differentiated",
                 "VmapTracer": "a function given to vmap"}
_WAY_OUT = {
    "scan": "return it as part of the carry, or as the second result, which is stacked",
    "while_body": "return it as part of the carry (scan can also stack a value of every step)",
    "while_cond": "compute it in the body, and return it as part of the carry",
    "cond": "return it from every branch",
}


def leak_text(tracer: Tracer, doing: str) -> str:
    """The text of an UnexpectedTracerError."""
    info = getattr(tracer._trace, "debug_info", None)
    where = f"the function {info.function_location()} for {info.traced_for}" if info else \
        _WITHOUT_NAME.get(tracer._repr_name(), "a function")
    here = source.summarize(source.user_frame())
    origin = tracer._origin_text().partition("\n")[2] if info else tracer._origin_text()
    way_out = _WAY_OUT.get(info.traced_for if info else "", "return it")
    return "\n".join(part for part in (
        "Encountered an unexpected tracer. A function transformed by JAX had a side effect: an "
        f"intermediate value of type {tracer.aval.str_short()} made while tracing {where} was "
        f"used after it had returned (attempt to {doing}, at {here}).",
        origin,
        f"Values made inside a traced function leave it only through its return value: {way_out}, "
        "instead of storing it in a global, an attribute or a closed-over list. "
        "jax.checking_leaks() finds the place where it was stored."
    ) if part)


# --- named axes (vmap with axis_name, pmap, collectives) ---------------------------------------


class _AxisEnvironment(threading.local):
    axes: tuple[tuple[Any, int], ...] = ()


_axis_environment = _AxisEnvironment()


def axis_environment() -> tuple[tuple[Any, int], ...]:
    """(name, size) of the named axes in scope, outermost first; part of every trace's key."""
    return _axis_environment.axes


def axis_size(name: Any) -> int:
    for found, size in reversed(_axis_environment.axes):
        if found == name:
            return size
    raise NameError(f"unbound axis name: {name}. Name it with vmap(..., axis_name={name!r})")


@contextlib.contextmanager
def extend_axis_environment(*axes: tuple[Any, int]) -> Iterator[None]:
    before = _axis_environment.axes
    _axis_environment.axes = before + axes
    try:
        yield
    finally:
        _axis_environment.axes = before


register_value_type(Tracer, lambda tracer: tracer.aval)
