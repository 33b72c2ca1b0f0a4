"""Maxima, minima, signs and sizes of 16-bit floats, over all of their bit patterns."""

import ml_dtypes
import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

OTHERS = (0.0, -0.0, 1.5, -1.5, 6.0, np.inf, -np.inf, np.nan, -np.nan, 1e-40, -1e-40, 6e4)
TYPES = (ml_dtypes.bfloat16, np.float16)


def patterns(dtype):
    return np.arange(65536, dtype=np.uint32).astype(np.uint16).view(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pytest.mark.parametrize("other", OTHERS)
def test_extremes_of_all_patterns(dtype, name, other):
    x, pick = patterns(dtype), getattr(jnp, name)
    other = np.asarray(other, np.float32).astype(dtype)
    want = getattr(np, name)(x.astype(np.float32), np.float32(other))
    zeros = (x == 0) & (other == 0)
    both = np.logical_and if name == "maximum" else np.logical_or
    signs = both(np.signbit(x[zeros]), np.signbit(other))
    calls = {
        "constant": (lambda x: pick(x, other), (x,)),
        "constant first": (lambda x: pick(other, x), (x,)),
        "number": (pick, (x, other)),
        "array": (pick, (x, np.full_like(x, other))),
    }
    for way, (fun, arguments) in calls.items():
        got = np.asarray(jitney.jit(fun)(*arguments))
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.astype(np.float32), want, err_msg=way)
        np.testing.assert_array_equal(np.signbit(got[zeros]), signs, err_msg=way)


@pytest.mark.parametrize("dtype", TYPES)
def test_signs_and_sizes_are_bits(dtype):
    x = patterns(dtype)
    bits = x.view(np.uint16)
    negated, size = jitney.jit(lambda x: (-x, jnp.abs(x)))(x)
    np.testing.assert_array_equal(np.asarray(negated).view(np.uint16), bits ^ 0x8000)
    np.testing.assert_array_equal(np.asarray(size).view(np.uint16), bits & 0x7FFF)
