"""The argument `out_sharding`: how a result is to be spread over devices.

In: what a caller passed. Out: nothing, or a TypeError or ValueError. Values never depend on it:
the devices of a process read the same memory. Functions that make arrays place them so; otherwise
it is checked, kept in equations that have a place for it, and without effect.
"""

from __future__ import annotations

from typing import Any

from jitney.placement.mesh import current_mesh
from jitney.placement.partition_spec import PartitionSpec
from jitney.placement.shardings import NamedSharding


def check_out_sharding(name: str, out_sharding: Any) -> None:
    """Raise unless `out_sharding` is None, a NamedSharding, or a PartitionSpec.

    ValueError for a PartitionSpec without a mesh in scope, TypeError for anything else.
    """
    if out_sharding is None:
        return
    if not isinstance(out_sharding, (NamedSharding, PartitionSpec)):
        raise TypeError(f"`out_sharding` argument of {name} only supports instances of "
                        f"`NamedSharding` or `PartitionSpec`. Got {out_sharding} of type: "
                        f"{type(out_sharding)}")
    if current_mesh() is None and isinstance(out_sharding, PartitionSpec):
        raise ValueError("Using PartitionSpec when you are not under a mesh context is not "
                         "allowed. Please pass a NamedSharding instance or enter into a mesh "
                         f"context via `jax.set_mesh`. Got {out_sharding} for {name}")


__all__ = ["check_out_sharding"]
