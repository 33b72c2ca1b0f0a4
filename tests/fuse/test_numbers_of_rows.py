"""Numbers that a row is moved by stay numbers, whatever its elements are asked about."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.testing.stages import check_all_stages

RNG = np.random.default_rng(2)


def rolled(x, shifts):
    """Each plane along both axes by numbers of its own."""
    return jax.vmap(lambda p, s: jnp.roll(p, (s[1], s[0]), (0, 1)))(x, shifts)


@pytest.mark.parametrize("shape", [(9, 64, 160), (3, 17, 33), (1, 5, 7), (4, 1, 40)])
def test_rolls_along_two_axes(shape):
    x = RNG.normal(size=shape).astype(np.float32)
    shifts = RNG.integers(-200, 200, (shape[0], 2)).astype(np.int32)
    want = [np.roll(p, (s[1], s[0]), (0, 1)) for p, s in zip(x, shifts, strict=True)]
    np.testing.assert_array_equal(jax.jit(rolled)(x, shifts), np.stack(want))


def test_all_stages():
    x, shifts = RNG.normal(size=(3, 12, 20)).astype(np.float32), RNG.integers(-9, 9, (3, 2))
    check_all_stages(rolled, x, shifts.astype(np.int32))


def test_no_number_is_asked_for_by_element():
    x, shifts = np.ones((9, 64, 160), np.float32), np.ones((9, 2), np.int32)
    text = jax.jit(rolled).lower(x, shifts).compile().as_text()
    loads = [line.split() for line in text.splitlines() if ":i32=load" in line]
    assert loads and all(len(words) == 2 for words in loads)  # a place, and no condition
