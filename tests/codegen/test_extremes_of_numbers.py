"""Maxima and minima with a literal: NaN, zeros of both signs, infinities; vectors and tails."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

EDGES = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 6.0, 5e-324, -5e-324, 1e-45, 3e38])
LIMITS = [0.0, -0.0, 1.0, -1.0, 6.0, -2.5, np.inf, -np.inf, np.nan, 1e-45]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("length", [3, 12, 5000])
def test_as_defined(limit, dtype, length):
    with jax.enable_x64(True), np.errstate(all="ignore"):
        x = jnp.asarray(np.resize(EDGES, length), dtype)
        number = np.asarray(jnp.asarray(limit, dtype)).astype("f8")
        wide = np.asarray(x).astype("f8")
        for fun, plain in ((jnp.maximum, np.maximum), (jnp.minimum, np.minimum)):
            for order in (lambda a, b: (a, b), lambda a, b: (b, a)):
                found = jax.jit(lambda x, f=fun, o=order: f(*o(x, limit)))(x)
                found = np.asarray(found).astype("f8")
                np.testing.assert_array_equal(found, plain(wide, number))
                both_zero = (wide == 0) & (number == 0)
                signs = np.signbit(wide) | np.signbit(number)
                if fun is jnp.maximum:
                    signs = np.signbit(wide) & np.signbit(number)
                np.testing.assert_array_equal(np.signbit(found)[both_zero], signs[both_zero])


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int8", "int16", "uint32"])
def test_floats_to_integers(dtype):
    x = np.array([0, -0.0, 0.9, 1.5, 254.9, 255, 256, 1e9, -1, -0.5, np.nan, np.inf, -np.inf, 65535,
                  65536, 32767.5, -32769, 4294967040.0, 3e9], np.float32)  # fmt: skip
    x = np.resize(x, 3000)
    info = np.iinfo(dtype)
    expected = np.clip(np.nan_to_num(np.trunc(x.astype("f8")), posinf=2e38, neginf=-2e38),
                       info.min, info.max).astype(dtype)  # fmt: skip
    np.testing.assert_array_equal(jax.jit(lambda x: x.astype(dtype))(x), expected)
