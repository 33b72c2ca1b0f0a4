"""Checks of the options of `jit` and of the stages that have no effect here, or hardly any.

In: what a caller passed. Out: nothing, or an error that says what was expected. An option without
effect must at least be one JAX would take: nothing is ignored silently.
"""

from __future__ import annotations

from typing import Any

from jitney.base import pytree
from jitney.base.errors import JaxRuntimeError
from jitney.placement.devices import CpuDevice
from jitney.placement.partition_spec import PartitionSpec
from jitney.placement.shardings import Sharding

# Options of XLA's compiler whose names do not begin with xla_.
_OPTIONS = frozenset((
    "exec_time_optimization_effort", "memory_fitting_effort", "num_partitions", "num_replicas",
    "optimization_level"))


def check_compiler_options(options: Any) -> None:
    """Refuse what cannot be options of XLA: a dict from names to numbers, booleans or texts."""
    if options is None:
        return
    if not isinstance(options, dict):
        raise TypeError("compiler_options takes a dict from names of options to their values, not "
                        f"{type(options)}")
    for name, value in options.items():
        if not isinstance(name, str) or not isinstance(value, (bool, int, float, str)):
            raise TypeError("compiler_options takes names (str) and values (bool, int, float or "
                            f"str), but got {name!r}: {value!r}")
        if not name.startswith("xla_") and name not in _OPTIONS:
            raise JaxRuntimeError(f"INVALID_ARGUMENT: No such compile option: {name!r}. Options of "
                                  "XLA (xla_…) are accepted and have no effect.")


def check_shardings(argument: str, shardings: Any) -> None:
    """Refuse leaves that are not shardings, PartitionSpecs, devices, or None (unspecified)."""
    for leaf in pytree.tree_leaves(shardings, is_leaf=_is_sharding):
        if not _is_sharding(leaf):
            raise TypeError(f"{argument} leaf specifications are expected to be shardings, "
                            f"PartitionSpec instances or None, but got {leaf!r} of type "
                            f"{type(leaf)}")


def _is_sharding(x: Any) -> bool:
    return x is None or isinstance(x, (Sharding, PartitionSpec, CpuDevice))


def check_device(device: Any, backend: Any) -> None:
    """Refuse other devices than CPUs, and other platforms than "cpu"."""
    if backend is not None and backend != "cpu":
        raise RuntimeError(f"Unknown backend {backend}: only 'cpu' exists. Available backends are "
                           "['cpu']")
    if device is not None and getattr(device, "platform", None) != "cpu":
        raise ValueError(f"device={device!r}: only CPU devices exist, see jax.devices()")


__all__ = ["check_compiler_options", "check_device", "check_shardings"]
