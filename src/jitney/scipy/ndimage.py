"""Images of any rank read between their pixels, under the names of `jax.scipy.ndimage`.

In: an array and coordinates in units of its indices. Out: interpolated values of its dtype.
Invariant: along each axis a coordinate has one node (order 0) or two (order 1) with weights; a
value is the sum over all combinations of nodes.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any

from jitney import lax
from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.numpy.promotion import arraylike, check_arraylike


def _mirrored(index: Any, size: int) -> Any:
    """… 2 1 | 0 1 2 | 1 0 …: the outermost pixels occur once."""
    last = size - 1
    folded = jnp.mod(index, 2 * last) if last else jnp.zeros_like(index)
    return last - jnp.abs(last - folded)


def _reflected(index: Any, size: int) -> Any:
    """… 1 0 | 0 1 2 | 2 1 …: the outermost pixels occur twice."""
    folded = jnp.mod(index, 2 * size)
    return jnp.minimum(folded, 2 * size - 1 - folded)


_FOLDED = {
    "constant": lambda index, size: jnp.clip(index, 0, size - 1),
    "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "wrap": jnp.mod,
    "mirror": _mirrored,
    "reflect": _reflected,
}


def _nodes(coordinate: Any, order: int) -> list[tuple[Any, Any]]:
    """(index, weight) of the pixels beside a coordinate; the weight None is 1."""
    if order == 0:
        if dtypes.is_inexact(coordinate.dtype):
            coordinate = lax.round(coordinate)
        return [(coordinate.astype(jnp.int32), None)]
    if not dtypes.is_inexact(coordinate.dtype):
        coordinate = coordinate.astype(dtypes.to_inexact_dtype(coordinate.dtype))
    low = jnp.floor(coordinate)
    high_weight = coordinate - low
    index = low.astype(jnp.int32)
    return [(index, 1 - high_weight), (index + 1, high_weight)]


@jit(static_argnames=("order", "mode"))
def _map_coordinates(image, coordinates, cval, order, mode):
    integral = not dtypes.is_inexact(image.dtype)
    terms = []
    for corner in itertools.product(*[_nodes(c, order) for c in coordinates]):
        indices = [_FOLDED[mode](i, n) for (i, _), n in zip(corner, image.shape, strict=True)]
        value = image[tuple(indices)]
        if mode == "constant":
            inside = [(i >= 0) & (i < n) for (i, _), n in zip(corner, image.shape, strict=True)]
            value = jnp.where(functools.reduce(operator.and_, inside), value, cval)
        if order == 0:
            return value
        terms.append(functools.reduce(operator.mul, [w for _, w in corner]) * value)
    total = functools.reduce(operator.add, terms)
    if integral and image.dtype != bool:
        total = lax.round(total)
    return total.astype(image.dtype)


def _checked(image: Any, coordinates: Sequence, order: int, mode: str) -> tuple[Any, ...]:
    """The coordinates as arrays of one shape; errors for what is not supported."""
    if not hasattr(coordinates, "__len__"):
        raise TypeError("map_coordinates: coordinates must be a sequence of arrays, one for each "
                        f"dimension of input, got {coordinates!r}")
    if len(coordinates) != image.ndim:
        raise ValueError("coordinates must be a sequence of length input.ndim, but "
                         f"{len(coordinates)} != {image.ndim}")
    if image.ndim == 0:
        raise TypeError("map_coordinates: input must have at least one dimension, got a scalar")
    if mode not in _FOLDED:
        raise NotImplementedError(
            f"jax.scipy.ndimage.map_coordinates does not yet support mode {mode}. Currently "
            f"supported modes are {', '.join(_FOLDED)}.")
    if order not in (0, 1):
        raise NotImplementedError("jax.scipy.ndimage.map_coordinates currently requires order<=1; "
                                  f"got order={order!r}")
    arrays = [jnp.asarray(c) for c in coordinates]
    for c in arrays:
        if dtypes.is_complex(c.dtype):
            raise TypeError(f"map_coordinates: coordinates must be real, got dtype {c.dtype}")
    return tuple(jnp.broadcast_arrays(*arrays))


def map_coordinates(input: Any, coordinates: Sequence, order: int, mode: str = "constant",
                    cval: Any = 0.0) -> Any:
    """Values of an array at coordinates, by the nearest pixel (order 0) or linearly (order 1).

    input: any shape of rank n and any dtype. coordinates: n arrays (or one with n rows), broadcast
    against one another; their shape is that of the result, whose dtype is the input's (integers
    are rounded, halves away from zero). mode: what lies outside: "constant" (`cval`), "nearest",
    "wrap", "mirror" (around the outermost pixels' centres) or "reflect" (around their edges).

    ValueError for the wrong number of coordinates or an input without pixels, TypeError for
    complex coordinates, NotImplementedError for other orders and modes.
    """
    if isinstance(input, (list, tuple)):
        input = jnp.asarray(input)
    image = jnp.asarray(arraylike("map_coordinates", input))
    coordinates = _checked(image, coordinates, order, mode)
    check_arraylike("map_coordinates", cval)
    if dtypes.is_complex(dtypes.dtype(cval)) and not dtypes.is_complex(image.dtype):
        raise TypeError(f"map_coordinates: cval must be real for an input of dtype {image.dtype}, "
                        f"got {cval!r}")
    cval = jnp.asarray(cval).astype(image.dtype)
    if 0 in image.shape:
        if mode != "constant":
            raise ValueError(f"map_coordinates: an input of shape {image.shape} has no pixels, "
                             f"which mode={mode!r} needs; use mode='constant'")
        return jnp.broadcast_to(cval, coordinates[0].shape)
    return _map_coordinates(image, coordinates, cval, int(order), mode)


__all__ = ["map_coordinates"]
