"""The stages of a jitted function as objects: Traced, Lowered, Compiled.

    traced = jit(f).trace(x); lowered = traced.lower(); compiled = lowered.compile(); compiled(x)

In: a traced program with the call's structure. Out: text, costs, and a callable that refuses
arguments of other types instead of compiling again.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

from jitney.api import placed
from jitney.api.compile import Runnable
from jitney.api.jit_options import check_compiler_options
from jitney.api.shapes import ShapeDtypeStruct, struct_of
from jitney.api.tracing import Call, find_avals, input_names_of, read_call
from jitney.api.tracing import Traced as TracedProgram
from jitney.base import pytree
from jitney.core.avals import ShapedArray
from jitney.core.jaxpr import ClosedJaxpr


@dataclasses.dataclass(frozen=True)
class ArgInfo:
    """Type of one argument, and whether it is donated."""

    _aval: ShapedArray
    donated: bool

    @property
    def shape(self):
        return self._aval.shape

    @property
    def dtype(self):
        return self._aval.dtype


@dataclasses.dataclass(frozen=True)
class CompiledMemoryStats:
    """Bytes a compiled program needs."""

    generated_code_size_in_bytes: int = 0
    argument_size_in_bytes: int = 0
    output_size_in_bytes: int = 0
    alias_size_in_bytes: int = 0
    temp_size_in_bytes: int = 0
    host_generated_code_size_in_bytes: int = 0
    host_argument_size_in_bytes: int = 0
    host_output_size_in_bytes: int = 0
    host_alias_size_in_bytes: int = 0
    host_temp_size_in_bytes: int = 0


class _Stage:
    """What all stages know: the types of arguments and results."""

    def __init__(self, jitted: Any, traced: TracedProgram, call: Call, donated: tuple,
                 fun: Callable):
        self._jitted, self._traced, self._call = jitted, traced, call
        self._donated, self._fun = donated, fun

    @property
    def in_tree(self):
        return self._traced.in_tree

    @property
    def out_tree(self):
        return self._traced.out_tree

    @property
    def in_avals(self) -> Any:
        return self.in_tree.unflatten(list(self._call.avals))

    @property
    def args_info(self) -> Any:
        infos = [ArgInfo(a, i in self._donated) for i, a in enumerate(self._call.avals)]
        return self.in_tree.unflatten(infos)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        return self._donated

    @property
    def out_info(self) -> Any:
        return self.out_tree.unflatten([struct_of(a) for a in self._traced.jaxpr.out_avals])

    @property
    def fun_name(self) -> str:
        return self._traced.name


class Traced(_Stage):
    """A function traced for some argument types."""

    @property
    def jaxpr(self) -> ClosedJaxpr:
        return self._traced.jaxpr

    lojax = jaxpr

    @property
    def out_avals(self) -> Any:
        return self.out_tree.unflatten(list(self._traced.jaxpr.out_avals))

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """The program as it goes to the compiler. ValueError for platforms other than the CPU."""
        if lowering_platforms is not None and tuple(lowering_platforms) != ("cpu",):
            raise ValueError(f"lowering_platforms={lowering_platforms}: only ('cpu',) exists")
        return Lowered(self._jitted, self._traced, self._call, self._donated, self._fun)

    def __repr__(self):
        return f"Traced({self.fun_name})"


class Lowered(_Stage):
    """A program ready to be compiled."""

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the results (weak types do not survive compilation)."""
        return self.out_tree.unflatten([
            ShapeDtypeStruct(a.shape, a.dtype) for a in self._traced.jaxpr.out_avals])

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program's text: StableHLO, or `jaxpr`, or a stage of the compiler.

        `debug_info` adds to each operation the equation it came from and the user's line.
        """
        if dialect in (None, "stablehlo"):
            return stablehlo_text(self._traced.jaxpr, self.fun_name,
                                  self._jitted._keep_unused, self._donated,
                                  self.out_tree, debug_info)
        if dialect == "jaxpr":
            return self._traced.jaxpr.pretty_print(source_info=debug_info)
        if debug_info:
            raise NotImplementedError(f"as_text({dialect!r}, debug_info=True): only the dialects "
                                      "'stablehlo' and 'jaxpr' tell where operations come from")
        return self.compile().as_text(dialect)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The program's text (there is no other representation outside the compiler)."""
        return self.as_text(dialect)

    def compile(self, compiler_options: dict | None = None, *,
                device_assignment: Sequence | None = None) -> Compiled:
        """Machine code.

        Options of XLA have no effect; other names are a JaxRuntimeError. Programs run where their
        arguments are, so `device_assignment` must be None.
        """
        check_compiler_options(compiler_options)
        if device_assignment is not None:
            raise NotImplementedError("device_assignment: a program runs where its arguments are; "
                                      "place them with device_put")
        runnable = self._jitted._runnable(self._traced, self._donated)
        return Compiled(self._jitted, self._traced, self._call, self._donated, self._fun, runnable)

    def cost_analysis(self) -> dict[str, float]:
        """Estimated work."""
        return self.compile().cost_analysis()

    def __repr__(self):
        return f"Lowered({self.fun_name})"


