"""Arrays of 8- and 16-bit numbers and of booleans alone: vectors full of them, of any length."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.backend.host import host_target

SHAPES = [(1,), (31,), (33,), (127,), (129,), (1000,), (65537,), (3, 7), (100, 100), (9, 333),
          (7, 3, 5), (20, 300, 3), (3, 2049), (5, 4096)]  # fmt: skip
DTYPES = ["bool", "int8", "uint8", "int16", "uint16"]
OF_ANY = {
    "equal": lambda np, x, y: x == y,
    "where": lambda np, x, y: np.where(x > y, x, y),
    "turned": lambda np, x, y: x.T,
    "reversed": lambda np, x, y: x[::-1, ...],
    "every second": lambda np, x, y: x[..., ::2],
    "rolled": lambda np, x, y: np.roll(x, 1, -1),
    "padded": lambda np, x, y: np.pad(x, 1),
    "joined": lambda np, x, y: np.concatenate([x, y], -1),
    "repeated": lambda np, x, y: np.repeat(x, 3, -1),
    "with a row": lambda np, x, y: x == y[:1],
    "with a column": lambda np, x, y: x == y[..., :1],
    "turned beside": lambda np, x, y: x.T == y.T,
}
OF_BOOLEANS = {
    "logic": lambda np, x, y: (x & y) ^ ~x | y,
    "any": lambda np, x, y: x.any(),
    "all of columns": lambda np, x, y: x.all(0),
    "any of rows": lambda np, x, y: (x & y).any(-1),
}
OF_NUMBERS = {
    "arithmetic": lambda np, x, y: x + y * x - y,
    "clip": lambda np, x, y: np.clip(x, 3, 50),
    "shift": lambda np, x, y: (x >> 1) | (x << 2),
    "quotient": lambda np, x, y: x // (y | 1),
    "max": lambda np, x, y: x.max(),
    "min of columns": lambda np, x, y: x.min(0),
    "max of rows": lambda np, x, y: x.max(-1),
    "less": lambda np, x, y: x < y,
}
CASES = [(d, n, f) for d in DTYPES for n, f in OF_ANY.items()]
CASES += [("bool", n, f) for n, f in OF_BOOLEANS.items()]
CASES += [(d, n, f) for d in DTYPES[1:] for n, f in OF_NUMBERS.items()]


@pytest.mark.parametrize("dtype, name, fun", CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_words_are_numpys(dtype, name, fun):
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        x, y = (rng.integers(0, 2 if dtype == "bool" else 120, shape).astype(dtype) for _ in "xy")
        found, wanted = np.asarray(jax.jit(lambda x, y: fun(jnp, x, y))(x, y)), fun(np, x, y)
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        np.testing.assert_array_equal(found, wanted, f"{shape}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors_are_full(dtype):
    x = np.ones((128, 128), dtype)
    text = jax.explain(lambda x, y: x | y, x, x, rounds=1).as_text("kernels")
    lanes = host_target().vector_bits // (8 * x.itemsize)
    assert f" lanes {lanes}" in text
    few = x.ravel()[: 4 * lanes - 1]
    assert " lanes " not in jax.explain(lambda x, y: x | y, few, few, rounds=1).as_text("kernels")
