"""Programs inside programs: `jit` as a function called, other calls written in place.

In: an equation with a program among its parameters. Out: `func.call` of a private function, one
for each program however often it is called; or the program's operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitney.core.jaxpr import ClosedJaxpr
from jitney.stablehlo.builder import Builder
from jitney.stablehlo.ops import Function, Value
from jitney.stablehlo.rules import rule, write_closed
from jitney.stablehlo.types import TensorType, type_of


def shared_function(b: Builder, key: Any, name: str, arg_types: Sequence[TensorType],
                    results: Sequence[TensorType], body: Callable, keep: Any = None) -> Function:
    """The private function made for this key, made now when there is none.

    `body(builder, *arguments)` gives the results; `keep` holds what the key's ids stand for.
    """
    found = b.module.shared.get(key)
    if found is not None:
        return found
    function = b.module.add_function(name, arg_types, results)
    b.module.shared[key] = function
    b.module.kept.append(keep)
    inner = Builder(b.module, function.block)
    inner.op("func.return", body(inner, *function.block.args), ())
    return function


def call_closed(b: Builder, closed: ClosedJaxpr, name: str,
                arguments: Sequence[Value]) -> list[Value]:
    """Call the function of a program."""
    jaxpr = closed.jaxpr
    key = (id(jaxpr), *map(id, closed.consts))
    function = shared_function(
        b, key, name, [type_of(v.aval) for v in jaxpr.invars],
        [type_of(v.aval) for v in jaxpr.outvars],
        lambda inner, *args: write_closed(inner, closed, args), closed)
    return b.call(function, arguments)


@rule("jit", "pjit", keys=True)
def _jit(b, site, *values):
    return call_closed(b, site.params["jaxpr"], site.params["name"], values)


@rule("closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", keys=True)
def _in_place(b, site, *values):
    return write_closed(b, site.params["call_jaxpr"], values)


@rule("custom_vmap_call", keys=True)
def _custom_vmap(b, site, *values):
    return write_closed(b, site.params["call"], values)


@rule("composite", keys=True)
def _composite(b, site, *values):
    return write_closed(b, site.params["jaxpr"], values)


@rule("checkpoint", "remat", "remat2", keys=True)
def _checkpoint(b, site, *values):
    """What is computed again must not be merged with the first computation."""
    p = site.params
    if p.get("prevent_cse") and p.get("differentiated") and values:
        values = b.op("stablehlo.optimization_barrier", values, [v.type for v in values])
    return write_closed(b, p["jaxpr"], values)


@rule("custom_linear_solve")
def _custom_linear_solve(b, site, *values):
    """The program that solves; the others serve transformations."""
    lengths, programs = site.params["const_lengths"], site.params["jaxprs"]
    first = lengths.matvec + lengths.vecmat
    consts = values[first:first + lengths.solve]
    return write_closed(b, programs.solve, [*consts, *values[sum(lengths):]])
