"""Interpolation on grids, under the names of `jax.scipy.interpolate`.

In: the ascending coordinates of a rectangular grid and the values at its points. Out: an object
that, called with points, gives values there. It is a pytree of its arrays.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from jitney import numpy as jnp
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.base.pytree import register_pytree_node_class
from jitney.core.trace import Tracer
from jitney.numpy.promotion import check_arraylike

_METHODS = ("linear", "nearest")


def _check_method(method: str) -> str:
    if method not in _METHODS:
        raise ValueError(f"method {method!r} is not defined: expected one of {_METHODS}")
    return method


def _checked_grid(points: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The coordinates as arrays, which must be ascending vectors of the right lengths."""
    if len(points) > len(shape):
        raise ValueError(f"there are {len(points)} point arrays, but values has {len(shape)} "
                         "dimensions")
    check_arraylike("RegularGridInterpolator", *points)
    grid = tuple(jnp.asarray(p) for p in points)
    for i, p in enumerate(grid):
        if p.ndim != 1:
            raise ValueError(f"The points in dimension {i} must be 1-dimensional, got shape "
                             f"{p.shape}")
        if p.shape[0] != shape[i]:
            raise ValueError(f"There are {p.shape[0]} points and {shape[i]} values on dimension "
                             f"{i}")
        if p.shape[0] == 0:
            raise ValueError(f"There are no points in dimension {i}")
        if not isinstance(points[i], Tracer) and not np.all(np.diff(np.asarray(points[i])) > 0):
            raise ValueError(f"The points in dimension {i} must be strictly ascending; sort them, "
                             "and the values with them")
    return grid


def _checked_fill(fill_value: Any, values: Any) -> Any:
    if fill_value is None:
        return None
    check_arraylike("RegularGridInterpolator", fill_value)
    fill_value = jnp.asarray(fill_value)
    if not np.can_cast(_kind(fill_value), _kind(values), casting="same_kind"):
        raise ValueError("fill_value must be either 'None' or of a type compatible with values; "
                         f"got {fill_value.dtype} for values of dtype {values.dtype}")
    return fill_value


def _kind(x: Any) -> np.dtype:
    """A dtype of the same kind that NumPy knows the casting rules of."""
    return np.dtype(np.float32) if dtypes.is_floating(x.dtype) else np.dtype(x.dtype)


@register_pytree_node_class
class RegularGridInterpolator:
    """Interpolates between the points of a rectangular grid, linearly or to the nearest point.

    points: n vectors, strictly ascending, of lengths m_1 … m_n. values: [m_1, …, m_n, …]; integers
    become floats. method: "linear" or "nearest" (halves go down). fill_value: what is returned
    outside of the grid (NaN by default); None extrapolates.

    ValueError for shapes that do not fit, points that are not ascending, unknown methods and a
    fill_value of another kind than values; NotImplementedError for `bounds_error`, since a
    compiled program cannot raise errors.
    """

    def __init__(self, points, values, method="linear", bounds_error=False, fill_value=np.nan):
        self.method = _check_method(method)
        if bounds_error:
            raise NotImplementedError("`bounds_error` takes no effect under JIT; use fill_value to "
                                      "mark points outside of the grid")
        self.bounds_error = bounds_error
        check_arraylike("RegularGridInterpolator", values)
        values = jnp.asarray(values)
        self.values = values.astype(dtypes.to_inexact_dtype(values.dtype))
        self.grid = _checked_grid(points, values.shape)
        self.fill_value = _checked_fill(fill_value, self.values)

    def tree_flatten(self):
        return (self.grid, self.values, self.fill_value), (self.method, self.bounds_error)

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        made = cls.__new__(cls)
        made.method, made.bounds_error = aux_data
        made.grid, made.values, made.fill_value = children
        return made

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """Values [..., *values.shape[n:]] at points xi [..., n] (or n arrays [...])."""
        method = _check_method(self.method if method is None else method)
        xi, shape = self._points(xi)
        return _values_at(self, xi, method).reshape(shape + self.values.shape[len(self.grid):])

    def _at(self, xi: Any, method: str) -> Any:
        """Values [count, …] at points [n, count]."""
        cells, outside, invalid = self._cells(xi)
        combine = self._linear if method == "linear" else self._nearest
        result = combine(cells)
        tail = (1,) * (self.values.ndim - len(self.grid))
        if self.fill_value is not None:
            result = jnp.where(outside.reshape(-1, *tail), self.fill_value, result)
        return jnp.where(invalid.reshape(-1, *tail), jnp.nan, result)

    def _points(self, xi: Any) -> tuple[Any, tuple[int, ...]]:
        """(points [n, count], the shape that count stands for)."""
        rank = len(self.grid)
        if isinstance(xi, tuple):
            check_arraylike("RegularGridInterpolator", *xi)
            xi = jnp.stack(jnp.broadcast_arrays(*xi), axis=-1)
        else:
            check_arraylike("RegularGridInterpolator", xi)
            xi = jnp.asarray(xi)
            if xi.ndim == 0 or (xi.ndim == 1 and rank == 1):
                xi = xi[..., None]
            elif xi.ndim == 1:
                xi = xi[None]
        if xi.shape[-1] != rank:
            raise ValueError(f"the requested sample points xi have dimension {xi.shape[-1]}, but "
                             f"this RegularGridInterpolator has dimension {rank}")
        return xi.reshape(-1, rank).T, xi.shape[:-1]

    def _cells(self, xi: Any) -> tuple[list, Any, Any]:
        """([(index of the cell's start, place in it)], outside of the grid?, NaN?)."""
        outside = jnp.zeros(xi.shape[1:], bool)
        cells = []
        for x, grid in zip(xi, self.grid, strict=True):
            size = grid.shape[0]
            low = jnp.clip(jnp.searchsorted(grid, x) - 1, 0, max(size - 2, 0))
            if size == 1:  # no cell: every point is at its start
                place = jnp.where(x == grid[0], 0.0, jnp.sign(x - grid[0]) * jnp.inf)
            else:
                place = (x - grid[low]) / (grid[low + 1] - grid[low])
            cells.append((low, place))
            outside |= (x < grid[0]) | (x > grid[-1])
        return cells, outside, jnp.isnan(xi).any(axis=0)

    def _linear(self, cells: list) -> Any:
        tail = (1,) * (self.values.ndim - len(self.grid))
        total = 0.0
        choices = [((0, 1) if size > 1 else (0,)) for size in self.values.shape[:len(cells)]]
        for corner in itertools.product(*choices):
            weight: Any = 1.0
            for upper, (_, place), choice in zip(corner, cells, choices, strict=True):
                if len(choice) == 2:
                    weight = weight * (place if upper else 1 - place)
            index = tuple(low + upper for upper, (low, _) in zip(corner, cells, strict=True))
            weight = jnp.broadcast_to(weight, cells[0][0].shape).reshape(-1, *tail)
            total = total + self.values[index] * weight
        return total

    def _nearest(self, cells: list) -> Any:
        index = tuple(jnp.where(place <= 0.5, low, jnp.minimum(low + 1, size - 1))
                      for (low, place), size in zip(cells, self.values.shape, strict=False))
        return self.values[index]


@jit(static_argnames=("method",))
def _values_at(table, xi, method):
    return table._at(xi, method)


__all__ = ["RegularGridInterpolator"]
