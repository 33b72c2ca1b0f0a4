"""Names of `jax.experimental`: what may still change there, and `jet` (Taylor mode)."""

from jitney.api.callbacks import io_callback

__all__ = ["io_callback"]
