"""Linear operators that are never written down, under the names of `jax.scipy.sparse`."""

from jitney.scipy.sparse import linalg

__all__ = ["linalg"]
