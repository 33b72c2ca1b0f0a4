"""Division at a rank: partition and argpartition, as primitives of this package's own.

In: an array, an axis, a rank k. Out: the elements (or their positions) such that the one of rank k
is in its place, lesser ones before it and greater ones behind. Called eagerly by `jitney.numpy`;
under a trace that writes what JAX writes.
Invariant: NaN counts as greatest; within the two parts the order is unspecified.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney.core.avals import ShapedArray
from jitney.core.primitive import Primitive
from jitney.lax.sort import take_along
from jitney.transforms.jvp import Zero, define_jvp, define_zero_jvp, is_zero
from jitney.transforms.vmap import define_batch

partition_p = Primitive("partition", kind="sort")
argpartition_p = Primitive("argpartition", kind="sort")


def partition(operand: Any, k: int, axis: int) -> Any:
    """The elements, divided at rank k (0 <= k < the axis's extent)."""
    return partition_p.bind(operand, k=k, axis=axis)


def argpartition(operand: Any, k: int, axis: int) -> Any:
    """Positions (int32) of the elements, divided at rank k."""
    return argpartition_p.bind(operand, k=k, axis=axis)


@partition_p.def_abstract
def _partition_type(operand, *, k, axis):
    _check(operand, k, axis)
    return ShapedArray(operand.shape, operand.dtype, operand.weak_type)


@argpartition_p.def_abstract
def _argpartition_type(operand, *, k, axis):
    _check(operand, k, axis)
    return ShapedArray(operand.shape, np.int32)


def _check(operand, k, axis) -> None:
    if not 0 <= axis < len(operand.shape) or not 0 <= k < max(operand.shape[axis], 1):
        raise ValueError(f"rank {k} of axis {axis} is out of bounds for shape {operand.shape}")


@partition_p.def_reference
def _partition_reference(operand, *, k, axis):
    return np.sort(operand, axis=axis)


@argpartition_p.def_reference
def _argpartition_reference(operand, *, k, axis):
    return np.argsort(operand, axis=axis, kind="stable").astype(np.int32)


def _partition_jvp(primals, tangents, **params):
    (x,), (t,) = primals, tangents
    if is_zero(t):
        out = partition_p.bind(x, **params)
        return out, Zero.from_primal_value(out)
    positions = argpartition_p.bind(x, **params)
    return (take_along(x, positions, params["axis"]), take_along(t, positions, params["axis"]))


def _batch(primitive: Primitive):
    def rule(args, dims, *, k, axis):
        (x,), (dim,) = args, dims
        return primitive.bind(x, k=k, axis=axis + (axis >= dim)), dim

    return rule


define_jvp(partition_p, _partition_jvp)
define_zero_jvp(argpartition_p)
define_batch(partition_p, _batch(partition_p))
define_batch(argpartition_p, _batch(argpartition_p))
