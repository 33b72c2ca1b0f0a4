"""Short rows that are repeated: a routine where it pays, and NumPy's results for any shape."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

DTYPES = ["float32", "float64", "int32", "int8", "uint16", "bfloat16", "bool", "complex64"]


def text(fun, *arguments) -> str:
    return jitney.jit(fun).lower(*arguments).compile().as_text()


def numbers(shape, dtype):
    x = np.random.default_rng(sum(shape)).integers(0, 5, shape)
    return jnp.asarray(x > 2 if dtype == "bool" else x).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 2, 3, 8, 16, 17, 40])
def test_results(dtype, width):
    with jitney.enable_x64(True):
        for rows in (1, 63, 257, 3001):
            x = numbers((rows, width), dtype)
            plain = np.asarray(x)
            for times in (2, 3, 9):
                for axis in (0, 1):
                    found = jitney.jit(lambda x: jnp.repeat(x, times, axis=axis))(x)  # noqa: B023
                    np.testing.assert_array_equal(found, np.repeat(plain, times, axis))
                found = jitney.jit(lambda x: jnp.tile(x, (1, times)))(x)  # noqa: B023
                np.testing.assert_array_equal(found, np.tile(plain, (1, times)))


@pytest.mark.parametrize("fun", [
    lambda x: jnp.repeat(x, 3, axis=0),
    lambda x: jnp.repeat(x, 4, axis=1),
    lambda x: jnp.tile(x, (1, 5)),
    lambda x: jnp.repeat(x * 2, 3, axis=0),
    lambda x: jnp.broadcast_to(x[:, None, None, :], (x.shape[0], 2, 3, x.shape[1])),
])  # fmt: skip
def test_is_the_routine(fun):
    assert "repeat_rows" in text(fun, jnp.ones((1000, 3)))


@pytest.mark.parametrize("fun", [
    lambda x: jnp.tile(x, (3, 1)),                                     # of all rows
    lambda x: jnp.broadcast_to(x[:, :1], (1000, 500)),                 # one element fills vectors
    lambda x: jnp.broadcast_to(jnp.float32(1), (1000, 3, 3)),          # nothing to read
    lambda x: jnp.repeat(x[:3], 3, axis=0),                            # few
    lambda x: x[:, None, :] * x[:, :, None],                           # is not stored
])  # fmt: skip
def test_is_a_kernel(fun):
    assert "repeat_rows" not in text(fun, jnp.ones((1000, 3)))


def test_sources_that_are_computed_or_lie_otherwise():
    x = np.arange(6000, dtype=np.float32).reshape(3, 2000)
    for fun in (
        lambda x: jnp.repeat(x.T, 3, axis=0),
        lambda x: jnp.repeat(x[:, ::2].T, 3, axis=0),
        lambda x: jnp.repeat(jnp.sum(x, 0), 5),
        lambda x: jnp.repeat(x.T[5:], 2, axis=0) + 1,
        lambda x: jnp.concatenate([jnp.repeat(x.T, 3, axis=0), x.T], 0),
        lambda x: jitney.lax.fori_loop(
            0, 3, lambda i, s: jnp.repeat(s[::3], 3, axis=0) + 1, jnp.tile(x.T, (3, 1))),
    ):  # fmt: skip
        with jitney.disable_jit():
            want = fun(x)
        np.testing.assert_array_equal(jitney.jit(fun)(x), want)


def test_large_ones():
    x = np.arange(900_003, dtype=np.float32).reshape(-1, 3)
    np.testing.assert_array_equal(
        jitney.jit(lambda x: jnp.repeat(x, 6, axis=0))(x), np.repeat(x, 6, 0)
    )
