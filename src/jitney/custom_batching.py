"""Functions with batching rules of their own, by the names in `jax.custom_batching`."""

from jitney.api.custom_batching import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
