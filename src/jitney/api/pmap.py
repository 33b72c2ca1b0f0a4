"""`pmap` over the devices there are: `vmap` under `jit`, the mapped axis as long as the devices.

In: a function, and the axis of each argument that is spread over devices. Out: the same function
of whole arrays; collectives over `axis_name` act across the mapped axis.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jitney import _native
from jitney.api import signature as signatures
from jitney.api.devices import local_device_count
from jitney.api.jit import jit
from jitney.api.jvp_vjp import check_callable
from jitney.api.vmap import vmap
from jitney.base.pytree import broadcast_prefix
from jitney.core.avals import get_aval


class _UnnamedAxis:
    """The axis of a `pmap` without `axis_name`."""

    def __repr__(self):
        return "<axis of pmap>"


def pmap(fun: Callable, axis_name: Any = None, *, in_axes: Any = 0, out_axes: Any = 0,
         static_broadcasted_argnums: int | Iterable[int] = (), devices: Sequence | None = None,
         backend: str | None = None, axis_size: int | None = None,
         donate_argnums: int | Iterable[int] = ()) -> Any:
    """`fun` applied to one slice a device, compiled.

    >>> pmap(lambda x: x + lax.psum(x, "i"), axis_name="i")(jnp.arange(1.))
    Array([0.], dtype=float32)
    """
    check_callable(fun)
    count = local_device_count() if devices is None else len(devices)
    name = _UnnamedAxis() if axis_name is None else axis_name
    static = signatures.as_numbers(static_broadcasted_argnums)
    if axis_size is not None and axis_size != count:
        raise ValueError(f"axis_size={axis_size} but there are {count} devices")

    @functools.wraps(fun, assigned=[n for n in functools.WRAPPER_ASSIGNMENTS if hasattr(fun, n)],
                     updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        fixed = {i % len(args): args[i] for i in static}
        dynamic = [a for i, a in enumerate(args) if i not in fixed]
        axes = tuple(a for i, a in enumerate(in_axes) if i not in fixed) \
            if isinstance(in_axes, (tuple, list)) else in_axes

        def with_fixed(*given: Any, **named: Any) -> Any:
            rest = iter(given)
            return fun(*[fixed[i] if i in fixed else next(rest) for i in range(len(args))],
                       **named)

        return vmap(with_fixed, axes, out_axes, axis_name=name, axis_size=count)(
            *dynamic, **kwargs)

    compiled = jit(mapped, static_argnums=static or None,
                   donate_argnums=signatures.as_numbers(donate_argnums) or None)

    @functools.wraps(mapped)
    def checked(*args: Any, **kwargs: Any) -> Any:
        _check_sizes(args, kwargs, in_axes, set(i % max(len(args), 1) for i in static), count)
        return compiled(*args, **kwargs)

    checked.lower = compiled.lower
    checked.trace = compiled.trace
    return checked


def _check_sizes(args: tuple, kwargs: dict, in_axes: Any, static: set, count: int) -> None:
    axes = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
    pairs = [(a, axis) for i, (a, axis) in enumerate(zip(args, axes)) if i not in static]
    pairs += [(value, 0) for value in kwargs.values()]
    for arg, axis in pairs:
        leaves = _native.tree_leaves(arg)
        spread = broadcast_prefix(axis, arg, is_leaf=lambda x: x is None)
        for leaf, at in zip(leaves, spread):
            shape = get_aval(leaf).shape
            if at is None or not shape:
                continue
            if shape[at] != count:
                raise ValueError(
                    f"pmap maps axes of size {count}, the number of devices, but an argument has "
                    f"shape {shape}: its axis {at} has size {shape[at]}. To map over more examples "
                    "than devices use jax.vmap.")


__all__ = ["pmap"]