class Compiled(_Stage):
    """An executable for exactly these argument types."""

    def __init__(self, *args: Any):
        *args, runnable = args
        super().__init__(*args)
        self._runnable: Runnable = runnable

    out_info = Lowered.out_info

    def as_text(self, stage: str | None = None) -> str:
        """The compiled program: its kernels, or another stage by name."""
        executable = self._runnable.executable
        return executable.as_text() if stage is None else executable.as_text(stage)

    def runtime_executable(self) -> Any:
        return self._runnable.executable

    def cost_analysis(self) -> dict[str, float]:
        """Estimated floating-point operations and bytes moved."""
        moved = sum(a.nbytes for a in (*self._call.avals, *self._traced.jaxpr.out_avals))
        costs = {"flops": 0.0, "bytes accessed": float(moved)}
        analysis = getattr(self._runnable.executable, "cost_analysis", None)
        return {**costs, **(analysis() if analysis is not None else {})}

    def memory_analysis(self) -> CompiledMemoryStats:
        """Bytes of arguments, results and scratch memory."""
        jaxpr, kept = self._traced.jaxpr, self._runnable.kept
        out = jaxpr.out_avals
        kept_avals = [self._call.avals[i] for i in kept]
        alias = sum(self._call.avals[i].nbytes for i in self._donated
                    if any(o.shape == self._call.avals[i].shape and
                           o.dtype == self._call.avals[i].dtype for o in out))
        return CompiledMemoryStats(
            argument_size_in_bytes=sum(a.nbytes for a in kept_avals),
            output_size_in_bytes=sum(a.nbytes for a in out), alias_size_in_bytes=alias,
            temp_size_in_bytes=getattr(self._runnable.program, "workspace_bytes", 0))

    @property
    def input_shardings(self) -> Any:
        """Where arguments are expected: as `in_shardings` say, or as those traced with."""
        return self.in_tree.unflatten([s or placed.DEFAULT for s in self._given()])

    @property
    def output_shardings(self) -> Any:
        """Where results are."""
        found = placed.shardings_of_results(self._traced.jaxpr, self._given())
        asked = self._jitted._shardings
        if asked is not None:
            found = [a or s for a, s in zip(asked.of_results(self.out_tree), found)]
        return self.out_tree.unflatten([s or placed.DEFAULT for s in found])

    def _given(self) -> tuple:
        leaves = self._call.leaves
        given = tuple([x.sharding if isinstance(x, ShapeDtypeStruct) else known
                       for x, known in zip(leaves, placed.given_shardings(leaves))])
        asked = self._jitted._shardings
        if asked is None:
            return given
        return tuple([a or s for a, s in zip(asked.of_inputs(self.in_tree), given)])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run; TypeError when the arguments are not those it was compiled for."""
        jitted = self._jitted
        call = read_call(self._fun, args, kwargs, (), ())
        if call.in_tree != self.in_tree:
            self._refuse_structure(args, kwargs)
        find_avals(call, self._fun)
        call.positions = self._call.positions
        self._check_types(call)
        if any(hasattr(leaf, "_trace") for leaf in call.leaves):
            return jitted(*args, **kwargs)           # under a trace: an ordinary jitted call
        asked, jaxpr = jitted._shardings, self._traced.jaxpr
        if asked is not None:
            call.leaves = asked.place_inputs(call.leaves, self.in_tree, self._names())
        outs = self._runnable.run(call.leaves, self._call.avals)
        if asked is not None or placed.has_places(jaxpr, call.leaves):
            outs = placed.place_results(jaxpr, placed.given_shardings(call.leaves), outs)
        if asked is not None:
            outs = asked.place_results(outs, self.out_tree)
        return self.out_tree.unflatten(outs)

    call = __call__

    def _check_types(self, call: Call) -> None:
        wrong = []
        for name, want, have in zip(self._names(), self._call.avals, call.avals):
            if want.shape != have.shape or want.dtype != have.dtype:
                wrong.append(f"Argument '{name}' compiled with {want.str_short()} and called with "
                             f"{have.str_short()}")
        if wrong:
            raise TypeError("Argument types differ from the types for which this computation was "
                            f"compiled ({self.fun_name}). The mismatches are:\n" + "\n".join(wrong))

    def _names(self) -> tuple:
        return input_names_of(self._call, self._fun)

    def _refuse_structure(self, args: tuple, kwargs: dict) -> None:
        seen = self.in_tree.unflatten(list(range(len(self._call.avals))))
        found = [*pytree.prefix_errors(seen[0], args), *pytree.prefix_errors(seen[1], kwargs)]
        if not found:                                # a leaf was compiled for, a tree is given
            found = [*pytree.prefix_errors(args, seen[0]), *pytree.prefix_errors(kwargs, seen[1])]
        detail = "\n".join(error("args") for error in found[:5])
        raise TypeError(
            "Function compiled with input pytree does not match the input pytree it was called "
            f"with: compiled for {self.in_tree}, called with "
            f"{pytree.tree_structure((args, kwargs))}.\n{detail}")

    def __repr__(self):
        return f"Compiled({self.fun_name})"


Wrapped = Any


def stablehlo_text(closed: ClosedJaxpr, name: str, keep_unused: bool, donated: tuple,
                   out_tree: Any = None, debug_info: bool = False) -> str:
    """StableHLO by the module that writes it, when it is there."""
    if importlib.util.find_spec("jitney.stablehlo") is None:
        raise NotImplementedError("as_text() needs jitney.stablehlo, which is not there; "
                                  "as_text('jaxpr') works")
    return importlib.import_module("jitney.stablehlo").module_text(
        closed, name=name, keep_unused=keep_unused, donated=donated, out_tree=out_tree,
        debug_info=debug_info)


__all__ = ["ArgInfo", "Compiled", "CompiledMemoryStats", "Lowered", "Traced"]
