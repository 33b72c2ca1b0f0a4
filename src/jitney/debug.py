"""Looking into running programs, by the names in `jax.debug`."""

from jitney.api.callbacks import DEBUG_EFFECT, ORDERED_DEBUG_EFFECT
from jitney.api.callbacks import debug_callback as callback
from jitney.api.callbacks import debug_print as print

DebugEffect, OrderedDebugEffect = type(DEBUG_EFFECT), type(ORDERED_DEBUG_EFFECT)
log = print


def breakpoint(**kwargs):
    """Not available inside compiled programs: there is no Python frame to stop in."""
    raise NotImplementedError(
        "jax.debug.breakpoint: run the function under jax.disable_jit() and use Python's own "
        "breakpoint(), or look at values with jax.debug.print or jax.debug.callback")


def inspect_array_sharding(value, *, callback):
    """Call `callback` with the sharding of `value`: that of the one device."""
    callback(value.sharding)


def visualize_array_sharding(arr, **kwargs):
    """Print where an array lies: on the one device."""
    print("CPU 0")


def visualize_sharding(shape, sharding, **kwargs):
    """Print where an array of this shape would lie: on the one device."""
    print("CPU 0")


__all__ = ["DebugEffect", "OrderedDebugEffect", "breakpoint", "callback", "inspect_array_sharding",
           "log", "print", "visualize_array_sharding", "visualize_sharding"]
