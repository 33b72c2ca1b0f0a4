"""`jax.experimental.multihost_utils`: exchange between processes, of which there is one.

In: trees of arrays. Out: what all processes agree on: with one process, the same values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney.api.make_arrays import device_put
from jitney.base.pytree import broadcast_prefix, tree_flatten, tree_map
from jitney.placement.mesh import Mesh
from jitney.placement.partition_spec import PartitionSpec
from jitney.placement.shardings import NamedSharding


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The values of all processes as NumPy arrays, stacked along a new first axis.

    With `tiled` they are joined along the first axis instead.
    """
    return tree_map(lambda x: np.asarray(x) if tiled else np.asarray(x)[None], in_tree)


def sync_global_devices(name: str) -> None:
    """Wait for all processes; the only one need not."""
    if not isinstance(name, str):
        raise TypeError(f"sync_global_devices takes a name, not {name!r}")


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The values of the source process, as NumPy arrays; ValueError if there is no source."""
    if is_source is not None and not is_source:
        raise ValueError("broadcast_one_to_all: the only process must be the source")
    return tree_map(np.asarray, in_tree)


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """AssertionError if processes have different values; the only one has not."""
    if not isinstance(fail_message, str):
        raise TypeError(f"assert_equal: fail_message is a text, not {fail_message!r}")
    process_allgather(in_tree)


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """The arrays of this process as parts of arrays over a mesh; `pspecs` is a tree prefix."""
    leaves, tree = tree_flatten(local_inputs)
    specs = broadcast_prefix(pspecs, local_inputs,
                             is_leaf=lambda x: isinstance(x, PartitionSpec))
    return tree.unflatten([device_put(x, NamedSharding(global_mesh, s))
                           for x, s in zip(leaves, specs, strict=True)])


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """The part of this process of arrays over a mesh: all of it."""
    return host_local_array_to_global_array(global_inputs, global_mesh, pspecs)


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether this process is about to be stopped: nobody says so here."""
    if not isinstance(step_id, (int, np.integer)):
        raise TypeError(f"step_id is an integer, not {step_id!r}")
    return False


__all__ = [
    "assert_equal", "broadcast_one_to_all", "global_array_to_host_local_array",
    "host_local_array_to_global_array", "process_allgather", "reached_preemption_sync_point",
    "sync_global_devices",
]
