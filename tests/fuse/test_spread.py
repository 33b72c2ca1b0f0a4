"""What is computed of numbers that repeat is computed once for each of them."""

import numpy as np

import jitney
import jitney.numpy as jnp
from jitney import lax

RNG = np.random.default_rng(0)


def graph_of(program, *args) -> str:
    return jitney.explain(program, *args, rounds=1).as_text("graph")


def test_operations_are_done_before_the_numbers_are_spread():
    def program(x, t):
        columns = jnp.broadcast_to(x, (300, 400))
        return jnp.clip(jnp.sin(columns) * 2 + t, -1, 1) + jnp.where(columns > 0, columns, t)

    x, t = RNG.normal(size=400).astype(np.float32), np.float32(0.5)
    want = np.clip(np.sin(x) * 2 + t, -1, 1) + np.where(x > 0, x, t)
    np.testing.assert_allclose(jitney.jit(program)(x, t), np.tile(want, (300, 1)), rtol=1e-5)
    for line in graph_of(program, x, t).splitlines():
        assert "[300,400]" not in line or "broadcast" in line, line


def test_what_repeats_along_other_axes_is_not_mixed():
    def program(x, y):
        rows, columns = jnp.meshgrid(x, y, indexing="ij")
        return jnp.exp(rows) - jnp.cos(columns) * rows

    x, y = RNG.normal(size=(2, 130)).astype(np.float32)
    want = np.exp(x)[:, None] - np.cos(y) * x[:, None]
    np.testing.assert_allclose(jitney.jit(program)(x, y), want, rtol=1e-5, atol=1e-6)
    squares = jitney.jit(lambda x: jnp.broadcast_to(x, (130, 130)) + jnp.broadcast_to(
        x[:, None], (130, 130)))(x)
    np.testing.assert_array_equal(squares, x + x[:, None])


def test_integer_places_and_booleans():
    def program(n):
        i = lax.broadcasted_iota(jnp.int32, (70, 90), 1)
        j = jnp.broadcast_to(jnp.arange(90), (70, 90))
        return ((i + j) % n, (j * j > n) & (j < 80), jnp.clip(j, 3, n))

    got = jitney.jit(program)(np.int32(37))
    j = np.tile(np.arange(90), (70, 1))
    for found, want in zip(got, (2 * j % 37, (j * j > 37) & (j < 80), np.clip(j, 3, 37))):
        np.testing.assert_array_equal(found, want)


def test_bits_stay():
    x = np.array([-0.0, np.nan, np.inf, 1e-40, 3.3], np.float32)
    wide = jitney.jit(lambda x: jnp.broadcast_to(x, (5000, 5)) * 0.5 - 0.0)(x)
    want = x * np.float32(0.5) - np.float32(0)
    np.testing.assert_array_equal(np.asarray(wide)[77].view(np.int32), want.view(np.int32))
