"""Clusters, under the names of `jax.scipy.cluster`."""

from jitney.scipy.cluster import vq

__all__ = ["vq"]
