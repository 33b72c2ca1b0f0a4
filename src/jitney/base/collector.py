"""The cycle collector waits while a program is planned, and comes rarely while one is traced.

Planning makes some hundred objects an equation, nearly all of which live until it ends: collecting
among them again and again found nothing and took nearly half of the first call of a program of
2,000 equations. What planning leaves behind is collected right afterwards, in the usual order.
Tracing runs the user's functions, which may leave garbage of their own: there the collector comes
once in many more new objects than usual.
"""

from __future__ import annotations

import functools
import gc
import os
import threading
from collections.abc import Callable
from typing import Any

RARELY = 50_000  # new objects between collections while a function is traced (usually 700)

_lock = threading.Lock()
_tracing = 0
_usual = 0
_inside = 0
_was_enabled = False


def _enter() -> None:
    global _inside, _was_enabled
    with _lock:
        if _inside == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _inside += 1


def _leave() -> None:
    global _inside
    with _lock:
        _inside = max(0, _inside - 1)
        if _inside == 0 and _was_enabled:
            gc.enable()


def begin_tracing() -> None:
    """Let the collector come rarely until `end_tracing` (in all threads; calls count)."""
    global _tracing, _usual
    with _lock:
        if _tracing == 0:
            _usual, *others = gc.get_threshold()
            if 0 < _usual < RARELY:
                gc.set_threshold(RARELY, *others)
        _tracing += 1


def end_tracing() -> None:
    """As before, unless somebody has set another threshold meanwhile."""
    global _tracing
    with _lock:
        _tracing = max(0, _tracing - 1)
        if _tracing == 0:
            _restore_threshold()


def _restore_threshold() -> None:
    now, *others = gc.get_threshold()
    if now == RARELY:
        gc.set_threshold(_usual, *others)


def _begin_child() -> None:
    """The threads that were planning or tracing are not in the child."""
    global _lock, _inside, _tracing
    _lock = threading.Lock()
    if _tracing:
        _tracing = 0
        _restore_threshold()
    if _inside:
        _inside = 0
        if _was_enabled:
            gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


def without_collector(function: Callable) -> Callable:
    """`function`, run while the collector waits (in all threads; nested and parallel calls count).

    For functions of this package that call nothing of the user's and end soon.
    """

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        _enter()
        try:
            return function(*args, **kwargs)
        finally:
            _leave()

    return wrapped
