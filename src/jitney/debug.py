"""Looking into running programs, by the names in `jax.debug`."""

import builtins

from jitney.api.callbacks import DEBUG_EFFECT, ORDERED_DEBUG_EFFECT
from jitney.api.callbacks import debug_callback as callback
from jitney.api.callbacks import debug_log as log
from jitney.api.callbacks import debug_print as print

DebugEffect, OrderedDebugEffect = type(DEBUG_EFFECT), type(ORDERED_DEBUG_EFFECT)


def breakpoint(*, backend=None, filter_frames=True, num_frames=None, ordered=False, token=None,
               **kwargs):
    """Not available inside compiled programs: there is no Python frame to stop in."""
    raise NotImplementedError(
        "jax.debug.breakpoint: run the function under jax.disable_jit() and use Python's own "
        "breakpoint(), or look at values with jax.debug.print or jax.debug.callback")


def inspect_array_sharding(value, *, callback):
    """Call `callback` with the sharding of `value`: that of the one device."""
    callback(value.sharding)


def visualize_array_sharding(arr, **kwargs):
    """Print which devices hold which part of an array of one or two axes.

    The options of JAX that are about drawing are accepted: the text is plain.
    """
    visualize_sharding(arr.shape, arr.sharding, **kwargs)


def visualize_sharding(shape, sharding, *, use_color=True, scale=1.0, min_width=9, max_width=80,
                       color_map=None):
    """Print which devices would hold which part of an array of one or two axes.

    >>> visualize_sharding((4, 2), jitney.numpy.ones(1).sharding)
    [0:4, 0:2]  CPU 0

    Options about drawing have no effect: the text is plain. ValueError for other numbers of axes.
    """
    if not 1 <= len(shape) <= 2:
        raise ValueError("`visualize_sharding` only works for arrays with one or two axes, got the "
                         f"shape {tuple(shape)}")
    if not all(isinstance(x, (bool, int, float)) for x in (use_color, scale, min_width, max_width)):
        raise TypeError("visualize_sharding: use_color, scale, min_width and max_width are numbers")
    if not (color_map is None or callable(color_map) or isinstance(color_map, str)):
        raise TypeError(f"visualize_sharding: color_map is a function or a name, not {color_map!r}")
    holders: dict = {}
    for device, index in sharding.devices_indices_map(tuple(shape)).items():
        bounds = [s.indices(n)[:2] for s, n in zip(index, shape)]
        part = ", ".join(f"{start}:{stop}" for start, stop in bounds)
        holders.setdefault(f"[{part}]", []).append(str(device.id))
    for part, devices in holders.items():
        builtins.print(f"{part}  CPU {','.join(devices)}")


__all__ = ["DebugEffect", "OrderedDebugEffect", "breakpoint", "callback", "inspect_array_sharding",
           "log", "print", "visualize_array_sharding", "visualize_sharding"]
