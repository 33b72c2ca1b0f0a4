"""Whole programs on disk: a process that runs what another has compiled plans nothing again.

In: a closed jaxpr and which inputs are given up. Out: something that runs like an `Executable`, or
None. An entry holds what `_native.Program` is made of (places in memory, steps, parameters) and the
keys of the kernels, which are entries of their own (`backend/object_cache.py` has the folder, its
checks and its bounds). Graph, kernels and plan, which people may ask about, are made again then.
The key has the description of the program, the target, the number of threads, and the state of all
files and switches that shape plans. Programs that call Python or hold large constants are not kept.
"""

from __future__ import annotations

import functools
import marshal
import sys
from typing import Any

import numpy as np

from .. import _native
from ..backend import object_cache
from ..backend.host import host_target
from ..base import config, debug
from ..base.digest import blake2b
from ..base.lazy import lazy_module
from ..core.describe_jaxpr import count_equations, describe_jaxpr
from .step_kinds import COPY, FOR, KERNEL, PYTHON, WHILE

lapack: Any = lazy_module("jitney.fuse.lapack")

FEWEST_EQUATIONS = 8  # smaller programs are compiled sooner than they are looked up
LEAST_WORK_NS = 10_000_000  # of planning and compiling: less is not worth an entry
PLAN_FOLDERS = (  # lowering asks for formulas of `lax` and `transforms`
    "base", "codegen", "core", "backend", "fuse", "graph", "ir", "lax", "lower", "placement",
    "runtime", "transforms",
)  # fmt: skip
PLAN_FILES = ("pipeline.py",)


class SavedExecutable:
    """A program from disk. `program` runs; everything else is computed when it is asked for."""

    def __init__(self, program: Any, closed: Any, compile_again: Any):
        self.program = program
        self.closed = closed
        self._compile_again = compile_again

    def call(self, arrays: Any) -> Any:
        return self.program.execute(list(arrays))

    @functools.cached_property
    def _whole(self) -> Any:
        return self._compile_again()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._whole, name)


def key_of_program(closed: Any, name: str, donated: tuple) -> bytes | None:
    """The content address of a program; None if it is not to be kept."""
    if count_equations(closed.jaxpr, FEWEST_EQUATIONS) < FEWEST_EQUATIONS or closed.consts:
        return None
    if debug.check_level() or debug.any_enabled() or debug.dump_directory():
        return None
    if object_cache.cache_folder() is None:
        return None
    text = describe_jaxpr(closed.jaxpr)
    if text is None:
        return None
    digest = blake2b(object_cache.version_of(PLAN_FOLDERS, PLAN_FILES), digest_size=20)
    settings = (
        sys.version_info[:2], np.__version__, _native.num_threads(), tuple(host_target()), name,
        tuple(map(bool, donated)), sorted(config.context_values().items()),
    )  # fmt: skip
    digest.update(repr(settings).encode())
    digest.update(text)
    return digest.digest()


def load_program(key: bytes, closed: Any, name: str, compile_again: Any) -> Any:
    """The program of that key if it and all of its kernels are there, else None."""
    body = object_cache.read_entry(key)
    if body is None:
        return None
    library, kernels, results, inputs, slots, workspace, steps, total = marshal.loads(body)
    if library and library != lapack.library_stamp():
        return None
    codes = [object_cache.find_code(k) for k in kernels]
    if any(code is None for code in codes):
        return None
    if library:
        lapack.bind_library()
    outputs = tuple([(aval, *how) for aval, how in zip(closed.out_avals, results, strict=True)])
    native = tuple([_loaded(step, codes) for step in steps])
    program = _native.Program(outputs, inputs, slots, workspace, native, (), total, name)
    debug.count("compiles")
    object_cache.counters["programs_loaded"] += 1
    return SavedExecutable(program, closed, compile_again)


def save_program(key: bytes, executable: Any) -> None:
    """Keeps a compiled program, if it can be."""
    recipe = getattr(executable, "recipe", None)
    times = getattr(executable, "times", {})
    if recipe is None or times.get("fuse", 0) + times.get("code", 0) < LEAST_WORK_NS:
        return
    outputs, inputs, slots, workspace, steps, constants, total, _ = recipe
    kernels: dict[bytes, int] = {}
    saved = [_saved(step, kernels) for step in steps]
    library = _library_used()
    if constants or None in saved or library is None:
        return
    results = tuple([tuple(how) for _, *how in outputs])
    entry = (library, tuple(kernels), results, inputs, slots, workspace, tuple(saved), total)
    object_cache.write_entry(key, marshal.dumps(entry, 2))


def _library_used() -> str | None:
    """The linear algebra library that steps may call: "" none yet, None of unknown version."""
    planner = sys.modules.get("jitney.fuse.lapack")
    if planner is None or not planner.is_bound():
        return ""
    return planner.library_stamp() or None


@functools.cache
def _routine_names() -> dict[int, str]:
    return {_native.routine_address(name): name for name in _native.routine_names()}


def _saved(step: tuple, kernels: dict) -> tuple | None:
    """A native step with kernels by number and routines by name; None if it calls Python."""
    kind, address, slots, params, extent, grain, more = step
    if kind == PYTHON:
        return None
    if kind == KERNEL:
        if more is not None:
            code = kernels.setdefault(more.key, len(kernels))
        else:
            code = _routine_names().get(address)
        return None if code is None else (kind, code, slots, params, extent, grain, None)
    if kind == COPY:
        return step
    bodies, rest = _bodies(kind, more)
    saved = tuple([tuple([_saved(s, kernels) for s in body]) for body in bodies])
    if any(None in body for body in saved):
        return None
    return (kind, address, slots, params, extent, grain, (saved, rest))


def _bodies(kind: int, more: tuple) -> tuple:
    """(lists of nested steps, what else there is) of a loop or branch."""
    if kind == FOR:
        body, minus, counter = more
        return (body,), (minus, counter)
    if kind == WHILE:
        test, body, predicate = more
        return (test, body), (predicate,)
    index, branches = more
    return branches, (index,)


def _loaded(step: tuple, codes: list) -> tuple:
    kind, what, slots, params, extent, grain, more = step
    if kind == KERNEL:
        if isinstance(what, str):
            return (kind, _native.routine_address(what), slots, params, extent, grain, None)
        return (kind, codes[what].address, slots, params, extent, grain, codes[what])
    if kind == COPY:
        return step
    saved, rest = more
    bodies = tuple([tuple([_loaded(s, codes) for s in body]) for body in saved])
    if kind == FOR:
        again: tuple = (bodies[0], *rest)
    elif kind == WHILE:
        again = (*bodies, *rest)
    else:
        again = (rest[0], bodies)
    return (kind, what, slots, params, extent, grain, again)
