"""with_sharding_constraint and device_put as equations: values with a place, nothing computed.

In: a value and a sharding. Out: the same value; whoever evaluates the program notes where it is
(`api.placed`). Linear, and their own transposes.
"""

from __future__ import annotations

from typing import Any

from jitney.base.pytree import broadcast_prefix, tree_flatten
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.primitive import Primitive
from jitney.placement.mesh import get_abstract_mesh
from jitney.placement.partition_spec import UNCONSTRAINED, PartitionSpec
from jitney.placement.shardings import NamedSharding, Sharding, as_sharding
from jitney.transforms.jvp import define_linear
from jitney.transforms.vmap import define_batch
from jitney.transforms.vmap_table import ambient

sharding_constraint_p = Primitive("sharding_constraint")
device_put_p = Primitive("device_put", multiple_results=True)


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """`x`, placed as `shardings` say, inside or outside `jit`.

    `shardings` is a tree prefix of shardings, of PartitionSpecs (with a mesh in scope), or None for
    leaves to leave alone. ValueError for a sharding that does not fit the shape.
    """
    leaves, tree = tree_flatten(x)
    wanted = broadcast_prefix(shardings, x, is_leaf=_is_spec)
    return tree.unflatten([_constrained(leaf, s) for leaf, s in zip(leaves, wanted, strict=True)])


def _is_spec(x: Any) -> bool:
    return x is None or isinstance(x, (Sharding, PartitionSpec))


def _constrained(leaf: Any, wanted: Any) -> Any:
    if wanted is None or wanted is UNCONSTRAINED:
        return leaf
    sharding = as_sharding(wanted, "with_sharding_constraint")
    check_fits("with_sharding_constraint arguments", sharding, get_aval(leaf))
    spec = sharding.spec if isinstance(sharding, NamedSharding) else ()
    free = frozenset(i for i, entry in enumerate(spec) if entry is UNCONSTRAINED)
    return sharding_constraint_p.bind(leaf, sharding=sharding, layout=None,
                                      context_mesh=get_abstract_mesh(), unconstrained_dims=free)


def check_fits(what: str, sharding: Sharding, aval: ShapedArray) -> None:
    """ValueError unless arrays of this type can be cut so."""
    try:
        sharding.check_compatible_aval(aval.shape)
    except ValueError as error:
        raise ValueError(f"One of {what} is incompatible with its sharding annotation {sharding}: "
                         f"{error}") from None
    for axis, count in enumerate(sharding._parts(len(aval.shape))):
        if aval.shape[axis] % count:
            raise ValueError(
                f"One of {what} was given the sharding of {sharding}, which implies that the "
                f"global size of its dimension {axis} should be divisible by {count}, but it is "
                f"equal to {aval.shape[axis]} (full shape: {aval.shape})")


sharding_constraint_p.def_abstract(lambda x, **params: x)
sharding_constraint_p.def_reference(lambda x, **params: x)
define_linear(sharding_constraint_p,
              lambda ct, x, **params: [sharding_constraint_p.bind(ct, **params)])


def batched_sharding(sharding: Any, dim: int, entry: Any = None) -> Any:
    """The sharding of whole batches, whose dimension `dim` is split as `entry` says."""
    if not isinstance(sharding, NamedSharding):
        return sharding
    entries = list(sharding.spec)
    if dim < len(entries) or entry is not None:
        entries += [None] * (dim - len(entries))
        entries.insert(dim, entry)
    return NamedSharding(sharding.mesh, PartitionSpec(*entries))


def _constraint_batch(args, dims, *, sharding, unconstrained_dims, **params):
    """Examples are spread over the batch's own axes of the mesh, or wherever they are."""
    (dim,), axes = dims, ambient.mesh_axes
    free = frozenset(i + (i >= dim) for i in unconstrained_dims)
    entry = UNCONSTRAINED if not axes else axes[0] if len(axes) == 1 else axes
    if not axes:
        free |= {dim}
    elif isinstance(sharding, NamedSharding):
        _check_not_taken(sharding.spec, axes)
    return sharding_constraint_p.bind(args[0], sharding=batched_sharding(sharding, dim, entry),
                                      unconstrained_dims=free, **params), dim


def _check_not_taken(spec: PartitionSpec, axes: tuple) -> None:
    taken = [n for entry in spec for n in (entry if isinstance(entry, tuple) else (entry,))]
    if any(name in taken for name in axes):
        raise ValueError(f"vmap spmd_axis_name {axes} cannot appear in with_sharding_constraint "
                         f"spec, but got spec {spec}")


define_batch(sharding_constraint_p, _constraint_batch)

device_put_p.def_abstract(lambda *avals, **params: list(avals))
device_put_p.def_reference(lambda *xs, **params: list(xs))
define_linear(device_put_p, lambda cts, *xs, **params: device_put_p.bind(*cts, **params))


def _put_batch(args, dims, *, devices, **params):
    placed = tuple(d if at is None else batched_sharding(d, at) for d, at in zip(devices, dims))
    return device_put_p.bind(*args, devices=placed, **params), list(dims)


define_batch(device_put_p, _put_batch)

__all__ = ["device_put_p", "sharding_constraint_p", "with_sharding_constraint"]
