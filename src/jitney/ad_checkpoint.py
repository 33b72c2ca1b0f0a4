"""Recomputation in the backward pass, by the names in `jax.ad_checkpoint`.

A policy may answer True or `Saveable` (keep the value), False or `Recompute`, or
`Offloadable(src, dst)`: there is one memory, so that means to keep it.
"""

from typing import NamedTuple

from jitney.api.checkpoint import checkpoint, checkpoint_name, checkpoint_policies, remat
from jitney.api.saved_residuals import print_saved_residuals
from jitney.transforms import remat as _answers

Saveable = _answers.Saveable()
Recompute = _answers.Recompute()


class Offloadable(NamedTuple):
    """A policy's answer: keep the value, in another memory where there is one."""

    src: str
    dst: str


__all__ = ["Offloadable", "Recompute", "Saveable", "checkpoint", "checkpoint_name",
           "checkpoint_policies", "print_saved_residuals", "remat"]
