"""One call to time, and the arrays it is given.

In: the number of elements and a floating dtype. Out: named NumPy arrays.
Invariant: a call names the arrays it wants by its parameters, so both libraries get the same ones.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """A call `call(module, *arrays)`, with `module` numpy or jitney.numpy.

    `numpy`: what NumPy does instead, where its function works in place or gives a view.
    `jit`: whether the call can be traced. `floats`: whether it depends on the floating dtype.
    """

    name: str
    call: Callable
    label: str = ""
    numpy: Callable | None = None
    jit: bool = True
    floats: bool = True

    @property
    def title(self) -> str:
        return f"{self.name} [{self.label}]" if self.label else self.name

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arrays that the call is given."""
        return tuple(inspect.signature(self.call).parameters)[1:]


def cases_of(name: str, *calls: Any, **options: Any) -> list[Case]:
    """Several calls of one function: functions, or pairs (label, function)."""
    pairs = [call if isinstance(call, tuple) else ("", call) for call in calls]
    return [Case(name, call, label, **options) for label, call in pairs]


def arrays_of(size: int, dtype: str) -> dict[str, np.ndarray]:
    """The arrays by name; `size` elements unless a name says otherwise."""
    rng = np.random.default_rng(0)
    side = isqrt(size)
    size = side * side

    def real(*shape):
        return rng.standard_normal(shape).astype(dtype)

    x, small = real(size), max(side // 5, 4)
    square, tall = real(small, small), real(max(size // 50, 60), 50)
    return {
        **_vectors(rng, x, real), **_integers(rng, size, side),
        "m": real(side, side), "m2": real(side, side), "mi": rng.integers(
            0, side, (side, side), dtype=np.int32),
        "narrow": real(size // 4, 4), "cube": real(size // 10_000 or 1, 100, 100),
        "vectors": real(size // 3, 3), "vectors2": real(size // 3, 3),
        "row": real(side), "column": real(side, 1), "tall": tall,
        "square": square, "spd": square @ square.T + small * np.eye(small, dtype=dtype),
        "symmetric": square + square.T, "rhs": real(small, small),
        "batch": real(max(size // 100, 1), 10, 10) + 5 * np.eye(10, dtype=dtype),
        "variables": real(100, size // 100), "samples": real(size // 100, 100),
        "kernel": real(64), "long_kernel": real(side),
        "z": (real(size) + 1j * real(size)), "zm": real(side, side) + 1j * real(side, side),
        "coefficients": real(10), "few": np.linspace(-3, 3, 9).astype(dtype),
        "blocks": real(100, 10, 10),
    }  # fmt: skip


def _vectors(rng: Any, x: np.ndarray, real: Callable) -> dict[str, np.ndarray]:
    """Vectors of floating numbers."""
    size, dtype = x.size, x.dtype
    holes = x.copy()
    holes[rng.integers(0, size, size // 100)] = np.nan
    return {
        "x": x, "y": real(size), "w": abs(real(size)), "positive": abs(real(size)) + dtype.type(.1),
        "unit": rng.uniform(-0.99, 0.99, size).astype(dtype), "above": 1 + abs(real(size)),
        "same": x.copy(), "holes": holes, "hole_rows": holes.reshape(-1, round(size ** 0.5)),
        "sorted_x": np.sort(x), "knots": np.linspace(-4, 4, 1000).astype(dtype),
        "heights": real(1000), "grid": np.linspace(0, 1, size).astype(dtype),
        "angles": np.cumsum(real(size)).astype(dtype), "edges": np.linspace(-3, 3, 101).astype(
            dtype),
    }  # fmt: skip


def _integers(rng: Any, size: int, side: int) -> dict[str, np.ndarray]:
    """Integers, bits, truth values and positions."""
    draw = lambda low, high, shape, kind=np.int32: rng.integers(low, high, shape, dtype=kind)
    return {
        "i": draw(-(2**30), 2**30, size), "j": draw(-(2**30), 2**30, size),
        "counts": draw(0, 1000, size), "counts2": draw(0, 1000, size),
        "digit": draw(0, 4, size), "shift": draw(0, 31, size), "where": draw(0, size, size),
        "some": draw(0, size, size // 10), "permuted": rng.permutation(size).astype(np.int32),
        "where_rows": draw(0, side, (side, side)), "labels": draw(0, size // 2, size),
        "labels2": draw(0, size // 2, size), "bytes": draw(0, 256, size, np.uint8),
        "bits": draw(0, 2, size, np.uint8), "b": draw(0, 2, size, np.uint8).astype(bool),
        "b2": draw(0, 2, size, np.uint8).astype(bool), "rows": draw(0, side, size),
        "columns": draw(0, side, size), "padded": np.pad(draw(1, 9, size - 2 * (size // 10)),
                                                         size // 10),
    }  # fmt: skip
