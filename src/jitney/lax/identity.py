"""Primitives that change no value but what transformations and the compiler may do with it.

copy, stop_gradient, optimization_barrier, stage, dce_sink.
In: arrays (trees of them for the functions). Out: the same values.
Invariant: the result's type is the operand's.
"""

from __future__ import annotations

from typing import Any, TypeVar

from jitney import _native
from jitney.base import dtypes
from jitney.core.avals import get_aval, is_value
from jitney.core.primitive import Primitive
from jitney.lax.shape import linear, unchanged
from jitney.transforms.jvp import (
    Zero,
    define_jvp,
    define_zero_jvp,
    instantiate_zeros,
    is_zero,
)
from jitney.transforms.transpose import define_transpose, is_undefined_primal
from jitney.transforms.vmap import define_batch, define_batch_unary

T = TypeVar("T")

# --- copy ------------------------------------------------------------------------------------

copy_p = Primitive("copy", kind="elementwise")
copy_p.def_abstract(lambda x: x)
copy_p.def_reference(lambda x: x.copy())
linear(copy_p, lambda ct, x: [copy_p.bind(ct)])
define_batch_unary(copy_p)

# --- stop_gradient ---------------------------------------------------------------------------


def stop_gradient(x: T) -> T:
    """The same values (of every leaf of a tree), constant for derivatives."""
    leaves, tree = _native.tree_flatten(x)
    return _native.tree_unflatten(tree, [_stopped(leaf) for leaf in leaves])


def _stopped(leaf: Any) -> Any:
    if not is_value(leaf):
        raise TypeError(f"stop_gradient takes arrays and trees of arrays, got {leaf!r} of type "
                        f"{type(leaf)}")
    dtype = get_aval(leaf).dtype
    return stop_gradient_p.bind(leaf) if dtypes.is_inexact(dtype) else leaf


stop_gradient_p = Primitive("stop_gradient", kind="elementwise")
stop_gradient_p.def_abstract(lambda x: x)
stop_gradient_p.def_reference(lambda x: x)
define_zero_jvp(stop_gradient_p)
define_batch_unary(stop_gradient_p)

# --- optimization_barrier --------------------------------------------------------------------


def optimization_barrier(operand, /):
    """The same tree; the compiler moves no operation across and computes all of it first."""
    leaves, tree = _native.tree_flatten(operand)
    if not leaves:
        return operand
    return _native.tree_unflatten(tree, optimization_barrier_p.bind(*leaves))


optimization_barrier_p = Primitive("optimization_barrier", multiple_results=True)
optimization_barrier_p.def_abstract(lambda *operands: list(operands))
optimization_barrier_p.def_reference(lambda *operands: list(operands))


def _barrier_jvp(primals, tangents):
    outs = optimization_barrier_p.bind(*primals)
    flowing = [i for i, t in enumerate(tangents) if not is_zero(t)]
    out_tangents: list[Any] = [Zero.from_primal_value(x) for x in outs]
    if flowing:
        moved = optimization_barrier_p.bind(*[tangents[i] for i in flowing])
        for i, t in zip(flowing, moved, strict=True):
            out_tangents[i] = t
    return outs, out_tangents


def _barrier_transpose(cts, *operands):
    if all(is_zero(ct) for ct in cts):
        return [Zero(x.aval) if is_undefined_primal(x) else None for x in operands]
    return optimization_barrier_p.bind(*map(instantiate_zeros, cts))


define_jvp(optimization_barrier_p, _barrier_jvp)
define_transpose(optimization_barrier_p, _barrier_transpose)
define_batch(optimization_barrier_p,
             lambda args, dims: (optimization_barrier_p.bind(*args), list(dims)))

# --- name (for policies of checkpoint) -------------------------------------------------------

name_p = Primitive("name", kind="elementwise")
name_p.def_abstract(lambda x, *, name: x)
name_p.def_reference(lambda x, *, name: x)
linear(name_p, lambda ct, x, *, name: [ct])
define_batch_unary(name_p)

# --- stage, dce_sink -------------------------------------------------------------------------


def stage(x, /):
    """`x` as an array of the present trace."""
    return unchanged(x)


def dce_sink(val, *, prevent_mlir_dce: bool = False) -> None:
    """Keep the computation of `val` although nothing uses it."""
    for leaf in _native.tree_flatten(val)[0]:
        dce_sink_p.bind(leaf, prevent_mlir_dce=prevent_mlir_dce)


dce_sink_p = Primitive("dce_sink", multiple_results=True)
dce_sink_p.def_abstract(lambda x, *, prevent_mlir_dce: [])
dce_sink_p.def_reference(lambda x, *, prevent_mlir_dce: [])
dce_sink_p.def_effects(lambda x, *, prevent_mlir_dce: {"dce_sink"})
define_zero_jvp(dce_sink_p)
define_batch(dce_sink_p, lambda args, dims, **params: (dce_sink_p.bind(*args, **params), []))

__all__ = [
    "copy_p", "dce_sink", "dce_sink_p", "optimization_barrier", "optimization_barrier_p", "stage",
    "stop_gradient", "stop_gradient_p",
]
