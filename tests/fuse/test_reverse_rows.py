"""Arrays that are turned: read forwards by tiles, whatever their shapes and types."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.testing.stages import check_all_stages

TURNS = {
    "quarter": lambda m, x: m.rot90(x),
    "three quarters": lambda m, x: m.rot90(x, 3),
    "rows backwards, then transposed": lambda m, x: m.swapaxes(x[::-1], 0, 1),
    "other diagonal": lambda m, x: m.swapaxes(x, 0, -1)[::-1, ::-1],
    "columns backwards of a transpose": lambda m, x: m.flip(m.swapaxes(x, 0, 1), 1),
    "a part": lambda m, x: m.swapaxes(x[1:, ::-1], 0, 1)[:-1],
    "rows backwards": lambda m, x: m.flip(x, 0),
    "beside a transpose": lambda m, x: m.stack([m.rot90(x), m.swapaxes(x, 0, 1)]),
}
SHAPES = [(90, 70), (64, 64), (17, 33), (8, 8), (7, 5), (3, 40, 50), (40, 50, 3), (1, 20), (20, 1)]


@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16", "complex64", "bool"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", TURNS)
def test_turned(name, shape, dtype):
    values = np.random.default_rng(sum(shape)).normal(size=shape) * 50
    x = jnp.asarray(values).astype(dtype)
    got = jax.jit(lambda x: TURNS[name](jnp, x))(x)
    np.testing.assert_array_equal(np.asarray(got), TURNS[name](np, np.asarray(x)))


def test_quarters_are_read_by_tiles():
    x = jnp.ones((500, 600))
    for fun in (jnp.rot90, lambda x: jnp.rot90(x, 3) * 2 + 1, lambda x: x[::-1].T):
        assert " tile " in jax.explain(fun, x, rounds=1).as_text("kernels")


def test_every_stage_agrees():
    x = np.arange(20.0 * 30, dtype=np.float32).reshape(20, 30)
    check_all_stages(lambda x: jnp.rot90(x) + jnp.arange(30.0)[:, None], x)
