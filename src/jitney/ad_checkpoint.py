"""Recomputation in the backward pass, by the names in `jax.ad_checkpoint`."""

from jitney.api.checkpoint import checkpoint, checkpoint_name, checkpoint_policies, remat

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies", "remat"]
