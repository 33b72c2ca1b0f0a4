"""Concatenations of computed parts: stored where they are read again, their parts side by side."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

RNG = np.random.default_rng(0)


def values(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def waves(*shape):
    return values(*shape) + 1j * values(*shape)


def kernels(function, *args) -> int:
    program = jitney.jit(function).lower(*args).compile()
    np.testing.assert_allclose(program(*args), function(*args), rtol=2e-5, atol=2e-5)
    return program.as_text().count("] kernel")


def stages(x, count):
    """What a Fourier transform by sums and turns does, without the turns."""
    for _ in range(count):
        half = x.shape[0] // 2
        a, b = x[:half], x[half:]
        x = jnp.concatenate([a + b, (a - b) * 0.5], axis=1)
    return x


@pytest.mark.parametrize("count", (1, 2, 5))
@pytest.mark.parametrize("make", (values, waves))
def test_a_stage_is_one_kernel(make, count):
    """All parts read the same values, those of the other half of complex numbers as well."""
    x = make(128, 64)
    joins = int(make is waves)  # parts of complex results lie beside one another at the end
    assert kernels(lambda x: stages(x, count), x) <= count + joins


def test_parts_that_share_nothing_are_apart():
    x, y = values(64, 64), values(64, 64)
    assert kernels(lambda x, y: jnp.concatenate([x * 2, y * 3]), x, y) == 2


def test_concatenations_that_wait_for_each_other():
    """The second reads the first, has its shape and shares its source: they are made in turn."""

    def turn(x):
        first = jnp.concatenate([x[:64] + 1, x[64:] * 2])
        second = jnp.concatenate([first[64:] + x[:64], first[:64] * x[64:]])
        return jnp.sin(first) + second[::-1], second * first

    x = values(128, 64)
    for got, want in zip(jitney.jit(turn)(x), turn(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_a_concatenation_read_once_is_still_computed_in_its_reader():
    def rotated(x):
        return jnp.concatenate([x[:, 32:], -x[:, :32]], 1) * 2 + x

    assert kernels(rotated, values(64, 64)) == 1


def test_many_stages_take_no_more_than_their_own_work():
    """Each would compute all of the stages before it again, twice."""
    assert kernels(lambda x: stages(x, 12), values(4096, 2)) <= 12


@pytest.mark.parametrize("size", (5, 600_000, 3 << 20, 7 << 20))
def test_copies_of_any_size(size):
    """Small ones at once, larger ones in pieces for all threads, then past the caches."""
    x = np.arange(size, dtype=np.float32)
    array = jnp.array(x)
    np.testing.assert_array_equal(np.asarray(array), x)
    twice = np.asarray(jitney.jit(lambda x: jnp.concatenate([x[1:], x, x]))(array))
    np.testing.assert_array_equal(twice, np.concatenate([x[1:], x, x]))


@pytest.mark.parametrize("axis", [0, 1])
def test_an_array_many_times_is_read_once_for_eight_of_them(axis):
    x = np.random.default_rng(4).normal(size=(30, 40)).astype(np.float32)
    many = jitney.jit(lambda x: jnp.concatenate([x] * 20, axis))
    np.testing.assert_array_equal(many(x), np.concatenate([x] * 20, axis))
    assert many.lower(x).compile().as_text().count("] kernel") == 3


def _turn(np, q):
    w, x, y, z = (q[:, i] for i in range(4))
    rows = [(1 - 2 * (y * y + z * z), x * y - w * z, x * z + w * y),
            (x * y + w * z, 1 - (x * x + z * z), y * z - w * x),
            (x * z - w * y, y * z + w * x, 1 - (x * x + y * y))]  # fmt: skip
    return np.stack([np.stack(row, -1) for row in rows], -2)


def _moved(np, q):
    matrix, shift = q[:, :9].reshape(-1, 3, 3), q[:, 9:12, None]
    last = np.broadcast_to(np.asarray([[0, 0, 0, 1]], q.dtype), (len(q), 1, 4))
    return np.concatenate([np.concatenate([matrix, shift * 2], 2), last], 1)


@pytest.mark.parametrize("program", [_turn, _moved])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8"])
@pytest.mark.parametrize("count", [1, 3, 1000, 4099])
def test_small_matrices_put_together(program, dtype, count):
    """Columns of columns: all elements of a matrix are written side by side."""
    with jitney.enable_x64(True):
        q = np.random.default_rng(count).integers(-3, 4, (count, 12)).astype(dtype)
        np.testing.assert_array_equal(jitney.jit(lambda q: program(jnp, q))(q), program(np, q))
        if count > 100:
            text = jitney.explain(lambda q: program(jnp, q), q, rounds=1).as_text("kernels")
            assert text.count("] kernel") == 1
