"""Interfaces for those who extend the language, by the names in `jax.extend`."""

from jitney.extend import core

__all__ = ["core"]
