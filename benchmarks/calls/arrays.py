"""Makers of arguments: each is a function of a seeded NumPy generator that gives an array.

In: shapes, dtypes (by name, `bfloat16` among them), limits of values. Out: makers. Without a dtype,
float32 and int32 are meant.
"""

from collections.abc import Callable

import ml_dtypes  # noqa: F401  (NumPy knows bfloat16 by its name from here on)
import numpy as np

Maker = Callable[[np.random.Generator], np.ndarray]
MILLION = 1_000_000


def normals(*shape: int, dtype: str = "float32", scale: float = 1.0, shift: float = 0.0) -> Maker:
    return lambda rng: (rng.standard_normal(shape) * scale + shift).astype(dtype)


def uniforms(*shape: int, low: float = 0.0, high: float = 1.0, dtype: str = "float32") -> Maker:
    return lambda rng: np.asarray(rng.uniform(low, high, shape)).astype(dtype)


def integers(*shape: int, high: int, low: int = 0, dtype: str = "int32") -> Maker:
    return lambda rng: np.asarray(rng.integers(low, high, shape)).astype(dtype)


def chances(*shape: int, share: float = 0.5) -> Maker:
    """Truth values, of which about a share is true."""
    return lambda rng: rng.random(shape) < share


def complexes(*shape: int, dtype: str = "complex64") -> Maker:
    def make(rng: np.random.Generator) -> np.ndarray:
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)

    return make


def with_holes(*shape: int, share: float = 0.01) -> Maker:
    """Normal numbers, of which about a share is not a number."""

    def make(rng: np.random.Generator) -> np.ndarray:
        found = rng.standard_normal(shape).astype("float32")
        return np.where(rng.random(shape) < share, np.float32(np.nan), found)

    return make


def ascending(maker: Maker) -> Maker:
    """The same numbers, sorted along the last axis."""
    return lambda rng: np.sort(maker(rng), axis=-1)


def line(low: float, high: float, count: int, dtype: str = "float32") -> Maker:
    """Numbers at equal distances."""
    return lambda rng: np.linspace(low, high, count).astype(dtype)


def counting(count: int, dtype: str = "int32") -> Maker:
    """0, 1, 2, …"""
    return lambda rng: np.arange(count).astype(dtype)


def value(number: float, dtype: str = "float32") -> Maker:
    return lambda rng: np.asarray(number, dtype)


def permuted(count: int, kept: int | None = None) -> Maker:
    """Different positions below `count` in disorder."""
    return lambda rng: rng.permutation(count)[:kept].astype("int32")


def key(rng: np.random.Generator) -> np.ndarray:
    """What `random.PRNGKey` makes of a small seed, without a library."""
    return np.array([0, rng.integers(0, 1000)], "uint32")


def heavy_diagonal(*shape: int, dtype: str = "float32") -> Maker:
    """Square matrices that can be inverted: normal numbers, and more on the diagonal."""
    size = shape[-1]

    def make(rng: np.random.Generator) -> np.ndarray:
        return (rng.standard_normal(shape) + 2 * size**0.5 * np.eye(size)).astype(dtype)

    return make


def positive_definite(*shape: int, dtype: str = "float32") -> Maker:
    size = shape[-1]

    def make(rng: np.random.Generator) -> np.ndarray:
        root = rng.standard_normal(shape)
        return (root @ np.swapaxes(root, -1, -2) / size + np.eye(size)).astype(dtype)

    return make


def symmetric(*shape: int, dtype: str = "float32") -> Maker:
    def make(rng: np.random.Generator) -> np.ndarray:
        half = rng.standard_normal(shape)
        return (half + np.swapaxes(half, -1, -2)).astype(dtype)

    return make


def lower_triangle(size: int, dtype: str = "float32") -> Maker:
    """A triangle that can be inverted."""
    square = heavy_diagonal(size, size, dtype=dtype)
    return lambda rng: np.tril(square(rng))
