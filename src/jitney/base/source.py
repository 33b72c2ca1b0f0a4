"""Where in the user's code something happened, kept cheaply and read rarely.

`user_frame()` is called for every recorded equation, so it stores only (code object, bytecode
offset); lines are computed when somebody asks. Frames of this package are not the user's.
Invariant: nothing here holds a frame object alive.
"""

from __future__ import annotations

import contextlib
import functools
import linecache
import os
import sys
import types
from typing import Any

Location = tuple[types.CodeType, int]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_WRAPPERS = frozenset((functools.__file__, contextlib.__file__))
_getframe = sys._getframe


class _Internal(dict):
    """filename -> whether its frames belong to the package (or to import machinery)."""

    def __missing__(self, filename: str) -> bool:
        internal = filename.startswith(_PACKAGE) or filename.startswith("<frozen ")
        internal = internal or filename in _WRAPPERS
        self[filename] = internal
        return internal


_internal = _Internal()


def user_frame() -> Location | None:
    """The innermost frame outside the package, as (code, offset)."""
    frame: types.FrameType | None = _getframe(1)
    internal = _internal
    while frame is not None:
        code = frame.f_code
        if not internal[code.co_filename]:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def user_stack(limit: int = 8) -> tuple[Location, ...]:
    """The innermost `limit` user frames, innermost first."""
    found: list = []
    frame: types.FrameType | None = _getframe(1)
    while frame is not None and len(found) < limit:
        if not _internal[frame.f_code.co_filename]:
            found.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def _line_of(code: types.CodeType, offset: int) -> int:
    found = code.co_firstlineno
    for start, stop, line in code.co_lines():
        if line is not None and start <= offset < stop:
            return line
    return found


def file_and_line(location: Location | None) -> tuple[str, int]:
    if location is None:
        return "<unknown>", 0
    return location[0].co_filename, _line_of(*location)


def summarize(location: Location | None) -> str:
    """`path/file.py:12 (function)`, or `<unknown>`."""
    if location is None:
        return "<unknown>"
    return f"{location[0].co_filename}:{_line_of(*location)} ({location[0].co_name})"


def source_line(location: Location | None) -> str:
    """The text of the line, when its file can be read."""
    filename, line = file_and_line(location)
    return linecache.getline(filename, line).strip() if line else ""


def function_location(fun: Any) -> str:
    """`name at file:line` of a function, however wrapped."""
    name = function_name(fun)
    code = getattr(innermost_function(fun), "__code__", None)
    return f"{name} at {code.co_filename}:{code.co_firstlineno}" if code else name


def innermost_function(fun: Any) -> Any:
    """Unwrap partials, bound methods and `__wrapped__` to the function with the code."""
    for _ in range(100):
        if isinstance(fun, functools.partial):
            fun = fun.func
        elif isinstance(fun, types.MethodType):
            fun = fun.__func__
        elif hasattr(fun, "__wrapped__"):
            fun = fun.__wrapped__
        elif not hasattr(fun, "__code__") and hasattr(_call_of(fun), "__code__"):
            fun = _call_of(fun)
        else:
            break
    return fun


def _call_of(x: Any) -> Any:
    """The `__call__` of the object's class, if it has one."""
    for kind in type(x).__mro__:
        if "__call__" in kind.__dict__:
            return kind.__dict__["__call__"]
    return None


def function_name(fun: Any) -> str:
    """The name a traced function is known by."""
    for _ in range(100):
        name = getattr(fun, "__name__", None)
        if isinstance(name, str):
            return name
        if isinstance(fun, functools.partial):
            fun = fun.func
        else:
            break
    return "<unnamed function>" if fun is None else type(fun).__name__


# --- tracebacks ------------------------------------------------------------------------------


def filter_traceback(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """The same traceback without the package's own frames."""
    kept = []
    while traceback is not None:
        if not _internal[traceback.tb_frame.f_code.co_filename]:
            kept.append(traceback)
        traceback = traceback.tb_next
    rebuilt = None
    for entry in reversed(kept):
        rebuilt = types.TracebackType(rebuilt, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rebuilt
