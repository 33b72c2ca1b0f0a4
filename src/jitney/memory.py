"""Kinds of memory, by their name in `jax.memory`."""

from jitney.placement.devices import MemorySpace as Space

__all__ = ["Space"]
