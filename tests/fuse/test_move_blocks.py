"""Small blocks whose elements change places: a few vectors each, picked by shuffles."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

MOVES = {
    "transposed": lambda x: x.swapaxes(1, 2),
    "reversed": lambda x: x[:, ::-1, :],
    "turned": lambda x: x.swapaxes(1, 2)[:, :, ::-1],
    "flipped": lambda x: x[:, ::-1, ::-1],
    "cut": lambda x: x[:, 1:, :-1].swapaxes(1, 2),
    "every second": lambda x: x[:, ::2, :].swapaxes(1, 2),
    "outwards": lambda x: x.transpose(1, 0, 2),
}


def flags(fun, *args):
    text = jitney.jit(fun).lower(*args).compile().as_text()
    return [line for line in text.splitlines() if line.strip().startswith("rows")]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "float16", "complex64", "bool"])
@pytest.mark.parametrize("shape", [(5, 5), (6, 3), (8, 8), (4, 8), (8, 4), (7, 5), (2, 8), (4, 4)])
@pytest.mark.parametrize("count", [0, 1, 7, 1001])
def test_against_numpy(shape, dtype, count):
    rng = np.random.default_rng(count)
    with jitney.enable_x64():
        x = rng.integers(0, 100, (count, *shape)).astype(dtype)
        found = jitney.jit(lambda x: {name: move(x) for name, move in MOVES.items()})(x)
        for name, move in MOVES.items():
            np.testing.assert_array_equal(np.asarray(found[name]), move(x), err_msg=name)


@pytest.mark.parametrize("shape", [(5, 5), (6, 6), (8, 8), (4, 8), (8, 4)])
def test_blocks_are_moved(shape):
    x = jnp.zeros((2000, *shape))
    (rows,) = flags(lambda x: jnp.swapaxes(x, 1, 2), x)
    assert rows.endswith("blocks") and "v1" not in rows, "one loop, over blocks"


def test_blocks_of_rows():
    """Blocks within rows of blocks, far apart in both arrays."""
    x = np.arange(24 * 8 * 32 * 8 * 3, dtype="float32").reshape(24, 8, 32, 8, 3)
    fun = lambda x: x.transpose(4, 0, 2, 3, 1)
    np.testing.assert_array_equal(jitney.jit(fun)(x), fun(x))
    blocks = np.arange(3 * 700 * 64, dtype="float32").reshape(3, 700, 8, 8)
    first, some = lambda x: x[:, :650].swapaxes(2, 3), lambda x: x[:, 5:650].swapaxes(2, 3)
    (rows,) = flags(first, blocks)
    assert rows.endswith("blocks") and "v1" in rows
    np.testing.assert_array_equal(jitney.jit(first)(blocks), first(blocks))
    np.testing.assert_array_equal(jitney.jit(some)(blocks), some(blocks))


def test_what_is_computed_is_not_only_moved():
    x = np.random.default_rng(0).standard_normal((2000, 6, 6)).astype("float32")
    fun = lambda x: x.swapaxes(1, 2) * 2 + x
    assert not any("blocks" in line for line in flags(fun, x))
    np.testing.assert_array_equal(jitney.jit(fun)(x), fun(x))


def test_nothing_beyond_the_blocks_is_touched():
    """Into a part of an array, the last of its rows."""
    x = np.random.default_rng(0).standard_normal((500, 5, 5)).astype("float32")
    base = np.full((600, 25), 7, "float32")
    fun = lambda base, x: jnp.asarray(base).at[100:].set(jnp.swapaxes(x, 1, 2).reshape(500, 25))
    found = np.asarray(jitney.jit(fun)(base, x))
    np.testing.assert_array_equal(found[100:], x.swapaxes(1, 2).reshape(500, 25))
    assert (found[:100] == 7).all()
