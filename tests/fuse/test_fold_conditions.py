"""Conditions that hold in all turns, or in none, are not asked; rows are chosen at any distance."""

import itertools

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

MODES = ["edge", "reflect", "symmetric", "wrap", "constant"]


def text_of(fun, *arguments) -> str:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


def integers(shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).integers(-99, 99, shape).astype(dtype)


def around(np, x, mode, reach=1):
    """Each element with all that are up to `reach` steps away along one axis."""
    wide = np.pad(x, reach, mode=mode)
    found = 0 * x
    for axis, step in itertools.product(range(x.ndim), range(2 * reach + 1)):
        start = [reach] * x.ndim
        start[axis] = step
        window = tuple(slice(s, s + n) for s, n in zip(start, x.shape, strict=True))
        found = (step + 2 * axis + 1) * wide[window] + found
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(3000,), (100, 300), (37, 131), (9, 20, 40), (30, 2, 70),
                                   (4, 5, 9, 33), (2500, 3)])  # fmt: skip
def test_stencils_with_every_border(mode, shape):
    x = integers(shape)
    got = jax.jit(lambda x: around(jnp, x, mode))(x)
    np.testing.assert_array_equal(got, around(np, x, mode))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float16", "float64", "bool"])
def test_dtypes(mode, dtype):
    with jax.enable_x64(True):
        x = integers((70, 90), 1).astype(dtype)

        def f(np, x):
            wide = np.pad(x, 1, mode=mode)
            return np.where(wide[2:, 1:-1] > x, x, wide[1:-1, :-2])

        got = jax.jit(lambda x: f(jnp, x))(x)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, f(np, x))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("reach", [2, 3, 7])
def test_farther_neighbours(mode, reach):
    x = integers((50, 140), reach)
    got = jax.jit(lambda x: around(jnp, x, mode, reach))(x)
    np.testing.assert_array_equal(got, around(np, x, mode, reach))


@pytest.mark.parametrize("mode", MODES[:4])
def test_no_row_is_a_border(mode):
    """Each row is read where it is or where its mirror image is: one load for each neighbour, and
    what is beyond the ends of rows."""
    text = text_of(lambda x: around(jnp, x, mode), jnp.ones((100, 300)))
    assert text.count("kernel") == 1 and text.count("border") == 4 and "sided" in text
    assert text.count("load") <= 10


def test_loops_and_derivatives_of_such_stencils():
    x = integers((40, 80), 3) / 128
    step = lambda np, x: 0.125 * around(np, x, "edge") - x
    want = x
    for _ in range(4):
        want = step(np, want)
    got = jax.jit(lambda x: jax.lax.fori_loop(0, 4, lambda _, x: step(jnp, x), x))(x)
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=1e-4)
    weights = integers(x.shape, 4)
    gradient = jax.jit(jax.grad(lambda x: (weights * around(jnp, x, "edge")).sum()))(x)
    direction = integers(x.shape, 5)
    slope = (weights * around(np, direction, "edge")).sum()
    np.testing.assert_allclose((gradient * direction).sum(), slope, rtol=1e-4)


def test_a_row_that_a_condition_chooses_at_a_distance_that_varies():
    x = integers((300, 90))

    def f(np, x):
        rows = np.arange(300)[:, None]
        return np.where(rows < 100, x[::-1], np.broadcast_to(x[7], x.shape)) + x

    np.testing.assert_array_equal(jax.jit(lambda x: f(jnp, x))(x), f(np, x))


def test_conditions_that_always_hold_leave_no_mask():
    def f(x):
        wide = jnp.concatenate([x[:1], x, x[-1:]])
        return wide[1:-1] + 1  # neither the first part nor the last

    text = text_of(f, jnp.ones((500, 40)))
    assert "select" not in text and "lt" not in text


def test_a_new_size_has_the_same_text():
    f = lambda x: around(jnp, x, "reflect")
    texts = {text_of(f, jnp.ones(s)).split("sizes")[0] for s in ((100, 300), (157, 411))}
    assert len(texts) == 1
