"""Several processes, by the names in `jax.distributed`: there is one, so nothing is to be set up.

Devices of one process: `config.num_cpu_devices`, `shard_map`, `pmap`.
"""

from jitney.base.unsupported import unsupported_function

initialize = unsupported_function(
    "jax.distributed.initialize",
    "a program runs in one process on one machine. Leave the call out; jax.process_count() is 1.")


def is_initialized() -> bool:
    """Whether several processes work together: never."""
    return False


def shutdown() -> None:
    """Nothing is running, so there is nothing to shut down."""


__all__ = ["initialize", "is_initialized", "shutdown"]
