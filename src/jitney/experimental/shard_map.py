"""`jax.experimental.shard_map`: the name `shard_map` had before it became `jax.shard_map`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from jitney.api.shard_map import shard_map as _shard_map


def shard_map(f: Callable, mesh: Any, in_specs: Any, out_specs: Any,
              check_rep: bool = True) -> Any:
    """`jax.shard_map(f, mesh=…, in_specs=…, out_specs=…, check_vma=check_rep)`."""
    warnings.warn("jax.experimental.shard_map is deprecated. Use jax.shard_map instead.",
                  DeprecationWarning, stacklevel=2)
    return _shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep)


__all__ = ["shard_map"]
