"""Names of JAX that this package has, in order to say that it cannot do what they are for.

In: a name and the reason. Out: a function, a class, or an object, whose use raises
NotImplementedError with the reason and what to do instead. `docs/not_supported.md` lists them;
`reason_of` tells them from others.
"""

from __future__ import annotations

from typing import Any

_MARK = "_not_supported"           # holds (JAX's name, the reason)


def unsupported_function(name: str, reason: str) -> Any:
    """A function that raises NotImplementedError: `name` with the reason (a sentence or two)."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{name} is not supported: {reason}")

    return _named(refuse, name, reason)


def unsupported_class(name: str, reason: str) -> Any:
    """A class that cannot be made: for annotations and `isinstance`, which is always false."""

    def refuse(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{name} is not supported: {reason}")

    return _named(type(name.rpartition(".")[2], (), {"__new__": refuse}), name, reason)


class UnsupportedValue:
    """Stands for an object (a primitive, an option) that this package has no use for."""

    def __init__(self, name: str, reason: str):
        self.__name__ = name.rpartition(".")[2]
        self.__doc__ = f"Not supported: {reason}"
        self._refusal = f"{name} is not supported: {reason}"
        setattr(self, _MARK, (name, reason))

    def __repr__(self) -> str:
        return f"<{self._refusal}>"

    def bind(self, *args: Any, **params: Any) -> Any:
        raise NotImplementedError(self._refusal)


def _named(made: Any, name: str, reason: str) -> Any:
    made.__name__ = made.__qualname__ = name.rpartition(".")[2]
    made.__doc__ = f"Not supported: {reason}"
    setattr(made, _MARK, (name, reason))
    return made


def reason_of(value: Any) -> str | None:
    """Why a function or class is not supported; None for all others."""
    return _mark_of(value)[1]


def name_of(value: Any) -> str:
    """JAX's name of such a function or class, from `jax` on."""
    return _mark_of(value)[0]


def _mark_of(value: Any) -> tuple:
    return (vars(value).get(_MARK) if hasattr(value, "__dict__") else None) or ("", None)
