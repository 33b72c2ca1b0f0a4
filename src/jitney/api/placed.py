"""Arrays with places: putting them there, and what a program's results get.

In: arrays that know their shardings, and a traced program. Out: results that know theirs. An array
without a sharding lies on the default device and may be used beside any other (uncommitted); one
with a sharding is used with arrays on the same devices only.

Calls whose arguments or programs have places never become entries of the native dispatcher: it
takes arrays without a sharding only, and those calls come here every time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney import _native
from jitney.api.propagation import places, result_shardings
from jitney.base import config
from jitney.base.weak_memo import WeakMemo
from jitney.core import avals
from jitney.core.avals import Array, get_aval
from jitney.core.jaxpr import ClosedJaxpr
from jitney.core.trace import Tracer
from jitney.lax.placing import check_fits, device_put_p, sharding_constraint_p
from jitney.placement.devices import CpuDevice, cpu_devices, default_cpu_device
from jitney.placement.shardings import Sharding, SingleDeviceSharding

DEFAULT = SingleDeviceSharding(default_cpu_device())


class Uncommitted(SingleDeviceSharding):
    """On the device of `jax.default_device(...)`, without having been placed there."""


def new_place() -> Sharding | None:
    """Where results of programs without places go: None is the first device."""
    device = config.default_device.value
    if device is None or device is default_cpu_device() or device == "cpu":
        return None
    if not isinstance(device, CpuDevice):
        raise ValueError(f"jax_default_device takes a device of jax.devices(), not {device!r}")
    return Uncommitted(device)


def on_new_place(x: Any) -> Any:
    """A new array on the device of `jax.default_device(...)`; tracers and placed arrays as is."""
    if config.default_device.value is None or type(x) is not Array or x._sharding is not None:
        return x
    return placed(x, new_place())


def committed(x: Any) -> bool:
    """Whether an array was placed where it is (it is then used with others there only)."""
    sharding = getattr(x, "_sharding", None)
    return sharding is not None and type(sharding) is not Uncommitted


def sharding_of(x: Any) -> Sharding:
    """The sharding of an array; that of the default device if nobody has placed it."""
    found = getattr(x, "_sharding", None)
    return DEFAULT if found is None else found


def placed(x: Any, sharding: Sharding | None) -> Any:
    """The same elements with that sharding (None: placed nowhere).

    With one device there is nothing to tell apart from the default, so such arrays stay plain.
    """
    if sharding == DEFAULT and len(cpu_devices()) == 1:
        sharding = None
    if x._sharding is sharding:
        return x
    return _native.array_with_sharding(x, sharding)


def put(x: Any, sharding: Sharding, what: str = "device_put args") -> Any:
    """A value as an array with that sharding; ValueError if it cannot be cut so."""
    if not isinstance(x, Tracer):
        x = as_array(x)
    sharding_fits(sharding, get_aval(x), what)
    if isinstance(x, Tracer):
        return device_put_p.bind(x, devices=(sharding,), srcs=(None,), copy_semantics=())[0]
    return placed(x, sharding)


def sharding_fits(sharding: Sharding, aval: Any, what: str) -> None:
    try:
        sharding.check_compatible_aval(aval.shape)
    except ValueError as error:
        raise ValueError(f"One of {what} is incompatible with its sharding annotation {sharding}: "
                         f"{error}") from None
    sharding.shard_shape(aval.shape)


def as_array(x: Any) -> Array:
    """A concrete value as an Array; TypeError for what is no data."""
    try:
        return avals.to_array(x)
    except TypeError:
        raise TypeError(f"Argument {x!r} of type {type(x)} is not a valid JAX type") from None


def shard_data(x: Array, index: tuple, device: Any) -> Array:
    """The part of an array at `index`, as an array on one device."""
    at = SingleDeviceSharding(device)
    if all(s == slice(None) for s in index):
        return placed(x, at)
    if isinstance(x.dtype, np.dtype):
        part = _native.numpy_view(x)[index]
        return placed(avals.to_array(np.ascontiguousarray(part), x.aval.update(part.shape)), at)
    return placed(_extended_part(x, index), at)


def _extended_part(x: Array, index: tuple) -> Array:
    """Likewise for dtypes NumPy does not have (random keys): on the elements they are made of."""
    raw = _native.array_view(x, avals.ShapedArray(
        x.shape + tuple(x.dtype.physical_shape), np.dtype(x.dtype.physical_dtype)))
    part = np.ascontiguousarray(_native.numpy_view(raw)[index])
    shape = part.shape[:x.ndim]
    return _native.array_view(avals.to_array(part), x.aval.update(shape))


# --- calls ----------------------------------------------------------------------------------------


def any_placed(leaves: Sequence) -> bool:
    """Whether some argument has a sharding, or results are to have one."""
    if config.default_device.value is not None and new_place() is not None:
        return True
    for leaf in leaves:
        if type(leaf) is Array and leaf._sharding is not None:
            return True
    return False


def given_shardings(leaves: Sequence) -> tuple:
    """The shardings of arguments that were placed where they are; None for others."""
    return tuple([leaf._sharding if type(leaf) is Array and committed(leaf) else None
                  for leaf in leaves])


def has_places(closed: ClosedJaxpr, leaves: Sequence) -> bool:
    """Whether the results of a call get shardings."""
    return any_placed(leaves) or program_places(closed)


def check_devices(leaves: Sequence, names: Callable[[], Sequence[str]], function: str) -> None:
    """ValueError unless all placed arguments are on the same devices."""
    first: tuple | None = None
    for i, leaf in enumerate(leaves):
        if type(leaf) is not Array or not committed(leaf):
            continue
        sharding = leaf._sharding
        devices = sharding._devices()
        if first is None:
            first = (i, devices)
        elif devices != first[1] and set(devices) != set(first[1]):
            shown = [f"argument {names()[j]} of {function} with shape "
                     f"{leaves[j].aval.str_short()} and with device ids {[d.id for d in ds]} on "
                     "platform CPU" for j, ds in (first, (i, devices))]
            raise ValueError(
                f"Received incompatible devices for jitted computation. Got {shown[0]} and "
                f"{shown[1]}. Move one of them with jax.device_put(x, sharding).")


_memo: WeakMemo[ClosedJaxpr, dict] = WeakMemo()


def program_places(closed: ClosedJaxpr) -> bool:
    """Whether the program says itself where values are."""
    memo = _memo.setdefault(closed, {})
    found = memo.get("places")
    if found is None:
        found = memo["places"] = places(closed.jaxpr)
    return found


def place_results(closed: ClosedJaxpr, given: tuple, outs: Sequence) -> list:
    """The results of a program with the shardings that follow from those of its inputs."""
    new = new_place()
    return [placed(x, new if s is None else s)
            for x, s in zip(outs, shardings_of_results(closed, given), strict=True)]


def shardings_of_results(closed: ClosedJaxpr, given: tuple) -> list[Sharding | None]:
    """The shardings of a program's results (None: placed nowhere) from those of its inputs."""
    memo = _memo.setdefault(closed, {})
    found = memo.get(given)
    if found is None:
        found = memo[given] = result_shardings(closed.jaxpr, given)
    return found


def constrain(x: Any, sharding: Sharding | None, what: str) -> Any:
    """Inside a trace: a value with a place."""
    if sharding is None:
        return x
    check_fits(what, sharding, get_aval(x))
    return sharding_constraint_p.bind(x, sharding=sharding, layout=None, context_mesh=None,
                                      unconstrained_dims=frozenset())


__all__ = [
    "DEFAULT", "any_placed", "as_array", "check_devices", "committed", "constrain",
    "given_shardings", "has_places", "new_place", "on_new_place", "place_results", "placed",
    "program_places", "put", "shard_data", "sharding_fits", "sharding_of", "shardings_of_results",
]
