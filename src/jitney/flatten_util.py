"""Trees as one flat array, by the names in `jax.flatten_util`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes
from jitney.base.pytree import tree_flatten
from jitney.core.avals import get_aval, to_array


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """(all leaves in one vector, function from such a vector back to the tree)."""
    leaves, tree = tree_flatten(pytree)
    if not leaves:
        return to_array(np.zeros((0,), np.float32)), lambda _: tree.unflatten([])
    avals = [get_aval(leaf) for leaf in leaves]
    sizes = tuple(a.size for a in avals)
    common = dtypes.result_type(*leaves)
    parts = [lax.reshape(lax.convert_element_type(leaf, common), (size,))
             for leaf, size in zip(leaves, sizes)]
    flat = lax.concatenate(parts, 0) if len(parts) > 1 else parts[0]
    return flat, _Unravel(tree, avals, sizes, common)


class _Unravel:
    """From a vector to the tree; equal when structure and types are equal."""

    def __init__(self, tree: Any, avals: list, sizes: tuple, dtype: Any):
        self.tree, self.avals, self.sizes, self.dtype = tree, tuple(avals), sizes, dtype

    def _key(self) -> tuple:
        return self.tree, self.avals

    def __eq__(self, other: Any) -> bool:
        return type(other) is _Unravel and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __call__(self, flat: Any) -> Any:
        aval = get_aval(flat)
        if aval.shape != (sum(self.sizes),):
            raise ValueError(f"unravel function given array of shape {aval.shape}, but expected "
                             f"shape {(sum(self.sizes),)}")
        mixed = any(a.dtype != self.dtype for a in self.avals)
        if mixed and aval.dtype != self.dtype:
            raise TypeError(f"unravel function given array of dtype {aval.dtype}, but expected "
                            f"dtype {self.dtype}")
        parts = lax.split(flat, self.sizes) if len(self.sizes) > 1 else [flat]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            leaves = [lax.reshape(part, a.shape) for part, a in zip(parts, self.avals)]
            if mixed:
                leaves = [lax.convert_element_type(x, a.dtype)
                          for x, a in zip(leaves, self.avals)]
        return self.tree.unflatten(leaves)


__all__ = ["ravel_pytree"]
