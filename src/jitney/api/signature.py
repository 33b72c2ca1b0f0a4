"""Which arguments are static or donated, and what the flat inputs are called in messages.

In: a callable and what the user said (numbers, names, or both). Out: normalised positions and
names, each inferred from the other where the signature allows.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable
from typing import Any

from jitney.base import pytree

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def signature_of(fun: Callable) -> inspect.Signature | None:
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):
        return None


def as_numbers(numbers: Any) -> tuple[int, ...]:
    if isinstance(numbers, int) and not isinstance(numbers, bool):
        return (numbers,)
    found = tuple(numbers)
    if not all(hasattr(n, "__index__") for n in found):
        raise TypeError(f"argument numbers must be integers, got {numbers!r}")
    return tuple(n.__index__() for n in found)


def as_names(names: Any) -> tuple[str, ...]:
    if isinstance(names, str):
        return (names,)
    found = tuple(names)
    for name in found:
        if not isinstance(name, str):
            raise TypeError(f"argument names must be strings, got {name!r}")
    return found


class Parameters:
    """Names of a callable's parameters, by kind."""

    __slots__ = ("positional", "positional_only", "keyword_only", "any_number", "any_name")

    def __init__(self, positional: list[str], positional_only: int, keyword_only: list[str],
                 any_number: bool, any_name: bool):
        self.positional, self.positional_only = positional, positional_only
        self.keyword_only = keyword_only
        self.any_number, self.any_name = any_number, any_name


def parameters_of(fun: Callable) -> Parameters | None:
    """The parameters; None when the callable does not tell."""
    if type(fun) is types.FunctionType and not fun.__dict__:
        code = fun.__code__                     # thirty times faster than inspect.signature
        count, names = code.co_argcount, code.co_varnames
        keywords = names[count:count + code.co_kwonlyargcount]
        return Parameters(list(names[:count]), code.co_posonlyargcount, list(keywords),
                          bool(code.co_flags & inspect.CO_VARARGS),
                          bool(code.co_flags & inspect.CO_VARKEYWORDS))
    signature = signature_of(fun)
    if signature is None:
        return None
    found = list(signature.parameters.values())
    return Parameters([p.name for p in found if p.kind in _POSITIONAL],
                      sum(p.kind is p.POSITIONAL_ONLY for p in found),
                      [p.name for p in found if p.kind is p.KEYWORD_ONLY],
                      any(p.kind is p.VAR_POSITIONAL for p in found),
                      any(p.kind is p.VAR_KEYWORD for p in found))


def resolve(fun: Callable, numbers: Any, names: Any, what: str) -> tuple[tuple, tuple]:
    """(positions, names) of the chosen arguments; `what` is `static` or `donate`."""
    if (numbers is None or numbers == ()) and (names is None or names == ()):
        return (), ()
    parameters = parameters_of(fun)
    numbers = None if numbers is None else as_numbers(numbers)
    names = None if names is None else as_names(names)
    if parameters is None:
        return numbers or (), names or ()
    if numbers is not None:
        numbers = _checked_numbers(numbers, parameters, what)
    if names is not None:
        _check_names(names, parameters, what)
    by_name = list(enumerate(parameters.positional))[parameters.positional_only:]
    if numbers is None:
        numbers = tuple(i for i, name in by_name if name in names)
    if names is None:
        names = tuple(name for i, name in by_name if i in numbers)
    return tuple(sorted(set(numbers))), tuple(dict.fromkeys(names))


def _checked_numbers(numbers: tuple, parameters: Parameters, what: str) -> tuple:
    count = len(parameters.positional)
    for n in numbers:
        if not parameters.any_number and not -count <= n < count:
            raise ValueError(f"Jitted function has {what}_argnums={numbers}, but only accepts "
                             f"{count} positional arguments.")
    return tuple(n + count if n < 0 and n + count >= 0 else n for n in numbers)


def _check_names(names: tuple, parameters: Parameters, what: str) -> None:
    only = set(parameters.positional[:parameters.positional_only]) & set(names)
    unknown = set(names) - set(parameters.positional) - set(parameters.keyword_only)
    if (only or unknown) and not parameters.any_name:
        if only:
            raise ValueError(f"Jitted function has invalid argnames {only} in {what}_argnames. "
                             f"These are positional-only; use {what}_argnums.")
        raise ValueError(f"Jitted function has invalid argnames {unknown} in {what}_argnames. "
                         "Function does not take these args.")


def hashable(value: Any, fun: Callable) -> Any:
    """A static value, or ValueError saying why it cannot be one."""
    try:
        hash(value)
    except TypeError as error:
        raise ValueError(
            "Non-hashable static arguments are not supported: a static argument is part of the "
            f"cache key, so it needs __hash__ and __eq__. Got an object of type {type(value)}, "
            f"{value!r}; hashing it says: {error}. Pass a tuple instead of a list, or make the "
            "argument an ordinary (traced) one.") from None
    return value


# --- names of flat inputs ----------------------------------------------------------------------


def input_names(fun: Callable, args_tree: Any, positions: Iterable[int] | None = None) -> tuple:
    """Names of the leaves of `args_tree = (args, kwargs)`: `x`, `params['w'][0]`, `args[1]`.

    `positions` are the positions of the dynamic positional arguments in the call.
    """
    args, kwargs = args_tree
    positions = list(range(len(args))) if positions is None else list(positions)
    heads = _heads(fun, positions)
    out = []
    for head, arg in zip(heads, args):
        out += [head + pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(arg)]
    for name in sorted(kwargs):
        found = pytree.tree_leaves_with_path(kwargs[name])
        out += [name + pytree.keystr(path) for path, _ in found]
    return tuple(out)


def _heads(fun: Callable, positions: list[int]) -> list[str]:
    parameters = parameters_of(fun)
    positional = parameters.positional if parameters else []
    signature = signature_of(fun)
    variadic = next((p.name for p in signature.parameters.values()
                     if p.kind is p.VAR_POSITIONAL), "args") if signature else "args"
    return [positional[i] if i < len(positional) else f"{variadic}[{i - len(positional)}]"
            for i in positions]
