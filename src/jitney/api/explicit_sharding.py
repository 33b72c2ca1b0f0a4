"""What `jax.sharding` has for explicit sharding: sharding in the types of values.

In: functions and shardings. Out: where values are placed without being part of their types, the
same functions. Types do not carry shardings here (docs/migration.md), so a mesh axis of the kind
Explicit acts like one of the kind Auto, and what only makes sense in types says so.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from jitney.api.placed import constrain, put
from jitney.base.pytree import broadcast_prefix, tree_flatten
from jitney.core.trace import Tracer
from jitney.lax.placing import with_sharding_constraint
from jitney.placement.partition_spec import PartitionSpec
from jitney.placement.shardings import Sharding, SingleDeviceSharding, as_sharding


@dataclasses.dataclass(frozen=True)
class AbstractDevice:
    """A kind of device, without any device."""

    device_kind: str
    num_cores: int | None
    platform: str


class ManualAxisType:
    """Along which manual axes a value varies (what `jax.typeof(x).mat` says in JAX)."""

    def __init__(self, *, varying: Any = frozenset(), unreduced: Any = frozenset(),
                 reduced: Any = frozenset()):
        self.varying, self.unreduced = frozenset(varying), frozenset(unreduced)
        self.reduced = frozenset(reduced)

    @property
    def empty(self) -> bool:
        return not (self.varying or self.unreduced or self.reduced)

    def _key(self) -> tuple:
        return self.varying, self.unreduced, self.reduced

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ManualAxisType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self):
        return f"ManualAxisType(varying={set(self.varying) or '{}'})"


def make_single_device_sharding(device: Any, *, memory_kind: str | None = None) -> Any:
    """The sharding of arrays that are whole on one device."""
    return SingleDeviceSharding(device, memory_kind=memory_kind)


def _is_place(x: Any) -> bool:
    return x is None or isinstance(x, (Sharding, PartitionSpec))


def reshard(xs: Any, out_shardings: Any) -> Any:
    """The values of a tree, placed as `out_shardings`, a tree prefix, says; no element changes."""
    leaves, tree = tree_flatten(xs)
    wanted = broadcast_prefix(out_shardings, xs, is_leaf=_is_place)
    return tree.unflatten([_reshard(x, s) for x, s in zip(leaves, wanted, strict=True)])


def _reshard(x: Any, wanted: Any) -> Any:
    if wanted is None:
        raise ValueError("Reshard can only be used with jax.sharding.NamedSharding or "
                         "jax.sharding.PartitionSpec, not with None")
    sharding = as_sharding(wanted, "reshard")
    if isinstance(x, Tracer):
        return constrain(x, sharding, "reshard arguments")
    return put(x, sharding, "reshard arguments")


def auto_axes(f: Callable | None = None, /, *, axes: Any = None, out_sharding: Any = None) -> Any:
    """`f` whose result is placed as `out_sharding` says; inside, nothing is asked of it."""
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)

    @functools.wraps(f)
    def wrapped(*args: Any, out_sharding: Any = out_sharding, **kwargs: Any) -> Any:
        out = f(*args, **kwargs)
        return out if out_sharding is None else with_sharding_constraint(out, out_sharding)

    return wrapped


def explicit_axes(f: Callable | None = None, /, *, axes: Any = None,
                  in_sharding: Any = None) -> Any:
    """Not available: types of values do not carry shardings."""
    raise NotImplementedError(
        "jax.sharding.explicit_axes: explicit sharding, where types of values carry shardings, is "
        "not supported. Leave it out (axes of the kind Explicit act like Auto here), and place "
        "values with jax.device_put or jax.lax.with_sharding_constraint.")


__all__ = [
    "AbstractDevice", "ManualAxisType", "auto_axes", "explicit_axes",
    "make_single_device_sharding", "reshard",
]
