"""Products of floats with an integer result: the sum is rounded to the operands' dtype first."""

import ml_dtypes
import numpy as np
import pytest

import jitney
from jitney import lax

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "bfloat16", "float16", "float32"])
@pytest.mark.parametrize("k", [1, 3, 4, 5, 40])
def test_rounded_then_truncated(name, k):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    a, b = ((RNG.normal(size=s) * 3).astype(dtype) for s in ((3, k), (k, 4)))

    def product(a, b):
        return lax.dot(a, b, preferred_element_type=np.int32)

    sums = (a.astype(np.float64) @ b.astype(np.float64)).astype(dtype).astype(np.float64)
    np.testing.assert_array_equal(jitney.jit(product)(a, b), np.trunc(sums))
    np.testing.assert_array_equal(product(a, b), np.trunc(sums))
