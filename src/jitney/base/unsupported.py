"""Names of JAX that this package has, in order to say that it cannot do what they are for.

In: a name and the reason. Out: a function, or a class, whose use raises NotImplementedError with
the reason and what to do instead. `docs/not_supported.md` lists them; `reason_of` tells them from
others.
"""

from __future__ import annotations

from typing import Any

_MARK = "_not_supported"


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


def _named(made: Any, name: str, reason: str) -> Any:
    made.__name__ = made.__qualname__ = name.rpartition(".")[2]
    made.__doc__ = f"Not supported: {reason}"
    setattr(made, _MARK, reason)
    return made


def reason_of(value: Any) -> str | None:
    """Why a function or class is not supported; None for all others."""
    return vars(value).get(_MARK) if hasattr(value, "__dict__") else None
