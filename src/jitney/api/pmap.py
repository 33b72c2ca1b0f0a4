"""`pmap`: one slice of each argument for each device, one thread for each device.

In: a function, and the axis of each argument along which the devices' slices lie. Out: the same
function of whole arrays, compiled; collectives over `axis_name` act across the devices. It is a
`jit` of a `shard_map` over a mesh of one axis.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from jitney.api import signature as signatures
from jitney.api.jit import jit
from jitney.api.jvp_vjp import check_callable
from jitney.api.shard_map import MappedFunction
from jitney.base.pytree import broadcast_prefix, prefix_errors, tree_flatten
from jitney.core.avals import get_aval
from jitney.lax.shape import expand_dims, squeeze
from jitney.placement.devices import cpu_devices
from jitney.placement.mesh import Mesh
from jitney.placement.partition_spec import PartitionSpec

_UNNAMED = "_internal_pmap_axis_name"


def pmap(fun: Callable, axis_name: Any = None, *, in_axes: Any = 0, out_axes: Any = 0,
         static_broadcasted_argnums: int | Iterable[int] = (), devices: Sequence | None = None,
         backend: str | None = None, axis_size: int | None = None,
         donate_argnums: int | Iterable[int] = ()) -> Any:
    """`fun` applied to one slice a device, compiled.

    Mapped axes have equal sizes, at most the number of devices: as many of these take part, each on
    a thread of its own. `in_axes` and `out_axes` are tree prefixes of axes (None: the same value
    for all devices); keyword arguments are mapped along axis 0. Arguments named by
    `static_broadcasted_argnums` reach `fun` as they are and are part of the cache key.
    ValueError for more slices than devices, or sizes that differ.

    >>> pmap(lambda x: x + lax.psum(x, "i"), axis_name="i")(jnp.arange(1.))
    Array([0.], dtype=float32)
    """
    check_callable(fun)
    if backend not in (None, "cpu"):
        raise RuntimeError(f"Unknown backend {backend}: only 'cpu' exists. Available backends are "
                           "['cpu']")
    _check_axes(in_axes)
    static = signatures.as_numbers(static_broadcasted_argnums)
    name = _UNNAMED if axis_name is None else axis_name
    mapped = _PerDevice(fun, name, in_axes, out_axes, static, devices, axis_size)
    compiled = jit(mapped, static_argnums=static or None,
                   donate_argnums=signatures.as_numbers(donate_argnums) or None)

    @functools.wraps(fun, assigned=[n for n in functools.WRAPPER_ASSIGNMENTS if hasattr(fun, n)],
                     updated=())
    def called(*args: Any, **kwargs: Any) -> Any:
        return compiled(*args, **kwargs)

    called.lower = compiled.lower               # type: ignore[attr-defined]
    called.trace = compiled.trace               # type: ignore[attr-defined]
    return called


def _check_axes(in_axes: Any) -> None:
    for leaf in tree_flatten(in_axes)[0]:
        if not isinstance(leaf, int):
            raise TypeError("pmap in_axes must be an int, None, or a tree of them that is a prefix "
                            f"of the arguments, but got {in_axes}.")


class _PerDevice:
    """A function with what `pmap` was told about it: callable on whole arrays."""

    def __init__(self, fun: Callable, name: Any, in_axes: Any, out_axes: Any, static: tuple,
                 devices: Sequence | None, axis_size: int | None):
        self.fun, self.name, self.in_axes, self.out_axes = fun, name, in_axes, out_axes
        self.static, self.devices, self.axis_size = static, devices, axis_size
        self.__name__ = getattr(fun, "__name__", type(fun).__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fixed = {i % len(args): args[i % len(args)] for i in self.static} if args else {}
        dynamic = tuple(a for i, a in enumerate(args) if i not in fixed)
        leaves, tree = tree_flatten((dynamic, kwargs))
        axes = self._axes(dynamic, kwargs, fixed)
        dims = [_dimension(x, a) for x, a in zip(leaves, axes, strict=True)]
        mesh = self._mesh(self._size(leaves, dims))
        out: list = []

        def one(*shards: Any) -> list:
            given = [x if d is None else squeeze(x, (d,)) for x, d in zip(shards, dims)]
            rest, named = tree.unflatten(given)
            ordered = iter(rest)
            result = self.fun(*[fixed[i] if i in fixed else next(ordered)
                                for i in range(len(args))], **named)
            outs, out_tree = tree_flatten(result)
            places = _spread(self.out_axes, result, "pmap out_axes")
            places = [None if a is None else _out_axis(x, a) for x, a in zip(outs, places)]
            out[:] = [out_tree, [self._spec(a) for a in places]]
            return [x if a is None else expand_dims(x, (a,)) for x, a in zip(outs, places)]

        run = MappedFunction(one, mesh, tuple(map(self._spec, dims)), lambda: out[1], frozenset(),
                             False)
        outs = run(*leaves)
        return out[0].unflatten(outs)

    def _spec(self, dim: int | None) -> PartitionSpec:
        return PartitionSpec() if dim is None else PartitionSpec(*[None] * dim, self.name)

    def _axes(self, dynamic: tuple, kwargs: dict, fixed: dict) -> list:
        axes = self.in_axes
        if isinstance(axes, (tuple, list)):
            if len(axes) != len(dynamic) + len(fixed):
                raise ValueError(
                    "pmap in_axes must be an int, None, or a tuple of entries corresponding to the "
                    "positional arguments passed to the function, but got "
                    f"len(in_axes)={len(axes)}, len(args)={len(dynamic) + len(fixed)}")
            axes = tuple(a for i, a in enumerate(axes) if i not in fixed)
        return _spread(axes, dynamic, "pmap in_axes") + [0] * len(tree_flatten(kwargs)[0])

    def _size(self, leaves: list, dims: list) -> int:
        """The number of devices that take part."""
        found = {get_aval(x).shape[d] for x, d in zip(leaves, dims) if d is not None}
        if not found:
            raise ValueError("pmap requires at least one argument with a mapped axis.")
        if len(found) > 1:
            shown = [f"{get_aval(x).str_short()} along axis {d}"
                     for x, d in zip(leaves, dims) if d is not None]
            raise ValueError("pmap got inconsistent sizes for array axes to be mapped: "
                             + "; ".join(shown))
        size = found.pop()
        if size == 0:
            raise ValueError("pmap maps axes of at least one element, one for each device, but an "
                             "argument has the size 0 there")
        if self.axis_size is not None and self.axis_size != size:
            raise ValueError(f"Specified axis_size {self.axis_size} doesn't match received "
                             f"axis_size {size}.")
        return size

    def _mesh(self, size: int) -> Mesh:
        given = cpu_devices() if self.devices is None else list(self.devices)
        if size > len(given) or (self.devices is not None and size != len(given)):
            raise ValueError(
                f"pmap maps axes of a size up to the number of devices, {len(given)}"
                f"{' (as many as `devices` lists)' if self.devices is not None else ''}, but an "
                f"argument has the size {size} there. To map over more examples than devices use "
                "jax.vmap; more CPU devices come with jax.config.update('jax_num_cpu_devices', n).")
        return Mesh(np.array(given[:size], dtype=object), (self.name,))


def _spread(axes: Any, tree: Any, what: str) -> list:
    try:
        return broadcast_prefix(axes, tree, is_leaf=lambda x: x is None)
    except (ValueError, TypeError, KeyError):
        error = next(iter(prefix_errors(axes, tree, is_leaf=lambda x: x is None)), None)
        raise ValueError(error(what) if error is not None else
                         f"{what} is no tree prefix of the values: {axes}") from None


def _dimension(x: Any, axis: int | None) -> int | None:
    if axis is None:
        return None
    shape = get_aval(x).shape
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"pmap was requested to map its argument along axis {axis}, which implies "
                         f"that its rank should be at least {max(axis + 1, -axis)}, but is only "
                         f"{len(shape)} (its shape is {shape})")
    return axis % len(shape)


def _out_axis(x: Any, axis: int) -> int:
    ndim = len(get_aval(x).shape) + 1
    if not -ndim <= axis < ndim:
        raise ValueError(f"pmap out_axes: axis {axis} is out of bounds for a result of rank "
                         f"{ndim - 1} of the function")
    return axis % ndim


__all__ = ["pmap"]
