"""A half that is spread over a vector, or computed with by itself, is converted exactly."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp


def halves():
    """All there are, with infinities, NaN and denormals."""
    return np.arange(1 << 16, dtype="uint16").view("float16")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_each_is_spread_over_its_row(dtype):
    with jitney.enable_x64():
        ones = np.ones((1 << 16, 8), dtype)
        found = jitney.jit(lambda x, y: x[:, None].astype(y.dtype) * y)(halves(), ones)
        np.testing.assert_array_equal(found, halves().astype(dtype)[:, None] * ones)


def test_outer_products():
    x = np.random.default_rng(0).standard_normal((500, 8)).astype("float16")
    found = jitney.jit(lambda x: jnp.einsum("ij,ik->ijk", x, x))(x)
    np.testing.assert_array_equal(found, x[:, :, None] * x[:, None, :])


def test_one_number():
    for bits in (0x0001, 0x03FF, 0x7BFF, 0x7C00, 0x8000, 0xFC00, 0x3555):
        x = np.uint16(bits).view("float16")
        found = jitney.jit(lambda x: x.astype("float32") * 2)(x)
        assert np.asarray(found).tobytes() == (np.float32(x) * 2).tobytes()
