"""Functions of arrays in the small number formats, with their meaning in NumPy and ml_dtypes.

`CASES` maps a name to (function of (jax, jnp, lax), arrays' shapes); it is run by this package, by
the references of `expected`, and by JAX.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

FLOATS = ("float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
          "float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn").split()  # fmt: skip
INTS = "int4 uint4 int2 uint2".split()
OTHERS = ("float32", "float16", "bfloat16", "int32", "int8", "uint8", "bool")


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def everything(name: str) -> np.ndarray:
    """All values of a format."""
    dtype = dtype_of(name)
    bits = {"float4_e2m1fn": 4, "int4": 4, "uint4": 4, "int2": 2, "uint2": 2}.get(name, 8)
    if name in INTS:
        info = ml_dtypes.iinfo(dtype)
        return np.arange(int(info.min), int(info.max) + 1).astype(dtype)
    return np.arange(2**bits, dtype=np.uint8).view(dtype)


def matrix(name: str, *shape: int, seed: int = 0) -> np.ndarray:
    """Small finite numbers of a format."""
    rng = np.random.default_rng(seed)
    if name in INTS:
        info = ml_dtypes.iinfo(dtype_of(name))
        values = rng.integers(int(info.min), int(info.max) + 1, shape)
    else:
        values = np.round(rng.normal(size=shape) * 4) / 4
    return np.asarray(values).astype(dtype_of(name))


UNARY = {
    "neg": lambda jnp, x: -x, "abs": lambda jnp, x: jnp.abs(x), "square": lambda jnp, x: x * x,
    "double": lambda jnp, x: x + x, "three": lambda jnp, x: x * 3, "sign": lambda jnp, x: jnp.sign(x),
    "isnan": lambda jnp, x: jnp.isnan(x), "zero": lambda jnp, x: x == 0, "max": lambda jnp, x: x.max(),
    "sum": lambda jnp, x: x.sum(), "sum0": lambda jnp, x: x.sum(0), "prod": lambda jnp, x: x.prod(),
    "argmax": lambda jnp, x: x.argmax(), "sort": lambda jnp, x: jnp.sort(x.ravel()),
    "cumsum": lambda jnp, x: jnp.cumsum(x), "mean": lambda jnp, x: x.mean(),
    "reshape": lambda jnp, x: x.reshape(-1)[::-1], "where": lambda jnp, x: jnp.where(x > 0, x, x + x),
    "set": lambda jnp, x: x.at[0].set(x[1]), "take": lambda jnp, x: x[jnp.array([1, 0, 1])],
    "concat": lambda jnp, x: jnp.concatenate([x, x]), "exp": lambda jnp, x: jnp.exp(x),
    "sqrt": lambda jnp, x: jnp.sqrt(x), "sin": lambda jnp, x: jnp.sin(x), "any": lambda jnp, x: x.any(),
    "pad": lambda jnp, x: jnp.pad(x, 1), "floor": lambda jnp, x: jnp.floor(x),
    "min": lambda jnp, x: x.min(1), "full": lambda jnp, x: jnp.full_like(x, 1), "T": lambda jnp, x: x.T,
}
BINARY = {
    "add": lambda jnp, x, y: x + y, "sub": lambda jnp, x, y: x - y, "mul": lambda jnp, x, y: x * y,
    "div": lambda jnp, x, y: x / y, "maximum": lambda jnp, x, y: jnp.maximum(x, y),
    "less": lambda jnp, x, y: x < y, "equal": lambda jnp, x, y: x == y,
    "greater_equal": lambda jnp, x, y: x >= y, "floordiv": lambda jnp, x, y: x // y,
    "mod": lambda jnp, x, y: x % y, "pow": lambda jnp, x, y: x ** 2,
    "and": lambda jnp, x, y: x & y, "shift": lambda jnp, x, y: x << 1,
    "chain": lambda jnp, x, y: (x + y) * x - y,
}
PRODUCTS = {
    "matmul": lambda jnp, lax, x, y: x @ y,
    "matmul_f32": lambda jnp, lax, x, y: jnp.matmul(x, y, preferred_element_type=np.float32),
    "dot_f32": lambda jnp, lax, x, y: lax.dot(x, y, preferred_element_type=np.float32),
    "dot_int32": lambda jnp, lax, x, y: lax.dot(x, y, preferred_element_type=np.int32),
    "dot_bf16": lambda jnp, lax, x, y: lax.dot(x, y, preferred_element_type=ml_dtypes.bfloat16),
    "einsum": lambda jnp, lax, x, y: jnp.einsum("ij,jk->ki", x, y),
    "batched": lambda jnp, lax, x, y: lax.dot_general(
        x[None], y[None], (((2,), (1,)), ((0,), (0,))), preferred_element_type=np.float32),
}


def wide_numbers(name: str) -> np.ndarray:
    """float32 numbers of all sizes: ties, neighbours of ties, overflow, denormals, special ones."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=2000) * np.exp(rng.normal(size=2000) * 5)
    with np.errstate(all="ignore"):
        exact = everything(name).astype(np.float64)
    middles = (exact[1:] + exact[:-1]) / 2
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-30, 448, 464, 465, 57344, 61440]
    near = [m * f for m in (middles, exact) for f in (1, 1 + 2e-7, 1 - 2e-7)]
    return np.concatenate([values, *near, special]).astype(np.float32)
