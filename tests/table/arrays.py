"""The arrays that the table's calls may name.

`pool(dtype)` makes them all: numbers of the dtype in several shapes and domains, and index arrays
of a fixed dtype. They are small, without ties, and the same in every run.
"""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np

FIXED = frozenset("b i j n key".split())
_SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 100.0, np.inf, -np.inf, np.nan]


def dtype_named(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


@functools.cache
def pool(dtype: str) -> dict[str, np.ndarray]:
    """The arrays by name.

    x y (3, 4) · t (2, 3, 4) · w (4,) · v (7,) · m (4, 4), far from singular · h (4, 4), Hermitian
    and positive · s () · e (0, 3) · p (3, 4), positive · a (3, 4), above one · u (3, 4), between -1
    and 1 · c (3, 4), between 0 and 1 · k (5,), ascending · z (10,), special values ·
    i (5,) int32 in 0..2 · j (3, 1) int32 in -3..2 · n (3, 4) int32 in 0..8 · b (3, 4) bool ·
    key (2,) uint32
    """
    rng, kind = np.random.default_rng(7), dtype_named(dtype)

    def numbers(*shape):
        if kind.kind == "b":
            return rng.random(shape) > 0.5
        if kind.kind in "iu":
            return rng.integers(0 if kind.kind == "u" else -5, 9, shape)
        values = np.round(rng.normal(size=shape) * 1.5, 3)
        if kind.kind == "c":
            values = values + 1j * np.round(rng.normal(size=shape), 3)
        return values

    def between(low, high, *shape):
        if kind.kind in "iub":
            return rng.integers(1, 9, shape)
        values = np.round(rng.uniform(low, high, shape), 3)
        return values + 0.3j * rng.uniform(low, high, shape) if kind.kind == "c" else values

    m = numbers(4, 4) + (5 * np.eye(4, dtype=int) if kind.kind != "b" else 0)
    half = np.tril(numbers(4, 4), -1)
    real = (half + half.conj().T + 9 * np.eye(4, dtype=int)) if kind.kind != "b" else m | m.T
    arrays = {
        "x": numbers(3, 4), "y": numbers(3, 4), "t": numbers(2, 3, 4), "w": numbers(4),
        "v": numbers(7), "m": m, "h": real, "s": numbers(), "e": numbers(0, 3),
        "p": between(0.2, 3, 3, 4), "a": between(1.1, 4, 3, 4), "u": between(-0.9, 0.9, 3, 4),
        "c": between(0.05, 0.95, 3, 4), "k": np.sort(numbers(5)),
        "z": np.array(_SPECIAL) if kind.kind in "fV" else numbers(10),
    }  # fmt: skip
    with np.errstate(all="ignore"):
        arrays = {name: np.asarray(value).astype(kind) for name, value in arrays.items()}
    arrays["i"] = np.array([2, 0, 1, 2, 0], np.int32)
    arrays["j"] = np.array([[1], [-3], [2]], np.int32)
    arrays["n"] = rng.integers(0, 9, (3, 4)).astype(np.int32)
    arrays["b"] = rng.random((3, 4)) > 0.5
    arrays["key"] = np.array([7, 42], np.uint32)
    for value in arrays.values():
        value.flags.writeable = False
    return arrays


def wide(x: np.ndarray) -> np.ndarray:
    """The array in the widest type of its kind."""
    kind = x.dtype.kind
    names = {"c": np.complex128, "i": np.int64, "u": np.int64, "b": np.bool_}
    return x.astype(names.get(kind, np.float64))


def batch(name: str, x: np.ndarray) -> np.ndarray:
    """Three arrays of the kind of `x` in one, along axis 0, in the domain that its name stands for."""
    if x.dtype.kind == "b":
        rows = [x, ~x, x]
    elif x.dtype.kind in "iu":
        rows = [x, np.roll(x.reshape(-1), 1).reshape(x.shape), np.flip(x)]
        if name == "h":
            rows = [x, x, x]
    else:
        rows = [x, (x.astype(np.complex128) * 0.75).astype(x.dtype) if x.dtype.kind == "c"
                else (x.astype(np.float64) * 0.75).astype(x.dtype), x]  # fmt: skip
    return np.stack(rows)
