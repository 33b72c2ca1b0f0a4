"""Large outputs begin, within a page, where stores do not lie just ahead of what is loaded."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

PAGE, AHEAD = 4096, 1280  # bytes
LARGE, SMALL = 1 << 19, 1 << 10  # elements of float32


def after(result, operand):
    """How far after an operand's place in its page a result begins."""
    return (result.unsafe_buffer_pointer() - operand.unsafe_buffer_pointer()) % PAGE


def several(count, size=LARGE):
    return [jnp.asarray(np.arange(size, dtype="f") + i) for i in range(count)]


@pytest.mark.parametrize("count", [1, 2])
def test_behind_all_operands(count):
    add = jax.jit(lambda *xs: sum(xs) + 1)
    for _ in range(8):  # buffers that are new, then those that have been something else
        arrays = several(7)
        for first in range(7 - count):
            chosen = arrays[first : first + count]
            result = add(*chosen)
            assert result.unsafe_buffer_pointer() % 64 == 0
            assert all(after(result, x) >= AHEAD for x in chosen)
            np.testing.assert_array_equal(result, sum(map(np.asarray, chosen)) + 1)


def test_of_many_operands_the_fewest_are_met():
    arrays = several(9)
    result = jax.jit(lambda *xs: sum(xs))(*arrays)
    places = [x.unsafe_buffer_pointer() % PAGE // 64 * 64 for x in arrays]
    options = [(places[0] - 640 * k) % PAGE for k in range(1, 5)]
    met = [sum((begin - place) % PAGE < AHEAD for place in places) for begin in options]
    assert sum(after(result, x) < AHEAD for x in arrays) == min(met)


def test_results_of_one_program_begin_apart():
    (x,) = several(1)
    results = jax.jit(lambda x: (x + 1, x * 2, x - 3))(x)
    assert len({after(result, x) for result in results}) == 3
    assert all(after(result, x) >= AHEAD for result in results)


def test_numpy_operands_count_and_small_ones_do_not():
    values = np.arange(LARGE, dtype="f")
    scale = jnp.float32(2)
    scaled = jax.jit(lambda x, s: x * s)
    scaled(values, scale)  # which has an array made of the values; the next call reads these
    result = scaled(values, scale)
    behind = (result.unsafe_buffer_pointer() - values.ctypes.data // 64 * 64) % PAGE
    assert behind >= AHEAD
    np.testing.assert_array_equal(result, values * 2)


def test_without_large_operands():
    (x,) = several(1, SMALL)
    result = jax.jit(lambda x: jnp.outer(x, x))(x)
    np.testing.assert_array_equal(result, np.outer(x, x))
    assert result.unsafe_buffer_pointer() % 64 == 0


def test_donated_operands():
    x, y = several(2)
    expected = np.asarray(x) + np.asarray(y)
    result = jax.jit(lambda x, y: (x + y, x * 0), donate_argnums=0)(x, y)[0]
    np.testing.assert_array_equal(result, expected)


def test_the_last_bytes_are_there():
    for size in (LARGE, LARGE + 1, 3 * LARGE // 2, 3 * LARGE // 2 - 5):
        (x,) = several(1, size)
        for _ in range(3):
            x = jax.jit(lambda x: x + 1)(x)
        np.testing.assert_array_equal(x, np.arange(size, dtype="f") + 3)
