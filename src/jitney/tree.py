"""Functions on pytrees, by their names in `jax.tree`."""

import dataclasses

from jitney.base.pytree import tree_all as all
from jitney.base.pytree import tree_broadcast as broadcast
from jitney.base.pytree import tree_flatten as flatten
from jitney.base.pytree import tree_flatten_with_path as flatten_with_path
from jitney.base.pytree import tree_leaves as leaves
from jitney.base.pytree import tree_leaves_with_path as leaves_with_path
from jitney.base.pytree import tree_map as map
from jitney.base.pytree import tree_map_with_path as map_with_path
from jitney.base.pytree import tree_reduce as reduce
from jitney.base.pytree import tree_reduce_associative as reduce_associative
from jitney.base.pytree import tree_structure as structure
from jitney.base.pytree import tree_transpose as transpose
from jitney.base.pytree import tree_unflatten as unflatten


def static(**kwargs):
    """A dataclass field that is part of the structure (see `register_dataclass`)."""
    metadata = {**(kwargs.pop("metadata", None) or {}), "static": True}
    return dataclasses.field(metadata=metadata, **kwargs)


__all__ = ["all", "broadcast", "flatten", "flatten_with_path", "leaves", "leaves_with_path", "map",
           "map_with_path", "reduce", "reduce_associative", "static", "structure", "transpose",
           "unflatten"]
