"""Rows that are no whole number of vectors: their last vector may begin in the one before, but not
where the result may lie in the place of what is read."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.backend.host import host_target

WIDTHS = [9, 12, 17, 31, 100, 129, 255]
NARROW = host_target().avx2 and not host_target().avx512


def numbers(*shape, dtype="float32"):
    return (np.random.default_rng(sum(shape)).random(shape) * 100).astype(dtype)


def text(fun, *arguments) -> str:
    return jax.jit(fun).lower(*arguments).compile().as_text()


def step(np, x, y):
    """Reads x around and y where it writes."""
    return np.roll(x, 1, 1) + np.roll(x, -1, 0) * 0.5 + y


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8", "bfloat16"])
def test_parts_of_rows(width, dtype):
    with jax.enable_x64(True):
        x = numbers(700, width + 40, dtype="float32").astype(jnp.dtype(dtype))
        found = jax.jit(lambda x: (x[:, 3 : width + 3] + x[:, :width], x[::-1, :width]))(x)
        np.testing.assert_array_equal(found[0], x[:, 3 : width + 3] + x[:, :width])
        np.testing.assert_array_equal(found[1], x[::-1, :width])


@pytest.mark.parametrize("width", WIDTHS)
def test_donated_arrays_are_read_once(width):
    x, y = numbers(500, width), numbers(500, width)
    wide = numbers(500, width + 5)
    fun = lambda y, x: x[:, :width] * 2 + y
    for source in (x, wide):
        expected = source[:, :width] * 2 + y
        donating = jax.jit(fun, donate_argnums=0)
        np.testing.assert_array_equal(donating(jnp.array(y), source), expected)
    got = jax.jit(lambda y, x: step(jnp, x, y), donate_argnums=0)(jnp.array(y), x)
    np.testing.assert_allclose(got, step(np, x, y), 1e-6)
    row = jax.jit(lambda y: jnp.where(jnp.arange(width) < 3, y + 1, y * 2), donate_argnums=0)
    np.testing.assert_array_equal(
        row(jnp.array(y)), np.where(np.arange(width) < 3, y + 1, y * 2)
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_states_of_loops(width):
    x, y = numbers(60, width), numbers(60, width)

    def turn(np):
        return lambda _, s: (step(np, s[0], s[1]) * 0.3, s[1] * 0.5 + s[0][:, :1])

    found = jax.jit(lambda x, y: jax.lax.fori_loop(0, 5, turn(jnp), (x, y)))(x, y)
    state = (x.astype("f8"), y.astype("f8"))
    for i in range(5):
        state = turn(np)(i, state)
    np.testing.assert_allclose(found[0], state[0], 1e-4)
    np.testing.assert_allclose(found[1], state[1], 1e-4)


@pytest.mark.skipif(not NARROW, reason="masks are cheap")
def test_which_rows_overlap():
    x, y = numbers(700, 130), numbers(700, 100)
    assert " overlaps" in text(lambda x: x[:, :100] + 1, x)
    assert " overlaps" not in text(lambda x: x[:, :104] + 1, x)
    assert " overlaps" in text(lambda x, y: x[:, :100] + y, x, y)  # y's memory is not taken then
    assert " overlaps" in text(lambda x, y: x[:, :100] + y[::-1], x, y)


def test_results_do_not_depend_on_threads():
    x = numbers(3000, 130)
    results = []
    for threads in (1, 2, 3):
        jax._native.set_num_threads(threads)
        results.append(np.asarray(jax.jit(lambda x: jnp.tanh(x[:, :101]) * x[:, 1:102])(x)))
    jax._native.set_num_threads(0)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
