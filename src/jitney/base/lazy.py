"""Modules imported when they are first used.

In: a module's full name. Out: an object whose attributes are the module's. For rooms that many
processes never enter: a process that finds all its machine code on disk needs no code generator.
"""

from __future__ import annotations

import importlib
from typing import Any

from .fork_gate import ForkGate

# A child born while another thread imports a module would wait for that module's lock for ever.
_importing = ForkGate()


class LazyModule:
    """Stands for a module until one of its attributes is asked for."""

    def __init__(self, name: str):
        self.__dict__["_name"] = name

    def __getattr__(self, attribute: str) -> Any:
        with _importing:
            module = importlib.import_module(self._name)
        self.__dict__.update(vars(module))
        return getattr(module, attribute)


def lazy_module(name: str) -> Any:
    """The module of that name, imported when it is first used."""
    return LazyModule(name)
