"""Rows of a few vectors whose beginnings are counted on: elements, masks, pieces, threads."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.backend.host import host_target
from jitney.fuse.kernel import SHORT_AXIS

LENGTHS = [5, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 128, 255, 256]
DTYPES = ["float32", "float64", "int32", "int8", "uint16", "bfloat16", "bool", "complex64"]
PROGRAMS = {
    "swapped": lambda np, x, v: np.swapaxes(x, 1, 2) * 2,
    "part": lambda np, x, v: x[:, 1:, :-1] + x[:, :-1, 1:],
    "with rows": lambda np, x, v: np.swapaxes(x, 0, 1) * v[:, None],
    "chosen": lambda np, x, v: np.where((v > 0)[:, None], np.swapaxes(x, 0, 1), 7),
    "mirrored": lambda np, x, v: np.swapaxes(x, 0, 2)[::-1] - v[-1, 0],
    "joined": lambda np, x, v: np.concatenate([np.swapaxes(x, 0, 1), v[:, None]], 1) * 3,
}  # v: as many rows as x's axis 1


def numbers(shape, dtype):
    x = np.random.default_rng(sum(shape)).integers(-4, 5, shape)
    if dtype == "bool":
        return x > 0
    return jnp.asarray(abs(x) if dtype[0] == "u" else x).astype(dtype)


def kernels(fun, *arguments) -> str:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise(name, dtype):
    if dtype == "bool" and name in ("part", "mirrored"):
        pytest.skip("booleans have no sums")
    if dtype == "complex64" and name == "chosen":
        pytest.skip("complex numbers are not ordered like this")
    with jax.enable_x64(True):
        for length in LENGTHS:
            x, v = numbers((7, 40000 // (7 * length) + 3, length), dtype), None
            v = numbers((x.shape[1], length), dtype)
            found = jax.jit(lambda x, v: PROGRAMS[name](jnp, x, v))(x, v)
            with jax.disable_jit():
                expected = PROGRAMS[name](jnp, x, v)
            np.testing.assert_array_equal(found, expected)


def test_kinds():
    lanes = host_target().vector_bits // 32
    ones = [n for n in (lanes - 1, lanes) if n > SHORT_AXIS]  # shorter ones have no vectors
    for length, kind in [*[(n, "one") for n in ones], (5 * lanes, "whole"), (51, "both")]:
        x = jnp.ones((9, 600, length), "float32")
        double = lambda x: jnp.swapaxes(x, 0, 1) * 2
        assert f"counted {kind}" in kernels(double, x)
        assert f"counted {kind}" not in kernels(double, x[:, :3])


@pytest.mark.parametrize("channels", [2, 3, 4, 5, 7, 8])
@pytest.mark.parametrize("dtype", DTYPES)
def test_pictures_turned(channels, dtype):
    """Rows of a pixel: vectors of four or eight lanes where there are masks."""
    with jax.enable_x64(True):
        x = numbers((151, 120, channels), dtype)
        moves = lambda np, x: (np.swapaxes(x, 0, 1), np.rot90(x))
        for found, expected in zip(
            jax.jit(lambda x: moves(jnp, x))(x), moves(np, np.asarray(x)), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
        if dtype != "bool":
            found = jax.jit(lambda x: jnp.swapaxes(x, 0, 1) * 2 + x[1, :, None])(x)
            plain = np.asarray(x).astype("complex64" if dtype == "complex64" else "float64")
            expected = np.swapaxes(plain, 0, 1) * 2 + plain[1, :, None]
            wrapped = dtype if "int" in dtype else expected.dtype
            found, expected = np.asarray(found).astype(wrapped), expected.astype(wrapped)
            np.testing.assert_array_equal(found, expected)


def test_narrow_vectors():
    x = jnp.ones((151, 120, 3), "float32")
    is_narrow = "counted one lanes 4" in kernels(lambda x: jnp.swapaxes(x, 0, 1), x)
    assert is_narrow == host_target().avx512


def test_pieces_begin_anywhere():
    """Pieces of an odd number of rows begin and end within groups of the loop around them."""
    f = lambda np, x: np.sqrt(abs(x[:, :, 1:33])) + np.exp(x[:, :, 2:34] / 9)
    for outer, middle in [(1, 3001), (3001, 1), (2999, 2), (613, 5), (3, 1499)]:
        x = numbers((outer, middle, 37), "float32")
        np.testing.assert_allclose(jax.jit(lambda x: f(jnp, x))(x), f(np, np.asarray(x)), 2e-6)


def test_nothing_is_read_beyond_an_end():
    """The last rows of an array that ends with its page."""
    import mmap

    for length in (5, 16, 24, 47, 64):
        rows = mmap.PAGESIZE * 50 // (4 * length) // 8
        buffer = mmap.mmap(-1, rows * 8 * length * 4)
        x = np.frombuffer(buffer, np.float32)[-rows * 8 * length :].reshape(rows, 8, length)
        found = jax.jit(lambda x: jnp.swapaxes(x, 0, 1) + 1)(x)
        assert (np.asarray(found) == 1).all()
