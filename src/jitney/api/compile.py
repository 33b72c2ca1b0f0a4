"""From a traced program to something that runs: the one call into the back half.

In: a closed jaxpr and which inputs are given up. Out: `Runnable`: the native program, which flat
inputs it takes, and the captured arrays it takes as further, hidden inputs.
Invariant: captured arrays are arguments, never constants baked into code.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any

from jitney.base import config, debug
from jitney.base.collector import without_collector
from jitney.core import avals
from jitney.core.dce import dce_jaxpr, prune_constants
from jitney.core.jaxpr import ClosedJaxpr, Jaxpr
from jitney.core.reference_program import compile_reference
from jitney.runtime import saved_program

_MISSING = object()
_compiler: Any = _MISSING


def _load_compiler() -> Any:
    """`pipeline.compile_jaxpr`, imported at the first compilation: a process that only looks at
    programs, or finds everything it needs compiled, does not pay for the compiler."""
    global _compiler
    if _compiler is _MISSING:
        try:
            _compiler = importlib.import_module("jitney.pipeline").compile_jaxpr
        except ModuleNotFoundError as error:
            if error.name != "jitney.pipeline":
                raise
            debug.log("compile", f"no compiler: {error}")   # the front half runs alone
            _compiler = None
    return _compiler


class Runnable:
    """A program with its calling convention."""

    __slots__ = ("executable", "program", "kept", "hidden", "donated", "jaxpr", "name")

    def __init__(self, executable: Any, kept: tuple, hidden: tuple, donated: tuple, jaxpr: Jaxpr,
                 name: str):
        self.executable, self.program = executable, executable.program
        self.kept, self.hidden, self.donated = kept, hidden, donated
        self.jaxpr, self.name = jaxpr, name

    def run(self, leaves: Sequence[Any], leaf_avals: Sequence[Any]) -> list:
        """Execute on the flat arguments of a call."""
        inputs = [avals.to_array(leaves[i], leaf_avals[i]) for i in self.kept]
        inputs.extend(self.hidden)
        if config.no_execution.value:
            raise RuntimeError(f"executing {self.name} while jax_no_execution is set")
        if self.donated:
            donated = [self.kept.index(i) for i in self.donated if i in self.kept]
            return self.program.execute(inputs, tuple(donated))
        return self.program.execute(inputs)


def backend_name() -> str:
    """`compiler`, or `reference` (JITNEY_BACKEND=reference, or no compiler present)."""
    wanted = _wanted_backend()
    return "reference" if wanted == "reference" or _load_compiler() is None else "compiler"


def _wanted_backend() -> str:
    wanted = os.environ.get("JITNEY_BACKEND", "")
    if wanted not in ("", "compiler", "reference"):
        raise ValueError(f"JITNEY_BACKEND={wanted!r}: compiler or reference")
    return wanted


def compile_closed(closed: ClosedJaxpr, name: str, donated: tuple[bool, ...]) -> Any:
    """The executable of a program whose constants are all inputs."""
    if debug.enabled("jaxpr", name):
        debug.log("jaxpr", f"{name}\n{closed}", name)
    if config.log_compiles.value:
        debug.log_always("compile", f"compiling {name} for {closed.in_avals}")
    key = None
    if _wanted_backend() != "reference":
        key = saved_program.key_of_program(closed, name, donated)
    if key is not None:
        saved = saved_program.load_program(
            key, closed, name, lambda: _compile(closed, name, donated))
        if saved is not None:
            return saved
    if backend_name() == "reference":
        debug.count("compiles")                     # the compiler counts its own
        return compile_reference(closed, name=name, donated=donated)
    executable = _compile(closed, name, donated)
    if key is not None:
        saved_program.save_program(key, executable)
    executable.recipe = ()
    return executable


def _compile(closed: ClosedJaxpr, name: str, donated: tuple[bool, ...]) -> Any:
    try:
        return _load_compiler()(closed, name=name, donated=donated)
    except NotImplementedError as error:
        debug.count("reference_fallbacks")
        debug.log("compile", f"{name}: no machine code ({error}); the NumPy references serve")
        return compile_reference(closed, name=name, donated=donated)


@without_collector
def make_runnable(closed: ClosedJaxpr, name: str, donated: Sequence[int] = (),
                  keep_unused: bool = False) -> Runnable:
    """Compile a traced program: drop dead code and unused inputs, turn constants into inputs.

    `donated` are the flat positions of inputs the caller gives up.
    """
    jaxpr, used = dce_jaxpr(closed.jaxpr, None, keep_unused)
    jaxpr, consts = prune_constants(jaxpr, closed.consts)
    kept = tuple([i for i, u in enumerate(used) if u])
    inputs = [*jaxpr.invars, *jaxpr.constvars]
    program = Jaxpr((), inputs, jaxpr.outvars, jaxpr.eqns, jaxpr.effects, jaxpr.debug_info)
    given = frozenset(donated)
    flags = tuple([i in given for i in kept]) + (False,) * len(consts)
    hidden = tuple([avals.to_array(c, v.aval) for c, v in zip(consts, jaxpr.constvars)])
    executable = compile_closed(ClosedJaxpr(program, ()), name, flags)
    return Runnable(executable, kept, hidden, tuple(sorted(given)), program, name)
