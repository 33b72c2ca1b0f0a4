"""Batching rules: the table, and the combinators `lax` fills it with.

A rule takes `(args, dims, **params)`: `dims[i]` is the position of the batch dimension in
`args[i]`, or None where the operand is not batched; it returns `(out, out_dim)` (lists for
several results). At least one operand is batched when a rule is called.

    define_batch_elementwise(sin_p)         # every operand has the same shape (or is a scalar)
    define_batch(sort_p, lambda args, dims, *, dimension, **params: …)
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from jitney.core.avals import get_aval
from jitney.core.primitive import Primitive, named

batch_rules: dict[Primitive, Callable] = {}
not_mapped = None


def define_batch(primitive: Primitive, rule: Callable) -> None:
    """Attach a full rule `(args, dims, **params) -> (out, out_dim)`."""
    batch_rules[primitive] = rule


def define_batch_elementwise(primitive: Primitive) -> None:
    """All operands have one shape (or rank 0): move batch dimensions together and apply."""

    def rule(args, dims, **params):
        args, dim = align(args, dims)
        out = primitive.bind(*args, **params)
        return out, [dim] * len(out) if primitive.multiple_results else dim

    batch_rules[primitive] = rule


def define_batch_unary(primitive: Primitive) -> None:
    """One operand, elementwise: the batch dimension stays where it is."""

    def rule(args, dims, **params):
        out = primitive.bind(*args, **params)
        return out, [dims[0]] * len(out) if primitive.multiple_results else dims[0]

    batch_rules[primitive] = rule


class _Ambient(threading.local):
    """The batch whose rule is running (for programs inside equations)."""

    axis_name: Any = None
    size: int = 0
    mesh_axes: tuple = ()  # over which the examples are spread (`spmd_axis_name`)


ambient = _Ambient()


# --- moving dimensions -----------------------------------------------------------------------


def batch_size(args: Any, dims: Any) -> int:
    """The common extent of the batch dimension (of the running batch when none is batched)."""
    sizes = {get_aval(a).shape[d] for a, d in zip(args, dims) if d is not None}
    if not sizes and ambient.size:
        return ambient.size
    if len(sizes) != 1:
        raise ValueError(f"batched operands disagree in the size of the batch: {sorted(sizes)}")
    return sizes.pop()


def move_dimension(x: Any, source: int, destination: int) -> Any:
    """`x` with one dimension moved (a `transpose`, nothing when it is there already)."""
    ndim = len(get_aval(x).shape)
    source, destination = source % ndim, destination % ndim
    if source == destination:
        return x
    order = [d for d in range(ndim) if d != source]
    order.insert(destination, source)
    return named("transpose").bind(x, permutation=tuple(order))


def broadcast_batch(x: Any, size: int, destination: int = 0) -> Any:
    """`x` repeated along a new batch dimension at `destination`."""
    shape = list(get_aval(x).shape)
    kept = tuple(d for d in range(len(shape) + 1) if d != destination)
    shape.insert(destination, size)
    return named("broadcast_in_dim").bind(
        x, shape=tuple(shape), broadcast_dimensions=kept, sharding=None)


def at_front(x: Any, dim: int | None, size: int) -> Any:
    """`x` with its batch dimension first, broadcast when it has none."""
    return broadcast_batch(x, size) if dim is None else move_dimension(x, dim, 0)


def align(args: Any, dims: Any) -> tuple[list, int]:
    """Operands of an elementwise primitive, brought to one common batch dimension.

    Unbatched operands are broadcast unless they are scalars beside scalars.
    """
    batched = {(d, len(get_aval(a).shape)) for a, d in zip(args, dims) if d is not None}
    if len(batched) == 1 and all(d is not None for d in dims):
        return list(args), next(iter(batched))[0]
    size = batch_size(args, dims)
    return [at_front(a, d, size) for a, d in zip(args, dims)], 0
