"""Shardings, by their names in `jax.sharding`. There is one device."""

from jitney.api.devices import Sharding, SingleDeviceSharding

__all__ = ["Sharding", "SingleDeviceSharding"]
