"""The doors that open backwards, filled once by `wiring`.

`core` must reach three things above it: evaluation of a primitive on concrete values, the
operators of tracers and arrays, and conversion to arrays. They are variables here.
Invariant: without wiring the front half still works, by NumPy references.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

_eager: Callable | None = None
_reference: Callable | None = None
_lock = threading.Lock()
_binders = 0
binder: Callable | None = None      # stands before traces while some thread needs it


def set_eager_evaluator(evaluate: Callable) -> None:
    """`evaluate(primitive, args, params)` gives the value (or list) on concrete arguments."""
    global _eager
    _eager = evaluate


def set_reference_evaluator(evaluate: Callable) -> None:
    """The evaluator used before wiring: `core.interpret` puts itself here."""
    global _reference
    _reference = evaluate


def count_binders(bind: Callable, change: int) -> None:
    """While the count is positive, applications under a trace go to
    `bind(primitive, trace, args, params)` first, in every thread."""
    global _binders, binder
    with _lock:
        _binders += change
        binder = bind if _binders else None


def eager_evaluate(primitive: Any, args: tuple, params: dict) -> Any:
    evaluate = _eager or _reference
    assert evaluate is not None, "core.interpret puts an evaluator here when it is imported"
    return evaluate(primitive, args, params)
