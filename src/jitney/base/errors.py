"""User-visible exception classes: JAX's names and bases, texts that say what to write instead.

A class that concerns a traced value takes the tracer (and an optional first sentence); the
tracer supplies where it came from through its method `_origin_text()`.
Invariant: every text names the value's type, the traced function, and a way out.
"""

from __future__ import annotations

from typing import Any


class JAXTypeError(TypeError):
    """Base of type errors about traced values."""


class JAXIndexError(IndexError):
    """Base of index errors about traced values."""


class JaxRuntimeError(RuntimeError):
    """A failure while a compiled program runs."""


class JaxprTypeError(TypeError):
    """A jaxpr breaks the typing rules; the text shows the equations around the fault."""


class InconclusiveDimensionOperation(Exception):
    """A symbolic dimension does not decide a comparison."""


class KeyReuseError(RuntimeError):
    """A random key was used a second time."""


_TRACED_VALUE = (
    "Inside a transformed function this value is a tracer: it has a type but no content until "
    "the compiled program runs.")
_STATIC_HINT = (
    "If the argument takes few distinct values, make it static: "
    "jax.jit(f, static_argnames=...) or static_argnums=...")


def _text(tracer: Any, *parts: str) -> str:
    origin = tracer._origin_text() if hasattr(tracer, "_origin_text") else ""
    return "\n".join(part for part in (parts[0], origin, *parts[1:]) if part)


def origins_of(values: Any) -> str:
    """Where the traced values among `values` came from: lines to add to a message."""
    found = [v._origin_text() for v in values if hasattr(v, "_origin_text")]
    return "\n".join(dict.fromkeys(text for text in found if text))


def _type_of(tracer: Any) -> str:
    return str(getattr(tracer, "aval", type(tracer).__name__))


class ConcretizationTypeError(JAXTypeError):
    """A concrete value was needed where only a traced one exists."""

    def __init__(self, tracer: Any, context: str = ""):
        if isinstance(tracer, str):
            super().__init__(tracer)
            return
        super().__init__(_text(
            tracer,
            f"Abstract tracer value encountered where concrete value is expected: traced array "
            f"of type {_type_of(tracer)}. {context}".rstrip(),
            _TRACED_VALUE, _STATIC_HINT))


class TracerBoolConversionError(ConcretizationTypeError):
    """`if`, `while`, `and`, `or`, `not`, `bool()` applied to a traced value."""

    def __init__(self, tracer: Any):
        JAXTypeError.__init__(self, _text(
            tracer,
            f"Attempted boolean conversion of traced array of type {_type_of(tracer)}.",
            _TRACED_VALUE,
            "To choose between values write jnp.where(condition, a, b); between computations "
            "jax.lax.cond; to repeat one, jax.lax.while_loop, fori_loop or scan. For `and`, `or`, "
            "`not` on arrays write &, |, ~.",
            _STATIC_HINT))


class TracerIntegerConversionError(JAXTypeError):
    """A traced value was used as an index, a length, a `range` bound."""

    def __init__(self, tracer: Any):
        super().__init__(_text(
            tracer,
            "The __index__() method was called on traced array of type "
            f"{_type_of(tracer)}: Python needs the integer now.",
            _TRACED_VALUE,
            "To loop a traced number of times write jax.lax.fori_loop(0, n, body, init); to index "
            "a Python list with it, make the list an array: jnp.array(items)[i]; inside NumPy "
            "code use jnp instead of np.",
            _STATIC_HINT))


class TracerArrayConversionError(JAXTypeError):
    """NumPy was asked to convert a traced value to an ndarray."""

    def __init__(self, tracer: Any):
        super().__init__(_text(
            tracer,
            "The numpy.ndarray conversion method __array__() was called on traced array of type "
            f"{_type_of(tracer)}.",
            _TRACED_VALUE,
            "Use the functions of jax.numpy instead of those of numpy; for code that must be "
            "NumPy, jax.pure_callback calls it from the compiled program.",
            _STATIC_HINT))


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean mask was used as an index: the result's shape would depend on values."""

    def __init__(self, tracer: Any):
        super().__init__(_text(
            tracer,
            f"Array boolean indices must be concrete; got {_type_of(tracer)}. The shape of "
            "x[mask] depends on how many entries of the mask are true.",
            _TRACED_VALUE,
            "To keep the shape write jnp.where(mask, x, fill), or x.at[mask].set(value); to find "
            "a bounded number of positions, jnp.nonzero(mask, size=n)."))


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after the function that made it had returned."""
